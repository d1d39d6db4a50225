#include <gtest/gtest.h>

#include <string>

#include "mad/codec.hpp"
#include "parse_failure.hpp"
#include "routing/netlist.hpp"

namespace ibf::routing {
namespace {

constexpr const char* kNodes =
    "START_NODES\nNodeDesc,NumPorts,NodeType,SystemImageGUID,NodeGUID,DeviceID,VendorID\n"
    "\"sw, one\",2,2,0x10,0x11,54002,713\n\"host\",1,1,0x20,0x20,4129,713\nEND_NODES\n";
constexpr const char* kPorts =
    "START_PORTS\nNodeGuid,PortGuid,PortNum,LID,LMC,CapMsk,CapMsk2,PortState,PortPhyState,LinkWidthActv,"
    "LinkSpeedActv,LinkSpeedSup,LinkSpeedEn,VLCap,OpVLs,MTUCap,NMTU,SubnTmo\n"
    "0x11,0x11,0,180,0,3880835146,1082,4,5,2,1,1,1,1,0,5,5,18\n"
    "0x11,0x11,1,0,0,0,N/A,4,5,2,2052,3845,3845,4,3,5,5,0\n"
    "0x11,0x11,2,0,0,0,N/A,1,2,2,1,3845,3845,4,3,5,0,0\n"
    "0x20,0x28,1,6,1,1,N/A,4,5,2,2048,3841,3841,3,3,5,5,18\nEND_PORTS\n";
constexpr const char* kSwitches =
    "START_SWITCHES\nNodeGUID,LinearFDBCap,MCastFDBCap,LinearFDBTop,LifeTimeValue,PartEnfCap,ENP0\n"
    "0x11,49152,10240,274,19,32,1\nEND_SWITCHES\n";
constexpr const char* kLinks =
    "START_LINKS\nNodeGuid1,PortNum1,NodeGuid2,PortNum2\n0x11,1,0x20,1\nEND_LINKS\n";

TEST(TextDbCsv, TurnsRowsIntoDevicesAndTheirBytes) {
    // Sections in another order than they are needed in, with one between them that is not read.
    const auto netlist = parse_netlist(std::string("# INDEX_TABLE\n") + kLinks + kPorts +
                                           "START_PKEY\nx\n1\nEND_PKEY\n" + kSwitches + kNodes,
                                       "t");
    ASSERT_TRUE(netlist) << netlist.error().message;
    ASSERT_EQ(netlist->nodes.size(), 2U);
    EXPECT_EQ(netlist->link_count(), 1U);
    const NetlistNode& leaf = netlist->nodes[0];
    EXPECT_EQ(leaf.description, "sw, one");
    EXPECT_EQ(leaf.system_guid.value(), 0x10U);
    EXPECT_EQ(leaf.device_id, 54002U);
    EXPECT_EQ(leaf.vendor_id, 713U);
    EXPECT_TRUE(leaf.enhanced_port0);
    EXPECT_EQ(leaf.ports[0].lids.base.value(), 180U);
    EXPECT_EQ(leaf.ports[1].speed, mad::LinkSpeed::ndr) << "although only port 0 has the capability mask";
    EXPECT_EQ(netlist->nodes[1].ports[1].guid.value(), 0x28U);
    EXPECT_EQ(netlist->nodes[1].ports[1].lids, (mad::LidRange{mad::Lid{6}, 1}));

    ASSERT_TRUE(leaf.ports[0].port_info && leaf.ports[1].port_info && leaf.ports[2].port_info);
    const mad::PortInfo own = mad::decode_port_info(*leaf.ports[0].port_info);
    EXPECT_EQ(own.capability_mask, 3880835146U);
    EXPECT_EQ(own.capability_mask2, 1082U);
    EXPECT_EQ(own.subnet_timeout, 18U);
    const mad::PortInfo up = mad::decode_port_info(*leaf.ports[1].port_info);
    EXPECT_EQ(up.state, mad::PortState::active);
    EXPECT_EQ(up.phys_state, mad::PhysState::link_up);
    EXPECT_EQ(up.speed_active, 4U);
    EXPECT_EQ(up.speed_ext_active, 8U);
    EXPECT_EQ(up.speed_ext_supported, 15U);
    EXPECT_EQ(up.vl_cap, 4U);
    EXPECT_EQ(up.operational_vls, 3U);
    EXPECT_EQ(up.mtu_cap, mad::Mtu::b4096);
    EXPECT_EQ(mad::decode_port_info(*leaf.ports[2].port_info).state, mad::PortState::down);

    ASSERT_TRUE(leaf.switch_info);
    const mad::SwitchInfo info = mad::decode_switch_info(*leaf.switch_info);
    EXPECT_EQ(info.linear_fdb_cap, 49152U);
    EXPECT_EQ(info.multicast_fdb_cap, 10240U);
    EXPECT_EQ(info.linear_fdb_top, 274U);
    EXPECT_EQ(info.life_time, 19U);
    EXPECT_EQ(info.partition_enforcement_cap, 32U);
    EXPECT_TRUE(info.enhanced_port0);
}

TEST(TextDbCsv, TakesFdr10FromTheVendorsSection) {
    const auto netlist =
        parse_netlist(std::string(kNodes) + kPorts +
                          "START_EXTENDED_PORT_INFO\nNodeGuid,PortNum,LinkSpeedActive\n0x11,1,0x01\n"
                          "END_EXTENDED_PORT_INFO\n" +
                          kLinks,
                      "t");
    ASSERT_TRUE(netlist) << netlist.error().message;
    EXPECT_EQ(netlist->nodes[1].ports[1].speed, mad::LinkSpeed::fdr10);
}

TEST(TextDbCsv, RefusesWhatIsCutOffOrRefersToNothing) {
    EXPECT_NE(parse_failure(kNodes).find("no LINKS section"), std::string::npos);
    EXPECT_NE(parse_failure("START_NODES\nNodeGUID\nEND_NODES\nSTART_LINKS\nNodeGuid1\nEND_LINKS\n")
                  .find("no node"),
              std::string::npos);
    EXPECT_NE(parse_failure(kLinks).find("no NODES section"), std::string::npos);
    EXPECT_NE(parse_failure(std::string(kNodes) + "START_LINKS\nNodeGuid1,PortNum1,NodeGuid2,PortNum2\n")
                  .find("cut off"),
              std::string::npos);
    const std::string links = std::string(kNodes) + "START_LINKS\nNodeGuid1,PortNum1,NodeGuid2,PortNum2\n";
    EXPECT_TRUE(parse_failure(links + "0x11,1,0x99,1\nEND_LINKS\n").starts_with("t:8: "));
    EXPECT_TRUE(parse_failure(links + "0x11,3,0x20,1\nEND_LINKS\n").starts_with("t:8: "));
    EXPECT_TRUE(parse_failure(links + "0x11,1,0x20\nEND_LINKS\n").starts_with("t:8: "));
    EXPECT_TRUE(parse_failure("START_NODES\nNodeDesc,NumPorts,NodeType,NodeGUID\n\"x\",1,9,0x1\nEND_NODES\n")
                    .starts_with("t:3: "));
}

}  // namespace
}  // namespace ibf::routing
