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
            rows_.push_back(s < snapshot_->programmed.size() ? snapshot_->programmed[s].get() : nullptr);
        }
    }
    add_ends();
    add_hops();
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
    for (std::uint32_t s = 0; s < rows_.size(); ++s) {
        hop_base_.push_back(static_cast<std::uint32_t>(hops_.size()));
        const std::uint32_t n = snapshot_->view->switch_nodes[s];
        if (!switch_of_node_.contains(n)) {
            hops_.resize(hops_.size() + 256);
            continue;
        }
        const Node& node = fabric_->nodes[n];
        for (std::size_t p = 0; p < node.ports.size(); ++p) {
            const Port& port = node.ports[p];
            Hop hop;
            if (p > 0 && port.peer.node != kNoNode && port.info.state == mad::PortState::active) {
                hop.mtu = static_cast<std::uint8_t>(port.info.neighbor_mtu);
                hop.rate = link_rate(node, mad::PortNum{static_cast<std::uint8_t>(p)});
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
        hops_.resize(hop_base_.back() + 256U);  // a table may name any port number
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

std::optional<PathLimits> View::walk(const End& from, mad::Lid to) const {
    PathLimits path{from.mtu, from.rate, 0};
    if (from.lids.contains(to)) {
        return path;
    }
    const auto back_to_back = [&]() -> std::optional<PathLimits> {
        const PortRef peer = fabric_->port(from.at).peer;
        const std::uint32_t end = by_lid(to);
        const bool there = end != kNoEnd && peer.node != kNoNode && ends_[end].at == peer;
        return there ? std::optional(PathLimits{from.mtu, from.rate, 1}) : std::nullopt;
    };
    std::uint32_t at = from.switch_index;
    if (at == routing::kNoIndex) {
        return back_to_back();
    }
    path.links = from.is_switch ? 0 : 1;
    while (path.links < kHopsMost) {
        const routing::LftRow* row = rows_[at];
        if (row == nullptr || to.value() >= row->size()) {
            return std::nullopt;
        }
        const std::uint8_t out = (*row)[to.value()];
        if (out == 0) {  // the switch itself: believed only if the LID is its own
            const std::uint32_t end = by_lid(to);
            return end != kNoEnd && ends_[end].is_switch && ends_[end].switch_index == at
                       ? std::optional(path)
                       : std::nullopt;
        }
        const Hop& hop = hops_[hop_base_[at] + out];
        if (hop.next == routing::kNoIndex) {
            return std::nullopt;
        }
        path.mtu = std::min(path.mtu, hop.mtu);
        path.rate = std::min(path.rate, hop.rate);
        ++path.links;
        if ((hop.next & kEndBit) != 0) {
            return ends_[hop.next & ~kEndBit].lids.contains(to) ? std::optional(path) : std::nullopt;
        }
        at = hop.next;
    }
    return std::nullopt;
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
        const std::uint8_t out = (*rows_[at])[to.value()];
        if (out == 0) {
            break;
        }
        links.push_back({snapshot_->view->switch_nodes[at], mad::PortNum{out}});
        const Hop& hop = hops_[hop_base_[at] + out];
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
