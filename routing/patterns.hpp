// DOC: traffic patterns laid over finished tables.
//
// A pattern says who sends to whom at the same time. Laid over the tables, every directed switch-to-switch
// link counts the flows that cross it; what the most loaded one carries says how much slower the pattern
// gets than on a crossbar. Read from Topology and Routes alone, so any tables can be judged: ours, a
// switch's own, another SM's. All-to-all, which needs no pattern by pattern, is in quality.cpp.
//
// One flow for each end port that takes part, to the base LID of its partner. The links of end ports carry
// one flow each way and are not counted. Flows that do not arrive load nothing; they are counted apart.
//
// Random choices follow from the seed and the number of the pattern alone: figures do not depend on threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "routing/routes.hpp"

namespace ibf::routing {

enum class Pattern : std::uint8_t {
    /// End port i sends to i + k, for every displacement k from 1 to N-1: what the collectives of MPI are
    /// made of (Zahavi, JPDC 72, 2012). `hosts` in their usual order give the figure that routing aims at.
    shift,
    /// End port i sends to i + 1, the last to the first, and nothing else: what ring algorithms (all-reduce
    /// of training jobs) do in every step. One pattern; `hosts` are the ranks in their order.
    ring,
    /// Random permutations; who would send to itself is silent.
    permutation,
    /// Random perfect matchings, both directions at once. Their bandwidth is the effective bisection
    /// bandwidth (Hoefler, Schneider and Lumsdaine, 2008, and their simulator ORCS). Of an odd number one
    /// stays idle.
    matching,
};

struct PatternOptions {
    std::uint64_t seed = 1;
    std::uint32_t draws = 200;          ///< how many of a kind are drawn
    std::uint32_t shifts_most = 2'048;  ///< up to so many displacements all are laid, beyond `draws` of them
    unsigned threads = 0;               ///< 0: all cores; figures do not depend on it
};

struct PatternFigures {
    std::uint64_t patterns = 0;    ///< laid; 0 if fewer than two end ports take part
    double mean_worst = 0;         ///< "mean-max": mean over patterns of the flows on the most loaded link
    std::uint64_t worst = 0;       ///< the most of any pattern
    double bandwidth = 0;          ///< mean over patterns and flows of 1 / (most flows on a link of its path)
    std::uint64_t lost_flows = 0;  ///< did not arrive: no bandwidth, no load
};

/// All end ports that can send and be sent to, in the order in which a scheduler that knows the fabric gives
/// out ranks: on a grid (coordinates.hpp) by coordinates, the last dimension fastest; else leaf by leaf, pod
/// by pod, as engines number them. Those of one switch by port.
[[nodiscard]] std::vector<EndPortIndex> usual_order(const Topology& topology, unsigned threads);

/// REQUIRES: each of `hosts` hangs off a switch and has a LID (as those of usual_order() do).
[[nodiscard]] PatternFigures lay_pattern(Pattern pattern, const Topology& topology, const Routes& routes,
                                         std::span<const EndPortIndex> hosts, const PatternOptions& options);

struct LaidPattern {
    PatternFigures figures;
    /// Of every link the most flows that any of the patterns lays on it, in the order of switch and port.
    std::vector<LinkLoad> links;
};
/// The same, and where it is.
[[nodiscard]] LaidPattern lay_pattern_by_link(Pattern pattern, const Topology& topology, const Routes& routes,
                                              std::span<const EndPortIndex> hosts,
                                              const PatternOptions& options);

}  // namespace ibf::routing
