// generate and plan: what-if without a daemon.
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "cli/client.hpp"
#include "cli/commands.hpp"
#include "cli/output_file.hpp"
#include "cli/plan_report.hpp"
#include "cli/table.hpp"
#include "daemon/api/json_rows.hpp"
#include "daemon/fabric/export.hpp"
#include "daemon/fabric/planned.hpp"
#include "routing/host_list.hpp"
#include "routing/lft_dump.hpp"
#include "routing/netlist.hpp"
#include "routing/patterns.hpp"
#include "routing/preference_files.hpp"
#include "routing/routes.hpp"
#include "routing/text_file.hpp"

namespace ibf::cli {
namespace {

constexpr double kFailPercentMost = 95;  ///< as "missing-links" of generators

struct PlanOptions {
    std::string spec;
    std::vector<std::string> engines;
    std::vector<std::string> roots;
    std::string lfts;
    std::string slow_links;
    routing::PreferencePaths preferences;
    unsigned lmc = 0;
    unsigned vls = routing::RouteOptions{}.vls_max;
    unsigned threads = 0;
    bool allow_credit_loops = false;
    bool connect_roots = false;
    bool compare = false;
    std::vector<std::string> patterns;
    std::uint32_t seed = 1;
    std::uint32_t matchings = routing::PatternOptions{}.draws;
    std::string fail;
    std::string hosts;
    std::string dump;
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

base::Result<routing::Preferences> read_preferences(const PlanOptions& options) {
    routing::Preferences out;
    for (const routing::SlowLinksWord& one : routing::kSlowLinksWords) {
        out.slow_links = one.word == options.slow_links ? one.means : out.slow_links;
    }
    for (const routing::PreferenceFile& file : routing::preference_files()) {
        const std::string& path = options.preferences.*file.path;
        if (path.empty()) {
            continue;
        }
        const auto read =
            routing::read_text_file(path, routing::kGuidFileBytesMax).and_then([&](const std::string& text) {
                return file.read(text, path, out);
            });
        if (!read) {
            return base::fail(base::ErrorKind::usage, read.error().message);
        }
    }
    return out;
}

base::Result<routing::RouteOptions> route_options(const PlanOptions& options) {
    routing::RouteOptions out;
    out.engines = options.engines;
    out.vls_max = static_cast<std::uint8_t>(options.vls);
    out.threads = options.threads;
    out.allow_credit_loops = options.allow_credit_loops;
    out.connect_roots = options.connect_roots;
    const auto known = options.compare ? routing::engine_names() : routing::chain_words();
    for (const std::string& engine : options.engines) {
        if (std::find(known.begin(), known.end(), engine) == known.end()) {
            return base::fail(base::ErrorKind::usage, fmt::format("there is no engine '{}'; there are {}",
                                                                  engine, fmt::join(known, ", ")));
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
    auto preferences = read_preferences(options);
    if (!preferences) {
        return tl::unexpected(preferences.error());
    }
    out.preferences = std::move(*preferences);
    return out;
}

/// "2%" or "2" as a share. Errors: usage.
base::Result<double> failing_share(const std::string& text) {
    std::string_view digits = text;
    if (digits.ends_with('%')) {
        digits.remove_suffix(1);
    }
    double percent = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), percent);
    const bool whole = error == std::errc{} && end == digits.data() + digits.size();
    if (!whole || !(percent >= 0 && percent <= kFailPercentMost)) {  // written so that NaN is refused too
        return base::fail(
            base::ErrorKind::usage,
            fmt::format("--fail '{}': a share of the cables between switches, from 0% to {}%, like 2%", text,
                        kFailPercentMost));
    }
    return percent / 100;
}

/// A fabric ready to be routed.
struct Subject {
    routing::Netlist netlist;
    routing::Topology topology;
    std::uint64_t failed_links = 0;
    std::vector<routing::EndPortIndex> hosts;  ///< whose traffic is looked at, in their usual order
};

base::Result<Subject> read_fabric(const PlanOptions& options) {
    auto netlist = routing::netlist_from_spec(options.spec);
    if (!netlist) {
        return tl::unexpected(netlist.error());
    }
    const std::size_t links = netlist->link_count();
    if (!options.fail.empty()) {
        const auto share = failing_share(options.fail);
        if (!share) {
            return tl::unexpected(share.error());
        }
        routing::thin_out(*netlist, 0, *share, options.seed);
    }
    auto topology = routing::topology_of(*netlist, static_cast<std::uint8_t>(options.lmc));
    if (!topology) {
        return tl::unexpected(topology.error());
    }
    Subject subject;
    subject.topology = std::move(*topology);
    subject.failed_links = links - netlist->link_count();
    subject.netlist = std::move(*netlist);
    subject.hosts = routing::usual_order(subject.topology, options.threads);
    return subject;
}

base::Result<Subject> read_subject(const PlanOptions& options) {
    progress("reading the fabric ...");
    auto subject = read_fabric(options);
    if (!subject || options.hosts.empty()) {
        return subject;
    }
    auto hosts = routing::load_host_list(options.hosts, subject->topology, subject->hosts);
    if (!hosts) {
        return tl::unexpected(hosts.error());
    }
    if (hosts->size() < 2) {
        return base::fail(base::ErrorKind::usage,
                          fmt::format("{}: traffic takes two end ports or more, this names {}", options.hosts,
                                      hosts->size()));
    }
    subject->hosts = std::move(*hosts);
    return subject;
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
    routing::PatternOptions how;
    how.seed = options.seed;
    how.draws = options.matchings;
    how.threads = options.threads;
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

/// The head of every plan: the engine, then the fabric.
Json head_json(const PlanOptions& options, const Subject& subject, const routing::EngineAttempt& attempt) {
    Json out;
    out["engine"] = attempt.engine;
    out.update(fabric_json(subject.topology, subject.failed_links, subject.hosts.size()));
    out["seed"] = options.seed;
    out["compute_seconds"] = attempt.compute_seconds;
    out["verify_seconds"] = attempt.verify_seconds;
    return out;
}

Exit print_plans(const Session& session, const Json& plans, const std::string& text, Exit verdict) {
    progress("");
    const auto done =
        print(session.json ? plans.dump(2, ' ', false, Json::error_handler_t::replace) + "\n" : text);
    return done ? verdict : failure(done.error());
}

/// A finding: something does not arrive or may lock up, or none of the engines asked for would do.
bool is_finding(const PlanOptions& options, const routing::RouteOutcome& outcome) {
    const bool asked_for = std::find(options.engines.begin(), options.engines.end(), outcome.routes.engine) !=
                           options.engines.end();
    return !asked_for || !outcome.verdict.reachable() || !outcome.verdict.credit_loop_free;
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
    const auto how = route_options(options);
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

void add_preferences(CLI::App& plan, PlanOptions& options) {
    std::vector<std::string> words;
    for (const routing::SlowLinksWord& one : routing::kSlowLinksWords) {
        words.emplace_back(one.word);
    }
    plan.add_option("--slow-links", options.slow_links,
                    fmt::format("What becomes of links that run below what both ends can do: {}",
                                fmt::join(words, ", ")))
        ->type_name("WORD")
        ->check(CLI::IsMember(words));
    for (const routing::PreferenceFile& file : routing::preference_files()) {
        plan.add_option(std::string(file.flag), options.preferences.*file.path, std::string(file.help))
            ->type_name("FILE");
    }
}

void add_plan_command(CLI::App& app, Action& chosen) {
    const auto options = std::make_shared<PlanOptions>();
    CLI::App* plan =
        app.add_subcommand("plan", "Compute, prove and measure routes for a fabric (no daemon needed)");
    plan->add_option("SPEC", options->spec, "Generator or topology file ('ibfabric generate --help')")
        ->required();
    plan->add_option(
            "--engine", options->engines,
            fmt::format("Of {}: a chain, the first that passes the proof serves; with --compare each by "
                        "itself (default: all there are). 'auto' is the engine of the fabric's family",
                        fmt::join(routing::chain_words(), ", ")))
        ->type_name("NAME[,NAME...]")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->default_str("minhop,updn");
    plan->add_flag("--compare", options->compare, "Show the engines side by side");
    plan->add_option("--pattern", options->patterns,
                     "Traffic to lay over the routes: shift, permutation, bisection, all (default with "
                     "--compare: all)")
        ->type_name("NAME[,NAME...]")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::IsMember({"shift", "permutation", "bisection", "all"}));
    plan->add_option("--hosts", options->hosts, "Only traffic among these: one name, GUID or LID a line")
        ->type_name("FILE");
    plan->add_option("--matchings", options->matchings,
                     "How many matchings, permutations and, beyond 2048, displacements are drawn")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    plan->add_option("--fail", options->fail,
                     "First take away so many of the cables between switches, by seed")
        ->type_name("PERCENT");
    plan->add_option("--seed", options->seed, "What the random choices follow from")->capture_default_str();
    plan->add_option("--lmc", options->lmc, "2^N LIDs a port")->check(CLI::Range(0, 7));
    plan->add_option("--vls", options->vls, "Data lanes that an engine may use at most")
        ->check(CLI::Range(1U, routing::kDataLanesMax))
        ->capture_default_str();
    plan->add_option("--threads", options->threads, "0: all cores; the result is the same")
        ->check(CLI::Range(0, 1024));
    plan->add_option("--root", options->roots,
                     "Up/down root by GUID, may be repeated; none: found from the hosts up");
    plan->add_option("--lfts", options->lfts, "Dump of forwarding tables for the engine 'file'")
        ->type_name("FILE");
    plan->add_option("--dump", options->dump,
                     "Folder to write the fabric and the tables to, as 'export --format opensm-dumps' does")
        ->type_name("DIR");
    add_preferences(*plan, *options);
    plan->add_flag("--allow-credit-loops", options->allow_credit_loops, "Accept routes that could lock up");
    plan->add_flag("--connect-roots", options->connect_roots, "Route between up/down roots too");
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
