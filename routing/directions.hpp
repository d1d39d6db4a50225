// DOC: which links run the same way.
//
// In a torus, a mesh, a hypercube or a HyperX, links fall into dimensions, and paths that finish one
// dimension before they begin the next make few kinds of turns, so few lanes make them safe. Those graphs are
// Cartesian products, and the dimensions can be read off the graph: opposite links of a square (a cycle of
// four switches without a shortcut, the only one between its corners) run the same way, and two links of a
// square that meet run different ways (Feder 1992; Imrich and Peterin 2007). Damage takes away squares,
// seldom the last one that tells two links apart. In other graphs squares mean little; there the ranks are
// not worth using.
#pragma once

#include "routing/graph.hpp"
#include "routing/links.hpp"
#include "routing/shortest_trees.hpp"

namespace ibf::routing {

/// Links that cross in a square get different ranks. Empty if no two links do.
[[nodiscard]] LinkRanks direction_ranks(const Graph& graph);

}  // namespace ibf::routing
