// DOC: a snapshot of a fabric that is up, made from a netlist, for tests of readers (API, exports).
#pragma once

#include <string>

#include "daemon/fabric/planned.hpp"
#include "routing/netlist.hpp"

namespace ibf::test {

/// Nodes in netlist order; the first adapter is the SM's. LIDs as routing::topology_of lays them out.
inline fabric::Snapshot snapshot_of(const routing::Netlist& netlist, const routing::RouteOptions& options) {
    const auto topology = routing::topology_of(netlist, 0);
    if (!topology) {
        return {};
    }
    const auto outcome = routing::route(*topology, nullptr, options);
    return fabric::planned_snapshot(netlist, *topology, outcome ? &*outcome : nullptr);
}

/// The same from a generator or file.
inline fabric::Snapshot snapshot_of_spec(const std::string& spec) {
    const auto netlist = routing::netlist_from_spec(spec);
    return netlist ? snapshot_of(*netlist, routing::RouteOptions{}) : fabric::Snapshot{};
}

}  // namespace ibf::test
