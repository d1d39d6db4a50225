#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "base/prng.hpp"
#include "routing/netlist.hpp"

namespace ibf::routing {
namespace {

constexpr std::uint32_t kGone = std::numeric_limits<std::uint32_t>::max();

bool is_switch(const NetlistNode& node) {
    return node.type == mad::NodeType::switch_;
}

std::size_t share_of(double share, std::size_t whole) {
    return static_cast<std::size_t>(std::floor(share * static_cast<double>(whole) + 0.5));
}

void unplug(Netlist& netlist, std::uint32_t node, std::size_t port) {
    NetlistPort& here = netlist.nodes[node].ports[port];
    NetlistPort& there = netlist.nodes[*here.peer_node].ports[here.peer_port.value()];
    for (NetlistPort* end : {&here, &there}) {
        const mad::Guid guid = end->guid;
        *end = NetlistPort{};
        end->guid = guid;
    }
}

/// Drops the nodes marked kGone in `place` and renumbers the rest; nobody may still be cabled to a dropped
/// one.
void drop_nodes(Netlist& netlist, std::vector<std::uint32_t>& place) {
    std::uint32_t next = 0;
    for (std::uint32_t old = 0; old < place.size(); ++old) {
        if (place[old] != kGone) {
            place[old] = next;
            if (next != old) {
                netlist.nodes[next] = std::move(netlist.nodes[old]);
            }
            ++next;
        }
    }
    netlist.nodes.resize(next);
    for (auto& node : netlist.nodes) {
        for (auto& port : node.ports) {
            if (port.peer_node) {
                port.peer_node = place[*port.peer_node];
            }
        }
    }
}

void remove_switches(Netlist& netlist, std::size_t count, base::Prng& prng) {
    std::vector<std::uint32_t> switches;
    for (std::uint32_t index = 0; index < netlist.nodes.size(); ++index) {
        if (is_switch(netlist.nodes[index])) {
            switches.push_back(index);
        }
    }
    prng.shuffle(switches);
    switches.resize(count);

    std::vector<std::uint32_t> place(netlist.nodes.size(), 0);
    for (const std::uint32_t index : switches) {
        place[index] = kGone;
        for (std::size_t port = 1; port < netlist.nodes[index].ports.size(); ++port) {
            const auto peer = netlist.nodes[index].ports[port].peer_node;
            if (!peer) {
                continue;
            }
            unplug(netlist, index, port);
            const auto& host = netlist.nodes[*peer];
            if (!is_switch(host) && std::ranges::none_of(host.ports, [](const auto& item) {
                    return item.peer_node.has_value();
                })) {
                place[*peer] = kGone;
            }
        }
    }
    drop_nodes(netlist, place);
}

/// The switch-to-switch cables, each once, in order of their lower end.
std::vector<std::pair<std::uint32_t, std::uint32_t>> switch_cables(const Netlist& netlist) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> cables;
    for (std::uint32_t index = 0; index < netlist.nodes.size(); ++index) {
        const auto& node = netlist.nodes[index];
        for (std::uint32_t port = 1; is_switch(node) && port < node.ports.size(); ++port) {
            const auto& item = node.ports[port];
            if (item.peer_node && is_switch(netlist.nodes[*item.peer_node]) &&
                std::pair(index, port) <= std::pair(*item.peer_node, std::uint32_t{item.peer_port.value()})) {
                cables.emplace_back(index, port);
            }
        }
    }
    return cables;
}

void remove_links(Netlist& netlist, double share, base::Prng& prng) {
    auto cables = switch_cables(netlist);
    prng.shuffle(cables);
    cables.resize(share_of(share, cables.size()));
    for (const auto& [node, port] : cables) {
        unplug(netlist, node, port);
    }
}

}  // namespace

void thin_out(Netlist& netlist, double missing_switches, double missing_links, std::uint64_t seed) {
    base::Prng prng(seed);
    if (missing_switches > 0) {
        remove_switches(netlist, share_of(missing_switches, netlist.switch_count()), prng);
    }
    if (missing_links > 0) {
        remove_links(netlist, missing_links, prng);
    }
}

}  // namespace ibf::routing
