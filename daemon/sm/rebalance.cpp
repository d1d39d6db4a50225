// Re-balancing between sweeps: quiet, question, answer, a run that writes a few blocks, and again.
#include "daemon/sm/rebalance.hpp"

#include "daemon/sm/subnet_manager.hpp"

namespace ibf::sm {
namespace {

using Severity = fabric::EventRecord::Severity;

/// Between two steps: traffic settles on the new paths, and whatever else wants the wire has it.
constexpr base::Duration kPause = std::chrono::seconds{1};

std::string blocks_text(const RebalanceState& state) {
    return fmt::format("{} block(s) in {} step(s)", state.blocks, state.steps);
}

}  // namespace

/// A sweep has set the fabric up. With other routes, what was under way was for other tables; with the same,
/// it goes on: hosts come and go all day.
void SubnetManager::await_quiet(base::Instant now, Effects& out) {
    if (rebalance_.tables == routes_) {
        return;
    }
    if (rebalance_.steps > 0) {
        announce(Severity::info, "rebalance-ended",
                 fmt::format("the fabric was set up anew: re-balancing ends after {}, and is looked at again "
                             "when it has been quiet for {}",
                             blocks_text(rebalance_), base::format_duration(config_->rebalance_quiet)),
                 {}, {}, now, out);
    }
    rebalance_ = rebalance_.anew();
    rebalance_.due = now + config_->rebalance_quiet;
    rebalance_.tables = routes_;
}

std::optional<base::Instant> SubnetManager::rebalance_due() const {
    const bool may =
        may_touch_settled() && pending_.empty() && in_force_known_ && routes_ && routes_for_ == view_;
    return may ? rebalance_.due : std::nullopt;
}

/// True if a run began.
bool SubnetManager::go_on_balancing(base::Instant now, Effects& out) {
    const auto due = rebalance_due();
    if (due && now >= *due) {
        ask_rebalance(out);
    }
    if (!rebalance_.ready || !may_touch_settled() || !pending_.empty() || routes_for_ != view_) {
        return false;
    }
    start_rebalance(now, out);
    return true;
}

void SubnetManager::ask_rebalance(Effects& out) {
    rebalance_.due.reset();
    rebalance_.asked = true;
    routing::RouteOptions options = *route_options_;
    options.threads = 1;  // nobody waits for it, and a loss may want the other cores
    const routing::RebalanceLimits limits{1 + config_->drift_max / 100.0, config_->rebalance_blocks};
    out.emplace_back(
        Rebalance{++rebalance_.question, routed_, routes_, rebalance_.plan, std::move(options), limits});
}

void SubnetManager::on_rebalance(std::uint32_t question, RebalanceResult result, base::Instant now,
                                 Effects& out) {
    if (!rebalance_.asked || question != rebalance_.question) {
        return;
    }
    rebalance_.asked = false;
    if (!result) {
        report_drift({std::nullopt, 1, fmt::format("not measured: {}", result.error().message)});
        return;
    }
    routing::RebalanceStep& step = *result;
    rebalance_.plan = step.next ? step.plan : nullptr;  // fresh tables are as large as those in force
    tell_drift(step);
    if (step.next) {
        if (rebalance_.steps == 0) {
            announce(Severity::info, "rebalance-started",
                     fmt::format("{}: tables are re-balanced, {} blocks at a time", drift_text(step.drift),
                                 config_->rebalance_blocks),
                     {}, {}, now, out);
        }
        rebalance_.ready = std::move(step);
    } else if (!step.stopped.empty()) {
        end_balancing(Severity::warning, step.stopped, now, out);
    } else if (rebalance_.steps > 0) {
        end_balancing(Severity::info, drift_text(step.drift), now, out);
    }
    run(now, out);
}

void SubnetManager::end_balancing(Severity severity, const std::string& why, base::Instant now,
                                  Effects& out) {
    announce(severity, "rebalance-ended",
             fmt::format("{}: re-balancing ends after {}", why, blocks_text(rebalance_)), {}, {}, now, out);
    rebalance_.steps = 0;
    rebalance_.ring_told = false;
    rebalance_.blocks = 0;
    rebalance_.plan.reset();
}

std::string SubnetManager::drift_text(const routing::Drift& drift) {
    if (drift.level.empty()) {
        return "the tables are as fresh ones would be";
    }
    return fmt::format(
        "the busiest link {} carries {:.2f} times what it would with fresh tables ({} paths, "
        "{}); {} link(s) idle that fresh tables use",
        drift.level, drift.worst, drift.in_force, drift.fresh, drift.idle_links);
}

void SubnetManager::tell_drift(const routing::RebalanceStep& step) {
    std::string text = drift_text(step.drift);
    if (step.next) {
        text += fmt::format("; being re-balanced: {} written, {} block(s) to go at most",
                            blocks_text(rebalance_), step.moved + step.left);
    } else if (!step.stopped.empty()) {
        text += fmt::format("; not re-balanced: {}", step.stopped);
    }
    report_drift({step.drift, 1 + config_->drift_max / 100.0, std::move(text)});
}

void SubnetManager::report_drift(fabric::DriftReport report) {
    rebalance_.report = std::make_shared<const fabric::DriftReport>(std::move(report));
    ++version_;
}

void SubnetManager::start_rebalance(base::Instant now, Effects& out) {
    routing::RebalanceStep step = std::move(*rebalance_.ready);
    rebalance_.ready.reset();
    ++rebalance_.steps;
    rebalance_.blocks += step.moved;
    step.next->attempts = routes_->attempts;  // why this engine serves is still so
    routes_ = std::make_shared<const routing::RouteOutcome>(std::move(*step.next));
    rebalance_.tables = routes_;
    if (!routes_->verdict.transit_loop.empty() && !std::exchange(rebalance_.ring_told, true)) {
        announce_ring(routes_->verdict, now, out);  // once: a step is like the one before
    }
    out.emplace_back(
        Progress{fmt::format("re-balance: {}, {} to go at most", blocks_text(rebalance_), step.left)});
    ProgramInput input = begin_short_run(RunScope::tables, now);
    add_tables(input);
    phase_.emplace<Programmer>(std::move(input));
}

void SubnetManager::end_rebalance(const Programmer& done, base::Instant now, Effects& out) {
    keep_tables(done.rows_in_force(), out);
    keep_lanes(done, now, out);
    tell_failures(done, now, out);
    end_short_run();
    if (!done.failures().empty()) {
        end_balancing(Severity::warning, "a switch did not take its blocks", now, out);
        rebalance_.due = now + config_->rebalance_quiet;
        retry_later("tables of a re-balance were not taken", now);
    } else {
        rebalance_.due = now + kPause;
    }
}

}  // namespace ibf::sm
