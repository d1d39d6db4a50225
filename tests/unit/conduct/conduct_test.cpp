// Whole runs on small simulated fabrics: the finder has MADs and the agents' outcomes and nothing else.
#include "probe/conduct/conduct.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include "tests/unit/conduct/stage.hpp"

namespace ibf::probe::test {
namespace {

struct Fabric {
    const char* spec;
    const char* engine;
};

std::string all_of(const std::vector<Finding>& findings) {
    std::string text;
    for (const Finding& finding : findings) {
        text += fmt::format("\n  [{}] {}", to_string(finding.kind), finding.text);
    }
    return text;
}

class Conduct : public ::testing::TestWithParam<Fabric> {
protected:
    void SetUp() override {
        stage = Stage::make(GetParam().spec, GetParam().engine);
        ASSERT_TRUE(stage);
        plan = plan_run(stage->topology, stage->routes, stage->hosts(), false, 1);
        agents = std::make_unique<SimAgents>(*stage->simulator, stage->topology, Background{}, 1);
    }
    Report run(bool audit) { return stage->conduct(plan, Stage::bulk(audit), agents.get()); }
    /// The only finding.
    void expect_only(const Report& report, Finding::Kind kind, const Place& at) {
        ASSERT_EQ(report.findings.size(), 1U) << all_of(report.findings);
        EXPECT_EQ(report.findings[0].kind, kind) << all_of(report.findings);
        EXPECT_EQ(report.findings[0].at, at) << report.findings[0].text;
    }
    /// A hop between switches.
    [[nodiscard]] Hop middle(std::size_t flow) const {
        const auto hops = stage->hops(plan.flows[flow]);
        return hops[hops.size() / 2];
    }
    void inject(const std::string& text) {
        const auto faults = sim::parse_faults(text, "test");
        ASSERT_TRUE(faults) << faults.error().message;
        ASSERT_TRUE(stage->simulator->inject(faults->front(), base::Instant{}));
    }

    std::unique_ptr<Stage> stage;
    RunPlan plan;
    std::unique_ptr<SimAgents> agents;
};

TEST_P(Conduct, AHealthyFabricIsProvedHopByHop) {
    const Report report = run(true);
    EXPECT_TRUE(report.findings.empty()) << all_of(report.findings);
    EXPECT_EQ(report.coverage.crossed, report.coverage.links);
    EXPECT_EQ(report.coverage.rounds_run, report.coverage.rounds);
    EXPECT_LE(report.coverage.lower_bound, report.coverage.pairs);
    EXPECT_EQ(report.read.switches, stage->topology.switches.size());
    EXPECT_EQ(report.read.unanswered, 0U);
    EXPECT_FALSE(report.interrupted);
    EXPECT_TRUE(report.adaptive.empty());
    for (const FlowReport& flow : report.flows) {
        EXPECT_EQ(flow.proved, flow.hops);
        EXPECT_EQ(flow.result.initiator.bytes, kFlowBytes);
    }
}

TEST_P(Conduct, OthersTrafficIsNoFinding) {
    SimAgents beside(*stage->simulator, stage->topology, Background{.flows = 30}, 7);
    const Report report = stage->conduct(plan, Stage::bulk(false), &beside);
    EXPECT_TRUE(report.findings.empty()) << all_of(report.findings);
    for (const FlowReport& flow : report.flows) {
        EXPECT_EQ(flow.proved, flow.hops);
    }
}

TEST_P(Conduct, AllAtOnceProvesAsMuch) {
    const RunPlan together = plan_flows(stage->topology, stage->routes, plan.flows, true);
    EXPECT_EQ(together.coverage.rounds, 1U);
    EXPECT_EQ(together.coverage.crossed, plan.coverage.crossed);
    const Report report = stage->conduct(together, Stage::bulk(false), agents.get());
    EXPECT_TRUE(report.findings.empty()) << all_of(report.findings);
    for (const FlowReport& flow : report.flows) {
        EXPECT_EQ(flow.proved, flow.hops);
    }
}

TEST_P(Conduct, AnEntryOnAPathIsFoundWithoutAnAudit) {
    const Hop hop = middle(0);
    const auto damage = change_entry(*stage, hop.out.index, plan.flows[0].lid, mad::kLftDrop);
    const Report report = run(false);
    expect_only(report, Finding::Kind::wrong_entry, hop.out);
    const FlowReport& flow = report.flows[0];
    EXPECT_EQ(flow.result.initiator.failure, failure::kRetryExceeded);
    EXPECT_EQ(flow.seen, Seen::not_seen);
}

TEST_P(Conduct, TheAuditFindsAnEntryThatNobodyProbes) {
    plan = plan_flows(stage->topology, stage->routes, {plan.flows[0]}, false);
    std::uint32_t at = 0;  // a switch that the flow does not pass
    const Flow back{.from = plan.flows[0].to,
                    .to = plan.flows[0].from,
                    .lid = stage->topology.end_ports[plan.flows[0].from.value()].lids.base};
    const auto passes = [&] {
        std::vector<Hop> hops = stage->hops(plan.flows[0]);
        const std::vector<Hop> others = stage->hops(back);
        hops.insert(hops.end(), others.begin(), others.end());
        return std::any_of(hops.begin(), hops.end(),
                           [&](const Hop& hop) { return hop.in.is_switch && hop.in.index == at; });
    };
    while (passes()) {
        ++at;
    }
    const mad::Lid lid = stage->topology.end_ports.back().lids.base;
    const std::uint8_t right = stage->routes.port(routing::SwitchIndex{at}, lid);
    const auto damage = change_entry(*stage, at, lid, mad::kLftDrop);
    EXPECT_TRUE(run(false).findings.empty());
    expect_only(run(true), Finding::Kind::wrong_entry, {.index = at, .port = mad::PortNum{right}});
    expect_only(stage->conduct(plan, Stage::bulk(true), nullptr), Finding::Kind::wrong_entry,
                {.index = at, .port = mad::PortNum{right}});
}

TEST_P(Conduct, SwappedCablesAreNamedByTheirEnds) {
    const Hop one = middle(0);
    Place two = one.out;
    for (std::size_t flow = 0; two == one.out || two == one.in || two.index == one.out.index; ++flow) {
        two = middle(flow).out;
    }
    const auto damage = swap_cables(*stage, one.out, two);
    const Report report = run(true);
    const std::set<Place> ends{one.out, one.in, two, *peer_of(stage->topology, two)};
    std::set<Place> named;
    for (const Finding& finding : report.findings) {
        EXPECT_EQ(finding.kind, Finding::Kind::miswired_cable) << finding.text;
        named.insert(finding.at);
    }
    EXPECT_EQ(named, ends) << all_of(report.findings);
}

TEST_P(Conduct, ALossyPort) {
    const Hop hop = middle(1);
    const auto damage = make_lossy(*stage, hop.in, 0.05);
    const Report report = run(false);
    expect_only(report, Finding::Kind::port_errors, hop.in);
    EXPECT_EQ(report.flows[1].seen, Seen::errors_rose);
}

TEST_P(Conduct, APortThatDamagesEverything) {
    const Hop hop = middle(1);
    const auto damage = make_lossy(*stage, hop.in, 1);
    expect_only(run(false), Finding::Kind::port_errors, hop.in);
}

TEST_P(Conduct, AThrottledLinkThatSaysItIsFine) {
    const Hop hop = middle(1);
    const auto damage = throttle(*stage, hop.out, 0.3);
    expect_only(run(false), Finding::Kind::throttled_link, hop.out);
}

TEST_P(Conduct, AThrottledLinkThatSaysSo) {
    const Hop hop = middle(1);
    const auto damage = narrow(*stage, hop.out);
    expect_only(run(false), Finding::Kind::throttled_link, std::min(hop.out, hop.in));
}

TEST_P(Conduct, ADeadAgent) {
    agents->kill(plan.flows[0].to);
    expect_only(run(false), Finding::Kind::dead_agent, place_of(stage->topology, plan.flows[0].to));
    agents->revive(plan.flows[0].to);
    EXPECT_TRUE(run(false).findings.empty());
}

TEST_P(Conduct, WhatHappensAtAnAgentInTheMiddleIsToldOfIt) {
    plan = plan_flows(stage->topology, stage->routes, {plan.flows[0]}, false);
    const routing::EndPortIndex from = plan.flows[0].from;
    const routing::EndPortIndex to = plan.flows[0].to;
    for (const auto& [mishap, kind] : {std::pair{Mishap::dies, Finding::Kind::dead_agent},
                                       std::pair{Mishap::ends_by_limit, Finding::Kind::ended_early},
                                       std::pair{Mishap::sees_corrupt, Finding::Kind::corrupt_data}}) {
        for (const routing::EndPortIndex host : {from, to}) {
            agents->play(host, mishap);
            expect_only(run(false), kind, place_of(stage->topology, host));
            agents->revive(host);
        }
    }
    agents->play(to, Mishap::stops);
    expect_only(run(false), Finding::Kind::ended_early, place_of(stage->topology, from));
    agents->play(to, Mishap::answers_half);
    ConductOptions datagrams = Stage::bulk(false);
    datagrams.spec.test = probe::Test::ud;
    datagrams.spec.message_bytes = 1024;
    expect_only(stage->conduct(plan, datagrams, agents.get()), Finding::Kind::lost_traffic,
                place_of(stage->topology, to));
}

TEST_P(Conduct, ARateThatAnAgentAllowsIsNoThrottle) {
    plan = plan_flows(stage->topology, stage->routes, {plan.flows[1]}, false);
    const auto damage = throttle(*stage, middle(0).out, 0.3);  // its ports wait
    expect_only(run(false), Finding::Kind::throttled_link, middle(0).out);
    agents->play(plan.flows[0].to, Mishap::holds_to_share);
    EXPECT_TRUE(run(false).findings.empty());
}

TEST_P(Conduct, AnAuditThatCannotReadSaysSo) {
    // Their tables are refused or lost; NodeInfo, and with it each cable, is as it should be.
    class Deaf final : public MadAsker {
    public:
        Deaf(MadAsker& asker, std::uint32_t device, Answer::Kind kind)
            : asker_(asker), device_(device), kind_(kind) {}
        std::vector<Answer> ask(std::span<const Question> questions, std::stop_token stop) override {
            std::vector<Answer> answers = asker_.ask(questions, std::move(stop));
            for (std::size_t i = 0; i < answers.size(); ++i) {
                if (!questions[i].is_perf && questions[i].device == device_ &&
                    questions[i].attribute == mad::Attribute::linear_forwarding_table) {
                    answers[i] = {.kind = kind_, .status = 4};
                }
            }
            return answers;
        }

    private:
        MadAsker& asker_;
        std::uint32_t device_;
        Answer::Kind kind_;
    };
    const std::uint32_t at = middle(0).out.index;
    for (const Answer::Kind kind : {Answer::Kind::silent, Answer::Kind::refused}) {
        Deaf deaf(stage->asker(), at, kind);
        const auto report =
            conduct(stage->topology, stage->routes, {}, Stage::bulk(true), deaf, nullptr, {}, {});
        ASSERT_TRUE(report);
        expect_only(*report, Finding::Kind::not_read, {.index = at});
        EXPECT_LT(report->read.table_entries, report->read.table_entries_of);
        EXPECT_EQ(report->read.ports, report->read.ports_of);
        EXPECT_EQ(report->read.switches, report->read.switches_of);
        EXPECT_GT(kind == Answer::Kind::silent ? report->read.unanswered : report->read.refused, 0U);
    }
}

TEST_P(Conduct, ASwitchWhoseAgentIsDeadForwardsAllTheSame) {
    const Hop hop = middle(0);
    inject(fmt::format("dead {}", stage->topology.switches[hop.in.index].guid));
    const Report report = run(false);
    EXPECT_TRUE(std::any_of(report.findings.begin(), report.findings.end(), [&](const Finding& finding) {
        return finding.kind == Finding::Kind::dead_device && finding.at.index == hop.in.index;
    })) << all_of(report.findings);
    EXPECT_EQ(report.flows[0].result.initiator.bytes, kFlowBytes);
    EXPECT_GT(report.read.unanswered, 0U);
}

TEST_P(Conduct, NarrowCountersThatAreFullSayNothing) {
    const Hop hop = middle(0);
    for (const Place& end : {hop.out, hop.in}) {
        inject(fmt::format("no-extended-counters {}", stage->topology.switches[end.index].guid));
    }
    plan = plan_flows(stage->topology, stage->routes, {plan.flows[0]}, false);
    EXPECT_EQ(run(false).flows[0].seen, Seen::proved);
    ConductOptions much = Stage::bulk(false);
    much.spec.messages = 17 * 1024;  // of 1 MiB: more than 2^32 words
    const Report report = stage->conduct(plan, much, agents.get());
    EXPECT_EQ(report.flows[0].seen, Seen::no_evidence);
    EXPECT_TRUE(report.findings.empty()) << all_of(report.findings);
}

TEST_P(Conduct, ARedirectedAgentIsFollowed) {
    const Hop hop = middle(0);
    inject(fmt::format("redirect-perf {} with={} number=99", stage->topology.switches[hop.out.index].guid,
                       stage->topology.switches[hop.in.index].guid));
    const Report report = run(false);
    EXPECT_TRUE(report.findings.empty()) << all_of(report.findings);
    EXPECT_EQ(report.flows[0].seen, Seen::proved);
    EXPECT_EQ(report.flows[0].by_one_end, 0U) << "of the switch that redirects, too";
    EXPECT_EQ(report.read.refused, 0U);
}

TEST_P(Conduct, OnlySomeRounds) {
    ConductOptions options = Stage::bulk(false);
    options.rounds_most = 1;
    const Report report = stage->conduct(plan, options, agents.get());
    EXPECT_EQ(report.coverage.rounds_run, 1U);
    for (const FlowReport& flow : report.flows) {
        EXPECT_EQ(flow.has_run, flow.round == 0);
    }
}

TEST_P(Conduct, AStopLeavesWhatWasMeasured) {
    plan = plan_flows(stage->topology, stage->routes, {plan.flows[0], plan.flows[0]}, false);
    ASSERT_EQ(plan.coverage.rounds, 2U);
    std::stop_source source;
    SimAsker asker(*stage->simulator, *stage->simulator->locate("", 0), AskLimits{});
    const auto report = conduct(
        stage->topology, stage->routes, plan, Stage::bulk(false), asker, agents.get(),
        [&](const ConductProgress& progress) {
            if (progress.step == "round" && progress.done == 1) {
                source.request_stop();
            }
        },
        source.get_token());
    ASSERT_TRUE(report);
    EXPECT_TRUE(report->interrupted);
    for (const FlowReport& flow : report->flows) {
        EXPECT_EQ(flow.has_run, flow.round == 0);
        EXPECT_EQ(flow.seen, flow.round == 0 ? Seen::proved : Seen::no_evidence);
    }
    EXPECT_TRUE(report->findings.empty()) << all_of(report->findings);
}

TEST_P(Conduct, AStopWhileReadingIsNoFinding) {
    for (const char* step : {"cables", "tables", "ports"}) {
        std::stop_source source;
        SimAsker asker(*stage->simulator, *stage->simulator->locate("", 0), AskLimits{});
        const auto report = conduct(
            stage->topology, stage->routes, plan, Stage::bulk(true), asker, agents.get(),
            [&](const ConductProgress& progress) {
                if (progress.step == step) {
                    source.request_stop();
                }
            },
            source.get_token());
        ASSERT_TRUE(report);
        EXPECT_TRUE(report->interrupted);
        EXPECT_TRUE(report->findings.empty()) << step << all_of(report->findings);
        EXPECT_EQ(report->coverage.rounds_run, 0U);
    }
}

TEST_P(Conduct, AReadProvesAnotherPath) {
    ConductOptions options = Stage::bulk(false);
    options.spec.test = probe::Test::read;
    SimAsker asker(*stage->simulator, *stage->simulator->locate("", 0), AskLimits{});
    const auto report = conduct(stage->topology, stage->routes, plan, options, asker, agents.get(), {}, {});
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().kind, base::ErrorKind::usage);
}

TEST_P(Conduct, AdaptiveSwitchesAreNamed) {
    const Hop hop = middle(0);
    inject(fmt::format("adaptive-routing {}", stage->topology.switches[hop.out.index].guid));
    EXPECT_EQ(run(false).adaptive, std::vector<std::uint32_t>{hop.out.index});
}

std::string fabric_name(const ::testing::TestParamInfo<Fabric>& fabric) {
    return fabric.index == 0 ? "FatTree" : "Torus";
}

INSTANTIATE_TEST_SUITE_P(Fabrics, Conduct,
                         ::testing::Values(Fabric{"fat-tree:radix=8,levels=3", "minhop"},
                                           Fabric{"torus:4x4,hosts=2", "minhop"}),
                         fabric_name);

}  // namespace
}  // namespace ibf::probe::test
