#include "routing/ftree.hpp"

#include <algorithm>
#include <memory>
#include <queue>
#include <tuple>
#include <utility>

#include "routing/engine_tables.hpp"

namespace ibf::routing {

namespace {

/// Places the switches of one component after the other.
class TreeOrderer {
public:
    TreeOrderer(const Graph& graph, const Levels& levels, const std::vector<std::uint32_t>& mean,
                const std::vector<char>& last)
        : graph_(graph),
          levels_(levels),
          mean_(mean),
          last_(last),
          top_(levels.empty() ? 0 : *std::max_element(levels.begin(), levels.end())),
          touched_(graph.switch_count(), 0),
          entered_by_(graph.switch_count(), kNoIndex),
          hops_(graph.switch_count(), 0) {
        order_.position.assign(graph.switch_count(), kNoIndex);
        order_.rank = levels;
        order_.reach = levels;
    }

    UpDownOrder run() {
        for (const std::uint32_t start : starts()) {
            if (order_.position[start] == kNoIndex) {
                place_cone(start);
                place_rest();
            }
        }
        return std::move(order_);
    }

private:
    /// Leaves with the most switches right above them first: planes of spines that the start does not see
    /// enter late. Those that miss no more than a quarter of them count as whole, and nothing farther is
    /// looked at, so that a lost link does not move the start, and all that hangs on it.
    [[nodiscard]] std::vector<std::uint32_t> starts() const {
        using Rank = std::tuple<bool, bool, std::int64_t, std::uint32_t>;  // (last, no leaf, -above, index)
        std::vector<Rank> ranks;
        ranks.reserve(graph_.switch_count());
        std::int64_t most = 0;
        for (std::uint32_t at = 0; at < graph_.switch_count(); ++at) {
            std::int64_t above = 0;
            for (const PortGroup& group : graph_.groups_of(at)) {
                above += is_above(group.peer, at) ? 1 : 0;
            }
            const bool leaf = graph_.hosts[at] != 0 && levels_[at] == 0;
            most = leaf ? std::max(most, above) : most;
            ranks.emplace_back(last_[at] != 0, !leaf, -above, at);
        }
        for (auto& [last, other, above, at] : ranks) {
            above = -above * 4 >= most * 3 ? std::min(above, -most) : above;
        }
        std::sort(ranks.begin(), ranks.end());
        std::vector<std::uint32_t> order;
        order.reserve(ranks.size());
        for (const Rank& rank : ranks) {
            order.push_back(std::get<3>(rank));
        }
        return order;
    }

    [[nodiscard]] bool is_above(std::uint32_t peer, std::uint32_t at) const {
        return levels_[peer] > levels_[at];
    }

    /// A switch and all that can be reached upward from it, level by level.
    void place_cone(std::uint32_t start) {
        std::vector<std::vector<std::uint32_t>> by_level(std::size_t{top_} + 1);
        by_level[levels_[start]].push_back(start);
        touched_[start] = 1;
        std::vector<std::uint32_t> cone;
        for (std::vector<std::uint32_t>& level : by_level) {
            std::sort(level.begin(), level.end());
            for (const std::uint32_t at : level) {
                place(at);
                order_.reach[at] = top_;
                cone.push_back(at);
                for (const PortGroup& group : graph_.groups_of(at)) {
                    if (is_above(group.peer, at) && touched_[group.peer] == 0 && last_[group.peer] == 0) {
                        touched_[group.peer] = 1;
                        hops_[group.peer] = hops_[at] + 1;
                        by_level[levels_[group.peer]].push_back(group.peer);
                    }
                }
            }
        }
        for (const std::uint32_t at : cone) {
            touch_neighbours(at);
        }
    }

    /// What is entered from below, since the start does not see it, is placed as the start is: with all that
    /// can be reached upward from it. None of that is placed yet, or it would have been entered from above.
    void place_rest() {
        while (!frontier_.empty()) {
            const auto [late, depth, hops, mean, at] = frontier_.top();
            frontier_.pop();
            if (is_above(at, entered_by_[at])) {
                place_cone(at);
            } else {
                place(at);
                touch_neighbours(at);
            }
        }
    }

    void place(std::uint32_t at) { order_.position[at] = next_++; }

    void touch_neighbours(std::uint32_t at) {
        for (const PortGroup& group : graph_.groups_of(at)) {
            if (touched_[group.peer] == 0) {
                touched_[group.peer] = 1;
                entered_by_[group.peer] = at;
                hops_[group.peer] = hops_[at] + 1;
                frontier_.emplace(last_[group.peer] != 0, top_ - levels_[group.peer], hops_[group.peer],
                                  mean_[group.peer], group.peer);
            }
        }
    }

    /// (last, depth, hops from the start by the way of entering, mean, index)
    using Key = std::tuple<bool, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;

    const Graph& graph_;
    const Levels& levels_;
    const std::vector<std::uint32_t>& mean_;
    const std::vector<char>& last_;
    std::uint32_t top_;
    std::vector<char> touched_;
    std::vector<std::uint32_t> entered_by_;
    std::vector<std::uint32_t> hops_;
    std::priority_queue<Key, std::vector<Key>, std::greater<>> frontier_;
    UpDownOrder order_;
    std::uint32_t next_ = 0;
};

}  // namespace

UpDownOrder ftree_order(const Graph& graph, const Levels& levels, const std::vector<std::uint32_t>& mean,
                        const std::vector<char>& last) {
    return TreeOrderer(graph, levels, mean, last).run();
}

namespace {

Heights heights_from_levels(const Levels& levels) {
    const std::uint32_t top = levels.empty() ? 0 : *std::max_element(levels.begin(), levels.end());
    Heights heights;
    heights.reserve(levels.size());
    for (const std::uint32_t level : levels) {
        heights.push_back(top - level);
    }
    return heights;
}

}  // namespace

base::Result<Orientation> tree_orientation(const Topology& topology, const Graph& graph,
                                           const RouteOptions& options) {
    const base::Result<HostSample> sample = sample_hosts(graph);
    if (!sample) {
        return tl::unexpected<base::Error>(sample.error());
    }
    Levels levels;
    if (options.root_guids.empty()) {
        levels = levels_from_hosts(graph, *sample);
    } else {
        const base::Result<std::vector<std::uint32_t>> roots = configured_roots(topology, options);
        if (!roots) {
            return tl::unexpected<base::Error>(roots.error());
        }
        levels = levels_from_roots(graph, *roots);
    }
    if (std::string reason = why_no_tree(graph, levels); !reason.empty()) {
        return base::fail(base::ErrorKind::unsupported, std::move(reason));
    }
    Orientation tree;
    tree.heights = heights_from_levels(levels);
    tree.order = ftree_order(graph, levels, sample->mean, scarce_switches(topology));
    tree.roots = switches_with_none_above(
        topology, graph, [&](std::uint32_t peer, std::uint32_t at) { return levels[peer] > levels[at]; });
    return tree;
}

base::Result<Routes> route_ftree(const Topology& topology, const Routes* previous,
                                 const RouteOptions& options) {
    base::Result<Routes> routes = build_up_down_tables(topology, previous, options, [&](const Graph& graph) {
        return tree_orientation(topology, graph, options);
    });
    if (routes) {
        routes->engine = "ftree";
    }
    return routes;
}

}  // namespace ibf::routing
