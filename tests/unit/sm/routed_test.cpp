#include "daemon/sm/routed.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace ibf::sm {
namespace {

using fabric::TopologyView;
using routing::PortPeer;
using routing::Topology;

std::shared_ptr<const TopologyView> view_of(Topology topology) {
    TopologyView view;
    view.topology = std::move(topology);
    for (std::uint32_t i = 0; i < view.topology.switches.size(); ++i) {
        view.switch_nodes.push_back(i);
    }
    for (std::uint32_t i = 0; i < view.topology.end_ports.size(); ++i) {
        view.end_ports.push_back({100 + i, mad::PortNum{1}});
    }
    return std::make_shared<const TopologyView>(std::move(view));
}

/// Its switches, none of them with a cable.
fabric::Fabric fabric_of(const TopologyView& view) {
    fabric::Fabric fabric;
    for (const routing::TopologySwitch& item : view.topology.switches) {
        fabric.nodes.emplace_back().ports.resize(item.peers.size());
    }
    return fabric;
}

std::shared_ptr<const TopologyView> with_absent(const std::shared_ptr<const TopologyView>& now,
                                                const TopologyView* before) {
    return sm::with_absent(now, fabric_of(*now), before);
}

Topology tree() {
    return routing::topology_of(routing::generate_netlist("fat-tree:radix=4,levels=2").value(), 0).value();
}

/// The same without one end port: its place is free and its LID nobody's.
Topology without(const Topology& whole, std::uint32_t gone) {
    Topology out = whole;
    out.switches[out.end_ports[gone].switch_index].peers[out.end_ports[gone].switch_port.value()] = {};
    out.end_ports.erase(out.end_ports.begin() + gone);
    for (std::uint32_t i = 0; i < out.end_ports.size(); ++i) {
        out.switches[out.end_ports[i].switch_index].peers[out.end_ports[i].switch_port.value()].index = i;
    }
    return out;
}

TEST(Routed, WhereNobodyIsAwayItIsWhatIsThere) {
    const auto now = view_of(tree());
    EXPECT_EQ(with_absent(now, nullptr), now);
    EXPECT_EQ(with_absent(now, view_of(tree()).get()), now);
    EXPECT_TRUE(routes_alike(tree(), tree()));
}

TEST(Routed, AHostThatIsAwayKeepsItsPlace) {
    const auto before = view_of(tree());
    for (std::uint32_t gone = 0; gone < before->topology.end_ports.size(); ++gone) {
        const auto now = view_of(without(before->topology, gone));
        EXPECT_FALSE(routes_alike(before->topology, now->topology));
        const auto on = with_absent(now, before.get());
        EXPECT_TRUE(routes_alike(before->topology, on->topology)) << gone;
        EXPECT_EQ(on->end_ports[gone], fabric::PortRef{}) << "it has no place in the fabric";
        for (std::uint32_t i = 0; i < on->topology.end_ports.size(); ++i) {
            const auto& end = on->topology.end_ports[i];
            const PortPeer& peer = on->topology.switches[end.switch_index].peers[end.switch_port.value()];
            EXPECT_EQ(peer.index, i);
            EXPECT_EQ(end.port_guid, before->topology.end_ports[i].port_guid);
        }
        EXPECT_EQ(with_absent(before, on.get()), before) << "it is back";
    }
}

TEST(Routed, ItIsForgottenWhenItsPortOrItsLidIsNeeded) {
    const auto before = view_of(tree());
    const routing::TopologyEndPort gone = before->topology.end_ports[0];
    Topology other = without(before->topology, 0);
    other.end_ports[0].lids = gone.lids;  // somebody else has its LID
    EXPECT_EQ(with_absent(view_of(other), before.get())->topology.end_ports.size(), other.end_ports.size());

    Topology replaced = before->topology;  // somebody else is at its port
    replaced.end_ports[0].port_guid = mad::Guid{0x77};
    const auto now = view_of(replaced);
    EXPECT_EQ(with_absent(now, before.get()), now);
    EXPECT_FALSE(routes_alike(before->topology, replaced));
}

TEST(Routed, WhoIsThereAndLeftOutIsNotAway) {
    const auto before = view_of(tree());
    const auto now = view_of(without(before->topology, 0));
    fabric::Fabric fabric = fabric_of(*now);
    const routing::TopologyEndPort& host = before->topology.end_ports[0];
    fabric.port({host.switch_index, host.switch_port}).peer = {0, mad::PortNum{1}};
    EXPECT_EQ(sm::with_absent(now, fabric, before.get()), now);
}

TEST(Routed, WithItsSwitchItGoes) {
    const auto before = view_of(tree());
    Topology now = without(before->topology, 0);
    now.switches[before->topology.end_ports[0].switch_index].guid = mad::Guid{1};
    const auto view = view_of(now);
    EXPECT_EQ(with_absent(view, before.get()), view);
}

TEST(Routed, WhatRoutesDependOnMakesADifference) {
    const Topology whole = tree();
    const auto differs = [&](auto change) {
        Topology other = whole;
        change(other);
        return !routes_alike(whole, other);
    };
    const std::uint32_t leaf = whole.end_ports[0].switch_index;
    const auto link = static_cast<std::size_t>(
        std::find_if(whole.switches[leaf].peers.begin(), whole.switches[leaf].peers.end(),
                     [](const PortPeer& peer) { return peer.kind == PortPeer::Kind::switch_; }) -
        whole.switches[leaf].peers.begin());
    EXPECT_TRUE(differs([&](Topology& t) { t.switches[leaf].peers[link] = {}; }));
    EXPECT_TRUE(differs([&](Topology& t) { t.switches[leaf].peers[link].throttled = true; }));
    EXPECT_TRUE(differs([&](Topology& t) { t.switches[leaf].lft_cap = 16; }));
    EXPECT_TRUE(differs([&](Topology& t) { t.switches[leaf].lids.base = mad::Lid{900}; }));
    EXPECT_TRUE(differs([&](Topology& t) { t.end_ports[0].lids.base = mad::Lid{901}; }));
    EXPECT_TRUE(differs([&](Topology& t) { t.max_lid = 1000; }));
    EXPECT_FALSE(differs([&](Topology& t) { t.end_ports[0].name = "renamed"; }));
}

}  // namespace
}  // namespace ibf::sm
