// DOC: the ftree engine: folded Clos networks, whole or damaged, by a closed form. See docs/routing/ftree.md.
//
// Levels are found (tree_levels.hpp), the switches are put in a total order that follows them, and from there
// on it is up*/down* (updown.hpp): one lane, no ring of waiting channels, whatever is broken. Refuses fabrics
// that are no trees, never for damage.
#pragma once

#include "routing/engine_tables.hpp"
#include "routing/routes.hpp"
#include "routing/tree_levels.hpp"
#include "routing/updown.hpp"

namespace ibf::routing {

/// A total order that keeps the shortest level paths (up, up, down, down) between leaves, and leaves no pair
/// of switches without a path. `last[s]` != 0 places a switch as late as connectivity allows; `mean` breaks
/// ties of level, the smaller the higher.
///
/// Levels alone lose pairs: spines have no path to each other, nor a spine to a pod whose cable it lost. So
/// the order starts with one leaf and everything above it, level by level upward: all meet there. Then the
/// rest, always the highest switch beside those placed. Seen from any other leaf the way up is up in the
/// order too, until it meets the part above the start, where up and down swap names: paths up to a spine and
/// down again stay legal. A spine that cannot be reached from the start enters the order through some switch
/// below it; that link is spare.
[[nodiscard]] UpDownOrder ftree_order(const Graph& graph, const Levels& levels,
                                      const std::vector<std::uint32_t>& mean, const std::vector<char>& last);

/// Levels and order of a whole graph, for up/down on trees. Errors: unsupported, with the plain reason why
/// the graph is no tree.
[[nodiscard]] base::Result<Orientation> tree_orientation(const Topology& topology, const Graph& graph,
                                                         const RouteOptions& options);

[[nodiscard]] base::Result<Routes> route_ftree(const Topology& topology, const Routes* previous,
                                               const RouteOptions& options);

}  // namespace ibf::routing
