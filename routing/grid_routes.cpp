#include "routing/grid_routes.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "routing/engine_limits.hpp"
#include "routing/engine_tables.hpp"
#include "routing/parallel.hpp"

namespace ibf::routing {

base::Result<Grids> grids_for(std::string_view engine, const Topology& topology, const Graph& graph) {
    if (const std::string reason = table_shortage(engine, topology); !reason.empty()) {
        return base::fail(base::ErrorKind::unsupported, reason);
    }
    base::Result<Grids> grids = find_grids(topology, graph);
    if (!grids) {
        return grids;
    }
    for (const Grid& grid : grids->grids) {
        if (!GridWays::lines_fit(grid)) {
            return base::fail(base::ErrorKind::unsupported,
                              fmt::format("{} serves lines of up to {} switches, not a {}", engine, kLineMax,
                                          describe(grid)));
        }
    }
    return grids;
}

void replace_grid(Grids& grids, std::size_t index, const Grid& grid) {
    grids.grids[index] = grid;
    for (std::uint32_t position = 0; position < grid.switches.size(); ++position) {
        if (grid.switches[position] != kNoIndex) {
            grids.position[grid.switches[position]] = position;
        }
    }
}

namespace {

bool has_dateline(const Dimension& dimension) {
    return dimension.kind == LineKind::ring && dimension.size >= 4;
}

/// One candidate each: the group that the ways name. Destinations are numbered point by point, so parallel
/// cables are dealt out evenly over them.
EnginePlan engine_plan(const GridPlan& plan) {
    EnginePlan result;
    const std::uint32_t count = plan.graph.switch_count();
    for (const Grid& grid : plan.grids.grids) {
        std::copy_if(grid.switches.begin(), grid.switches.end(), std::back_inserter(result.shape.order),
                     [](std::uint32_t item) { return item != kNoIndex; });
    }
    result.shape.slots.resize(count);
    result.shape.divider.assign(count, 1);
    result.evening = Evening::none;
    result.sets = [&plan](std::uint32_t at, CandidatePlanes& out) {
        const GridWays& ways = plan.ways[plan.grids.grid_of[at]];
        for (const std::uint32_t to : ways.grid().switches) {
            if (to == kNoIndex || to == at) {
                continue;
            }
            const std::uint8_t group = ways.next(plan.grids.position[at], plan.grids.position[to]);
            if (group != kNoGroup) {
                out.add(group, to);
            }
        }
    };
    return result;
}

/// Calls each(lid, switch) for every LID in use.
template <class Each>
void for_each_lid(const Topology& topology, const Each& each) {
    const auto all = [&](const mad::LidRange& lids, std::uint32_t at) {
        for (std::uint32_t lid = lids.base.value(); lids.count() != 0 && lid < lids.end(); ++lid) {
            each(lid, at);
        }
    };
    for (const TopologyEndPort& end : topology.end_ports) {
        if (end.switch_index != kNoIndex) {
            all(end.lids, end.switch_index);
        }
    }
    for (std::uint32_t at = 0; at < topology.switches.size(); ++at) {
        all(topology.switches[at].lids, at);
    }
}

std::vector<std::shared_ptr<const SlRow>> dateline_levels(const Topology& topology, const GridPlan& plan,
                                                          unsigned threads) {
    std::vector<std::uint32_t> owner(topology.max_lid + std::size_t{1}, kNoIndex);
    for_each_lid(topology, [&](std::uint32_t lid, std::uint32_t at) { owner[lid] = at; });
    std::vector<std::shared_ptr<const SlRow>> rows(topology.switches.size());
    parallel_ranges(rows.size(), 16, threads, [&](const WorkRange& range) {
        std::vector<std::uint8_t> level(topology.switches.size());
        for (std::size_t from = range.begin; from < range.end; ++from) {
            const GridWays& ways = plan.ways[plan.grids.grid_of[from]];
            std::fill(level.begin(), level.end(), std::uint8_t{0});
            for (const std::uint32_t to : ways.grid().switches) {
                if (to != kNoIndex) {
                    level[to] = static_cast<std::uint8_t>(
                        ways.datelines(plan.grids.position[from], plan.grids.position[to]));
                }
            }
            auto row = std::make_shared<SlRow>(owner.size(), std::uint8_t{0});
            for (std::size_t lid = 0; lid < owner.size(); ++lid) {
                (*row)[lid] = owner[lid] == kNoIndex ? std::uint8_t{0} : level[owner[lid]];
            }
            rows[from] = std::move(row);
        }
    });
    return rows;
}

/// Ports by the dimension that they run along; hosts and port 0 come after the dimensions.
std::vector<std::uint8_t> port_dimensions(const Topology& topology, const GridPlan& plan, std::uint32_t at) {
    const GridWays& ways = plan.ways[plan.grids.grid_of[at]];
    const auto none = static_cast<std::uint8_t>(ways.grid().dimensions.size());
    std::vector<std::uint8_t> dimensions;
    for (const PortPeer& peer : topology.switches[at].peers) {
        const bool between = peer.kind == PortPeer::Kind::switch_ && peer.index != at;
        dimensions.push_back(between ? static_cast<std::uint8_t>(ways.dimension_of(
                                           plan.grids.position[at], plan.grids.position[peer.index]))
                                     : none);
    }
    return dimensions;
}

LaneMap dateline_map(const std::vector<std::uint8_t>& dimension_of_port, std::size_t dimensions,
                     EarlyTurns turns) {
    LaneMap map;
    map.exit_class = dimension_of_port;
    map.exit_classes = static_cast<std::uint8_t>(dimensions + 1);
    map.input_class = turns == EarlyTurns::marked ? dimension_of_port
                                                  : std::vector<std::uint8_t>(dimension_of_port.size(), 0);
    const std::size_t inputs = turns == EarlyTurns::marked ? dimensions + 1 : 1;
    for (std::size_t input = 0; input < inputs; ++input) {
        for (std::size_t exit = 0; exit <= dimensions; ++exit) {
            LaneMap::Lanes lanes{};
            const bool back = turns == EarlyTurns::marked && input < dimensions && exit < input;
            for (unsigned sl = 0; sl < kServiceLevels && exit < dimensions; ++sl) {
                lanes[sl] =
                    static_cast<std::uint8_t>((exit < kDatelinesMax ? sl >> exit & 1U : 0U) + (back ? 2 : 0));
            }
            map.tables.push_back(lanes);
        }
    }
    return map;
}

/// Switches whose ports run alike share one map.
std::vector<std::shared_ptr<const LaneMap>> dateline_maps(const Topology& topology, const GridPlan& plan,
                                                          EarlyTurns turns) {
    std::map<std::pair<std::size_t, std::vector<std::uint8_t>>, std::shared_ptr<const LaneMap>> known;
    std::vector<std::shared_ptr<const LaneMap>> maps;
    for (std::uint32_t at = 0; at < topology.switches.size(); ++at) {
        const std::size_t dimensions = plan.ways[plan.grids.grid_of[at]].grid().dimensions.size();
        std::vector<std::uint8_t> ports = port_dimensions(topology, plan, at);
        std::shared_ptr<const LaneMap>& map = known[{dimensions, ports}];
        if (map == nullptr) {
            map = std::make_shared<const LaneMap>(dateline_map(ports, dimensions, turns));
        }
        maps.push_back(map);
    }
    return maps;
}

}  // namespace

base::Result<Routes> route_grids(std::string_view engine, const Topology& topology, const Routes* previous,
                                 const RouteOptions& options, const GridPlan& plan, EarlyTurns turns) {
    bool datelines = false;
    for (const Grid& grid : plan.grids.grids) {
        for (std::size_t i = 0; i < grid.dimensions.size(); ++i) {
            datelines = datelines || has_dateline(grid.dimensions[i]);
            if (i >= kDatelinesMax && has_dateline(grid.dimensions[i])) {
                return base::fail(
                    base::ErrorKind::unsupported,
                    fmt::format("a {} has more rings than the {} that a service level can tell apart",
                                describe(grid), kDatelinesMax));
            }
        }
    }
    const auto lanes = static_cast<std::uint8_t>(turns == EarlyTurns::marked ? 4 : datelines ? 2 : 1);
    if (const std::string reason = lane_shortage(engine, topology, options, lanes); !reason.empty()) {
        return base::fail(base::ErrorKind::unsupported, reason);
    }
    const Planner planner = [&](const std::shared_ptr<const Graph>&,
                                const UpDown*) -> base::Result<EnginePlan> { return engine_plan(plan); };
    base::Result<Routes> routes = build_tables(topology, previous, options, planner);
    if (!routes) {
        return routes;
    }
    routes->engine = engine;
    routes->vls = lanes;
    if (datelines) {
        routes->sls = dateline_levels(topology, plan, options.threads);
    }
    if (lanes > 1) {
        routes->lane_maps = dateline_maps(topology, plan, turns);
    }
    return routes;
}

}  // namespace ibf::routing
