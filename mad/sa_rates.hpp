// DOC: the rates of SA records (PathRecord.Rate, MCMemberRecord.Rate; IBA 15.2.5.16).
//
// A rate travels as a code, and codes are not in order of speed. Ranks are: rank 0 is no rate, and of two
// ranks the higher is the faster. Compare ranks, never codes.
#pragma once

#include <cstdint>

namespace ibf::mad {

inline constexpr std::uint8_t kRateRankMost = 23;  ///< of the fastest rate that has a code

/// The fastest rate that a link of so many Gb/s can carry; 0 if none can be.
[[nodiscard]] std::uint8_t rate_rank(double gbps);
/// Ranks above the fastest are taken for it.
[[nodiscard]] std::uint8_t rate_code(std::uint8_t rank);
[[nodiscard]] std::uint8_t rank_of_code(std::uint8_t code);  ///< 0 for a code that is none
[[nodiscard]] double gbps_of_code(std::uint8_t code);        ///< 0 for a code that is none

}  // namespace ibf::mad
