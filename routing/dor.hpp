// DOC: dor: dimension order on meshes, hypercubes, HyperX and tori.
//
// Every path corrects one coordinate after the other, so the dimensions never wait for each other; within a
// line nothing waits in a ring (grid_ways.hpp). One lane suffices, but for rings of four and more switches:
// they have datelines and take two. A ring of four is two dimensions of a hypercube here, so a 4x4x4 torus
// needs one lane, while it is whole. A missing switch where paths turn is refused: torus-2qos goes around it.
#pragma once

#include "routing/routes.hpp"

namespace ibf::routing {

[[nodiscard]] base::Result<Routes> route_dor(const Topology& topology, const Routes* previous,
                                             const RouteOptions& options);

}  // namespace ibf::routing
