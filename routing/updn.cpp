#include "routing/updn.hpp"

#include <algorithm>
#include <memory>
#include <queue>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "routing/engine_tables.hpp"
#include "routing/ftree.hpp"
#include "routing/tree_levels.hpp"
#include "routing/updown.hpp"

namespace ibf::routing {

Heights heights_from_roots(const Graph& graph, const std::vector<std::uint32_t>& roots,
                           const Heights& from_hosts) {
    const std::vector<std::uint32_t> hops = hops_from(graph, roots);
    Heights heights = from_hosts;
    for (std::uint32_t at = 0; at < graph.switch_count(); ++at) {
        heights[at] = hops[at] != kNoIndex ? hops[at] : heights[at];
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

base::Result<Orientation> orient(const Topology& topology, const Graph& graph, const HeightRule& rule) {
    const base::Result<HostSample> sample = sample_hosts(graph);
    if (!sample) {
        return tl::unexpected<base::Error>(sample.error());
    }
    Orientation result;
    result.heights.assign(sample->mean.begin(), sample->mean.end());
    const base::Result<Heights> for_order = rule(graph, result.heights);
    if (!for_order) {
        return tl::unexpected<base::Error>(for_order.error());
    }
    result.order.position = updn_order(graph, *for_order, scarce_switches(topology));
    result.roots = switches_with_none_above(topology, graph, [&](std::uint32_t peer, std::uint32_t at) {
        return (*for_order)[peer] < (*for_order)[at];
    });
    return result;
}

base::Result<Routes> named(std::string_view engine, base::Result<Routes> routes) {
    if (routes) {
        routes->engine = engine;
    }
    return routes;
}

}  // namespace

base::Result<Routes> route_up_down(std::string_view engine, const HeightRule& rule, const Topology& topology,
                                   const Routes* previous, const RouteOptions& options) {
    return named(engine, build_up_down_tables(topology, previous, options, [&](const Graph& graph) {
                     return orient(topology, graph, rule);
                 }));
}

base::Result<Routes> route_updn(const Topology& topology, const Routes* previous,
                                const RouteOptions& options) {
    const HeightRule rule = [&](const Graph& graph, const Heights& from_hosts) -> base::Result<Heights> {
        if (options.root_guids.empty()) {
            return from_hosts;
        }
        const base::Result<std::vector<std::uint32_t>> roots = configured_roots(topology, options);
        if (!roots) {
            return tl::unexpected<base::Error>(roots.error());
        }
        return heights_from_roots(graph, *roots, from_hosts);
    };
    const Orienter orienter = [&](const Graph& graph) {
        base::Result<Orientation> tree = tree_orientation(topology, graph, options);
        return tree ? std::move(tree) : orient(topology, graph, rule);
    };
    return named("updn", build_up_down_tables(topology, previous, options, orienter));
}

}  // namespace ibf::routing
