// DOC: a snapshot of a fabric that is up, made from a netlist.
//
// For tests of readers (API, exports): what discovery, LID assignment, routing and programming would have
// left behind, without running them. Every link is Active, every table in force is the computed one.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "daemon/fabric/snapshot.hpp"
#include "routing/netlist.hpp"

namespace ibf::test {

/// Nodes in netlist order; the first adapter is the SM's. LIDs as routing::topology_of lays them out.
inline fabric::Snapshot snapshot_of(const routing::Netlist& netlist, const routing::RouteOptions& options);

/// The same from a generator or file.
inline fabric::Snapshot snapshot_of_spec(const std::string& spec) {
    const auto netlist = routing::netlist_from_spec(spec);
    return netlist ? snapshot_of(*netlist, routing::RouteOptions{}) : fabric::Snapshot{};
}

namespace detail {

/// LinkSpeedActive bits, and LinkSpeedExtActive codes from FDR on.
inline void set_speed(mad::PortInfo& info, mad::LinkSpeed speed) {
    info.speed_active = speed == mad::LinkSpeed::sdr ? 1 : speed == mad::LinkSpeed::ddr ? 2 : 4;
    info.speed_supported = 7;
    switch (speed) {
        case mad::LinkSpeed::fdr: info.speed_ext_active = 1; break;
        case mad::LinkSpeed::edr: info.speed_ext_active = 2; break;
        case mad::LinkSpeed::hdr: info.speed_ext_active = 4; break;
        case mad::LinkSpeed::ndr: info.speed_ext_active = 8; break;
        default: info.speed_supported = info.speed_active; return;
    }
    info.capability_mask |= 0x00004000U;
    info.speed_ext_supported = info.speed_ext_active;
}

inline fabric::Port to_port(const routing::NetlistPort& from, bool is_switch,
                            const routing::NetlistNode& node, std::uint8_t number) {
    fabric::Port port;
    port.known = true;
    port.info.local_port = mad::PortNum{number};
    if (!is_switch) {
        port.guid = from.guid != mad::Guid{} ? from.guid : mad::Guid{node.guid.value() + number};
        port.pkeys.resize(1);
        port.pkeys[0].keys[0] = mad::kPKeyDefaultFull;
    }
    port.info.phys_state = from.peer_node ? mad::PhysState::link_up : mad::PhysState::polling;
    port.info.state = from.peer_node ? mad::PortState::active : mad::PortState::down;
    if (from.peer_node) {
        port.peer = {*from.peer_node, from.peer_port};
        port.info.width_active = from.width;
        port.info.width_supported = static_cast<std::uint8_t>(from.width);
        set_speed(port.info, from.speed);
        port.info.neighbor_mtu = mad::Mtu::b4096;
        port.info.mtu_cap = mad::Mtu::b4096;
    }
    return port;
}

inline fabric::Node to_node(const routing::NetlistNode& from) {
    fabric::Node node;
    node.info.type = from.type;
    node.info.num_ports = from.num_ports();
    node.info.node_guid = from.guid;
    node.info.system_guid = from.system_guid;
    node.info.port_guid = from.guid;
    node.info.vendor_id = from.vendor_id;
    node.info.device_id = from.device_id;
    node.info.revision = 0xA1;
    node.description = from.description;
    if (node.is_switch()) {
        node.switch_info.emplace();
        node.switch_info->linear_fdb_cap = 0xC000;
        node.switch_info->enhanced_port0 = from.enhanced_port0;
    }
    for (std::size_t p = 0; p < from.ports.size(); ++p) {
        node.ports.push_back(to_port(from.ports[p], node.is_switch(), from, static_cast<std::uint8_t>(p)));
    }
    if (node.is_switch()) {
        // As on the wire: what a switch can do is said by its port 0 alone.
        for (std::size_t p = 1; p < node.ports.size(); ++p) {
            node.ports[0].info.capability_mask |= std::exchange(node.ports[p].info.capability_mask, 0U);
        }
    }
    return node;
}

/// Copies the LIDs that topology_of laid out into the ports, as a finished sweep would show them.
inline fabric::LidMap set_lids(fabric::Fabric& fabric, const routing::Topology& topology) {
    std::unordered_map<std::uint64_t, std::uint32_t> nodes;
    for (std::uint32_t n = 0; n < fabric.nodes.size(); ++n) {
        nodes.emplace(fabric.nodes[n].guid().value(), n);
    }
    fabric::LidMap lids;
    const auto set = [&](mad::Guid node_guid, mad::PortNum number, const mad::LidRange& range) {
        fabric::Node& node = fabric.nodes[nodes.at(node_guid.value())];
        node.ports[number.value()].info.lid = range.base;
        node.ports[number.value()].info.lmc = range.lmc;
        lids.emplace(fabric::lid_owner(node, number), range);
    };
    for (const auto& item : topology.switches) {
        set(item.guid, mad::PortNum{0}, item.lids);
    }
    for (const auto& item : topology.end_ports) {
        set(item.node_guid, item.port, item.lids);
    }
    return lids;
}

}  // namespace detail

inline fabric::Snapshot snapshot_of(const routing::Netlist& netlist, const routing::RouteOptions& options) {
    auto fabric = std::make_shared<fabric::Fabric>();
    for (const auto& node : netlist.nodes) {
        fabric->nodes.push_back(detail::to_node(node));
    }
    for (std::uint32_t n = 0; n < fabric->nodes.size() && fabric->local.node == fabric::kNoNode; ++n) {
        if (!fabric->nodes[n].is_switch()) {
            fabric->local = {n, mad::PortNum{1}};
        }
    }
    fabric::Snapshot snapshot;
    const auto laid_out = routing::topology_of(netlist, 0);
    if (!laid_out) {
        return snapshot;
    }
    const fabric::LidMap lids = detail::set_lids(*fabric, *laid_out);
    auto view = std::make_shared<const fabric::TopologyView>(fabric::topology_of(*fabric, lids));
    snapshot.mode = fabric::SmMode::up;
    snapshot.mode_text = "SUBNET UP";
    snapshot.fabric = fabric;
    snapshot.view = view;
    snapshot.routes_for = view;
    if (auto outcome = routing::route(view->topology, nullptr, options)) {
        snapshot.programmed = outcome->routes.rows;
        snapshot.routes = std::make_shared<const routing::RouteOutcome>(std::move(*outcome));
    }
    return snapshot;
}

}  // namespace ibf::test
