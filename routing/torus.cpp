#include "routing/torus.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "routing/grid_routes.hpp"

namespace ibf::routing {

namespace {

constexpr const char* kTorusName = "torus-2qos";
constexpr std::size_t kMissingWeighed = 256;  ///< with more switches missing no order is better than another
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

bool side_by_side(const Dimension& line, std::uint32_t a, std::uint32_t b) {
    const std::uint32_t apart = std::max(a, b) - std::min(a, b);
    return apart == 1 || (line.kind == LineKind::ring && apart + 1 == line.size);
}

/// Pairs of missing switches whose early turns can close a circle: in one plane, side by side along the
/// dimension of the plane that is corrected first.
unsigned conflicts(const Grid& grid, const std::vector<std::uint32_t>& missing,
                   const std::vector<std::size_t>& order) {
    unsigned count = 0;
    for (const std::uint32_t a : missing) {
        for (const std::uint32_t b : missing) {
            std::vector<std::size_t> differing;
            std::copy_if(order.begin(), order.end(), std::back_inserter(differing),
                         [&](std::size_t i) { return grid.coordinate(a, i) != grid.coordinate(b, i); });
            if (differing.empty() || differing.size() > 2 || differing.front() == order.back()) {
                continue;
            }
            const std::size_t first = differing.front();
            count +=
                side_by_side(grid.dimensions[first], grid.coordinate(a, first), grid.coordinate(b, first))
                    ? 1
                    : 0;
        }
    }
    return count;
}

/// Puts the dimensions in the order that goes around missing switches best; as they are unless that is
/// better.
std::string settle_order(Grid& grid) {
    std::vector<std::uint32_t> missing;
    for (std::uint32_t at = 0; at < grid.switches.size(); ++at) {
        if (grid.switches[at] == kNoIndex) {
            missing.push_back(at);
        }
    }
    std::vector<std::size_t> order(grid.dimensions.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::vector<std::size_t> best = order;
    unsigned least = missing.size() <= kMissingWeighed ? conflicts(grid, missing, order) : 0;
    while (least > 0 && std::next_permutation(order.begin(), order.end())) {
        if (const unsigned count = conflicts(grid, missing, order); count < least) {
            best = order;
            least = count;
        }
    }
    grid = reordered(grid, best);
    for (std::size_t i = 0; i + 1 < grid.dimensions.size(); ++i) {
        if (const std::uint32_t at = missing_pair(grid, i); at != kNoIndex) {
            return fmt::format(
                "switches are missing side by side in several dimensions of a {}, e.g. at {}; {} can go "
                "around neighbours along one dimension only",
                describe(grid), grid.text(at), kTorusName);
        }
    }
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
