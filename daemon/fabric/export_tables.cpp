// OpenSM's table dumps: opensm.fdbs (with hops and whether they are the least possible) and opensm-lfts.dump.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "daemon/fabric/export.hpp"
#include "daemon/fabric/forwarding.hpp"

namespace ibf::fabric {
namespace {

using Kind = routing::PortPeer::Kind;

constexpr std::uint32_t kFar = 0xFFFFFFFFU;

/// Shortest distances from one switch to all others, and by which port the first such path leaves.
struct Distances {
    std::vector<std::uint32_t> hops;
    std::vector<std::uint8_t> first_port;
};

Distances distances_from(const routing::Topology& topology, std::uint32_t from) {
    Distances out;
    out.hops.assign(topology.switches.size(), kFar);
    out.first_port.assign(topology.switches.size(), 0);
    std::vector<std::uint32_t> queue{from};
    out.hops[from] = 0;
    for (std::size_t head = 0; head < queue.size(); ++head) {
        const std::uint32_t at = queue[head];
        const auto& peers = topology.switches[at].peers;
        for (std::size_t p = 1; p < peers.size(); ++p) {
            if (peers[p].kind != Kind::switch_ || out.hops[peers[p].index] != kFar) {
                continue;
            }
            out.hops[peers[p].index] = out.hops[at] + 1;
            out.first_port[peers[p].index] = at == from ? static_cast<std::uint8_t>(p) : out.first_port[at];
            queue.push_back(peers[p].index);
        }
    }
    return out;
}

/// The best any table could do from a switch to a LID's owner.
struct Best {
    std::uint32_t hops = kFar;
    std::uint8_t port = 0;
};

Best best_to(const routing::Topology& topology, const Distances& distances, std::uint32_t from,
             Forwarding::Owner owner) {
    if (owner.kind == Kind::switch_) {
        return {distances.hops[owner.index], distances.first_port[owner.index]};
    }
    const auto& end = topology.end_ports[owner.index];
    if (end.switch_index == routing::kNoIndex || distances.hops[end.switch_index] == kFar) {
        return {};
    }
    return {distances.hops[end.switch_index] + 1,
            end.switch_index == from ? end.switch_port.value() : distances.first_port[end.switch_index]};
}

void append_fdb(std::string& out, const Forwarding& tables, std::uint32_t at) {
    const routing::Topology& topology = tables.topology();
    const Distances distances = distances_from(topology, at);
    fmt::format_to(std::back_inserter(out), "dump_ucast_routes: Switch {}\nLID    : Port : Hops : Optimal\n",
                   topology.switches[at].guid);
    for (std::uint32_t value = 1; value <= topology.max_lid; ++value) {
        const mad::Lid lid{static_cast<std::uint16_t>(value)};
        const Forwarding::Owner owner = tables.owner(lid);
        const auto hops = owner.kind == Kind::none ? std::nullopt : tables.hops(at, lid);
        if (!hops) {
            fmt::format_to(std::back_inserter(out), "0x{:04X} : UNREACHABLE\n", value);
            continue;
        }
        const bool own = owner == Forwarding::Owner{Kind::switch_, at};
        fmt::format_to(std::back_inserter(out), "0x{:04X} : {:03}  : {:02}   : ", value,
                       own ? 0 : tables.exit(at, lid), *hops);
        const Best best = best_to(topology, distances, at, owner);
        if (*hops <= best.hops) {
            out += "yes\n";
        } else {
            fmt::format_to(std::back_inserter(out), "No {} hop path possible via port {}!\n", best.hops,
                           best.port);
        }
    }
}

std::string_view opensm_node_type(mad::NodeType type) {
    switch (type) {
        case mad::NodeType::ca: return "Channel Adapter";
        case mad::NodeType::switch_: return "Switch";
        case mad::NodeType::router: return "Router";
    }
    return "UNKNOWN";
}

void append_destination(std::string& out, const routing::Topology& topology, Forwarding::Owner owner) {
    if (owner.kind == Kind::switch_) {
        const auto& item = topology.switches[owner.index];
        fmt::format_to(std::back_inserter(out), "Switch portguid {}: '{}'\n", item.guid, item.name);
    } else if (owner.kind == Kind::end_port) {
        const auto& item = topology.end_ports[owner.index];
        fmt::format_to(std::back_inserter(out), "{} portguid {}: '{}'\n", opensm_node_type(item.type),
                       item.port_guid, item.name);
    } else {
        out += "unknown node and type\n";
    }
}

void append_lft(std::string& out, const Forwarding& tables, std::uint32_t at) {
    const routing::Topology& topology = tables.topology();
    const auto& here = topology.switches[at];
    fmt::format_to(std::back_inserter(out), "Unicast lids [0-{}] of switch Lid {} guid {} ('{}'):\n",
                   topology.max_lid, here.lids.base, here.guid, here.name);
    unsigned dumped = 0;
    for (std::uint32_t value = 1; value <= topology.max_lid; ++value) {
        const mad::Lid lid{static_cast<std::uint16_t>(value)};
        const Forwarding::Owner owner = tables.owner(lid);
        const std::uint8_t port = tables.exit(at, lid);
        if (port == mad::kLftDrop) {
            continue;
        }
        fmt::format_to(std::back_inserter(out), "0x{:04x} {:03} # ", value, port);
        append_destination(out, topology, owner);
        ++dumped;
    }
    fmt::format_to(std::back_inserter(out), "{} lids dumped\n", dumped);
}

using SwitchWriter = void (*)(std::string&, const Forwarding&, std::uint32_t);

/// One piece per switch, in GUID order.
TextStream per_switch(const Snapshot& snapshot, SwitchWriter write) {
    return [tables = Forwarding(snapshot), write, at = std::uint32_t{0}](std::string& out) mutable {
        if (at == tables.topology().switches.size()) {
            return false;
        }
        write(out, tables, at++);
        return true;
    };
}

}  // namespace

std::vector<std::string_view> opensm_dump_files() {
    return {"opensm-subnet.lst", "opensm.fdbs", "opensm.mcfdbs", "opensm-lfts.dump", "guid2lid"};
}

base::Result<TextStream> opensm_dump(std::shared_ptr<const Snapshot> snapshot, std::string_view file) {
    const auto names = opensm_dump_files();
    if (std::find(names.begin(), names.end(), file) == names.end()) {
        return base::fail(base::ErrorKind::not_found, fmt::format("a dump folder has no file '{}'; it has {}",
                                                                  file, fmt::join(names, ", ")));
    }
    if (snapshot->fabric == nullptr || snapshot->view == nullptr) {
        return base::fail(base::ErrorKind::unavailable, snapshot->mode_text);
    }
    if (file == "opensm-subnet.lst") {
        return stream_of(subnet_lst_text(*snapshot));
    }
    if (file == "guid2lid") {
        return stream_of(guid2lid_text(*snapshot));
    }
    if (file == "opensm.mcfdbs") {
        return stream_of("");  // no multicast group is served yet, as OpenSM writes it then
    }
    return per_switch(*snapshot, file == "opensm.fdbs" ? &append_fdb : &append_lft);
}

}  // namespace ibf::fabric
