// DOC: DFSSSP: SSSP's shortest paths, freed of deadlock by layers.
//
// Domke, Hoefler, Nagel 2011. Serves any graph with minimal hops, if the links have enough lanes: layers.hpp
// finds how many. docs/routing/dfsssp.md describes it.
#pragma once

#include "routing/routes.hpp"

namespace ibf::routing {

[[nodiscard]] base::Result<Routes> route_dfsssp(const Topology& topology, const Routes* previous,
                                                const RouteOptions& options);

}  // namespace ibf::routing
