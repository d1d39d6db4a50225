// DOC: a simulated fabric that is as a topology and its routes say.
//
// program() does in one stroke what a subnet manager does by MADs: LIDs, tables, every link Active. For
// rehearsals of the probe, where the manager is not what is looked at. SimPlaces finds the simulator's nodes
// by the topology's numbers (by GUID).
#pragma once

#include <vector>

#include "probe/proof/place.hpp"
#include "sim/simulator.hpp"
#include "sim/world.hpp"

namespace ibf::probe {

class SimPlaces {
public:
    SimPlaces(const sim::Simulator& simulator, const routing::Topology& topology);
    /// REQUIRES: the simulator has the node.
    [[nodiscard]] sim::PortRef at(const Place& place) const;
    [[nodiscard]] sim::PortRef at(const routing::Topology& topology, routing::EndPortIndex end) const;

private:
    std::vector<std::uint32_t> switches_;   ///< node by SwitchIndex; kNoNode: not there
    std::vector<std::uint32_t> end_ports_;  ///< node by EndPortIndex
};

/// REQUIRES: the topology is of the simulator's netlist.
void program(sim::Simulator& simulator, const routing::Topology& topology, const routing::Routes& routes);

}  // namespace ibf::probe
