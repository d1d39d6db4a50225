#include "mad/link_rate.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "mad/speeds_beyond.hpp"

namespace ibf::mad {
namespace {

/// What is enabled of what is supported. 0 and all ones tell nothing: "no change" and "all that there is".
unsigned usable(std::uint8_t supported, std::uint8_t enabled, std::uint8_t all) {
    return enabled == 0 || enabled == all ? supported : static_cast<unsigned>(supported) & enabled;
}

constexpr std::uint8_t kWidthsAll = 255;
constexpr std::uint8_t kSpeedsAll = 15;
constexpr std::uint8_t kExtendedAll = 31;
constexpr std::uint8_t kExtendedNone = 30;  ///< LinkSpeedExtEnabled: extended speeds are off
constexpr std::uint8_t kExtended2All = 7;

LinkSpeed fastest(const PortInfo& info) {
    if (info.has_capability_mask2() && (info.capability_mask2 & kCapMask2Xdr) != 0 &&
        (usable(info.speed_ext2_supported, info.speed_ext2_enabled, kExtended2All) & kSpeedExt2Xdr) != 0) {
        return LinkSpeed::xdr;
    }
    if (info.has_extended_speeds() && info.speed_ext_enabled != kExtendedNone) {
        constexpr std::array<std::pair<unsigned, LinkSpeed>, 4> kExtended{{{kSpeedExtNdr, LinkSpeed::ndr},
                                                                           {kSpeedExtHdr, LinkSpeed::hdr},
                                                                           {kSpeedExtEdr, LinkSpeed::edr},
                                                                           {kSpeedExtFdr, LinkSpeed::fdr}}};
        const unsigned bits = usable(info.speed_ext_supported, info.speed_ext_enabled, kExtendedAll);
        for (const auto& [bit, speed] : kExtended) {
            if ((bits & bit) != 0) {
                return speed;
            }
        }
    }
    const unsigned bits = usable(info.speed_supported, info.speed_enabled, kSpeedsAll);
    return (bits & 4U) != 0   ? LinkSpeed::qdr
           : (bits & 2U) != 0 ? LinkSpeed::ddr
           : (bits & 1U) != 0 ? LinkSpeed::sdr
                              : LinkSpeed::none;
}

LinkWidth widest(unsigned bits) {
    LinkWidth best = LinkWidth::none;
    for (const auto width : {LinkWidth::x1, LinkWidth::x2, LinkWidth::x4, LinkWidth::x8, LinkWidth::x12}) {
        best = (bits & static_cast<unsigned>(width)) != 0 ? width : best;
    }
    return best;
}

}  // namespace

std::uint32_t LinkRate::mbps() const {
    return width_lanes(width) * lane_mbps(speed);
}

LinkRate running_rate(const PortInfo& info) {
    return info.linked() ? LinkRate{info.width_active, info.speed()} : LinkRate{};
}

LinkRate possible_rate(const PortInfo& a, const PortInfo& b) {
    return {widest(usable(a.width_supported, a.width_enabled, kWidthsAll) &
                   usable(b.width_supported, b.width_enabled, kWidthsAll)),
            std::min(fastest(a), fastest(b))};
}

bool is_below(const LinkRate& running, const LinkRate& possible) {
    return running.mbps() != 0 &&
           (width_lanes(running.width) < width_lanes(possible.width) || running.speed < possible.speed);
}

std::string to_string(const LinkRate& rate) {
    return fmt::format("{} {}", to_string(rate.width), to_string(rate.speed));
}

}  // namespace ibf::mad
