// Parts of a fabric by name, and who loses whom without them.
#include "routing/elements.hpp"

#include <gtest/gtest.h>

#include "tests/unit/routing/engine_fixtures.hpp"

namespace ibf::routing::test {
namespace {

/// Two leaves (0, 1) of four hosts, two spines (2, 3).
Topology two_leaves() {
    return FabricMaker{.switches = 4, .links = {{0, 2}, {0, 3}, {1, 2}, {1, 3}}, .hosts = {4, 4, 0, 0}}
        .make();
}

Elements switches(const Topology& topology, std::initializer_list<std::uint32_t> which) {
    Elements elements;
    for (const std::uint32_t at : which) {
        elements.add(topology.switches[at].guid);
    }
    return elements;
}

Elements cable(const Topology& topology, std::uint32_t at, std::uint8_t port) {
    Elements elements;
    elements.add(SwitchPort{topology.switches[at].guid, mad::PortNum{port}});
    return elements;
}

/// Pairs of hosts with a way between them that avoids what is gone, found by flooding from each host.
std::uint64_t pairs_by_flooding(const Topology& topology, const Elements& gone) {
    std::uint64_t pairs = 0;
    const auto hosts = hosts_of(topology);
    for (const EndPortIndex from : hosts) {
        const TopologyEndPort& start = topology.end_ports[from.value()];
        std::vector<char> wet(topology.switches.size(), 0);
        const auto enters = [&](const TopologyEndPort& end) {
            return end.switch_index != kNoIndex &&
                   !is_gone(topology, gone, end.switch_index, end.switch_port.value());
        };
        if (enters(start)) {
            wet[start.switch_index] = 1;
        }
        for (std::size_t round = 0; round < wet.size(); ++round) {
            for (std::uint32_t at = 0; at < wet.size(); ++at) {
                const auto& peers = topology.switches[at].peers;
                for (std::size_t port = 1; wet[at] != 0 && port < peers.size(); ++port) {
                    if (peers[port].kind == PortPeer::Kind::switch_ && !is_gone(topology, gone, at, port)) {
                        wet[peers[port].index] = 1;
                    }
                }
            }
        }
        for (const EndPortIndex to : hosts) {
            const TopologyEndPort& end = topology.end_ports[to.value()];
            pairs += from < to && enters(end) && wet[end.switch_index] != 0 ? 1U : 0U;
        }
    }
    return pairs;
}

TEST(Elements, ASpineCostsNobodyALeafItsHosts) {
    const Topology topology = two_leaves();
    EXPECT_TRUE(losses(topology, switches(topology, {2})).cut_off.empty());
    EXPECT_EQ(losses(topology, switches(topology, {2})).pairs, 0U);
    const Losses leaf = losses(topology, switches(topology, {0}));
    ASSERT_EQ(leaf.cut_off.size(), 4U);
    EXPECT_EQ(topology.end_ports[leaf.cut_off[0].value()].switch_index, 0U);
    EXPECT_EQ(leaf.pairs, 28U - 6U) << "of eight hosts four still have each other";
}

TEST(Elements, OfTwoHalvesTheOneOfTheLowerGuidIsTheRest) {
    const Topology topology = two_leaves();
    const Losses both = losses(topology, switches(topology, {2, 3}));
    ASSERT_EQ(both.cut_off.size(), 4U);
    EXPECT_EQ(topology.end_ports[both.cut_off[0].value()].switch_index, 1U);
    EXPECT_EQ(both.pairs, 28U - 12U) << "the hosts of one leaf keep each other";
}

TEST(Elements, AHostsCableIsTheHost) {
    const Topology topology = two_leaves();
    const Losses one = losses(topology, cable(topology, 0, 2));
    ASSERT_EQ(one.cut_off.size(), 1U);
    EXPECT_EQ(topology.end_ports[one.cut_off[0].value()].switch_port, mad::PortNum{2});
    EXPECT_EQ(one.pairs, 7U);
    EXPECT_EQ(without(topology, cable(topology, 0, 2)).end_ports.size(), 7U);
}

TEST(Elements, ACableIsNamedByEitherEnd) {
    const Topology topology = two_leaves();
    const PortPeer& peer = topology.switches[0].peers[5];
    const Elements far = cable(topology, peer.index, peer.port.value());
    for (const Elements& gone : {cable(topology, 0, 5), far}) {
        const Topology left = without(topology, gone);
        EXPECT_EQ(left.link_count(), topology.link_count() - 1);
        EXPECT_EQ(left.switches[0].peers[5].kind, PortPeer::Kind::none);
        EXPECT_EQ(left.switches[peer.index].peers[peer.port.value()].kind, PortPeer::Kind::none);
    }
}

TEST(Elements, AnAggregationNodeIsPartOfItsSwitch) {
    Topology topology = two_leaves();
    topology.end_ports[0].name = "Mellanox Technologies Aggregation Node";
    EXPECT_FALSE(is_host(topology.end_ports[0]));
    EXPECT_EQ(losses(topology, switches(topology, {0})).cut_off.size(), 3U);
}

TEST(Elements, WhatIsNotThereTakesNothingAway) {
    const Topology topology = two_leaves();
    Elements strangers;
    strangers.add(mad::Guid{0xDEAD});
    strangers.add(SwitchPort{mad::Guid{0xDEAD}, mad::PortNum{1}});
    const Topology left = without(topology, strangers);
    EXPECT_EQ(left.link_count(), topology.link_count());
    EXPECT_EQ(left.max_lid, topology.max_lid);
    EXPECT_EQ(losses(topology, strangers).pairs, 0U);
}

TEST(Elements, AreASet) {
    Elements elements;
    for (const std::uint64_t guid : {7U, 3U, 7U, 5U}) {
        elements.add(mad::Guid{guid});
    }
    EXPECT_EQ(elements.switches, (std::vector{mad::Guid{3}, mad::Guid{5}, mad::Guid{7}}));
    Elements more;
    more.add(mad::Guid{4});
    more.add(SwitchPort{mad::Guid{3}, mad::PortNum{1}});
    const Elements all = united(elements, more);
    EXPECT_EQ(all.switches.size(), 4U);
    EXPECT_TRUE(all.has(SwitchPort{mad::Guid{3}, mad::PortNum{1}}));
    elements.remove(mad::Guid{5});
    EXPECT_FALSE(elements.has(mad::Guid{5}));
}

TEST(Elements, LossesAreThoseOfFlooding) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        SCOPED_TRACE(seed);
        const Topology topology = random_fabric(seed, 8, 6).make();
        base::Prng prng(seed);
        Elements gone;
        for (unsigned i = 0; i < 1 + seed % 4; ++i) {
            const auto at = static_cast<std::uint32_t>(prng.below(topology.switches.size()));
            if (i % 2 == 0) {
                gone.add(topology.switches[at].guid);
            } else {
                const auto port = 1 + prng.below(topology.switches[at].peers.size() - 1);
                gone.add(
                    SwitchPort{topology.switches[at].guid, mad::PortNum{static_cast<std::uint8_t>(port)}});
            }
        }
        const std::uint64_t before = pairs_by_flooding(topology, {});
        const std::uint64_t after = pairs_by_flooding(topology, gone);
        EXPECT_EQ(losses(topology, gone).pairs, before - after);
        const Topology left = without(topology, gone);
        EXPECT_EQ(pairs_by_flooding(left, {}), after) << "the same fabric, built without them";
        for (const TopologySwitch& item : left.switches) {
            EXPECT_FALSE(gone.has(item.guid));
        }
    }
}

}  // namespace
}  // namespace ibf::routing::test
