#include <gtest/gtest.h>

#include "harness.hpp"

namespace ibf::test {
namespace {

using mad::Attribute;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr mad::Mlid kMlid{0xC001};

sm::GroupMember member(const Lab& lab, const std::string& name) {
    return {mad::Guid{lab.sim.netlist().nodes[lab.node(name)].guid.value() + 1}, true};
}

TEST(Groups, AJoinWritesMulticastTablesAndNothingElse) {
    Lab lab(t2(), at("h1"));
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    lab.advance(seconds{15});
    lab.forget_counts();
    const std::uint64_t settled = lab.sm->settled_sweeps();
    lab.set_groups({{kMlid, {member(lab, "h1"), member(lab, "h5")}}});
    lab.advance(milliseconds{100});
    EXPECT_EQ(lab.sets(Attribute::multicast_forwarding_table), 3U) << "two leaves and the spine between them";
    EXPECT_EQ(lab.sets(Attribute::linear_forwarding_table), 0U);
    EXPECT_EQ(lab.sets(Attribute::port_info), 0U);
    EXPECT_EQ(lab.sweeps("full"), 0U);
    EXPECT_EQ(lab.sm->settled_sweeps(), settled) << "a join is no new fabric: proxy limits go on counting";

    lab.forget_counts();
    lab.set_groups({{kMlid, {member(lab, "h1"), member(lab, "h5"), member(lab, "h6")}}});
    lab.advance(milliseconds{100});
    EXPECT_EQ(lab.sets(Attribute::multicast_forwarding_table), 1U) << "a further host on a leaf of the tree";

    lab.forget_counts();
    lab.set_groups({});
    lab.advance(milliseconds{100});
    EXPECT_EQ(lab.sets(Attribute::multicast_forwarding_table), 3U) << "emptied";
}

// Who joins while a sweep is writing was told that it is in: its tree comes with no further prompting.
TEST(Groups, AJoinInMidProgrammingIsNotForgotten) {
    for (const char* phase : {"program", "activate"}) {
        Lab lab(t2(), at("h1"));
        lab.start();
        ASSERT_TRUE(lab.run_until(
            [&] {
                const auto& sets = phase == std::string("program") ? Attribute::linear_forwarding_table
                                                                   : Attribute::port_info;
                return lab.sets(sets) > (sets == Attribute::port_info ? 12U : 1U);
            },
            seconds{5}));
        ASSERT_NE(lab.snapshot().mode, fabric::SmMode::up) << phase;
        ASSERT_EQ(lab.sets(Attribute::multicast_forwarding_table), 0U);
        lab.set_groups({{kMlid, {member(lab, "h1"), member(lab, "h5")}}});
        ASSERT_TRUE(lab.run_until_up(seconds{5}));
        lab.advance(seconds{2});
        EXPECT_EQ(lab.sets(Attribute::multicast_forwarding_table), 3U) << phase;
    }
}

TEST(Groups, ATreeFollowsTheFabric) {
    Lab lab(t2(), at("h1"));
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    lab.set_groups({{kMlid, {member(lab, "h1"), member(lab, "h5")}}});
    lab.advance(seconds{15});
    lab.forget_counts();
    // Whichever spine carries the tree, one of the two cables of leaf1 is it.
    lab.inject("link-down leaf1/5");
    lab.advance(seconds{5});
    lab.inject("link-up leaf1/5\nlink-down leaf1/6");
    lab.advance(seconds{5});
    EXPECT_GT(lab.sets(Attribute::multicast_forwarding_table), 2U);
}

// A restart that knows the members finds the tables as they should be: it reads them and writes none.
TEST(Groups, ARestartWithTheSameMembersWritesNoTable) {
    Lab lab(t2(), at("h1"));
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    const sm::MulticastGroups groups{{kMlid, {member(lab, "h1"), member(lab, "h5"), member(lab, "h7")}}};
    lab.set_groups(groups);
    lab.advance(seconds{15});
    lab.kill();
    lab.forget_counts();
    lab.start();
    lab.set_groups(groups);
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    lab.advance(seconds{15});
    EXPECT_EQ(lab.sets(Attribute::multicast_forwarding_table), 0U);
    EXPECT_GT(lab.gets(Attribute::multicast_forwarding_table), 0U);

    // A member that left meanwhile is taken out.
    lab.kill();
    lab.forget_counts();
    lab.start();
    lab.set_groups({{kMlid, {member(lab, "h1"), member(lab, "h5")}}});
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    lab.advance(seconds{15});
    EXPECT_GT(lab.sets(Attribute::multicast_forwarding_table), 0U);
}

// A member whose port was gone gets the group's packets when it is back, without a new join.
TEST(Groups, AMemberThatComesBackIsOnTheTreeAgain) {
    Lab lab(t2(), at("h1"));
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    lab.set_groups({{kMlid, {member(lab, "h1"), member(lab, "h5")}}});
    lab.advance(seconds{15});
    const mad::Guid leaf2 = lab.sim.netlist().nodes[lab.node("leaf2")].guid;
    const auto reaches_h5 = [&] {
        const auto tables = lab.snapshot().multicast;
        const auto row = tables->find(leaf2);
        return row != tables->end() && row->second.contains(kMlid.value()) &&
               row->second.at(kMlid.value()).test(1);
    };
    ASSERT_TRUE(reaches_h5());
    lab.inject("remove-node h5");
    lab.advance(seconds{15});
    EXPECT_FALSE(reaches_h5());
    lab.inject("add-node h5");
    lab.advance(seconds{15});
    EXPECT_TRUE(reaches_h5());
}

// C97: a switch whose table is smaller than what was given out takes what fits, and is not asked for more.
TEST(Groups, ASmallerTableIsNotWrittenBeyondItsEnd) {
    Lab lab(t2(), at("h1"));
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    constexpr mad::Mlid kBeyond{0xC000 + 0x2000};  // of the simulated switches' tables
    lab.set_groups(
        {{kMlid, {member(lab, "h1"), member(lab, "h5")}}, {kBeyond, {member(lab, "h1"), member(lab, "h5")}}});
    lab.advance(seconds{15});
    EXPECT_EQ(lab.events("setup-failed"), 0U);
    EXPECT_TRUE(lab.snapshot().multicast->begin()->second.contains(kMlid.value()));
    for (const auto& [guid, row] : *lab.snapshot().multicast) {
        EXPECT_FALSE(row.contains(kBeyond.value()));
    }
}

}  // namespace
}  // namespace ibf::test
