#include "daemon/fabric/planned.hpp"

#include <map>
#include <utility>

#include "mad/speeds_beyond.hpp"

namespace ibf::fabric {
namespace {

constexpr std::uint32_t kCapExtendedSpeeds = 0x00004000;
constexpr std::uint32_t kCapMask2 = 0x00008000;

std::uint8_t extended_code(mad::LinkSpeed speed) {
    switch (speed) {
        case mad::LinkSpeed::fdr: return mad::kSpeedExtFdr;
        case mad::LinkSpeed::edr: return mad::kSpeedExtEdr;
        case mad::LinkSpeed::hdr: return mad::kSpeedExtHdr;
        case mad::LinkSpeed::ndr: return mad::kSpeedExtNdr;
        default: return 0;
    }
}

/// A port that runs at this speed, and says that it could run no faster.
void set_speed(mad::PortInfo& info, mad::LinkSpeed speed) {
    info.speed_active = speed == mad::LinkSpeed::sdr ? 1 : speed == mad::LinkSpeed::ddr ? 2 : 4;
    info.speed_supported = info.speed_active;
    info.fdr10_active = speed == mad::LinkSpeed::fdr10;
    if (speed == mad::LinkSpeed::xdr) {
        info.capability_mask |= kCapExtendedSpeeds | kCapMask2;
        info.capability_mask2 |= mad::kCapMask2ExtendedSpeeds2 | mad::kCapMask2Xdr;
        info.speed_ext2_active = info.speed_ext2_supported = mad::kSpeedExt2Xdr;
    } else if (const std::uint8_t code = extended_code(speed); code != 0) {
        info.capability_mask |= kCapExtendedSpeeds;
        info.speed_supported = 7;
        info.speed_ext_active = info.speed_ext_supported = code;
    }
}

Port to_port(const routing::NetlistNode& node, std::uint8_t number) {
    const routing::NetlistPort& from = node.ports[number];
    Port port;
    port.known = true;
    port.info.local_port = mad::PortNum{number};
    if (node.type != mad::NodeType::switch_) {
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

Node to_node(const routing::NetlistNode& from) {
    Node node;
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
        node.ports.push_back(to_port(from, static_cast<std::uint8_t>(p)));
    }
    if (node.is_switch()) {
        // As on the wire: what a switch can do is said by its port 0 alone.
        for (std::size_t p = 1; p < node.ports.size(); ++p) {
            mad::PortInfo& info = node.ports[p].info;
            node.ports[0].info.capability_mask |= std::exchange(info.capability_mask, 0U);
            node.ports[0].info.capability_mask2 |= std::exchange(info.capability_mask2, std::uint16_t{0});
        }
    }
    return node;
}

/// Copies the LIDs of the topology into the ports, as a finished sweep would show them.
LidMap set_lids(Fabric& fabric, const routing::Topology& topology) {
    std::map<mad::Guid, std::uint32_t> nodes;
    for (std::uint32_t n = 0; n < fabric.nodes.size(); ++n) {
        nodes.emplace(fabric.nodes[n].guid(), n);
    }
    LidMap lids;
    const auto set = [&](mad::Guid node_guid, mad::PortNum number, const mad::LidRange& range) {
        Node& node = fabric.nodes[nodes.at(node_guid)];
        node.ports[number.value()].info.lid = range.base;
        node.ports[number.value()].info.lmc = range.lmc;
        lids.emplace(lid_owner(node, number), range);
    };
    for (const routing::TopologySwitch& item : topology.switches) {
        set(item.guid, mad::PortNum{0}, item.lids);
    }
    for (const routing::TopologyEndPort& item : topology.end_ports) {
        set(item.node_guid, item.port, item.lids);
    }
    return lids;
}

}  // namespace

Snapshot planned_snapshot(const routing::Netlist& netlist, const routing::Topology& topology,
                          const routing::RouteOutcome* routes) {
    auto fabric = std::make_shared<Fabric>();
    for (const routing::NetlistNode& node : netlist.nodes) {
        fabric->nodes.push_back(to_node(node));
    }
    for (std::uint32_t n = 0; n < fabric->nodes.size() && fabric->local.node == kNoNode; ++n) {
        if (!fabric->nodes[n].is_switch()) {
            fabric->local = {n, mad::PortNum{1}};
        }
    }
    const LidMap lids = set_lids(*fabric, topology);
    Snapshot snapshot;
    snapshot.mode = SmMode::up;
    snapshot.mode_text = "SUBNET UP";
    snapshot.view = std::make_shared<const TopologyView>(topology_of(*fabric, lids));
    snapshot.fabric = std::move(fabric);
    snapshot.routes_for = snapshot.view;
    if (routes != nullptr) {
        routing::RouteOutcome outcome = *routes;
        outcome.routes = routing::in_order_of(snapshot.view->topology, outcome.routes);
        snapshot.programmed = outcome.routes.rows;
        snapshot.routes = std::make_shared<const routing::RouteOutcome>(std::move(outcome));
    }
    return snapshot;
}

}  // namespace ibf::fabric
