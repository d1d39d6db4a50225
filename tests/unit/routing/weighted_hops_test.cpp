// Sums of weights; tests/unit/routing/preferences_test.cpp holds the paths that follow from them to a slow
// judge.
#include "routing/weighted_hops.hpp"

#include "engine_fixtures.hpp"

namespace ibf::routing::test {
namespace {

Graph weighted(const FabricMaker& maker, const std::vector<HopWeight>& weights) {
    Preferences preferences;
    preferences.hop_weights = weights;
    return make_graph(maker.make(), {}, preferences);
}

HopWeight weight(std::uint64_t at, std::uint8_t port, std::uint8_t hops) {
    return {{mad::Guid{0x1000 + at}, mad::PortNum{port}}, hops};
}

/// Port 1 of each switch leads to its host, port 2 to the next switch.
TEST(WeightedHops, EachWayCountsByItself) {
    const FabricMaker ring{.switches = 4, .links = {{0, 1}, {1, 2}, {2, 3}, {3, 0}}};
    const Graph graph = weighted(ring, {weight(0, 2, 9), weight(1, 3, 2)});
    const auto lengths = weighted_hops(graph, 2);
    ASSERT_TRUE(lengths);
    EXPECT_EQ(lengths->row(0)[1], 3) << "round the other way";
    EXPECT_EQ(lengths->row(1)[0], 1);
    EXPECT_EQ(lengths->row(1)[2], 2);
    EXPECT_EQ(lengths->row(2)[1], 1);
    EXPECT_EQ(lengths->row(2)[2], 0);
}

TEST(WeightedHops, WhatIsApartStaysApart) {
    const FabricMaker two{.switches = 4, .links = {{0, 1}, {2, 3}}};
    const auto lengths = weighted_hops(weighted(two, {weight(0, 2, 250)}), 1);
    ASSERT_TRUE(lengths);
    EXPECT_EQ(lengths->row(0)[1], 250);
    EXPECT_EQ(lengths->row(0)[2], kUnreached);
    EXPECT_FALSE(weighted_hops(weighted(two, {weight(0, 2, 251)}), 1));
}

TEST(WeightedHops, OfCablesToOneNeighbourTheLightestAreLeft) {
    const FabricMaker pair{.switches = 2, .links = {{0, 1}, {0, 1}, {0, 1}}};
    const Graph graph = weighted(pair, {weight(0, 2, 3), weight(0, 3, 2), weight(0, 4, 2)});
    ASSERT_EQ(graph.groups_of(0).size(), 1U);
    const auto ports = graph.ports_of(graph.groups_of(0)[0]);
    EXPECT_EQ((std::vector<std::uint8_t>(ports.begin(), ports.end())), (std::vector<std::uint8_t>{3, 4}));
    EXPECT_EQ(graph.ports_of(graph.groups_of(1)[0]).size(), 3U);
    EXPECT_TRUE(weighted(pair, {}).weights.empty());
}

}  // namespace
}  // namespace ibf::routing::test
