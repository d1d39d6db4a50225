#include "routing/torus.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "routing/grid_routes.hpp"

namespace ibf::routing {

namespace {

constexpr const char* kTorusName = "torus-2qos";
constexpr std::size_t kTorusDimensionsMax = 3;  ///< bit 3 of a service level is left for a second QoS level

std::string not_a_torus(const Grid& grid) {
    const auto clique = std::find_if(grid.dimensions.begin(), grid.dimensions.end(),
                                     [](const Dimension& d) { return d.kind == LineKind::clique; });
    if (clique != grid.dimensions.end()) {
        return fmt::format(
            "the fabric is a {}, no torus: {} switches of one dimension are all joined to each other; "
            "dor serves that",
            describe(grid), clique->size);
    }
    if (grid.dimensions.size() > kTorusDimensionsMax) {
        return fmt::format("the fabric is a {}; {} serves up to {} dimensions, dor more", describe(grid),
                           kTorusName, kTorusDimensionsMax);
    }
    return {};
}

/// A position whose switch is missing and whose next one along the dimension is missing too.
std::uint32_t missing_pair(const Grid& grid, std::size_t dimension) {
    const Dimension& line = grid.dimensions[dimension];
    for (std::uint32_t at = 0; at < grid.switches.size(); ++at) {
        const std::uint32_t onward = grid.coordinate(at, dimension) + 1;
        if (onward == line.size && line.kind != LineKind::ring) {
            continue;
        }
        const std::uint32_t next = grid.moved(at, dimension, onward % line.size);
        if (grid.switches[at] == kNoIndex && grid.switches[next] == kNoIndex) {
            return at;
        }
    }
    return kNoIndex;
}

/// Two missing switches side by side can be gone around only along the last dimension; it is put last then.
std::string settle_order(Grid& grid) {
    std::vector<std::size_t> order(grid.dimensions.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto paired = std::stable_partition(order.begin(), order.end(), [&](std::size_t dimension) {
        return missing_pair(grid, dimension) == kNoIndex;
    });
    if (order.end() - paired > 1) {
        return fmt::format(
            "switches are missing side by side in {} dimensions of a {}, e.g. at {} and {}; {} can go "
            "around neighbours in one dimension only",
            order.end() - paired, describe(grid), grid.text(missing_pair(grid, *paired)),
            grid.text(missing_pair(grid, *(paired + 1))), kTorusName);
    }
    grid = reordered(grid, order);
    return {};
}

}  // namespace

base::Result<Routes> route_torus(const Topology& topology, const Routes* previous,
                                 const RouteOptions& options) {
    const Graph graph = make_graph(topology, {});
    base::Result<Grids> grids = grids_for(kTorusName, topology, graph);
    if (!grids) {
        return tl::unexpected<base::Error>(grids.error());
    }
    GridPlan plan{graph, std::move(*grids), {}};
    EarlyTurns turns = EarlyTurns::none;
    for (std::size_t i = 0; i < plan.grids.grids.size(); ++i) {
        Grid grid = with_rings_of_four(plan.grids.grids[i]);
        std::string reason = not_a_torus(grid);
        reason = reason.empty() ? settle_order(grid) : reason;
        if (!reason.empty()) {
            return base::fail(base::ErrorKind::unsupported, reason);
        }
        replace_grid(plan.grids, i, grid);
        plan.ways.emplace_back(graph, grid);
        if (reason = plan.ways.back().broken_line(topology); !reason.empty()) {
            return base::fail(base::ErrorKind::unsupported, reason);
        }
        turns = plan.ways.back().early_turn(topology).empty() ? turns : EarlyTurns::marked;
    }
    return route_grids(kTorusName, topology, previous, options, plan, turns);
}

}  // namespace ibf::routing
