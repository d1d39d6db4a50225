#include "cli/probe_shortfalls.hpp"

#include <gtest/gtest.h>

#include "routing/netlist.hpp"
#include "routing/topology.hpp"

namespace ibf::cli {
namespace {

using probe::Seen;

constexpr ProbeExtent kExtent{.switches = 12, .table_entries = 1536, .audit = true};

probe::Report whole() {
    probe::Report report;
    report.read.switches = 12;
    report.read.table_entries = 1536;
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
    EXPECT_TRUE(probe_shortfalls(report, kExtent).empty());
}

TEST(ProbeShortfalls, FlowsThatArrivedByAnotherWay) {
    for (const Seen seen : {Seen::elsewhere, Seen::not_seen}) {
        probe::Report report = whole();
        add_flow(report, true, Seen::proved);
        add_flow(report, true, seen);
        report.interrupted = true;
        const auto texts = probe_shortfalls(report, kExtent);
        ASSERT_EQ(texts.size(), 1U);
        EXPECT_EQ(texts[0], "1 flow was not seen on all of the way that the tables say");
    }
}

TEST(ProbeShortfalls, FlowsThatCouldNotBeRun) {
    probe::Report report = whole();
    add_flow(report, false, Seen::no_evidence);
    add_flow(report, false, Seen::no_evidence);
    EXPECT_EQ(probe_shortfalls(report, kExtent), std::vector<std::string>{"2 flows could not be run"});
    report.interrupted = true;
    EXPECT_TRUE(probe_shortfalls(report, kExtent).empty());
}

TEST(ProbeShortfalls, AnAuditThatCouldNotReadAll) {
    probe::Report report = whole();
    report.read.switches = 1;
    report.read.table_entries = 0;
    const auto texts = probe_shortfalls(report, kExtent);
    ASSERT_EQ(texts.size(), 2U);
    EXPECT_EQ(texts[0], "only 1 of 12 switches were reached over cables that are as they should be");
    EXPECT_EQ(texts[1], "only 0 of 1,536 table entries were read");
    ProbeExtent paths = kExtent;
    paths.audit = false;
    EXPECT_TRUE(probe_shortfalls(report, paths).empty());
}

TEST(ProbeShortfalls, TheExtentIsThatOfTheFabric) {
    const auto netlist = routing::netlist_from_spec("fat-tree:radix=8,levels=2").value();
    const auto topology = routing::topology_of(netlist, 0).value();
    const ProbeExtent extent = probe_extent(topology, true);
    EXPECT_EQ(extent.switches, 12U);
    EXPECT_EQ(extent.table_entries, 12U * 64 * (topology.max_lid / 64 + 1));
}

}  // namespace
}  // namespace ibf::cli
