// DOC: names and addresses of multicast groups (IBA 4.1.1, 4.1.3; RFC 4391).
#pragma once

#include <cstdint>

#include "mad/ids.hpp"

namespace ibf::mad {

inline constexpr std::uint16_t kMlidFirst = 0xC000;
inline constexpr std::uint32_t kMlidsMost = 0x3FFF;  ///< 0xC000..0xFFFE

/// Scopes of an MGID, as IPv6's.
inline constexpr std::uint8_t kScopeLinkLocal = 2;
inline constexpr std::uint8_t kScopeSiteLocal = 5;
inline constexpr std::uint8_t kScopeOrganizationLocal = 8;
inline constexpr std::uint8_t kScopeGlobal = 14;

[[nodiscard]] constexpr std::uint8_t scope_of(Gid mgid) {
    return static_cast<std::uint8_t>((mgid.prefix >> 48U) & 0x0FU);
}
[[nodiscard]] constexpr bool is_multicast(Gid gid) {
    return gid.prefix >> 56U == 0xFFU;
}
/// Whether an SA made the name up for a client that had none: signature 0xA01B (IBA 15.2.5.17.3).
[[nodiscard]] constexpr bool is_sa_made(Gid mgid) {
    return ((mgid.prefix >> 32U) & 0xFFFFU) == 0xA01BU;
}
/// The partition of a P_Key: all but the membership bit.
[[nodiscard]] constexpr std::uint16_t partition_of(PKey pkey) {
    return static_cast<std::uint16_t>(pkey.value() & 0x7FFFU);
}
/// The group that carries a partition's IPv4 broadcasts (RFC 4391, 4): IPv4 signature, full P_Key, all ones.
[[nodiscard]] constexpr Gid ipoib_broadcast(PKey pkey, std::uint8_t scope) {
    return {0xff10401b00000000ULL | std::uint64_t{scope} << 48U |
                std::uint64_t{static_cast<std::uint16_t>(pkey.value() | 0x8000U)} << 16U,
            Guid{0x00000000ffffffffULL}};
}

}  // namespace ibf::mad
