// DOC: up*/down* hops over a total order of the switches.
//
// A packet never goes up again after it went down (Schroeder et al., Autonet, 1991). "Up" is toward the
// smaller position of a total order, so channels cannot wait for each other in a ring: one lane suffices,
// whatever the order and whatever is broken. What an order decides is which paths are left. The engines
// differ in the order; from there on this file serves them all.
//
// Tables know the destination only, not where a packet came from. Hence the rule: a switch that can go down
// to the destination does, because a packet that came down has no other way; else it goes up, where the whole
// path is shortest.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "routing/engine_tables.hpp"
#include "routing/graph.hpp"

namespace ibf::routing {

/// Every switch but the first of a component should have a neighbour before it: then all pairs have a path.
struct UpDownOrder {
    std::vector<std::uint32_t> position;  ///< by switch, a permutation
    /// A link down from w to s is spare if rank[s] > reach[w]. Spare links are used toward a destination only
    /// if some switch has no way to it without them: who can go down must, so a link that is down in the
    /// order but leads nowhere in particular would draw all traffic of its switch. Empty: no link is spare.
    std::vector<std::uint32_t> rank;
    std::vector<std::uint32_t> reach;

    [[nodiscard]] bool is_up(std::uint32_t from, std::uint32_t to) const {
        return position[to] < position[from];
    }
    [[nodiscard]] bool is_spare(std::uint32_t from, std::uint32_t to) const {
        return !rank.empty() && !is_up(from, to) && rank[to] > reach[from];
    }
};

/// down: hops using down links only. whole: hops of the path taken, up links first. goal: what an up-going
/// hop must come closer to; switches that can go down have a goal that no neighbour meets.
struct UpDownHops {
    ByteMatrix down;
    ByteMatrix whole;
    ByteMatrix goal;
};

/// Errors: unsupported where a path is longer than kDistanceMax.
[[nodiscard]] base::Result<UpDownHops> up_down_hops(const Graph& graph, const UpDownOrder& order,
                                                    unsigned threads);

/// The candidates that follow from the hops. `graph` and `order` must outlive the rule.
[[nodiscard]] CandidateRule up_down_rule(const Graph& graph, const UpDownOrder& order,
                                         std::shared_ptr<const UpDownHops> hops);

}  // namespace ibf::routing
