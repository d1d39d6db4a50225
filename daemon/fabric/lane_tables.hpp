// DOC: SL to VL mappings and VL arbitration, as devices told them.
//
// Values, part of a Snapshot, immutable for readers; sm/lane_survey makes new ones. A switch has a mapping
// for each pair of an input and an exit port, 1,369 of them at 36 ports, and nearly all are equal: a device
// holds each different table once and a 16-bit number for each pair (255 ports at most have 65,025 pairs),
// and devices that hold the same share one value.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "mad/attributes.hpp"

namespace ibf::fabric {

/// Blocks 1 and 2: the low-priority table; 3 and 4: the high-priority one (IBA 14.2.5.9).
inline constexpr unsigned kArbitrationBlocks = 4;

/// What one management agent holds: a switch for all its ports, an adapter or router port for itself.
struct LaneTables {
    static constexpr std::uint16_t kNotTold = 0xFFFF;  ///< the device has none there, or refuses to tell

    std::vector<mad::Sl2VlTable> maps;         ///< each once
    std::vector<mad::VlArbBlock> arbitration;  ///< each once
    std::uint16_t ports = 0;                   ///< of a switch NumPorts + 1; else 1, number 0
    std::vector<std::uint16_t> map_at;         ///< [exit * ports + input]
    std::vector<std::array<std::uint16_t, kArbitrationBlocks>> arbitration_at;  ///< [port][block - 1]

    /// Of `count` ports, nothing told yet.
    [[nodiscard]] static LaneTables of_ports(std::size_t count);
    /// Null: not told.
    [[nodiscard]] const mad::Sl2VlTable* map(std::size_t input, std::size_t exit) const;
    /// Blocks 1..4. Beyond what the port can hold a block is empty: every weight is 0, which is to say
    /// "skip".
    [[nodiscard]] const mad::VlArbBlock* arbitration_block(std::size_t port, std::size_t block) const;
    void set_map(std::size_t input, std::size_t exit, const mad::Sl2VlTable& table);
    void set_arbitration_block(std::size_t port, std::size_t block, const mad::VlArbBlock& entries);
    /// Back to "not told": the mappings toward a port and its arbitration.
    void forget(std::size_t port);
    /// The same in the one form that equal devices share: no table twice or unused, in order of first use.
    [[nodiscard]] LaneTables canonical() const;

    auto operator<=>(const LaneTables&) const = default;
};

/// What is known of a fabric's lanes.
struct Lanes {
    std::map<mad::Guid, std::shared_ptr<const LaneTables>> tables;  ///< by lid_owner
    std::size_t devices = 0;   ///< agents that there are to read: switches, adapter and router ports
    std::size_t read = 0;      ///< of these, whole
    std::size_t left_out = 0;  ///< of these: did not answer, and are not asked again until they change
};

}  // namespace ibf::fabric
