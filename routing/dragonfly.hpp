// DOC: dragonfly: minimal paths local - global - local, on two lanes.
//
// Serves dragonfly and dragonfly+ (dragonfly_groups.hpp). Inside a group paths go up the group's order, then
// down (dragonfly_groups.hpp: place), so local cables alone never wait in a ring. A path takes one global
// cable; the lane goes up by one behind it, which a switch tells from the port that the packet came in by
// (Maglione-Mathey et al. 2025, for InfiniBand, where the service level is fixed for the whole way). No lane
// then waits for a lower one.
//
// What does not fit that shape has a service level of its own: 1 where the last group takes several hops
// (dragonfly+: to a spine); 2 for paths over a third group, where two groups have lost their cables to each
// other, on a third lane; 3 for what is left (several hops in both groups), on a fourth, without a promise.
// docs/routing/dragonfly.md tells more.
#pragma once

#include "routing/routes.hpp"

namespace ibf::routing {

[[nodiscard]] base::Result<Routes> route_dragonfly(const Topology& topology, const Routes* previous,
                                                   const RouteOptions& options);

}  // namespace ibf::routing
