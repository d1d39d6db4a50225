#include "daemon/api/json_rows.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include <fmt/format.h>

namespace ibf::api {
namespace {

using fabric::Fabric;
using fabric::Node;
using fabric::Port;
using fabric::PortRef;

/// Data lanes of an OperationalVLs or VLCap code (IBA 14.2.5.6, table 146).
unsigned vl_count(std::uint8_t code) {
    constexpr std::array<unsigned, 6> kCounts{0, 1, 2, 4, 8, 15};
    return code < kCounts.size() ? kCounts[code] : 0;
}

unsigned linked_ports(const Node& node) {
    unsigned count = 0;
    for (std::size_t p = 1; p < node.ports.size(); ++p) {
        count += has_peer(node.ports[p]) ? 1U : 0U;
    }
    return count;
}

void add_peer(Json& row, const Fabric& fabric, const Port& port) {
    if (has_peer(port)) {
        const Node& peer = fabric.nodes[port.peer.node];
        row["peer"] = name_of(peer);
        row["peer_guid"] = guid_text(peer.guid());
        row["peer_port"] = port.peer.port.value();
    }
}

/// First LID that a node has, 0 if none: what to call it by.
std::uint16_t first_lid(const Node& node) {
    for (std::size_t p = 0; p < node.ports.size(); ++p) {
        const auto range = fabric::lids_of(node, mad::PortNum{static_cast<std::uint8_t>(p)});
        if (range.count() != 0) {
            return range.base.value();
        }
    }
    return 0;
}

}  // namespace

double seconds(base::Duration time) {
    return std::chrono::duration<double>(time).count();
}

std::string guid_text(mad::Guid guid) {
    return fmt::format("{}", guid);
}

bool has_peer(const Port& port) {
    return port.peer.node != fabric::kNoNode;
}

std::string name_of(const Node& node) {
    const auto last = node.description.find_last_not_of(" \t");
    return last == std::string::npos ? std::string{} : node.description.substr(0, last + 1);
}

std::string text_of(const Json& value) {
    return value.dump(-1, ' ', false, nlohmann::detail::error_handler_t::replace);
}

void add_rate(Json& row, const Node& node, mad::PortNum number) {
    const mad::PortInfo info = fabric::info_of(node, number);
    row["width"] = mad::to_string(info.width_active);
    row["speed"] = mad::to_string(info.speed());
    row["rate_gbps"] = mad::link_gbps(info.width_active, info.speed());
    row["mtu"] = mad::mtu_bytes(info.neighbor_mtu);
}

Json node_row(const Fabric& fabric, std::uint32_t index) {
    const Node& node = fabric.nodes[index];
    Json row;
    row["guid"] = guid_text(node.guid());
    row["name"] = name_of(node);
    row["type"] = mad::to_string(node.info.type);
    row["lid"] = first_lid(node);
    row["ports"] = node.info.num_ports;
    row["linked"] = linked_ports(node);
    row["system_guid"] = guid_text(node.info.system_guid);
    row["vendor_id"] = node.info.vendor_id;
    row["device_id"] = node.info.device_id;
    row["revision"] = node.info.revision;
    row["dr_path"] = node.path.to_string();
    return row;
}

Json switch_row(const Fabric& fabric, std::uint32_t index) {
    const Node& node = fabric.nodes[index];
    Json row = node_row(fabric, index);
    unsigned hosts = 0;
    for (std::size_t p = 1; p < node.ports.size(); ++p) {
        hosts += has_peer(node.ports[p]) && !fabric.nodes[node.ports[p].peer.node].is_switch() ? 1U : 0U;
    }
    row["hosts"] = hosts;
    if (node.switch_info) {
        row["linear_fdb_cap"] = node.switch_info->linear_fdb_cap;
        row["linear_fdb_top"] = node.switch_info->linear_fdb_top;
        row["multicast_fdb_cap"] = node.switch_info->multicast_fdb_cap;
        row["enhanced_port0"] = node.switch_info->enhanced_port0;
    }
    return row;
}

Json port_row(const Fabric& fabric, PortRef ref) {
    const Node& node = fabric.nodes[ref.node];
    const Port& port = fabric.port(ref);
    Json row;
    row["node"] = name_of(node);
    row["guid"] = guid_text(node.guid());
    row["type"] = mad::to_string(node.info.type);
    row["port"] = ref.port.value();
    const auto lids = fabric::lids_of(node, ref.port);
    if (!node.is_switch() || ref.port == mad::PortNum{0}) {
        row["port_guid"] = guid_text(fabric::lid_owner(node, ref.port));
        row["lid"] = lids.base.value();
        row["lmc"] = lids.lmc;
    }
    row["known"] = port.known;
    if (port.known) {
        row["state"] = mad::to_string(port.info.state);
        row["phys_state"] = mad::to_string(port.info.phys_state);
        if (port.info.linked()) {
            add_rate(row, node, ref.port);
        }
        row["vls"] = vl_count(port.info.operational_vls);
    }
    row["usable"] = port.usable;
    add_peer(row, fabric, port);
    return row;
}

Json host_row(const Fabric& fabric, PortRef ref) {
    const Node& node = fabric.nodes[ref.node];
    const Port& port = fabric.port(ref);
    Json row;
    row["name"] = name_of(node);
    row["guid"] = guid_text(node.guid());
    row["type"] = mad::to_string(node.info.type);
    row["port"] = ref.port.value();
    row["port_guid"] = guid_text(port.guid);
    row["lid"] = port.info.lid.value();
    row["lmc"] = port.info.lmc;
    row["state"] = mad::to_string(port.info.state);
    if (has_peer(port)) {
        add_rate(row, node, ref.port);
    }
    add_peer(row, fabric, port);
    return row;
}

Json link_row(const Fabric& fabric, PortRef a) {
    const Port& port = fabric.port(a);
    const PortRef b = port.peer;
    Json row;
    row["a"] = name_of(fabric.nodes[a.node]);
    row["a_guid"] = guid_text(fabric.nodes[a.node].guid());
    row["a_port"] = a.port.value();
    row["b"] = name_of(fabric.nodes[b.node]);
    row["b_guid"] = guid_text(fabric.nodes[b.node].guid());
    row["b_port"] = b.port.value();
    row["state"] = mad::to_string(port.info.state);
    add_rate(row, fabric.nodes[a.node], a.port);
    const fabric::LinkRates rates = fabric::rates_of(fabric, a);
    row["below_capability"] = rates.below_capability();
    if (rates.below_capability()) {
        row["could"] = mad::to_string(rates.possible);
    }
    return row;
}

Json isolation_row(const Fabric& fabric, const fabric::Isolation& isolation) {
    Json row;
    row["reason"] = fabric::to_string(isolation.reason);
    row["text"] = isolation.text;
    if (isolation.guid != mad::Guid{}) {
        row["guid"] = guid_text(isolation.guid);
    }
    if (isolation.at.node < fabric.nodes.size()) {
        row["at"] = name_of(fabric.nodes[isolation.at.node]);
        row["at_guid"] = guid_text(fabric.nodes[isolation.at.node].guid());
        row["at_port"] = isolation.at.port.value();
    }
    row["dr_path"] = isolation.path.to_string();
    return row;
}

Json event_row(const fabric::EventRecord& event) {
    Json row;
    row["id"] = event.id;
    row["time"] = base::format_utc(event.time);
    row["severity"] = fabric::to_string(event.severity);
    row["kind"] = event.kind;
    row["text"] = event.text;
    if (event.guid != mad::Guid{}) {
        row["guid"] = guid_text(event.guid);
        row["port"] = event.port.value();
    }
    return row;
}

Json sweep_row(const fabric::SweepReport& sweep) {
    Json row;
    row["id"] = sweep.id;
    row["scope"] = sweep.scope;
    row["reasons"] = sweep.reasons;
    row["started"] = base::format_utc(sweep.started);
    row["seconds"] = seconds(sweep.time);
    row["outcome"] = sweep.outcome;
    row["mads"] = sweep.mads;
    row["timeouts"] = sweep.timeouts;
    row["lft_blocks_written"] = sweep.lft_blocks_written;
    row["lft_blocks_dropped"] = sweep.lft_blocks_dropped;
    row["port_sets"] = sweep.port_sets;
    row["lane_sets"] = sweep.lane_sets;
    row["pkey_sets"] = sweep.pkey_sets;
    row["phases"] = Json::array();
    for (const auto& phase : sweep.phases) {
        row["phases"].push_back(Json{{"name", phase.name},
                                     {"seconds", seconds(phase.time)},
                                     {"mads", phase.mads},
                                     {"sets", phase.sets}});
    }
    return row;
}

Json verdict_json(const routing::Verdict& verdict) {
    Json out;
    out["pairs_checked"] = verdict.pairs_checked;
    out["unreachable_pairs"] = verdict.unreachable_pairs;
    out["switch_pairs_unreachable"] = verdict.switch_pairs_unreachable;
    out["loops"] = verdict.loops;
    out["lane_faults"] = verdict.lane_faults;
    out["credit_loop_free"] = verdict.credit_loop_free;
    out["seconds"] = verdict.seconds;
    if (!verdict.first_failure.empty()) {
        out["first_failure"] = verdict.first_failure;
    }
    if (!verdict.credit_loop.empty()) {
        out["credit_loop"] = Json::array();
        for (const auto& step : verdict.credit_loop) {
            out["credit_loop"].push_back(Json{{"node", step.node},
                                              {"port", step.port.value()},
                                              {"peer", step.peer},
                                              {"peer_port", step.peer_port.value()},
                                              {"vl", step.vl}});
        }
    }
    return out;
}

Json attempts_json(const std::vector<routing::EngineAttempt>& attempts) {
    Json rows = Json::array();
    for (const routing::EngineAttempt& attempt : attempts) {
        rows.push_back(Json{{"engine", attempt.engine},
                            {"serves", attempt.refused_because.empty()},
                            {"refused_because", attempt.refused_because},
                            {"compute_seconds", attempt.compute_seconds},
                            {"verify_seconds", attempt.verify_seconds}});
    }
    return rows;
}

Json quality_json(const routing::Quality& quality) {
    Json out;
    out["max_link_load"] = quality.max_link_load;
    out["mean_link_load"] = quality.mean_link_load;
    out["sigma_link_load"] = quality.sigma_link_load;
    out["max_hops"] = quality.max_hops;
    out["mean_hops"] = quality.mean_hops;
    out["max_dilation"] = quality.max_dilation;
    out["mean_dilation"] = quality.mean_dilation;
    out["unused_links"] = quality.unused_links;
    out["levels"] = Json::array();
    for (const auto& level : quality.levels) {
        out["levels"].push_back(Json{{"level", level.level},
                                     {"links", level.links},
                                     {"max", level.max},
                                     {"mean", level.mean},
                                     {"sigma", level.sigma}});
    }
    return out;
}

}  // namespace ibf::api
