#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "parse_failure.hpp"
#include "routing/netlist.hpp"

namespace ibf::routing {
namespace {

using mad::LinkSpeed;
using mad::LinkWidth;

Netlist parse(const std::string& text) {
    auto netlist = parse_netlist(text, "t");
    EXPECT_TRUE(netlist) << netlist.error().message;
    return netlist.value_or(Netlist{});
}

bool warns(const Netlist& netlist, const std::string& text) {
    return std::ranges::any_of(netlist.warnings,
                               [&](const std::string& item) { return item.find(text) != std::string::npos; });
}

constexpr const char* kIbnetdiscover = R"(#
# Topology file: generated on Thu Jan  1 00:00:00 1970
#
vendid=0x2c9
devid=0xd2f0
sysimgguid=0x1000000000000a1
switchguid=0x1000000000000a0(1000000000000a0)
Switch	4 "S-01000000000000a0"		# "leaf "one" # x " enhanced port 0 lid 8 lmc 1
[1]	"H-02000000000000b0"[1](2000000000000b8) 		# "host HCA-1 " lid 5 4xFDR10
[3]	"S-01000000000000a0"[4]		# "leaf" lid 8 4xQDR
[4]	"S-01000000000000a0"[3]		# "leaf" lid 8 4xQDR

vendid=0x119f
devid=0x1003
caguid=0x2000000000000b0
Ca	2 "H-02000000000000b0"		# "host HCA-1 "
[1](2000000000000b8) 	"S-01000000000000a0"[1]		# lid 5 lmc 0 "leaf" lid 8 4xFDR10
)";

TEST(TextNetlist, ReadsIbnetdiscoverOutput) {
    const Netlist netlist = parse(kIbnetdiscover);
    ASSERT_EQ(netlist.nodes.size(), 2U);
    EXPECT_TRUE(netlist.warnings.empty()) << netlist.warnings.front();
    const NetlistNode& leaf = netlist.nodes[0];
    EXPECT_EQ(leaf.type, mad::NodeType::switch_);
    EXPECT_EQ(leaf.guid.value(), 0x1000000000000a0U);
    EXPECT_EQ(leaf.system_guid.value(), 0x1000000000000a1U);
    EXPECT_EQ(leaf.vendor_id, 0x2c9U);
    EXPECT_EQ(leaf.device_id, 0xd2f0U);
    EXPECT_EQ(leaf.description, "leaf \"one\" # x ");
    EXPECT_TRUE(leaf.enhanced_port0);
    EXPECT_EQ(leaf.ports[0].lids, (mad::LidRange{mad::Lid{8}, 1}));
    EXPECT_EQ(leaf.ports[3].peer_node, 0U) << "a switch cabled to itself";
    EXPECT_EQ(leaf.ports[3].peer_port.value(), 4U);
    EXPECT_FALSE(leaf.ports[2].peer_node);
    const NetlistNode& host = netlist.nodes[1];
    EXPECT_EQ(host.type, mad::NodeType::ca);
    EXPECT_EQ(host.vendor_id, 0x119fU);
    EXPECT_EQ(host.system_guid, host.guid) << "none stated for this record";
    EXPECT_EQ(host.ports[1].guid.value(), 0x2000000000000b8U);
    EXPECT_EQ(host.ports[1].lids.base.value(), 5U);
    EXPECT_EQ(host.ports[1].speed, LinkSpeed::fdr10);
    EXPECT_EQ(netlist.link_count(), 2U);
}

TEST(TextNetlist, AcceptsAConsolePaste) {
    std::string pasted = "\xEF\xBB\xBF[root@mgr ~]# ibnetdiscover   \r\n";
    for (const char letter : std::string(kIbnetdiscover)) {
        pasted += letter == '\n' ? std::string("  \r\n") : std::string(1, letter);
    }
    pasted += "[root@mgr ~]# ";
    const Netlist plain = parse(kIbnetdiscover);
    const Netlist netlist = parse(pasted);
    ASSERT_EQ(netlist.nodes.size(), 2U);
    EXPECT_EQ(netlist.link_count(), plain.link_count());
    EXPECT_EQ(netlist.nodes[0].description, plain.nodes[0].description);
    EXPECT_TRUE(warns(netlist, "t:1: skipped"));
}

TEST(TextNetlist, ReadsIbdiagnetsLabels) {
    const Netlist netlist = parse(
        "Switch  65 \"S-b0cf0e0300e72fc0\"      # \"MF0;sw-01:MQM9701/U1\" base port 0 lid 180 lmc 0\n"
        "[1](1/1/1) \"H-5c25730300c4b960\"[1](B134D0F0/0/0/1)(5c25730300c4b961)      # \"h\" lid 13 4xNDR\n"
        "Ca  1 \"H-5c25730300c4b960\"      # \"h\"\n"
        "[1](B134D0F0/0/0/1)(5c25730300c4b961) \"S-b0cf0e0300e72fc0\"[1] # lid 13 lmc 0 \"s\" lid 180 "
        "4xNDR\n");
    ASSERT_EQ(netlist.nodes.size(), 2U);
    EXPECT_EQ(netlist.nodes[1].ports[1].guid.value(), 0x5c25730300c4b961U);
    EXPECT_EQ(netlist.nodes[0].guid.value(), 0xb0cf0e0300e72fc0U)
        << "from the id, where no switchguid is stated";
    EXPECT_EQ(netlist.nodes[0].ports[1].speed, LinkSpeed::ndr);
}

TEST(TextNetlist, NumbersNamedNodesAsIbsimDoes) {
    const Netlist netlist = parse(
        "Switch 8 \"sw1\"\n[1] \"a\"[1] w=8\n[2] \"b\"\n[3] \"sw2\"[3] s=2 e=4\n"
        "Hca 2 \"a\"\n[1] \"sw1\"[1]\n"
        "Switch 8 \"sw2\"\n[3] \"sw1\"[3]\n"
        "Hca 1 \"b\"\n[1] \"sw1\"[2]\n"
        "Rt 1 \"r\" # plain words lid 9\n");
    ASSERT_EQ(netlist.nodes.size(), 5U);
    EXPECT_EQ(netlist.nodes[0].guid.value(), 0x200000U);
    EXPECT_EQ(netlist.nodes[1].guid.value(), 0x100000U);
    EXPECT_EQ(netlist.nodes[2].guid.value(), 0x200001U);
    EXPECT_EQ(netlist.nodes[3].guid.value(), 0x100003U) << "two ports and the node took three GUIDs";
    EXPECT_EQ(netlist.nodes[4].type, mad::NodeType::router);
    EXPECT_EQ(netlist.nodes[4].description, "plain words");
    EXPECT_EQ(netlist.nodes[0].description, "sw1");
    EXPECT_EQ(netlist.nodes[0].ports[1].width, LinkWidth::x12);
    EXPECT_EQ(netlist.nodes[2].ports[3].speed, LinkSpeed::hdr) << "e=4 goes before s=2";
}

TEST(TextNetlist, KnowsIbsimsModulesAliasesAndDefaults) {
    const Netlist netlist = parse(
        "switchguid=0x500\nspeed=2\nwidth=1\nmodule=\"r1\"\n"
        "Switch 4 \"sw\"\n@[4] \"up\"\n[1] \"sw\"[2]\n[2] \"sw\"[1]\n"
        "switchguid+0x10\nmodule=\"r2\"\n"
        "Switch 4 \"sw\"\n[1] \"r1@up\"\n[2] \"r1#sw\"[3]\n");
    ASSERT_EQ(netlist.nodes.size(), 2U);
    EXPECT_EQ(netlist.nodes[0].id, "r1#sw");
    EXPECT_EQ(netlist.nodes[0].guid.value(), 0x500U);
    EXPECT_EQ(netlist.nodes[1].guid.value(), 0x510U);
    EXPECT_EQ(netlist.nodes[1].ports[1].peer_node, 0U);
    EXPECT_EQ(netlist.nodes[1].ports[1].peer_port.value(), 4U);
    EXPECT_EQ(netlist.nodes[1].ports[2].peer_port.value(), 3U);
    EXPECT_EQ(netlist.nodes[0].ports[1].speed, LinkSpeed::ddr);
    EXPECT_EQ(netlist.nodes[0].ports[1].width, LinkWidth::x1);
    EXPECT_EQ(netlist.link_count(), 3U);
}

TEST(TextNetlist, MirrorsACableThatOneEndStates) {
    const Netlist netlist =
        parse("Hca 1 \"a\"\n[1] \"b\"[2] # lid 3 lmc 0 \"b\" lid 4 12xEDR\nHca 2 \"b\"\n");
    EXPECT_EQ(netlist.nodes[1].ports[2].peer_node, 0U);
    EXPECT_EQ(netlist.nodes[1].ports[2].speed, LinkSpeed::edr);
    EXPECT_EQ(netlist.nodes[1].ports[2].width, LinkWidth::x12);
    EXPECT_TRUE(warns(netlist, "t:2: only this end"));
}

TEST(TextNetlist, LeavesOutCablesToNodesThatAreNotDescribed) {
    const Netlist netlist = parse("Hca 1 \"a\"\n[1] \"gone\"[2]\n");
    EXPECT_EQ(netlist.link_count(), 0U);
    EXPECT_TRUE(warns(netlist, "t:2: \"gone\" is not described"));
}

TEST(TextNetlist, RefusesContradictionsWithBothLines) {
    const std::string ends = parse_failure(
        "Switch 2 \"a\"\n[1] \"b\"[1]\nSwitch 2 \"b\"\n[1] \"c\"[1]\nSwitch 2 \"c\"\n[1] \"b\"[1]\n");
    EXPECT_TRUE(ends.starts_with("t:2: ")) << ends;
    EXPECT_NE(ends.find("line 4"), std::string::npos) << ends;
    const std::string port = parse_failure("Switch 3 \"a\"\n[1] \"a\"[2]\n[1] \"a\"[3]\n");
    EXPECT_TRUE(port.starts_with("t:3: ")) << port;
    EXPECT_NE(port.find("line 2"), std::string::npos) << port;
    const std::string guid = parse_failure("caguid=0x7\nCa 1 \"a\"\ncaguid=0x7\nCa 1 \"b\"\n");
    EXPECT_TRUE(guid.starts_with("t:4: ")) << guid;
    EXPECT_NE(guid.find("line 2"), std::string::npos) << guid;
    const std::string name = parse_failure("Hca 1 \"a\"\nHca 1 \"a\"\n");
    EXPECT_NE(name.find("line 1"), std::string::npos) << name;
}

TEST(TextNetlist, RefusesWhatItCannotRead) {
    EXPECT_TRUE(parse_failure("Hca 1 \"a\"\n[2] \"a\"[1]\n").starts_with("t:2: "));
    EXPECT_TRUE(parse_failure("Hca 1 \"a\"\n[1] \"a\"[2]\n").starts_with("t:2: "));
    EXPECT_TRUE(parse_failure("Hca 1 \"a\"\n[1] \"a\"[0]\n").starts_with("t:2: "));
    EXPECT_TRUE(parse_failure("Hca 1 \"a\"\n[1 \"a\"[1]\n").starts_with("t:2: "));
    EXPECT_TRUE(parse_failure("Hca 1 \"a\"\n[1] a\n").starts_with("t:2: "));
    EXPECT_TRUE(parse_failure("Hca 1 \"a\"\n[1](2 \"a\"[1]\n").starts_with("t:2: "));
    EXPECT_TRUE(parse_failure("[1] \"a\"[1]\nHca 1 \"a\"\n").starts_with("t:1: "));
    EXPECT_TRUE(parse_failure("Hca 1 \"a\"\nSwitch 255 \"b\"\n").starts_with("t:2: "));
    EXPECT_TRUE(parse_failure("Hca 1 \"a\"\nSwitch 3 \"b\n").starts_with("t:2: "));
    EXPECT_TRUE(parse_failure("Hca 1 \"a\"\nHca 1 \"a\x0f\"\n").starts_with("t:2: "));
    EXPECT_TRUE(parse_failure("Hca 1 \"a\"\ncaguid=0xxyz\n").starts_with("t:2: "));
    EXPECT_TRUE(parse_failure("Hca 1 \"a\"\ninclude \"other\"\n").starts_with("t:2: "));
}

TEST(TextNetlist, TakesBadLidsAsNone) {
    const Netlist netlist = parse(
        "Switch 4 \"a\" # \"a\" base port 0 lid  lmc 0\nSwitch 4 \"b\" # \"b\" base port 0 lid 65335 lmc 0\n"
        "Switch 4 \"c\" # \"c\" base port 0 lid -4 lmc 0\nSwitch 4 \"d\" # \"d\" base port 0 lid 5 lmc 2\n"
        "Switch 4 \"e\" # \"e\" base port 0 lid 0 lmc 0\nSwitch 4 \"f\" # \"f\" base port 0 lid 49151 lmc 0\n"
        "Hca 1 \"h\"\n[1] \"f\"[1] # lid 6 lmc 0 \"f\" lid 61111 4xSDR\n");
    for (std::size_t i = 0; i < 5; ++i) {
        EXPECT_EQ(netlist.nodes[i].ports[0].lids.base, mad::kLidNone) << i;
    }
    EXPECT_EQ(netlist.nodes[5].ports[0].lids.base.value(), 49151U);
    for (const char* line : {"t:1:", "t:2:", "t:3:", "t:4:", "t:8: a LID"}) {
        EXPECT_TRUE(warns(netlist, line)) << line;
    }
    EXPECT_FALSE(warns(netlist, "t:5:"));
}

TEST(TextNetlist, WarnsOfRatesItDoesNotKnow) {
    const Netlist netlist = parse(
        "Switch 4 \"a\"\n[1] \"b\"[1] # \"b\" lid 1 4x ???\n[2] \"b\"[2] # \"b\" lid 1 4xHDR\n[3] \"b\"[3] "
        "4xDDR\n"
        "Switch 4 \"b\"\n[1] \"a\"[1]\n[2] \"a\"[2] # \"a\" lid 2 4xEDR\n[3] \"a\"[3]\n");
    EXPECT_EQ(netlist.nodes[0].ports[1].speed, LinkSpeed::sdr);
    EXPECT_TRUE(warns(netlist, "t:2: link rate"));
    EXPECT_EQ(netlist.nodes[0].ports[2].speed, LinkSpeed::edr) << "the slower of two statements";
    EXPECT_EQ(netlist.nodes[1].ports[2].speed, LinkSpeed::edr);
    EXPECT_TRUE(warns(netlist, "t:3: \"a\"[2] says HDR"));
    EXPECT_EQ(netlist.nodes[1].ports[3].speed, LinkSpeed::ddr);
}

TEST(TextNetlist, BoundsWarningsAndDescriptions) {
    std::string text = "Hca 1 \"a\" # \"" + std::string(100, 'x') + "\"\n";
    for (int i = 0; i < 1000; ++i) {
        text += "noise\n";
    }
    const Netlist netlist = parse(text);
    EXPECT_EQ(netlist.nodes[0].description.size(), 64U);
    EXPECT_EQ(netlist.warnings.size(), 201U);
    EXPECT_TRUE(warns(netlist, "and 801 more warnings"));
}

TEST(TextNetlist, BoundsPorts) {
    std::string text;
    for (int i = 0; i < 9000; ++i) {
        text += "Switch 254 \"s" + std::to_string(i) + "\"\n";
    }
    EXPECT_NE(parse_failure(text).find("no InfiniBand subnet is that large"), std::string::npos);
}

}  // namespace
}  // namespace ibf::routing
