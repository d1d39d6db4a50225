// DOC: when tables are re-balanced, and what an operator is told of it.
//
// Losses and repairs leave tables less even than fresh ones would be (routing/rebalance.hpp). Once the fabric
// has been quiet for a while, drift is measured; over the limit it is healed, a few blocks at a time, each
// step computed and proved off the loop and written as a run between sweeps: through drop where a mix could
// loop, and never while a sweep is wanted. Other routes end it; quiet has to come back first.
//
// Idle -> (quiet) -> asked -> (over the limit) -> ready -> written -> (pause) -> asked -> ... -> (within)
// Idle
//
// This is the state; the steps are SubnetManager's (rebalance.cpp).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/result.hpp"
#include "base/time.hpp"
#include "daemon/fabric/snapshot.hpp"
#include "routing/rebalance.hpp"

namespace ibf::sm {

/// The result of a Rebalance effect.
using RebalanceResult = base::Result<routing::RebalanceStep>;

struct RebalanceState {
    std::optional<base::Instant> due;  ///< of the next question; none: nothing is to be asked
    std::shared_ptr<const routing::RouteOutcome> tables;  ///< that all below is about
    std::uint32_t question = 0;                           ///< the last one; answers to others are of the past
    bool asked = false;                                   ///< its answer is under way
    std::optional<routing::RebalanceStep> ready;          ///< to be written
    std::shared_ptr<const routing::RebalancePlan> plan;   ///< for the tables now in force
    std::uint64_t steps = 0;                              ///< of the re-balance under way
    std::uint64_t blocks = 0;                             ///< written in them
    bool ring_told = false;                               ///< that old and new tables of a step have one
    std::shared_ptr<const fabric::DriftReport> report;    ///< null: nothing measured yet

    /// Nothing known, nothing under way; the answer to a question of before is of the past.
    [[nodiscard]] RebalanceState anew() const {
        RebalanceState fresh;
        fresh.question = question + 1;
        return fresh;
    }
};

}  // namespace ibf::sm
