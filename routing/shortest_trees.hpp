// DOC: shortest paths by weight, destination after destination.
//
// As in SSSP routing (Hoefler, Schneider, Lumsdaine 2009): a link weighs what flows over it so far; the tree
// of the next LID takes, among the paths with fewest hops, the lightest; then the sources behind each of its
// links are added to that link. Hops come from the candidates, not from a large weight, so nothing overflows:
// all flows of a subnet together are less than 49,151 squared. Where rates are weighed a flow weighs more on
// a slower link, by as much as that is slower than the fastest.
//
// The entry that the tables begin with (the closed form of engine_tables.hpp) stays unless another is
// lighter: on an intact tree nothing is, so the closed form's contention-free order survives.
#pragma once

#include <cstdint>
#include <vector>

#include "routing/engine_tables.hpp"

namespace ibf::routing {

/// By link: a path takes a link of the lowest rank among its candidates. Empty: all are equal.
using LinkRanks = std::vector<std::uint8_t>;

/// What shares a tree.
enum class TreePer : std::uint8_t { lid, switch_ };

/// REQUIRES: the plan's lengths are hop distances (where the graph has weights: sums of them), its candidates
/// all neighbours that are nearer by one (by the weight).
void lay_shortest_trees(const Graph& graph, const EnginePlan& plan, const Flows& flows, TreePer sharing,
                        const LinkRanks& ranks, const DraftRows& rows);

/// min-hop candidates, spread by lay_shortest_trees. With earlier tables (`previous`), entries that are still
/// shortest stay.
[[nodiscard]] base::Result<Routes> shortest_tree_tables(const Topology& topology, const Routes* previous,
                                                        TreePer sharing, const LinkRanks& ranks,
                                                        const RouteOptions& options);

}  // namespace ibf::routing
