#include "daemon/sm/lft_plan.hpp"

#include <algorithm>
#include <compare>
#include <cstring>
#include <iterator>
#include <span>

#include "routing/rings.hpp"

namespace ibf::sm {
namespace {

using mad::kLftBlockEntries;
using mad::kLftDrop;
using routing::LftRow;

std::uint8_t entry(const LftRow* row, std::size_t lid) {
    return row != nullptr && lid < row->size() ? (*row)[lid] : kLftDrop;
}

bool by_block(const LftWrite& a, const LftWrite& b) {
    return a.block < b.block;
}

bool block_differs(const LftRow* old_row, const LftRow& wanted, std::size_t block) {
    const std::size_t from = block * kLftBlockEntries;
    if (old_row != nullptr && old_row->size() >= from + kLftBlockEntries) {
        return std::memcmp(old_row->data() + from, wanted.data() + from, kLftBlockEntries) != 0;
    }
    return true;
}

/// By switch, then block: row by row, as they lie in memory.
std::vector<LftWrite> differing_blocks(const RowsInForce& in_force, const routing::Routes& wanted) {
    std::vector<LftWrite> blocks;
    for (std::uint32_t s = 0; s < wanted.rows.size(); ++s) {
        const LftRow& row = *wanted.rows[s];
        for (std::size_t block = 0; in_force[s].get() != &row && block < row.size() / kLftBlockEntries;
             ++block) {
            if (block_differs(in_force[s].get(), row, block)) {
                blocks.push_back({s, static_cast<std::uint16_t>(block)});
            }
        }
    }
    return blocks;
}

/// A switch that already forwards a LID, and shall forward it another way.
struct ChangedEntry {
    std::uint16_t lid = 0;
    std::uint32_t at = 0;
    auto operator<=>(const ChangedEntry&) const = default;
};

std::vector<ChangedEntry> changed_entries(std::span<const LftWrite> differing, const RowsInForce& in_force,
                                          const routing::Routes& wanted) {
    std::vector<ChangedEntry> changed;
    for (const LftWrite& block : differing) {
        const LftRow* old_row = in_force[block.switch_index].get();
        const std::size_t from = std::size_t{block.block} * kLftBlockEntries;
        const std::size_t end = std::min(from + kLftBlockEntries, std::size_t{mad::kLidUnicastMax} + 1);
        for (std::size_t lid = from; lid < end; ++lid) {
            const std::uint8_t before = entry(old_row, lid);
            if (before != kLftDrop && before != (*wanted.rows[block.switch_index])[lid]) {
                changed.push_back({static_cast<std::uint16_t>(lid), block.switch_index});
            }
        }
    }
    std::sort(changed.begin(), changed.end());
    return changed;
}

/// Old and new next hops toward one LID, two out of each switch at the most. Neither table has a ring by
/// itself: one of both would pass a switch that changes, and over an old hop that has to go before the new
/// ones come.
class UnionGraph {
public:
    UnionGraph(const routing::Topology& topology, const RowsInForce& in_force, const routing::Routes& wanted)
        : topology_(topology), in_force_(in_force), wanted_(wanted), rings_(topology.switches.size()) {}

    /// Entries of one LID that lie on a ring of old and new hops: appended.
    void find_drops(std::span<const ChangedEntry> changed, std::vector<DropEntry>& out) {
        const std::uint16_t lid = changed.front().lid;
        starts_.clear();
        for (const ChangedEntry& entry : changed) {
            starts_.push_back(entry.at);
        }
        rings_.find(starts_, [&](std::uint32_t at, int which) { return hop(at, lid, which); });
        for (const ChangedEntry& entry : changed) {
            const std::uint32_t old_hop = rings_.any() ? hop(entry.at, lid, 0) : routing::kNoIndex;
            if (old_hop != routing::kNoIndex && rings_.on_ring(entry.at, old_hop)) {
                out.push_back({entry.at, lid});
            }
        }
    }

private:
    [[nodiscard]] std::uint32_t hop(std::uint32_t at, std::uint16_t lid, int which) const {
        const LftRow* row = which == 0 ? in_force_[at].get() : wanted_.rows[at].get();
        const std::uint8_t port = entry(row, lid);
        const auto& peers = topology_.switches[at].peers;
        if (port == 0 || port >= peers.size() || peers[port].kind != routing::PortPeer::Kind::switch_) {
            return routing::kNoIndex;
        }
        return peers[port].index;
    }

    const routing::Topology& topology_;
    const RowsInForce& in_force_;
    const routing::Routes& wanted_;
    routing::RingFinder rings_;
    std::vector<std::uint32_t> starts_;
};

std::vector<DropEntry> entries_to_drop(const routing::Topology& topology, const RowsInForce& in_force,
                                       const routing::Routes& wanted, std::span<const LftWrite> differing) {
    std::vector<DropEntry> drops;
    UnionGraph graph(topology, in_force, wanted);
    const std::vector<ChangedEntry> changed = changed_entries(differing, in_force, wanted);
    for (auto first = changed.begin(); first != changed.end();) {
        const auto last = std::find_if(first, changed.end(),
                                       [&](const ChangedEntry& entry) { return entry.lid != first->lid; });
        graph.find_drops({first, last}, drops);
        first = last;
    }
    std::sort(drops.begin(), drops.end());
    return drops;
}

std::vector<LftWrite> blocks_of(const std::vector<DropEntry>& entries) {
    std::vector<LftWrite> blocks;
    for (const DropEntry& entry : entries) {
        const LftWrite block{entry.at, static_cast<std::uint16_t>(entry.lid / kLftBlockEntries)};
        if (blocks.empty() || !(blocks.back() == block)) {
            blocks.push_back(block);
        }
    }
    std::stable_sort(blocks.begin(), blocks.end(), by_block);
    return blocks;
}

/// The block holds an entry that leads nowhere any more and shall lead to a switch: a way between switches is
/// broken until it is written.
bool heals(const routing::TopologySwitch& at, const LftRow* old_row, const LftRow& wanted,
           std::size_t block) {
    const auto leads_to = [&](std::uint8_t port, routing::PortPeer::Kind kind) {
        return port != 0 && port < at.peers.size() && at.peers[port].kind == kind;
    };
    for (std::size_t lid = block * kLftBlockEntries; lid < (block + 1) * kLftBlockEntries; ++lid) {
        const std::uint8_t before = entry(old_row, lid);
        const bool broken = before == kLftDrop || leads_to(before, routing::PortPeer::Kind::none);
        if (broken && leads_to(entry(&wanted, lid), routing::PortPeer::Kind::switch_)) {
            return true;
        }
    }
    return false;
}

}  // namespace

LftPlan plan_lfts(const routing::Topology& topology, const RowsInForce& in_force,
                  const routing::Routes& wanted) {
    LftPlan plan;
    const std::vector<LftWrite> differing = differing_blocks(in_force, wanted);
    plan.drop_entries = entries_to_drop(topology, in_force, wanted, differing);
    plan.drops = blocks_of(plan.drop_entries);
    for (const DropEntry& entry : plan.drop_entries) {
        plan.drop_lids.push_back(entry.lid);
    }
    std::sort(plan.drop_lids.begin(), plan.drop_lids.end());
    plan.drop_lids.erase(std::unique(plan.drop_lids.begin(), plan.drop_lids.end()), plan.drop_lids.end());
    std::copy_if(differing.begin(), differing.end(), std::back_inserter(plan.writes),
                 [&](const LftWrite& write) {
                     return write.block * kLftBlockEntries < topology.switches[write.switch_index].lft_cap;
                 });
    std::stable_sort(plan.writes.begin(), plan.writes.end(), by_block);
    std::stable_partition(plan.writes.begin(), plan.writes.end(), [&](const LftWrite& write) {
        const std::uint32_t at = write.switch_index;
        return heals(topology.switches[at], in_force[at].get(), *wanted.rows[at], write.block);
    });
    return plan;
}

mad::LftBlock block_of(const LftRow& row, std::uint16_t block) {
    mad::LftBlock out;
    out.ports.fill(kLftDrop);
    const std::size_t from = std::size_t{block} * kLftBlockEntries;
    if (from < row.size()) {
        std::copy_n(row.begin() + static_cast<std::ptrdiff_t>(from),
                    std::min<std::size_t>(kLftBlockEntries, row.size() - from), out.ports.begin());
    }
    return out;
}

mad::LftBlock drop_block(const LftPlan& plan, const LftRow& old_row, LftWrite drop) {
    mad::LftBlock out = block_of(old_row, drop.block);
    const auto from = static_cast<std::uint16_t>(drop.block * kLftBlockEntries);
    for (auto entry = std::lower_bound(plan.drop_entries.begin(), plan.drop_entries.end(),
                                       DropEntry{drop.switch_index, from});
         entry != plan.drop_entries.end() && entry->at == drop.switch_index &&
         entry->lid < from + kLftBlockEntries;
         ++entry) {
        out.ports[entry->lid - from] = kLftDrop;
    }
    return out;
}

}  // namespace ibf::sm
