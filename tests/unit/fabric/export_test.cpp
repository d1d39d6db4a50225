#include "daemon/fabric/export.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "daemon/fabric/forwarding.hpp"
#include "tests/unit/fabric_from_netlist.hpp"

namespace ibf::fabric {
namespace {

/// Two switches joined by two cables, three hosts: the fabric whose dumps OpenSM 3.3.23 wrote on ibsim.
constexpr const char* kTwoSwitches = R"(
vendid=0x2c9
devid=0xb924
sysimgguid=0x2c9010002
switchguid=0x2c9010000(2c9010000)
Switch	8 "S-00000002c9010000"		# "leaf 01" base port 0 lid 2 lmc 0
[1]	"H-00000002c9020010"[1](2c9020011) 		# "host-1 mlx5_0" lid 1 4xQDR
[2]	"H-00000002c9020020"[1](2c9020021) 		# "host-2 mlx5_0" lid 4 4xQDR
[3]	"S-00000002c9010100"[3]		# "leaf 02" lid 3 4xSDR
[5]	"S-00000002c9010100"[5]		# "leaf 02" lid 3 4xSDR

vendid=0x2c9
devid=0xb924
sysimgguid=0x2c9010102
switchguid=0x2c9010100(2c9010100)
Switch	8 "S-00000002c9010100"		# "leaf 02" enhanced port 0 lid 3 lmc 0
[1]	"H-00000002c9020030"[1](2c9020031) 		# "host-3 mlx5_0" lid 5 4xQDR
[3]	"S-00000002c9010000"[3]		# "leaf 01" lid 2 4xSDR
[5]	"S-00000002c9010000"[5]		# "leaf 01" lid 2 4xSDR

vendid=0x2c9
devid=0x1017
sysimgguid=0x2c9020010
caguid=0x2c9020010
Ca	1 "H-00000002c9020010"		# "host-1 mlx5_0"
[1](2c9020011) 	"S-00000002c9010000"[1]		# lid 1 lmc 0 "leaf 01" lid 2 4xQDR

vendid=0x2c9
devid=0x1017
sysimgguid=0x2c9020020
caguid=0x2c9020020
Ca	2 "H-00000002c9020020"		# "host-2 mlx5_0"
[1](2c9020021) 	"S-00000002c9010000"[2]		# lid 4 lmc 0 "leaf 01" lid 2 4xQDR

vendid=0x2c9
devid=0x1017
sysimgguid=0x2c9020030
caguid=0x2c9020030
Ca	2 "H-00000002c9020030"		# "host-3 mlx5_0"
[1](2c9020031) 	"S-00000002c9010100"[1]		# lid 5 lmc 0 "leaf 02" lid 3 4xQDR
)";

std::shared_ptr<const routing::LftRow> row(std::initializer_list<int> ports) {
    auto out = std::make_shared<routing::LftRow>(64, mad::kLftDrop);
    std::size_t lid = 1;
    for (const int port : ports) {
        (*out)[lid++] = static_cast<std::uint8_t>(port);
    }
    return out;
}

class ExportTest : public ::testing::Test {
protected:
    void SetUp() override {
        const auto netlist = routing::parse_netlist(kTwoSwitches, "test");
        ASSERT_TRUE(netlist) << netlist.error().message;
        snapshot_ = test::snapshot_of(*netlist, routing::RouteOptions{});
        ASSERT_NE(snapshot_.view, nullptr);
        // The tables OpenSM had written when it made the dumps below.
        snapshot_.programmed = {row({1, 0, 5, 2, 3}), row({3, 3, 0, 5, 1})};
    }

    std::string dump(std::string_view file) const {
        const auto stream = opensm_dump(std::make_shared<const Snapshot>(snapshot_), file);
        std::string out;
        while (stream && (*stream)(out)) {
        }
        return stream ? out : stream.error().message;
    }

    Snapshot snapshot_;
};

TEST_F(ExportTest, FdbsAreOpenSmsToTheByte) {
    EXPECT_EQ(dump("opensm.fdbs"),
              "dump_ucast_routes: Switch 0x00000002c9010000\n"
              "LID    : Port : Hops : Optimal\n"
              "0x0001 : 001  : 01   : yes\n"
              "0x0002 : 000  : 00   : yes\n"
              "0x0003 : 005  : 01   : yes\n"
              "0x0004 : 002  : 01   : yes\n"
              "0x0005 : 003  : 02   : yes\n"
              "dump_ucast_routes: Switch 0x00000002c9010100\n"
              "LID    : Port : Hops : Optimal\n"
              "0x0001 : 003  : 02   : yes\n"
              "0x0002 : 003  : 01   : yes\n"
              "0x0003 : 000  : 00   : yes\n"
              "0x0004 : 005  : 02   : yes\n"
              "0x0005 : 001  : 01   : yes\n");
}

TEST_F(ExportTest, LftDumpIsOpenSmsToTheByte) {
    const std::string text = dump("opensm-lfts.dump");
    const std::string first =
        "Unicast lids [0-5] of switch Lid 2 guid 0x00000002c9010000 ('leaf 01'):\n"
        "0x0001 001 # Channel Adapter portguid 0x00000002c9020011: 'host-1 mlx5_0'\n"
        "0x0002 000 # Switch portguid 0x00000002c9010000: 'leaf 01'\n"
        "0x0003 005 # Switch portguid 0x00000002c9010100: 'leaf 02'\n"
        "0x0004 002 # Channel Adapter portguid 0x00000002c9020021: 'host-2 mlx5_0'\n"
        "0x0005 003 # Channel Adapter portguid 0x00000002c9020031: 'host-3 mlx5_0'\n"
        "5 lids dumped\n";
    EXPECT_EQ(text.substr(0, first.size()), first);
}

TEST_F(ExportTest, SubnetListIsOpenSmsToTheByte) {
    const std::string text = dump("opensm-subnet.lst");
    EXPECT_EQ(
        text.substr(0, text.find('\n')),
        "{ SW Ports:08 SystemGUID:00000002c9010002 NodeGUID:00000002c9010000 PortGUID:00000002c9010000 "
        "VenID:0002C9 DevID:B924 Rev:000000A1 {leaf 01} LID:0002 PN:01 } { CA-SM Ports:01 "
        "SystemGUID:00000002c9020010 NodeGUID:00000002c9020010 PortGUID:00000002c9020011 VenID:000002C9 "
        "DevID:10170000 Rev:000000A1 {host-1 mlx5_0} LID:0001 PN:01 } PHY=4x LOG=ACT SPD=10");
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 10);
}

TEST_F(ExportTest, GuidToLid) {
    const std::string first = "0x00000002c9010000 0x0002 0x0002\n\n0x00000002c9010100 0x0003 0x0003\n\n";
    EXPECT_EQ(dump("guid2lid").substr(0, first.size()), first);
}

TEST_F(ExportTest, LoopingEntryIsUnreachable) {
    // Each leaf sends host-1 to the other one.
    snapshot_.programmed = {row({3, 0, 5, 2, 3}), row({3, 3, 0, 5, 1})};
    const std::string text = dump("opensm.fdbs");
    EXPECT_NE(text.find("0x0001 : UNREACHABLE\n0x0002 : 000  : 00   : yes"), std::string::npos);
}

TEST_F(ExportTest, UnknownFileIsNamed) {
    EXPECT_NE(dump("passwd").find("a dump folder has no file 'passwd'"), std::string::npos);
}

TEST_F(ExportTest, TextFormsReadBackToTheSameFabric) {
    for (const std::string& text : {ibnetdiscover_text(snapshot_), ibsim_text(snapshot_)}) {
        const auto again = routing::parse_netlist(text, "export");
        ASSERT_TRUE(again) << again.error().message;
        EXPECT_EQ(again->nodes.size(), snapshot_.fabric->nodes.size());
        EXPECT_EQ(again->link_count(), 5U);
    }
}

TEST_F(ExportTest, IbnetdiscoverLinesAreInfinibandDiags) {
    const std::string text = ibnetdiscover_text(snapshot_);
    for (const char* line :
         {"# Initiated from node 00000002c9020010 port 00000002c9020011\n",
          "switchguid=0x2c9010100(2c9010100)\nSwitch\t8 \"S-00000002c9010100\"\t\t# \"leaf 02\" "
          "enhanced port 0 lid 3 lmc 0\n",
          "[1]\t\"H-00000002c9020030\"[1](2c9020031) \t\t# \"host-3 mlx5_0\" lid 5 4xQDR\n",
          "[5]\t\"S-00000002c9010000\"[5]\t\t# \"leaf 01\" lid 2 4xSDR\n",
          "[1](2c9020031) \t\"S-00000002c9010100\"[1]\t\t# lid 5 lmc 0 \"leaf 02\" lid 3 4xQDR\n"}) {
        EXPECT_NE(text.find(line), std::string::npos) << line << "\n--- in ---\n" << text;
    }
}

TEST_F(ExportTest, SwitchPortsRunAtTheSpeedThatPortZerosCapabilitiesAllow) {
    const Snapshot hdr = test::snapshot_of_spec("fat-tree:radix=4,levels=2");
    ASSERT_NE(hdr.fabric, nullptr);
    for (const std::string& text : {ibnetdiscover_text(hdr), ibsim_text(hdr)}) {
        EXPECT_EQ(text.find("4xQDR"), std::string::npos);
        EXPECT_NE(text.find("4xHDR"), std::string::npos);
    }
    // Two switches of the first fabric claim no extended speeds: what their reserved bits hold is no speed.
    Fabric old = *snapshot_.fabric;
    old.nodes[0].ports[1].info.speed_ext_active = 4;
    EXPECT_EQ(speed_of(old.nodes[0], mad::PortNum{1}), mad::LinkSpeed::qdr);
}

TEST_F(ExportTest, WalkNamesTheHopWhereTheWayEnds) {
    snapshot_.programmed = {row({1, 0, 5, 2, 7}), nullptr};
    const Forwarding tables(snapshot_);
    const auto dead_port = tables.walk(0, mad::PortNum{1}, mad::Lid{5});
    ASSERT_FALSE(dead_port);
    EXPECT_NE(dead_port.error().message.find("out of port 7, which has no link"), std::string::npos);
    const auto no_table = tables.walk(1, mad::PortNum{1}, mad::Lid{1});
    ASSERT_FALSE(no_table);
    EXPECT_NE(no_table.error().message.find("acknowledged no forwarding table"), std::string::npos);
}

TEST_F(ExportTest, WalkEndsInALoop) {
    snapshot_.programmed = {row({3, 0, 5, 2, 3}), row({3, 3, 0, 5, 1})};
    const auto way = Forwarding(snapshot_).walk(0, mad::PortNum{1}, mad::Lid{1});
    ASSERT_FALSE(way);
    EXPECT_NE(way.error().message.find("in a loop"), std::string::npos);
}

}  // namespace
}  // namespace ibf::fabric
