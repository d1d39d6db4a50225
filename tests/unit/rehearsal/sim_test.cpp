// The fabric, the asker and the agents of a rehearsal.
#include <gtest/gtest.h>

#include "mad/codec.hpp"
#include "probe/rehearsal/sim_agents.hpp"
#include "probe/rehearsal/sim_asker.hpp"
#include "routing/netlist.hpp"

namespace ibf::probe {
namespace {

class Rehearsal : public ::testing::Test {
protected:
    void SetUp() override {
        auto netlist = routing::generate_netlist("fat-tree:radix=4,levels=3");
        ASSERT_TRUE(netlist);
        topology = *routing::topology_of(*netlist, 1);
        routes = *routing::run_engine("minhop", topology, nullptr, {});
        simulator = std::make_unique<sim::Simulator>(std::move(*netlist), sim::SimOptions{});
        program(*simulator, topology, routes);
        agents = std::make_unique<SimAgents>(*simulator, topology, Background{}, 1);
    }
    [[nodiscard]] FlowOrder order(std::uint32_t from, std::uint32_t to) const {
        return {.flow = {.from = routing::EndPortIndex{from},
                         .to = routing::EndPortIndex{to},
                         .lid = topology.end_ports[to].lids.base}};
    }
    std::vector<FlowResult> run(const std::vector<FlowOrder>& orders, const TestSpec& spec) {
        return agents->run(orders, spec, [&](std::size_t count) { told = count; }, {});
    }
    routing::Topology topology;
    routing::Routes routes;
    std::unique_ptr<sim::Simulator> simulator;
    std::unique_ptr<SimAgents> agents;
    std::size_t told = 0;
};

TEST_F(Rehearsal, TheFabricForwardsAsComputed) {
    const SimPlaces places(*simulator, topology);
    const auto last = static_cast<std::uint32_t>(topology.end_ports.size() - 1);
    for (std::uint32_t lid = topology.end_ports[last].lids.base.value();
         lid < topology.end_ports[last].lids.end(); ++lid) {
        const mad::Lid to{static_cast<std::uint16_t>(lid)};
        const sim::PortRef from = places.at(topology, routing::EndPortIndex{0});
        const auto steps = simulator->walk(from.node, from.port, to);
        ASSERT_TRUE(steps) << steps.error().message;
        const auto path = routing::trace_path(topology, routes, routing::EndPortIndex{0}, to);
        ASSERT_EQ(steps->size(), path->size() + 1);
        for (std::size_t i = 0; i < path->size(); ++i) {
            EXPECT_EQ((*steps)[i + 1].node, places.at(Place{.index = (*path)[i].at.value()}).node);
            EXPECT_EQ((*steps)[i + 1].out, (*path)[i].out);
        }
    }
}

TEST_F(Rehearsal, TheAskerWaitsInVirtualTime) {
    SimAsker asker(*simulator, *simulator->locate("", 0), AskLimits{});
    const Question who{.attribute = mad::Attribute::node_info};
    EXPECT_TRUE(asker.ask(std::vector<Question>{who}, {}).at(0).ok());
    EXPECT_LT(asker.now().time_since_epoch(), std::chrono::milliseconds{1});
    const Question lost{
        .device = 1, .attribute = mad::Attribute::node_info, .path = mad::DrPath{}.then(mad::PortNum{99})};
    EXPECT_EQ(asker.ask(std::vector<Question>{lost}, {}).at(0).kind, Answer::Kind::silent);
    EXPECT_GT(asker.now().time_since_epoch(), std::chrono::milliseconds{500}) << "retries";
    std::stop_source stop;
    stop.request_stop();
    EXPECT_EQ(asker.ask(std::vector<Question>{who}, stop.get_token()).at(0).kind, Answer::Kind::silent);
    EXPECT_TRUE(asker.ask(std::vector<Question>{}, {}).empty());
}

TEST_F(Rehearsal, AgentsMoveWhatTheTestSays) {
    TestSpec spec;
    spec.test = probe::Test::write;
    spec.messages = 10;
    spec.message_bytes = 100'000;
    spec.queue_pairs = 2;
    const auto results = run({order(0, 5), order(5, 0)}, spec);
    EXPECT_EQ(told, 2U);
    ASSERT_EQ(results.size(), 2U);
    for (const FlowResult& result : results) {
        EXPECT_TRUE(result.ran);
        EXPECT_EQ(result.initiator.messages, 20U);
        EXPECT_EQ(result.initiator.bytes, 2'000'000U);
        EXPECT_EQ(result.target.bytes, 2'000'000U);
        EXPECT_EQ(result.initiator.checked, 20U);
        EXPECT_GT(result.initiator.elapsed.count(), 0);
        EXPECT_EQ(result.initiator.latency.count(), 0U);
    }
}

TEST_F(Rehearsal, APingComesBack) {
    TestSpec spec;
    spec.messages = 10;
    const SimPlaces places(*simulator, topology);
    const sim::PortRef far = places.at(topology, routing::EndPortIndex{5});
    const std::uint64_t before = simulator->world().port(far).traffic.transmit_packets;
    const auto results = run({order(0, 5)}, spec);
    EXPECT_EQ(results[0].initiator.latency.count(), 10U);
    EXPECT_GT(simulator->world().port(far).traffic.transmit_words, 10U * 64 / 4);
    EXPECT_GT(simulator->world().port(far).traffic.transmit_packets, before);
}

TEST_F(Rehearsal, WhatIsNotAcknowledgedEndsInTime) {
    const SimPlaces places(*simulator, topology);
    simulator->set_lft_entry(places.at(Place{.index = topology.end_ports[5].switch_index}).node,
                             topology.end_ports[5].lids.base, mad::kLftDrop);
    TestSpec spec;
    spec.ack_timeout = 10;
    spec.retries = 2;
    const auto results = run({order(0, 5)}, spec);
    EXPECT_TRUE(results[0].ran);
    EXPECT_EQ(results[0].initiator.failure, failure::kRetryExceeded);
    EXPECT_EQ(results[0].initiator.bytes, 0U);
    EXPECT_EQ(results[0].initiator.errors.size(), 1U);
    EXPECT_EQ(results[0].initiator.elapsed, base::Duration{4096 * 1024 * 3});
}

TEST_F(Rehearsal, DeadAgentsAndStops) {
    agents->kill(routing::EndPortIndex{5});
    auto results = run({order(0, 5), order(5, 1), order(1, 0)}, TestSpec{});
    EXPECT_EQ(results[0].silent_agent, routing::EndPortIndex{5});
    EXPECT_EQ(results[1].silent_agent, routing::EndPortIndex{5});
    EXPECT_FALSE(results[0].ran);
    EXPECT_TRUE(results[2].ran);
    agents->revive(routing::EndPortIndex{5});
    std::stop_source stop;
    results = agents->run(
        std::vector<FlowOrder>{order(0, 5), order(1, 2)}, TestSpec{},
        [&](std::size_t) { stop.request_stop(); }, stop.get_token());
    EXPECT_TRUE(results[0].ran);
    EXPECT_FALSE(results[1].ran);
    EXPECT_FALSE(results[1].text.empty());
}

TEST_F(Rehearsal, MishapsAreToldAsByRealOnes) {
    const routing::EndPortIndex far{5};
    agents->play(far, Mishap::dies);
    auto results = run({order(0, 5), order(5, 0), order(0, 1)}, TestSpec{});
    EXPECT_EQ(results[0].target.failure, failure::kPeerGone);
    EXPECT_TRUE(results[0].initiator.failure.empty());
    EXPECT_TRUE(results[0].initiator.was_stopped);
    EXPECT_EQ(results[1].initiator.failure, failure::kPeerGone);
    EXPECT_FALSE(results[2].initiator.was_stopped);
    agents->play(far, Mishap::answers_half);
    results = run({order(0, 5)}, TestSpec{.test = probe::Test::ud});
    EXPECT_EQ(results[0].initiator.lost, 500U);
    EXPECT_EQ(results[0].initiator.messages, 500U);
    agents->play(far, Mishap::holds_to_share);
    EXPECT_GT(run({order(0, 5)}, TestSpec{})[0].bits_per_second, 0U);
    agents->revive(far);
    EXPECT_TRUE(run({order(0, 5)}, TestSpec{})[0].target.failure.empty());
}

TEST_F(Rehearsal, OthersAreOnTheFabricToo) {
    const auto words = [&] {
        std::uint64_t sum = 0;
        for (std::uint32_t node = 0; node < simulator->world().size(); ++node) {
            for (const sim::Port& port : simulator->world().device(node).ports) {
                sum += port.traffic.transmit_words;
            }
        }
        return sum;
    };
    SimAgents beside(*simulator, topology, Background{.flows = 20}, 3);
    const std::uint64_t before = words();
    EXPECT_TRUE(beside.run({}, TestSpec{}, {}, {}).empty());
    EXPECT_GT(words(), before);
    TestSpec spec;
    spec.test = probe::Test::write;
    spec.message_bytes = 1U << 20U;
    const auto alone = run({order(0, 5)}, spec);
    const auto busy = beside.run(std::vector<FlowOrder>{order(0, 5)}, spec, [](std::size_t) {}, {});
    EXPECT_GT(busy[0].initiator.elapsed, alone[0].initiator.elapsed);
}

}  // namespace
}  // namespace ibf::probe
