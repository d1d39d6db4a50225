#include "daemon/sm/mft_plan.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "mad/multicast.hpp"

namespace ibf::sm {
namespace {

using mad::kMlidFirst;
using routing::kNoIndex;
using routing::PortPeer;
using routing::Topology;

constexpr unsigned kPositionPorts = 16;
constexpr std::uint32_t kFar = 0xFFFFFFFF;

/// Links from each switch; distance from the nearest of `sources`.
std::vector<std::uint32_t> distances(const Topology& topology, const std::vector<std::uint32_t>& sources) {
    std::vector<std::uint32_t> distance(topology.switches.size(), kFar);
    std::vector<std::uint32_t> queue = sources;
    for (const std::uint32_t source : sources) {
        distance[source] = 0;
    }
    for (std::size_t i = 0; i < queue.size(); ++i) {
        for (const PortPeer& peer : topology.switches[queue[i]].peers) {
            if (peer.kind == PortPeer::Kind::switch_ && distance[peer.index] == kFar) {
                distance[peer.index] = distance[queue[i]] + 1;
                queue.push_back(peer.index);
            }
        }
    }
    return distance;
}

/// Switches that something leads through: not the ends of branches on which no host is, as a drained switch
/// is (routing/drained.hpp).
std::vector<char> thoroughfares(const Topology& topology, const std::vector<std::uint32_t>& leaves) {
    std::vector<char> open(topology.switches.size(), 1);
    const auto is_end = [&](std::uint32_t at) {
        std::uint32_t neighbour = kNoIndex;
        for (const auto& peer : topology.switches[at].peers) {
            if (peer.kind == PortPeer::Kind::switch_ && open[peer.index] != 0 && peer.index != at) {
                if (neighbour != kNoIndex && neighbour != peer.index) {
                    return false;
                }
                neighbour = peer.index;
            }
        }
        return !std::binary_search(leaves.begin(), leaves.end(), at);
    };
    for (bool again = true; std::exchange(again, false);) {
        for (std::uint32_t at = 0; at < open.size(); ++at) {
            if (open[at] != 0 && is_end(at)) {
                open[at] = 0;
                again = true;
            }
        }
    }
    return open;
}

/// The switches farthest from the hosts, of those that something leads through.
std::vector<std::uint32_t> root_candidates(const Topology& topology) {
    std::vector<std::uint32_t> leaves;
    for (const auto& end : topology.end_ports) {
        if (end.switch_index != kNoIndex) {
            leaves.push_back(end.switch_index);
        }
    }
    std::sort(leaves.begin(), leaves.end());
    leaves.erase(std::unique(leaves.begin(), leaves.end()), leaves.end());
    const std::vector<std::uint32_t> rank = distances(topology, leaves);
    const std::vector<char> open = thoroughfares(topology, leaves);
    std::uint32_t most = 0;
    for (std::uint32_t s = 0; s < rank.size(); ++s) {
        most = rank[s] == kFar || open[s] == 0 ? most : std::max(most, rank[s]);
    }
    std::vector<std::uint32_t> roots;
    for (std::uint32_t s = 0; s < rank.size(); ++s) {
        if (rank[s] == most && open[s] != 0) {
            roots.push_back(s);
        }
    }
    return roots;
}

struct Place {
    std::uint32_t at = kNoIndex;  ///< switch
    std::uint8_t port = 0;        ///< its port toward the member; 0: the switch itself
};

std::unordered_map<std::uint64_t, Place> places_of(const Topology& topology) {
    std::unordered_map<std::uint64_t, Place> places;
    for (const auto& end : topology.end_ports) {
        if (end.switch_index != kNoIndex) {
            places.emplace(end.port_guid.value(), Place{end.switch_index, end.switch_port.value()});
        }
    }
    for (std::uint32_t s = 0; s < topology.switches.size(); ++s) {
        places.emplace(topology.switches[s].guid.value(), Place{s, 0});
    }
    return places;
}

/// The port of `from` toward the root: of all that lead one link nearer, the one that the MLID picks.
std::uint8_t port_toward(const Topology& topology, const std::vector<std::uint32_t>& distance,
                         std::uint32_t from, std::uint16_t mlid) {
    std::vector<std::uint8_t> ways;
    const auto& peers = topology.switches[from].peers;
    for (std::size_t p = 1; p < peers.size(); ++p) {
        if (peers[p].kind == PortPeer::Kind::switch_ && distance[peers[p].index] + 1 == distance[from]) {
            ways.push_back(static_cast<std::uint8_t>(p));
        }
    }
    return ways.empty() ? std::uint8_t{0} : ways[mlid % ways.size()];
}

class Tree {
public:
    Tree(const Topology& topology, const std::vector<std::uint32_t>& roots, std::uint16_t mlid, MftRows& rows)
        : topology_(topology), mlid_(mlid), rows_(rows), on_tree_(topology.switches.size()) {
        const std::uint32_t root = roots[(mlid - kMlidFirst) % roots.size()];
        distance_ = distances(topology, {root});
        on_tree_[root] = true;
    }

    void add(Place place, bool receives) {
        if (distance_[place.at] == kFar) {
            return;  // in another part of a fabric that has fallen apart
        }
        if (receives) {
            rows_[place.at][mlid_].set(place.port);
        }
        for (std::uint32_t at = place.at; !on_tree_[at];) {
            on_tree_[at] = true;
            const std::uint8_t up = port_toward(topology_, distance_, at, mlid_);
            const PortPeer& peer = topology_.switches[at].peers[up];
            rows_[at][mlid_].set(up);
            rows_[peer.index][mlid_].set(peer.port.value());
            at = peer.index;
        }
    }

private:
    const Topology& topology_;
    std::uint16_t mlid_;
    MftRows& rows_;
    std::vector<bool> on_tree_;
    std::vector<std::uint32_t> distance_;
};

/// Whether the links of two sets of entries together form a cycle.
bool cyclic(const Topology& topology, const MftRows& a, const MftRows& b, std::uint16_t mlid) {
    std::set<std::pair<std::uint32_t, std::uint32_t>>
        links;  // of (switch, port), each named from its lower end
    for (const MftRows* rows : {&a, &b}) {
        for (std::uint32_t s = 0; s < rows->size(); ++s) {
            const auto found = (*rows)[s].find(mlid);
            if (found == (*rows)[s].end()) {
                continue;
            }
            const auto& peers = topology.switches[s].peers;
            for (std::size_t p = 1; p < peers.size(); ++p) {
                if (found->second.test(p) && peers[p].kind == PortPeer::Kind::switch_) {
                    const std::pair here{s, static_cast<std::uint32_t>(p)};
                    const std::pair there{peers[p].index, static_cast<std::uint32_t>(peers[p].port.value())};
                    links.insert(std::min(here, there));
                }
            }
        }
    }
    std::vector<std::uint32_t> parent(topology.switches.size());
    std::iota(parent.begin(), parent.end(), 0U);
    const auto top = [&](std::uint32_t s) {
        while (parent[s] != s) {
            s = parent[s] = parent[parent[s]];
        }
        return s;
    };
    for (const auto& [s, p] : links) {
        const std::uint32_t one = top(s);
        const std::uint32_t other = top(topology.switches[s].peers[p].index);
        if (one == other) {
            return true;
        }
        parent[one] = other;
    }
    return false;
}

std::uint16_t slice(const PortMask& mask, std::uint8_t position) {
    std::uint16_t bits = 0;
    for (unsigned i = 0; i < kPositionPorts; ++i) {
        bits = static_cast<std::uint16_t>(bits | (mask.test(position * kPositionPorts + i) ? 1U << i : 0U));
    }
    return bits;
}

const PortMask& mask_of(const MftRow& row, std::uint16_t mlid) {
    static const PortMask kNone;
    const auto found = row.find(mlid);
    return found == row.end() ? kNone : found->second;
}

/// MLIDs that either row has.
std::set<std::uint16_t> mlids_of(const MftRow& a, const MftRow& b) {
    std::set<std::uint16_t> mlids;
    for (const MftRow* row : {&a, &b}) {
        for (const auto& [mlid, mask] : *row) {
            mlids.insert(mlid);
        }
    }
    return mlids;
}

/// Blocks whose entries for `mlid` differ.
void add_blocks(std::uint32_t s, const PortMask& old_mask, const PortMask& mask, std::uint16_t mlid,
                std::set<MftWrite>& blocks) {
    for (std::uint8_t position = 0; position < 256 / kPositionPorts; ++position) {
        if (slice(old_mask, position) != slice(mask, position)) {
            blocks.insert({s, static_cast<std::uint16_t>((mlid - kMlidFirst) / kMftBlockEntries), position});
        }
    }
}

}  // namespace

MftRows plan_trees(const Topology& topology, const MulticastGroups& groups) {
    MftRows rows(topology.switches.size());
    if (groups.empty() || topology.switches.empty()) {
        return rows;
    }
    const std::vector<std::uint32_t> roots = root_candidates(topology);
    const auto places = places_of(topology);
    for (const auto& [mlid, members] : groups) {
        if (members.size() < 2) {
            continue;  // nobody to send to
        }
        Tree tree(topology, roots, mlid.value(), rows);
        for (const GroupMember& member : members) {
            if (const auto found = places.find(member.port.value()); found != places.end()) {
                tree.add(found->second, member.receives);
            }
        }
    }
    return rows;
}

void limit_row(MftRow& row, std::uint32_t room) {
    std::erase_if(row, [&](const auto& entry) { return entry.first >= kMlidFirst + room; });
}

MftPlan plan_mfts(const Topology& topology, const MftRows& in_force, const MftRows& wanted,
                  const std::set<std::uint32_t>& unknown) {
    MftPlan plan;
    std::set<std::uint16_t> changed;
    std::uint16_t highest = 0;
    for (std::uint32_t s = 0; s < wanted.size(); ++s) {
        for (const std::uint16_t mlid : mlids_of(in_force[s], wanted[s])) {
            if (mask_of(in_force[s], mlid) != mask_of(wanted[s], mlid)) {
                changed.insert(mlid);
            }
        }
        highest = wanted[s].empty() ? highest : std::max(highest, wanted[s].rbegin()->first);
    }
    for (const std::uint16_t mlid : changed) {
        if (cyclic(topology, in_force, wanted, mlid)) {
            plan.moved.insert(mlid);
        }
    }
    std::set<MftWrite> drops;
    std::set<MftWrite> writes;
    for (std::uint32_t s = 0; s < wanted.size(); ++s) {
        for (const std::uint16_t mlid : mlids_of(in_force[s], wanted[s])) {
            const PortMask& before = mask_of(in_force[s], mlid);
            if (plan.moved.contains(mlid) && before != mask_of(wanted[s], mlid)) {
                add_blocks(s, before, PortMask{}, mlid, drops);
                add_blocks(s, PortMask{}, mask_of(wanted[s], mlid), mlid, writes);
            } else {
                add_blocks(s, before, mask_of(wanted[s], mlid), mlid, writes);
            }
        }
        if (unknown.contains(s) && highest >= kMlidFirst) {
            for (unsigned block = 0; block <= (highest - kMlidFirst) / kMftBlockEntries; ++block) {
                for (unsigned position = 0; position <= topology.switches[s].num_ports / kPositionPorts;
                     ++position) {
                    writes.insert(
                        {s, static_cast<std::uint16_t>(block), static_cast<std::uint8_t>(position)});
                }
            }
        }
    }
    plan.drops.assign(drops.begin(), drops.end());
    plan.writes.assign(writes.begin(), writes.end());
    // Block by block over all switches, so that many devices work at once.
    const auto by_block = [](const MftWrite& a, const MftWrite& b) {
        return std::tie(a.block, a.position, a.switch_index) < std::tie(b.block, b.position, b.switch_index);
    };
    std::sort(plan.drops.begin(), plan.drops.end(), by_block);
    std::sort(plan.writes.begin(), plan.writes.end(), by_block);
    return plan;
}

mad::MftBlock mft_block(const MftRow& row, std::uint16_t block, std::uint8_t position,
                        const std::set<std::uint16_t>& without) {
    mad::MftBlock out;
    for (unsigned i = 0; i < kMftBlockEntries; ++i) {
        const auto mlid = static_cast<std::uint16_t>(kMlidFirst + block * kMftBlockEntries + i);
        out.port_masks[i] = without.contains(mlid) ? std::uint16_t{0} : slice(mask_of(row, mlid), position);
    }
    return out;
}

}  // namespace ibf::sm
