#include "routing/verify_tables.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace ibf::routing {

TableView::TableView(const Topology& topology, const Routes& routes) {
    match_rows(topology, routes);
    find_exits(topology);
    find_owners(topology);
    find_components(topology);
}

void TableView::match_rows(const Topology& topology, const Routes& routes) {
    for (const std::shared_ptr<const LftRow>& row : in_order_of(topology, routes).rows) {
        rows_.push_back(row.get());
    }
}

void TableView::find_exits(const Topology& topology) {
    exits_.resize(topology.switches.size() * 256);
    first_channel_.push_back(0);
    for (std::size_t at = 0; at < topology.switches.size(); ++at) {
        const std::vector<PortPeer>& peers = topology.switches[at].peers;
        std::uint8_t slot = 0;
        for (std::size_t port = 1; port < peers.size() && port < mad::kLftDrop; ++port) {
            if (peers[port].kind == PortPeer::Kind::switch_) {
                exits_[at * 256 + port] = {static_cast<std::uint16_t>(peers[port].index), slot++};
                channels_.push_back({static_cast<std::uint16_t>(at), static_cast<std::uint8_t>(port)});
            }
        }
        slots_most_ = std::max<std::uint32_t>(slots_most_, slot);
        first_channel_.push_back(first_channel_.back() + slot);
    }
}

void TableView::find_owners(const Topology& topology) {
    owners_.resize(topology.max_lid + std::size_t{1});
    sources_.assign(topology.switches.size(), 0);
    const auto own = [&](const mad::LidRange& lids, const LidOwner& owner) {
        for (std::uint32_t lid = lids.base.value(); lid < std::min<std::uint32_t>(lids.end(), lid_end());
             ++lid) {
            owners_[lid] = owner;
        }
    };
    for (std::uint32_t at = 0; at < topology.switches.size(); ++at) {
        own(topology.switches[at].lids, {at, 0, kNoIndex});
    }
    for (std::uint32_t end = 0; end < topology.end_ports.size(); ++end) {
        const TopologyEndPort& port = topology.end_ports[end];
        if (port.switch_index != kNoIndex && port.lids.count() != 0) {
            own(port.lids, {port.switch_index, port.switch_port.value(), end});
            ++sources_[port.switch_index];
        }
    }
}

void TableView::find_components(const Topology& topology) {
    component_.assign(topology.switches.size(), kNoIndex);
    std::vector<std::uint32_t> open;
    for (std::uint32_t start = 0; start < component_.size(); ++start) {
        if (component_[start] != kNoIndex) {
            continue;
        }
        component_[start] = components_;
        open.push_back(start);
        while (!open.empty()) {
            const std::uint32_t at = open.back();
            open.pop_back();
            for (const PortPeer& peer : topology.switches[at].peers) {
                if (peer.kind == PortPeer::Kind::switch_ && component_[peer.index] == kNoIndex) {
                    component_[peer.index] = components_;
                    open.push_back(peer.index);
                }
            }
        }
        ++components_;
    }
}

ColumnWalker::ColumnWalker(const TableView& view)
    : view_(view),
      ports_(std::size_t{view.switch_count()} * 64),
      next_(view.switch_count()),
      slot_(view.switch_count()),
      fate_(view.switch_count()),
      last_order_(view.switch_count()) {
    std::iota(last_order_.begin(), last_order_.end(), std::uint16_t{0});
    order_.reserve(view.switch_count());
}

void ColumnWalker::load_block(std::uint32_t first) {
    block_ = first;
    const std::uint32_t count = view_.switch_count();
    // Tiles of 16 switches: whole table lines are read, and writes stay within a few lines of each column.
    for (std::uint32_t tile = 0; tile < count; tile += 16) {
        const std::uint32_t end = std::min(count, tile + 16);
        for (std::uint32_t column = 0; column < 64; ++column) {
            for (std::uint32_t at = tile; at < end; ++at) {
                ports_[std::size_t{column} * count + at] = view_.port(at, first + column);
            }
        }
    }
}

void ColumnWalker::settle(std::uint16_t at, Fate fate) {
    fate_[at] = fate;
    order_.push_back(at);
    arriving_ += fate == Fate::arrives ? 1 : 0;
}

void ColumnWalker::walk(std::uint32_t lid) {
    const std::uint32_t count = view_.switch_count();
    const std::uint8_t* ports = ports_.data() + std::size_t{lid - block_} * count;
    owner_ = view_.owner(lid);
    for (std::uint32_t at = 0; at < count; ++at) {
        const Exit& exit = view_.exit(at, ports[at]);
        next_[at] = exit.next;
        slot_[at] = exit.slot;
    }
    std::fill(fate_.begin(), fate_.end(), Fate::unknown);
    order_.clear();
    arriving_ = 0;
    if (owner_.switch_index != kNoIndex && ports[owner_.switch_index] == owner_.port) {
        settle(static_cast<std::uint16_t>(owner_.switch_index), Fate::arrives);
    }
    for (const std::uint16_t at : last_order_) {
        if (fate_[at] != Fate::unknown) {
            continue;
        }
        if (next_[at] == kNoNext) {
            settle(at, Fate::lost);
        } else if (fate_[next_[at]] != Fate::unknown) {
            settle(at, fate_[next_[at]]);
        } else {
            follow(at);
        }
    }
    last_order_ = order_;
}

void ColumnWalker::follow(std::uint16_t from) {
    trail_.clear();
    std::uint16_t at = from;
    while (at != kNoNext && fate_[at] == Fate::unknown) {
        fate_[at] = Fate::walking;
        trail_.push_back(at);
        at = next_[at];
    }
    Fate fate = at == kNoNext ? Fate::lost : fate_[at];
    fate = fate == Fate::walking ? Fate::loops : fate;
    for (auto it = trail_.rbegin(); it != trail_.rend(); ++it) {
        settle(*it, fate);
    }
}

}  // namespace ibf::routing
