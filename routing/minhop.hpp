// DOC: min-hop: every packet takes a shortest path.
//
// Serves any graph, but promises no freedom from credit loops: the proof decides whether its tables are used.
// docs/routing/minhop.md describes it.
#pragma once

#include "routing/engine_tables.hpp"
#include "routing/routes.hpp"

namespace ibf::routing {

/// Candidates: all neighbours that are one hop nearer; where the graph has weights, nearer by the weight.
[[nodiscard]] base::Result<EnginePlan> minhop_plan(const Graph& graph, unsigned threads);

[[nodiscard]] base::Result<Routes> route_minhop(const Topology& topology, const Routes* previous,
                                                const RouteOptions& options);

}  // namespace ibf::routing
