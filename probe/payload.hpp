// DOC: what messages carry, and how it is checked.
//
// Pseudo-random octets from a seed and a number (SplitMix64 in counter mode, eight octets a step, little
// endian), so that both sides know them without telling; and CRC32C (RFC 3720, appendix B.4), by the
// processor's instruction where it has one, else by table. Pure.
#pragma once

#include <cstdint>
#include <span>

namespace ibf::probe {

/// Two numbers, two seeds: two unrelated patterns. A shorter one is the beginning of a longer one.
void fill_pattern(std::span<std::uint8_t> out, std::uint64_t seed, std::uint64_t number);

/// Of `data`; or, given the CRC of what came before, of both together.
[[nodiscard]] std::uint32_t crc32c(std::span<const std::uint8_t> data, std::uint32_t before = 0);

/// The two ways, for those who compare them.
[[nodiscard]] std::uint32_t crc32c_by_table(std::span<const std::uint8_t> data, std::uint32_t before = 0);
/// REQUIRES: has_crc32c_instruction().
[[nodiscard]] std::uint32_t crc32c_by_instruction(std::span<const std::uint8_t> data,
                                                  std::uint32_t before = 0);
[[nodiscard]] bool has_crc32c_instruction();

}  // namespace ibf::probe
