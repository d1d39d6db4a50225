// DOC: multicast trees, and which MFT blocks to write in which order. Pure.
//
// One tree a MLID. Its root is chosen by the MLID among the switches farthest from the hosts (the spines of a
// tree, any switch of a torus), ties among equal ways likewise, so that trees spread over roots and links,
// and a tree does not depend on who is in the group: it is the union of the members' ways to the root. So a
// join only adds, a leave only takes away, and neither needs care while it is being written. Where a tree
// moves (the topology changed) and the old and new entries together could form a cycle, the group's entries
// go through empty first.
#pragma once

#include <bitset>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "daemon/fabric/sa_tables.hpp"
#include "mad/attributes.hpp"
#include "routing/topology.hpp"

namespace ibf::sm {

struct GroupMember {
    mad::Guid port{};      ///< port GUID; of a switch its node GUID
    bool receives = true;  ///< false: sends only; its switch has the way to the tree, the port no copy
    auto operator<=>(const GroupMember&) const = default;
};
/// By MLID: the members of all groups that share it, each once.
using MulticastGroups = std::map<mad::Mlid, std::vector<GroupMember>>;

inline constexpr unsigned kMftBlockEntries = 32;  ///< MLIDs of a block

using PortMask = fabric::PortMask;
using MftRow = fabric::MftRow;
/// By SwitchIndex.
using MftRows = std::vector<MftRow>;

[[nodiscard]] MftRows plan_trees(const routing::Topology& topology, const MulticastGroups& groups);

/// Leaves the entries of a table with `room` for so many MLIDs.
void limit_row(MftRow& row, std::uint32_t room);

struct MftWrite {
    std::uint32_t switch_index = 0;
    std::uint16_t block = 0;    ///< of 32 MLIDs from 0xC000 on
    std::uint8_t position = 0;  ///< of 16 ports
    auto operator<=>(const MftWrite&) const = default;
};
struct MftPlan {
    std::vector<MftWrite> drops;    ///< first: these blocks with the drop MLIDs empty
    std::vector<MftWrite> writes;   ///< then: as wanted
    std::set<std::uint16_t> moved;  ///< the drop MLIDs
};
/// `in_force`: as acknowledged. `unknown`: switches whose blocks up to the highest MLID are written whatever
/// is known.
[[nodiscard]] MftPlan plan_mfts(const routing::Topology& topology, const MftRows& in_force,
                                const MftRows& wanted, const std::set<std::uint32_t>& unknown);

/// The entries of a block as `row` has them, those of `without` empty.
[[nodiscard]] mad::MftBlock mft_block(const MftRow& row, std::uint16_t block, std::uint8_t position,
                                      const std::set<std::uint16_t>& without);

}  // namespace ibf::sm
