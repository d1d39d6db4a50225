// DOC: request tags.
//
// A request's tag says what its answer means: the kind of question, the epoch (sweep) that asked it, and two
// small operands. An answer of an older epoch is dropped by whoever owned it; a late probe answer still tells
// that a device has come to life.
#pragma once

#include <cstdint>

#include "mad/ids.hpp"

namespace ibf::sm {

enum class Ask : std::uint8_t {
    node_info,
    node_description,
    switch_info,
    port_info,
    port_info_extended,
    vendor_port_info,
    pkey_block,
    sm_info,
    clear_change,
    verify_link,
    light_node_info,
    light_switch_info,
    probe_silent,
    recheck_port,
    audit_lft,
    lanes,
    lft_get,
    switch_info_set,
    port0_set,
    pkey_set,
    lane_set,
    lft_drop,
    lft_set,
    mft_get,
    mft_set,
    group_get,
    group_drop,
    group_set,
    arm,
    configure,
    activate,
    active_check,
    bounce,
    reregister,
    order_port,
    poll_sm,
    hand_over,
    acknowledge,
};

/// 8 bits kind, 8 bits port, 16 bits epoch, 32 bits index (node, probe or operation).
struct Tag {
    Ask ask{};
    std::uint8_t port = 0;
    std::uint16_t epoch = 0;
    std::uint32_t index = 0;

    [[nodiscard]] constexpr std::uint64_t pack() const {
        return (static_cast<std::uint64_t>(ask) << 56U) | (static_cast<std::uint64_t>(port) << 48U) |
               (static_cast<std::uint64_t>(epoch) << 32U) | index;
    }
    [[nodiscard]] static constexpr Tag unpack(std::uint64_t bits) {
        return {static_cast<Ask>(bits >> 56U), static_cast<std::uint8_t>(bits >> 48U),
                static_cast<std::uint16_t>(bits >> 32U), static_cast<std::uint32_t>(bits)};
    }
};

/// What the transaction window counts by, dense: devices by their node index, and devices that have none yet
/// (nobody knows who hangs there) by the question that looks for them.
[[nodiscard]] constexpr std::uint32_t device_target(std::uint32_t node) {
    return 2 * node;
}
[[nodiscard]] constexpr std::uint32_t stranger_target(std::uint32_t question) {
    return 2 * question + 1;
}

}  // namespace ibf::sm
