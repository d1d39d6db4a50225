// Nodes, switches, hosts, ports, links, LIDs: streamed rows, each list in a stable order (GUID, then port).
#include <algorithm>
#include <memory>

#include "daemon/api/endpoints.hpp"

namespace ibf::api {
namespace {

using fabric::Fabric;
using fabric::PortRef;

std::vector<std::uint32_t> by_guid(const Fabric& fabric) {
    std::vector<std::uint32_t> order(fabric.nodes.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) {
        order[i] = i;
    }
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return fabric.nodes[a].guid() < fabric.nodes[b].guid();
    });
    return order;
}

bool matches(const fabric::Node& node, std::string_view part) {
    return part.empty() || contains_word(node.description, part) ||
           contains_word(guid_text(node.guid()), part);
}

template <class Keep>
std::vector<std::uint32_t> nodes_where(const Call& call, const Keep& keep) {
    const Fabric& fabric = *call.snapshot.fabric;
    const std::string_view part = call.query.param("match");
    std::vector<std::uint32_t> out = by_guid(fabric);
    std::erase_if(out,
                  [&](std::uint32_t n) { return !keep(fabric.nodes[n]) || !matches(fabric.nodes[n], part); });
    return out;
}

template <class Keep>
HttpReply node_list(const Call& call, const char* name, Json (*row)(const Fabric&, std::uint32_t),
                    const Keep& keep) {
    auto nodes = nodes_where(call, keep);
    const std::size_t count = nodes.size();
    return row_stream(name, count,
                      [fabric = call.snapshot.fabric, nodes = std::move(nodes), row](std::size_t i) {
                          return row(*fabric, nodes[i]);
                      });
}

HttpReply port_list(const Call& call, const char* name, std::vector<PortRef> ports,
                    Json (*row)(const Fabric&, PortRef)) {
    const std::size_t count = ports.size();
    return row_stream(name, count,
                      [fabric = call.snapshot.fabric, ports = std::move(ports), row](std::size_t i) {
                          return row(*fabric, ports[i]);
                      });
}

/// Which ports of which nodes a request is about: "node" (with an optional port), "match".
struct Selection {
    std::vector<std::uint32_t> nodes;
    std::optional<mad::PortNum> port;
};

base::Result<Selection> select(const Call& call) {
    const std::string_view word = call.query.param("node");
    if (word.empty()) {
        return Selection{nodes_where(call, [](const fabric::Node&) { return true; }), std::nullopt};
    }
    const auto target = Directory(*call.snapshot.fabric).resolve(word);
    if (!target) {
        return tl::unexpected(target.error());
    }
    return Selection{{target->node}, target->port};
}

template <class Keep>
std::vector<PortRef> ports_where(const Fabric& fabric, const Selection& selection, const Keep& keep) {
    std::vector<PortRef> out;
    for (const std::uint32_t n : selection.nodes) {
        const auto& ports = fabric.nodes[n].ports;
        for (std::size_t p = fabric.nodes[n].is_switch() ? 0 : 1; p < ports.size(); ++p) {
            const PortRef ref{n, mad::PortNum{static_cast<std::uint8_t>(p)}};
            if ((!selection.port || *selection.port == ref.port) && keep(ref, ports[p])) {
                out.push_back(ref);
            }
        }
    }
    return out;
}

/// A cable that is drained by itself, or with a switch at either end.
bool is_drained(const Fabric& fabric, const routing::Elements& drained, PortRef ref) {
    const auto at = [&](PortRef end) {
        const mad::Guid node = fabric.nodes[end.node].guid();
        return drained.has(node) || drained.has(routing::SwitchPort{node, end.port});
    };
    return at(ref) || at(fabric.port(ref).peer);
}

Json lid_row(const Fabric& fabric, PortRef ref) {
    const fabric::Node& node = fabric.nodes[ref.node];
    const mad::LidRange lids = fabric::lids_of(node, ref.port);
    Json row;
    row["lid"] = lids.base.value();
    row["last"] = lids.end() - 1;
    row["lmc"] = lids.lmc;
    row["owner"] = guid_text(fabric::lid_owner(node, ref.port));
    row["node"] = name_of(node);
    row["type"] = mad::to_string(node.info.type);
    row["port"] = ref.port.value();
    return row;
}

}  // namespace

base::Result<HttpReply> get_nodes(const Call& call) {
    return node_list(call, "nodes", &node_row, [](const fabric::Node&) { return true; });
}

base::Result<HttpReply> get_switches(const Call& call) {
    return node_list(call, "switches", &switch_row,
                     [](const fabric::Node& node) { return node.is_switch(); });
}

base::Result<HttpReply> get_hosts(const Call& call) {
    const Selection hosts{nodes_where(call, [](const fabric::Node& node) { return !node.is_switch(); }),
                          std::nullopt};
    auto ports = ports_where(*call.snapshot.fabric, hosts,
                             [](PortRef, const fabric::Port& port) { return port.known || has_peer(port); });
    return port_list(call, "hosts", std::move(ports), &host_row);
}

base::Result<HttpReply> get_ports(const Call& call) {
    const auto show = call.query.choice("show", {"all", "linked", "down", "inactive"});
    const auto selection = select(call);
    if (!show || !selection) {
        return tl::unexpected(show ? selection.error() : show.error());
    }
    const Fabric& fabric = *call.snapshot.fabric;
    auto ports = ports_where(fabric, *selection, [&](PortRef ref, const fabric::Port& port) {
        const bool external = ref.port != mad::PortNum{0};
        if (*show == "linked") {
            return external && port.info.linked();
        }
        if (*show == "down") {
            return external && !port.info.linked();
        }
        return *show == "all" ||
               (external && port.info.linked() && port.info.state != mad::PortState::active);
    });
    return port_list(call, "ports", std::move(ports), &port_row);
}

base::Result<HttpReply> get_links(const Call& call) {
    const auto show = call.query.choice("show", {"all", "switches", "hosts", "inactive", "slow", "drained"});
    const auto selection = select(call);
    if (!show || !selection) {
        return tl::unexpected(show ? selection.error() : show.error());
    }
    const Fabric& fabric = *call.snapshot.fabric;
    const auto drained =
        call.snapshot.drains ? fabric::elements_of(call.snapshot.drains->asked) : routing::Elements{};
    std::vector<bool> selected(fabric.nodes.size());
    for (const std::uint32_t n : selection->nodes) {
        selected[n] = true;
    }
    auto ports = ports_where(fabric, *selection, [&](PortRef ref, const fabric::Port& port) {
        if (!has_peer(port)) {
            return false;
        }
        // A cable with both ends selected is listed once, from its lower GUID.
        const auto here = std::pair(fabric.nodes[ref.node].guid(), ref.port);
        const auto there = std::pair(fabric.nodes[port.peer.node].guid(), port.peer.port);
        if (!selection->port && selected[port.peer.node] && there < here) {
            return false;
        }
        const bool between = fabric.nodes[ref.node].is_switch() && fabric.nodes[port.peer.node].is_switch();
        return *show == "all" || (*show == "switches" && between) || (*show == "hosts" && !between) ||
               (*show == "inactive" && port.info.state != mad::PortState::active) ||
               (*show == "slow" && fabric::rates_of(fabric, ref).below_capability()) ||
               (*show == "drained" && is_drained(fabric, drained, ref));
    });
    const std::size_t count = ports.size();
    return row_stream("links", count,
                      [fabric = call.snapshot.fabric, ports = std::move(ports), drained](std::size_t i) {
                          Json row = link_row(*fabric, ports[i]);
                          row["drained"] = is_drained(*fabric, drained, ports[i]);
                          return row;
                      });
}

base::Result<HttpReply> get_lids(const Call& call) {
    const Fabric& fabric = *call.snapshot.fabric;
    const Selection selection{nodes_where(call, [](const fabric::Node&) { return true; }), std::nullopt};
    auto ports = ports_where(fabric, selection, [&](PortRef ref, const fabric::Port&) {
        return (!fabric.nodes[ref.node].is_switch() || ref.port == mad::PortNum{0}) &&
               fabric::lids_of(fabric.nodes[ref.node], ref.port).count() != 0;
    });
    std::stable_sort(ports.begin(), ports.end(), [&](PortRef a, PortRef b) {
        return fabric::lids_of(fabric.nodes[a.node], a.port) < fabric::lids_of(fabric.nodes[b.node], b.port);
    });
    return port_list(call, "lids", std::move(ports), &lid_row);
}

}  // namespace ibf::api
