#include "daemon/fabric/fabric.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "mad/codec.hpp"

namespace ibf::fabric {
namespace {

/// Looks owners up, cheaply where they come in the order of the map: ports of adapters do, as good as always.
class LidReader {
public:
    explicit LidReader(const LidMap& lids) : lids_(lids), next_(lids.begin()) {}

    mad::LidRange of(mad::Guid owner) {
        if (next_ == lids_.end() || next_->first != owner) {
            next_ = lids_.lower_bound(owner);
        }
        return next_ != lids_.end() && next_->first == owner ? (next_++)->second : mad::LidRange{};
    }

private:
    const LidMap& lids_;
    LidMap::const_iterator next_;
};

routing::TopologySwitch to_switch(const Node& node, LidReader& lids) {
    routing::TopologySwitch out;
    out.guid = node.guid();
    out.lids = lids.of(out.guid);
    out.num_ports = node.info.num_ports;
    out.lft_cap = node.switch_info ? node.switch_info->linear_fdb_cap : 0;
    out.name = node.description;
    out.peers.resize(out.num_ports + std::size_t{1});
    return out;
}

routing::TopologyEndPort to_end_port(const Node& node, mad::PortNum number, LidReader& lids) {
    routing::TopologyEndPort out;
    out.node_guid = node.guid();
    out.port_guid = node.ports[number.value()].guid;
    out.port = number;
    out.type = node.info.type;
    out.lids = lids.of(out.port_guid);
    out.name = node.description;
    return out;
}

/// Data lanes that both ends of a link have.
std::uint8_t data_vls_of(const Port& a, const Port& b) {
    return static_cast<std::uint8_t>(
        std::max(1U, std::min(mad::vl_count(a.info.vl_cap), mad::vl_count(b.info.vl_cap))));
}

routing::LinkTraits traits_of(const Fabric& fabric, PortRef at) {
    routing::LinkTraits traits;
    traits.data_vls = data_vls_of(fabric.port(at), fabric.port(fabric.port(at).peer));
    const LinkRates rates = rates_of(fabric, at);
    traits.mbps = rates.running.mbps();
    traits.throttled = rates.below_capability();
    return traits;
}

/// A link that data can cross: both ends known and usable, each naming the other.
bool routable(const Fabric& fabric, PortRef ref) {
    const Port& port = fabric.port(ref);
    if (port.peer.node == kNoNode || !port.usable) {
        return false;
    }
    const Port& peer = fabric.port(port.peer);
    return peer.usable && peer.peer == ref;
}

/// Writes the topology of a fabric in place: a node knows its peers by index, so no cable has to be looked
/// up.
class ViewBuilder {
public:
    ViewBuilder(const Fabric& fabric, const LidMap& lids) : fabric_(fabric), lids_(lids) {}

    TopologyView build() {
        find_places();
        LidReader lids(lids_);
        for (const std::uint32_t node : view_.switch_nodes) {
            view_.topology.switches.push_back(to_switch(fabric_.nodes[node], lids));
        }
        for (const PortRef end : view_.end_ports) {
            view_.topology.end_ports.push_back(to_end_port(fabric_.nodes[end.node], end.port, lids));
        }
        for (std::uint32_t at = 0; at < view_.switch_nodes.size(); ++at) {
            plug_cables(at);
        }
        view_.topology.max_lid = routing::highest_lid(view_.topology);
        return std::move(view_);
    }

private:
    [[nodiscard]] mad::Guid guid_of(std::uint32_t node) const { return fabric_.nodes[node].guid(); }

    void find_places() {
        for (std::uint32_t n = 0; n < fabric_.nodes.size(); ++n) {
            const Node& node = fabric_.nodes[n];
            if (node.is_switch()) {
                view_.switch_nodes.push_back(n);
                continue;
            }
            for (std::size_t p = 1; p < node.ports.size(); ++p) {
                const PortRef here{n, mad::PortNum{static_cast<std::uint8_t>(p)}};
                if (routable(fabric_, here)) {
                    view_.end_ports.push_back(here);
                }
            }
        }
        std::ranges::sort(view_.switch_nodes, {}, [this](std::uint32_t node) { return guid_of(node); });
        std::ranges::sort(view_.end_ports, {},
                          [this](PortRef end) { return std::pair(guid_of(end.node), end.port); });
        place_.assign(fabric_.nodes.size(), routing::kNoIndex);
        for (std::uint32_t at = 0; at < view_.switch_nodes.size(); ++at) {
            place_[view_.switch_nodes[at]] = at;
        }
        for (auto at = static_cast<std::uint32_t>(view_.end_ports.size()); at-- > 0;) {
            place_[view_.end_ports[at].node] = at;  // of several ports the first
        }
    }

    [[nodiscard]] std::uint32_t end_port_at(PortRef end) const {
        std::uint32_t at = place_[end.node];
        while (view_.end_ports[at] != end) {
            ++at;
        }
        return at;
    }

    /// Each cable once: where its other end is a switch as well, from the end that was discovered first.
    void plug_cables(std::uint32_t at) {
        const std::uint32_t n = view_.switch_nodes[at];
        const Node& node = fabric_.nodes[n];
        for (std::size_t p = 1; p < node.ports.size(); ++p) {
            const PortRef here{n, mad::PortNum{static_cast<std::uint8_t>(p)}};
            const PortRef there = node.ports[p].peer;
            const bool to_switch = there.node != kNoNode && fabric_.nodes[there.node].is_switch();
            if ((to_switch && !(here < there)) || !routable(fabric_, here)) {
                continue;
            }
            const routing::LinkTraits traits = traits_of(fabric_, std::min(here, there));
            const auto peer = [&traits](routing::PortPeer::Kind kind, std::uint32_t index,
                                        mad::PortNum port) {
                return routing::PortPeer{kind, port, index, traits.data_vls, traits.throttled, traits.mbps};
            };
            auto& switches = view_.topology.switches;
            if (to_switch) {
                switches[at].peers[p] =
                    peer(routing::PortPeer::Kind::switch_, place_[there.node], there.port);
                switches[place_[there.node]].peers[there.port.value()] =
                    peer(routing::PortPeer::Kind::switch_, at, here.port);
            } else {
                const std::uint32_t end = end_port_at(there);
                switches[at].peers[p] = peer(routing::PortPeer::Kind::end_port, end, there.port);
                view_.topology.end_ports[end].switch_index = at;
                view_.topology.end_ports[end].switch_port = here.port;
            }
        }
    }

    const Fabric& fabric_;
    const LidMap& lids_;
    TopologyView view_;
    std::vector<std::uint32_t> place_;  ///< by node: index of the switch, or of its first end port
};

/// Writes what changed between nodes that stay into a view of before.
class ViewPatcher {
public:
    ViewPatcher(const TopologyView& before, const Fabric& fabric) : fabric_(fabric), view_(before) {}

    std::optional<TopologyView> patch(const std::vector<std::uint32_t>& nodes) {
        const bool told = std::all_of(nodes.begin(), nodes.end(), [this](std::uint32_t node) {
            return fabric_.nodes[node].is_switch() ? patch_switch(node) : patch_end_ports(node);
        });
        return told ? std::optional(std::move(view_)) : std::nullopt;
    }

private:
    using Kind = routing::PortPeer::Kind;

    [[nodiscard]] std::uint32_t switch_at(std::uint32_t node) const {
        return view_.topology.find_switch(fabric_.nodes[node].guid());
    }
    /// kNoIndex: it is not among those that had a link.
    [[nodiscard]] std::uint32_t end_port_at(PortRef end) const {
        const auto key = [this](PortRef at) { return std::pair(fabric_.nodes[at.node].guid(), at.port); };
        const auto found = std::ranges::lower_bound(view_.end_ports, key(end), {}, key);
        return found != view_.end_ports.end() && *found == end
                   ? static_cast<std::uint32_t>(found - view_.end_ports.begin())
                   : routing::kNoIndex;
    }

    bool patch_switch(std::uint32_t n) {
        const Node& node = fabric_.nodes[n];
        const std::uint32_t at = switch_at(n);
        if (at == routing::kNoIndex || view_.switch_nodes[at] != n) {
            return false;
        }
        routing::TopologySwitch& item = view_.topology.switches[at];
        if (item.num_ports != node.info.num_ports || item.peers.size() != node.ports.size()) {
            return false;
        }
        item.name = node.description;
        item.lft_cap = node.switch_info ? node.switch_info->linear_fdb_cap : 0;
        for (std::size_t p = 1; p < node.ports.size(); ++p) {
            if (!plug({n, mad::PortNum{static_cast<std::uint8_t>(p)}}, at)) {
                return false;
            }
        }
        return true;
    }

    /// Hosts that come or go, or move, are another list of end ports: not told here.
    bool plug(PortRef here, std::uint32_t at) {
        auto& switches = view_.topology.switches;
        routing::PortPeer& entry = switches[at].peers[here.port.value()];
        const PortRef there = fabric_.port(here).peer;
        const bool leads = routable(fabric_, here);
        const bool to_switch = leads && there != here && fabric_.nodes[there.node].is_switch();
        if (leads && !fabric_.nodes[there.node].is_switch()) {
            const std::uint32_t end = end_port_at(there);
            if (entry.kind != Kind::end_port || entry.index != end) {
                return false;
            }
            entry = peer_of(here, Kind::end_port, end, there.port);
            return true;
        }
        if (entry.kind == Kind::end_port) {
            return false;
        }
        if (entry.kind == Kind::switch_) {
            routing::PortPeer& other = switches[entry.index].peers[entry.port.value()];
            if (other.kind == Kind::switch_ && other.index == at && other.port == here.port) {
                other = {};
            }
            switches[at].peers[here.port.value()] = {};
        }
        if (to_switch) {
            const std::uint32_t next = switch_at(there.node);
            if (next == routing::kNoIndex) {
                return false;
            }
            switches[at].peers[here.port.value()] = peer_of(here, Kind::switch_, next, there.port);
            switches[next].peers[there.port.value()] = peer_of(here, Kind::switch_, at, here.port);
        }
        return true;
    }

    bool patch_end_ports(std::uint32_t n) {
        const Node& node = fabric_.nodes[n];
        for (std::size_t p = 1; p < node.ports.size(); ++p) {
            const PortRef here{n, mad::PortNum{static_cast<std::uint8_t>(p)}};
            const std::uint32_t end = end_port_at(here);
            if (routable(fabric_, here) != (end != routing::kNoIndex)) {
                return false;
            }
            if (end == routing::kNoIndex) {
                continue;
            }
            routing::TopologyEndPort& item = view_.topology.end_ports[end];
            const PortRef there = node.ports[p].peer;
            const std::uint32_t at =
                fabric_.nodes[there.node].is_switch() ? switch_at(there.node) : routing::kNoIndex;
            if (item.port_guid != node.ports[p].guid || item.switch_index != at ||
                (at != routing::kNoIndex && item.switch_port != there.port)) {
                return false;
            }
            item.name = node.description;
            if (at != routing::kNoIndex) {
                view_.topology.switches[at].peers[there.port.value()] =
                    peer_of(there, Kind::end_port, end, here.port);
            }
        }
        return true;
    }

    [[nodiscard]] routing::PortPeer peer_of(PortRef here, Kind kind, std::uint32_t index,
                                            mad::PortNum port) const {
        const routing::LinkTraits traits = traits_of(fabric_, std::min(here, fabric_.port(here).peer));
        return {kind, port, index, traits.data_vls, traits.throttled, traits.mbps};
    }

    const Fabric& fabric_;
    TopologyView view_;
};

}  // namespace

std::string_view to_string(IsolationReason reason) {
    constexpr std::array<std::string_view, 10> kNames{
        "silent",  "bad-node-info",   "zero-guid",    "duplicate-guid", "one-way",
        "too-far", "bad-switch-info", "setup-failed", "no-lid",         "quarantined"};
    return kNames[static_cast<std::size_t>(reason)];
}

std::string_view to_string(SmTrust trust) {
    switch (trust) {
        case SmTrust::unknown: return "unknown";
        case SmTrust::ours: return "ours";
        case SmTrust::foreign: return "foreign";
    }
    return "unknown";
}

std::size_t Fabric::switch_count() const {
    return static_cast<std::size_t>(
        std::count_if(nodes.begin(), nodes.end(), [](const Node& node) { return node.is_switch(); }));
}

std::size_t Fabric::link_count() const {
    std::size_t ends = 0;
    std::size_t to_itself = 0;
    for (std::uint32_t n = 0; n < nodes.size(); ++n) {
        for (std::size_t p = 1; p < nodes[n].ports.size(); ++p) {
            const PortRef here{n, mad::PortNum{static_cast<std::uint8_t>(p)}};
            const PortRef peer = nodes[n].ports[p].peer;
            ends += peer.node != kNoNode ? 1U : 0U;
            to_itself += peer == here ? 1U : 0U;
        }
    }
    return (ends + to_itself) / 2;
}

std::size_t Fabric::end_port_count() const {
    std::size_t count = 0;
    for (const Node& node : nodes) {
        if (!node.is_switch()) {
            count += static_cast<std::size_t>(
                std::count_if(node.ports.begin(), node.ports.end(),
                              [](const Port& port) { return port.peer.node != kNoNode; }));
        }
    }
    return count;
}

std::uint32_t Fabric::find(mad::Guid node_guid) const {
    for (std::uint32_t n = 0; n < nodes.size(); ++n) {
        if (nodes[n].guid() == node_guid) {
            return n;
        }
    }
    return kNoNode;
}

mad::LidRange lids_of(const Node& node, mad::PortNum port) {
    const Port& holder = node.ports[node.is_switch() ? 0 : port.value()];
    return holder.known ? mad::LidRange{holder.info.lid, holder.info.lmc} : mad::LidRange{};
}

mad::PortInfo info_of(const Node& node, mad::PortNum port) {
    mad::PortInfo info = node.ports[port.value()].info;
    if (node.is_switch()) {
        info.capability_mask = node.ports[0].info.capability_mask;
        info.capability_mask2 = node.ports[0].info.capability_mask2;
    }
    return info;
}

mad::LinkSpeed speed_of(const Node& node, mad::PortNum port) {
    return info_of(node, port).speed();
}

LinkRates rates_of(const Fabric& fabric, PortRef at) {
    const PortRef peer = fabric.port(at).peer;
    const mad::PortInfo here = info_of(fabric.nodes[at.node], at.port);
    const mad::PortInfo there = info_of(fabric.nodes[peer.node], peer.port);
    return {mad::running_rate(here), mad::possible_rate(here, there)};
}

mad::Guid lid_owner(const Node& node, mad::PortNum port) {
    return node.is_switch() ? node.guid() : node.ports[port.value()].guid;
}

TopologyView topology_of(const Fabric& fabric, const LidMap& lids) {
    return ViewBuilder(fabric, lids).build();
}

std::optional<TopologyView> topology_after(const TopologyView& before, const Fabric& fabric,
                                           const std::vector<std::uint32_t>& nodes) {
    return ViewPatcher(before, fabric).patch(nodes);
}

}  // namespace ibf::fabric
