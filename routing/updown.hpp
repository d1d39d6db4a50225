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
//
// Spare links go down in the order, but up in the fabric. Who can go down over one need not: nobody sends
// down to a switch that has no other way down to the destination, so all packets that meet the spare link
// there came up, and may take it or go on upward, whichever is shorter.
//
// Hops are worked out for 64 destinations at a time. An evaluation can build on an earlier one: what no lost
// or new link reaches is shared with it, and which lines of 64 differ is told. The bytes are those of a full
// evaluation.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "routing/graph.hpp"
#include "routing/line_bits.hpp"

namespace ibf::routing {

/// Every switch but the first of a component should have a neighbour before it: then all pairs have a path.
struct UpDownOrder {
    std::vector<std::uint32_t> position;  ///< by switch, a permutation
    /// A link down from w to s is spare if rank[s] > reach[w]. If it counted as a way down it would draw all
    /// traffic of w, since who can go down must; it does so only toward destinations that some switch has no
    /// way to otherwise. Toward all others it is one more way of going up. Empty: no link is spare.
    std::vector<std::uint32_t> rank;
    std::vector<std::uint32_t> reach;

    [[nodiscard]] bool is_up(std::uint32_t from, std::uint32_t to) const {
        return position[to] < position[from];
    }
    [[nodiscard]] bool is_spare(std::uint32_t from, std::uint32_t to) const {
        return !rank.empty() && !is_up(from, to) && rank[to] > reach[from];
    }
};

enum class UpDownLink : std::uint8_t { up, down, spare };

/// One evaluation, whole and immutable.
struct UpDown {
    std::shared_ptr<const Graph> graph;
    UpDownOrder order;
    std::vector<UpDownLink> links;         ///< by graph group
    std::vector<std::uint8_t> components;  ///< by switch, the low byte of a number per component
    ByteMatrix down;                       ///< [s][d]: hops using down links only
    ByteMatrix whole;                      ///< [s][d]: hops of the path taken, up links first
    std::vector<char> needs_spares;        ///< by line of 64 destinations
};

/// Lines that differ from those of the evaluation that was built on.
struct UpDownChanges {
    LineBits down;
    LineBits whole;
    std::vector<char> relinked;  ///< by switch: other neighbours, or another way to them
};

struct UpDownStep {
    std::shared_ptr<const UpDown> now;
    std::optional<UpDownChanges> changes;  ///< none: worked out anew
};

/// The evaluation as if switches had been numbered otherwise from the start: `old_of[s]` is the former number
/// of switch s, ascending. Switches that are not named are gone, their links lead nowhere.
[[nodiscard]] std::shared_ptr<const UpDown> renumbered(const UpDown& old,
                                                       const std::vector<std::uint32_t>& old_of,
                                                       unsigned threads);

/// `before` may be null; it is built on if it is of the same switches (by index) in the same components.
/// Errors: unsupported where a path is longer than kDistanceMax.
[[nodiscard]] base::Result<UpDownStep> up_down_step(std::shared_ptr<const Graph> graph, UpDownOrder order,
                                                    const UpDown* before, unsigned threads);

}  // namespace ibf::routing
