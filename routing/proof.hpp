// DOC: the proof of tables that differ little from proven ones.
//
// A full proof follows every column from every switch. After one lost cable all but some thousand entries are
// as they were, and what was proven of them still holds. What has to be shown anew (induction over the way to
// a LID): from each switch whose entry for it changed, or whose link there did, the new tables lead to its
// owner. Whoever's way is unchanged arrives as before, or comes to such a switch and arrives from there.
//
// Channel dependencies (verify.cpp) are carried over, and those of changed entries added. That graph holds
// all that the new tables need and some that only older ones needed, so if it has no cycle, the new tables
// have none. The dependencies of packets that meet old entries at one switch and new ones at the next are
// looked at as well: while tables are being written these are on the wire. Old hops that go to drop first
// (sm/lft_plan: those on a ring of old and new hops) mix with nothing.
//
// Limits: one lane; every switch with a LID, all in one piece; no new switch, and none that has its first
// host. Beyond them, or where anything fails, prove_change() says nothing, and the full proof finds what it
// is; their mix with older tables is mixture.hpp's then. From Topology and Routes alone, as the rest of the
// verifier: what engines remember is no part of it.
#pragma once

#include <memory>
#include <optional>

#include "routing/routes.hpp"

namespace ibf::routing {

struct Proven {
    Verdict verdict;
    std::shared_ptr<const Proof> proof;  ///< for the next one; null where it could not begin with this
    bool mixture_seen = false;           ///< with the tables of `before`: Verdict::transit_loop says it
};

/// The verdict of verify(), and, where mixture_seen, what old and new tables together may come to.
/// `before`: of the tables in force; null: there are none, or nothing is known of them.
[[nodiscard]] Proven prove(const Topology& topology, const Routes& routes, const Proof* before,
                           unsigned threads);

/// The same from what differs alone. nullopt: that does not tell.
[[nodiscard]] std::optional<Proven> prove_change(const Topology& topology, const Routes& routes,
                                                 const Proof& before);

}  // namespace ibf::routing
