#include "cli/probe_shortfalls.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace ibf::cli
