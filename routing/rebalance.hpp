// DOC: how far tables have drifted from fresh ones, and the way back in small steps.
//
// Entries that are still candidates stay (engine_tables.hpp), so what a loss displaced lies where it fell
// after the repair too: a spine that came back is not used again, and over many losses loads come out uneven.
// Drift says how uneven, a step heals some of it.
//
// Drift is measured against a fresh evaluation of the same engine on the same topology. The measure is the
// edge forwarding index (Heydemann, Meyer, Sotteau, Discrete Applied Mathematics 23, 1989): paths over the
// busiest link where every end port sends to every LID of the others. It is taken level by level
// (routes.hpp, LevelLoad), since the busiest link of all is often one that no tables can relieve. What is
// below the mean of all links counts as the mean: nobody waits for a link that is hardly used.
//
// A step is no engine of its own. It replaces blocks of the tables in force by fresh ones and gives that to
// the engine as its previous tables. All of it is candidates, so it stays; lanes are laid anew where the
// engine has any; and the verifier judges the result like every other. Blocks go by columns (the same 64 LIDs
// in all switches): in a column that has gone all paths are fresh ones, so loads between two steps are sums
// of both tables', and no third pattern comes up. Columns go first that relieve ports which have more
// destinations than in the fresh tables.
//
// What it is not: it decides neither when nor how often (sm/rebalance.hpp), and writes nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "routing/routes.hpp"

namespace ibf::routing {

struct Drift {
    double worst = 1;              ///< paths over the busiest link, as a multiple of those with fresh tables
    std::string level;             ///< where that is; empty: the tables are the fresh ones
    std::uint64_t in_force = 0;    ///< paths over the busiest link of that level
    std::uint64_t fresh = 0;       ///< the same with fresh tables
    std::uint64_t idle_links = 0;  ///< unused directed links between switches, beyond those of fresh tables
};
[[nodiscard]] Drift drift_between(const Quality& in_force, const Quality& fresh);

/// Where to: made once, good for all steps on the same topology.
struct RebalancePlan {
    Routes fresh;
    Quality fresh_quality;
    std::vector<std::uint16_t> columns;  ///< numbers of LFT blocks that differ, those that relieve most first
};

struct RebalanceLimits {
    double drift_max = 1.2;             ///< up to this nothing is moved
    std::uint32_t blocks_per_step = 0;  ///< 0: drift is measured, nothing is moved
};

struct RebalanceStep {
    Drift drift;                                ///< of the tables in force
    std::shared_ptr<const RebalancePlan> plan;  ///< for the next step; null if the tables are the fresh ones
    std::optional<RouteOutcome> next;           ///< tables to write, proved; none: nothing is to be moved
    std::uint64_t moved = 0;                    ///< blocks in which `next` differs from the tables in force
    std::uint64_t left = 0;                     ///< blocks that differ from the fresh ones after that
    std::string stopped;                        ///< why nothing is moved although drift is over the limit
};

/// Measures, and takes one step if drift is over the limit. `plan`: of the step before, on the same topology;
/// null at first. `options` are those that the tables in force came from.
/// Errors: those of the engine, where it has no fresh tables for this fabric.
[[nodiscard]] base::Result<RebalanceStep> rebalance_step(const Topology& topology, const Routes& in_force,
                                                         std::shared_ptr<const RebalancePlan> plan,
                                                         const RouteOptions& options,
                                                         const RebalanceLimits& limits);

/// LFT blocks in which two sets of tables of one topology differ.
[[nodiscard]] std::uint64_t blocks_between(const Routes& a, const Routes& b);

}  // namespace ibf::routing
