// DOC: what engines ask of a fabric before they route it.
//
// Each answer is a plain reason why it cannot be had, with the remedy, and empty if it can. The proof would
// find the same shortcomings later; said here, they name the cause and not the symptom.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "routing/routes.hpp"

namespace ibf::routing {

/// Why not `lanes` data lanes on every link between switches.
[[nodiscard]] std::string lane_shortage(std::string_view engine, const Topology& topology,
                                        const RouteOptions& options, std::uint8_t lanes);

/// Why not an entry for every LID in every switch.
[[nodiscard]] std::string table_shortage(std::string_view engine, const Topology& topology);

}  // namespace ibf::routing
