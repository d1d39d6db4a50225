#include "routing/topology.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/prng.hpp"
#include "mad/codec.hpp"

namespace ibf::routing {
namespace {

using mad::Guid;
using mad::Lid;
using mad::PortNum;

TopologySwitch make_switch(std::uint64_t guid, std::uint8_t ports) {
    TopologySwitch item;
    item.guid = Guid{guid};
    item.num_ports = ports;
    return item;
}

TopologyEndPort make_end(std::uint64_t guid, std::uint8_t port) {
    TopologyEndPort item;
    item.node_guid = Guid{guid};
    item.port = PortNum{port};
    return item;
}

Topology laid_out(std::string_view spec, std::uint8_t lmc) {
    const auto netlist = generate_netlist(spec);
    EXPECT_TRUE(netlist) << netlist.error().message;
    const auto topology = topology_of(*netlist, lmc);
    EXPECT_TRUE(topology) << topology.error().message;
    return topology.value_or(Topology{});
}

TEST(TopologyBuilder, SortsByGuidWhateverTheOrderOfCalls) {
    struct Link {
        std::uint64_t a, b;
        std::uint8_t a_port, b_port;
    };
    const std::vector<Link> links{{10, 30, 1, 1}, {30, 10, 2, 2}, {20, 10, 1, 3}, {5, 20, 2, 3},
                                  {5, 30, 1, 4},  {6, 20, 1, 3},  {10, 99, 4, 1}};
    const auto build = [&links](std::uint64_t seed) {
        base::Prng prng(seed);
        std::vector<std::uint64_t> switches{10, 20, 30};
        std::vector<std::pair<std::uint64_t, std::uint8_t>> ends{{5, 1}, {5, 2}, {6, 1}};
        auto shuffled = links;
        prng.shuffle(switches);
        prng.shuffle(ends);
        prng.shuffle(shuffled);
        TopologyBuilder builder;
        for (const auto& link : shuffled) {
            if (prng.below(2) == 0) {
                builder.add_link(Guid{link.a}, PortNum{link.a_port}, Guid{link.b}, PortNum{link.b_port}, {8});
            } else {
                builder.add_link(Guid{link.b}, PortNum{link.b_port}, Guid{link.a}, PortNum{link.a_port}, {8});
            }
        }
        for (const auto guid : switches) {
            builder.add_switch(make_switch(guid, 4));
        }
        for (const auto& [guid, port] : ends) {
            builder.add_end_port(make_end(guid, port));
        }
        return builder.build();
    };
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        const Topology topology = build(seed);
        ASSERT_EQ(topology.switches.size(), 3U);
        ASSERT_EQ(topology.end_ports.size(), 3U);
        EXPECT_EQ(topology.switches[1].guid, Guid{20});
        EXPECT_EQ(topology.switches[0].peers[1].index, 2U);
        EXPECT_EQ(topology.switches[2].peers[2].port, PortNum{2});
        EXPECT_EQ(topology.switches[0].peers[4].kind, PortPeer::Kind::none) << "node 99 is unknown";
        EXPECT_EQ(topology.end_ports[1].switch_index, 1U) << "5 and 6 claim port 3: the lower GUID has it";
        EXPECT_EQ(topology.end_ports[2].switch_index, kNoIndex);
        EXPECT_EQ(topology.switches[1].peers[3].index, 1U);
        EXPECT_EQ(topology.link_count(), 5U);
    }
}

TEST(TopologyBuilder, DropsCablesIntoPortsThatAreNotThere) {
    TopologyBuilder builder;
    builder.add_switch(make_switch(1, 2));
    builder.add_switch(make_switch(2, 2));
    builder.add_link(Guid{1}, PortNum{3}, Guid{2}, PortNum{1}, {8});
    builder.add_link(Guid{1}, PortNum{0}, Guid{2}, PortNum{2}, {8});
    EXPECT_EQ(builder.build().link_count(), 0U);
}

TEST(TopologyBuilder, KeepsCablesOfASwitchToItself) {
    TopologyBuilder builder;
    builder.add_switch(make_switch(1, 4));
    builder.add_link(Guid{1}, PortNum{1}, Guid{1}, PortNum{2}, {8});
    builder.add_link(Guid{1}, PortNum{3}, Guid{1}, PortNum{3}, {8});
    const Topology topology = builder.build();
    EXPECT_EQ(topology.link_count(), 2U);
    EXPECT_EQ(topology.switches[0].peers[2].port, PortNum{1});
    EXPECT_EQ(topology.switches[0].peers[3].port, PortNum{3});
}

TEST(TopologyBuilder, CountsADeviceThatIsAddedTwiceOnce) {
    TopologyBuilder builder;
    builder.add_switch(make_switch(1, 4));
    builder.add_switch(make_switch(1, 4));
    builder.add_end_port(make_end(7, 1));
    builder.add_end_port(make_end(7, 1));
    const Topology topology = builder.build();
    EXPECT_EQ(topology.switches.size(), 1U);
    EXPECT_EQ(topology.end_ports.size(), 1U);
}

TEST(TopologyOf, LaysLidsOutByAttachment) {
    const Topology topology = laid_out("fat-tree:radix=4,levels=2", 0);
    ASSERT_EQ(topology.switches.size(), 6U);
    ASSERT_EQ(topology.end_ports.size(), 8U);
    std::uint16_t next = 1;
    for (const auto& leaf : topology.switches) {
        for (const auto& peer : leaf.peers) {
            if (peer.kind == PortPeer::Kind::end_port) {
                EXPECT_EQ(topology.end_ports[peer.index].lids.base.value(), next++);
            }
        }
    }
    for (const auto& item : topology.switches) {
        EXPECT_EQ(item.lids.base.value(), next++);
    }
    EXPECT_EQ(topology.max_lid, 14U);
    EXPECT_EQ(topology.lid_count(), 14U);
}

TEST(TopologyOf, LmcRangesAreAlignedAndDoNotOverlap) {
    for (const std::uint8_t lmc : {std::uint8_t{1}, std::uint8_t{3}, std::uint8_t{7}}) {
        const Topology topology = laid_out("ring:5,hosts=3", lmc);
        std::set<std::uint32_t> used;
        for (const auto& item : topology.end_ports) {
            EXPECT_EQ(item.lids.count(), 1U << lmc);
            EXPECT_EQ(item.lids.base.value() % (1U << lmc), 0U);
            for (std::uint32_t lid = item.lids.base.value(); lid < item.lids.end(); ++lid) {
                EXPECT_TRUE(used.insert(lid).second);
            }
        }
        for (const auto& item : topology.switches) {
            EXPECT_EQ(item.lids.count(), 1U);
            EXPECT_TRUE(used.insert(item.lids.base.value()).second);
        }
        EXPECT_EQ(*used.rbegin(), topology.max_lid);
        EXPECT_EQ(used.size(), topology.lid_count());
    }
}

TEST(TopologyOf, KeepsLidsThatAreValidAndUnique) {
    auto netlist = generate_netlist("single:4");
    ASSERT_TRUE(netlist);
    netlist->nodes[0].ports[0].lids = {Lid{3}, 0};       // the switch comes first: it keeps 3
    netlist->nodes[1].ports[1].lids = {Lid{3}, 0};       // taken
    netlist->nodes[2].ports[1].lids = {Lid{0xC000}, 0};  // multicast
    netlist->nodes[3].ports[1].lids = {Lid{6}, 1};
    netlist->nodes[4].ports[1].lids = {Lid{7}, 0};  // inside 6..7
    const auto topology = topology_of(*netlist, 0);
    ASSERT_TRUE(topology);
    EXPECT_EQ(topology->switches[0].lids.base, Lid{3});
    EXPECT_EQ(topology->end_ports[0].lids.base, Lid{1});
    EXPECT_EQ(topology->end_ports[1].lids.base, Lid{2});
    EXPECT_EQ(topology->end_ports[2].lids, (mad::LidRange{Lid{6}, 1}));
    EXPECT_EQ(topology->end_ports[3].lids.base, Lid{4});
    EXPECT_EQ(topology->max_lid, 7U);
}

TEST(TopologyOf, SaysWhenTheLidSpaceIsTooSmall) {
    const auto netlist = generate_netlist("fat-tree:radix=36,levels=3");
    ASSERT_TRUE(netlist);
    EXPECT_TRUE(topology_of(*netlist, 2)) << "46,656 + 1,620 LIDs fit";
    const auto refused = topology_of(*netlist, 3);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, base::ErrorKind::unsupported);
    EXPECT_FALSE(topology_of(*netlist, 8));
}

TEST(TopologyOf, TakesWhatSwitchesCanDoFromTheirBytes) {
    auto netlist = generate_netlist("ring:3");
    ASSERT_TRUE(netlist);
    mad::PortInfo info;
    info.vl_cap = 2;
    netlist->nodes[0].ports[1].port_info = mad::encode(info);
    mad::SwitchInfo switch_info;
    switch_info.linear_fdb_cap = 1024;
    netlist->nodes[2].switch_info = mad::encode(switch_info);
    const auto topology = topology_of(*netlist, 0);
    ASSERT_TRUE(topology);
    const PortPeer& narrow = topology->switches[0].peers[1];
    ASSERT_EQ(narrow.kind, PortPeer::Kind::switch_);
    EXPECT_EQ(narrow.data_vls, 2U);
    EXPECT_EQ(topology->switches[narrow.index].peers[narrow.port.value()].data_vls, 2U) << "the other end";
    EXPECT_EQ(topology->switches[0].peers[2].data_vls, 8U);
    EXPECT_EQ(topology->switches[2].lft_cap, 1024U);
    EXPECT_EQ(topology->switches[0].lft_cap, 0xC000U);
}

TEST(TopologyOf, LeavesOutPortsWithoutACable) {
    auto netlist =
        parse_netlist("Hca 2 \"a\"\n[2] \"s\"[1]\nSwitch 4 \"s\"\n[1] \"a\"[2]\nHca 1 \"b\"\n", "t");
    ASSERT_TRUE(netlist) << netlist.error().message;
    const auto topology = topology_of(*netlist, 0);
    ASSERT_TRUE(topology);
    ASSERT_EQ(topology->end_ports.size(), 1U);
    EXPECT_EQ(topology->end_ports[0].port, PortNum{2});
    EXPECT_EQ(topology->end_ports[0].port_guid.value(), topology->end_ports[0].node_guid.value() + 2);
    EXPECT_EQ(topology->end_ports[0].switch_port, PortNum{1});
}

TEST(TopologyOf, BackToBackPortsHaveLidsAndNoSwitch) {
    const Topology topology = laid_out("back-to-back", 0);
    ASSERT_EQ(topology.end_ports.size(), 2U);
    EXPECT_EQ(topology.end_ports[0].switch_index, kNoIndex);
    EXPECT_EQ(topology.max_lid, 2U);
}

}  // namespace
}  // namespace ibf::routing
