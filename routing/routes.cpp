#include "routing/routes.hpp"

#include <map>

#include <fmt/format.h>

#include "base/fnv.hpp"

namespace ibf::routing {

std::uint8_t Routes::port(SwitchIndex at, mad::Lid lid) const {
    if (at.value() >= rows.size() || rows[at.value()] == nullptr) {
        return mad::kLftDrop;
    }
    const LftRow& row = *rows[at.value()];
    return lid.value() < row.size() ? row[lid.value()] : mad::kLftDrop;
}

std::uint8_t Routes::sl(SwitchIndex from, mad::Lid to) const {
    if (from.value() >= sls.size() || sls[from.value()] == nullptr) {
        return 0;
    }
    const SlRow& row = *sls[from.value()];
    return to.value() < row.size() ? row[to.value()] : 0;
}

std::uint8_t Routes::lane(SwitchIndex at, mad::PortNum input, mad::PortNum exit, std::uint8_t sl) const {
    if (at.value() >= lane_maps.size() || lane_maps[at.value()] == nullptr) {
        return sl;
    }
    return lane_maps[at.value()]->lanes(input, exit)[sl];
}

std::uint64_t Routes::hash() const {
    base::Fnv1a hash;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        for (int shift = 0; shift < 64; shift += 8) {
            hash.add(static_cast<std::uint8_t>(switch_guids[i].value() >> shift));
        }
        for (const std::uint8_t byte : *rows[i]) {
            hash.add(byte);
        }
    }
    for (const std::shared_ptr<const SlRow>& row : sls) {
        for (std::size_t lid = 0; row != nullptr && lid < row->size(); ++lid) {
            hash.add((*row)[lid]);
        }
    }
    for (const std::shared_ptr<const LaneMap>& map : lane_maps) {
        for (std::size_t i = 0; map != nullptr && i < map->tables.size(); ++i) {
            for (const std::uint8_t lane : map->tables[i]) {
                hash.add(lane);
            }
        }
    }
    return hash.value();
}

Routes in_order_of(const Topology& topology, const Routes& routes) {
    std::map<mad::Guid, std::size_t> places;
    for (std::size_t i = 0; i < routes.switch_guids.size(); ++i) {
        places.emplace(routes.switch_guids[i], i);
    }
    Routes ordered = routes;
    ordered.switch_guids.clear();
    ordered.rows.clear();
    ordered.sls.clear();
    ordered.lane_maps.clear();
    for (const TopologySwitch& item : topology.switches) {
        const auto found = places.find(item.guid);
        const auto take = [&](const auto& from, auto& to) {
            if (!from.empty()) {
                to.push_back(found != places.end() && found->second < from.size() ? from[found->second]
                                                                                  : nullptr);
            }
        };
        ordered.switch_guids.push_back(item.guid);
        take(routes.rows, ordered.rows);
        take(routes.sls, ordered.sls);
        take(routes.lane_maps, ordered.lane_maps);
    }
    ordered.rows.resize(topology.switches.size());
    return ordered;
}

namespace {

/// Where a packet may come from or stand: the end port's attachment, checked.
base::Result<SwitchIndex> entry_switch(const Topology& topology, EndPortIndex source) {
    if (source.value() >= topology.end_ports.size()) {
        return base::fail(base::ErrorKind::not_found, fmt::format("there is no end port {}", source));
    }
    const TopologyEndPort& port = topology.end_ports[source.value()];
    if (port.switch_index == kNoIndex) {
        return base::fail(base::ErrorKind::not_found, fmt::format("{} hangs off no switch", port.name));
    }
    return SwitchIndex{port.switch_index};
}

}  // namespace

base::Result<std::vector<PathHop>> trace_path(const Topology& topology, const Routes& routes,
                                              EndPortIndex source, mad::Lid destination) {
    const base::Result<SwitchIndex> entry = entry_switch(topology, source);
    if (!entry) {
        return tl::unexpected<base::Error>(entry.error());
    }
    const auto broken = [&](const TopologySwitch& at, const char* how) {
        return base::fail(base::ErrorKind::not_found, fmt::format("the path to LID {} {} at {} ({})",
                                                                  destination, how, at.name, at.guid));
    };
    std::vector<PathHop> hops;
    SwitchIndex at = *entry;
    mad::PortNum in = topology.end_ports[source.value()].switch_port;
    while (true) {
        const TopologySwitch& item = topology.switches[at.value()];
        if (hops.size() >= topology.switches.size()) {
            return broken(item, "loops");
        }
        const std::uint8_t out = routes.port(at, destination);
        hops.push_back({at, in, mad::PortNum{out}});
        if (out == 0) {
            return item.lids.contains(destination) ? base::Result<std::vector<PathHop>>(std::move(hops))
                                                   : broken(item, "ends in port 0 of a stranger");
        }
        if (out >= item.peers.size() || item.peers[out].kind == PortPeer::Kind::none) {
            return broken(item, out == mad::kLftDrop ? "has no entry" : "leaves by an unconnected port");
        }
        const PortPeer& peer = item.peers[out];
        if (peer.kind == PortPeer::Kind::end_port) {
            return topology.end_ports[peer.index].lids.contains(destination)
                       ? base::Result<std::vector<PathHop>>(std::move(hops))
                       : broken(item, "is handed to a stranger");
        }
        at = SwitchIndex{peer.index};
        in = peer.port;
    }
}

}  // namespace ibf::routing
