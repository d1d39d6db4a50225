#include "probe/conduct/report.hpp"

#include <gtest/gtest.h>

#include "tests/unit/conduct/stage.hpp"

namespace ibf::probe::test {
namespace {

using Json = nlohmann::json;

class ReportForm : public ::testing::Test {
protected:
    void SetUp() override {
        stage = Stage::make("fat-tree:radix=4,levels=2", "minhop");
        ASSERT_TRUE(stage);
        flow.flow = {.from = routing::EndPortIndex{0},
                     .to = routing::EndPortIndex{3},
                     .lid = stage->topology.end_ports[3].lids.base};
    }
    std::unique_ptr<Stage> stage;
    FlowReport flow;
    Report report;
};

TEST_F(ReportForm, AFlowTellsItsFiguresAndWhatIsNotProved) {
    flow.has_run = true;
    flow.seen = Seen::elsewhere;
    flow.hops = 4;
    flow.proved = 3;
    flow.by_one_end = 2;
    flow.result.initiator.bytes = 1000;
    flow.result.initiator.messages = 2;
    flow.result.initiator.elapsed = std::chrono::microseconds{8};
    flow.result.initiator.latency.add(500);
    flow.result.initiator.errors["transport retry counter exceeded"] = 2;
    flow.result.initiator.lost = 1;
    flow.result.target.corrupt = 4;
    flow.result.target.doubts = {"symbol_error stands at its maximum of 65535"};
    const auto hops = stage->hops(flow.flow);
    flow.unproved.push_back({.hop = hops[1], .seen = Seen::elsewhere, .seen_at = hops[0].in, .why = "so"});
    report.flows.push_back(flow);
    const Json json = to_json(stage->topology, report).at("flows").at(0);
    EXPECT_EQ(json.at("from").at("name"), stage->topology.end_ports[0].name);
    EXPECT_EQ(json.at("from").at("guid"), fmt::to_string(stage->topology.end_ports[0].node_guid));
    EXPECT_EQ(json.at("to").at("lid"), flow.flow.lid.value());
    EXPECT_EQ(json.at("verdict"), "seen-elsewhere");
    EXPECT_EQ(json.at("proved"), 3);
    EXPECT_EQ(json.at("by_one_end"), 2);
    EXPECT_DOUBLE_EQ(json.at("bits_per_second").get<double>(), 1e9);
    EXPECT_EQ(json.at("errors"), 7);
    EXPECT_EQ(json.at("latency").at("maximum"), 500);
    const Json& hop = json.at("unproved").at(0);
    EXPECT_EQ(hop.at("out").at("port"), hops[1].out.port.value());
    EXPECT_EQ(hop.at("seen_at").at("port"), hops[0].in.port.value());
    EXPECT_EQ(hop.at("why"), "so");
    EXPECT_TRUE(json.at("doubts").at("from").empty());
    EXPECT_EQ(json.at("doubts").at("to").at(0), "symbol_error stands at its maximum of 65535");
}

TEST_F(ReportForm, WhatTheTargetFailedAtIsToldWhereTheInitiatorSaysNothing) {
    flow.has_run = true;
    flow.result.target.failure = failure::kCorrupt;
    flow.result.target.failure_text = "as the target saw it";
    report.flows.push_back(flow);
    flow.result.initiator.failure = failure::kRetryExceeded;
    report.flows.push_back(flow);
    const Json json = to_json(stage->topology, report).at("flows");
    EXPECT_EQ(json.at(0).at("failure"), failure::kCorrupt);
    EXPECT_EQ(json.at(0).at("text"), "as the target saw it");
    EXPECT_EQ(json.at(1).at("failure"), failure::kRetryExceeded);
}

TEST_F(ReportForm, AFlowThatDidNotRunSaysWhy) {
    flow.result.text = "connection refused";
    report.flows.push_back(flow);
    const Json json = to_json(stage->topology, report).at("flows").at(0);
    EXPECT_EQ(json.at("ran"), false);
    EXPECT_EQ(json.at("text"), "connection refused");
    EXPECT_EQ(json.at("verdict"), "no-evidence");
    EXPECT_EQ(json.at("bits_per_second"), 0.0);
    EXPECT_FALSE(json.contains("latency"));
}

TEST_F(ReportForm, FindingsAdaptiveSwitchesAndFigures) {
    report.findings.push_back({.kind = Finding::Kind::wrong_entry,
                               .at = {.index = 1, .port = mad::PortNum{2}},
                               .lid = mad::Lid{7},
                               .has = std::uint8_t{3},
                               .wants = std::uint8_t{2},
                               .text = "sentence"});
    report.findings.push_back({.kind = Finding::Kind::dead_link,
                               .at = {.index = 1, .port = mad::PortNum{2}},
                               .peer = Place{.is_switch = false, .index = 0, .port = mad::PortNum{1}}});
    report.adaptive = {2};
    report.coverage = {.links = 1, .crossed = 2, .pairs = 3, .lower_bound = 4, .rounds = 5, .rounds_run = 6};
    report.read.table_entries = 64;
    report.read.table_entries_of = 128;
    report.read.switches_of = 7;
    report.read.ports_of = 8;
    report.read.refused = 9;
    report.interrupted = true;
    const Json json = to_json(stage->topology, report);
    EXPECT_EQ(json.at("findings").at(0).at("kind"), "wrong-entry");
    EXPECT_EQ(json.at("findings").at(0).at("guid"), fmt::to_string(stage->topology.switches[1].guid));
    EXPECT_EQ(json.at("findings").at(0).at("has"), 3);
    EXPECT_EQ(json.at("findings").at(0).at("wants"), 2);
    EXPECT_FALSE(json.at("findings").at(0).contains("peer"));
    EXPECT_EQ(json.at("findings").at(1).at("peer").at("name"), stage->topology.end_ports[0].name);
    EXPECT_FALSE(json.at("findings").at(1).contains("lid"));
    EXPECT_EQ(json.at("adaptive").at(0).at("name"), stage->topology.switches[2].name);
    EXPECT_EQ(json.at("coverage").at("lower_bound"), 4);
    EXPECT_EQ(json.at("coverage").at("rounds_run"), 6);
    EXPECT_EQ(json.at("read").at("table_entries"), 64);
    EXPECT_EQ(json.at("read").at("table_entries_of"), 128);
    EXPECT_EQ(json.at("read").at("switches_of"), 7);
    EXPECT_EQ(json.at("read").at("ports_of"), 8);
    EXPECT_EQ(json.at("read").at("refused"), 9);
    EXPECT_EQ(json.at("interrupted"), true);
}

TEST(SeenWords, AreDifferent) {
    EXPECT_EQ(to_string(Seen::proved), "proved");
    EXPECT_EQ(to_string(Seen::errors_rose), "errors-rose");
    EXPECT_EQ(to_string(Seen::not_seen), "not-seen");
}

}  // namespace
}  // namespace ibf::probe::test
