#include "daemon/fabric/export.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "daemon/fabric/forwarding.hpp"

namespace ibf::fabric {
namespace {

char id_letter(mad::NodeType type) {
    switch (type) {
        case mad::NodeType::switch_: return 'S';
        case mad::NodeType::router: return 'R';
        default: return 'H';
    }
}

routing::NetlistPort to_netlist_port(const Node& node, std::size_t number) {
    const Port& port = node.ports[number];
    routing::NetlistPort out;
    out.guid = port.guid;
    out.lids = mad::LidRange{port.info.lid, port.info.lmc};
    if (port.peer.node != kNoNode) {
        out.peer_node = port.peer.node;
        out.peer_port = port.peer.port;
        out.width = port.info.width_active;
        out.speed = speed_of(node, mad::PortNum{static_cast<std::uint8_t>(number)});
    }
    return out;
}

routing::NetlistNode to_netlist_node(const Node& node) {
    routing::NetlistNode out;
    out.type = node.info.type;
    out.guid = node.guid();
    out.system_guid = node.info.system_guid;
    out.id = fmt::format("{}-{:016x}", id_letter(node.info.type), node.guid().value());
    out.description = node.description;
    out.vendor_id = node.info.vendor_id;
    out.device_id = node.info.device_id;
    out.enhanced_port0 = node.switch_info && node.switch_info->enhanced_port0;
    out.ports.reserve(node.ports.size());
    for (std::size_t p = 0; p < node.ports.size(); ++p) {
        out.ports.push_back(to_netlist_port(node, p));
    }
    return out;
}

/// Ports that may hold a LID: port 0 of a switch, every port of an adapter or router.
std::pair<std::size_t, std::size_t> lid_ports(const Node& node) {
    return node.is_switch()
               ? std::pair<std::size_t, std::size_t>{0, std::min<std::size_t>(1, node.ports.size())}
               : std::pair<std::size_t, std::size_t>{1, node.ports.size()};
}

std::string_view opensm_state(mad::PortState state) {
    switch (state) {
        case mad::PortState::down: return "DWN";
        case mad::PortState::init: return "INI";
        case mad::PortState::armed: return "ARM";
        case mad::PortState::active: return "ACT";
        default: return "???";
    }
}

/// OpenSM's SPD= column: Gb/s of one lane, FDR10 by name.
std::string_view opensm_speed(mad::LinkSpeed speed) {
    switch (speed) {
        case mad::LinkSpeed::sdr: return "2.5";
        case mad::LinkSpeed::ddr: return "5";
        case mad::LinkSpeed::qdr: return "10";
        case mad::LinkSpeed::fdr10: return "FDR10";
        case mad::LinkSpeed::fdr: return "14";
        case mad::LinkSpeed::edr: return "25";
        case mad::LinkSpeed::hdr: return "50";
        case mad::LinkSpeed::ndr: return "100";
        case mad::LinkSpeed::xdr: return "200";
        case mad::LinkSpeed::none: break;
    }
    return "??";
}

std::string_view opensm_type(mad::NodeType type) {
    switch (type) {
        case mad::NodeType::switch_: return "SW";
        case mad::NodeType::router: return "Rt";
        default: return "CA";
    }
}

/// OpenSM marks the port it runs on, and only that one of a two-port adapter.
std::string_view opensm_sm_mark(const Fabric& fabric, PortRef ref) {
    const bool here = ref.node == fabric.local.node &&
                      (fabric.nodes[ref.node].is_switch() || ref.port == fabric.local.port);
    return here ? "-SM" : "";
}

/// One brace group of opensm-subnet.lst. OpenSM prints the far side's vendor id eight digits wide and its
/// device id shifted by 16 bits; readers of the file have learned to live with it, so we print the same.
enum class Side : std::uint8_t { near, far };

void append_lst_side(std::string& out, const Fabric& fabric, PortRef ref, Side side) {
    const Node& node = fabric.nodes[ref.node];
    const mad::Guid port_guid = node.is_switch() ? node.guid() : fabric.port(ref).guid;
    const mad::Lid lid = lids_of(node, ref.port).base;
    fmt::format_to(std::back_inserter(out),
                   "{{ {}{} Ports:{:02X} SystemGUID:{:016x} NodeGUID:{:016x} PortGUID:{:016x} ",
                   opensm_type(node.info.type), opensm_sm_mark(fabric, ref), node.info.num_ports,
                   node.info.system_guid.value(), node.guid().value(), port_guid.value());
    if (side == Side::near) {
        fmt::format_to(std::back_inserter(out), "VenID:{:06X} DevID:{:04X}", node.info.vendor_id,
                       node.info.device_id);
    } else {
        fmt::format_to(std::back_inserter(out), "VenID:{:08X} DevID:{:04X}", node.info.vendor_id,
                       static_cast<std::uint32_t>(node.info.device_id) << 16U);
    }
    fmt::format_to(std::back_inserter(out), " Rev:{:08X} {{{}}} LID:{:04X} PN:{:02X} }} ", node.info.revision,
                   node.description, lid.value(), ref.port.value());
}

void append_lst_node(std::string& out, const Fabric& fabric, std::uint32_t index) {
    const Node& node = fabric.nodes[index];
    for (std::size_t p = 1; p < node.ports.size(); ++p) {
        const Port& port = node.ports[p];
        if (port.peer.node == kNoNode) {
            continue;
        }
        const mad::PortNum number{static_cast<std::uint8_t>(p)};
        append_lst_side(out, fabric, {index, number}, Side::near);
        append_lst_side(out, fabric, port.peer, Side::far);
        fmt::format_to(std::back_inserter(out), "PHY={} LOG={} SPD={}\n",
                       mad::to_string(port.info.width_active), opensm_state(port.info.state),
                       opensm_speed(speed_of(node, number)));
    }
}

}  // namespace

routing::Netlist netlist_of(const Fabric& fabric) {
    routing::Netlist out;
    out.origin = "fabric";
    out.nodes.reserve(fabric.nodes.size());
    for (const Node& node : fabric.nodes) {
        out.nodes.push_back(to_netlist_node(node));
    }
    return out;
}

std::string ibnetdiscover_text(const Snapshot& snapshot) {
    std::string out = fmt::format("#\n# Topology file: generated by ibfabric on {}\n#\n",
                                  base::format_utc(snapshot.published));
    const Fabric& fabric = *snapshot.fabric;
    if (fabric.local.node != kNoNode) {
        const Node& node = fabric.nodes[fabric.local.node];
        out += fmt::format("# Initiated from node {:016x} port {:016x}\n", node.guid().value(),
                           lid_owner(node, fabric.local.port).value());
    }
    out += '\n';
    return out + routing::to_ibnetdiscover_text(netlist_of(fabric));
}

std::string ibsim_text(const Snapshot& snapshot) {
    return routing::to_ibsim_text(netlist_of(*snapshot.fabric));
}

std::string guid2lid_text(const Snapshot& snapshot) {
    std::map<mad::Guid, mad::LidRange> lids;
    for (const Node& node : snapshot.fabric->nodes) {
        const auto [first, last] = lid_ports(node);
        for (std::size_t p = first; p < last; ++p) {
            const mad::PortNum port{static_cast<std::uint8_t>(p)};
            const mad::LidRange range = lids_of(node, port);
            if (range.count() != 0) {
                lids.emplace(lid_owner(node, port), range);
            }
        }
    }
    std::string out;
    for (const auto& [guid, range] : lids) {
        fmt::format_to(std::back_inserter(out), "{} 0x{:04x} 0x{:04x}\n\n", guid, range.base.value(),
                       range.end() - 1);
    }
    return out;
}

std::string subnet_lst_text(const Snapshot& snapshot) {
    const Fabric& fabric = *snapshot.fabric;
    std::vector<std::uint32_t> order(fabric.nodes.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) {
        order[i] = i;
    }
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return fabric.nodes[a].guid() < fabric.nodes[b].guid();
    });
    std::string out;
    for (const std::uint32_t index : order) {
        append_lst_node(out, fabric, index);
    }
    return out;
}

TextStream stream_of(std::string text) {
    return [whole = std::move(text), given = false](std::string& out) mutable {
        if (given) {
            return false;
        }
        given = true;
        out += whole;
        whole = {};
        return true;
    };
}

}  // namespace ibf::fabric
