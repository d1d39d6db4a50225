// DOC: which LFT blocks to write, and in which order. Pure.
//
// Blocks that differ between what is in force and what is wanted. Order: blocks that mend a broken way
// between switches before all others (decision 16); then block by block over all switches, so that many
// devices work at once. Safety: while a plan is being written, switches hold any mix of old and new entries.
// For a LID whose old and new next hops together form no ring, no mix can loop. For the others the old hops
// that lie on a ring go to drop (255) first. While that is done every mix is a part of the old tables; then a
// ring would need one of those hops, as the new ones by themselves have none.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <vector>

#include "mad/attributes.hpp"
#include "routing/routes.hpp"

namespace ibf::sm {

struct LftWrite {
    std::uint32_t switch_index = 0;
    std::uint16_t block = 0;
    bool operator==(const LftWrite&) const = default;
};

struct DropEntry {
    std::uint32_t at = 0;  ///< SwitchIndex value
    std::uint16_t lid = 0;
    auto operator<=>(const DropEntry&) const = default;
};

struct LftPlan {
    std::vector<LftWrite> drops;           ///< first: these blocks as they are, but for drop_entries
    std::vector<LftWrite> writes;          ///< then: these blocks as wanted
    std::vector<DropEntry> drop_entries;   ///< sorted
    std::vector<std::uint16_t> drop_lids;  ///< of them; sorted
};

/// What a switch holds, by SwitchIndex. Null: not known to hold anything that forwards (virgin or to be
/// overwritten whole); such a switch takes every block of the wanted row.
using RowsInForce = std::vector<std::shared_ptr<const routing::LftRow>>;

[[nodiscard]] LftPlan plan_lfts(const routing::Topology& topology, const RowsInForce& in_force,
                                const routing::Routes& wanted);

/// The 64 entries of a drop write.
[[nodiscard]] mad::LftBlock drop_block(const LftPlan& plan, const routing::LftRow& old_row, LftWrite drop);
[[nodiscard]] mad::LftBlock block_of(const routing::LftRow& row, std::uint16_t block);

}  // namespace ibf::sm
