#include "routing/rebalance.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include <fmt/format.h>

namespace ibf::routing {

namespace {

constexpr std::size_t kEntries = mad::kLftBlockEntries;

/// False where both rows hold the same in a block, or neither holds it.
bool differs(const LftRow& a, const LftRow& b, std::size_t block) {
    const auto part = [block](const LftRow& row) {
        const auto from = static_cast<std::ptrdiff_t>(std::min(row.size(), block * kEntries));
        const auto to = static_cast<std::ptrdiff_t>(std::min(row.size(), (block + 1) * kEntries));
        return std::pair(row.begin() + from, row.begin() + to);
    };
    const auto [a_from, a_to] = part(a);
    const auto [b_from, b_to] = part(b);
    return !std::equal(a_from, a_to, b_from, b_to);
}

std::size_t block_count(const LftRow& row) {
    return (row.size() + kEntries - 1) / kEntries;
}

void for_each_difference(const Routes& a, const Routes& b,
                         const std::function<void(std::size_t at, std::size_t block)>& act) {
    for (std::size_t at = 0; at < std::min(a.rows.size(), b.rows.size()); ++at) {
        if (a.rows[at] == b.rows[at]) {
            continue;
        }
        const std::size_t blocks = std::max(block_count(*a.rows[at]), block_count(*b.rows[at]));
        for (std::size_t block = 0; block < blocks; ++block) {
            if (differs(*a.rows[at], *b.rows[at], block)) {
                act(at, block);
            }
        }
    }
}

/// By LID: somebody sends to it. Switches' own LIDs carry next to nothing.
std::vector<char> sent_to(const Topology& topology) {
    std::vector<char> sent(topology.max_lid + std::size_t{1}, 0);
    for (const TopologyEndPort& end : topology.end_ports) {
        for (std::uint32_t lid = end.lids.base.value(); lid != 0 && lid < end.lids.end(); ++lid) {
            sent[lid] = 1;
        }
    }
    return sent;
}

/// Ranks the columns that differ by what they take off ports which have more destinations than in the fresh
/// tables: each entry by as many as its port has too many, and the port that it goes to.
class ColumnRanker {
public:
    ColumnRanker(const Topology& topology, const Routes& in_force, const Routes& fresh)
        : in_force_(in_force), fresh_(fresh), sent_(sent_to(topology)), excess_(topology.switches.size()) {}

    [[nodiscard]] std::vector<std::uint16_t> run() {
        for_each_difference(in_force_, fresh_, [this](std::size_t at, std::size_t block) {
            for_each_entry(at, block, [&](std::uint8_t from, std::uint8_t to) {
                ++excess_[at][from];
                --excess_[at][to];
            });
        });
        for_each_difference(in_force_, fresh_, [this](std::size_t at, std::size_t block) {
            relief_.resize(std::max(relief_.size(), block + 1), {false, 0});
            relief_[block].first = true;
            for_each_entry(at, block, [&](std::uint8_t from, std::uint8_t to) {
                relief_[block].second += excess_[at][from] - excess_[at][to];
            });
        });
        std::vector<std::uint16_t> columns;
        for (std::size_t block = 0; block < relief_.size(); ++block) {
            if (relief_[block].first) {
                columns.push_back(static_cast<std::uint16_t>(block));
            }
        }
        std::stable_sort(columns.begin(), columns.end(), [this](std::uint16_t a, std::uint16_t b) {
            return relief_[a].second > relief_[b].second;
        });
        return columns;
    }

private:
    template <class Act>
    void for_each_entry(std::size_t at, std::size_t block, const Act& act) const {
        const LftRow& now = *in_force_.rows[at];
        const LftRow& then = *fresh_.rows[at];
        const std::size_t end = std::min({(block + 1) * kEntries, now.size(), then.size(), sent_.size()});
        for (std::size_t lid = block * kEntries; lid < end; ++lid) {
            if (now[lid] != then[lid] && sent_[lid] != 0) {
                act(now[lid], then[lid]);
            }
        }
    }

    const Routes& in_force_;
    const Routes& fresh_;
    std::vector<char> sent_;
    std::vector<std::array<std::int32_t, 256>> excess_;  ///< by switch and port: destinations too many
    std::vector<std::pair<bool, std::int64_t>> relief_;  ///< by block: it differs, what it relieves
};

base::Result<std::shared_ptr<const RebalancePlan>> make_plan(const Topology& topology, const Routes& in_force,
                                                             const RouteOptions& options) {
    base::Result<Routes> fresh = run_engine(in_force.engine, topology, nullptr, options);
    if (!fresh) {
        return tl::unexpected<base::Error>(fresh.error());
    }
    auto plan = std::make_shared<RebalancePlan>();
    plan->columns = ColumnRanker(topology, in_force, *fresh).run();
    if (!plan->columns.empty()) {
        plan->fresh_quality = measure_quality(topology, *fresh, options.threads);
    }
    plan->fresh = std::move(*fresh);
    return plan;
}

/// The tables in force with so many blocks of the fresh ones.
Routes moved_on(const Routes& in_force, const RebalancePlan& plan, std::uint32_t most) {
    Routes mixed = in_force;
    std::vector<std::shared_ptr<LftRow>> own(mixed.rows.size());
    std::uint32_t moved = 0;
    for (const std::uint16_t block : plan.columns) {
        for (std::size_t at = 0; at < own.size() && moved < most; ++at) {
            const LftRow& fresh = *plan.fresh.rows[at];
            if (!differs(*mixed.rows[at], fresh, block)) {
                continue;
            }
            if (own[at] == nullptr) {
                own[at] = std::make_shared<LftRow>(*mixed.rows[at]);
                mixed.rows[at] = own[at];
            }
            const std::size_t first = block * kEntries;
            const std::size_t end = std::min({first + kEntries, fresh.size(), own[at]->size()});
            for (std::size_t lid = first; lid < end; ++lid) {
                (*own[at])[lid] = fresh[lid];
            }
            ++moved;
        }
    }
    return mixed;
}

}  // namespace

std::uint64_t blocks_between(const Routes& a, const Routes& b) {
    std::uint64_t count = 0;
    for_each_difference(a, b, [&count](std::size_t, std::size_t) { ++count; });
    return count;
}

Drift drift_between(const Quality& in_force, const Quality& fresh) {
    Drift drift;
    drift.idle_links = in_force.unused_links - std::min(in_force.unused_links, fresh.unused_links);
    for (const LevelLoad& level : in_force.levels) {
        const auto same = std::find_if(fresh.levels.begin(), fresh.levels.end(),
                                       [&](const LevelLoad& other) { return other.level == level.level; });
        if (same == fresh.levels.end()) {
            continue;
        }
        const double least = std::max(fresh.mean_link_load, 1.0);
        const double ratio =
            std::max(static_cast<double>(level.max), least) / std::max(static_cast<double>(same->max), least);
        if (drift.level.empty() || ratio > drift.worst) {
            drift.worst = ratio;
            drift.level = level.level;
            drift.in_force = level.max;
            drift.fresh = same->max;
        }
    }
    return drift;
}

base::Result<RebalanceStep> rebalance_step(const Topology& topology, const Routes& in_force,
                                           std::shared_ptr<const RebalancePlan> plan,
                                           const RouteOptions& options, const RebalanceLimits& limits) {
    if (plan == nullptr) {
        base::Result<std::shared_ptr<const RebalancePlan>> made = make_plan(topology, in_force, options);
        if (!made) {
            return tl::unexpected<base::Error>(made.error());
        }
        plan = std::move(*made);
    }
    RebalanceStep step;
    step.left = blocks_between(in_force, plan->fresh);
    if (step.left == 0) {
        return step;
    }
    step.plan = plan;
    step.drift = drift_between(measure_quality(topology, in_force, options.threads), plan->fresh_quality);
    if (step.drift.worst <= limits.drift_max || limits.blocks_per_step == 0) {
        return step;
    }
    const Routes mixed = moved_on(in_force, *plan, limits.blocks_per_step);
    EngineTrial tried = try_engine(in_force.engine, topology, &mixed, options);
    if (!tried.attempt.refused_because.empty()) {
        step.stopped = tried.attempt.refused_because;
        return step;
    }
    tried.verdict.transit_loop = ring_in_transit(topology, tried, &in_force, in_force, options.threads);
    const std::uint64_t moved = blocks_between(in_force, tried.routes);
    const std::uint64_t left = blocks_between(tried.routes, plan->fresh);
    if (moved > limits.blocks_per_step || left >= step.left) {
        step.stopped = fmt::format(
            "{} does not keep tables that are half fresh: it moved {} blocks instead "
            "of {}, and {} differ from fresh ones, {} before",
            in_force.engine, moved, limits.blocks_per_step, left, step.left);
        return step;
    }
    step.moved = moved;
    step.left = left;
    step.next = RouteOutcome{std::move(tried.routes), std::move(tried.verdict), {tried.attempt}};
    return step;
}

}  // namespace ibf::routing
