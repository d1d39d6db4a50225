// DOC: link speeds beyond Debian's headers.
//
// iba/ib_types.h (opensm 3.3.23) ends at HDR, libibmad 44 at NDR. What NDR and XDR add to PortInfo is here
// and nowhere else, each with its public source. IBA volume 1, 14.2.5.6.
#pragma once

#include <cstdint>

#include "mad/attributes.hpp"

namespace ibf::mad {

// LinkSpeedExt* codes. FDR, EDR, HDR: ib_types.h IB_LINK_SPEED_EXT_ACTIVE_*; NDR 8: rdma-core's libibmad
// (dump.c, mad_dump_linkspeedext) and Linux's IB_SPEED_NDR.
inline constexpr std::uint8_t kSpeedExtFdr = 1;
inline constexpr std::uint8_t kSpeedExtEdr = 2;
inline constexpr std::uint8_t kSpeedExtHdr = 4;
inline constexpr std::uint8_t kSpeedExtNdr = 8;
inline constexpr std::uint8_t kSpeedExt2Xdr = 1;

/// CapabilityMask2.IsLinkSpeedNDRSupported: Linux drivers/infiniband, IB_PORT_LINK_SPEED_NDR_SUP.
inline constexpr std::uint16_t kCapMask2Ndr = 0x0400;
/// CapabilityMask2.IsExtendedSpeeds2Supported: the LinkSpeedExt*2 fields are there and XDR is.
inline constexpr std::uint16_t kCapMask2Xdr = 0x1000;

/// The LinkSpeedExt*2 fields share the octet that ib_types.h calls the reserved top of link_rt_latency: bit
/// 448 reserved, 449-450 active, 451-452 supported, 453-455 enabled (rdma-core, libibmad/fields.c).
struct SpeedExt2 {
    std::uint8_t active = 0;
    std::uint8_t supported = 0;
    std::uint8_t enabled = 0;
};
[[nodiscard]] SpeedExt2 split_speed_ext2(std::uint8_t octet);
/// `octet` with the three fields replaced; its reserved bit stays.
[[nodiscard]] std::uint8_t join_speed_ext2(std::uint8_t octet, const SpeedExt2& fields);

}  // namespace ibf::mad
