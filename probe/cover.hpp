// DOC: which pairs of end ports see every link.
//
// A cover is a list of flows whose paths together cross every directed switch-to-switch link that the path of
// any pair crosses. Fewest is set cover, which nobody computes at the size of a fabric; greedy choice (always
// a pair that crosses most of what is left) is within 1 + ln(longest path) of it (Chvatal, 1979), and a
// flow that others make superfluous is dropped in the end. All pairs are candidates, each LID of an LMC range
// by itself: too many to keep, so they are looked at table column by table column, and a column only while
// the most that it can still give is what is being taken (lazy evaluation: what is left never grows).
//
// Beside it stands how many flows any cover needs at least, so that one sees what greed has cost.
//
// The order in which hosts are named, and the number of threads, do not matter. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "probe/flow.hpp"
#include "routing/routes.hpp"

namespace ibf::probe {

struct Cover {
    std::vector<Flow> flows;              ///< in the order of choice
    std::uint64_t links = 0;              ///< directed, between switches
    std::uint64_t crossed = 0;            ///< by these flows: all that any pair crosses
    std::uint64_t lower_bound = 0;        ///< no cover has fewer flows
    std::vector<DirectedLink> uncrossed;  ///< no pair's path leads there; by switch and port
};

/// REQUIRES: each of `hosts` hangs off a switch and has a LID (as those of routing::usual_order() do). Paths
/// that do not arrive cross nothing.
[[nodiscard]] Cover cover_links(const routing::Topology& topology, const routing::Routes& routes,
                                std::span<const routing::EndPortIndex> hosts, unsigned threads);

}  // namespace ibf::probe
