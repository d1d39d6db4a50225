// generate and plan: what-if without a daemon.
#include <sys/resource.h>

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "cli/client.hpp"
#include "cli/commands.hpp"
#include "cli/output_file.hpp"
#include "cli/plan_report.hpp"
#include "cli/plan_subject.hpp"
#include "cli/table.hpp"
#include "daemon/api/json_rows.hpp"
#include "daemon/fabric/export.hpp"
#include "daemon/fabric/planned.hpp"
#include "routing/netlist.hpp"
#include "routing/patterns.hpp"
#include "routing/routes.hpp"

namespace ibf::cli {
namespace {

struct PlanOptions : SubjectOptions {
    bool compare = false;
    std::vector<std::string> patterns;
    std::string dump;
};

std::uint64_t peak_rss_bytes() {
    struct rusage usage {};
    ::getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;  // Linux counts in KiB
}

bool is_wanted(const PlanOptions& options, const PatternWord& pattern) {
    return std::any_of(options.patterns.begin(), options.patterns.end(),
                       [&](const std::string& word) { return word == pattern.word || word == "all"; });
}

/// What tables are worth: proof, spread, patterns.
Json measure(const PlanOptions& options, const Subject& subject, const routing::Routes& routes,
             const routing::Verdict& verdict) {
    Json out = routes_json(routes, verdict);
    progress(fmt::format("{}: measuring ...", routes.engine));
    out.update(api::quality_json(
        routing::measure_quality(subject.topology, routes, subject.hosts, options.threads)));
    const routing::PatternOptions how = pattern_options(options);
    out["patterns"] = Json::object();
    for (const PatternWord& pattern : kPatternWords) {
        if (is_wanted(options, pattern)) {
            progress(fmt::format("{}: measuring {} ...", routes.engine, pattern.word));
            const auto figures =
                routing::lay_pattern(pattern.pattern, subject.topology, routes, subject.hosts, how);
            out["patterns"][std::string(pattern.word)] = pattern_json(pattern, figures, subject.hosts.size());
        }
    }
    return out;
}

Exit print_plans(const Session& session, const Json& plans, const std::string& text, Exit verdict) {
    progress("");
    const auto done =
        print(session.json ? plans.dump(2, ' ', false, Json::error_handler_t::replace) + "\n" : text);
    return done ? verdict : failure(done.error());
}

/// What `export --format opensm-dumps` would write of a fabric that these routes serve.
base::Result<Json> dump_plan(const std::string& folder, const Subject& subject,
                             const routing::RouteOutcome& outcome) {
    progress(fmt::format("writing {} ...", folder));
    const auto snapshot = std::make_shared<const fabric::Snapshot>(
        fabric::planned_snapshot(subject.netlist, subject.topology, &outcome));
    const std::vector<std::string_view> names = fabric::opensm_dump_files();
    const auto written = write_folder(folder, {names.begin(), names.end()},
                                      [&](const std::string& name, OutputFile& file) -> base::Result<void> {
                                          auto pieces = fabric::opensm_dump(snapshot, name);
                                          if (!pieces) {
                                              return tl::unexpected(pieces.error());
                                          }
                                          for (std::string piece; (*pieces)(piece); piece.clear()) {
                                              if (const auto done = file.write(piece); !done) {
                                                  return done;
                                              }
                                          }
                                          return {};
                                      });
    return written.map(&files_json);
}

/// The engines as a chain: the first that passes the proof serves.
Exit plan_chain(const PlanOptions& options, const Subject& subject, const routing::RouteOptions& chain,
                const Session& session) {
    progress("computing and proving routes ...");
    const auto outcome = routing::route(subject.topology, nullptr, chain);
    if (!outcome) {
        return failure(outcome.error());
    }
    Json plan = head_json(options, subject, outcome->attempts.back());
    plan.update(measure(options, subject, outcome->routes, outcome->verdict));
    plan["attempts"] = Json::array();
    for (const auto& attempt : outcome->attempts) {
        plan["attempts"].push_back(attempt_json(attempt));
    }
    if (!options.dump.empty()) {
        auto files = dump_plan(options.dump, subject, *outcome);
        if (!files) {
            return failure(files.error());
        }
        plan["dump"] = std::move(*files);
    }
    plan["peak_rss_bytes"] = peak_rss_bytes();
    return print_plans(session, plan, plan_text(plan),
                       is_finding(options, *outcome) ? Exit::finding : Exit::ok);
}

/// Each engine by itself, also those that would be refused.
Exit compare_engines(const PlanOptions& options, const Subject& subject, const routing::RouteOptions& how,
                     const Session& session) {
    Json plans = Json::array();
    bool any_serves = false;
    for (const std::string& engine : options.engines) {
        progress(fmt::format("{}: computing and proving routes ...", engine));
        const auto trial = routing::try_engine(engine, subject.topology, nullptr, how);
        Json plan = head_json(options, subject, trial.attempt);
        plan["served"] = trial.attempt.refused_because.empty();
        plan["refused_because"] = trial.attempt.refused_because;
        any_serves = any_serves || trial.attempt.refused_because.empty();
        if (trial.computed) {
            plan.update(measure(options, subject, trial.routes, trial.verdict));
        }
        plan["peak_rss_bytes"] = peak_rss_bytes();
        plans.push_back(std::move(plan));
    }
    return print_plans(session, plans, comparison_text(plans), any_serves ? Exit::ok : Exit::finding);
}

Exit run_plan(PlanOptions options, const Session& session) {
    if (options.compare && !options.dump.empty()) {
        complain("--dump writes the tables of one plan: leave --compare out");
        return Exit::usage;
    }
    if (options.engines.empty()) {
        options.engines = options.compare ? routing::engine_names() : routing::RouteOptions{}.engines;
    }
    if (options.patterns.empty() && options.compare) {
        options.patterns = {"all"};
    }
    const auto how =
        route_options(options, options.compare ? routing::engine_names() : routing::chain_words());
    if (!how) {
        return failure(how.error());
    }
    const auto subject = read_subject(options);
    if (!subject) {
        return failure(subject.error());
    }
    return options.compare ? compare_engines(options, *subject, *how, session)
                           : plan_chain(options, *subject, *how, session);
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

void add_plan_command(CLI::App& app, Action& chosen) {
    const auto options = std::make_shared<PlanOptions>();
    CLI::App* plan =
        app.add_subcommand("plan", "Compute, prove and measure routes for a fabric (no daemon needed)");
    add_subject(
        *plan, *options,
        "a chain, the first that passes the proof serves; with --compare each by itself (default: all there "
        "are)");
    plan->add_flag("--compare", options->compare, "Show the engines side by side");
    plan->add_option("--pattern", options->patterns,
                     "Traffic to lay over the routes: shift, permutation, bisection, all (default with "
                     "--compare: all)")
        ->type_name("NAME[,NAME...]")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::IsMember({"shift", "permutation", "bisection", "all"}));
    add_subject_options(*plan, *options);
    plan->add_option("--dump", options->dump,
                     "Folder to write the fabric and the tables to, as 'export --format opensm-dumps' does")
        ->type_name("DIR");
    plan->footer(
        "Exit code 1 if a pair is not served, routes could lock up, or no engine asked for would serve; "
        "with\n"
        "--compare only if no engine would serve.\n\n"
        "Examples:\n  ibfabric plan fat-tree:radix=36,levels=3 --engine updn\n"
        "  ibfabric plan torus:8x8x8,hosts=2 --engine minhop,updn --json\n"
        "  ibfabric plan fat-tree:radix=16,levels=3 --compare --fail 2% --seed 7\n"
        "  ibfabric plan fabric.topo --engine updn --pattern shift --hosts job.txt\n"
        "  ibfabric plan fabric.topo --engine updn --dump dumps && ibdmchk -s dumps/opensm-subnet.lst "
        "-f dumps/opensm.fdbs -m dumps/opensm.mcfdbs");
    plan->callback([options, &chosen] {
        chosen = [options](const Session& session) { return run_plan(*options, session); };
    });
}

}  // namespace

void add_plan_commands(CLI::App& app, Action& chosen) {
    struct GenerateOptions {
        std::string spec;
        std::string path;
    };
    const auto to_generate = std::make_shared<GenerateOptions>();
    CLI::App* generate =
        app.add_subcommand("generate", "Make a fabric as an ibsim netlist (no daemon needed)");
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

    add_plan_command(app, chosen);
}

}  // namespace ibf::cli
