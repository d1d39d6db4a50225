// DOC: virtual lanes of routes.
//
// A packet carries a service level (SL) from end to end; every switch it passes maps (input port, exit port,
// SL) to the virtual lane (VL) of the link it leaves on (IBA 7.6.6, SLtoVLMappingTable). An engine says which
// SL a path takes (SlRow) and, if a lane is not simply the SL, what each switch makes of it (LaneMap).
//
// Not here: how many lanes the links have (Topology), and how tables are written (the subnet manager).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "mad/ids.hpp"

namespace ibf::routing {

inline constexpr unsigned kServiceLevels = 16;
inline constexpr unsigned kDataLanesMax = 15;  ///< VL 15 carries management only

/// By destination LID: the SL of paths that begin at one switch, its own and those of its end ports.
using SlRow = std::vector<std::uint8_t>;

/// What one switch makes of service levels. Ports of one class are treated alike; class of port 0 included.
struct LaneMap {
    using Lanes = std::array<std::uint8_t, kServiceLevels>;  ///< by SL: 0..14

    std::vector<std::uint8_t> input_class;  ///< by port
    std::vector<std::uint8_t> exit_class;   ///< by port
    std::uint8_t exit_classes = 1;
    std::vector<Lanes> tables;  ///< by input class * exit_classes + exit class

    [[nodiscard]] const Lanes& lanes(mad::PortNum input, mad::PortNum exit) const {
        return tables[std::size_t{input_class[input.value()]} * exit_classes + exit_class[exit.value()]];
    }
    bool operator==(const LaneMap&) const = default;
};

}  // namespace ibf::routing
