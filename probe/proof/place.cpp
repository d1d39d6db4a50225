#include "probe/proof/place.hpp"

#include <fmt/format.h>

namespace ibf::probe {

using routing::PortPeer;
using routing::Topology;

Place place_of(const Topology& topology, routing::EndPortIndex end) {
    return {.is_switch = false, .index = end.value(), .port = topology.end_ports[end.value()].port};
}

std::optional<Place> peer_of(const Topology& topology, const Place& place) {
    if (!place.is_switch) {
        const routing::TopologyEndPort& end = topology.end_ports[place.index];
        return end.switch_index == routing::kNoIndex
                   ? std::nullopt
                   : std::optional(Place{.index = end.switch_index, .port = end.switch_port});
    }
    const auto& peers = topology.switches[place.index].peers;
    if (place.port.value() >= peers.size() || peers[place.port.value()].kind == PortPeer::Kind::none) {
        return std::nullopt;
    }
    const PortPeer& peer = peers[place.port.value()];
    return Place{.is_switch = peer.kind == PortPeer::Kind::switch_, .index = peer.index, .port = peer.port};
}

mad::Guid node_guid_of(const Topology& topology, const Place& place) {
    return place.is_switch ? topology.switches[place.index].guid : topology.end_ports[place.index].node_guid;
}

std::string node_name_of(const Topology& topology, const Place& place) {
    return place.is_switch ? topology.switches[place.index].name : topology.end_ports[place.index].name;
}

std::string name_of(const Topology& topology, const Place& place) {
    return place.is_switch ? fmt::format("{} port {}", node_name_of(topology, place), place.port)
                           : fmt::format("{}/{}", node_name_of(topology, place), place.port);
}

mad::Lid lid_of(const Topology& topology, const Place& place) {
    return place.is_switch ? topology.switches[place.index].lids.base
                           : topology.end_ports[place.index].lids.base;
}

std::uint32_t mbps_of(const Topology& topology, const Place& place) {
    const std::optional<Place> at = place.is_switch ? std::optional(place) : peer_of(topology, place);
    return at ? topology.switches[at->index].peers[at->port.value()].mbps : 0;
}

std::optional<std::vector<Hop>> hops_of(const Topology& topology, const routing::TableView& view,
                                        routing::EndPortIndex from, mad::Lid to) {
    std::vector<Hop> hops;
    Place out = place_of(topology, from);
    while (hops.size() <= topology.switches.size() + 1) {
        const std::optional<Place> in = peer_of(topology, out);
        if (!in) {
            return std::nullopt;
        }
        hops.push_back({out, *in});
        if (!in->is_switch) {
            return topology.end_ports[in->index].lids.contains(to) ? std::optional(std::move(hops))
                                                                   : std::nullopt;
        }
        out = {.index = in->index, .port = mad::PortNum{view.port(in->index, to.value())}};
        if (out.port.value() == 0 || out.port.value() == mad::kLftDrop) {
            return std::nullopt;
        }
    }
    return std::nullopt;
}

}  // namespace ibf::probe
