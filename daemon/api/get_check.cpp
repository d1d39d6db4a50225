// Check and quality: judgement on the tables and the ports as they are now.
#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "daemon/api/endpoints.hpp"
#include "daemon/fabric/forwarding.hpp"
#include "daemon/fabric/slow_links.hpp"

namespace ibf::api {
namespace {

using fabric::Fabric;
using fabric::PortRef;

constexpr unsigned kAllThreads = 0;

class Findings {
public:
    void add(std::string_view severity, std::string_view kind, std::string text) {
        rows_.push_back(Json{{"severity", severity}, {"kind", kind}, {"text", std::move(text)}});
    }
    [[nodiscard]] Json take() { return std::move(rows_); }

private:
    Json rows_ = Json::array();
};

std::string where(const Fabric& fabric, PortRef ref) {
    const fabric::Node& node = fabric.nodes[ref.node];
    return fmt::format("'{}' {} port {}", name_of(node), node.guid(), ref.port);
}

void check_routes(const routing::Verdict& verdict, Findings& out) {
    if (verdict.unreachable_pairs > 0) {
        out.add("error", "unreachable",
                fmt::format("{} pairs do not reach each other; the first: {}", verdict.unreachable_pairs,
                            verdict.first_failure));
    }
    if (verdict.loops > 0) {
        out.add("error", "forwarding-loop",
                fmt::format("{} (switch, LID) pairs run in a loop; the first: {}", verdict.loops,
                            verdict.first_failure));
    }
    if (verdict.lane_faults > 0) {
        out.add("error", "lane-fault", verdict.first_lane_fault);
    }
    if (!verdict.credit_loop_free) {
        std::string links;
        for (const auto& step : verdict.credit_loop) {
            links += fmt::format("{}{}[{}] -> {}[{}]", links.empty() ? "" : "; ", step.node, step.port,
                                 step.peer, step.peer_port);
        }
        out.add("error", "credit-loop",
                fmt::format("buffers can wait for each other in a circle: {}", links));
    }
}

void check_drift(const fabric::Snapshot& snapshot, Findings& out) {
    if (snapshot.drift != nullptr && snapshot.drift->drift &&
        snapshot.drift->drift->worst > snapshot.drift->limit) {
        out.add("warning", "drift", snapshot.drift->text);
    }
}

void check_tables(const fabric::Snapshot& snapshot, Findings& out) {
    const auto& switches = snapshot.view->topology.switches;
    for (std::size_t i = 0; i < switches.size(); ++i) {
        if (i >= snapshot.programmed.size() || snapshot.programmed[i] == nullptr) {
            out.add("error", "no-table",
                    fmt::format("switch '{}' {} has acknowledged no forwarding table", switches[i].name,
                                switches[i].guid));
        }
    }
}

void check_link(const Fabric& fabric, PortRef ref, Findings& out) {
    const fabric::Port& port = fabric.port(ref);
    const fabric::Port& peer = fabric.port(port.peer);
    if (!port.usable || !port.known) {
        return;  // reported as an isolation
    }
    if (port.info.linked() && port.info.state != mad::PortState::active) {
        out.add("error", "not-active",
                fmt::format("{} is linked but {}", where(fabric, ref), mad::to_string(port.info.state)));
    }
    if (ref < port.peer && peer.known) {
        if (port.info.neighbor_mtu != peer.info.neighbor_mtu) {
            out.add("error", "mtu-mismatch",
                    fmt::format("{} has MTU {}, its peer {} has {}", where(fabric, ref),
                                mad::mtu_bytes(port.info.neighbor_mtu), where(fabric, port.peer),
                                mad::mtu_bytes(peer.info.neighbor_mtu)));
        }
    }
}

void check_ports(const Fabric& fabric, Findings& out) {
    for (std::uint32_t n = 0; n < fabric.nodes.size(); ++n) {
        const auto& ports = fabric.nodes[n].ports;
        for (std::size_t p = 1; p < ports.size(); ++p) {
            if (has_peer(ports[p])) {
                check_link(fabric, {n, mad::PortNum{static_cast<std::uint8_t>(p)}}, out);
            }
        }
    }
    for (fabric::SlowLink& link : fabric::slow_links(fabric)) {
        out.add("warning", "below-capability", std::move(link.text));
    }
}

/// Every linked adapter port and every switch has LIDs, and no two share one.
void check_lids(const Fabric& fabric, Findings& out) {
    std::map<std::uint32_t, PortRef> owners;
    for (std::uint32_t n = 0; n < fabric.nodes.size(); ++n) {
        const fabric::Node& node = fabric.nodes[n];
        for (auto [p, end] = fabric::addressed_ports(node); p < end; ++p) {
            const PortRef ref{n, mad::PortNum{static_cast<std::uint8_t>(p)}};
            const mad::LidRange range = fabric::lids_of(node, ref.port);
            const bool expected = node.is_switch() || (has_peer(node.ports[p]) && node.ports[p].usable);
            if (range.count() == 0 && expected) {
                out.add("error", "no-lid", fmt::format("{} has no LID", where(fabric, ref)));
            }
            for (std::uint32_t lid = range.base.value(); lid < range.end(); ++lid) {
                const auto [other, fresh] = owners.emplace(lid, ref);
                if (!fresh) {
                    out.add("error", "lid-clash",
                            fmt::format("LID {} belongs to {} and to {}", lid, where(fabric, other->second),
                                        where(fabric, ref)));
                }
            }
        }
    }
}

void check_surroundings(const Fabric& fabric, Findings& out) {
    for (const auto& isolation : fabric.isolations) {
        out.add("warning", fmt::format("isolated-{}", fabric::to_string(isolation.reason)), isolation.text);
    }
    for (const auto& sm : fabric.sms) {
        if (sm.state == mad::SmState::master) {
            out.add("warning", "other-master",
                    fmt::format("another master SM answers: {} LID {} priority {}", sm.guid, sm.lid,
                                sm.priority));
        }
    }
}

/// Whether the tables in force keep off what is drained, counted on all paths between hosts; and whether it
/// is still the same element that is there.
void check_drains(const fabric::Snapshot& snapshot, Findings& out) {
    if (!snapshot.drains || snapshot.drains->asked.empty()) {
        return;
    }
    const routing::Topology& topology = snapshot.view->topology;
    const auto loads = routing::link_loads(topology, fabric::Forwarding(snapshot).routes(),
                                           routing::hosts_of(topology), kAllThreads);
    for (const fabric::Drain& drain : snapshot.drains->asked) {
        const routing::Elements element = fabric::elements_of({drain});
        std::uint64_t flows = 0;
        for (const routing::LinkLoad& load : loads) {
            const bool on_it = routing::is_gone(topology, element, load.from.value(), load.port.value());
            flows += on_it ? load.flows : 0;
        }
        if (flows != 0) {
            out.add("warning", "drained-in-use",
                    fmt::format("{} is drained, and {} ways between hosts still lead over its cables: {}",
                                fabric::to_string(drain), flows,
                                snapshot.drains->heeds(drain) ? "there is no other for them"
                                                              : "the tables do not keep off it yet"));
        }
        if (const auto sight = fabric::look_for(*snapshot.fabric, drain); sight.substitute) {
            out.add("warning", "drain-swapped",
                    fmt::format("{} is drained, and '{}' {} is in its place now: undrain what is gone",
                                fabric::to_string(drain), sight.substitute->name, sight.substitute->guid));
        }
    }
}

/// The multicast tables in force, as trees on the SL of a group that has the MLID.
std::vector<routing::MulticastTree> trees_in_force(const fabric::Snapshot& snapshot) {
    std::map<std::uint16_t, routing::MulticastTree> by_mlid;
    const auto& switches = snapshot.view->topology.switches;
    for (std::uint32_t s = 0; s < switches.size() && snapshot.multicast; ++s) {
        const auto row = snapshot.multicast->find(switches[s].guid);
        if (row == snapshot.multicast->end()) {
            continue;
        }
        for (const auto& [mlid, mask] : row->second) {
            std::vector<mad::PortNum>& ports = by_mlid[mlid].ports[s];
            for (std::size_t port = 1; port < switches[s].peers.size(); ++port) {
                if (mask.test(port)) {
                    ports.emplace_back(static_cast<std::uint8_t>(port));
                }
            }
        }
    }
    if (snapshot.sa) {
        for (const auto& [gid, group] : snapshot.sa->groups) {
            if (const auto tree = by_mlid.find(group->mlid.value()); tree != by_mlid.end()) {
                tree->second.sl = group->sl;
            }
        }
    }
    std::vector<routing::MulticastTree> trees;
    for (auto& [mlid, tree] : by_mlid) {
        trees.push_back(std::move(tree));
    }
    return trees;
}

}  // namespace

base::Result<HttpReply> get_check(const Call& call) {
    const fabric::Snapshot& snapshot = call.snapshot;
    const auto verdict = routing::verify(snapshot.view->topology, fabric::Forwarding(snapshot).routes(),
                                         trees_in_force(snapshot), kAllThreads);
    Findings findings;
    check_routes(verdict, findings);
    check_tables(snapshot, findings);
    check_drift(snapshot, findings);
    check_lids(*snapshot.fabric, findings);
    check_ports(*snapshot.fabric, findings);
    check_surroundings(*snapshot.fabric, findings);
    check_drains(snapshot, findings);
    Json out;
    out["findings"] = findings.take();
    out["ok"] = out["findings"].empty();
    out["proof"] = verdict_json(verdict);
    out.update(drains_json(snapshot));
    return json_reply(out);
}

base::Result<HttpReply> get_quality(const Call& call) {
    const auto routes = fabric::Forwarding(call.snapshot).routes();
    const auto quality = routing::measure_quality(call.snapshot.view->topology, routes, kAllThreads);
    Json out;
    out["engine"] = routes.engine;
    out.update(quality_json(quality));
    return json_reply(out);
}

}  // namespace ibf::api
