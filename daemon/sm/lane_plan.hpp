// DOC: which lane tables would lose packets, and what is written instead. Pure.
//
// All our traffic has SL 0. A packet is dropped where its SL is mapped to VL 15 or to a lane that is not
// operational at the exit port (IBA 7.6.6), and waits for ever where the arbitration of several lanes gives
// its own no weight (IBA 7.6.9). Nothing else is a fault: what an operator or another SM set up otherwise
// stays. Only ports that packets pass count; a port that comes up later is judged then.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/fabric/fabric.hpp"
#include "daemon/fabric/lane_tables.hpp"

namespace ibf::sm {

/// Modifier bits of an optimised SL2VL Set: for all outer exit ports, from all outer input ports.
inline constexpr std::uint32_t kAllExits = 1U << 16U;
inline constexpr std::uint32_t kAllInputs = 1U << 17U;
inline constexpr std::size_t kArbitrationBlockEntries = 32;
inline constexpr std::uint8_t kLaneWeight = 64;  ///< of a lane that had none: 4 KiB a turn

/// A port as far as lanes go.
struct LanePort {
    std::uint8_t vl_cap = 0;
    std::uint8_t operational_vls = 0;
    std::uint8_t arbitration_low = 0;  ///< entries of the table
    std::uint8_t arbitration_high = 0;
    bool receives = false;  ///< packets enter the device here
    bool sends = false;     ///< and leave it here

    /// Equal here, a port has the tables that it had: a link that goes down and up changes none.
    [[nodiscard]] bool same_lanes(const LanePort& other) const;
    [[nodiscard]] bool has_arbitration_block(std::size_t block) const;
};

/// A management agent: a switch with all its ports, or a port of an adapter or router as port 0 of one.
struct LaneDevice {
    mad::Guid node{};
    fabric::PortRef at;
    std::vector<LanePort> ports;
    bool is_switch = false;
    bool has_maps = false;   ///< IsSLMappingSupported
    bool optimised = false;  ///< takes one mapping for many ports in one Set (IBA 14.2.5.8)
};
/// `at`: switch port 0, or a port of an adapter or router.
[[nodiscard]] LaneDevice lane_device(const fabric::Fabric& fabric, fabric::PortRef at);

struct LaneWrite {
    mad::Attribute attribute{};
    std::uint32_t modifier = 0;
    mad::AttributeData data{};

    [[nodiscard]] bool optimised() const;
};
/// What a device holds once it took a write.
void apply(const LaneWrite& write, const LaneDevice& device, fabric::LaneTables& tables);

[[nodiscard]] std::uint32_t map_modifier(const LaneDevice& device, std::size_t input, std::size_t exit);
[[nodiscard]] std::uint32_t arbitration_modifier(const LaneDevice& device, std::size_t port,
                                                 std::size_t block);

struct LanePlan {
    std::vector<LaneWrite> writes;
    std::string wrong;  ///< what was found, with the ports; empty: nothing
};
/// By optimised Sets where they are the shorter way and change no mapping that loses nothing, be its ports up
/// or down.
[[nodiscard]] LanePlan plan_lanes(const LaneDevice& device, const fabric::LaneTables& tables);

}  // namespace ibf::sm
