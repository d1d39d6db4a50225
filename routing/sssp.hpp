// DOC: SSSP: shortest paths, balanced over the whole fabric.
//
// Serves any graph on one lane; whether its paths can deadlock is for the proof to say. dfsssp.hpp adds
// lanes. docs/routing/sssp.md describes it.
#pragma once

#include "routing/routes.hpp"

namespace ibf::routing {

[[nodiscard]] base::Result<Routes> route_sssp(const Topology& topology, const Routes* previous,
                                              const RouteOptions& options);

}  // namespace ibf::routing
