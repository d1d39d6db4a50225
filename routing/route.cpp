#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "routing/dfsssp.hpp"
#include "routing/dnup.hpp"
#include "routing/dor.hpp"
#include "routing/dragonfly.hpp"
#include "routing/drained.hpp"
#include "routing/file_tables.hpp"
#include "routing/ftree.hpp"
#include "routing/lash.hpp"
#include "routing/minhop.hpp"
#include "routing/mixture.hpp"
#include "routing/nue.hpp"
#include "routing/proof.hpp"
#include "routing/routes.hpp"
#include "routing/sssp.hpp"
#include "routing/torus.hpp"
#include "routing/updn.hpp"

namespace ibf::routing {

namespace {

using EngineFunction = base::Result<Routes> (*)(const Topology&, const Routes*, const RouteOptions&);

/// Which preferences an engine heeds.
enum class Heeds : std::uint8_t {
    nothing,  ///< its paths follow from something else
    choices,  ///< all that is about choosing between paths, but hop weights: which paths there are is fixed
    all,
};

struct Engine {
    std::string_view name;
    EngineFunction compute;
    Heeds heeds = Heeds::nothing;
};

constexpr Engine kEngines[] = {
    {"minhop", route_minhop, Heeds::all},
    {"updn", route_updn, Heeds::choices},
    {"dnup", route_dnup, Heeds::choices},
    {"ftree", route_ftree, Heeds::choices},
    {"sssp", route_sssp, Heeds::all},
    {"dfsssp", route_dfsssp, Heeds::all},
    {"nue", route_nue},
    {"lash", route_lash},
    {"dor", route_dor},
    {"torus-2qos", route_torus},
    {"dragonfly", route_dragonfly},
    {"file", route_file},
};
constexpr std::string_view kLastResort = "updn";

/// What "auto" stands for. Engines that are for one family come first and refuse others at once, with the
/// reason; then those for any fabric, by what they cost: one lane, several lanes, longer paths.
constexpr std::string_view kAuto = "auto";
constexpr std::string_view kAutoChain[] = {"torus-2qos", "dor",    "ftree", "dragonfly",
                                           "minhop",     "dfsssp", "nue"};

}  // namespace

std::vector<std::string> engine_names() {
    std::vector<std::string> names;
    for (const Engine& engine : kEngines) {
        names.emplace_back(engine.name);
    }
    return names;
}

std::vector<std::string> chain_words() {
    std::vector<std::string> words = engine_names();
    words.emplace_back(kAuto);
    return words;
}

namespace {

/// Keeps what the engine heeds; names the options of what it does not.
std::string leave_unheeded(Heeds heeds, Preferences& preferences) {
    std::vector<std::string_view> left;
    const auto leave = [&left](std::string_view option, auto& member, auto none) {
        if (member != none) {
            left.push_back(option);
            member = std::move(none);
        }
    };
    const Preferences none;
    if (heeds != Heeds::all) {
        leave("hop_weights_file", preferences.hop_weights, none.hop_weights);
    }
    if (heeds == Heeds::nothing) {
        leave("slow_links", preferences.slow_links, none.slow_links);
        leave("port_prof_ignore_file", preferences.ignored_ports, none.ignored_ports);
        leave("cn_guid_file", preferences.compute_nodes, none.compute_nodes);
        leave("io_guid_file", preferences.io_nodes, none.io_nodes);
        leave("guid_routing_order_file", preferences.order, none.order);
    }
    return left.empty() ? "" : fmt::format("has no use for {}", fmt::join(left, ", "));
}

/// An engine on what it may use of the fabric.
base::Result<Routes> compute_drained(const Engine& engine, const Topology& topology, const Routes* previous,
                                     const RouteOptions& options) {
    if (options.drained.empty()) {
        return engine.compute(topology, previous, options);
    }
    const MaskedTopology masked = mask_drained(topology, options.drained.elements);
    base::Result<Routes> routes = engine.compute(masked.topology, previous, options);
    if (!routes) {
        return routes;
    }
    if (previous != nullptr) {
        keep_entries(topology, options.drained.away, *previous, *routes);
    }
    if (std::string crossed = crossings(topology, masked.topology, *routes); !crossed.empty()) {
        routes->remark = routes->remark.empty() ? crossed : fmt::format("{}; {}", routes->remark, crossed);
    }
    return routes;
}

base::Result<Routes> compute(const Engine& engine, const Topology& topology, const Routes* previous,
                             const RouteOptions& options) {
    RouteOptions heeded = options;
    std::string left = leave_unheeded(engine.heeds, heeded.preferences);
    const std::uint64_t preferred = fingerprint(heeded.preferences, topology);
    const bool same = previous != nullptr && previous->preferred == preferred;
    base::Result<Routes> routes = compute_drained(engine, topology, same ? previous : nullptr, heeded);
    if (!routes) {
        return routes;
    }
    routes->preferred = preferred;
    std::vector<std::string> remarks{std::move(routes->remark), std::move(left)};
    if (preferred != 0) {
        for (std::string& stranger : strangers(topology, heeded.preferences)) {
            remarks.push_back(std::move(stranger));
        }
    }
    std::erase(remarks, "");
    routes->remark = fmt::format("{}", fmt::join(remarks, "; "));
    return routes;
}

}  // namespace

base::Result<Routes> run_engine(std::string_view engine, const Topology& topology, const Routes* previous,
                                const RouteOptions& options) {
    for (const Engine& known : kEngines) {
        if (known.name == engine) {
            return compute(known, topology, previous, options);
        }
    }
    return base::fail(base::ErrorKind::unsupported,
                      fmt::format("there is no routing engine \"{}\"; engines are: {}", engine,
                                  fmt::join(engine_names(), ", ")));
}

namespace {

std::string describe_cycle(const std::vector<ChannelStep>& cycle) {
    std::string text;
    constexpr std::size_t kShown = 4;
    for (std::size_t i = 0; i < std::min(kShown, cycle.size()); ++i) {
        text += fmt::format("{}{} port {}{}", i == 0 ? "" : " -> ", cycle[i].node, cycle[i].port,
                            cycle[i].vl == 0 ? "" : fmt::format(" VL {}", cycle[i].vl));
    }
    return text + (cycle.size() > kShown ? " -> ..." : " -> back to the first");
}

/// Why tables may not be written; empty if they may.
std::string refusal(const Verdict& verdict, const RouteOptions& options) {
    if (!verdict.reachable()) {
        return fmt::format("{} of {} pairs are not reached and {} walks loop, e.g. {}",
                           verdict.unreachable_pairs, verdict.pairs_checked, verdict.loops,
                           verdict.first_failure);
    }
    if (verdict.lane_faults != 0) {
        return fmt::format("{} lanes are used that links do not have, e.g. {}", verdict.lane_faults,
                           verdict.first_lane_fault);
    }
    if (!verdict.credit_loop_free && !options.allow_credit_loops) {
        return fmt::format("routes could deadlock: credit loop over {} links, e.g. {}",
                           verdict.credit_loop.size(), describe_cycle(verdict.credit_loop));
    }
    return {};
}

/// Pairs can be out of every engine's reach: a switch whose LinearFDBCap is below the top LID holds no entry
/// for the LIDs above. Then the last resort serves what can be served, if nothing loops and no lane can
/// deadlock.
bool serves_the_rest(const std::string& engine, const Topology& topology, const Verdict& verdict) {
    const bool scarce = std::any_of(topology.switches.begin(), topology.switches.end(),
                                    [&](const TopologySwitch& s) { return s.lft_cap <= topology.max_lid; });
    return engine == kLastResort && scarce && verdict.loops == 0 && verdict.lane_faults == 0 &&
           verdict.credit_loop_free;
}

std::vector<std::string> chain_of(const RouteOptions& options) {
    std::vector<std::string> chain;
    const auto add = [&chain](std::string_view engine) {
        if (std::find(chain.begin(), chain.end(), engine) == chain.end()) {
            chain.emplace_back(engine);
        }
    };
    for (const std::string& engine : options.engines) {
        if (engine == kAuto) {
            std::for_each(std::begin(kAutoChain), std::end(kAutoChain), add);
        } else {
            add(engine);
        }
    }
    if (std::find(chain.begin(), chain.end(), kLastResort) == chain.end()) {
        chain.emplace_back(kLastResort);
    }
    return chain;
}

}  // namespace

EngineTrial try_engine(const std::string& engine, const Topology& topology, const Routes* previous,
                       const RouteOptions& options) {
    EngineTrial tried;
    tried.attempt.engine = engine;
    const auto start = std::chrono::steady_clock::now();
    // Entries are kept for the engine they came from. Another one starts afresh: else an engine that was
    // refused would find the tables of its successor, keep them, and pass with those.
    const bool same = previous != nullptr && (previous->engine == engine || previous->engine.empty());
    const Routes* own = same ? previous : nullptr;
    base::Result<Routes> routes = run_engine(engine, topology, own, options);
    tried.attempt.compute_seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (!routes) {
        tried.attempt.refused_because = routes.error().message;
        return tried;
    }
    tried.computed = true;
    Proven proven =
        prove(topology, *routes, previous != nullptr ? previous->proof.get() : nullptr, options.threads);
    tried.verdict = std::move(proven.verdict);
    tried.mixture_seen = proven.mixture_seen;
    routes->proof = std::move(proven.proof);
    tried.attempt.verify_seconds = tried.verdict.seconds;
    if (!serves_the_rest(engine, topology, tried.verdict)) {
        tried.attempt.refused_because = refusal(tried.verdict, options);
    }
    tried.routes = std::move(*routes);
    return tried;
}

std::vector<ChannelStep> ring_in_transit(const Topology& topology, const EngineTrial& tried,
                                         const Routes* previous, const Routes& in_force, unsigned threads) {
    // What the proof of a change looks at is more than there is: no ring there, none here.
    const bool seen = tried.mixture_seen && tried.verdict.transit_loop.empty() && previous != nullptr &&
                      (previous == &in_force || same_entries(in_force, *previous));
    if (seen || (same_entries(in_force, tried.routes) &&
                 (!knows_lanes(in_force) || same_lanes(in_force, tried.routes)))) {
        return {};
    }
    return mixed_ring(topology, in_force, tried.routes, threads);
}

base::Result<RouteOutcome> route(const Topology& topology, const Routes* previous,
                                 const RouteOptions& options, const Routes* in_force) {
    RouteOutcome outcome;
    std::string reasons;
    for (const std::string& engine : chain_of(options)) {
        EngineTrial tried = try_engine(engine, topology, previous, options);
        outcome.attempts.push_back(tried.attempt);
        if (tried.attempt.refused_because.empty()) {
            tried.verdict.transit_loop =
                in_force == nullptr ? std::vector<ChannelStep>{}
                                    : ring_in_transit(topology, tried, previous, *in_force, options.threads);
            outcome.routes = std::move(tried.routes);
            outcome.verdict = std::move(tried.verdict);
            return outcome;
        }
        reasons +=
            fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", engine, tried.attempt.refused_because);
    }
    return base::fail(base::ErrorKind::unsupported, "no engine can route this fabric: " + reasons);
}

}  // namespace ibf::routing
