// DOC: flows in rounds: in each, no two share a link.
//
// What one flow measures is its own path then, and not the others. Links are directed, and those of the end
// ports count: in a round an end port sends to one and receives from one. Pure; deterministic.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "probe/flow.hpp"

namespace ibf::probe {

struct Rounds {
    std::vector<std::uint32_t> of_flow;  ///< from 0, by the number of the flow
    std::uint32_t count = 0;
    std::uint32_t least = 0;  ///< flows on the link that most of them cross: it needs a round for each
};

/// REQUIRES: all of them arrive.
[[nodiscard]] Rounds in_rounds(const routing::Topology& topology, const routing::Routes& routes,
                               std::span<const Flow> flows);

}  // namespace ibf::probe
