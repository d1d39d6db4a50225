#include "cli/plan_subject.hpp"

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

#include "cli/plan_report.hpp"
#include "cli/session.hpp"
#include "routing/host_list.hpp"
#include "routing/lft_dump.hpp"
#include "routing/text_file.hpp"

namespace ibf::cli {
namespace {

constexpr double kFailPercentMost = 95;  ///< as "missing-links" of generators

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

base::Result<routing::Preferences> read_preferences(const SubjectOptions& options) {
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

base::Result<Subject> subject_of(routing::Netlist netlist, const SubjectOptions& options) {
    const std::size_t links = netlist.link_count();
    if (!options.fail.empty()) {
        const auto share = failing_share(options.fail);
        if (!share) {
            return tl::unexpected(share.error());
        }
        routing::thin_out(netlist, 0, *share, options.seed);
    }
    auto topology = routing::topology_of(netlist, static_cast<std::uint8_t>(options.lmc));
    if (!topology) {
        return tl::unexpected(topology.error());
    }
    Subject subject;
    subject.topology = std::move(*topology);
    subject.failed_links = links - netlist.link_count();
    subject.netlist = std::move(netlist);
    subject.hosts = routing::usual_order(subject.topology, options.threads);
    return subject;
}

/// With the hosts of a file, if one is named.
base::Result<Subject> with_hosts(base::Result<Subject> subject, const SubjectOptions& options) {
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

void add_preferences(CLI::App& command, SubjectOptions& options) {
    std::vector<std::string> words;
    for (const routing::SlowLinksWord& one : routing::kSlowLinksWords) {
        words.emplace_back(one.word);
    }
    command
        .add_option("--slow-links", options.slow_links,
                    fmt::format("What becomes of links that run below what both ends can do: {}",
                                fmt::join(words, ", ")))
        ->type_name("WORD")
        ->check(CLI::IsMember(words));
    for (const routing::PreferenceFile& file : routing::preference_files()) {
        command.add_option(std::string(file.flag), options.preferences.*file.path, std::string(file.help))
            ->type_name("FILE");
    }
}

}  // namespace

base::Result<routing::RouteOptions> route_options(const SubjectOptions& options,
                                                  const std::vector<std::string>& known) {
    routing::RouteOptions out;
    out.engines = options.engines;
    out.vls_max = static_cast<std::uint8_t>(options.vls);
    out.threads = options.threads;
    out.allow_credit_loops = options.allow_credit_loops;
    out.connect_roots = options.connect_roots;
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

routing::PatternOptions pattern_options(const SubjectOptions& options) {
    routing::PatternOptions how;
    how.seed = options.seed;
    how.draws = options.matchings;
    how.threads = options.threads;
    return how;
}

base::Result<Subject> read_subject(const SubjectOptions& options) {
    progress("reading the fabric ...");
    auto netlist = routing::netlist_from_spec(options.spec);
    if (!netlist) {
        return tl::unexpected(netlist.error());
    }
    return with_hosts(subject_of(std::move(*netlist), options), options);
}

base::Result<Subject> subject_from_text(std::string_view text, const std::string& origin,
                                        const SubjectOptions& options) {
    auto netlist = routing::parse_netlist(text, origin);
    if (!netlist) {
        return tl::unexpected(netlist.error());
    }
    return with_hosts(subject_of(std::move(*netlist), options), options);
}

Json head_json(const SubjectOptions& options, const Subject& subject, const routing::EngineAttempt& attempt) {
    Json out;
    out["engine"] = attempt.engine;
    out.update(fabric_json(subject.topology, subject.failed_links, subject.hosts.size()));
    out["seed"] = options.seed;
    out["compute_seconds"] = attempt.compute_seconds;
    out["verify_seconds"] = attempt.verify_seconds;
    return out;
}

bool is_finding(const SubjectOptions& options, const routing::RouteOutcome& outcome) {
    const bool asked_for = std::find(options.engines.begin(), options.engines.end(), outcome.routes.engine) !=
                           options.engines.end();
    return !asked_for || !outcome.verdict.reachable() || !outcome.verdict.credit_loop_free;
}

void add_subject(CLI::App& command, SubjectOptions& options, const std::string& engine_help) {
    command.add_option("SPEC", options.spec, "Generator or topology file ('ibfabric generate --help')")
        ->required();
    command
        .add_option("--engine", options.engines,
                    fmt::format("Of {}: {}. 'auto' is the engine of the fabric's family",
                                fmt::join(routing::chain_words(), ", "), engine_help))
        ->type_name("NAME[,NAME...]")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->default_str("minhop,updn");
}

void add_subject_options(CLI::App& command, SubjectOptions& options) {
    command.add_option("--hosts", options.hosts, "Only traffic among these: one name, GUID or LID a line")
        ->type_name("FILE");
    command
        .add_option("--matchings", options.matchings,
                    "How many matchings, permutations and, beyond 2048, displacements are drawn")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    command
        .add_option("--fail", options.fail, "First take away so many of the cables between switches, by seed")
        ->type_name("PERCENT");
    command.add_option("--seed", options.seed, "What the random choices follow from")->capture_default_str();
    command.add_option("--lmc", options.lmc, "2^N LIDs a port")->check(CLI::Range(0, 7));
    command.add_option("--vls", options.vls, "Data lanes that an engine may use at most")
        ->check(CLI::Range(1U, routing::kDataLanesMax))
        ->capture_default_str();
    command.add_option("--threads", options.threads, "0: all cores; the result is the same")
        ->check(CLI::Range(0, 1024));
    command.add_option("--root", options.roots,
                       "Up/down root by GUID, may be repeated; none: found from the hosts up");
    command.add_option("--lfts", options.lfts, "Dump of forwarding tables for the engine 'file'")
        ->type_name("FILE");
    add_preferences(command, options);
    command.add_flag("--allow-credit-loops", options.allow_credit_loops, "Accept routes that could lock up");
    command.add_flag("--connect-roots", options.connect_roots, "Route between up/down roots too");
}

}  // namespace ibf::cli
