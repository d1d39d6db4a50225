#include "probe/rounds.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "probe/cover.hpp"
#include "probe_fixtures.hpp"

namespace ibf::probe::test {
namespace {

using routing::test::FabricMaker;
using routing::test::generated;
using routing::test::routes_of;

/// No link twice in a round, and no end port sends or receives twice.
void expect_apart(const Topology& topology, const Routes& routes, const std::vector<Flow>& flows,
                  const Rounds& rounds) {
    ASSERT_EQ(rounds.of_flow.size(), flows.size());
    std::set<std::tuple<std::uint32_t, std::uint32_t, unsigned>> links;
    std::set<std::pair<std::uint32_t, EndPortIndex>> senders;
    std::set<std::pair<std::uint32_t, EndPortIndex>> receivers;
    std::set<std::uint32_t> used;
    for (std::size_t i = 0; i < flows.size(); ++i) {
        const std::uint32_t round = rounds.of_flow[i];
        used.insert(round);
        EXPECT_TRUE(senders.insert({round, flows[i].from}).second);
        EXPECT_TRUE(receivers.insert({round, flows[i].to}).second);
        for (const auto& [at, port] : links_of(topology, routes, flows[i].from, flows[i].to, flows[i].lid)) {
            EXPECT_TRUE(links.insert({round, at, port}).second) << "switch " << at << " port " << port;
        }
    }
    EXPECT_EQ(used.size(), rounds.count) << "no round is empty";
    EXPECT_LE(rounds.least, rounds.count);
}

TEST(Rounds, NoTwoFlowsOfARoundShareALink) {
    for (const char* spec : {"fat-tree:radix=8,levels=2", "fat-tree:radix=4,levels=3", "torus:4x4,hosts=2"}) {
        const Topology topology = generated(spec);
        const Routes routes = routes_of("minhop", topology);
        const auto flows = cover_links(topology, routes, all_hosts(topology), 1).flows;
        const Rounds rounds = in_rounds(topology, routes, flows);
        expect_apart(topology, routes, flows, rounds);
        EXPECT_LT(rounds.count, flows.size()) << spec;
        EXPECT_LE(rounds.count, 2 * rounds.least) << spec;
    }
}

// A hundred flows from one end port: a hundred rounds, whatever their paths.
TEST(Rounds, OneSenderSendsOneAfterTheOther) {
    const Topology topology = FabricMaker{.switches = 2, .links = {{0, 1}, {0, 1}}, .hosts = {2, 99}}.make();
    const Routes routes = routes_of("minhop", topology);
    std::vector<Flow> flows;
    for (const EndPortIndex to : all_hosts(topology)) {
        if (to != EndPortIndex{0}) {
            flows.push_back({EndPortIndex{0}, to, topology.end_ports[to.value()].lids.base});
        }
    }
    const Rounds rounds = in_rounds(topology, routes, flows);
    EXPECT_EQ(flows.size(), 100U);
    EXPECT_EQ(rounds.count, 100U);
    EXPECT_EQ(rounds.least, 100U);
    expect_apart(topology, routes, flows, rounds);
}

TEST(Rounds, FlowsThatHaveNothingInCommonGoTogether) {
    const Topology topology =
        FabricMaker{.switches = 4, .links = {{0, 1}, {2, 3}, {1, 2}}, .hosts = {1, 1, 1, 1}}.make();
    const Routes routes = routes_of("minhop", topology);
    const auto flow = [&](std::uint32_t from, std::uint32_t to) {
        return Flow{EndPortIndex{from}, EndPortIndex{to}, topology.end_ports[to].lids.base};
    };
    EXPECT_EQ(in_rounds(topology, routes, std::vector{flow(0, 1), flow(2, 3), flow(1, 0)}).count, 1U)
        << "the two directions of a cable are two links";
    EXPECT_EQ(in_rounds(topology, routes, std::vector{flow(0, 1), flow(0, 3)}).count, 2U);
    EXPECT_EQ(in_rounds(topology, routes, {}).count, 0U);
}

}  // namespace
}  // namespace ibf::probe::test
