// DOC: link speeds beyond Debian's headers.
//
// iba/ib_types.h (opensm 3.3.23) ends at HDR, libibmad 44 at NDR. What NDR and XDR add to PortInfo is here
// and nowhere else, each with its public source. IBA volume 1, 14.2.5.6.
#pragma once

#include <cstdint>

#include "mad/attributes.hpp"

namespace ibf::mad {

// LinkSpeedExtActive codes. FDR, EDR, HDR: ib_types.h, IB_LINK_SPEED_EXT_ACTIVE_*. NDR: libibmad's dump.c and
// Linux, drivers/infiniband/hw/mlx5/main.c (mlx5_ib_query_port's "case 8").
inline constexpr std::uint8_t kSpeedExtFdr = 1;
inline constexpr std::uint8_t kSpeedExtEdr = 2;
inline constexpr std::uint8_t kSpeedExtHdr = 4;
inline constexpr std::uint8_t kSpeedExtNdr = 8;
/// LinkSpeedExtActive2: XDR, 212.5 Gb/s a lane. Linux, drivers/infiniband/hw/mlx5/mad.c: ((data[56] >> 4) &
/// 6) == 2.
inline constexpr std::uint8_t kSpeedExt2Xdr = 1;

// CapabilityMask2 bits: Linux, include/rdma/ib_mad.h, enum ib_port_capability_mask2_bits.
inline constexpr std::uint16_t kCapMask2Ndr = 0x0400;              ///< IB_PORT_LINK_SPEED_NDR_SUP
inline constexpr std::uint16_t kCapMask2ExtendedSpeeds2 = 0x0800;  ///< IB_PORT_EXTENDED_SPEEDS2_SUP
inline constexpr std::uint16_t kCapMask2Xdr = 0x1000;              ///< IB_PORT_LINK_SPEED_XDR_SUP

/// The LinkSpeedExt*2 fields share octet 56, which ib_types.h calls the reserved top of link_rt_latency: bit
/// 448 of PortInfo reserved, 449-450 active, 451-452 supported, 453-455 enabled (Linux as above for the
/// active one; rdma-core's libibmad/fields.c after version 44 for all three).
struct SpeedExt2 {
    std::uint8_t active = 0;
    std::uint8_t supported = 0;
    std::uint8_t enabled = 0;
};
[[nodiscard]] SpeedExt2 split_speed_ext2(std::uint8_t octet);
/// `octet` with the three fields replaced; its reserved bit stays.
[[nodiscard]] std::uint8_t join_speed_ext2(std::uint8_t octet, const SpeedExt2& fields);

}  // namespace ibf::mad
