// DOC: the groups of a dragonfly, found from the switch graph alone.
//
// Two kinds of group are known: cliques (Kim et al., ISCA 2008) and two-level trees of leaves and spines
// (dragonfly+, Shpiner et al., HiPINEB 2017). Any two groups are joined by cables, global ones.
//
//   cliques  Cables inside a group lie in many triangles, global ones in few. The cables that lie in most are
//            joined to groups; groups that missing cables tore apart are joined again where they meet
//            densely.
//   trees    Leaves have the hosts, and no cables to each other; what hangs together by leaves is a group.
//
// A map is taken only if groups are dense inside and most pairs of them are joined: trees and tori are
// refused. A HyperX of two unlike dimensions is a dragonfly, its longer lines are the groups.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "routing/graph.hpp"

namespace ibf::routing {

struct GroupMap {
    std::uint32_t groups = 0;
    std::vector<std::uint32_t> of;  ///< by switch; groups joined to the most others have the lowest numbers
    /// By switch: its place in the order of its group; paths inside a group go up (to smaller places), then
    /// down. The first is a leaf where there are leaves, all others come after the spines.
    std::vector<std::uint32_t> place;
};

/// Errors: unsupported: the fabric is no dragonfly.
[[nodiscard]] base::Result<GroupMap> find_groups(const Graph& graph);

}  // namespace ibf::routing
