#include "daemon/fabric/fabric.hpp"

#include <optional>
#include <set>

#include <gtest/gtest.h>

#include "base/prng.hpp"
#include "daemon/fabric/delta.hpp"

namespace ibf::fabric {
namespace {

using mad::Guid;
using mad::Lid;
using mad::PortNum;

Node node(mad::NodeType type, std::uint64_t guid, std::uint8_t ports) {
    Node item;
    item.info.type = type;
    item.info.node_guid = Guid{guid};
    item.info.num_ports = ports;
    item.ports.resize(ports + 1U);
    for (std::size_t p = 0; p < item.ports.size(); ++p) {
        item.ports[p].known = true;
        item.ports[p].guid = Guid{guid + p};
    }
    if (type == mad::NodeType::switch_) {
        item.switch_info.emplace();
        item.switch_info->linear_fdb_cap = 0xC000;
    }
    return item;
}

void link(Fabric& fabric, PortRef a, PortRef b) {
    fabric.port(a).peer = b;
    fabric.port(b).peer = a;
}

/// Two switches with two parallel cables, one adapter on each, a cable from the second switch to itself.
Fabric small() {
    Fabric fabric;
    fabric.nodes = {node(mad::NodeType::switch_, 0x200, 6), node(mad::NodeType::switch_, 0x100, 6),
                    node(mad::NodeType::ca, 0x400, 1), node(mad::NodeType::ca, 0x300, 2)};
    link(fabric, {0, PortNum{1}}, {1, PortNum{1}});
    link(fabric, {0, PortNum{2}}, {1, PortNum{2}});
    link(fabric, {0, PortNum{3}}, {2, PortNum{1}});
    link(fabric, {1, PortNum{3}}, {3, PortNum{2}});
    link(fabric, {1, PortNum{5}}, {1, PortNum{6}});
    return fabric;
}

TEST(Fabric, Counts) {
    Fabric fabric = small();
    EXPECT_EQ(fabric.switch_count(), 2U);
    EXPECT_EQ(fabric.link_count(), 5U);
    EXPECT_EQ(fabric.end_port_count(), 2U);
    fabric.port({0, PortNum{6}}).peer = {0, PortNum{6}};  // a loop-back plug
    EXPECT_EQ(fabric.link_count(), 6U);
    EXPECT_EQ(fabric.find(Guid{0x300}), 3U);
    EXPECT_EQ(fabric.find(Guid{0x999}), kNoNode);
}

TEST(Fabric, TopologyLeadsBackToTheFabric) {
    const Fabric fabric = small();
    const TopologyView view = topology_of(fabric, {{Guid{0x100}, {Lid{1}, 0}}, {Guid{0x401}, {Lid{2}, 0}}});
    ASSERT_EQ(view.topology.switches.size(), 2U);
    EXPECT_EQ(view.topology.switches[0].guid, Guid{0x100}) << "sorted by GUID";
    EXPECT_EQ(view.switch_nodes, (std::vector<std::uint32_t>{1, 0}));
    ASSERT_EQ(view.topology.end_ports.size(), 2U);
    EXPECT_EQ(view.end_ports[0], (PortRef{3, PortNum{2}}));
    EXPECT_EQ(view.topology.end_ports[0].lids.base, mad::kLidNone) << "no LID given: not routed to";
    EXPECT_EQ(view.topology.end_ports[1].lids.base, Lid{2});
}

// C71: what could not be set up is connected all the same; routing leaves it out.
TEST(Fabric, WhatCannotBeUsedIsNotRouted) {
    Fabric fabric = small();
    fabric.port({2, PortNum{1}}).usable = false;
    fabric.port({0, PortNum{1}}).usable = false;
    const TopologyView view = topology_of(fabric, {});
    EXPECT_EQ(view.topology.end_ports.size(), 1U);
    EXPECT_EQ(view.topology.switches[1].peers[1].kind, routing::PortPeer::Kind::none);
    EXPECT_EQ(view.topology.switches[1].peers[2].kind, routing::PortPeer::Kind::switch_);
}

/// Twelve switches of six ports, cabled at random, an adapter of two ports on each.
Fabric random_fabric(base::Prng& prng) {
    constexpr std::uint32_t kSwitches = 12;
    Fabric fabric;
    for (std::uint32_t n = 0; n < kSwitches; ++n) {
        fabric.nodes.push_back(
            node(mad::NodeType::switch_, 0x1000 + (prng.below(1000) * kSwitches + n) * 64, 8));
    }
    for (std::uint32_t n = 0; n < kSwitches; ++n) {
        fabric.nodes.push_back(node(mad::NodeType::ca, 0x100000 + n * 64, 2));
        link(fabric, {n, PortNum{8}}, {kSwitches + n, PortNum{1}});
    }
    return fabric;
}

/// A free port of a switch; nullopt: none found.
std::optional<PortRef> free_port(const Fabric& fabric, base::Prng& prng) {
    for (int tries = 0; tries < 50; ++tries) {
        const PortRef at{static_cast<std::uint32_t>(prng.below(12)),
                         PortNum{static_cast<std::uint8_t>(1 + prng.below(7))}};
        if (fabric.port(at).peer.node == kNoNode) {
            return at;
        }
    }
    return std::nullopt;
}

void plug_some(Fabric& fabric, base::Prng& prng, std::set<std::uint32_t>& touched) {
    const auto a = free_port(fabric, prng);
    const auto b = free_port(fabric, prng);
    if (a && b) {
        link(fabric, *a, *b);
        touched.insert({a->node, b->node});
    }
}

/// One change between switches, or of what a link offers.
void change_something(Fabric& fabric, base::Prng& prng, std::set<std::uint32_t>& touched) {
    const auto n = static_cast<std::uint32_t>(prng.below(12));
    const PortRef at{n, PortNum{static_cast<std::uint8_t>(1 + prng.below(7))}};
    const PortRef peer = fabric.port(at).peer;
    switch (prng.below(4)) {
        case 0:
            if (peer.node != kNoNode) {
                fabric.port(at).peer = {};
                fabric.port(peer).peer = {};
                touched.insert({at.node, peer.node});
            }
            break;
        case 1: plug_some(fabric, prng, touched); break;
        case 2: {
            const PortRef slow{n, PortNum{static_cast<std::uint8_t>(1 + prng.below(8))}};
            fabric.port(slow).info.vl_cap = static_cast<std::uint8_t>(1 + prng.below(4));
            touched.insert(n);
            break;
        }
        default:
            fabric.nodes[n].description += "x";
            touched.insert(n);
            break;
    }
}

TEST(Fabric, AViewOfBeforeTakesWhatChangedAndIsTheViewOfNow) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        base::Prng prng(seed);
        Fabric fabric = random_fabric(prng);
        std::set<std::uint32_t> touched;
        for (int i = 0; i < 20; ++i) {
            plug_some(fabric, prng, touched);
        }
        LidMap lids;
        for (std::uint32_t n = 0; n < fabric.nodes.size(); ++n) {
            lids[lid_owner(fabric.nodes[n], PortNum{1})] = {Lid{static_cast<std::uint16_t>(n + 1)}, 0};
        }
        TopologyView before = topology_of(fabric, lids);
        for (int step = 0; step < 10; ++step) {
            touched.clear();
            for (std::uint64_t i = 0; i <= prng.below(4); ++i) {
                change_something(fabric, prng, touched);
            }
            const auto after = topology_after(before, fabric, {touched.begin(), touched.end()});
            ASSERT_TRUE(after) << seed;
            const TopologyView whole = topology_of(fabric, lids);
            ASSERT_TRUE(after->topology == whole.topology) << seed << " step " << step;
            ASSERT_EQ(after->end_ports, whole.end_ports);
            before = whole;
        }
    }
}

TEST(Fabric, AViewOfBeforeDoesNotTellOfHostsThatComeOrGo) {
    Fabric fabric = small();
    const TopologyView before = topology_of(fabric, {});
    EXPECT_TRUE(topology_after(before, fabric, {0, 1, 2, 3}));
    Fabric gone = fabric;
    gone.port({0, PortNum{3}}).peer = {};
    gone.port({2, PortNum{1}}).peer = {};
    EXPECT_FALSE(topology_after(before, gone, {0}));
    EXPECT_FALSE(topology_after(before, gone, {2}));
    Fabric moved = gone;
    link(moved, {0, PortNum{4}}, {2, PortNum{1}});
    EXPECT_FALSE(topology_after(before, moved, {0}));
    EXPECT_FALSE(topology_after(before, moved, {2}));
    Fabric come = fabric;
    link(come, {0, PortNum{4}}, {3, PortNum{1}});
    EXPECT_FALSE(topology_after(before, come, {0}));
    EXPECT_FALSE(topology_after(before, come, {3}));
    Fabric grown = fabric;
    grown.nodes[0].info.num_ports = 7;
    EXPECT_FALSE(topology_after(before, grown, {0}));
    Fabric other = fabric;
    other.nodes[2].ports[1].guid = Guid{0x999};
    EXPECT_FALSE(topology_after(before, other, {2}));
}

TEST(Delta, NamesWhatCameAndWent) {
    const Fabric before = small();
    EXPECT_TRUE(diff(before, before).empty());
    Fabric after = small();
    after.port({0, PortNum{2}}).peer = {};
    after.port({1, PortNum{2}}).peer = {};
    after.port({0, PortNum{3}}).peer = {};
    after.nodes.erase(after.nodes.begin() + 2);
    after.port({1, PortNum{3}}).peer = {2, PortNum{2}};
    after.nodes.push_back(node(mad::NodeType::ca, 0x500, 1));
    link(after, {0, PortNum{4}}, {3, PortNum{1}});
    const auto changes = diff(before, after);
    ASSERT_EQ(changes.size(), 3U);
    EXPECT_EQ(changes[0].kind, Change::Kind::node_added);
    EXPECT_EQ(changes[0].guid, Guid{0x500});
    EXPECT_EQ(changes[1].kind, Change::Kind::node_removed);
    EXPECT_EQ(changes[1].guid, Guid{0x400});
    EXPECT_EQ(changes[2].kind, Change::Kind::link_down);
    EXPECT_EQ(changes[2].port, PortNum{2});
}

}  // namespace
}  // namespace ibf::fabric
