// DOC: evening out link loads where the closed form does not fit.
//
// The closed form of engine_tables.hpp is optimal on regular trees. On real fabrics (leaves filled unevenly,
// cables missing, one or two cables to a neighbour) and on other graphs it is a start: here every end-port
// LID in turn is taken off the links, and its in-tree is laid anew over the engine's candidates with the
// loads of all others known. A link costs the cube of its load, so the worst links are relieved first; an
// entry moves only for a real gain. One flow per end port and LID is counted, as quality figures do; where
// rates are weighed a slower link bears that much more by each.
//
// Compute nodes are evened out first and among themselves, with the flows from their like only; then I/O
// nodes and then the others, each on top of what there is.
//
// The work is sequential (every step depends on the loads of the one before), hence bounded: beyond
// kBalanceLimit table entries the closed form stands as it is.
#pragma once

#include <cstdint>
#include <vector>

#include "routing/engine_tables.hpp"

namespace ibf::routing {

inline constexpr std::uint64_t kBalanceLimit = 6'000'000;  ///< switches x LIDs; about half a second of work

/// Changes entries of `rows` for the end-port targets, within the plan's candidates. Rows may be null (no
/// entries there).
void balance_flows(const Graph& graph, const EnginePlan& plan, const Flows& flows, const DraftRows& rows);

}  // namespace ibf::routing
