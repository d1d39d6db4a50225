#include "daemon/sm/lft_plan.hpp"

#include <algorithm>
#include <compare>
#include <cstring>
#include <span>

namespace ibf::sm {
namespace {

using mad::kLftBlockEntries;
using mad::kLftDrop;
using routing::LftRow;

std::uint8_t entry(const LftRow* row, std::size_t lid) {
    return row != nullptr && lid < row->size() ? (*row)[lid] : kLftDrop;
}

bool block_differs(const LftRow* old_row, const LftRow& wanted, std::size_t block) {
    const std::size_t from = block * kLftBlockEntries;
    if (old_row != nullptr && old_row->size() >= from + kLftBlockEntries) {
        return std::memcmp(old_row->data() + from, wanted.data() + from, kLftBlockEntries) != 0;
    }
    return true;
}

/// A switch that already forwards a LID, and shall forward it another way.
struct ChangedEntry {
    std::uint16_t lid = 0;
    std::uint32_t at = 0;
    auto operator<=>(const ChangedEntry&) const = default;
};

std::vector<ChangedEntry> changed_entries(const RowsInForce& in_force, const routing::Routes& wanted) {
    std::vector<ChangedEntry> changed;
    for (std::uint32_t s = 0; s < wanted.rows.size(); ++s) {
        const LftRow* old_row = in_force[s].get();
        const LftRow& row = *wanted.rows[s];
        if (old_row == nullptr || old_row == &row) {
            continue;
        }
        const std::size_t common =
            std::min({old_row->size(), row.size(), std::size_t{mad::kLidUnicastMax} + 1});
        for (std::size_t from = 0; from < common; from += kLftBlockEntries) {
            if (!block_differs(old_row, row, from / kLftBlockEntries)) {
                continue;
            }
            for (std::size_t lid = from; lid < std::min(from + kLftBlockEntries, common); ++lid) {
                if ((*old_row)[lid] != row[lid] && (*old_row)[lid] != kLftDrop) {
                    changed.push_back({static_cast<std::uint16_t>(lid), s});
                }
            }
        }
    }
    std::sort(changed.begin(), changed.end());
    return changed;
}

/// Does the union of old and new next hops toward one LID contain a cycle? Neither table has one by itself,
/// so it would pass a switch that changes. Iterative depth-first search from those, two hops out of each
/// switch at the most.
class UnionGraph {
public:
    UnionGraph(const routing::Topology& topology, const RowsInForce& in_force, const routing::Routes& wanted)
        : topology_(topology), in_force_(in_force), wanted_(wanted), colour_(topology.switches.size()) {}

    [[nodiscard]] bool cyclic(std::span<const ChangedEntry> changed) {
        std::fill(colour_.begin(), colour_.end(), Colour::white);
        return std::any_of(changed.begin(), changed.end(), [this](const ChangedEntry& entry) {
            return colour_[entry.at] == Colour::white && visit(entry.at, entry.lid);
        });
    }

private:
    enum class Colour : std::uint8_t { white, grey, black };
    struct Frame {
        std::uint32_t at;
        int next;
    };

    [[nodiscard]] std::uint32_t hop(std::uint32_t at, std::uint16_t lid, int which) const {
        const LftRow* row = which == 0 ? in_force_[at].get() : wanted_.rows[at].get();
        const std::uint8_t port = entry(row, lid);
        const auto& peers = topology_.switches[at].peers;
        if (port == 0 || port >= peers.size() || peers[port].kind != routing::PortPeer::Kind::switch_) {
            return routing::kNoIndex;
        }
        return peers[port].index;
    }

    bool visit(std::uint32_t start, std::uint16_t lid) {
        stack_.assign(1, {start, 0});
        colour_[start] = Colour::grey;
        while (!stack_.empty()) {
            Frame& frame = stack_.back();
            if (frame.next == 2) {
                colour_[frame.at] = Colour::black;
                stack_.pop_back();
                continue;
            }
            const std::uint32_t to = hop(frame.at, lid, frame.next++);
            if (to == routing::kNoIndex || colour_[to] == Colour::black) {
                continue;
            }
            if (colour_[to] == Colour::grey) {
                return true;
            }
            colour_[to] = Colour::grey;
            stack_.push_back({to, 0});
        }
        return false;
    }

    const routing::Topology& topology_;
    const RowsInForce& in_force_;
    const routing::Routes& wanted_;
    std::vector<Colour> colour_;
    std::vector<Frame> stack_;
};

}  // namespace

namespace {

std::vector<std::uint16_t> lids_to_drop(const routing::Topology& topology, const RowsInForce& in_force,
                                        const routing::Routes& wanted) {
    std::vector<std::uint16_t> lids;
    UnionGraph graph(topology, in_force, wanted);
    const std::vector<ChangedEntry> changed = changed_entries(in_force, wanted);
    for (auto first = changed.begin(); first != changed.end();) {
        const auto last = std::find_if(first, changed.end(),
                                       [&](const ChangedEntry& entry) { return entry.lid != first->lid; });
        if (graph.cyclic({first, last})) {
            lids.push_back(first->lid);
        }
        first = last;
    }
    return lids;
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
    plan.drop_lids = lids_to_drop(topology, in_force, wanted);
    std::size_t blocks = 0;
    for (const auto& row : wanted.rows) {
        blocks = std::max(blocks, row->size() / kLftBlockEntries);
    }
    for (std::size_t block = 0; block < blocks; ++block) {
        const auto first =
            std::lower_bound(plan.drop_lids.begin(), plan.drop_lids.end(), block * kLftBlockEntries);
        const bool has_drops = first != plan.drop_lids.end() && *first < (block + 1) * kLftBlockEntries;
        for (std::uint32_t s = 0; s < wanted.rows.size(); ++s) {
            const LftRow& row = *wanted.rows[s];
            if (block * kLftBlockEntries >= std::min<std::size_t>(row.size(), topology.switches[s].lft_cap) ||
                in_force[s].get() == &row || !block_differs(in_force[s].get(), row, block)) {
                continue;
            }
            const LftWrite write{s, static_cast<std::uint16_t>(block)};
            plan.writes.push_back(write);
            if (has_drops && in_force[s] != nullptr) {
                plan.drops.push_back(write);
            }
        }
    }
    std::stable_partition(plan.writes.begin(), plan.writes.end(), [&](const LftWrite& write) {
        const std::uint32_t at = write.switch_index;
        return heals(topology.switches[at], in_force[at].get(), *wanted.rows[at], write.block);
    });
    std::erase_if(plan.drops, [&](const LftWrite& write) {
        const mad::LftBlock dropped =
            drop_block(plan, *in_force[write.switch_index], *wanted.rows[write.switch_index], write.block);
        return dropped == block_of(*in_force[write.switch_index], write.block);
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

mad::LftBlock drop_block(const LftPlan& plan, const LftRow& old_row, const LftRow& wanted,
                         std::uint16_t block) {
    mad::LftBlock out = block_of(old_row, block);
    const mad::LftBlock next = block_of(wanted, block);
    const std::size_t from = std::size_t{block} * kLftBlockEntries;
    for (auto lid = std::lower_bound(plan.drop_lids.begin(), plan.drop_lids.end(), from);
         lid != plan.drop_lids.end() && *lid < from + kLftBlockEntries; ++lid) {
        const std::size_t i = *lid - from;
        if (out.ports[i] != next.ports[i]) {
            out.ports[i] = kLftDrop;
        }
    }
    return out;
}

}  // namespace ibf::sm
