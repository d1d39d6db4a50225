#include "cli/probe_held.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/time.hpp"
#include "cli/session.hpp"
#include "routing/lft_dump.hpp"

namespace ibf::cli {
namespace {

constexpr int kTriesMost = 3;                   ///< to read tables that stand still
constexpr std::chrono::seconds kSweepMost{30};  ///< for a sweep to end
constexpr std::chrono::milliseconds kSweepPoll{250};
constexpr const char* kSweepsAsked = "100";  ///< that is as many as the daemon keeps

/// SLs of paths, as the daemon writes them: "0xGUID" of a switch, then a digit for each LID from 0 on.
base::Result<void> read_sls(std::string_view text, const routing::Topology& topology,
                            routing::Routes& routes) {
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        const std::size_t gap = line.find(' ');
        const auto guid = mad::parse_guid(line.substr(0, gap));
        constexpr std::string_view kDigits = "0123456789abcdef";
        if (!guid || gap == std::string_view::npos ||
            line.find_first_not_of(kDigits, gap + 1) != std::string_view::npos) {
            return base::fail(base::ErrorKind::io,
                              "the daemon's SLs of paths cannot be read: are ibfabric and "
                              "ibfabricd of the same version?");
        }
        const std::uint32_t index = topology.find_switch(*guid);
        if (index == routing::kNoIndex) {
            continue;
        }
        auto row = std::make_shared<routing::SlRow>();
        for (const char c : line.substr(gap + 1)) {
            row->push_back(static_cast<std::uint8_t>(kDigits.find(c)));
        }
        routes.sls.resize(topology.switches.size());
        routes.sls[index] = std::move(row);
    }
    return {};
}

/// Tables as they are in force, whatever the proof thinks of them: it is what they do that is looked at.
base::Result<routing::Routes> routes_of_dump(const routing::Topology& topology, std::string_view text,
                                             unsigned threads) {
    auto dump = routing::parse_lft_dump(text);
    if (!dump) {
        return tl::unexpected(dump.error());
    }
    routing::RouteOptions how;
    how.engines = {"file"};
    how.allow_credit_loops = true;
    how.threads = threads;
    how.lfts = std::make_shared<const routing::LftDump>(std::move(*dump));
    auto outcome = routing::route(topology, nullptr, how);
    if (!outcome) {
        return tl::unexpected(outcome.error());
    }
    return std::move(outcome->routes);
}

/// Fabric, tables and SLs: three answers, which go together only where nothing changed between them.
struct DaemonTexts {
    std::string fabric;
    std::string tables;
    std::string sls;
    Json status;  ///< after them
};

base::Result<TablesChange> change_until_now(const DaemonMark& before, const Json& status,
                                            const Client& client) {
    const auto sweeps = client.get_json("/v1/sweeps", {{"limit", kSweepsAsked}});
    if (!sweeps) {
        return tl::unexpected(sweeps.error());
    }
    return change_between(before, mark_of(status), sweeps->value("sweeps", Json::array()));
}

base::Result<DaemonTexts> texts_of(const Client& client) {
    base::Result<Json> status = client.get_json("/v1/status", {});
    for (int i = 0; i < kTriesMost && status; ++i) {
        const DaemonMark before = mark_of(*status);
        const auto file = [&](const char* name) {
            return client.get_text("/v1/export", {{"format", "opensm-dumps"}, {"file", name}});
        };
        auto fabric = file("opensm-subnet.lst");
        auto tables = fabric ? file("opensm-lfts.dump") : fabric;
        auto sls = tables ? client.get_text("/v1/export", {{"format", "sls"}}) : tables;
        status = sls ? client.get_json("/v1/status", {}) : tl::unexpected(sls.error());
        const auto change =
            status ? change_until_now(before, *status, client) : tl::unexpected(status.error());
        if (!change) {
            return tl::unexpected(change.error());
        }
        if (change->text.empty()) {
            return DaemonTexts{std::move(*fabric), std::move(*tables), std::move(*sls), std::move(*status)};
        }
    }
    if (!status) {
        return tl::unexpected(status.error());
    }
    return base::fail(base::ErrorKind::unavailable,
                      "the daemon's tables change while they are read: run it again once 'ibfabric sweeps' "
                      "shows that none are written");
}

}  // namespace

DaemonMark mark_of(const Json& status) {
    DaemonMark mark;
    if (const auto routing = status.find("routing"); routing != status.end() && routing->is_object()) {
        mark.hash = routing->value("hash", "");
    }
    if (const auto sweep = status.find("last_sweep"); sweep != status.end() && sweep->is_object()) {
        mark.last_sweep = sweep->value("id", std::uint64_t{0});
    }
    return mark;
}

TablesChange change_between(const DaemonMark& before, const DaemonMark& after, const Json& sweeps) {
    if (before.hash != after.hash) {
        return {
            .replaced = true,
            .text = "the daemon's tables changed meanwhile: nothing is said of wrong entries; run it again"};
    }
    if (after.last_sweep < before.last_sweep) {
        return {.text = "the daemon was started again meanwhile: whether it wrote tables is not known"};
    }
    std::uint64_t blocks = 0;
    for (const Json& sweep : sweeps) {
        if (sweep.value("id", std::uint64_t{0}) > before.last_sweep) {
            blocks += sweep.value("lft_blocks_written", std::uint64_t{0});
        }
    }
    if (blocks > 0) {
        return {.text =
                    fmt::format("the daemon wrote {} of these tables meanwhile: what was read of them may be "
                                "of before; run it again",
                                blocks == 1 ? "a block" : fmt::format("{} blocks", blocks))};
    }
    return {};
}

namespace {

bool is_off_path(probe::Seen seen) {
    return seen == probe::Seen::not_seen || seen == probe::Seen::elsewhere;
}

bool is_wrong_entry(const probe::Finding& finding) {
    return finding.kind == probe::Finding::Kind::wrong_entry;
}

void forget_tables(probe::Report& report) {
    std::erase_if(report.findings, is_wrong_entry);
    for (probe::FlowReport& flow : report.flows) {
        flow.seen = is_off_path(flow.seen) ? probe::Seen::no_evidence : flow.seen;
        for (probe::HopReport& hop : flow.unproved) {
            if (is_off_path(hop.seen)) {
                hop.seen = probe::Seen::no_evidence;
                hop.seen_at.reset();
                hop.why = "the tables changed meanwhile";
            }
        }
    }
}

bool blames_tables(const probe::Report& report) {
    return std::any_of(report.findings.begin(), report.findings.end(), is_wrong_entry) ||
           std::any_of(report.flows.begin(), report.flows.end(),
                       [](const probe::FlowReport& flow) { return is_off_path(flow.seen); });
}

/// What a sweep writes is told when it ends, and tables that are being replaced look wrong until then: where
/// `report` blames them, the end of one is waited for.
base::Result<TablesChange> change_since(const DaemonMark& before, const probe::Report& report,
                                        const Client& client) {
    auto status = client.get_json("/v1/status", {});
    const std::uint64_t ended = status ? mark_of(*status).last_sweep : 0;
    const base::Instant until = base::monotonic_now() + kSweepMost;
    while (status && blames_tables(report) && mark_of(*status).hash == before.hash &&
           mark_of(*status).last_sweep == ended && base::monotonic_now() < until && !interrupted()) {
        progress("waiting for the daemon's next sweep: are the tables still the same? ...");
        std::this_thread::sleep_for(kSweepPoll);
        status = client.get_json("/v1/status", {});
    }
    if (!status) {
        return tl::unexpected(status.error());
    }
    return change_until_now(before, *status, client);
}

}  // namespace

std::string settle_tables(const DaemonMark& before, probe::Report& report, const Client& client) {
    const auto change = change_since(before, report, client);
    if (!change) {
        return fmt::format("whether the daemon's tables are still the same is not known: {}",
                           change.error().message);
    }
    if (change->replaced) {
        forget_tables(report);
    }
    return change->text;
}

base::Result<Held> held_by_daemon(const SubjectOptions& options, const Client& client) {
    progress("asking the daemon for the fabric and its tables ...");
    const auto texts = texts_of(client);
    if (!texts) {
        return tl::unexpected(texts.error());
    }
    auto subject = subject_from_text(texts->fabric, "the daemon's fabric", options);
    if (!subject) {
        return tl::unexpected(subject.error());
    }
    progress("reading its tables ...");
    auto routes = routes_of_dump(subject->topology, texts->tables, options.threads);
    if (!routes) {
        return tl::unexpected(routes.error());
    }
    if (texts->status.contains("routing")) {
        routes->engine = texts->status["routing"].value("engine", routes->engine);  // whose the dump holds
    }
    if (const auto read = read_sls(texts->sls, subject->topology, *routes); !read) {
        return tl::unexpected(read.error());
    }
    return Held{std::move(*subject), std::move(*routes), mark_of(texts->status)};
}

base::Result<Held> held_by_files(SubjectOptions options) {
    if (options.engines.empty()) {
        options.engines =
            options.lfts.empty() ? routing::RouteOptions{}.engines : std::vector<std::string>{"file"};
    }
    const auto chain = route_options(options, routing::chain_words());
    if (!chain) {
        return tl::unexpected(chain.error());
    }
    auto subject = read_subject(options);
    if (!subject) {
        return tl::unexpected(subject.error());
    }
    progress("computing and proving routes ...");
    auto outcome = routing::route(subject->topology, nullptr, *chain);
    if (!outcome) {
        return tl::unexpected(outcome.error());
    }
    return Held{std::move(*subject), std::move(outcome->routes), {}};
}

}  // namespace ibf::cli
