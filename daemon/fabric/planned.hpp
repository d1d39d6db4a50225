// DOC: the snapshot that a plan would leave behind.
//
// A fabric that nobody runs, as readers of snapshots (exports) see it: what discovery, LID assignment,
// routing and programming would have left, made from a netlist without running them. Every cable is Active,
// the tables in force are the computed ones, the first adapter is the SM's. What a netlist does not say of
// ports (MTU, keys) is what most ports have.
#pragma once

#include <memory>

#include "daemon/fabric/snapshot.hpp"
#include "routing/netlist.hpp"
#include "routing/routes.hpp"
#include "routing/topology.hpp"

namespace ibf::fabric {

/// `topology` is that of the netlist: the LIDs are its own. `routes` were made on it, or are null: none.
[[nodiscard]] Snapshot planned_snapshot(const routing::Netlist& netlist, const routing::Topology& topology,
                                        const routing::RouteOutcome* routes);

}  // namespace ibf::fabric
