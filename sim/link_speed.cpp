#include "sim/link_speed.hpp"

#include <array>

#include "mad/speeds_beyond.hpp"

namespace ibf::sim {
namespace {

using mad::LinkSpeed;
using mad::LinkWidth;

/// One speed's bit in each of the three field groups.
struct SpeedBits {
    LinkSpeed speed;
    std::uint8_t base;
    std::uint8_t extended;
    std::uint8_t extended2;
};
constexpr std::array<SpeedBits, 9> kSpeeds{{
    {LinkSpeed::sdr, 1, 0, 0},
    {LinkSpeed::ddr, 2, 0, 0},
    {LinkSpeed::qdr, 4, 0, 0},
    {LinkSpeed::fdr10, 4, 0, 0},
    {LinkSpeed::fdr, 4, mad::kSpeedExtFdr, 0},
    {LinkSpeed::edr, 4, mad::kSpeedExtEdr, 0},
    {LinkSpeed::hdr, 4, mad::kSpeedExtHdr, 0},
    {LinkSpeed::ndr, 4, mad::kSpeedExtNdr, 0},
    {LinkSpeed::xdr, 4, 0, mad::kSpeedExt2Xdr},
}};

bool enabled(const mad::PortInfo& info, const SpeedBits& bits) {
    if (bits.extended2 != 0) {
        return (info.speed_ext2_enabled & bits.extended2) != 0;
    }
    if (bits.extended != 0) {
        return (info.speed_ext_enabled & bits.extended) != 0;
    }
    return (info.speed_enabled & bits.base) != 0;
}

}  // namespace

void set_supported_speeds(mad::PortInfo& info, LinkSpeed speed) {
    info.speed_supported = info.speed_ext_supported = info.speed_ext2_supported = 0;
    for (const SpeedBits& bits : kSpeeds) {
        if (bits.speed <= speed) {
            info.speed_supported |= bits.base;
            info.speed_ext_supported |= bits.extended;
            info.speed_ext2_supported |= bits.extended2;
        }
    }
}

void set_active(mad::PortInfo& info, LinkWidth width, LinkSpeed speed) {
    info.width_active = width;
    info.fdr10_active = speed == LinkSpeed::fdr10;
    for (const SpeedBits& bits : kSpeeds) {
        if (bits.speed == speed) {
            info.speed_active = bits.base;
            info.speed_ext_active = bits.extended;
            info.speed_ext2_active = bits.extended2;
        }
    }
}

void set_inactive(mad::PortInfo& info) {
    set_active(info, LinkWidth::x4, LinkSpeed::sdr);
}

void hide_extended_speeds(mad::PortInfo& info) {
    info.speed_ext_active = info.speed_ext_supported = info.speed_ext_enabled = 0;
    info.speed_ext2_active = info.speed_ext2_supported = info.speed_ext2_enabled = 0;
}

LinkSpeed negotiate_speed(const mad::PortInfo& a, const mad::PortInfo& b, LinkSpeed cable) {
    LinkSpeed best = LinkSpeed::sdr;
    for (const SpeedBits& bits : kSpeeds) {
        // FDR10 shares QDR's bit: only a cable said to run FDR10 does.
        const bool possible = bits.speed <= cable && (bits.speed != LinkSpeed::fdr10 || cable == bits.speed);
        if (possible && enabled(a, bits) && enabled(b, bits)) {
            best = bits.speed;
        }
    }
    return best;
}

LinkWidth negotiate_width(const mad::PortInfo& a, const mad::PortInfo& b, LinkWidth cable) {
    constexpr std::array kWidths{LinkWidth::x1, LinkWidth::x2, LinkWidth::x4, LinkWidth::x8, LinkWidth::x12};
    const unsigned common = static_cast<unsigned>(a.width_enabled) & b.width_enabled;
    LinkWidth best = LinkWidth::x1;
    for (const LinkWidth width : kWidths) {
        if ((common & static_cast<unsigned>(width)) != 0 &&
            mad::width_lanes(width) <= mad::width_lanes(cable)) {
            best = width;
        }
    }
    return best;
}

}  // namespace ibf::sim
