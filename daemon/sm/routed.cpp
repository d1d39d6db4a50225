#include "daemon/sm/routed.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

namespace ibf::sm {
namespace {

using fabric::TopologyView;
using routing::kNoIndex;
using routing::PortPeer;
using routing::Topology;
using routing::TopologyEndPort;
using routing::TopologySwitch;

std::vector<bool> lids_in_use(const Topology& topology) {
    std::vector<bool> used(mad::kLidUnicastMax + 1U);
    const auto take = [&used](mad::LidRange lids) {
        for (std::uint32_t lid = lids.base.value();
             lid != 0 && lid < std::min<std::size_t>(lids.end(), used.size()); ++lid) {
            used[lid] = true;
        }
    };
    for (const TopologySwitch& item : topology.switches) {
        take(item.lids);
    }
    for (const TopologyEndPort& item : topology.end_ports) {
        take(item.lids);
    }
    return used;
}

/// GUIDs of the end ports of `before` that are not in `now`, sorted. Both come in the same order, so that
/// those that stay need no search, unless ports have moved between nodes.
std::vector<mad::Guid> gone_from(const Topology& before, const Topology& now) {
    std::vector<mad::Guid> gone;
    std::vector<mad::Guid> come;
    auto at = now.end_ports.begin();
    const auto place = [](const TopologyEndPort& item) { return std::pair(item.node_guid, item.port); };
    for (const TopologyEndPort& item : before.end_ports) {
        for (; at != now.end_ports.end() && place(*at) < place(item); ++at) {
            come.push_back(at->port_guid);
        }
        if (at != now.end_ports.end() && at->port_guid == item.port_guid) {
            ++at;
        } else {
            gone.push_back(item.port_guid);
        }
    }
    for (; at != now.end_ports.end(); ++at) {
        come.push_back(at->port_guid);
    }
    std::sort(gone.begin(), gone.end());
    std::sort(come.begin(), come.end());
    std::vector<mad::Guid> left;
    std::set_difference(gone.begin(), gone.end(), come.begin(), come.end(), std::back_inserter(left));
    return left;
}

/// The end ports of `before` that are to be kept, as they are in `now`.
std::vector<TopologyEndPort> absent_of(const TopologyView& view, const fabric::Fabric& fabric,
                                       const Topology& before) {
    const Topology& now = view.topology;
    std::vector<TopologyEndPort> absent;
    std::vector<bool> used;
    const std::vector<mad::Guid> gone = gone_from(before, now);
    for (const TopologyEndPort& item : before.end_ports) {
        if (gone.empty()) {
            break;
        }
        if (!std::binary_search(gone.begin(), gone.end(), item.port_guid) || item.switch_index == kNoIndex) {
            continue;
        }
        const std::uint32_t at = now.find_switch(before.switches[item.switch_index].guid);
        const bool place_free =
            at != kNoIndex && item.switch_port.value() < now.switches[at].peers.size() &&
            now.switches[at].peers[item.switch_port.value()].kind == PortPeer::Kind::none &&
            fabric.port({view.switch_nodes[at], item.switch_port}).peer.node == fabric::kNoNode;
        if (!place_free || item.lids.base == mad::kLidNone) {
            continue;
        }
        used = used.empty() ? lids_in_use(now) : std::move(used);
        bool free = true;
        for (std::uint32_t lid = item.lids.base.value(); lid < item.lids.end(); ++lid) {
            free = free && !used[lid];
        }
        if (free) {
            absent.push_back(item);
            absent.back().switch_index = at;
        }
    }
    return absent;
}

bool same_links(const Topology& before, const Topology& now, std::size_t at) {
    const TopologySwitch& a = before.switches[at];
    const TopologySwitch& b = now.switches[at];
    const auto same_end = [&](const PortPeer& x, const PortPeer& y) {
        const TopologyEndPort& p = before.end_ports[x.index];
        const TopologyEndPort& q = now.end_ports[y.index];
        return p.port_guid == q.port_guid && p.lids == q.lids;
    };
    const auto same = [&](const PortPeer& x, const PortPeer& y) {
        return x.kind == y.kind && x.port == y.port && x.data_vls == y.data_vls &&
               x.throttled == y.throttled && x.mbps == y.mbps &&
               (x.kind == PortPeer::Kind::end_port ? same_end(x, y) : x.index == y.index);
    };
    return a.guid == b.guid && a.lids == b.lids && a.lft_cap == b.lft_cap &&
           std::equal(a.peers.begin(), a.peers.end(), b.peers.begin(), b.peers.end(), same);
}

}  // namespace

std::shared_ptr<const TopologyView> with_absent(const std::shared_ptr<const TopologyView>& now,
                                                const fabric::Fabric& fabric, const TopologyView* before) {
    std::vector<TopologyEndPort> absent;
    if (before != nullptr) {
        absent = absent_of(*now, fabric, before->topology);
    }
    if (absent.empty()) {
        return now;
    }
    TopologyView both = *now;
    Topology& topology = both.topology;
    for (const TopologyEndPort& item : absent) {
        const std::uint32_t was_at = before->topology.find_switch(topology.switches[item.switch_index].guid);
        topology.switches[item.switch_index].peers[item.switch_port.value()] =
            before->topology.switches[was_at].peers[item.switch_port.value()];
        topology.max_lid = std::max(topology.max_lid, static_cast<std::uint16_t>(item.lids.end() - 1));
    }
    topology.end_ports.insert(topology.end_ports.end(), absent.begin(), absent.end());
    both.end_ports.resize(topology.end_ports.size());
    std::vector<std::size_t> order(topology.end_ports.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        const TopologyEndPort& x = topology.end_ports[a];
        const TopologyEndPort& y = topology.end_ports[b];
        return std::pair(x.node_guid, x.port) < std::pair(y.node_guid, y.port);
    });
    std::vector<TopologyEndPort> ends;
    std::vector<fabric::PortRef> places;
    for (const std::size_t i : order) {
        ends.push_back(std::move(topology.end_ports[i]));
        places.push_back(both.end_ports[i]);
        if (ends.back().switch_index != kNoIndex) {
            PortPeer& peer =
                topology.switches[ends.back().switch_index].peers[ends.back().switch_port.value()];
            peer.index = static_cast<std::uint32_t>(ends.size() - 1);
        }
    }
    topology.end_ports = std::move(ends);
    both.end_ports = std::move(places);
    return std::make_shared<const TopologyView>(std::move(both));
}

bool routes_alike(const Topology& before, const Topology& now) {
    if (before.switches.size() != now.switches.size() || before.end_ports.size() != now.end_ports.size() ||
        before.max_lid != now.max_lid) {
        return false;
    }
    for (std::size_t at = 0; at < now.switches.size(); ++at) {
        if (!same_links(before, now, at)) {
            return false;
        }
    }
    return true;
}

}  // namespace ibf::sm
