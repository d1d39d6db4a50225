#include <gtest/gtest.h>

#include <string>

#include "parse_failure.hpp"
#include "routing/netlist.hpp"

namespace ibf::routing {
namespace {

constexpr const char* kSwitch =
    "{ SW Ports:41 SystemGUID:0000000000000010 NodeGUID:0000000000000011 PortGUID:0000000000000011 "
    "VenID:000002C9 DevID:d2f2 Rev:000000a0 {sw {1}} LID:00b6 PN:0c } ";
constexpr const char* kHost =
    "{ CA-SM Ports:02 SystemGUID:0000000000000000 NodeGUID:0000000000000020 PortGUID:0000000000000022 "
    "VenID:000002C9 DevID:10210000 Rev:00000000 {host mlx5_0} LID:00b5 PN:02 } ";

TEST(TextLst, ReadsHexadecimalEndsAndTheRate) {
    const auto netlist = parse_netlist(
        std::string("# made by ibdiagnet\r\n\r\n") + kHost + kSwitch + "PHY=4x LOG=ACT SPD=100\r\n", "t");
    ASSERT_TRUE(netlist) << netlist.error().message;
    EXPECT_TRUE(netlist->warnings.empty());
    ASSERT_EQ(netlist->nodes.size(), 2U);
    const NetlistNode& host = netlist->nodes[0];
    EXPECT_EQ(host.id, "H-0000000000000020");
    EXPECT_EQ(host.description, "host mlx5_0");
    EXPECT_EQ(host.device_id, 0x1021U) << "upper half of 32 bits, as old OpenSMs printed it";
    EXPECT_EQ(host.system_guid, host.guid);
    EXPECT_EQ(host.num_ports(), 2U);
    EXPECT_EQ(host.ports[2].guid.value(), 0x22U);
    EXPECT_EQ(host.ports[2].lids.base.value(), 0xb5U);
    EXPECT_EQ(host.ports[2].speed, mad::LinkSpeed::ndr);
    const NetlistNode& leaf = netlist->nodes[1];
    EXPECT_EQ(leaf.num_ports(), 65U);
    EXPECT_EQ(leaf.description, "sw {1}");
    EXPECT_EQ(leaf.ports[0].lids.base.value(), 0xb6U);
    EXPECT_EQ(leaf.ports[12].peer_node, 0U);
    EXPECT_EQ(leaf.ports[12].peer_port.value(), 2U);
}

TEST(TextLst, ACableGivenFromBothEndsIsOne) {
    const auto netlist = parse_netlist(
        std::string(kHost) + kSwitch + "PHY=4x LOG=ACT\n" + kSwitch + kHost + "PHY=4x LOG=ACT\n", "t");
    ASSERT_TRUE(netlist) << netlist.error().message;
    EXPECT_EQ(netlist->link_count(), 1U);
    EXPECT_TRUE(netlist->warnings.empty());
    EXPECT_EQ(netlist->nodes[0].ports[2].speed, mad::LinkSpeed::sdr);
}

TEST(TextLst, RefusesDamagedLines) {
    const std::string good = std::string(kHost) + kSwitch + "PHY=4x LOG=ACT\n";
    EXPECT_TRUE(parse_failure(good + "{ SW Ports:41\n").starts_with("t:2: "));
    EXPECT_TRUE(parse_failure(good + "noise\n").starts_with("t:2: "));
    EXPECT_TRUE(parse_failure(good + kHost + "\n").starts_with("t:2: "));
    EXPECT_TRUE(parse_failure(good + "{ XX NodeGUID:1 } {}\n").starts_with("t:2: "));
    std::string other_port = good + kSwitch + kHost + "PHY=4x\n";
    other_port.replace(other_port.rfind("PN:02"), 5, "PN:01");
    EXPECT_NE(parse_failure(other_port).find("line 1"), std::string::npos) << "port 12 leads to two places";
    std::string out_of_range = good;
    out_of_range.replace(out_of_range.find("PN:02"), 5, "PN:03");
    EXPECT_NE(parse_failure(out_of_range).find("ports 1 to 2"), std::string::npos);
}

}  // namespace
}  // namespace ibf::routing
