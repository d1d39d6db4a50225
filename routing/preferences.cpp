#include "routing/preferences.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/fnv.hpp"

namespace ibf::routing {

namespace {

class Fingerprint {
public:
    void add(std::uint64_t value) {
        for (int shift = 0; shift < 64; shift += 8) {
            hash_.add(static_cast<std::uint8_t>(value >> shift));
        }
    }
    void add(mad::Guid guid) { add(guid.value()); }
    void add(const SwitchPort& port) {
        add(port.node);
        add(port.port.value());
    }
    void add(const HopWeight& weight) {
        add(weight.at);
        add(weight.hops);
    }
    template <class Item>
    void add(const std::vector<Item>& items) {
        add(items.size());
        for (const Item& item : items) {
            add(item);
        }
    }
    [[nodiscard]] std::uint64_t value() const { return std::max<std::uint64_t>(1, hash_.value()); }

private:
    base::Fnv1a hash_;
};

void add_throttled_links(const Topology& topology, Fingerprint& out) {
    for (const TopologySwitch& item : topology.switches) {
        for (std::size_t port = 1; port < item.peers.size(); ++port) {
            const PortPeer& peer = item.peers[port];
            if (peer.kind == PortPeer::Kind::switch_ && peer.throttled) {
                out.add(item.guid);
                out.add(port);
                out.add(peer.mbps);
            }
        }
    }
}

bool is_named(const std::vector<mad::Guid>& guids, const TopologyEndPort& end) {
    return std::binary_search(guids.begin(), guids.end(), end.port_guid) ||
           std::binary_search(guids.begin(), guids.end(), end.node_guid);
}

Role role_of(const Topology& topology, const Preferences& preferences, const TopologyEndPort& end) {
    if (end.switch_index != kNoIndex) {
        const SwitchPort at{topology.switches[end.switch_index].guid, end.switch_port};
        const auto& ignored = preferences.ignored_ports;
        if (std::binary_search(ignored.begin(), ignored.end(), at)) {
            return Role::uncounted;
        }
    }
    if (is_named(preferences.compute_nodes, end)) {
        return Role::compute;
    }
    if (is_named(preferences.io_nodes, end)) {
        return Role::io;
    }
    return preferences.compute_nodes.empty() && !preferences.io_nodes.empty() ? Role::compute : Role::other;
}

/// What a port of a switch leads to; none where there is no such port.
PortPeer::Kind kind_at(const Topology& topology, const SwitchPort& at) {
    const std::uint32_t found = topology.find_switch(at.node);
    return found != kNoIndex && at.port.value() < topology.switches[found].peers.size()
               ? topology.switches[found].peers[at.port.value()].kind
               : PortPeer::Kind::none;
}

}  // namespace

std::vector<std::string> strangers(const Topology& topology, const Preferences& preferences) {
    std::vector<std::string> found;
    const auto look = [&found](std::string_view option, const auto& items, const auto& is_here,
                               std::string_view what) {
        if (!items.empty() && std::none_of(items.begin(), items.end(), is_here)) {
            found.push_back(
                fmt::format("{}: none of the {} that it names is {} here", option, items.size(), what));
        }
    };
    std::set<mad::Guid> ends;
    for (const TopologyEndPort& end : topology.end_ports) {
        ends.insert({end.node_guid, end.port_guid});
    }
    const auto is_end = [&](mad::Guid guid) { return ends.contains(guid); };
    look(
        "hop_weights_file", preferences.hop_weights,
        [&](const HopWeight& entry) { return kind_at(topology, entry.at) == PortPeer::Kind::switch_; },
        "a port between switches");
    look(
        "port_prof_ignore_file", preferences.ignored_ports,
        [&](const SwitchPort& at) { return kind_at(topology, at) == PortPeer::Kind::end_port; },
        "a switch port toward an end port");
    look("cn_guid_file", preferences.compute_nodes, is_end, "an end port");
    look("io_guid_file", preferences.io_nodes, is_end, "an end port");
    look("guid_routing_order_file", preferences.order, is_end, "an end port");
    return found;
}

std::uint64_t fingerprint(const Preferences& preferences, const Topology& topology) {
    if (preferences == Preferences{}) {
        return 0;
    }
    Fingerprint out;
    out.add(static_cast<std::uint64_t>(preferences.slow_links));
    out.add(preferences.hop_weights);
    out.add(preferences.ignored_ports);
    out.add(preferences.compute_nodes);
    out.add(preferences.io_nodes);
    out.add(preferences.order);
    if (preferences.slow_links == SlowLinks::weigh) {
        add_throttled_links(topology, out);
    }
    return out.value();
}

Roles roles_of(const Topology& topology, const Preferences& preferences) {
    Roles roles;
    if (preferences.ignored_ports.empty() && preferences.compute_nodes.empty() &&
        preferences.io_nodes.empty() && preferences.order.empty()) {
        return roles;
    }
    std::map<mad::Guid, std::uint32_t> places;
    for (const mad::Guid guid : preferences.order) {
        places.emplace(guid, static_cast<std::uint32_t>(places.size()));
    }
    const auto place_of = [&](mad::Guid guid) {
        const auto found = places.find(guid);
        return found == places.end() ? kNoIndex : found->second;
    };
    for (const TopologyEndPort& end : topology.end_ports) {
        const Role role = role_of(topology, preferences, end);
        const std::uint32_t place = std::min(place_of(end.port_guid), place_of(end.node_guid));
        roles.role.push_back(role);
        roles.turn.push_back(place != kNoIndex && role != Role::uncounted
                                 ? place
                                 : static_cast<std::uint32_t>(places.size()) +
                                       static_cast<std::uint32_t>(role));
    }
    return roles;
}

}  // namespace ibf::routing
