// DOC: min-hop: every packet takes a shortest path.
//
// Serves any graph, but promises no freedom from credit loops: the proof decides whether its tables are used.
// docs/routing/minhop.md describes it.
#pragma once

#include "routing/routes.hpp"

namespace ibf::routing {

[[nodiscard]] base::Result<Routes> route_minhop(const Topology& topology, const Routes* previous,
                                                const RouteOptions& options);

}  // namespace ibf::routing
