#include "mad/attributes.hpp"

#include <gtest/gtest.h>

#include "mad/speeds_beyond.hpp"

namespace ibf::mad {
namespace {

NodeInfo good_node(NodeType type) {
    NodeInfo node;
    node.type = type;
    node.num_ports = 2;
    node.node_guid = Guid{1};
    node.port_guid = Guid{2};
    node.local_port = PortNum{1};
    return node;
}

TEST(Attributes, NodeInfoValidity) {
    for (const NodeType type : {NodeType::ca, NodeType::switch_, NodeType::router}) {
        EXPECT_TRUE(good_node(type).valid());
    }
    EXPECT_FALSE(good_node(static_cast<NodeType>(0)).valid());
    EXPECT_FALSE(good_node(static_cast<NodeType>(4)).valid());
    NodeInfo node = good_node(NodeType::ca);
    node.node_guid = Guid{};
    EXPECT_FALSE(node.valid());
    node = good_node(NodeType::ca);
    node.port_guid = Guid{};
    EXPECT_FALSE(node.valid());
    node = good_node(NodeType::ca);
    node.num_ports = 0;
    node.local_port = PortNum{0};
    EXPECT_FALSE(node.valid());
    node = good_node(NodeType::ca);
    node.local_port = PortNum{3};
    EXPECT_FALSE(node.valid());
    node.local_port = PortNum{0};
    EXPECT_FALSE(node.valid());
    node.type = NodeType::switch_;
    EXPECT_TRUE(node.valid()) << "port 0 is a switch's own";
}

PortInfo linked_port() {
    PortInfo port;
    port.phys_state = PhysState::link_up;
    port.speed_active = 1;
    return port;
}

TEST(Attributes, SpeedFoldsAllFields) {
    PortInfo port = linked_port();
    EXPECT_EQ(port.speed(), LinkSpeed::sdr);
    port.speed_active = 2;
    EXPECT_EQ(port.speed(), LinkSpeed::ddr);
    port.speed_active = 4;
    EXPECT_EQ(port.speed(), LinkSpeed::qdr);
    port.fdr10_active = true;
    EXPECT_EQ(port.speed(), LinkSpeed::fdr10);
    port.capability_mask |= 0x00004000U;
    EXPECT_EQ(port.speed(), LinkSpeed::fdr10) << "able to, but not at an extended speed";
    constexpr std::array<std::pair<std::uint8_t, LinkSpeed>, 4> kExtended{
        {{1, LinkSpeed::fdr}, {2, LinkSpeed::edr}, {4, LinkSpeed::hdr}, {8, LinkSpeed::ndr}}};
    for (const auto& [code, speed] : kExtended) {
        port.speed_ext_active = code;
        EXPECT_EQ(port.speed(), speed);
    }
    port.speed_ext2_active = 1;
    EXPECT_EQ(port.speed(), LinkSpeed::ndr) << "no capability bit vouches for the field";
    port.capability_mask |= 0x00008000U;
    port.capability_mask2 = kCapMask2Xdr;
    EXPECT_EQ(port.speed(), LinkSpeed::xdr);
    port.phys_state = PhysState::polling;
    EXPECT_EQ(port.speed(), LinkSpeed::none);
}

TEST(Attributes, ReservedBitsOfAnOldDeviceAreNoSpeed) {
    PortInfo port = linked_port();
    port.speed_ext_active = 0xF;
    port.speed_ext2_active = 1;
    EXPECT_EQ(port.speed(), LinkSpeed::sdr);
}

}  // namespace
}  // namespace ibf::mad
