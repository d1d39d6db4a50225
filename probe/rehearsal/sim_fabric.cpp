#include "probe/rehearsal/sim_fabric.hpp"

#include <map>

#include "base/check.hpp"

namespace ibf::probe {
namespace {

void activate(sim::Simulator& simulator, std::uint32_t node, mad::PortNum port) {
    mad::PortInfo info = simulator.port_info(node, port);
    if (info.state != mad::PortState::down) {
        info.state = mad::PortState::active;
        simulator.set_port_info(node, port, info);
    }
}

void give_lid(sim::Simulator& simulator, std::uint32_t node, mad::PortNum port, const mad::LidRange& lids) {
    mad::PortInfo info = simulator.port_info(node, port);
    info.lid = lids.base;
    info.lmc = lids.lmc;
    simulator.set_port_info(node, port, info);
}

}  // namespace

SimPlaces::SimPlaces(const sim::Simulator& simulator, const routing::Topology& topology) {
    std::map<mad::Guid, std::uint32_t> nodes;
    for (std::uint32_t node = 0; node < simulator.world().size(); ++node) {
        nodes.emplace(simulator.world().device(node).info.node_guid, node);
    }
    const auto find = [&](mad::Guid guid) {
        const auto found = nodes.find(guid);
        return found != nodes.end() ? found->second : sim::kNoNode;
    };
    for (const routing::TopologySwitch& item : topology.switches) {
        switches_.push_back(find(item.guid));
    }
    for (const routing::TopologyEndPort& item : topology.end_ports) {
        end_ports_.push_back(find(item.node_guid));
    }
}

sim::PortRef SimPlaces::at(const Place& place) const {
    const std::uint32_t node = place.is_switch ? switches_[place.index] : end_ports_[place.index];
    IBF_CHECK(node != sim::kNoNode, "a place that the simulator does not have");
    return {node, place.port};
}

sim::PortRef SimPlaces::at(const routing::Topology& topology, routing::EndPortIndex end) const {
    return at(place_of(topology, end));
}

void program(sim::Simulator& simulator, const routing::Topology& topology, const routing::Routes& routes) {
    const SimPlaces places(simulator, topology);
    for (std::uint32_t at = 0; at < topology.switches.size(); ++at) {
        const std::uint32_t node = places.at(Place{.index = at}).node;
        give_lid(simulator, node, mad::PortNum{0}, topology.switches[at].lids);
        for (std::size_t port = 1; port < topology.switches[at].peers.size(); ++port) {
            activate(simulator, node, mad::PortNum{static_cast<std::uint8_t>(port)});
        }
        const routing::LftRow* row = routes.rows[at].get();
        for (std::uint32_t lid = 0; row != nullptr && lid < row->size(); ++lid) {
            simulator.set_lft_entry(node, mad::Lid{static_cast<std::uint16_t>(lid)}, (*row)[lid]);
        }
        mad::SwitchInfo info = simulator.switch_info(node);
        info.linear_fdb_top = topology.max_lid;
        info.port_state_change = false;
        simulator.set_switch_info(node, info);
    }
    for (std::uint32_t end = 0; end < topology.end_ports.size(); ++end) {
        const sim::PortRef at = places.at(topology, routing::EndPortIndex{end});
        activate(simulator, at.node, at.port);
        give_lid(simulator, at.node, at.port, topology.end_ports[end].lids);
    }
}

}  // namespace ibf::probe
