#include "cli/probe_held.hpp"

#include <atomic>

#include <gtest/gtest.h>

#include "daemon/fabric/export.hpp"
#include "daemon/fabric/planned.hpp"
#include "played_daemon.hpp"

namespace ibf::cli {
namespace {

using probe::Finding;
using probe::Seen;

Json status_of(const std::string& hash, int last_sweep) {
    return Json{{"routing", Json{{"engine", "ftree"}, {"hash", hash}}},
                {"last_sweep", Json{{"id", last_sweep}}}};
}

Json sweeps_of(std::vector<std::pair<int, int>> blocks) {
    Json sweeps = Json::array();
    for (const auto& [id, written] : blocks) {
        sweeps.push_back(Json{{"id", id}, {"lft_blocks_written", written}});
    }
    return sweeps;
}

TEST(DaemonMark, TellsWhetherTablesWereWritten) {
    const DaemonMark before = mark_of(status_of("aa", 7));
    EXPECT_EQ(before.hash, "aa");
    EXPECT_EQ(before.last_sweep, 7U);
    EXPECT_EQ(mark_of(Json::object()), DaemonMark{}) << "it holds, or has seen nothing yet";

    const TablesChange others = change_between(before, mark_of(status_of("bb", 8)), Json::array());
    EXPECT_TRUE(others.replaced);
    EXPECT_NE(others.text.find("changed meanwhile"), std::string::npos);

    const DaemonMark after = mark_of(status_of("aa", 9));
    const TablesChange none = change_between(before, after, sweeps_of({{9, 0}, {8, 0}, {7, 500}}));
    EXPECT_EQ(none.text, "") << "sweeps that wrote nothing, and what was written before";
    const TablesChange back = change_between(before, after, sweeps_of({{9, 3}, {8, 4}}));
    EXPECT_FALSE(back.replaced) << "they may have been mended: what was found there stays";
    EXPECT_NE(back.text.find("wrote 7 blocks"), std::string::npos) << back.text;
    EXPECT_NE(change_between(before, mark_of(status_of("aa", 2)), sweeps_of({{2, 0}})).text, "")
        << "it counts from the beginning";
}

/// A run that blames the tables: a wrong entry, and a hop that was not seen.
probe::Report blaming() {
    probe::Report report;
    report.findings.push_back({.kind = Finding::Kind::wrong_entry, .at = {.index = 1}});
    report.findings.push_back({.kind = Finding::Kind::dead_link, .at = {.index = 2}});
    probe::FlowReport flow;
    flow.has_run = true;
    flow.seen = Seen::elsewhere;
    flow.unproved.push_back({.hop = {}, .seen = Seen::elsewhere, .seen_at = probe::Place{.index = 3}});
    flow.unproved.push_back({.hop = {}, .seen = Seen::errors_rose});
    report.flows.push_back(flow);
    return report;
}

std::string settle(probe::Report& report, const PlayedDaemon::Answer& answer) {
    const PlayedDaemon daemon(answer);
    return settle_tables(mark_of(status_of("aa", 7)), report, Client(daemon.socket()));
}

TEST(SettleTables, WhatReplacedTablesExplainIsTakenBack) {
    probe::Report report = blaming();
    const std::string text = settle(report, [](const std::string& target) {
        return target == "/v1/status" ? status_of("bb", 8).dump() : Json{{"sweeps", Json::array()}}.dump();
    });
    EXPECT_NE(text.find("tables changed meanwhile"), std::string::npos) << text;
    ASSERT_EQ(report.findings.size(), 1U);
    EXPECT_EQ(report.findings[0].kind, Finding::Kind::dead_link);
    EXPECT_EQ(report.flows[0].seen, Seen::no_evidence);
    EXPECT_EQ(report.flows[0].unproved[0].seen, Seen::no_evidence);
    EXPECT_FALSE(report.flows[0].unproved[0].seen_at);
    EXPECT_EQ(report.flows[0].unproved[1].seen, Seen::errors_rose);
}

TEST(SettleTables, ASweepThatIsUnderWayIsWaitedForAndThenTheFindingStands) {
    std::atomic<int> asked{0};
    const auto play = [&](bool reroutes) {
        asked = 0;
        return [&asked, reroutes](const std::string& target) {
            if (target != "/v1/status") {
                EXPECT_EQ(target.substr(0, 10), "/v1/sweeps");
                return Json{{"sweeps", sweeps_of({{8, 0}})}}.dump();
            }
            const bool ended = ++asked > 2;
            return status_of(ended && reroutes ? "bb" : "aa", ended ? 8 : 7).dump();
        };
    };
    probe::Report mended = blaming();
    EXPECT_NE(settle(mended, play(true)), "") << "it was writing the new ones when it was first asked";
    EXPECT_EQ(mended.findings.size(), 1U);
    probe::Report stands = blaming();
    EXPECT_EQ(settle(stands, play(false)), "");
    EXPECT_EQ(stands.findings.size(), 2U);
    EXPECT_EQ(stands.flows[0].seen, Seen::elsewhere);
    EXPECT_EQ(asked, 3);
}

TEST(SettleTables, AFineRunWaitsForNothingAndASilentDaemonIsSaid) {
    std::atomic<int> asked{0};
    probe::Report fine;
    EXPECT_EQ(settle(fine,
                     [&](const std::string& target) {
                         ++asked;
                         return target == "/v1/status" ? status_of("aa", 7).dump() : std::string("{}");
                     }),
              "");
    EXPECT_EQ(asked, 2);
    probe::Report report = blaming();
    const std::string text = settle_tables({}, report, Client("/nonexistent/sock"));
    EXPECT_NE(text.find("is not known"), std::string::npos) << text;
    EXPECT_EQ(report.findings.size(), 2U);
}

TEST(HeldByDaemon, TextsThatDoNotGoTogetherAreAskedForAgain) {
    const auto netlist = routing::netlist_from_spec("fat-tree:radix=4,levels=2").value();
    const auto topology = routing::topology_of(netlist, 0).value();
    const auto routed = routing::route(topology, nullptr, {}).value();
    const auto snapshot =
        std::make_shared<const fabric::Snapshot>(fabric::planned_snapshot(netlist, topology, &routed));
    std::atomic<int> tables{0};
    std::atomic<int> changes{1};
    const PlayedDaemon daemon([&](const std::string& target) {
        if (target == "/v1/status") {
            return status_of(std::to_string(std::min<int>(tables, changes)), 7).dump();
        }
        if (target.find("sweeps") != std::string::npos || target.find("sls") != std::string::npos) {
            return target.find("sls") != std::string::npos ? std::string{} : std::string("{}");
        }
        const bool is_table = target.find("lfts") != std::string::npos;
        tables += is_table ? 1 : 0;
        auto more = fabric::opensm_dump(snapshot, is_table ? "opensm-lfts.dump" : "opensm-subnet.lst");
        std::string out;
        while ((*more)(out)) {
        }
        return out;
    });
    const auto held = held_by_daemon({}, Client(daemon.socket()));
    ASSERT_TRUE(held) << held.error().message;
    EXPECT_EQ(tables, 2) << "they were others when the first had been read";
    EXPECT_EQ(held->mark->hash, "1");
    EXPECT_EQ(held->routes.engine, "ftree");
    EXPECT_EQ(held->subject.topology.switches.size(), topology.switches.size());
    changes = 1000;
    const auto never = held_by_daemon({}, Client(daemon.socket()));
    ASSERT_FALSE(never);
    EXPECT_EQ(never.error().kind, base::ErrorKind::unavailable);
    EXPECT_NE(never.error().message.find("change while they are read"), std::string::npos);
}

}  // namespace
}  // namespace ibf::cli
