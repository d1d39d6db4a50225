#include <gtest/gtest.h>

#include "harness.hpp"

namespace ibf::test {
namespace {

using mad::Attribute;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr mad::Mlid kMlid{0xC001};

LabOptions at_h1() {
    LabOptions options;
    options.at = "h1";
    return options;
}

sm::GroupMember member(const Lab& lab, const std::string& name) {
    return {mad::Guid{lab.sim.netlist().nodes[lab.node(name)].guid.value() + 1}, true};
}

TEST(Groups, AJoinWritesMulticastTablesAndNothingElse) {
    Lab lab(t2(), at_h1());
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

TEST(Groups, ATreeFollowsTheFabric) {
    Lab lab(t2(), at_h1());
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
    Lab lab(t2(), at_h1());
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

}  // namespace
}  // namespace ibf::test
