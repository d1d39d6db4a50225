#include "daemon/api/element.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace ibf::api {
namespace {

using fabric::Drain;
using fabric::Fabric;
using fabric::Node;
using fabric::PortRef;

/// The cable of an adapter: at the port that was named, or the only one there is.
base::Result<mad::PortNum> cabled_port(const Node& node, const Target& target, std::string_view word) {
    if (target.port) {
        return *target.port;
    }
    std::vector<mad::PortNum> cabled;
    for (std::size_t p = 1; p < node.ports.size(); ++p) {
        if (has_peer(node.ports[p])) {
            cabled.emplace_back(static_cast<std::uint8_t>(p));
        }
    }
    if (cabled.size() != 1) {
        return base::fail(
            base::ErrorKind::usage,
            fmt::format("'{}' is an adapter with {} cables: name one, as {}/1", word, cabled.size(), word));
    }
    return cabled.front();
}

Drain named(const Fabric& fabric, PortRef at) {
    const Node& node = fabric.nodes[at.node];
    Drain element{node.guid(), at.port, name_of(node), {}, false, {}};
    element.cables = fabric::cables_of(fabric, element);
    return element;
}

}  // namespace

base::Result<Drain> element_of(const Fabric& fabric, const Directory& directory, std::string_view word) {
    const auto target = directory.resolve(word);
    if (!target) {
        return tl::unexpected(target.error());
    }
    const Node& node = fabric.nodes[target->node];
    if (node.is_switch() && !target->port) {
        return named(fabric, {target->node, mad::PortNum{0}});
    }
    const auto port = cabled_port(node, *target, word);
    if (!port) {
        return tl::unexpected(port.error());
    }
    if (*port == mad::PortNum{0}) {
        return base::fail(base::ErrorKind::usage,
                          fmt::format("port 0 is the switch itself: '{}' without \"/0\" names it", word));
    }
    const PortRef here{target->node, *port};
    if (!has_peer(fabric.port(here))) {
        return base::fail(
            base::ErrorKind::not_found,
            fmt::format("'{}' port {} has no cable to anything known: 'ibfabric ports --node {}' "
                        "lists what its ports lead to",
                        name_of(node), *port, guid_text(node.guid())));
    }
    const PortRef there = fabric.port(here).peer;
    if (!node.is_switch() && !fabric.nodes[there.node].is_switch()) {
        return base::fail(base::ErrorKind::usage,
                          fmt::format("'{}' is cabled back to back with '{}': no switch, nothing to route",
                                      name_of(node), name_of(fabric.nodes[there.node])));
    }
    return named(fabric, node.is_switch() ? here : there);
}

Json element_row(const Drain& element) {
    return Json{{"name", element.name},
                {"guid", guid_text(element.node)},
                {"port", element.is_switch() ? Json(nullptr) : Json(element.port.value())}};
}

Json host_rows(const routing::Topology& topology, const std::vector<routing::EndPortIndex>& hosts) {
    Json rows = Json::array();
    for (const routing::EndPortIndex host : hosts) {
        const routing::TopologyEndPort& end = topology.end_ports[host.value()];
        rows.push_back(Json{{"name", end.name},
                            {"port", end.port.value()},
                            {"port_guid", guid_text(end.port_guid)},
                            {"lid", end.lids.base.value()}});
    }
    return rows;
}

std::string hosts_text(const routing::Topology& topology, const std::vector<routing::EndPortIndex>& hosts) {
    constexpr std::size_t kNamed = 5;
    std::string names;
    for (std::size_t i = 0; i < std::min(kNamed, hosts.size()); ++i) {
        names += fmt::format("{}{}", i == 0 ? "" : ", ", topology.end_ports[hosts[i].value()].name);
    }
    const std::string more = hosts.size() > kNamed ? fmt::format(" and {} more", hosts.size() - kNamed) : "";
    return fmt::format("{} host{} ({}{})", hosts.size(), hosts.size() == 1 ? "" : "s", names, more);
}

}  // namespace ibf::api
