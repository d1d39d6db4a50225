// DOC: what the pure core wants done.
//
// Values, executed in order by the shell: what must come first is an ordering, not a flag. Each has a
// one-line text form: the scenario transcript, the debug log and the flight recorder.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "daemon/fabric/snapshot.hpp"
#include "db/records.hpp"
#include "mad/transport.hpp"
#include "routing/rebalance.hpp"
#include "routing/routes.hpp"

namespace ibf::sm {

struct SendMad {
    mad::WireMad mad;
};
/// Answered by the event RoutesReady with the same epoch.
struct ComputeRoutes {
    std::uint16_t epoch = 0;
    std::shared_ptr<const fabric::TopologyView> view;
    std::shared_ptr<const routing::Routes> previous;
    routing::RouteOptions options;
    std::shared_ptr<const routing::Routes> in_force;  ///< what switches hold; null: nothing is known of it
};
[[nodiscard]] base::Result<routing::RouteOutcome> carry_out(const ComputeRoutes& job);
/// Answered by the event RebalanceReady with the same question. Nobody waits for it.
struct Rebalance {
    std::uint32_t question = 0;
    std::shared_ptr<const fabric::TopologyView> view;
    std::shared_ptr<const routing::RouteOutcome> in_force;
    std::shared_ptr<const routing::RebalancePlan> plan;
    routing::RouteOptions options;
    routing::RebalanceLimits limits;
};
/// Posted to the database, never awaited.
struct Persist {
    db::Batch batch;
};
/// Clients are about to be told what will be in this edition of the SA's state: remembered before anything
/// that follows.
struct MarkEdition {
    std::uint64_t edition = 0;
    mad::Guid client{};  ///< whose port; 0: nobody's in particular
};
/// To the log (and, through the core, to the event list).
struct Announce {
    fabric::EventRecord event;
};
/// A line for whoever watches the bring-up; not kept.
struct Progress {
    std::string text;
};

using Effect = std::variant<SendMad, ComputeRoutes, Rebalance, Persist, MarkEdition, Announce, Progress>;
using Effects = std::vector<Effect>;

[[nodiscard]] std::string to_line(const Effect& effect);

}  // namespace ibf::sm
