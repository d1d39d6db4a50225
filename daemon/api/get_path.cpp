// Path and route: what the tables in force do with a packet.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "daemon/api/endpoints.hpp"
#include "daemon/fabric/forwarding.hpp"

namespace ibf::api {
namespace {

using fabric::Fabric;
using fabric::PortRef;

/// The port that a target stands for: the one named, a switch's port 0, else an adapter's first port with a
/// LID.
base::Result<PortRef> end_port(const Fabric& fabric, const Target& target) {
    const fabric::Node& node = fabric.nodes[target.node];
    if (node.is_switch()) {
        return PortRef{target.node, mad::PortNum{0}};
    }
    if (target.port) {
        return PortRef{target.node, *target.port};
    }
    for (std::size_t p = 1; p < node.ports.size(); ++p) {
        const mad::PortNum port{static_cast<std::uint8_t>(p)};
        if (has_peer(node.ports[p]) && fabric::lids_of(node, port).count() != 0) {
            return PortRef{target.node, port};
        }
    }
    return base::fail(base::ErrorKind::not_found,
                      fmt::format("'{}' has no linked port with a LID", name_of(node)));
}

/// One node on the way; port 0 = the packet starts or ends inside it.
struct Hop {
    std::uint32_t node = 0;
    mad::PortNum in{};
    mad::PortNum out{};
};

base::Result<std::vector<Hop>> switch_hops(const Fabric& fabric, const Directory& directory,
                                           const fabric::Forwarding& tables, std::uint32_t node,
                                           mad::PortNum in, mad::Lid lid) {
    const std::uint32_t from = tables.topology().find_switch(fabric.nodes[node].guid());
    if (from == routing::kNoIndex) {
        return base::fail(base::ErrorKind::not_found,
                          fmt::format("switch '{}' is not part of routing", name_of(fabric.nodes[node])));
    }
    const auto way = tables.walk(from, in, lid);
    if (!way) {
        return tl::unexpected(way.error());
    }
    std::vector<Hop> hops;
    for (const routing::PathHop& hop : *way) {
        const mad::Guid guid = tables.topology().switches[hop.at.value()].guid;
        const std::uint32_t at = directory.find(guid);
        if (at == fabric::kNoNode) {
            return base::fail(
                base::ErrorKind::not_found,
                fmt::format("switch {} is in the tables but was not seen by the last sweep", guid));
        }
        hops.push_back({at, hop.in, hop.out});
    }
    return hops;
}

/// The whole way from port to port, source and destination included.
base::Result<std::vector<Hop>> full_path(const Fabric& fabric, const Directory& directory,
                                         const fabric::Forwarding& tables, PortRef source,
                                         PortRef destination, mad::Lid lid) {
    if (source == destination) {
        return std::vector<Hop>{{source.node, mad::PortNum{0}, mad::PortNum{0}}};
    }
    std::vector<Hop> hops;
    PortRef enters = source;
    if (!fabric.nodes[source.node].is_switch()) {
        if (!has_peer(fabric.port(source))) {
            return base::fail(
                base::ErrorKind::not_found,
                fmt::format("'{}' port {} has no link", name_of(fabric.nodes[source.node]), source.port));
        }
        hops.push_back({source.node, mad::PortNum{0}, source.port});
        enters = fabric.port(source).peer;
    }
    if (fabric.nodes[enters.node].is_switch()) {
        const auto way = switch_hops(fabric, directory, tables, enters.node, enters.port, lid);
        if (!way) {
            return tl::unexpected(way.error());
        }
        hops.insert(hops.end(), way->begin(), way->end());
    } else if (enters != destination) {
        return base::fail(
            base::ErrorKind::not_found,
            fmt::format("'{}' is cabled back to back with '{}' and reaches nothing else",
                        name_of(fabric.nodes[source.node]), name_of(fabric.nodes[enters.node])));
    }
    if (!fabric.nodes[destination.node].is_switch()) {
        hops.push_back({destination.node, destination.port, mad::PortNum{0}});
    }
    return hops;
}

Json hop_json(const Fabric& fabric, const Hop& hop) {
    const fabric::Node& node = fabric.nodes[hop.node];
    Json row;
    row["node"] = name_of(node);
    row["guid"] = guid_text(node.guid());
    row["type"] = mad::to_string(node.info.type);
    row["in_port"] = hop.in == mad::PortNum{0} ? Json(nullptr) : Json(hop.in.value());
    row["out_port"] = hop.out == mad::PortNum{0} ? Json(nullptr) : Json(hop.out.value());
    if (hop.out != mad::PortNum{0} && hop.out.value() < node.ports.size()) {
        add_rate(row, node, hop.out);
    }
    return row;
}

Json end_json(const Fabric& fabric, PortRef ref, mad::Lid lid) {
    const fabric::Node& node = fabric.nodes[ref.node];
    return Json{{"node", name_of(node)},
                {"guid", guid_text(node.guid())},
                {"port", ref.port.value()},
                {"lid", lid.value()}};
}

Json path_json(const Fabric& fabric, const std::vector<Hop>& hops) {
    Json out;
    double rate = std::numeric_limits<double>::infinity();
    unsigned mtu = std::numeric_limits<unsigned>::max();
    unsigned links = 0;
    out["hops"] = Json::array();
    for (const Hop& hop : hops) {
        out["hops"].push_back(hop_json(fabric, hop));
        if (hop.out != mad::PortNum{0} && hop.out.value() < fabric.nodes[hop.node].ports.size()) {
            const mad::PortInfo info = fabric::info_of(fabric.nodes[hop.node], hop.out);
            rate = std::min(rate, mad::link_gbps(info.width_active, info.speed()));
            mtu = std::min(mtu, mad::mtu_bytes(info.neighbor_mtu));
            ++links;
        }
    }
    const auto is_switch = [&](const Hop& hop) { return fabric.nodes[hop.node].is_switch(); };
    out["links"] = links;
    out["switches"] = std::count_if(hops.begin(), hops.end(), is_switch);
    if (links > 0) {
        out["rate_gbps"] = rate;
        out["mtu"] = mtu;
    }
    return out;
}

}  // namespace

base::Result<HttpReply> get_path(const Call& call) {
    const Fabric& fabric = *call.snapshot.fabric;
    const Directory directory(fabric);
    const auto end_of = [&](const char* name) -> base::Result<std::pair<PortRef, mad::Lid>> {
        return call.query.required(name)
            .and_then([&](const std::string& word) { return directory.resolve(word); })
            .and_then([&](const Target& target) -> base::Result<std::pair<PortRef, mad::Lid>> {
                const auto ref = end_port(fabric, target);
                if (!ref) {
                    return tl::unexpected(ref.error());
                }
                const mad::Lid base = fabric::lids_of(fabric.nodes[ref->node], ref->port).base;
                return std::pair(*ref, target.lid.value_or(base));
            });
    };
    const auto source = end_of("src");
    const auto destination = end_of("dst");
    if (!source || !destination) {
        return tl::unexpected(source ? destination.error() : source.error());
    }
    if (destination->second == mad::kLidNone) {
        return base::fail(base::ErrorKind::not_found, "the destination has no LID yet");
    }
    Json out;
    out["src"] = end_json(fabric, source->first, source->second);
    out["dst"] = end_json(fabric, destination->first, destination->second);
    // A way that breaks off is an answer about the fabric, not a bad request.
    const auto hops = full_path(fabric, directory, fabric::Forwarding(call.snapshot), source->first,
                                destination->first, destination->second);
    out["arrives"] = hops.has_value();
    if (hops) {
        out.update(path_json(fabric, *hops));
    } else {
        out["problem"] = hops.error().message;
    }
    return json_reply(out);
}

namespace {

/// One LFT entry with whom it leads to.
Json entry_json(const fabric::Forwarding& tables, std::uint32_t at, mad::Lid lid) {
    using Kind = routing::PortPeer::Kind;
    const fabric::Forwarding::Owner owner = tables.owner(lid);
    const std::uint8_t exit = tables.exit(at, lid);
    if (owner.kind == Kind::none && exit == mad::kLftDrop) {
        return nullptr;
    }
    const routing::Topology& topology = tables.topology();
    Json row;
    row["lid"] = lid.value();
    row["port"] = exit == mad::kLftDrop ? Json(nullptr) : Json(exit);
    if (owner.kind == Kind::switch_) {
        row["destination"] = topology.switches[owner.index].name;
        row["guid"] = guid_text(topology.switches[owner.index].guid);
    } else if (owner.kind == Kind::end_port) {
        row["destination"] = topology.end_ports[owner.index].name;
        row["guid"] = guid_text(topology.end_ports[owner.index].port_guid);
    }
    const auto& peers = topology.switches[at].peers;
    if (exit != 0 && exit < peers.size() && peers[exit].kind != Kind::none) {
        const auto& peer = peers[exit];
        row["next"] = peer.kind == Kind::switch_ ? topology.switches[peer.index].name
                                                 : topology.end_ports[peer.index].name;
    }
    return row;
}

}  // namespace

base::Result<HttpReply> get_route(const Call& call) {
    const Fabric& fabric = *call.snapshot.fabric;
    const auto word = call.query.required("switch");
    const auto lid = call.query.number("lid", 0, mad::kLidUnicastMax);
    if (!word || !lid) {
        return tl::unexpected(word ? lid.error() : word.error());
    }
    const auto target = Directory(fabric).resolve(*word);
    if (!target) {
        return tl::unexpected(target.error());
    }
    const fabric::Node& node = fabric.nodes[target->node];
    const auto tables = std::make_shared<const fabric::Forwarding>(call.snapshot);
    const std::uint32_t at = tables->topology().find_switch(node.guid());
    if (at == routing::kNoIndex || !tables->has_table(at)) {
        return base::fail(base::ErrorKind::not_found,
                          node.is_switch()
                              ? fmt::format("switch '{}' has acknowledged no table yet", name_of(node))
                              : fmt::format("'{}' is no switch and has no forwarding table", name_of(node)));
    }
    const std::uint32_t first = *lid != 0 ? static_cast<std::uint32_t>(*lid) : 1U;
    const std::uint32_t last = *lid != 0 ? first : tables->topology().max_lid;
    return row_stream("entries", last - first + 1, [tables, at, first](std::size_t i) {
        return entry_json(*tables, at, mad::Lid{static_cast<std::uint16_t>(first + i)});
    });
}

}  // namespace ibf::api
