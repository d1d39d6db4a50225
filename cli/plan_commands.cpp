// generate and plan: what-if without a daemon.
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/client.hpp"
#include "cli/commands.hpp"
#include "cli/output_file.hpp"
#include "cli/table.hpp"
#include "routing/lft_dump.hpp"
#include "routing/netlist.hpp"
#include "routing/routes.hpp"

namespace ibf::cli {
namespace {

struct PlanOptions {
    std::string spec;
    std::vector<std::string> engines;
    std::vector<std::string> roots;
    std::string lfts;
    unsigned lmc = 0;
    unsigned threads = 0;
    bool allow_credit_loops = false;
    bool connect_roots = false;
};

std::uint64_t peak_rss_bytes() {
    struct rusage usage {};
    ::getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;  // Linux counts in KiB
}

base::Result<routing::LftDump> read_lfts(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    if (!file || !(text << file.rdbuf())) {
        return base::fail(base::ErrorKind::usage,
                          fmt::format("{} cannot be read: {}", path, std::strerror(errno)));
    }
    auto lfts = routing::parse_lft_dump(text.str());
    return lfts ? std::move(lfts)
                : base::fail(base::ErrorKind::usage, fmt::format("{}: {}", path, lfts.error().message));
}

base::Result<routing::RouteOptions> route_options(const PlanOptions& options) {
    routing::RouteOptions out;
    out.engines = options.engines;
    out.threads = options.threads;
    out.allow_credit_loops = options.allow_credit_loops;
    out.connect_roots = options.connect_roots;
    const auto known = routing::engine_names();
    for (const std::string& engine : options.engines) {
        if (std::find(known.begin(), known.end(), engine) == known.end()) {
            return base::fail(base::ErrorKind::usage, fmt::format("there is no engine '{}'; there are {}", engine,
                                                                  fmt::join(known, ", ")));
        }
    }
    for (const std::string& root : options.roots) {
        const auto guid = mad::parse_guid(root);
        if (!guid) {
            return tl::unexpected(guid.error());
        }
        out.root_guids.push_back(*guid);
    }
    if (!options.lfts.empty()) {
        auto lfts = read_lfts(options.lfts);
        if (!lfts) {
            return tl::unexpected(lfts.error());
        }
        out.lfts = std::make_shared<const routing::LftDump>(std::move(*lfts));
    }
    return out;
}

Json attempts_json(const routing::RouteOutcome& outcome) {
    Json out = Json::array();
    for (const auto& attempt : outcome.attempts) {
        out.push_back(Json{{"engine", attempt.engine},
                           {"refused_because", attempt.refused_because},
                           {"compute_seconds", attempt.compute_seconds},
                           {"verify_seconds", attempt.verify_seconds}});
    }
    return out;
}

Json plan_json(const routing::Topology& topology, const routing::RouteOutcome& outcome,
               const routing::Quality& quality) {
    const auto& serving = outcome.attempts.back();
    Json out;
    out["engine"] = outcome.routes.engine;
    out["switches"] = topology.switches.size();
    out["end_ports"] = topology.end_ports.size();
    out["links"] = topology.link_count();
    out["lids"] = topology.lid_count();
    out["compute_seconds"] = serving.compute_seconds;
    out["verify_seconds"] = serving.verify_seconds;
    out["vls"] = outcome.routes.vls;
    out["unreachable_pairs"] = outcome.verdict.unreachable_pairs;
    out["loops"] = outcome.verdict.loops;
    out["credit_loops"] = outcome.verdict.credit_loop_free ? 0 : 1;
    out["pairs_checked"] = outcome.verdict.pairs_checked;
    out["switch_pairs_unreachable"] = outcome.verdict.switch_pairs_unreachable;
    out["max_link_load"] = quality.max_link_load;
    out["mean_link_load"] = quality.mean_link_load;
    out["sigma_link_load"] = quality.sigma_link_load;
    out["unused_links"] = quality.unused_links;
    out["max_hops"] = quality.max_hops;
    out["mean_hops"] = quality.mean_hops;
    out["max_dilation"] = quality.max_dilation;
    out["mean_dilation"] = quality.mean_dilation;
    out["attempts"] = attempts_json(outcome);
    out["hash"] = fmt::format("{:016x}", outcome.routes.hash());
    out["peak_rss_bytes"] = peak_rss_bytes();
    return out;
}

std::string plan_text(const Json& plan) {
    std::string out;
    const auto line = [&out](std::string_view title, const std::string& text) {
        fmt::format_to(std::back_inserter(out), "{:<12}{}\n", title, text);
    };
    const auto count = [&plan](const char* key) { return grouped(plan[key].get<std::uint64_t>()); };
    line("fabric", fmt::format("{} switches, {} end ports, {} links, {} LIDs", count("switches"), count("end_ports"),
                               count("links"), count("lids")));
    for (const Json& attempt : plan["attempts"]) {
        const std::string why = field_text(attempt, "refused_because");
        line("engine",
             why == "-" ? fmt::format("{} serves: computed in {}, proved in {}",
                                      field_text(attempt, "engine"), seconds_text(attempt["compute_seconds"]),
                                      seconds_text(attempt["verify_seconds"]))
                        : fmt::format("{} refused: {}", field_text(attempt, "engine"), why));
    }
    line("lanes", field_text(plan, "vls"));
    line("proof", fmt::format("{} pairs: {} unreachable, {} loops, {} credit loops; {} switch pairs not served",
                              count("pairs_checked"), count("unreachable_pairs"), count("loops"),
                              count("credit_loops"), count("switch_pairs_unreachable")));
    line("link load", fmt::format("max {}, mean {:.1f}, sigma {:.1f}, {} links unused", count("max_link_load"),
                                  plan["mean_link_load"].get<double>(), plan["sigma_link_load"].get<double>(),
                                  count("unused_links")));
    line("switches", fmt::format("max {}, mean {:.2f} on a path; dilation max {:g}, mean {:.3f}", count("max_hops"),
                                 plan["mean_hops"].get<double>(), plan["max_dilation"].get<double>(),
                                 plan["mean_dilation"].get<double>()));
    line("memory", fmt::format("{:.0f} MB at most", plan["peak_rss_bytes"].get<double>() / 1e6));
    return out;
}

/// A finding: something does not arrive or may lock up, or none of the engines asked for would do.
bool is_finding(const PlanOptions& options, const routing::RouteOutcome& outcome) {
    const bool asked_for = std::find(options.engines.begin(), options.engines.end(), outcome.routes.engine) !=
                           options.engines.end();
    return !asked_for || !outcome.verdict.reachable() || !outcome.verdict.credit_loop_free;
}

Exit run_plan(const PlanOptions& options, const Session& session) {
    const auto chain = route_options(options);
    if (!chain) {
        return failure(chain.error());
    }
    progress("reading the fabric ...");
    const auto netlist = routing::netlist_from_spec(options.spec);
    if (!netlist) {
        return failure(netlist.error());
    }
    const auto topology = routing::topology_of(*netlist, static_cast<std::uint8_t>(options.lmc));
    if (!topology) {
        return failure(topology.error());
    }
    progress("computing and proving routes ...");
    const auto outcome = routing::route(*topology, nullptr, *chain);
    if (!outcome) {
        return failure(outcome.error());
    }
    progress("measuring ...");
    const auto quality = routing::measure_quality(*topology, outcome->routes, options.threads);
    progress("");
    const Json plan = plan_json(*topology, *outcome, quality);
    const auto done = print(session.json ? plan.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"
                                         : plan_text(plan));
    if (!done) {
        return failure(done.error());
    }
    return is_finding(options, *outcome) ? Exit::finding : Exit::ok;
}

Exit run_generate(const std::string& spec, const std::string& path, const Session& session) {
    const auto netlist = routing::netlist_from_spec(spec);
    if (!netlist) {
        return failure(netlist.error());
    }
    const std::string text = routing::to_ibsim_text(*netlist);
    if (path.empty() || path == "-") {
        const auto done = print(text);
        return done ? Exit::ok : failure(done.error());
    }
    auto file = OutputFile::create(path);
    if (!file) {
        return failure(file.error());
    }
    const auto done = file->write(text).and_then([&] { return file->commit(); });
    if (!done) {
        return failure(done.error());
    }
    if (session.json) {
        const Json report{{"path", path},
                          {"nodes", netlist->nodes.size()},
                          {"switches", netlist->switch_count()},
                          {"links", netlist->link_count()}};
        const auto printed = print(report.dump(2) + "\n");
        return printed ? Exit::ok : failure(printed.error());
    }
    return Exit::ok;
}

}  // namespace

void add_plan_commands(CLI::App& app, Action& chosen) {
    struct GenerateOptions {
        std::string spec;
        std::string path;
    };
    const auto to_generate = std::make_shared<GenerateOptions>();
    CLI::App* generate = app.add_subcommand("generate", "Make a fabric as an ibsim netlist (no daemon needed)");
    generate->add_option("SPEC", to_generate->spec, "Generator or topology file, see below")->required();
    generate->add_option("-o,--output", to_generate->path, "File to write; '-' or none: standard output")
        ->type_name("FILE");
    generate->footer("SPEC:\n" + routing::generator_help() +
                     "\nExamples:\n  ibfabric generate fat-tree:radix=8,levels=3 -o tree.net\n"
                     "  ibfabric generate fabric.topo.gz | ibsim -s /dev/stdin");
    generate->callback([to_generate, &chosen] {
        chosen = [to_generate](const Session& session) {
            return run_generate(to_generate->spec, to_generate->path, session);
        };
    });

    const auto to_plan = std::make_shared<PlanOptions>();
    CLI::App* plan = app.add_subcommand("plan", "Compute, prove and measure routes for a fabric (no daemon needed)");
    plan->add_option("SPEC", to_plan->spec, "Generator or topology file ('ibfabric generate --help')")->required();
    plan->add_option("--engine", to_plan->engines, "Engine, or a chain: the first that passes the proof serves")
        ->type_name("NAME[,NAME...]")
        ->delimiter(',')
        ->default_str("minhop,updn");
    plan->add_option("--lmc", to_plan->lmc, "2^N LIDs a port")->check(CLI::Range(0, 7));
    plan->add_option("--threads", to_plan->threads, "0: all cores; the result is the same")->check(CLI::Range(0, 1024));
    plan->add_option("--root", to_plan->roots, "Up/down root by GUID, may be repeated; none: found from the hosts up");
    plan->add_option("--lfts", to_plan->lfts, "Dump of forwarding tables for the engine 'file'")
        ->type_name("FILE");
    plan->add_flag("--allow-credit-loops", to_plan->allow_credit_loops, "Accept routes that could lock up");
    plan->add_flag("--connect-roots", to_plan->connect_roots, "Route between up/down roots too");
    plan->footer("Exit code 1 if a pair is not served, routes could lock up, or no engine asked for would serve.\n\n"
                 "Examples:\n  ibfabric plan fat-tree:radix=36,levels=3 --engine updn\n"
                 "  ibfabric plan torus:8x8x8,hosts=2 --engine minhop,updn --json");
    plan->callback([to_plan, &chosen] {
        if (to_plan->engines.empty()) {
            to_plan->engines = routing::RouteOptions{}.engines;
        }
        chosen = [to_plan](const Session& session) { return run_plan(*to_plan, session); };
    });
}

}  // namespace ibf::cli
