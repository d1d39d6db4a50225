// Speeds written into the fields of PortInfo and folded back.
#include "sim/link_speed.hpp"

#include <gtest/gtest.h>

#include "sim_bench.hpp"

namespace ibf::sim {
namespace {

using mad::LinkSpeed;
using mad::LinkWidth;

mad::PortInfo able_to(LinkSpeed speed) {
    mad::PortInfo info;
    info.phys_state = mad::PhysState::link_up;
    info.capability_mask = 0x0000C000;  // extended speeds, CapabilityMask2
    info.capability_mask2 = 0x1400;     // NDR, XDR
    set_supported_speeds(info, speed);
    info.speed_enabled = info.speed_supported;
    info.speed_ext_enabled = info.speed_ext_supported;
    info.speed_ext2_enabled = info.speed_ext2_supported;
    info.width_enabled = 3;
    return info;
}

TEST(LinkSpeed, EverySpeedFoldsBack) {
    for (int code = static_cast<int>(LinkSpeed::sdr); code <= static_cast<int>(LinkSpeed::xdr); ++code) {
        const auto speed = static_cast<LinkSpeed>(code);
        mad::PortInfo info = able_to(speed);
        set_active(info, LinkWidth::x4, speed);
        EXPECT_EQ(info.speed(), speed) << code;
        EXPECT_EQ(negotiate_speed(info, info, speed), speed) << code;
        hide_extended_speeds(info);
        EXPECT_LE(info.speed(), LinkSpeed::fdr10) << code;
    }
}

TEST(LinkSpeed, TheSlowestOfBothEndsAndTheCableDecides) {
    const mad::PortInfo fast = able_to(LinkSpeed::ndr);
    EXPECT_EQ(negotiate_speed(fast, able_to(LinkSpeed::edr), LinkSpeed::ndr), LinkSpeed::edr);
    EXPECT_EQ(negotiate_speed(fast, fast, LinkSpeed::hdr), LinkSpeed::hdr);
    mad::PortInfo narrow = fast;
    narrow.width_enabled = 1;
    EXPECT_EQ(negotiate_width(fast, narrow, LinkWidth::x4), LinkWidth::x1);
    EXPECT_EQ(negotiate_width(fast, fast, LinkWidth::x4), LinkWidth::x4);
}

}  // namespace
}  // namespace ibf::sim
