// DOC: nue: any connected graph on any number of lanes, free of credit loops by construction.
//
// After Domke, Hoefler and Matsuoka, "Routing on the Dependency Graph: A New Approach to Deadlock-Free
// High-Performance Routing", HPDC 2016. Destinations are split over the lanes (SL = lane = the set that the
// destination's switch is in), and each lane lays its in-trees so that their dependencies stay acyclic
// (nue_lane.hpp). Lanes know of each other only by the flows on their links.
//
// Lanes: one, unless detours then add more than 1 % to the hops of all flows, or the worst link carries more
// than twice what it does under min-hop; else twice as many, and so on, up to RouteOptions::vls_max and what
// all inter-switch links have. If that is never reached, more lanes are used only if they relieve the worst
// link by a tenth, or shorten detours that fewer lanes cannot keep to 1 %.
//
// Earlier routes: their lanes are used again, every switch stays in its set (so SLs that hosts were told stay
// true), and entries stay where they lead as near to the destination as any other and close no cycle with
// what is laid before them. If detours come to more than 2 % and there are lanes left, all starts anew.
//
// docs/routing/nue.md tells the rest.
#pragma once

#include "routing/routes.hpp"

namespace ibf::routing {

[[nodiscard]] base::Result<Routes> route_nue(const Topology& topology, const Routes* previous,
                                             const RouteOptions& options);

}  // namespace ibf::routing
