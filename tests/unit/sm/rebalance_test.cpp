// Tables are re-balanced after a while of quiet, a few blocks a second, and not a moment longer than needed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "harness.hpp"

namespace ibf::test {
namespace {

using std::chrono::seconds;

constexpr const char* kSpineDown =
    "link-down leaf1/5\nlink-down leaf2/5\nlink-down leaf3/5\nlink-down leaf4/5";
constexpr const char* kSpineUp = "link-up leaf1/5\nlink-up leaf2/5\nlink-up leaf3/5\nlink-up leaf4/5";

/// Four leaves with four hosts each, two spines. A spine that went and came back is not used: the other one
/// carries twice what it would.
class Rebalance : public ::testing::Test {
protected:
    static LabOptions options(std::uint32_t blocks) {
        LabOptions options;
        options.at = "h1";
        options.config.routing.engines = {"ftree"};
        options.config.rebalance_blocks = blocks;
        return options;
    }
    void begin(std::uint32_t blocks) {
        lab = std::make_unique<Lab>(leaf_spine(4, 2, 4, mad::LinkSpeed::edr), options(blocks));
        lab->start();
        ASSERT_TRUE(lab->run_until_up(seconds{5}));
        lab->advance(seconds{5});
        fresh = lab->tables_text();
        lab->inject(kSpineDown);
        lab->advance(seconds{15});
        lab->inject(kSpineUp);
        lab->advance(seconds{15});
        ASSERT_NE(lab->tables_text(), fresh);
        lab->watch_loops();
        lab->forget_counts();
    }
    [[nodiscard]] std::uint64_t blocks_written() const {
        return lab->sets(mad::Attribute::linear_forwarding_table);
    }
    [[nodiscard]] bool run_until_event(const std::string& kind, base::Duration limit) const {
        return lab->run_until([&] { return lab->events(kind) > 0; }, limit);
    }
    [[nodiscard]] std::string drift_text() const { return lab->snapshot().drift->text; }

    std::unique_ptr<Lab> lab;
    std::string fresh;
};

TEST_F(Rebalance, A_spine_that_came_back_is_used_again_after_a_minute_of_quiet) {
    begin(2);
    lab->advance(seconds{30});
    EXPECT_EQ(blocks_written(), 0U) << "it has not been quiet for long enough";
    ASSERT_TRUE(run_until_event("rebalance-started", seconds{60}));
    EXPECT_NE(lab->find_event("rebalance-started")->text.find("2.00 times"), std::string::npos)
        << lab->find_event("rebalance-started")->text;
    std::uint64_t before = blocks_written();
    for (int second = 0; second < 20; ++second) {
        lab->advance(seconds{1});
        EXPECT_LE(blocks_written() - before, 2U) << "in one second";
        before = blocks_written();
    }
    EXPECT_EQ(blocks_written(), 4U) << "one block of each leaf";
    EXPECT_EQ(lab->events("rebalance-ended"), 1U);
    EXPECT_NE(lab->find_event("rebalance-ended")->text.find("4 block(s) in 2 step(s)"), std::string::npos)
        << lab->find_event("rebalance-ended")->text;
    EXPECT_EQ(lab->tables_text(), fresh);
    EXPECT_EQ(wrong(*lab), "");
    EXPECT_TRUE(lab->loops().empty()) << join_lines(lab->loops());
    EXPECT_EQ(lab->snapshot().drift->drift->worst, 1.0);
    lab->advance(seconds{300});
    EXPECT_EQ(blocks_written(), 4U) << "and nothing more";
    EXPECT_EQ(lab->sweeps("full"), 0U) << "steps are no sweeps";
}

TEST_F(Rebalance, Without_blocks_to_move_drift_is_told_and_nothing_else) {
    begin(0);
    lab->advance(seconds{300});
    EXPECT_EQ(blocks_written(), 0U);
    EXPECT_EQ(lab->events("rebalance-started"), 0U);
    EXPECT_EQ(lab->events("rebalance-ended"), 0U);
    ASSERT_NE(lab->snapshot().drift, nullptr);
    EXPECT_EQ(lab->snapshot().drift->drift->worst, 2.0);
    EXPECT_GT(lab->snapshot().drift->drift->idle_links, 0U);
    EXPECT_NE(drift_text().find("2.00 times"), std::string::npos) << drift_text();
}

TEST_F(Rebalance, Within_the_limit_nothing_is_moved) {
    lab = std::make_unique<Lab>(leaf_spine(4, 2, 4, mad::LinkSpeed::edr), options(64));
    lab->start();
    ASSERT_TRUE(lab->run_until_up(seconds{5}));
    lab->advance(seconds{5});
    lab->forget_counts();
    lab->advance(seconds{300});
    EXPECT_EQ(blocks_written(), 0U);
    EXPECT_EQ(lab->events("rebalance-started"), 0U);
    ASSERT_NE(lab->snapshot().drift, nullptr);
    EXPECT_EQ(lab->snapshot().drift->drift->worst, 1.0);
}

TEST_F(Rebalance, A_fabric_that_is_never_quiet_is_left_alone) {
    begin(2);
    for (int i = 0; i < 10; ++i) {
        lab->inject(i % 2 == 0 ? "link-down leaf4/6" : "link-up leaf4/6");
        lab->advance(seconds{40});
    }
    EXPECT_EQ(lab->events("rebalance-started"), 0U);
    lab->advance(seconds{40});
    EXPECT_EQ(lab->events("rebalance-started"), 1U);
}

TEST_F(Rebalance, A_link_lost_half_way_ends_it_and_the_rest_follows_after_quiet) {
    begin(1);
    ASSERT_TRUE(run_until_event("rebalance-started", seconds{90}));
    lab->advance(std::chrono::milliseconds{1500});
    EXPECT_EQ(blocks_written(), 2U);
    lab->inject("link-down leaf4/6");
    lab->advance(seconds{15});
    EXPECT_EQ(lab->events("rebalance-ended"), 1U);
    EXPECT_NE(lab->find_event("rebalance-ended")->text.find("set up anew"), std::string::npos)
        << lab->find_event("rebalance-ended")->text;
    EXPECT_EQ(wrong(*lab), "");
    const std::uint64_t written = blocks_written();
    lab->advance(seconds{30});
    EXPECT_EQ(blocks_written(), written) << "quiet has to come back first";
    lab->inject("link-up leaf4/6");
    lab->advance(seconds{150});
    EXPECT_EQ(lab->tables_text(), fresh);
    EXPECT_EQ(wrong(*lab), "");
    EXPECT_TRUE(lab->loops().empty()) << join_lines(lab->loops());
}

TEST_F(Rebalance, A_switch_that_refuses_a_block_brings_a_sweep) {
    begin(2);
    lab->inject("error-status leaf2 attr=LinearForwardingTable method=Set");
    ASSERT_TRUE(run_until_event("setup-failed", seconds{90}));
    lab->advance(seconds{5});
    EXPECT_GT(lab->sweeps("full"), 0U);
    EXPECT_EQ(lab->events("rebalance-ended"), 1U);
}

// Tables are another one's from then on, and what was measured of them says nothing any more.
TEST_F(Rebalance, Who_loses_mastership_forgets_it) {
    begin(1);
    ASSERT_TRUE(run_until_event("rebalance-started", seconds{90}));
    ASSERT_TRUE(lab->snapshot().drift);
    LabOptions higher = at("h16");
    higher.config.priority = 15;
    higher.config.rebalance_blocks = 0;
    Lab other(*lab, higher);
    other.start();
    ASSERT_TRUE(lab->run_until([&] { return lab->sm->role() == sm::Role::standby; }, seconds{60}));
    EXPECT_FALSE(lab->snapshot().drift);
    other.kill();
    lab->forget_counts();
    ASSERT_TRUE(lab->run_until([&] { return lab->sm->role() == sm::Role::master; }, seconds{60}));
    lab->advance(seconds{30});
    EXPECT_EQ(lab->events("rebalance-ended"), 0U) << "it had ended with its time as master";
}

// The SLs of layered tables change with nearly every step, so old and new ones have a ring: told once.
TEST(RebalanceOfLayers, A_ring_of_the_tables_before_and_after_a_step_is_told_once) {
    LabOptions options;
    options.config.routing.engines = {"dfsssp"};
    options.config.rebalance_blocks = 1;
    Lab lab(netlist("torus:4x4,hosts=4"), options);
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    std::vector<std::string> cables;
    for (const routing::NetlistNode& node : lab.sim.netlist().nodes) {
        if (node.type == mad::NodeType::switch_) {
            cables.push_back(fmt::format("\"{}/1\"", node.id));
        }
    }
    for (const std::string& cable : cables) {
        lab.inject("link-down " + cable);
        lab.advance(seconds{20});
        lab.inject("link-up " + cable);
        lab.advance(seconds{20});
    }
    lab.announced.clear();
    ASSERT_TRUE(lab.run_until([&] { return lab.events("rebalance-ended") > 0; }, seconds{900}));
    EXPECT_NE(lab.find_event("rebalance-ended")->text.find("step(s)"), std::string::npos);
    EXPECT_EQ(lab.find_event("rebalance-ended")->text.find(" 1 step(s)"), std::string::npos);
    EXPECT_EQ(lab.events("credit-cycle-in-transit"), 1U);
    EXPECT_EQ(wrong(lab), "");
}

}  // namespace
}  // namespace ibf::test
