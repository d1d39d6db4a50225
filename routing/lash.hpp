// DOC: LASH: layered shortest paths, one per pair of switches.
//
// Skeie, Lysne, Theiss 2002. All LIDs at a switch share one path from every other switch; the two paths of a
// pair travel in the same layer, the first one that stays free of cycles. For compatibility: dfsssp needs
// fewer lanes and spreads traffic. docs/routing/lash.md describes it.
#pragma once

#include "routing/routes.hpp"

namespace ibf::routing {

[[nodiscard]] base::Result<Routes> route_lash(const Topology& topology, const Routes* previous,
                                              const RouteOptions& options);

}  // namespace ibf::routing
