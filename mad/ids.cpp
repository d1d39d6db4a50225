#include "mad/ids.hpp"

#include <arpa/inet.h>

#include <charconv>
#include <utility>

#include "base/check.hpp"

namespace ibf::mad {
namespace {

struct SpeedRow {
    LinkSpeed speed;
    std::string_view name;
    unsigned lane_mbps;
    double nominal_gbps;
};

// Signalling rates: IBA 5.7 tables; NDR and XDR from the IBTA roadmap (106.25 and 212.5 Gb/s a lane).
constexpr std::array<SpeedRow, 10> kSpeeds{{
    {LinkSpeed::none, "none", 0, 0},
    {LinkSpeed::sdr, "SDR", 2500, 2.5},
    {LinkSpeed::ddr, "DDR", 5000, 5},
    {LinkSpeed::qdr, "QDR", 10000, 10},
    {LinkSpeed::fdr10, "FDR10", 10312, 10},
    {LinkSpeed::fdr, "FDR", 14062, 14},
    {LinkSpeed::edr, "EDR", 25781, 25},
    {LinkSpeed::hdr, "HDR", 53125, 50},
    {LinkSpeed::ndr, "NDR", 106250, 100},
    {LinkSpeed::xdr, "XDR", 212500, 200},
}};

const SpeedRow& speed_row(LinkSpeed speed) {
    return kSpeeds[static_cast<std::size_t>(speed)];
}

}  // namespace

unsigned mtu_bytes(Mtu mtu) {
    const auto code = static_cast<unsigned>(mtu);
    return code >= 1 && code <= 5 ? 128U << code : 0U;
}

Mtu mtu_from_bytes(unsigned bytes) {
    for (unsigned code = 1; code <= 5; ++code) {
        if (bytes == 128U << code) {
            return static_cast<Mtu>(code);
        }
    }
    return Mtu::none;
}

unsigned width_lanes(LinkWidth width) {
    switch (width) {
        case LinkWidth::x1: return 1;
        case LinkWidth::x2: return 2;
        case LinkWidth::x4: return 4;
        case LinkWidth::x8: return 8;
        case LinkWidth::x12: return 12;
        case LinkWidth::none: return 0;
    }
    return 0;
}

LinkWidth width_from_lanes(unsigned lanes) {
    for (const LinkWidth width :
         {LinkWidth::x1, LinkWidth::x2, LinkWidth::x4, LinkWidth::x8, LinkWidth::x12}) {
        if (width_lanes(width) == lanes) {
            return width;
        }
    }
    return LinkWidth::none;
}

unsigned lane_mbps(LinkSpeed speed) {
    return speed_row(speed).lane_mbps;
}

double link_gbps(LinkWidth width, LinkSpeed speed) {
    return speed_row(speed).nominal_gbps * width_lanes(width);
}

std::string_view to_string(NodeType type) {
    switch (type) {
        case NodeType::ca: return "CA";
        case NodeType::switch_: return "Switch";
        case NodeType::router: return "Router";
    }
    return "unknown";
}

std::string_view to_string(PortState state) {
    constexpr std::array<std::string_view, 5> kNames{"NoChange", "Down", "Init", "Armed", "Active"};
    const auto index = static_cast<std::size_t>(state);
    return index < kNames.size() ? kNames[index] : "unknown";
}

std::string_view to_string(PhysState state) {
    constexpr std::array<std::string_view, 8> kNames{"NoChange", "Sleep",  "Polling",           "Disabled",
                                                     "Training", "LinkUp", "LinkErrorRecovery", "PhyTest"};
    const auto index = static_cast<std::size_t>(state);
    return index < kNames.size() ? kNames[index] : "unknown";
}

std::string_view to_string(LinkWidth width) {
    switch (width) {
        case LinkWidth::x1: return "1x";
        case LinkWidth::x2: return "2x";
        case LinkWidth::x4: return "4x";
        case LinkWidth::x8: return "8x";
        case LinkWidth::x12: return "12x";
        case LinkWidth::none: return "none";
    }
    return "none";
}

std::string_view to_string(LinkSpeed speed) {
    return speed_row(speed).name;
}

std::string_view to_string(SmState state) {
    constexpr std::array<std::string_view, 4> kNames{"not-active", "discovering", "standby", "master"};
    const auto index = static_cast<std::size_t>(state);
    return index < kNames.size() ? kNames[index] : "unknown";
}

LinkSpeed speed_from_string(std::string_view name) {
    for (const SpeedRow& row : kSpeeds) {
        if (row.name == name) {
            return row.speed;
        }
    }
    return LinkSpeed::none;
}

base::Result<Guid> parse_guid(std::string_view text) {
    std::string_view digits = text;
    if (digits.starts_with("0x") || digits.starts_with("0X")) {
        digits.remove_prefix(2);
    }
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size()) {
        return base::fail(
            base::ErrorKind::parse,
            fmt::format("'{}' is not a GUID: expected up to 16 hex digits, like 0x0002c90300a1b2c3", text));
    }
    return Guid{value};
}

std::string to_string(const Gid& gid) {
    std::string text;
    for (const std::uint64_t half : {gid.prefix, gid.interface_id.value()}) {
        for (unsigned i = 0; i < 4; ++i) {
            text += fmt::format("{}{:x}", text.empty() ? "" : ":", (half >> (48U - 16U * i)) & 0xFFFFU);
        }
    }
    return text;
}

base::Result<Gid> parse_gid(std::string_view text) {
    in6_addr address{};
    if (::inet_pton(AF_INET6, std::string(text).c_str(), &address) != 1 ||
        text.find('\0') != std::string_view::npos) {
        return base::fail(
            base::ErrorKind::parse,
            fmt::format("'{}' is not a GID: expected hex groups as in ff12:401b:ffff::ffff:ffff", text));
    }
    std::array<std::uint64_t, 2> halves{};
    for (std::size_t i = 0; i < sizeof address.s6_addr; ++i) {
        halves[i / 8] = halves[i / 8] << 8U | address.s6_addr[i];
    }
    return Gid{halves[0], Guid{halves[1]}};
}

DrPath DrPath::then(PortNum exit) const {
    IBF_CHECK(hops < kHopsMax, "directed route longer than {} hops", kHopsMax);
    DrPath longer = *this;
    longer.ports[++longer.hops] = exit.value();
    return longer;
}

std::string DrPath::to_string() const {
    std::string text = "0";
    for (unsigned i = 1; i <= hops; ++i) {
        text += fmt::format(",{}", ports[i]);
    }
    return text;
}

}  // namespace ibf::mad
