#include "probe/proof/place.hpp"

#include <gtest/gtest.h>

#include "tests/unit/conduct/stage.hpp"

namespace ibf::probe::test {
namespace {

TEST(Places, AFlowsHopsAreThePathOfTheTables) {
    const auto stage = Stage::make("fat-tree:radix=4,levels=3", "minhop");
    const routing::TableView view(stage->topology, stage->routes);
    for (std::uint32_t from = 0; from < stage->topology.end_ports.size(); ++from) {
        for (std::uint32_t to = 0; to < stage->topology.end_ports.size(); ++to) {
            const mad::Lid lid = stage->topology.end_ports[to].lids.base;
            const auto hops = hops_of(stage->topology, view, routing::EndPortIndex{from}, lid);
            const auto path =
                routing::trace_path(stage->topology, stage->routes, routing::EndPortIndex{from}, lid);
            ASSERT_TRUE(hops);
            ASSERT_TRUE(path);
            ASSERT_EQ(hops->size(), path->size() + 1);
            EXPECT_EQ(hops->front().out, place_of(stage->topology, routing::EndPortIndex{from}));
            EXPECT_EQ(hops->back().in, place_of(stage->topology, routing::EndPortIndex{to}));
            for (std::size_t i = 0; i < path->size(); ++i) {
                EXPECT_EQ((*hops)[i].in, (Place{.index = (*path)[i].at.value(), .port = (*path)[i].in}));
                EXPECT_EQ((*hops)[i + 1].out,
                          (Place{.index = (*path)[i].at.value(), .port = (*path)[i].out}));
                EXPECT_EQ(peer_of(stage->topology, (*hops)[i].out), (*hops)[i].in);
                EXPECT_EQ(peer_of(stage->topology, (*hops)[i].in), (*hops)[i].out);
            }
        }
    }
}

TEST(Places, WhatDoesNotArriveHasNoHops) {
    auto stage = Stage::make("fat-tree:radix=4,levels=2", "minhop");
    const auto change = [&](std::uint32_t at, mad::Lid lid, std::uint8_t port) {
        auto row = std::make_shared<routing::LftRow>(*stage->routes.rows[at]);
        (*row)[lid.value()] = port;
        stage->routes.rows[at] = std::move(row);
    };
    const routing::TopologyEndPort& to = stage->topology.end_ports.back();
    const auto walk = [&](mad::Lid lid) {
        return hops_of(stage->topology, routing::TableView(stage->topology, stage->routes),
                       routing::EndPortIndex{0}, lid);
    };
    const std::uint32_t leaf = stage->topology.end_ports[0].switch_index;
    ASSERT_TRUE(walk(to.lids.base));
    const auto hops = *walk(to.lids.base);
    EXPECT_FALSE(walk(stage->topology.switches[hops[1].in.index].lids.base))
        << "a switch is no end of a flow";
    change(hops[1].in.index, to.lids.base, hops[1].in.port.value());
    EXPECT_FALSE(walk(to.lids.base)) << "back and forth";
    change(leaf, to.lids.base, mad::kLftDrop);
    EXPECT_FALSE(walk(to.lids.base)) << "dropped";
    change(leaf, to.lids.base, stage->topology.end_ports[1].switch_port.value());
    EXPECT_FALSE(walk(to.lids.base)) << "at another host";
}

TEST(Places, Names) {
    const auto stage = Stage::make("fat-tree:radix=4,levels=2", "minhop");
    const routing::Topology& topology = stage->topology;
    const Place host = place_of(topology, routing::EndPortIndex{0});
    const Place leaf = peer_of(topology, host).value();
    EXPECT_EQ(name_of(topology, host), topology.end_ports[0].name + "/1");
    EXPECT_EQ(name_of(topology, leaf),
              topology.switches[leaf.index].name + " port " + std::to_string(leaf.port.value()));
    EXPECT_EQ(lid_of(topology, host), topology.end_ports[0].lids.base);
    EXPECT_EQ(lid_of(topology, leaf), topology.switches[leaf.index].lids.base);
    EXPECT_EQ(node_guid_of(topology, leaf), topology.switches[leaf.index].guid);
    EXPECT_GT(mbps_of(topology, host), 0U);
    EXPECT_EQ(mbps_of(topology, host), mbps_of(topology, leaf));
    EXPECT_FALSE(peer_of(topology, Place{.index = leaf.index, .port = mad::PortNum{0}}));
    EXPECT_FALSE(peer_of(topology, Place{.index = leaf.index, .port = mad::PortNum{250}}));
}

}  // namespace
}  // namespace ibf::probe::test
