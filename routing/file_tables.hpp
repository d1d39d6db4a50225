// DOC: tables from a file: what somebody else computed, or an earlier export, put onto this fabric.
//
// Switches and destinations are matched by GUID. A table for every switch is demanded; what the file says of
// LIDs that nobody has now is left out and counted. The proof judges the rest as it judges any tables: the
// file may come from a program that knows nothing of deadlock. docs/routing/file.md describes it.
#pragma once

#include "routing/routes.hpp"

namespace ibf::routing {

[[nodiscard]] base::Result<Routes> route_file(const Topology& topology, const Routes* previous,
                                              const RouteOptions& options);

}  // namespace ibf::routing
