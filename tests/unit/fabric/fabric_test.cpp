#include "daemon/fabric/fabric.hpp"

#include <gtest/gtest.h>

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
