#include "routing/updn.hpp"

#include <algorithm>
#include <memory>
#include <queue>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "routing/engine_tables.hpp"
#include "routing/parallel.hpp"

namespace ibf::routing {

Heights heights_from_roots(const Graph& graph, const ByteMatrix& distances,
                           const std::vector<std::uint32_t>& roots, const Heights& from_hosts) {
    Heights heights = from_hosts;
    for (std::uint32_t at = 0; at < graph.switch_count(); ++at) {
        std::uint8_t nearest = kUnreached;
        for (const std::uint32_t root : roots) {
            nearest = std::min(nearest, distances.row(root)[at]);
        }
        if (nearest != kUnreached) {
            heights[at] = nearest;
        }
    }
    return heights;
}

namespace {

/// Where the order of a component starts: the leaf with the most neighbours, then the most hosts, then the
/// lowest index. Growing from a leaf, not from a spine, leaves all spines on one footing.
std::vector<std::uint32_t> starts_by_preference(const Graph& graph, const Heights& heights,
                                                const std::vector<char>& last) {
    using Key = std::tuple<bool, bool, std::int64_t, std::int64_t, std::uint32_t>;
    std::vector<Key> keys;
    for (std::uint32_t at = 0; at < graph.switch_count(); ++at) {
        const bool leaf = graph.hosts[at] != 0 && is_bottom(graph, heights, at);
        keys.emplace_back(last[at] != 0, !leaf, -static_cast<std::int64_t>(graph.groups_of(at).size()),
                          -std::int64_t{graph.hosts[at]}, at);
    }
    std::sort(keys.begin(), keys.end());
    std::vector<std::uint32_t> starts;
    for (const Key& key : keys) {
        starts.push_back(std::get<4>(key));
    }
    return starts;
}

}  // namespace

std::vector<std::uint32_t> updn_order(const Graph& graph, const Heights& heights,
                                      const std::vector<char>& last) {
    constexpr std::uint32_t kUnplaced = kNoIndex;
    std::vector<std::uint32_t> position(graph.switch_count(), kUnplaced);
    std::uint32_t next = 0;
    // (comes last, height, hops from the start, index): the highest switch next to those placed is placed
    // next.
    using Key = std::tuple<bool, std::uint64_t, std::uint32_t, std::uint32_t>;
    std::priority_queue<Key, std::vector<Key>, std::greater<>> frontier;
    for (const std::uint32_t start : starts_by_preference(graph, heights, last)) {
        if (position[start] != kUnplaced) {
            continue;
        }
        frontier.emplace(false, 0, 0, start);
        while (!frontier.empty()) {
            const auto [late, height, hops, at] = frontier.top();
            frontier.pop();
            if (position[at] != kUnplaced) {
                continue;
            }
            position[at] = next++;
            for (const PortGroup& group : graph.groups_of(at)) {
                if (position[group.peer] == kUnplaced) {
                    frontier.emplace(last[group.peer] != 0, heights[group.peer], hops + 1, group.peer);
                }
            }
        }
    }
    return position;
}

namespace {

/// down: hops using down links only. whole: hops of the path taken, up links first. goal: what an up-going
/// hop must come closer to; switches that can go down must (their goal is one that no neighbour meets),
/// because a packet that came down has no other way.
struct LegalHops {
    ByteMatrix down;
    ByteMatrix whole;
    ByteMatrix goal;
};

inline constexpr std::uint8_t kNoGoal = 254;  // whole + 1 never gets here: kDistanceMax is lower

void shorten(std::uint8_t* __restrict mine, const std::uint8_t* __restrict peer) {
    for (unsigned i = 0; i < 64; ++i) {
        const auto next = static_cast<std::uint8_t>(peer[i] + (peer[i] != kUnreached ? 1U : 0U));
        mine[i] = std::min(mine[i], next);
    }
}

void settle_down(std::uint8_t* __restrict whole, std::uint8_t* __restrict goal,
                 const std::uint8_t* __restrict down) {
    for (unsigned i = 0; i < 64; ++i) {
        const bool descends = down[i] != kUnreached;
        goal[i] = descends ? kNoGoal : whole[i];
        whole[i] = descends ? down[i] : whole[i];
    }
}

/// One strip of 64 destinations: down distances from the end of the order to its start, then the whole paths
/// from the start to the end.
void fill_strip(const Graph& graph, const std::vector<std::uint32_t>& position,
                const std::vector<std::uint32_t>& by_position, std::size_t column, LegalHops& out) {
    for (auto it = by_position.rbegin(); it != by_position.rend(); ++it) {
        for (const PortGroup& group : graph.groups_of(*it)) {
            if (position[group.peer] > position[*it]) {
                shorten(out.down.row(*it) + column, out.down.row(group.peer) + column);
            }
        }
    }
    for (const std::uint32_t at : by_position) {
        for (const PortGroup& group : graph.groups_of(at)) {
            if (position[group.peer] < position[at]) {
                shorten(out.whole.row(at) + column, out.whole.row(group.peer) + column);
            }
        }
        settle_down(out.whole.row(at) + column, out.goal.row(at) + column, out.down.row(at) + column);
    }
}

base::Result<LegalHops> legal_hops(const Graph& graph, const std::vector<std::uint32_t>& position,
                                   unsigned threads) {
    const std::uint32_t count = graph.switch_count();
    LegalHops hops{ByteMatrix(count, kUnreached), ByteMatrix(count, kUnreached),
                   ByteMatrix(count, kUnreached)};
    std::vector<std::uint32_t> by_position(count);
    for (std::uint32_t at = 0; at < count; ++at) {
        by_position[position[at]] = at;
        hops.down.row(at)[at] = 0;
    }
    parallel_ranges(hops.down.stride(), 64, threads, [&](const WorkRange& range) {
        fill_strip(graph, position, by_position, range.begin, hops);
    });
    for (std::uint32_t at = 0; at < count; ++at) {
        const std::uint8_t* row = hops.whole.row(at);
        if (std::any_of(row, row + count,
                        [](std::uint8_t d) { return d > kDistanceMax && d != kUnreached; })) {
            return base::fail(base::ErrorKind::unsupported,
                              fmt::format("an up/down path is longer than {} hops", kDistanceMax));
        }
    }
    return hops;
}

std::vector<std::uint32_t> indices_of(const Topology& topology, const std::vector<mad::Guid>& guids) {
    std::vector<std::uint32_t> indices;
    for (std::uint32_t at = 0; at < topology.switches.size(); ++at) {
        if (std::find(guids.begin(), guids.end(), topology.switches[at].guid) != guids.end()) {
            indices.push_back(at);
        }
    }
    return indices;
}

/// The order is made once, on the whole graph, and holds for all LID classes: their dependencies share lanes.
struct UpDown {
    std::vector<std::uint32_t> position;
    std::vector<mad::Guid> roots;
};

base::Result<UpDown> orient(const Topology& topology, const HeightRule& rule, unsigned threads) {
    const Graph graph = make_graph(topology, {});
    const base::Result<ByteMatrix> distances = hop_distances(graph, threads);
    if (!distances) {
        return tl::unexpected<base::Error>(distances.error());
    }
    const base::Result<Heights> heights = rule(graph, *distances);
    if (!heights) {
        return tl::unexpected<base::Error>(heights.error());
    }
    UpDown result;
    result.position = updn_order(graph, *heights, scarce_switches(topology));
    for (std::uint32_t at = 0; at < graph.switch_count(); ++at) {
        const auto groups = graph.groups_of(at);
        if (!groups.empty() && std::none_of(groups.begin(), groups.end(), [&](const PortGroup& group) {
                return (*heights)[group.peer] < (*heights)[at];
            })) {
            result.roots.push_back(topology.switches[at].guid);
        }
    }
    return result;
}

}  // namespace

base::Result<Routes> route_up_down(std::string_view engine, const HeightRule& rule, const Topology& topology,
                                   const Routes* previous, const RouteOptions& options) {
    base::Result<UpDown> orientation = orient(topology, rule, options.threads);
    if (!orientation) {
        return tl::unexpected<base::Error>(orientation.error());
    }
    const std::vector<std::uint32_t>& position = orientation->position;
    const Planner planner = [&](const Graph& graph) -> base::Result<EnginePlan> {
        EnginePlan plan;
        const base::Result<ByteMatrix> distances = hop_distances(graph, options.threads);
        base::Result<LegalHops> hops = legal_hops(graph, position, options.threads);
        if (!distances || !hops) {
            return tl::unexpected<base::Error>(!distances ? distances.error() : hops.error());
        }
        plan.shape = shape_of(graph, *distances, heights_from_hosts(graph, *distances));
        const auto legal = std::make_shared<const LegalHops>(std::move(*hops));
        plan.lengths = std::shared_ptr<const ByteMatrix>(legal, &legal->whole);
        plan.rule = [&graph, &position, legal](std::uint32_t at, CandidatePlanes& out) {
            std::size_t index = 0;
            for (const PortGroup& group : graph.groups_of(at)) {
                const bool up = position[group.peer] < position[at];
                out.add_where_closer(index++, (up ? legal->whole : legal->down).row(group.peer),
                                     (up ? legal->goal : legal->down).row(at));
            }
        };
        return plan;
    };
    base::Result<Routes> routes = build_tables(topology, previous, options.threads, planner);
    if (routes) {
        routes->engine = engine;
        routes->roots = std::move(orientation->roots);
    }
    return routes;
}

base::Result<Routes> route_updn(const Topology& topology, const Routes* previous,
                                const RouteOptions& options) {
    const HeightRule rule = [&](const Graph& graph, const ByteMatrix& distances) -> base::Result<Heights> {
        const Heights from_hosts = heights_from_hosts(graph, distances);
        if (options.root_guids.empty()) {
            return from_hosts;
        }
        const std::vector<std::uint32_t> roots = indices_of(topology, options.root_guids);
        if (roots.empty()) {
            return base::fail(base::ErrorKind::unsupported,
                              "none of the configured up/down roots is a switch of this fabric; "
                              "correct root_guids or leave them out to have roots found");
        }
        return heights_from_roots(graph, distances, roots, from_hosts);
    };
    return route_up_down("updn", rule, topology, previous, options);
}

}  // namespace ibf::routing
