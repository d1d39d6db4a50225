#include "mad/ids.hpp"

#include <gtest/gtest.h>

namespace ibf::mad {
namespace {

TEST(Ids, LidRange) {
    constexpr LidRange kFour{.base = Lid{8}, .lmc = 2};
    static_assert(kFour.count() == 4);
    static_assert(kFour.contains(Lid{8}) && kFour.contains(Lid{11}));
    static_assert(!kFour.contains(Lid{7}) && !kFour.contains(Lid{12}));
    constexpr LidRange kNobody{.base = kLidNone, .lmc = 7};
    static_assert(kNobody.count() == 0);
    EXPECT_FALSE(kNobody.contains(kLidNone));
}

TEST(Ids, MtuCodes) {
    for (const unsigned bytes : {256U, 512U, 1024U, 2048U, 4096U}) {
        EXPECT_EQ(mtu_bytes(mtu_from_bytes(bytes)), bytes);
    }
    EXPECT_EQ(mtu_from_bytes(1500), Mtu::none);
    EXPECT_EQ(mtu_from_bytes(0), Mtu::none);
    EXPECT_EQ(mtu_bytes(Mtu::none), 0U);
    EXPECT_EQ(mtu_bytes(static_cast<Mtu>(15)), 0U);
}

TEST(Ids, Widths) {
    for (const unsigned lanes : {1U, 2U, 4U, 8U, 12U}) {
        EXPECT_EQ(width_lanes(width_from_lanes(lanes)), lanes);
    }
    EXPECT_EQ(width_from_lanes(3), LinkWidth::none);
    EXPECT_EQ(width_lanes(static_cast<LinkWidth>(255)), 0U);
    EXPECT_EQ(to_string(LinkWidth::x2), "2x");
}

TEST(Ids, Speeds) {
    for (const LinkSpeed speed :
         {LinkSpeed::sdr, LinkSpeed::ddr, LinkSpeed::qdr, LinkSpeed::fdr10, LinkSpeed::fdr, LinkSpeed::edr,
          LinkSpeed::hdr, LinkSpeed::ndr, LinkSpeed::xdr}) {
        EXPECT_EQ(speed_from_string(to_string(speed)), speed);
        EXPECT_GT(lane_mbps(speed), 0U);
    }
    EXPECT_EQ(speed_from_string("warp"), LinkSpeed::none);
    EXPECT_DOUBLE_EQ(link_gbps(LinkWidth::x4, LinkSpeed::ndr), 400);
    EXPECT_DOUBLE_EQ(link_gbps(LinkWidth::x4, LinkSpeed::qdr), 40);
    EXPECT_DOUBLE_EQ(link_gbps(LinkWidth::x1, LinkSpeed::sdr), 2.5);
    EXPECT_DOUBLE_EQ(link_gbps(LinkWidth::none, LinkSpeed::xdr), 0);
}

TEST(Ids, NamesOfNumbersFromTheWire) {
    EXPECT_EQ(to_string(NodeType::switch_), "Switch");
    EXPECT_EQ(to_string(static_cast<NodeType>(9)), "unknown");
    EXPECT_EQ(to_string(PortState::armed), "Armed");
    EXPECT_EQ(to_string(static_cast<PortState>(15)), "unknown");
    EXPECT_EQ(to_string(PhysState::link_up), "LinkUp");
    EXPECT_EQ(to_string(static_cast<PhysState>(15)), "unknown");
    EXPECT_EQ(to_string(SmState::master), "master");
    EXPECT_EQ(to_string(static_cast<SmState>(15)), "unknown");
}

TEST(Ids, ParseGuid) {
    EXPECT_EQ(parse_guid("0x0002c90300a1b2c3"), Guid{0x0002c90300a1b2c3});
    EXPECT_EQ(parse_guid("ffffffffffffffff"), Guid{0xFFFFFFFFFFFFFFFF});
    EXPECT_EQ(fmt::format("{}", Guid{0x0002c90300a1b2c3}), "0x0002c90300a1b2c3");
    for (const char* wrong : {"", "0x", "0x12 ", "12g4", "-1", "0x1ffffffffffffffff", "0x0x12"}) {
        const auto guid = parse_guid(wrong);
        ASSERT_FALSE(guid.has_value()) << wrong;
        EXPECT_EQ(guid.error().kind, base::ErrorKind::parse);
    }
}

TEST(Ids, Paths) {
    const DrPath path = DrPath{}.then(PortNum{1}).then(PortNum{18}).then(PortNum{3});
    EXPECT_EQ(path.to_string(), "0,1,18,3");
    EXPECT_EQ(DrPath{}.to_string(), "0");
    DrPath same = path;
    same.ports[40] = 7;  // beyond the hops
    EXPECT_EQ(path, same);
    same.hops = 2;
    EXPECT_FALSE(path == same);
}

TEST(IdsDeathTest, APathEndsAtSixtyThreeHops) {
    DrPath path;
    while (path.hops < kHopsMax) {
        path = path.then(PortNum{1});
    }
    EXPECT_DEATH((void)path.then(PortNum{1}), "63 hops");
}

TEST(Ids, GidsAsText) {
    constexpr Gid kBroadcast{0xff12401bffff0000ULL, Guid{0x00000000ffffffffULL}};
    EXPECT_EQ(to_string(kBroadcast), "ff12:401b:ffff:0:0:0:ffff:ffff");
    EXPECT_EQ(parse_gid(to_string(kBroadcast)).value(), kBroadcast);
    EXPECT_EQ(parse_gid("ff12:401b:ffff::ffff:ffff").value(), kBroadcast) << "as saquery writes it";
    EXPECT_EQ(parse_gid("FF12:401B:FFFF:0000:0000:0000:FFFF:FFFF").value(), kBroadcast);
    EXPECT_EQ(parse_gid("::").value(), Gid{});
    for (const std::string_view text :
         {std::string_view{}, std::string_view{"ff12"}, std::string_view{"ff12:401b:ffff:0:0:0:ffff:fffff"},
          std::string_view{"ff12::ffff::1"}, std::string_view{"::\0junk", 7}, std::string_view{"1.2.3.4"}}) {
        EXPECT_FALSE(parse_gid(text)) << text;
    }
}

}  // namespace
}  // namespace ibf::mad
