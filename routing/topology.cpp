#include "routing/topology.hpp"

#include <algorithm>
#include <bitset>
#include <optional>
#include <tuple>
#include <utility>

#include "base/check.hpp"
#include "mad/codec.hpp"
#include "mad/link_rate.hpp"

namespace ibf::routing {
namespace {

// What a switch can do where the netlist carries no PortInfo: VL0-7, as every switch ASIC of the last fifteen
// years reports.
constexpr std::uint8_t kAssumedDataVls = 8;
constexpr std::uint32_t kLidSpace = mad::kLidUnicastMax + 1U;

std::size_t lid_end(const mad::LidRange& range) {
    return range.base == mad::kLidNone ? 0 : range.end();
}

/// The node and port a cable ends at, found in the sorted topology.
struct Socket {
    PortPeer::Kind kind = PortPeer::Kind::none;
    std::uint32_t index = kNoIndex;
    mad::PortNum port{};
};

Socket find_socket(const Topology& topology, mad::Guid guid, mad::PortNum port) {
    const auto at_switch = std::lower_bound(topology.switches.begin(), topology.switches.end(), guid,
                                            [](const auto& item, mad::Guid key) { return item.guid < key; });
    if (at_switch != topology.switches.end() && at_switch->guid == guid) {
        if (port.value() == 0 || port.value() > at_switch->num_ports) {
            return {};
        }
        return {PortPeer::Kind::switch_, static_cast<std::uint32_t>(at_switch - topology.switches.begin()),
                port};
    }
    const auto key = std::pair(guid, port);
    const auto at_end = std::lower_bound(
        topology.end_ports.begin(), topology.end_ports.end(), key,
        [](const auto& item, const auto& wanted) { return std::pair(item.node_guid, item.port) < wanted; });
    if (at_end != topology.end_ports.end() && std::pair(at_end->node_guid, at_end->port) == key) {
        return {PortPeer::Kind::end_port, static_cast<std::uint32_t>(at_end - topology.end_ports.begin()),
                port};
    }
    return {};
}

/// Hands out LIDs: what is claimed first, then the lowest free ranges above a cursor.
class LidSpace {
public:
    LidSpace() { used_.set(0); }

    [[nodiscard]] bool claim(const mad::LidRange& range) {
        const std::uint32_t base = range.base.value();
        const std::uint32_t size = 1U << range.lmc;
        if (base == 0 || base % size != 0 || base + size > kLidSpace || !is_free(base, size)) {
            return false;
        }
        mark(base, size);
        return true;
    }

    /// The next free range at or above the last one handed out, so that calls in a row get LIDs in a row.
    [[nodiscard]] std::optional<mad::LidRange> take(std::uint8_t lmc) {
        const std::uint32_t size = 1U << lmc;
        std::uint32_t base = (cursor_ + size - 1) / size * size;
        while (base + size <= kLidSpace && !is_free(base, size)) {
            base += size;
        }
        if (base + size > kLidSpace) {
            return std::nullopt;
        }
        mark(base, size);
        cursor_ = base + size;
        return mad::LidRange{mad::Lid{static_cast<std::uint16_t>(base)}, lmc};
    }

private:
    [[nodiscard]] bool is_free(std::uint32_t base, std::uint32_t size) const {
        for (std::uint32_t lid = base; lid < base + size; ++lid) {
            if (used_.test(lid)) {
                return false;
            }
        }
        return true;
    }
    void mark(std::uint32_t base, std::uint32_t size) {
        for (std::uint32_t lid = base; lid < base + size; ++lid) {
            used_.set(lid);
        }
    }

    std::bitset<kLidSpace> used_;
    std::uint32_t cursor_ = 1;
};

/// Pass 1: whoever has a valid LID keeps it, in the order of the topology (GUID, then port); the rest get
/// none.
void keep_lids(Topology& topology, std::uint8_t lmc, LidSpace& space) {
    const auto keep = [&space](mad::LidRange& lids, std::uint8_t least_lmc) {
        lids.lmc = std::max(lids.lmc, least_lmc);
        if (lids.lmc > 7 || !space.claim(lids)) {
            lids = {mad::kLidNone, least_lmc};
        }
    };
    for (auto& item : topology.switches) {
        keep(item.lids, 0);
    }
    for (auto& item : topology.end_ports) {
        keep(item.lids, lmc);
    }
}

/// Pass 2: the hosts of each switch in a row, then the ports without a switch, then the switches.
[[nodiscard]] bool fill_lids(Topology& topology, std::uint8_t lmc, LidSpace& space) {
    const auto fill = [&space](mad::LidRange& lids, std::uint8_t range_lmc) {
        if (lids.base != mad::kLidNone) {
            return true;
        }
        const auto taken = space.take(range_lmc);
        lids = taken.value_or(mad::LidRange{});
        return taken.has_value();
    };
    for (const auto& item : topology.switches) {
        for (const auto& peer : item.peers) {
            if (peer.kind == PortPeer::Kind::end_port && !fill(topology.end_ports[peer.index].lids, lmc)) {
                return false;
            }
        }
    }
    for (auto& item : topology.end_ports) {
        if (!fill(item.lids, lmc)) {
            return false;
        }
    }
    for (auto& item : topology.switches) {
        if (!fill(item.lids, 0)) {
            return false;
        }
    }
    return true;
}

/// The data VLs a port can carry: VLCap of its PortInfo where the netlist has one.
std::uint8_t data_vls_of(const NetlistPort& port) {
    if (!port.port_info) {
        return kAssumedDataVls;
    }
    const unsigned vls = mad::vl_count(mad::decode_port_info(*port.port_info).vl_cap);
    return vls == 0 ? kAssumedDataVls : static_cast<std::uint8_t>(vls);
}

/// PortInfo of a port, with the capability bits of its node, where the netlist has both.
std::optional<mad::PortInfo> port_info_of(const NetlistNode& node, const NetlistPort& port) {
    if (!port.port_info) {
        return std::nullopt;
    }
    mad::PortInfo info = mad::decode_port_info(*port.port_info);
    if (node.type == mad::NodeType::switch_) {
        if (!node.ports.front().port_info) {
            return std::nullopt;
        }
        const mad::PortInfo own = mad::decode_port_info(*node.ports.front().port_info);
        info.capability_mask = own.capability_mask;
        info.capability_mask2 = own.capability_mask2;
    }
    return info;
}

/// Only PortInfo tells what a link could run at; other texts tell what it does, or nothing.
LinkTraits traits_of(const Netlist& netlist, const NetlistNode& node, const NetlistPort& port) {
    const NetlistNode& peer_node = netlist.nodes[*port.peer_node];
    const NetlistPort& peer = peer_node.ports[port.peer_port.value()];
    LinkTraits traits;
    traits.data_vls = std::min(data_vls_of(port), data_vls_of(peer));
    const mad::LinkRate running{port.width, port.speed};
    traits.mbps = running.mbps();
    const auto here = port_info_of(node, port);
    const auto there = port_info_of(peer_node, peer);
    traits.throttled = here && there && mad::is_below(running, mad::possible_rate(*here, *there));
    return traits;
}

TopologySwitch switch_of(const NetlistNode& node) {
    TopologySwitch item;
    item.guid = node.guid;
    item.lids = node.ports.front().lids;
    item.num_ports = node.num_ports();
    if (node.switch_info) {
        const std::uint32_t cap = mad::decode_switch_info(*node.switch_info).linear_fdb_cap;
        item.lft_cap = cap == 0 ? item.lft_cap : cap;
    }
    item.name = node.description.empty() ? node.id : node.description;
    return item;
}

TopologyEndPort end_port_of(const NetlistNode& node, mad::PortNum number) {
    const NetlistPort& port = node.ports[number.value()];
    TopologyEndPort item;
    item.node_guid = node.guid;
    item.port_guid = port.guid.value() == 0 ? mad::Guid{node.guid.value() + number.value()} : port.guid;
    item.port = number;
    item.type = node.type;
    item.lids = port.lids;
    item.name = node.description.empty() ? node.id : node.description;
    return item;
}

}  // namespace

std::uint16_t highest_lid(const Topology& topology) {
    std::size_t end = 1;
    for (const auto& item : topology.switches) {
        end = std::max(end, lid_end(item.lids));
    }
    for (const auto& item : topology.end_ports) {
        end = std::max(end, lid_end(item.lids));
    }
    return static_cast<std::uint16_t>(std::min<std::size_t>(end - 1, mad::kLidUnicastMax));
}

std::size_t Topology::lid_count() const {
    std::size_t count = 0;
    for (const auto& item : switches) {
        count += item.lids.count();
    }
    for (const auto& item : end_ports) {
        count += item.lids.count();
    }
    return count;
}

std::size_t Topology::link_count() const {
    std::size_t count = 0;
    for (std::uint32_t index = 0; index < switches.size(); ++index) {
        const auto& peers = switches[index].peers;
        for (std::uint8_t port = 1; port < peers.size(); ++port) {
            const PortPeer& peer = peers[port];
            if (peer.kind == PortPeer::Kind::end_port) {
                ++count;
            } else if (peer.kind == PortPeer::Kind::switch_) {
                // Counted at its lower end; a plug that loops a port onto itself has only that one.
                count += std::tuple(index, mad::PortNum{port}) <= std::tuple(peer.index, peer.port) ? 1U : 0U;
            }
        }
    }
    return count;
}

void TopologyBuilder::add_switch(TopologySwitch item) {
    switches_.push_back(std::move(item));
}

void TopologyBuilder::add_end_port(TopologyEndPort item) {
    end_ports_.push_back(std::move(item));
}

void TopologyBuilder::add_link(mad::Guid a, mad::PortNum a_port, mad::Guid b, mad::PortNum b_port,
                               const LinkTraits& traits) {
    if (std::pair(b, b_port) < std::pair(a, a_port)) {
        std::swap(a, b);
        std::swap(a_port, b_port);
    }
    cables_.push_back({a, b, a_port, b_port, traits});
}

Topology TopologyBuilder::build() {
    Topology topology;
    topology.switches = std::move(switches_);
    topology.end_ports = std::move(end_ports_);
    const auto switch_key = [](const TopologySwitch& item) { return item.guid; };
    const auto end_key = [](const TopologyEndPort& item) { return std::pair(item.node_guid, item.port); };
    std::ranges::stable_sort(topology.switches, {}, switch_key);
    std::ranges::stable_sort(topology.end_ports, {}, end_key);
    // A GUID added twice counts once: indices must name one device.
    const auto drop_repeats = [](auto& items, auto key) {
        const auto same = [&key](const auto& a, const auto& b) { return key(a) == key(b); };
        items.erase(std::unique(items.begin(), items.end(), same), items.end());
    };
    drop_repeats(topology.switches, switch_key);
    drop_repeats(topology.end_ports, end_key);
    for (auto& item : topology.switches) {
        item.peers.assign(item.num_ports + std::size_t{1}, PortPeer{});
    }

    // Sorted, so that of two cables in one socket the same one wins whatever the order of the calls.
    std::ranges::sort(cables_, {}, [](const Cable& cable) {
        return std::tuple(cable.a, cable.a_port, cable.b, cable.b_port);
    });
    const auto is_taken = [&topology](const Socket& at) {
        return at.kind == PortPeer::Kind::switch_
                   ? topology.switches[at.index].peers[at.port.value()].kind != PortPeer::Kind::none
                   : topology.end_ports[at.index].switch_index != kNoIndex;
    };
    const auto plug = [&topology](const Socket& at, const Socket& peer, const LinkTraits& traits) {
        if (at.kind == PortPeer::Kind::switch_) {
            topology.switches[at.index].peers[at.port.value()] = {
                peer.kind, peer.port, peer.index, traits.data_vls, traits.throttled, traits.mbps};
        } else if (peer.kind == PortPeer::Kind::switch_) {
            topology.end_ports[at.index].switch_index = peer.index;
            topology.end_ports[at.index].switch_port = peer.port;
        }
    };
    for (const Cable& cable : cables_) {
        const Socket a = find_socket(topology, cable.a, cable.a_port);
        const Socket b = find_socket(topology, cable.b, cable.b_port);
        if (a.kind == PortPeer::Kind::none || b.kind == PortPeer::Kind::none || is_taken(a) || is_taken(b)) {
            continue;
        }
        plug(a, b, cable.traits);
        plug(b, a, cable.traits);
    }
    cables_.clear();
    topology.max_lid = highest_lid(topology);
    return topology;
}

base::Result<Topology> topology_of(const Netlist& netlist, std::uint8_t lmc) {
    if (lmc > 7) {
        return base::fail(base::ErrorKind::usage, fmt::format("an LMC is 0 to 7, not {}", lmc));
    }
    TopologyBuilder builder;
    for (const NetlistNode& node : netlist.nodes) {
        if (node.type == mad::NodeType::switch_) {
            builder.add_switch(switch_of(node));
        }
        for (std::size_t number = 1; number < node.ports.size(); ++number) {
            const NetlistPort& port = node.ports[number];
            if (!port.peer_node) {
                continue;
            }
            const mad::PortNum port_number{static_cast<std::uint8_t>(number)};
            if (node.type != mad::NodeType::switch_) {
                builder.add_end_port(end_port_of(node, port_number));
            }
            builder.add_link(node.guid, port_number, netlist.nodes[*port.peer_node].guid, port.peer_port,
                             traits_of(netlist, node, port));
        }
    }
    Topology topology = builder.build();
    LidSpace space;
    keep_lids(topology, lmc, space);
    if (!fill_lids(topology, lmc, space)) {
        return base::fail(
            base::ErrorKind::unsupported,
            fmt::format(
                "{}: {} switches and {} end ports with LMC {} need more than the {} unicast LIDs there are; "
                "use a smaller LMC or a smaller fabric",
                netlist.origin, topology.switches.size(), topology.end_ports.size(), lmc,
                mad::kLidUnicastMax));
    }
    topology.max_lid = highest_lid(topology);
    return topology;
}

}  // namespace ibf::routing
