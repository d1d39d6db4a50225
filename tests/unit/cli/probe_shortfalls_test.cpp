#include "cli/probe_shortfalls.hpp"

#include <gtest/gtest.h>

#include "routing/netlist.hpp"
#include "routing/topology.hpp"

namespace ibf::cli {
namespace {

using probe::Seen;

probe::Report whole() {
    probe::Report report;
    report.read.table_entries = 1536;
    report.read.table_entries_of = 1536;
    report.coverage.rounds_run = 1;
    return report;
}

void add_flow(probe::Report& report, bool ran, Seen seen, std::uint32_t round = 0) {
    probe::FlowReport flow;
    flow.has_run = ran;
    flow.seen = seen;
    flow.round = round;
    report.flows.push_back(flow);
}

TEST(ProbeShortfalls, AWholeRunHasNone) {
    probe::Report report = whole();
    add_flow(report, true, Seen::proved);
    add_flow(report, true, Seen::errors_rose);      // a finding says so
    add_flow(report, true, Seen::no_evidence);      // counters that say nothing
    add_flow(report, false, Seen::no_evidence, 1);  // its round was not asked for
    EXPECT_TRUE(probe_shortfalls(report).empty());
}

TEST(ProbeShortfalls, FlowsThatArrivedByAnotherWay) {
    for (const Seen seen : {Seen::elsewhere, Seen::not_seen}) {
        probe::Report report = whole();
        add_flow(report, true, Seen::proved);
        add_flow(report, true, seen);
        report.interrupted = true;
        const auto texts = probe_shortfalls(report);
        ASSERT_EQ(texts.size(), 1U);
        EXPECT_EQ(texts[0], "1 flow was not seen on all of the way that the tables say");
    }
}

TEST(ProbeShortfalls, FlowsThatCouldNotBeRun) {
    probe::Report report = whole();
    add_flow(report, false, Seen::no_evidence);
    add_flow(report, false, Seen::no_evidence);
    EXPECT_EQ(probe_shortfalls(report), std::vector<std::string>{"2 flows could not be run"});
    report.interrupted = true;
    EXPECT_TRUE(probe_shortfalls(report).empty());
}

TEST(ProbeShortfalls, AnAuditThatCouldNotReadAll) {
    probe::Report report = whole();
    report.read.table_entries = 0;
    EXPECT_EQ(probe_shortfalls(report), std::vector<std::string>{"only 0 of 1,536 table entries were read"});
}

struct ProbeNotes : testing::Test {
    routing::Topology topology = routing::topology_of(*routing::netlist_from_spec("back-to-back"), 0).value();
    probe::Report report = whole();

    probe::FlowReport& flow() {
        probe::FlowReport& made = report.flows.emplace_back();
        made.flow.from = routing::EndPortIndex{0};
        made.flow.to = routing::EndPortIndex{1};
        return made;
    }
    [[nodiscard]] const std::string& host(std::size_t index) const { return topology.end_ports[index].name; }
};

TEST_F(ProbeNotes, AWholeRunHasNone) {
    flow().proved = 4;
    EXPECT_TRUE(probe_notes(topology, report).empty());
}

TEST_F(ProbeNotes, HopsThatOneEndAloneProves) {
    flow().by_one_end = 1;
    EXPECT_EQ(probe_notes(topology, report),
              std::vector<std::string>{
                  "1 hop is proved by one end alone: the counters of the other could not be read"});
    flow().by_one_end = 2;
    EXPECT_EQ(probe_notes(topology, report)[0].substr(0, 15), "3 hops are prov");
}

TEST_F(ProbeNotes, CountersOfHostsThatCannotBeTrusted) {
    for (int i = 0; i < 2; ++i) {
        probe::FlowReport& one = flow();
        one.result.initiator.doubts = {"hits fell"};
        one.result.target.doubts = {"symbol_error stands at its maximum of 65535"};
    }
    EXPECT_EQ(probe_notes(topology, report),
              (std::vector<std::string>{host(0) + ": hits fell",
                                        host(1) + ": symbol_error stands at its maximum of 65535"}))
        << "once for each host";
    report.flows[0].by_one_end = 1;
    report.flows[0].result.target.doubts = {"a", "b", "c", "d"};
    const auto notes = probe_notes(topology, report);
    ASSERT_EQ(notes.size(), 7U);
    EXPECT_EQ(notes[1], host(0) + ": hits fell");
    EXPECT_EQ(notes.back(), "and 1 more doubt of which --json tells");
}

}  // namespace
}  // namespace ibf::cli
