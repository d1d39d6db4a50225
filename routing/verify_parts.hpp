// DOC: the full proof with its parts in view: what a later proof of a small change builds on (proof.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "routing/verify_cycle.hpp"
#include "routing/verify_lanes.hpp"
#include "routing/verify_tables.hpp"

namespace ibf::routing {

/// How many switches do not reach another switch's LID, where that is allowed.
struct LostSwitches {
    std::uint32_t lid = 0;
    std::uint32_t switches = 0;
};

using ProofReader = std::function<void(const TableView& view, const Dependencies& dependencies,
                                       const std::vector<LostSwitches>& lost)>;

/// verify(), that shows what it drew before it judges. `read` may be empty.
[[nodiscard]] Verdict examine(const Topology& topology, const Routes& routes,
                              const std::vector<MulticastTree>& trees, unsigned threads,
                              const ProofReader& read);

}  // namespace ibf::routing
