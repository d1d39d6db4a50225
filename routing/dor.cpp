#include "routing/dor.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "routing/grid_routes.hpp"

namespace ibf::routing {

namespace {

/// A service level has few bits for datelines; they belong to the first dimensions.
Grid with_rings_first(const Grid& grid) {
    std::vector<std::size_t> order(grid.dimensions.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_partition(order.begin(), order.end(),
                          [&](std::size_t i) { return grid.dimensions[i].kind == LineKind::ring; });
    return reordered(grid, order);
}

/// Why dimension order cannot serve the grid; empty if it can.
std::string obstacle(const Topology& topology, const GridWays& ways) {
    std::string reason = ways.broken_line(topology);
    if (reason.empty()) {
        reason = ways.early_turn(topology);
        reason += reason.empty() ? "" : "; torus-2qos goes around missing switches of a torus";
    }
    return reason;
}

/// A ring of four as part of a hypercube needs no second lane; as a ring it stands the loss of a cable.
base::Result<GridWays> ways_of(const Topology& topology, const Graph& graph, const Grid& grid) {
    GridWays ways(graph, with_rings_first(grid));
    const std::string reason = obstacle(topology, ways);
    if (reason.empty()) {
        return ways;
    }
    GridWays around(graph, with_rings_first(with_rings_of_four(grid)));
    if (obstacle(topology, around).empty()) {
        return around;
    }
    return base::fail(base::ErrorKind::unsupported, reason);
}

}  // namespace

base::Result<Routes> route_dor(const Topology& topology, const Routes* previous,
                               const RouteOptions& options) {
    const Graph graph = make_graph(topology, {});
    base::Result<Grids> grids = grids_for("dor", topology, graph);
    if (!grids) {
        return tl::unexpected<base::Error>(grids.error());
    }
    GridPlan plan{graph, std::move(*grids), {}};
    for (std::size_t i = 0; i < plan.grids.grids.size(); ++i) {
        base::Result<GridWays> ways = ways_of(topology, graph, plan.grids.grids[i]);
        if (!ways) {
            return tl::unexpected<base::Error>(ways.error());
        }
        replace_grid(plan.grids, i, ways->grid());
        plan.ways.push_back(std::move(*ways));
    }
    return route_grids("dor", topology, previous, options, plan, EarlyTurns::none);
}

}  // namespace ibf::routing
