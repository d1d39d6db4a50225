#include "routing/elements.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

namespace ibf::routing {

namespace {

template <class Item>
bool holds(const std::vector<Item>& items, const Item& item) {
    return std::binary_search(items.begin(), items.end(), item);
}

template <class Item>
void put(std::vector<Item>& items, const Item& item) {
    const auto place = std::lower_bound(items.begin(), items.end(), item);
    if (place == items.end() || *place != item) {
        items.insert(place, item);
    }
}

template <class Item>
std::vector<Item> merged(const std::vector<Item>& a, const std::vector<Item>& b) {
    std::vector<Item> all;
    std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all));
    return all;
}

}  // namespace

bool Elements::has(mad::Guid node) const {
    return holds(switches, node);
}

bool Elements::has(const SwitchPort& at) const {
    return holds(ports, at);
}

void Elements::add(mad::Guid node) {
    put(switches, node);
}

void Elements::add(const SwitchPort& at) {
    put(ports, at);
}

void Elements::remove(mad::Guid node) {
    std::erase(switches, node);
}

void Elements::remove(const SwitchPort& at) {
    std::erase(ports, at);
}

Elements united(const Elements& a, const Elements& b) {
    return {merged(a.switches, b.switches), merged(a.ports, b.ports)};
}

bool is_gone(const Topology& topology, const Elements& gone, std::uint32_t at, std::size_t port) {
    const TopologySwitch& item = topology.switches[at];
    const PortPeer& peer = item.peers[port];
    if (gone.has(item.guid) ||
        gone.has(SwitchPort{item.guid, mad::PortNum{static_cast<std::uint8_t>(port)}})) {
        return true;
    }
    if (peer.kind != PortPeer::Kind::switch_) {
        return false;
    }
    const mad::Guid far = topology.switches[peer.index].guid;
    return gone.has(far) || gone.has(SwitchPort{far, peer.port});
}

namespace {

/// Where the end port's cable is, if it has one that is left.
bool is_left(const Topology& topology, const Elements& gone, const TopologyEndPort& end) {
    return end.switch_index == kNoIndex ||
           !is_gone(topology, gone, end.switch_index, end.switch_port.value());
}

}  // namespace

Topology without(const Topology& topology, const Elements& gone) {
    TopologyBuilder builder;
    for (const TopologySwitch& item : topology.switches) {
        if (!gone.has(item.guid)) {
            TopologySwitch bare = item;
            bare.peers.clear();
            builder.add_switch(std::move(bare));
        }
    }
    for (const TopologyEndPort& end : topology.end_ports) {
        if (is_left(topology, gone, end)) {
            TopologyEndPort bare = end;
            bare.switch_index = kNoIndex;
            bare.switch_port = {};
            builder.add_end_port(std::move(bare));
        }
    }
    for (std::uint32_t at = 0; at < topology.switches.size(); ++at) {
        const TopologySwitch& item = topology.switches[at];
        for (std::size_t port = 1; port < item.peers.size(); ++port) {
            const PortPeer& peer = item.peers[port];
            const mad::PortNum here{static_cast<std::uint8_t>(port)};
            const bool to_switch = peer.kind == PortPeer::Kind::switch_;
            const bool again = to_switch && std::pair(peer.index, peer.port) < std::pair(at, here);
            if (peer.kind == PortPeer::Kind::none || again || is_gone(topology, gone, at, port)) {
                continue;
            }
            const mad::Guid far =
                to_switch ? topology.switches[peer.index].guid : topology.end_ports[peer.index].node_guid;
            builder.add_link(item.guid, here, far, peer.port, {peer.data_vls, peer.throttled, peer.mbps});
        }
    }
    return builder.build();
}

bool is_host(const TopologyEndPort& end) {
    constexpr std::string_view kPartOfASwitch = "Aggregation Node";
    return end.lids.count() != 0 && end.name.find(kPartOfASwitch) == std::string::npos;
}

std::vector<EndPortIndex> hosts_of(const Topology& topology) {
    std::vector<EndPortIndex> hosts;
    for (std::uint32_t end = 0; end < topology.end_ports.size(); ++end) {
        if (is_host(topology.end_ports[end])) {
            hosts.emplace_back(end);
        }
    }
    return hosts;
}

namespace {

/// For each switch the lowest one that it is connected with once `gone` is gone; kNoIndex for what is gone.
std::vector<std::uint32_t> parts_without(const Topology& topology, const Elements& gone) {
    std::vector<std::uint32_t> parts(topology.switches.size(), kNoIndex);
    std::vector<std::uint32_t> open;
    for (std::uint32_t start = 0; start < parts.size(); ++start) {
        if (parts[start] != kNoIndex || gone.has(topology.switches[start].guid)) {
            continue;
        }
        parts[start] = start;
        open.push_back(start);
        while (!open.empty()) {
            const std::uint32_t at = open.back();
            open.pop_back();
            const std::vector<PortPeer>& peers = topology.switches[at].peers;
            for (std::size_t port = 1; port < peers.size(); ++port) {
                const bool onward = peers[port].kind == PortPeer::Kind::switch_ &&
                                    parts[peers[port].index] == kNoIndex &&
                                    !is_gone(topology, gone, at, port);
                if (onward) {
                    parts[peers[port].index] = start;
                    open.push_back(peers[port].index);
                }
            }
        }
    }
    return parts;
}

std::uint64_t pairs_of(std::uint64_t hosts) {
    return hosts == 0 ? 0 : hosts * (hosts - 1) / 2;
}

}  // namespace

Losses losses(const Topology& topology, const Elements& gone) {
    const std::vector<std::uint32_t> before = parts_without(topology, {});
    const std::vector<std::uint32_t> after = parts_without(topology, gone);
    // Hosts by what they are connected with now, then by what will be left of it; alone: kNoIndex.
    std::map<std::uint32_t, std::map<std::uint32_t, std::uint64_t>> counts;
    const std::vector<EndPortIndex> hosts = hosts_of(topology);
    const auto part_after = [&](const TopologyEndPort& end) {
        return is_left(topology, gone, end) ? after[end.switch_index] : kNoIndex;
    };
    for (const EndPortIndex host : hosts) {
        const TopologyEndPort& end = topology.end_ports[host.value()];
        if (end.switch_index != kNoIndex) {
            ++counts[before[end.switch_index]][part_after(end)];
        }
    }
    Losses lost;
    std::map<std::uint32_t, std::uint32_t> largest;
    for (const auto& [whole, parts] : counts) {
        std::uint64_t all = 0;
        std::uint64_t kept = 0;
        std::uint64_t most = 0;
        std::uint32_t& best = largest.emplace(whole, kNoIndex).first->second;
        for (const auto& [part, count] : parts) {
            all += count;
            if (part == kNoIndex) {
                continue;  // each by itself
            }
            kept += pairs_of(count);
            if (count > most) {
                most = count;
                best = part;
            }
        }
        lost.pairs += pairs_of(all) - kept;
    }
    for (const EndPortIndex host : hosts) {
        const TopologyEndPort& end = topology.end_ports[host.value()];
        if (end.switch_index == kNoIndex) {
            continue;
        }
        const std::uint32_t part = part_after(end);
        if (part == kNoIndex || part != largest.at(before[end.switch_index])) {
            lost.cut_off.push_back(host);
        }
    }
    return lost;
}

}  // namespace ibf::routing
