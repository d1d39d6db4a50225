// DOC: from ways over grids to Routes; what dor and torus-2qos share.
//
// Bit i of a path's service level says that it crosses the dateline of dimension i. A switch looks at the
// exit port alone to make the lane of it: bit i, where the exit runs along dimension i, is bit 0 of the lane.
// So eight levels share two lanes, and a lane of a ring is never full all the way round. Where paths turn
// early, bit 1 of the lane marks the first hop after a turn against the dimension order, told by the input
// port.
#pragma once

#include <vector>

#include "routing/grid_ways.hpp"
#include "routing/routes.hpp"

namespace ibf::routing {

inline constexpr std::size_t kDatelinesMax = 4;  ///< bits of a service level

/// One GridWays for each of `grids`, in the same order.
struct GridPlan {
    const Graph& graph;
    Grids grids;  ///< as the ways have them
    std::vector<GridWays> ways;
};

enum class EarlyTurns : std::uint8_t { none, marked };

/// The whole fabric's grids as they were found. Errors: unsupported: no grid, or a small table somewhere.
[[nodiscard]] base::Result<Grids> grids_for(std::string_view engine, const Topology& topology,
                                            const Graph& graph);

/// Puts `grid` in the place of one of `grids`.
void replace_grid(Grids& grids, std::size_t index, const Grid& grid);

/// Errors: unsupported: more datelines than a service level has bits for, or lanes that the fabric lacks.
[[nodiscard]] base::Result<Routes> route_grids(std::string_view engine, const Topology& topology,
                                               const Routes* previous, const RouteOptions& options,
                                               const GridPlan& plan, EarlyTurns turns);

}  // namespace ibf::routing
