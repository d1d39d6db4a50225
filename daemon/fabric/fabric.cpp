#include "daemon/fabric/fabric.hpp"

#include <algorithm>
#include <array>

#include "mad/codec.hpp"

namespace ibf::fabric {
namespace {

mad::LidRange lids_from(const LidMap& lids, mad::Guid owner) {
    const auto found = lids.find(owner);
    return found == lids.end() ? mad::LidRange{} : found->second;
}

routing::TopologySwitch to_switch(const Node& node, const LidMap& lids) {
    routing::TopologySwitch out;
    out.guid = node.guid();
    out.lids = lids_from(lids, node.guid());
    out.num_ports = node.info.num_ports;
    out.lft_cap = node.switch_info ? node.switch_info->linear_fdb_cap : 0;
    out.name = node.description;
    return out;
}

routing::TopologyEndPort to_end_port(const Node& node, mad::PortNum number, const LidMap& lids) {
    routing::TopologyEndPort out;
    out.node_guid = node.guid();
    out.port_guid = node.ports[number.value()].guid;
    out.port = number;
    out.type = node.info.type;
    out.lids = lids_from(lids, out.port_guid);
    out.name = node.description;
    return out;
}

/// Data lanes that both ends of a link have.
std::uint8_t data_vls_of(const Port& a, const Port& b) {
    return static_cast<std::uint8_t>(
        std::max(1U, std::min(mad::vl_count(a.info.vl_cap), mad::vl_count(b.info.vl_cap))));
}

routing::LinkTraits traits_of(const Fabric& fabric, PortRef at) {
    routing::LinkTraits traits;
    traits.data_vls = data_vls_of(fabric.port(at), fabric.port(fabric.port(at).peer));
    const LinkRates rates = rates_of(fabric, at);
    traits.mbps = rates.running.mbps();
    traits.throttled = rates.below_capability();
    return traits;
}

/// A link that data can cross: both ends known and usable, each naming the other.
bool routable(const Fabric& fabric, PortRef ref) {
    const Port& port = fabric.port(ref);
    if (port.peer.node == kNoNode || !port.usable) {
        return false;
    }
    const Port& peer = fabric.port(port.peer);
    return peer.usable && peer.peer == ref;
}

void add_links(const Fabric& fabric, std::uint32_t index, routing::TopologyBuilder& builder) {
    const Node& node = fabric.nodes[index];
    for (std::size_t p = 1; p < node.ports.size(); ++p) {
        const PortRef here{index, mad::PortNum{static_cast<std::uint8_t>(p)}};
        if (!routable(fabric, here)) {
            continue;
        }
        const PortRef there = node.ports[p].peer;
        if (here < there) {
            builder.add_link(node.guid(), here.port, fabric.nodes[there.node].guid(), there.port,
                             traits_of(fabric, here));
        }
    }
}

}  // namespace

std::string_view to_string(IsolationReason reason) {
    constexpr std::array<std::string_view, 10> kNames{
        "silent",  "bad-node-info",   "zero-guid",    "duplicate-guid", "one-way",
        "too-far", "bad-switch-info", "setup-failed", "no-lid",         "quarantined"};
    return kNames[static_cast<std::size_t>(reason)];
}

std::string_view to_string(SmTrust trust) {
    switch (trust) {
        case SmTrust::unknown: return "unknown";
        case SmTrust::ours: return "ours";
        case SmTrust::foreign: return "foreign";
    }
    return "unknown";
}

std::size_t Fabric::switch_count() const {
    return static_cast<std::size_t>(
        std::count_if(nodes.begin(), nodes.end(), [](const Node& node) { return node.is_switch(); }));
}

std::size_t Fabric::link_count() const {
    std::size_t ends = 0;
    std::size_t to_itself = 0;
    for (std::uint32_t n = 0; n < nodes.size(); ++n) {
        for (std::size_t p = 1; p < nodes[n].ports.size(); ++p) {
            const PortRef here{n, mad::PortNum{static_cast<std::uint8_t>(p)}};
            const PortRef peer = nodes[n].ports[p].peer;
            ends += peer.node != kNoNode ? 1U : 0U;
            to_itself += peer == here ? 1U : 0U;
        }
    }
    return (ends + to_itself) / 2;
}

std::size_t Fabric::end_port_count() const {
    std::size_t count = 0;
    for (const Node& node : nodes) {
        if (!node.is_switch()) {
            count += static_cast<std::size_t>(
                std::count_if(node.ports.begin(), node.ports.end(),
                              [](const Port& port) { return port.peer.node != kNoNode; }));
        }
    }
    return count;
}

std::uint32_t Fabric::find(mad::Guid node_guid) const {
    for (std::uint32_t n = 0; n < nodes.size(); ++n) {
        if (nodes[n].guid() == node_guid) {
            return n;
        }
    }
    return kNoNode;
}

mad::LidRange lids_of(const Node& node, mad::PortNum port) {
    const Port& holder = node.ports[node.is_switch() ? 0 : port.value()];
    return holder.known ? mad::LidRange{holder.info.lid, holder.info.lmc} : mad::LidRange{};
}

mad::PortInfo info_of(const Node& node, mad::PortNum port) {
    mad::PortInfo info = node.ports[port.value()].info;
    if (node.is_switch()) {
        info.capability_mask = node.ports[0].info.capability_mask;
        info.capability_mask2 = node.ports[0].info.capability_mask2;
    }
    return info;
}

mad::LinkSpeed speed_of(const Node& node, mad::PortNum port) {
    return info_of(node, port).speed();
}

LinkRates rates_of(const Fabric& fabric, PortRef at) {
    const PortRef peer = fabric.port(at).peer;
    const mad::PortInfo here = info_of(fabric.nodes[at.node], at.port);
    const mad::PortInfo there = info_of(fabric.nodes[peer.node], peer.port);
    return {mad::running_rate(here), mad::possible_rate(here, there)};
}

mad::Guid lid_owner(const Node& node, mad::PortNum port) {
    return node.is_switch() ? node.guid() : node.ports[port.value()].guid;
}

TopologyView topology_of(const Fabric& fabric, const LidMap& lids) {
    routing::TopologyBuilder builder;
    std::map<mad::Guid, std::uint32_t> node_by_guid;
    for (std::uint32_t n = 0; n < fabric.nodes.size(); ++n) {
        const Node& node = fabric.nodes[n];
        node_by_guid.emplace(node.guid(), n);
        if (node.is_switch()) {
            builder.add_switch(to_switch(node, lids));
        } else {
            for (std::size_t p = 1; p < node.ports.size(); ++p) {
                const PortRef here{n, mad::PortNum{static_cast<std::uint8_t>(p)}};
                if (routable(fabric, here)) {
                    builder.add_end_port(to_end_port(node, here.port, lids));
                }
            }
        }
        add_links(fabric, n, builder);
    }
    TopologyView view;
    view.topology = builder.build();
    for (const auto& item : view.topology.switches) {
        view.switch_nodes.push_back(node_by_guid.at(item.guid));
    }
    for (const auto& item : view.topology.end_ports) {
        view.end_ports.push_back({node_by_guid.at(item.node_guid), item.port});
    }
    return view;
}

}  // namespace ibf::fabric
