// DOC: the speed and width fields of a PortInfo, written from the one speed that people say.
//
// PortInfo spreads a port's speed over LinkSpeed*, LinkSpeedExt* and LinkSpeedExt*2 (IBA 14.2.5.6); FDR10 is
// QDR there and only the vendor's ExtendedPortInfo tells. mad::PortInfo::speed() folds them; this is the
// inverse.
#pragma once

#include "mad/attributes.hpp"

namespace ibf::sim {

/// Supported fields of a port that can do `speed` and everything slower.
void set_supported_speeds(mad::PortInfo& info, mad::LinkSpeed speed);
void set_active(mad::PortInfo& info, mad::LinkWidth width, mad::LinkSpeed speed);
/// What a port without a link shows: 4x, SDR.
void set_inactive(mad::PortInfo& info);
/// The fields that only an extended-speed reader understands, hidden.
void hide_extended_speeds(mad::PortInfo& info);

/// Fastest speed, and widest width, that both ends have enabled and the cable carries.
[[nodiscard]] mad::LinkSpeed negotiate_speed(const mad::PortInfo& a, const mad::PortInfo& b,
                                             mad::LinkSpeed cable);
[[nodiscard]] mad::LinkWidth negotiate_width(const mad::PortInfo& a, const mad::PortInfo& b,
                                             mad::LinkWidth cable);

}  // namespace ibf::sim
