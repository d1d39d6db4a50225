#include "mad/speeds_beyond.hpp"

namespace ibf::mad {

SpeedExt2 split_speed_ext2(std::uint8_t octet) {
    return {.active = static_cast<std::uint8_t>((octet >> 5U) & 0x3U),
            .supported = static_cast<std::uint8_t>((octet >> 3U) & 0x3U),
            .enabled = static_cast<std::uint8_t>(octet & 0x7U)};
}

std::uint8_t join_speed_ext2(std::uint8_t octet, const SpeedExt2& fields) {
    return static_cast<std::uint8_t>((octet & 0x80U) | (fields.active & 0x3U) << 5U |
                                     (fields.supported & 0x3U) << 3U | (fields.enabled & 0x7U));
}

}  // namespace ibf::mad
