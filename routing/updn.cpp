#include "routing/updn.hpp"

#include <algorithm>
#include <memory>
#include <queue>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "routing/engine_tables.hpp"
#include "routing/updown.hpp"

namespace ibf::routing {

Heights heights_from_roots(const Graph& graph, const ByteMatrix& distances,
                           const std::vector<std::uint32_t>& roots, const Heights& from_hosts) {
    Heights heights = from_hosts;
    for (std::uint32_t at = 0; at < graph.switch_count(); ++at) {
        std::uint8_t nearest = kUnreached;
        for (const std::uint32_t root : roots) {
            nearest = std::min(nearest, distances.row(root)[at]);
        }
        if (nearest != kUnreached) {
            heights[at] = nearest;
        }
    }
    return heights;
}

namespace {

/// Where the order of a component starts: the leaf with the most neighbours, then the most hosts, then the
/// lowest index. Growing from a leaf, not from a spine, leaves all spines on one footing.
std::vector<std::uint32_t> starts_by_preference(const Graph& graph, const Heights& heights,
                                                const std::vector<char>& last) {
    using Key = std::tuple<bool, bool, std::int64_t, std::int64_t, std::uint32_t>;
    std::vector<Key> keys;
    for (std::uint32_t at = 0; at < graph.switch_count(); ++at) {
        const bool leaf = graph.hosts[at] != 0 && is_bottom(graph, heights, at);
        keys.emplace_back(last[at] != 0, !leaf, -static_cast<std::int64_t>(graph.groups_of(at).size()),
                          -std::int64_t{graph.hosts[at]}, at);
    }
    std::sort(keys.begin(), keys.end());
    std::vector<std::uint32_t> starts;
    for (const Key& key : keys) {
        starts.push_back(std::get<4>(key));
    }
    return starts;
}

}  // namespace

std::vector<std::uint32_t> updn_order(const Graph& graph, const Heights& heights,
                                      const std::vector<char>& last) {
    constexpr std::uint32_t kUnplaced = kNoIndex;
    std::vector<std::uint32_t> position(graph.switch_count(), kUnplaced);
    std::uint32_t next = 0;
    // (comes last, height, hops from the start, index): the highest switch next to those placed is placed
    // next.
    using Key = std::tuple<bool, std::uint64_t, std::uint32_t, std::uint32_t>;
    std::priority_queue<Key, std::vector<Key>, std::greater<>> frontier;
    std::vector<std::uint32_t> fewest(graph.switch_count(), kNoIndex);  // hops that a switch is queued with
    for (const std::uint32_t start : starts_by_preference(graph, heights, last)) {
        if (position[start] != kUnplaced) {
            continue;
        }
        frontier.emplace(false, 0, 0, start);
        while (!frontier.empty()) {
            const auto [late, height, hops, at] = frontier.top();
            frontier.pop();
            if (position[at] != kUnplaced) {
                continue;
            }
            position[at] = next++;
            for (const PortGroup& group : graph.groups_of(at)) {
                if (position[group.peer] == kUnplaced && hops + 1 < fewest[group.peer]) {
                    fewest[group.peer] = hops + 1;
                    frontier.emplace(last[group.peer] != 0, heights[group.peer], hops + 1, group.peer);
                }
            }
        }
    }
    return position;
}

namespace {

/// The order is made once, on the whole graph, and holds for all LID classes: their dependencies share lanes.
struct UpDown {
    UpDownOrder order;
    std::shared_ptr<const ByteMatrix> distances;  ///< over the whole graph
    std::vector<mad::Guid> roots;
};

base::Result<UpDown> orient(const Topology& topology, const RouteOptions& options) {
    const Graph graph = make_graph(topology, {});
    base::Result<ByteMatrix> distances = hop_distances(graph, options.threads);
    if (!distances) {
        return tl::unexpected<base::Error>(distances.error());
    }
    Heights heights = heights_from_hosts(graph, *distances);
    if (!options.root_guids.empty()) {
        const base::Result<std::vector<std::uint32_t>> roots = configured_roots(topology, options);
        if (!roots) {
            return tl::unexpected<base::Error>(roots.error());
        }
        heights = heights_from_roots(graph, *distances, *roots, heights);
    }
    UpDown result;
    result.order.position = updn_order(graph, heights, scarce_switches(topology));
    for (std::uint32_t at = 0; at < graph.switch_count(); ++at) {
        const auto groups = graph.groups_of(at);
        if (!groups.empty() && std::none_of(groups.begin(), groups.end(), [&](const PortGroup& group) {
                return heights[group.peer] < heights[at];
            })) {
            result.roots.push_back(topology.switches[at].guid);
        }
    }
    result.distances = std::make_shared<const ByteMatrix>(std::move(*distances));
    return result;
}

}  // namespace

base::Result<Routes> route_updn(const Topology& topology, const Routes* previous,
                                const RouteOptions& options) {
    base::Result<UpDown> orientation = orient(topology, options);
    if (!orientation) {
        return tl::unexpected<base::Error>(orientation.error());
    }
    const UpDownOrder& order = orientation->order;
    const Planner planner = [&](const Graph& graph) -> base::Result<EnginePlan> {
        EnginePlan plan;
        const base::Result<ByteMatrix> distances = hop_distances(graph, options.threads);
        base::Result<UpDownHops> hops = up_down_hops(graph, order, options.threads);
        if (!distances || !hops) {
            return tl::unexpected<base::Error>(!distances ? distances.error() : hops.error());
        }
        plan.shape = shape_of(graph, *distances, heights_from_hosts(graph, *distances));
        const auto legal = std::make_shared<const UpDownHops>(std::move(*hops));
        plan.lengths = std::shared_ptr<const ByteMatrix>(legal, &legal->whole);
        plan.rule = up_down_rule(graph, order, legal);
        return plan;
    };
    base::Result<Routes> routes = build_tables(topology, previous, options.threads, planner);
    if (routes) {
        routes->engine = "updn";
        routes->roots = std::move(orientation->roots);
    }
    return routes;
}

}  // namespace ibf::routing
