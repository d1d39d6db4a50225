#include "routing/netlist.hpp"

#include <gtest/gtest.h>

namespace ibf::routing {
namespace {

NetlistNode node_with(mad::NodeType type, std::size_t ports) {
    NetlistNode node;
    node.type = type;
    node.ports.resize(ports + 1);
    return node;
}

void plug(Netlist& netlist, std::uint32_t a, std::uint8_t a_port, std::uint32_t b, std::uint8_t b_port) {
    netlist.nodes[a].ports[a_port].peer_node = b;
    netlist.nodes[a].ports[a_port].peer_port = mad::PortNum{b_port};
    netlist.nodes[b].ports[b_port].peer_node = a;
    netlist.nodes[b].ports[b_port].peer_port = mad::PortNum{a_port};
}

TEST(Netlist, CountsEachCableOnce) {
    Netlist netlist;
    netlist.nodes = {node_with(mad::NodeType::ca, 2), node_with(mad::NodeType::switch_, 6),
                     node_with(mad::NodeType::switch_, 6)};
    EXPECT_EQ(netlist.link_count(), 0U);
    EXPECT_EQ(netlist.switch_count(), 2U);
    plug(netlist, 0, 1, 1, 1);
    plug(netlist, 1, 2, 2, 2);
    plug(netlist, 2, 3, 1, 3);  // parallel
    plug(netlist, 1, 5, 1, 4);  // to itself
    plug(netlist, 2, 6, 2, 6);  // a loop plug
    EXPECT_EQ(netlist.link_count(), 5U);
    EXPECT_EQ(netlist.nodes[1].num_ports(), 6U);
}

TEST(Netlist, ThinningIsTheSameForAFabricHoweverItCame) {
    const auto whole = generate_netlist("fat-tree:radix=8,levels=3");
    const auto thinned = generate_netlist("fat-tree:radix=8,levels=3,missing-links=0.1,seed=3");
    ASSERT_TRUE(whole && thinned);
    auto read_back = parse_netlist(to_ibsim_text(*whole), thinned->origin);
    ASSERT_TRUE(read_back);
    thin_out(*read_back, 0, 0.1, 3);
    EXPECT_TRUE(to_ibsim_text(*read_back) == to_ibsim_text(*thinned)) << "texts of 50 kB differ";
    EXPECT_EQ(whole->link_count() - read_back->link_count(), 26U);
    thin_out(*read_back, 0, 0, 4);
    EXPECT_TRUE(to_ibsim_text(*read_back) == to_ibsim_text(*thinned)) << "no share is nothing";
}

}  // namespace
}  // namespace ibf::routing
