// DOC: what old and new tables together could come to while the new ones are being written.
//
// A packet may meet the old entry for its LID at one switch and the new one at the next, with the old lane
// tables or the new. mixed_ring() draws the channel dependencies of all such paths, of every SL that either
// tables give, and looks for a ring in them. Old hops that lie on a ring of old and new hops to one LID are
// left out: they go to drop before new entries are written (sm/lft_plan).
//
// It costs what two to three proofs of the new tables do on a tree, five to ten on a torus (routing_bench):
// it is for changes of which proof.hpp does not see the mixture itself. Of tables that another SM wrote
// nobody knows the SLs: they count with those of the new ones. An old entry leads over whatever cable is at
// its port now, whether that is Active yet or not, so there may be a ring here that no packet finds.
#pragma once

#include <vector>

#include "routing/routes.hpp"

namespace ibf::routing {

/// One ring; empty if there is none. `before`: what switches hold; rows may be missing (nothing is
/// forwarded there). The same for any number of threads.
[[nodiscard]] std::vector<ChannelStep> mixed_ring(const Topology& topology, const Routes& before,
                                                  const Routes& after, unsigned threads);

/// The two do not differ in any entry that is known of both: nothing mixes. Rows by GUID.
[[nodiscard]] bool same_entries(const Routes& before, const Routes& after);
/// What is said of their lanes is so: an engine of ours made them, or SLs are given.
[[nodiscard]] bool knows_lanes(const Routes& routes);
/// SLs and lane maps, by GUID.
[[nodiscard]] bool same_lanes(const Routes& before, const Routes& after);

}  // namespace ibf::routing
