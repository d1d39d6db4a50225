// DOC: down/up: up*/down* with switches ranked from those that carry adapters upward.
//
// A switch stands the higher, the farther it is from the nearest adapter; updn ranks by the mean distance to
// all of them, or from given roots. docs/routing/dnup.md describes it.
#pragma once

#include "routing/graph.hpp"
#include "routing/routes.hpp"

namespace ibf::routing {

[[nodiscard]] Heights heights_from_nearest_host(const Graph& graph, const ByteMatrix& distances);

[[nodiscard]] base::Result<Routes> route_dnup(const Topology& topology, const Routes* previous,
                                              const RouteOptions& options);

}  // namespace ibf::routing
