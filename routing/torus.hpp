// DOC: torus-2qos: dimension order on tori of up to three dimensions that stands cables and switches lost.
//
// After Schutt's torus-2QoS (Sandia; in OpenSM): a dateline per dimension, told by a bit of the service
// level; a ring that lost a cable is used the long way round; a missing switch is avoided by one early turn,
// and the hop after the turn that dimension order forbids has lanes of its own. Two lanes intact, four where
// switches are missing. docs/routing/torus-2qos.md tells why that cannot deadlock, and when it is refused.
#pragma once

#include "routing/routes.hpp"

namespace ibf::routing {

[[nodiscard]] base::Result<Routes> route_torus(const Topology& topology, const Routes* previous,
                                               const RouteOptions& options);

}  // namespace ibf::routing
