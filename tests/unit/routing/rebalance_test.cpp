// Drift of tables that keep what is legal, and its healing in steps.
#include "routing/rebalance.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "engine_fixtures.hpp"
#include "grid_fixtures.hpp"
#include "routing/mixture.hpp"

namespace ibf::routing::test {
namespace {

constexpr unsigned kEvents = 300;
constexpr RebalanceLimits kLimits{1.2, 10};

/// What 300 seeded losses and repairs of cables, one at a time and up to eight out, leave of the tables. At
/// the end all cables are back.
Routes after_a_history(const std::string& engine, const Topology& whole, std::uint64_t seed) {
    base::Prng prng(seed);
    const std::vector<SwitchCable> cables = switch_cables(whole);
    std::vector<SwitchCable> out;
    Routes routes = routes_of(engine, whole);
    for (unsigned event = 0; event < kEvents || !out.empty(); ++event) {
        const bool lose = event < kEvents && (out.empty() || (out.size() < 8 && prng.below(2) == 0));
        if (lose) {
            const SwitchCable cable = cables[prng.below(cables.size())];
            if (std::none_of(out.begin(), out.end(), [&](const SwitchCable& gone) {
                    return gone.at == cable.at && gone.port == cable.port;
                })) {
                out.push_back(cable);
            }
        } else {
            out.erase(out.begin() + static_cast<std::ptrdiff_t>(prng.below(out.size())));
        }
        Topology now = whole;
        for (const SwitchCable& cable : out) {
            now = without_cable(std::move(now), cable);
        }
        auto next = run_engine(engine, now, &routes, RouteOptions{});
        if (next) {  // lanes may not suffice for a moment; then the tables stay as they are
            routes = std::move(*next);
        }
    }
    auto last = run_engine(engine, whole, &routes, RouteOptions{});
    EXPECT_TRUE(last);
    return std::move(*last);
}

RebalanceStep step_of(const Topology& topology, const Routes& routes,
                      std::shared_ptr<const RebalancePlan> plan, const RebalanceLimits& limits) {
    auto step = rebalance_step(topology, routes, std::move(plan), RouteOptions{}, limits);
    EXPECT_TRUE(step) << (step ? "" : step.error().message);
    return step ? std::move(*step) : RebalanceStep{};
}

/// Heals to the end; every step is held against all that is promised of one. The number of steps.
unsigned heal(const Topology& topology, Routes& routes, const RebalanceLimits& limits) {
    std::shared_ptr<const RebalancePlan> plan;
    std::uint64_t left = ~std::uint64_t{0};
    for (unsigned steps = 0;; ++steps) {
        RebalanceStep step = step_of(topology, routes, plan, limits);
        if (!step.next || ::testing::Test::HasFailure()) {
            EXPECT_EQ(step.stopped, "");
            EXPECT_LE(step.drift.worst, limits.drift_max);
            return steps;
        }
        EXPECT_GT(step.drift.worst, limits.drift_max);
        EXPECT_LE(step.moved, limits.blocks_per_step);
        EXPECT_EQ(step.moved, blocks_between(routes, step.next->routes));
        EXPECT_LT(step.left, left);
        expect_safe(topology, step.next->routes);
        EXPECT_TRUE(step.next->verdict.reachable());
        EXPECT_TRUE(step.next->verdict.credit_loop_free);
        EXPECT_EQ(step.next->verdict.transit_loop.empty(),
                  mixed_ring(topology, routes, step.next->routes, 1).empty());
        left = step.left;
        plan = step.plan;
        routes = std::move(step.next->routes);
    }
}

struct Case {
    std::string engine;
    std::string spec;
};
const std::vector<Case> kCases{{"ftree", "fat-tree:radix=8,levels=3"},
                               {"updn", "fat-tree:radix=8,levels=3"},
                               {"minhop", "fat-tree:radix=12,levels=2"},
                               {"updn", "torus:4x4,hosts=4"},
                               {"dfsssp", "torus:4x4,hosts=4"}};

TEST(Rebalance, Heals_what_300_losses_and_repairs_left) {
    for (std::size_t i = 0; i < kCases.size(); i += kSeriesStep) {
        SCOPED_TRACE(kCases[i].engine + " " + kCases[i].spec);
        const Topology whole = generated(kCases[i].spec);
        Routes routes = after_a_history(kCases[i].engine, whole, i + 1);
        const Drift before = step_of(whole, routes, nullptr, {kLimits.drift_max, 0}).drift;
        EXPECT_GT(before.worst, kLimits.drift_max);
        const std::uint64_t off = blocks_between(routes, routes_of(kCases[i].engine, whole));
        const Routes drifted = routes;
        const unsigned steps = heal(whole, routes, kLimits);
        EXPECT_GT(steps, 0U);
        EXPECT_LE(blocks_between(drifted, routes), off);
    }
}

TEST(Rebalance, With_one_block_a_step_it_comes_as_far) {
    const Topology whole = generated("fat-tree:radix=8,levels=2");
    Routes routes = after_a_history("ftree", whole, 7);
    const std::uint64_t off = blocks_between(routes, routes_of("ftree", whole));
    const RebalanceLimits one{1.0, 1};
    EXPECT_GT(off, 1U);
    const unsigned steps = heal(whole, routes, one);
    EXPECT_GT(steps, 0U);
    EXPECT_LE(steps, off);
}

TEST(Rebalance, Moves_nothing_within_the_limit_nor_without_blocks_to_move) {
    const Topology whole = generated("fat-tree:radix=8,levels=3");
    const Routes fresh = routes_of("ftree", whole);
    const RebalanceStep none = step_of(whole, fresh, nullptr, {1.0, 64});
    EXPECT_FALSE(none.next);
    EXPECT_EQ(none.drift.worst, 1.0);
    EXPECT_EQ(none.left, 0U);

    const Routes drifted = after_a_history("ftree", whole, 1);
    const RebalanceStep measured = step_of(whole, drifted, nullptr, {1.2, 0});
    EXPECT_GT(measured.drift.worst, 1.2);
    EXPECT_FALSE(measured.next);
    EXPECT_EQ(measured.stopped, "");
    const RebalanceStep within = step_of(whole, drifted, nullptr, {measured.drift.worst, 64});
    EXPECT_FALSE(within.next);
    EXPECT_EQ(within.left, blocks_between(drifted, fresh));
}

TEST(Rebalance, Same_bytes_for_any_number_of_threads) {
    for (std::size_t i = 0; i < kCases.size(); i += kSeriesStep) {
        const Case& one = kCases[i];
        const Topology whole = generated(one.spec);
        const Routes drifted = after_a_history(one.engine, whole, 3);
        std::vector<std::uint64_t> hashes;
        for (const unsigned threads : {1U, 2U, 5U}) {
            RouteOptions options;
            options.threads = threads;
            const auto step = rebalance_step(whole, drifted, nullptr, options, {1.0, 40});
            ASSERT_TRUE(step);
            ASSERT_TRUE(step->next) << step->stopped;
            hashes.push_back(step->next->routes.hash());
        }
        EXPECT_EQ(hashes, std::vector<std::uint64_t>(3, hashes.front())) << one.engine << " " << one.spec;
    }
}

// The tables half way are previous tables like any other.
TEST(Rebalance, A_cable_lost_half_way_is_routed_around) {
    const Topology whole = generated("fat-tree:radix=8,levels=3");
    Routes routes = after_a_history("ftree", whole, 1);
    const RebalanceStep step = step_of(whole, routes, nullptr, {1.0, 20});
    ASSERT_TRUE(step.next);
    EXPECT_GT(step.left, 0U);
    const Topology cut = without_cable(whole, switch_cables(whole).front());
    const auto after = run_engine("ftree", cut, &step.next->routes, RouteOptions{});
    ASSERT_TRUE(after) << after.error().message;
    expect_safe(cut, *after);
    EXPECT_LT(blocks_between(step.next->routes, *after),
              blocks_between(step.next->routes, routes_of("ftree", cut)));
}

TEST(Rebalance, An_engine_without_fresh_tables_is_an_error) {
    const Topology whole = generated("torus:4x4,hosts=1");
    Routes routes = routes_of("updn", whole);
    routes.engine = "ftree";  // that refuses a torus
    const auto step = rebalance_step(whole, routes, nullptr, RouteOptions{}, kLimits);
    ASSERT_FALSE(step);
    EXPECT_NE(step.error().message.find("tree"), std::string::npos) << step.error().message;
}

TEST(Rebalance, Drift_is_that_of_the_worst_level_and_lightly_loaded_links_do_not_count) {
    Quality fresh;
    fresh.mean_link_load = 100;
    fresh.levels = {{"0->1 up", 8, 120, 100, 0}, {"1->0 down", 8, 200, 100, 0}, {"same", 2, 4, 2, 0}};
    fresh.unused_links = 3;
    Quality now = fresh;
    now.levels[0].max = 180;  // 1.5
    now.levels[1].max = 220;  // 1.1, although busier
    now.levels[2].max = 40;   // ten times, below the mean
    now.unused_links = 5;
    const Drift drift = drift_between(now, fresh);
    EXPECT_DOUBLE_EQ(drift.worst, 1.5);
    EXPECT_EQ(drift.level, "0->1 up");
    EXPECT_EQ(drift.in_force, 180U);
    EXPECT_EQ(drift.fresh, 120U);
    EXPECT_EQ(drift.idle_links, 2U);
    now.levels[2].max = 300;
    EXPECT_DOUBLE_EQ(drift_between(now, fresh).worst, 3.0);
}

TEST(Rebalance, Blocks_are_counted_one_by_one) {
    const Topology whole = generated("fat-tree:radix=8,levels=3");
    const Routes fresh = routes_of("ftree", whole);
    Routes other = fresh;
    auto row = std::make_shared<LftRow>(*other.rows[2]);
    (*row)[1] = static_cast<std::uint8_t>((*row)[1] ^ 1U);
    (*row)[3] = static_cast<std::uint8_t>((*row)[3] ^ 1U);
    (*row)[70] = static_cast<std::uint8_t>((*row)[70] ^ 1U);
    other.rows[2] = row;
    EXPECT_EQ(blocks_between(fresh, other), 2U);
}

}  // namespace
}  // namespace ibf::routing::test
