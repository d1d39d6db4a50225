// What a link could run at: what both ends support and have enabled, of every generation of fields.
#include "mad/link_rate.hpp"

#include <gtest/gtest.h>

#include "mad/speeds_beyond.hpp"

namespace ibf::mad {
namespace {

/// An active 4x port that can do everything up to NDR, and runs so.
PortInfo ndr_port() {
    PortInfo info;
    info.phys_state = PhysState::link_up;
    info.capability_mask = 0x0000C000;  // extended speeds, CapabilityMask2
    info.width_supported = 0x3;         // 1x, 4x
    info.width_enabled = 0x3;
    info.width_active = LinkWidth::x4;
    info.speed_supported = info.speed_enabled = 7;
    info.speed_ext_supported = info.speed_ext_enabled = 15;
    info.speed_active = 4;
    info.speed_ext_active = kSpeedExtNdr;
    return info;
}

constexpr LinkRate kNdr{LinkWidth::x4, LinkSpeed::ndr};

TEST(LinkRate, TheBestOfBothEnds) {
    const PortInfo ndr = ndr_port();
    EXPECT_EQ(running_rate(ndr), kNdr);
    EXPECT_EQ(possible_rate(ndr, ndr), kNdr);
    PortInfo hdr = ndr;
    hdr.speed_ext_supported = 7;
    EXPECT_EQ(possible_rate(ndr, hdr), (LinkRate{LinkWidth::x4, LinkSpeed::hdr}));
    PortInfo wide = ndr;
    wide.width_supported = 0xF;
    wide.width_enabled = 255;
    EXPECT_EQ(possible_rate(wide, wide), (LinkRate{LinkWidth::x12, LinkSpeed::ndr}));
    EXPECT_EQ(possible_rate(wide, ndr), kNdr) << "12x at one end only";
    EXPECT_EQ(to_string(kNdr), "4x NDR");
    EXPECT_EQ(kNdr.mbps(), 425'000U);
}

TEST(LinkRate, WhatIsDisabledOnPurposeIsNotHeldAgainstALink) {
    const PortInfo ndr = ndr_port();
    PortInfo slowed = ndr;
    slowed.speed_ext_enabled = kSpeedExtFdr | kSpeedExtEdr;
    EXPECT_EQ(possible_rate(ndr, slowed).speed, LinkSpeed::edr);
    slowed.speed_ext_enabled = 30;  // extended speeds off
    EXPECT_EQ(possible_rate(ndr, slowed).speed, LinkSpeed::qdr);
    slowed.speed_enabled = 1;
    EXPECT_EQ(possible_rate(ndr, slowed).speed, LinkSpeed::sdr);
    PortInfo narrow = ndr;
    narrow.width_enabled = 1;
    EXPECT_EQ(possible_rate(narrow, ndr).width, LinkWidth::x1);
    for (const std::uint8_t nothing_said : {std::uint8_t{0}, std::uint8_t{31}}) {
        slowed = ndr;
        slowed.speed_ext_enabled = nothing_said;
        EXPECT_EQ(possible_rate(ndr, slowed), kNdr) << unsigned{nothing_said};
    }
}

TEST(LinkRate, NewerFieldsCountOnlyWhereTheyAreVouchedFor) {
    PortInfo old = ndr_port();
    old.capability_mask = 0;
    EXPECT_EQ(possible_rate(old, old).speed, LinkSpeed::qdr);
    PortInfo xdr = ndr_port();
    xdr.speed_ext2_supported = xdr.speed_ext2_enabled = kSpeedExt2Xdr;
    EXPECT_EQ(possible_rate(xdr, xdr).speed, LinkSpeed::ndr);
    xdr.capability_mask2 = kCapMask2Xdr;
    EXPECT_EQ(possible_rate(xdr, xdr).speed, LinkSpeed::xdr);
}

TEST(LinkRate, BelowIsFewerLanesOrSlowerOnes) {
    EXPECT_FALSE(is_below(kNdr, kNdr));
    EXPECT_TRUE(is_below({LinkWidth::x4, LinkSpeed::hdr}, kNdr));
    EXPECT_TRUE(is_below({LinkWidth::x1, LinkSpeed::ndr}, kNdr));
    EXPECT_TRUE(is_below({LinkWidth::x2, LinkSpeed::ndr}, kNdr)) << "2x has the highest code";
    EXPECT_FALSE(is_below({LinkWidth::x12, LinkSpeed::ndr}, kNdr));
    EXPECT_FALSE(is_below({}, kNdr)) << "no link";
    EXPECT_FALSE(is_below(kNdr, {})) << "nothing is said of what it could";
}

}  // namespace
}  // namespace ibf::mad
