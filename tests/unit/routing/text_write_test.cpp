#include <gtest/gtest.h>

#include <filesystem>

#include "routing/netlist.hpp"

namespace ibf::routing {
namespace {

void expect_same(const Netlist& is, const Netlist& was) {
    ASSERT_EQ(is.nodes.size(), was.nodes.size());
    for (std::size_t i = 0; i < was.nodes.size(); ++i) {
        const NetlistNode& a = is.nodes[i];
        const NetlistNode& b = was.nodes[i];
        EXPECT_EQ(a.type, b.type);
        EXPECT_EQ(a.guid, b.guid);
        EXPECT_EQ(a.system_guid, b.system_guid);
        EXPECT_EQ(a.id, b.id);
        EXPECT_EQ(a.description, b.description);
        EXPECT_EQ(a.vendor_id, b.vendor_id);
        EXPECT_EQ(a.device_id, b.device_id);
        EXPECT_EQ(a.enhanced_port0, b.enhanced_port0);
        ASSERT_EQ(a.ports.size(), b.ports.size());
        for (std::size_t port = 0; port < b.ports.size(); ++port) {
            EXPECT_EQ(a.ports[port].peer_node, b.ports[port].peer_node);
            EXPECT_EQ(a.ports[port].peer_port, b.ports[port].peer_port);
            EXPECT_EQ(a.ports[port].width, b.ports[port].width);
            EXPECT_EQ(a.ports[port].speed, b.ports[port].speed);
            EXPECT_EQ(a.ports[port].guid, b.ports[port].guid);
            EXPECT_EQ(a.ports[port].lids, b.ports[port].lids);
        }
    }
}

TEST(TextWrite, IbsimTextReadsBackTheSame) {
    for (const char* spec :
         {"fat-tree:radix=8,levels=3,missing-links=0.2", "torus:3x4,speed=XDR,width=2",
          "hyperx:3x3,parallel=2,speed=FDR10", "back-to-back:speed=SDR,width=1", "single:3"}) {
        const auto netlist = generate_netlist(spec);
        ASSERT_TRUE(netlist);
        const auto again = parse_netlist(to_ibsim_text(*netlist), "again");
        ASSERT_TRUE(again) << again.error().message;
        EXPECT_TRUE(again->warnings.empty()) << again->warnings.front();
        expect_same(*again, *netlist);
    }
}

constexpr const char* kOdd =
    "vendid=0x1\ndevid=0x2\nsysimgguid=0x9\nswitchguid=0x10\n"
    "Switch 6 \"core (1)\" # \" odd = name  \" enhanced port 0 lid 8 lmc 2\n"
    "[1] \"core (1)\"[2] # \"\" lid 8 4xQDR\n[2] \"core (1)\"[1] # \"\" lid 8 4xQDR\n"
    "[3] \"h\"[2] # \"\" lid 4 1xDDR\n[6] \"r\"[1] # \"\" lid 5 8xHDR\n"
    "caguid=0x20\nHca 2 \"h\" # \"w=3 s=9\"\n[2](99) \"core (1)\"[3] # lid 4 lmc 2 \"\" lid 8 1xDDR\n"
    "rtguid=0x30\nRt 1 \"r\"\n[1] \"core (1)\"[6] # lid 5 lmc 0 \"\" lid 8 8xHDR\n";

TEST(TextWrite, KeepsRoutersSelfCablesLidsAndOddNames) {
    const auto netlist = parse_netlist(kOdd, "odd");
    ASSERT_TRUE(netlist) << netlist.error().message;
    ASSERT_EQ(netlist->nodes[0].ports[0].lids, (mad::LidRange{mad::Lid{8}, 2}));
    ASSERT_EQ(netlist->nodes[2].type, mad::NodeType::router);
    const auto again = parse_netlist(to_ibsim_text(*netlist), "again");
    ASSERT_TRUE(again) << again.error().message;
    expect_same(*again, *netlist);
}

TEST(TextWrite, IbnetdiscoverTextListsSwitchesFirstUnderCanonicalNames) {
    const auto netlist = parse_netlist(kOdd, "odd");
    ASSERT_TRUE(netlist);
    const std::string text = to_ibnetdiscover_text(*netlist);
    EXPECT_NE(
        text.find("switchguid=0x10(10)\n"
                  "Switch\t6 \"S-0000000000000010\"\t\t# \" odd = name  \" enhanced port 0 lid 8 lmc 2\n"
                  "[1]\t\"S-0000000000000010\"[2]\t\t# \" odd = name  \" lid 8 4xQDR\n"),
        std::string::npos)
        << text;
    EXPECT_NE(text.find("[3]\t\"H-0000000000000020\"[2](99) \t\t# \"w=3 s=9\" lid 4 1xDDR\n"),
              std::string::npos)
        << text;
    EXPECT_NE(
        text.find("[2](99) \t\"S-0000000000000010\"[3]\t\t# lid 4 lmc 2 \" odd = name  \" lid 8 1xDDR\n"),
        std::string::npos)
        << text;
    EXPECT_LT(text.find("Switch\t"), text.find("Ca\t"));
    EXPECT_LT(text.find("Ca\t"), text.find("Rt\t"));
    const auto again = parse_netlist(text, "again");
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->link_count(), netlist->link_count());
    EXPECT_EQ(again->nodes[0].description, " odd = name  ");
}

TEST(TextWrite, QuotesAndControlCharactersCannotBreakALine) {
    auto netlist = generate_netlist("back-to-back");
    ASSERT_TRUE(netlist);
    netlist->nodes[0].description = "a\"\n[9] \"x\"[9]";
    netlist->nodes[1].id.clear();
    for (const std::string& text : {to_ibsim_text(*netlist), to_ibnetdiscover_text(*netlist)}) {
        const auto again = parse_netlist(text, "again");
        ASSERT_TRUE(again) << again.error().message;
        EXPECT_EQ(again->nodes.size(), 2U);
        EXPECT_EQ(again->nodes[0].description, "a' [9] 'x'[9]");
        EXPECT_EQ(again->link_count(), 1U);
    }
}

}  // namespace
}  // namespace ibf::routing
