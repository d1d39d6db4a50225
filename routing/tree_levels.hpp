// DOC: is this a tree, and which switch stands on which level?
//
// Levels are counted from the leaves (0) upward: hops to the nearest leaf. In a folded Clos network all links
// join neighbouring levels, and the loss of a link changes no level unless a switch loses all its ways down.
//
// What is a leaf does not follow from "has hosts": aggregation nodes and servers hang off spines too, and
// leaves stand half empty. It follows from how far hosts are. Seen from a leaf all hosts but its own are
// farther than from the switches above it. So the mean distance to the hosts, taken over a sample of them,
// tells the two apart.
//
// Not here: the order of the switches that follows from the levels (ftree.cpp).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "routing/graph.hpp"

namespace ibf::routing {

inline constexpr unsigned kHostSamples = 64;  ///< a machine word of breadth-first searches at once

/// Hops from every switch to sampled hosts: host number k of the sample hangs off switch at[k]. Hosts are
/// taken evenly from all hosts in the order of their switches; fewer than 64 hosts are all taken.
struct HostSample {
    std::vector<std::uint32_t> at;
    std::vector<std::array<std::uint8_t, kHostSamples>> hops;  ///< by switch; kUnreached: none
    std::vector<std::uint32_t> mean;                           ///< by switch, in 256ths of a hop
};
/// Errors: unsupported beyond kDistanceMax hops.
[[nodiscard]] base::Result<HostSample> sample_hosts(const Graph& graph);

/// Hops to the nearest of the given switches; kNoIndex where there is none.
[[nodiscard]] std::vector<std::uint32_t> hops_from(const Graph& graph, std::vector<std::uint32_t> reached);

using Levels = std::vector<std::uint32_t>;

[[nodiscard]] Levels levels_from_hosts(const Graph& graph, const HostSample& sample);
/// Counted down from the given roots; switches that no root reaches stand on level 0.
[[nodiscard]] Levels levels_from_roots(const Graph& graph, const std::vector<std::uint32_t>& roots);

/// Empty if the links are those of a tree, whole or damaged; else the plain reason why not: too many links
/// join switches of one level. A graph without a circle is a tree whatever its levels.
[[nodiscard]] std::string why_no_tree(const Graph& graph, const Levels& levels);

}  // namespace ibf::routing
