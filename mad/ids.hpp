// DOC: InfiniBand's vocabulary.
//
// Names and numbers of the InfiniBand Architecture Specification, volume 1 (IBA): strong identifiers, state
// and attribute enums. Host order throughout. No codec and no I/O here; every layer above may include this.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/strong.hpp"

namespace ibf::mad {

using Lid = base::StrongInt<struct LidTag, std::uint16_t>;  ///< 0 none, 0x0001-0xBFFF unicast
using Mlid = base::StrongInt<struct MlidTag, std::uint16_t, base::Radix::hexadecimal>;  ///< 0xC000-0xFFFE
using Guid =
    base::StrongInt<struct GuidTag, std::uint64_t, base::Radix::hexadecimal>;  ///< EUI-64; 0 is illegal
using PortNum = base::StrongInt<struct PortNumTag, std::uint8_t>;  ///< 0 = switch management port, 255 = none
using PKey =
    base::StrongInt<struct PKeyTag, std::uint16_t, base::Radix::hexadecimal>;  ///< bit 15: full member
using MKey = base::StrongInt<struct MKeyTag, std::uint64_t, base::Radix::hexadecimal>;
using SmKey = base::StrongInt<struct SmKeyTag, std::uint64_t, base::Radix::hexadecimal>;
using Tid = base::StrongInt<struct TidTag, std::uint32_t,
                            base::Radix::hexadecimal>;   ///< low half; umad owns the upper
using Sl = base::StrongInt<struct SlTag, std::uint8_t>;  ///< 0-15
using Vl = base::StrongInt<struct VlTag, std::uint8_t>;  ///< 0-14 data, 15 management

inline constexpr Lid kLidNone{0};
inline constexpr Lid kLidPermissive{0xFFFF};
inline constexpr std::uint16_t kLidUnicastMax = 0xBFFF;  ///< IBA 4.1.3
inline constexpr std::uint8_t kLftDrop = 255;            ///< LFT entry that discards (IBA 14.2.5.10)
inline constexpr unsigned kLftBlockEntries = 64;
inline constexpr std::uint8_t kHopsMax = 63;  ///< directed-route hops (IBA 14.2.1.2)
inline constexpr PKey kPKeyDefaultFull{0xFFFF};
inline constexpr PKey kPKeyDefaultLimited{0x7FFF};

/// base .. base + 2^lmc - 1; lmc 0..7; base is a multiple of 2^lmc (IBA 7.11.1). base 0 = no LID.
struct LidRange {
    Lid base{};
    std::uint8_t lmc = 0;

    [[nodiscard]] constexpr std::uint32_t count() const { return base == kLidNone ? 0U : 1U << lmc; }
    [[nodiscard]] constexpr std::uint32_t end() const {
        return base.value() + count();
    }  ///< one past the last
    [[nodiscard]] constexpr bool contains(Lid lid) const { return lid >= base && lid.value() < end(); }
    constexpr auto operator<=>(const LidRange&) const = default;
};

struct Gid {
    std::uint64_t prefix = 0;
    Guid interface_id{};
    constexpr auto operator<=>(const Gid&) const = default;
};

enum class NodeType : std::uint8_t { ca = 1, switch_ = 2, router = 3 };
enum class PortState : std::uint8_t { no_change = 0, down = 1, init = 2, armed = 3, active = 4 };
enum class PhysState : std::uint8_t {
    no_change = 0,
    sleep = 1,
    polling = 2,
    disabled = 3,
    training = 4,
    link_up = 5,
    error_recovery = 6,
    test = 7
};
/// MTU codes of PortInfo and SA records; the value is the code, not the bytes.
enum class Mtu : std::uint8_t { none = 0, b256 = 1, b512 = 2, b1024 = 3, b2048 = 4, b4096 = 5 };
/// LinkWidthActive; one bit each, 2x is 16 (IBA 1.4).
enum class LinkWidth : std::uint8_t { none = 0, x1 = 1, x4 = 2, x8 = 4, x12 = 8, x2 = 16 };
/// The speed of one lane, folded from LinkSpeedActive, LinkSpeedExtActive, LinkSpeedExtActive2 and the
/// vendor's FDR10 bit; ordered from slow to fast.
enum class LinkSpeed : std::uint8_t { none = 0, sdr, ddr, qdr, fdr10, fdr, edr, hdr, ndr, xdr };
enum class SmState : std::uint8_t { not_active = 0, discovering = 1, standby = 2, master = 3 };

[[nodiscard]] unsigned mtu_bytes(Mtu mtu);            ///< 0 for none
[[nodiscard]] Mtu mtu_from_bytes(unsigned bytes);     ///< none if not an IB MTU
[[nodiscard]] unsigned width_lanes(LinkWidth width);  ///< 0 for none
[[nodiscard]] LinkWidth width_from_lanes(unsigned lanes);
/// Signalling rate of one lane in Mb/s: SDR 2500 ... NDR 106250, XDR 212500.
[[nodiscard]] unsigned lane_mbps(LinkSpeed speed);
/// Nominal link rate in Gb/s as operators say it: 4x NDR = 400, 4x QDR = 40, 1x SDR = 2.5.
[[nodiscard]] double link_gbps(LinkWidth width, LinkSpeed speed);

[[nodiscard]] std::string_view to_string(NodeType type);    ///< "CA", "Switch", "Router"
[[nodiscard]] std::string_view to_string(PortState state);  ///< "Down", "Init", "Armed", "Active"
[[nodiscard]] std::string_view to_string(PhysState state);
[[nodiscard]] std::string_view to_string(LinkWidth width);  ///< "4x"
[[nodiscard]] std::string_view to_string(LinkSpeed speed);  ///< "NDR"
[[nodiscard]] std::string_view to_string(SmState state);
[[nodiscard]] LinkSpeed speed_from_string(std::string_view name);  ///< "NDR", "FDR10"; none if unknown

/// "0x0002c9..." or bare hex, up to 16 digits.
[[nodiscard]] base::Result<Guid> parse_guid(std::string_view text);

/// "ff12:401b:ffff:0:0:0:ffff:ffff": all eight groups, so that equal GIDs are equal texts.
[[nodiscard]] std::string to_string(const Gid& gid);
/// As written above, or as IPv6 addresses are ("ff12:401b:ffff::ffff:ffff").
[[nodiscard]] base::Result<Gid> parse_gid(std::string_view text);

/// A directed route: ports[0] is unused (0), ports[1..hops] are the exit ports, starting at the SM's node.
struct DrPath {
    std::uint8_t hops = 0;
    std::array<std::uint8_t, 64> ports{};

    [[nodiscard]] bool operator==(const DrPath& other) const {
        return hops == other.hops && std::equal(ports.begin(), ports.begin() + hops + 1, other.ports.begin());
    }
    /// This path plus one exit port. Requires hops < kHopsMax.
    [[nodiscard]] DrPath then(PortNum exit) const;
    [[nodiscard]] std::string to_string() const;  ///< "0,1,18,3"
};

}  // namespace ibf::mad
