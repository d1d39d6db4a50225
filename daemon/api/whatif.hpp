// DOC: what would be, were parts of the fabric down. Nothing is touched.
//
// The same functions that would act then, on the snapshot: the topology without the elements, the one routing
// function with the options and previous tables of the SM, the proof, the plan that writes. What comes out is
// what the SM would do, as long as nothing else changes meanwhile. Pure; takes as long as routing does (half
// of the cores, so that the loop has room), and as much memory.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "daemon/fabric/snapshot.hpp"
#include "routing/elements.hpp"
#include "routing/routes.hpp"

namespace ibf::api {

/// A link between two switches in one direction, and the flows of all hosts to all hosts over it.
struct HotLink {
    mad::Guid from{};
    mad::PortNum port{};
    std::uint64_t before = 0;
    std::uint64_t after = 0;
};

struct LoadFigures {
    std::uint64_t worst = 0;
    double mean = 0;
    std::uint64_t links = 0;
};

struct WhatIf {
    routing::Losses lost;           ///< in terms of the snapshot's topology
    bool sm_cut_off = false;        ///< the port that we manage from
    routing::RouteOutcome outcome;  ///< what would serve
    std::string no_engine;          ///< why none would; empty: one would, and what follows is known
    LoadFigures load_before, load_after;
    std::vector<HotLink> hot;         ///< those that get more: the most loaded first
    std::uint64_t blocks = 0;         ///< LFT blocks that would be written
    std::uint64_t switches = 0;       ///< to so many switches
    std::uint64_t safety_blocks = 0;  ///< blocks written twice, lest mixed tables loop
};

struct WhatIfQuestion {
    routing::Elements down;
    std::vector<std::string> engines;  ///< empty: the configured chain
    std::size_t hot_most = 10;
};

/// REQUIRES: the snapshot has a fabric and routes. Errors: usage, if nothing would be left.
[[nodiscard]] base::Result<WhatIf> what_if(const fabric::Snapshot& snapshot, const WhatIfQuestion& question);

}  // namespace ibf::api
