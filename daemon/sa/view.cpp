#include "daemon/sa/view.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace ibf::sa {
namespace {

using fabric::kNoNode;
using fabric::Node;
using fabric::Port;
using fabric::PortRef;

constexpr unsigned kHopsMost = 64;

std::vector<mad::PKey> keys_of(const Port& port) {
    std::vector<mad::PKey> keys;
    for (const mad::PKeyBlock& block : port.pkeys) {
        for (const mad::PKey key : block.keys) {
            if ((key.value() & 0x7FFFU) != 0) {
                keys.push_back(key);
            }
        }
    }
    std::sort(keys.begin(), keys.end(), [](mad::PKey a, mad::PKey b) { return a.value() > b.value(); });
    return keys;
}

std::uint8_t link_rate(const Node& node, mad::PortNum port) {
    const mad::PortInfo& info = node.ports[port.value()].info;
    return rate_rank(mad::link_gbps(info.width_active, fabric::speed_of(node, port)));
}

PathLimits narrower(PathLimits a, PathLimits b) {
    return {std::min(a.mtu, b.mtu), std::min(a.rate, b.rate)};
}

}  // namespace

std::string rate_text(std::uint8_t code) {
    return fmt::format("{} Gb/s", mad::gbps_of_code(code));
}

View::View(std::shared_ptr<const fabric::Snapshot> snapshot)
    : snapshot_(std::move(snapshot)),
      fabric_(snapshot_->fabric ? snapshot_->fabric : std::make_shared<const fabric::Fabric>()),
      end_by_lid_(mad::kLidUnicastMax + 1U, kNoEnd) {
    if (snapshot_->view && snapshot_->fabric) {
        for (std::uint32_t s = 0; s < snapshot_->view->switch_nodes.size(); ++s) {
            const std::uint32_t node = snapshot_->view->switch_nodes[s];
            // View and fabric may be of two sweeps for a moment; what does not fit together is left out.
            if (node < fabric_->nodes.size() &&
                fabric_->nodes[node].guid() == snapshot_->view->topology.switches[s].guid) {
                switch_of_node_.emplace(node, s);
            }
            Table& table = tables_.emplace_back();
            if (s < snapshot_->programmed.size() && snapshot_->programmed[s]) {
                table.row = snapshot_->programmed[s].get();
                table.exits = table.row->data();
                table.size = static_cast<std::uint32_t>(table.row->size());
            }
        }
    }
    add_ends();
    add_hops();
    add_deliveries();
    add_components();
    add_floor();
    proved_ = in_force_as_proved();
    add_service_levels();
    add_barred();
}

std::uint32_t View::intern(std::vector<mad::PKey> keys) {
    // Few sets, mostly one: the newest first.
    for (std::size_t i = pkey_sets_.size(); i > 0; --i) {
        if (pkey_sets_[i - 1] == keys) {
            return static_cast<std::uint32_t>(i - 1);
        }
    }
    pkey_sets_.push_back(std::move(keys));
    return static_cast<std::uint32_t>(pkey_sets_.size() - 1);
}

void View::add_end(PortRef at) {
    const Node& node = fabric_->nodes[at.node];
    const Port& port = node.ports[at.port.value()];
    const mad::LidRange lids = fabric::lids_of(node, at.port);
    if (!port.known || lids.base == mad::kLidNone || lids.end() - 1U > mad::kLidUnicastMax) {
        return;
    }
    End end;
    end.at = at;
    end.guid = fabric::lid_owner(node, at.port);
    end.node_guid = node.guid();
    end.lids = lids;
    end.is_switch = node.is_switch();
    end.pkey_set = intern(keys_of(port));
    if (node.is_switch()) {
        const auto found = switch_of_node_.find(at.node);
        end.switch_index = found == switch_of_node_.end() ? routing::kNoIndex : found->second;
        end.mtu = static_cast<std::uint8_t>(port.info.mtu_cap);
        end.rate = 0;  // as fast as the fastest of its links
        for (std::size_t p = 1; p < node.ports.size(); ++p) {
            if (node.ports[p].peer.node != kNoNode) {
                end.rate = std::max(end.rate, link_rate(node, mad::PortNum{static_cast<std::uint8_t>(p)}));
            }
        }
    } else {
        end.mtu = static_cast<std::uint8_t>(port.info.neighbor_mtu);
        end.rate = link_rate(node, at.port);
        if (port.peer.node != kNoNode && fabric_->nodes[port.peer.node].is_switch()) {
            const auto found = switch_of_node_.find(port.peer.node);
            end.switch_index = found == switch_of_node_.end() ? routing::kNoIndex : found->second;
            end.switch_port = port.peer.port;
        }
    }
    const auto index = static_cast<std::uint32_t>(ends_.size());
    for (std::uint32_t lid = lids.base.value(); lid < lids.end(); ++lid) {
        end_by_lid_[lid] = index;
    }
    end_by_guid_.emplace(end.guid.value(), index);
    end_by_node_.emplace(end.node_guid.value(), index);
    ends_.push_back(end);
}

void View::add_ends() {
    for (std::uint32_t n = 0; n < fabric_->nodes.size(); ++n) {
        const Node& node = fabric_->nodes[n];
        if (node.is_switch()) {
            add_end({n, mad::PortNum{0}});
            continue;
        }
        for (std::size_t p = 1; p < node.ports.size(); ++p) {
            add_end({n, mad::PortNum{static_cast<std::uint8_t>(p)}});
        }
    }
    if (pkey_sets_.empty()) {
        pkey_sets_.emplace_back();
    }
}

void View::add_hops() {
    for (std::uint32_t s = 0; s < tables_.size(); ++s) {
        tables_[s].first_hop = static_cast<std::uint32_t>(hops_.size());
        const std::uint32_t n = snapshot_->view->switch_nodes[s];
        if (!switch_of_node_.contains(n)) {
            continue;
        }
        const Node& node = fabric_->nodes[n];
        for (std::size_t p = 0; p < node.ports.size(); ++p) {
            const Port& port = node.ports[p];
            Hop hop;
            if (p > 0 && port.peer.node != kNoNode && port.info.state == mad::PortState::active) {
                hop.limits = {static_cast<std::uint8_t>(port.info.neighbor_mtu),
                              link_rate(node, mad::PortNum{static_cast<std::uint8_t>(p)})};
                const Node& peer = fabric_->nodes[port.peer.node];
                if (const auto found = switch_of_node_.find(port.peer.node); found != switch_of_node_.end()) {
                    hop.next = found->second;
                } else if (!peer.is_switch()) {
                    const auto end = end_by_guid_.find(fabric::lid_owner(peer, port.peer.port).value());
                    hop.next = end == end_by_guid_.end() ? routing::kNoIndex : end->second | kEndBit;
                }
            }
            hops_.push_back(hop);
        }
        tables_[s].hops = static_cast<std::uint32_t>(node.ports.size());
    }
}

const View::Hop* View::hop(std::uint32_t switch_index, mad::Lid to) const {
    const Table& table = tables_[switch_index];
    if (to.value() >= table.size || table.exits[to.value()] >= table.hops) {
        return nullptr;
    }
    const Hop& hop = hops_[table.first_hop + table.exits[to.value()]];
    return hop.next == routing::kNoIndex ? nullptr : &hop;
}

bool View::keeps(std::uint32_t switch_index, mad::Lid to) const {
    const Table& table = tables_[switch_index];
    return to.value() < table.size && table.exits[to.value()] == 0;
}

void View::add_deliveries() {
    for (std::uint32_t e = 0; e < ends_.size(); ++e) {
        End& end = ends_[e];
        if (end.switch_index == routing::kNoIndex) {
            continue;
        }
        const Table& table = tables_[end.switch_index];
        const std::uint8_t exit = end.is_switch ? std::uint8_t{0} : end.switch_port.value();
        end.delivered = end.lids.end() <= table.size;
        for (std::uint32_t lid = end.lids.base.value(); lid < end.lids.end() && end.delivered; ++lid) {
            end.delivered = table.exits[lid] == exit;
        }
        if (end.is_switch || !end.delivered) {
            continue;
        }
        const Hop* last = hop(end.switch_index, end.lids.base);
        end.delivered = last != nullptr && last->next == (e | kEndBit);
        if (end.delivered) {
            end.delivery = last->limits;
        }
    }
}

std::uint32_t View::by_lid(mad::Lid lid) const {
    return lid.value() < end_by_lid_.size() ? end_by_lid_[lid.value()] : kNoEnd;
}

std::uint32_t View::by_guid(mad::Guid guid) const {
    const auto found = end_by_guid_.find(guid.value());
    return found == end_by_guid_.end() ? kNoEnd : found->second;
}

std::vector<std::uint32_t> View::by_node_guid(mad::Guid guid) const {
    std::vector<std::uint32_t> found;
    const auto [first, last] = end_by_node_.equal_range(guid.value());
    for (auto it = first; it != last; ++it) {
        found.push_back(it->second);
    }
    std::sort(found.begin(), found.end());
    return found;
}

void View::add_components() {
    std::uint32_t component = 0;
    std::vector<std::uint32_t> queue;
    for (std::uint32_t first = 0; first < tables_.size(); ++first) {
        if (tables_[first].component != 0) {
            continue;
        }
        tables_[first].component = ++component;
        queue.assign(1, first);
        for (std::size_t at = 0; at < queue.size(); ++at) {
            for (const routing::PortPeer& peer : snapshot_->view->topology.switches[queue[at]].peers) {
                if (peer.kind == routing::PortPeer::Kind::switch_ && tables_[peer.index].component == 0) {
                    tables_[peer.index].component = component;
                    queue.push_back(peer.index);
                }
            }
        }
    }
}

void View::add_floor() {
    for (const Hop& hop : hops_) {
        if ((hop.next & kEndBit) == 0) {  // kNoIndex has the bit, too
            floor_ = narrower(floor_, hop.limits);
        }
    }
}

bool View::in_force_as_proved() const {
    if (!snapshot_->routes || !snapshot_->view || snapshot_->routes_for != snapshot_->view ||
        !snapshot_->routes->verdict.reachable()) {
        return false;
    }
    const routing::Routes& routes = snapshot_->routes->routes;
    const std::vector<routing::TopologySwitch>& switches = snapshot_->view->topology.switches;
    if (routes.rows.size() != tables_.size() || switches.size() != tables_.size()) {
        return false;
    }
    for (std::size_t s = 0; s < tables_.size(); ++s) {
        const Table& table = tables_[s];
        if (table.row == nullptr || table.row != routes.rows[s].get() ||
            routes.switch_guids[s] != switches[s].guid) {
            return false;
        }
        for (std::size_t p = 0; p < switches[s].peers.size(); ++p) {
            const routing::PortPeer& peer = switches[s].peers[p];
            if (peer.kind == routing::PortPeer::Kind::switch_ &&
                (p >= table.hops || hops_[table.first_hop + p].next != peer.index)) {
                return false;  // a link that the proof counted on is not up
            }
        }
    }
    return true;
}

/// The proof speaks of paths from hosts to hosts within a component, up to the last switch.
bool View::arrives_unwalked(const End& from, const End& to) const {
    return proved_ && !from.is_switch && !to.is_switch && to.delivered &&
           from.switch_index != routing::kNoIndex &&
           tables_[from.switch_index].component == tables_[to.switch_index].component;
}

std::optional<WalkedPath> View::walk(const End& from, mad::Lid to) const {
    WalkedPath path{{from.mtu, from.rate}, 0};
    if (from.lids.contains(to)) {
        return path;
    }
    std::uint32_t at = from.switch_index;
    const std::uint32_t end = by_lid(to);
    if (end == kNoEnd) {
        return std::nullopt;
    }
    path.links = at != routing::kNoIndex && from.is_switch ? 0 : 1;
    if (at == routing::kNoIndex) {  // back to back
        const PortRef peer = fabric_->port(from.at).peer;
        return peer.node != kNoNode && ends_[end].at == peer ? std::optional(path) : std::nullopt;
    }
    while (path.links < kHopsMost) {
        const Hop* next = hop(at, to);
        if (next == nullptr) {  // believed to be the switch itself only if the LID is its own
            const bool there = ends_[end].is_switch && ends_[end].switch_index == at && keeps(at, to);
            return there ? std::optional(path) : std::nullopt;
        }
        path.limits = narrower(path.limits, next->limits);
        ++path.links;
        if ((next->next & kEndBit) != 0) {
            return (next->next & ~kEndBit) == end ? std::optional(path) : std::nullopt;
        }
        at = next->next;
    }
    return std::nullopt;
}

std::optional<PathLimits> View::limits(const End& a, mad::Lid a_lid, const End& b, mad::Lid b_lid,
                                       Ways ways) const {
    const bool back_too = ways == Ways::there_and_back;
    if (&a != &b && arrives_unwalked(a, b) && (!back_too || arrives_unwalked(b, a))) {
        PathLimits ends = narrower({a.mtu, a.rate}, b.delivery);
        if (back_too) {
            ends = narrower(ends, narrower({b.mtu, b.rate}, a.delivery));
        }
        if (ends.mtu <= floor_.mtu && ends.rate <= floor_.rate) {
            return ends;
        }
    }
    const std::optional<WalkedPath> there = walk(a, b_lid);
    if (!there || !back_too) {
        return there ? std::optional(there->limits) : std::nullopt;
    }
    const std::optional<WalkedPath> back = walk(b, a_lid);
    return back ? std::optional(narrower(there->limits, back->limits)) : std::nullopt;
}

std::vector<PortRef> View::trace(const End& from, mad::Lid to) const {
    std::vector<PortRef> links;
    if (!walk(from, to) || from.lids.contains(to)) {
        return links;
    }
    if (!from.is_switch) {
        links.push_back(from.at);
    }
    std::uint32_t at = from.switch_index;
    while (at != routing::kNoIndex) {
        const std::uint8_t out = tables_[at].exits[to.value()];
        if (out == 0) {
            break;
        }
        links.push_back({snapshot_->view->switch_nodes[at], mad::PortNum{out}});
        const Hop& hop = hops_[tables_[at].first_hop + out];
        at = (hop.next & kEndBit) != 0 ? routing::kNoIndex : hop.next;
    }
    return links;
}

bool share_partition(std::span<const mad::PKey> ours, std::span<const mad::PKey> theirs) {
    constexpr unsigned kFull = 0x8000;
    return std::any_of(ours.begin(), ours.end(), [&](mad::PKey own) {
        return std::any_of(theirs.begin(), theirs.end(), [&](mad::PKey other) {
            const unsigned both = static_cast<unsigned>(own.value()) | other.value();
            const bool same = (own.value() | kFull) == (other.value() | kFull);
            return same && (both & kFull) != 0 && both != kFull;  // an empty entry is no partition
        });
    });
}

mad::PKey View::shared_pkey(const End& a, const End& b, std::optional<mad::PKey> asked) const {
    constexpr std::uint16_t kFull = 0x8000;
    const auto may_use = [](const std::vector<mad::PKey>& keys, std::uint16_t partition, bool full) {
        return std::any_of(keys.begin(), keys.end(), [&](mad::PKey key) {
            return (key.value() & 0x7FFFU) == partition && (!full || (key.value() & kFull) != 0);
        });
    };
    const std::vector<mad::PKey>& ours = pkeys(a);
    const std::vector<mad::PKey>& theirs = pkeys(b);
    const auto shares = [&](mad::PKey key) {
        const auto partition = static_cast<std::uint16_t>(key.value() & 0x7FFFU);
        return (may_use(ours, partition, true) && may_use(theirs, partition, false)) ||
               (may_use(ours, partition, false) && may_use(theirs, partition, true));
    };
    if (asked) {
        return shares(*asked) ? *asked : mad::PKey{};
    }
    if (shares(mad::kPKeyDefaultFull)) {
        return mad::kPKeyDefaultFull;
    }
    for (const mad::PKey key : ours) {
        if (shares(key)) {
            return mad::PKey{static_cast<std::uint16_t>(key.value() | kFull)};
        }
    }
    return {};
}

}  // namespace ibf::sa
