#include "routing/text_assembler.hpp"

#include <gtest/gtest.h>

#include <string>

namespace ibf::routing {
namespace {

NetlistNode named(std::uint64_t guid) {
    NetlistNode node;
    node.type = mad::NodeType::switch_;
    node.guid = mad::Guid{guid};
    node.id = std::to_string(guid);
    return node;
}

TEST(TextAssembler, GivesIndicesAndFindsNodes) {
    TextAssembler assembler("t");
    EXPECT_EQ(assembler.add_node(named(1), 4, 1), 0U);
    EXPECT_EQ(assembler.add_node(named(2), 4, 2), 1U);
    EXPECT_FALSE(assembler.add_node(named(2), 4, 3));
    EXPECT_FALSE(assembler.add_node(named(3), 0, 4));
    EXPECT_FALSE(assembler.add_node(named(3), 255, 4));
    EXPECT_EQ(assembler.find("2"), 1U);
    EXPECT_EQ(assembler.find(mad::Guid{1}), 0U);
    EXPECT_FALSE(assembler.find("3"));
}

TEST(TextAssembler, BothEndsOfACableAgree) {
    TextAssembler assembler("t");
    ASSERT_TRUE(assembler.add_node(named(1), 4, 1));
    ASSERT_TRUE(assembler.add_node(named(2), 4, 2));
    ASSERT_TRUE(assembler.state({0, 1, 1, 2, 3, mad::LinkWidth::x2, mad::LinkSpeed::hdr}));
    ASSERT_TRUE(assembler.state({1, 2, 0, 1, 4, mad::LinkWidth::x4, mad::LinkSpeed::none}));
    ASSERT_TRUE(assembler.state_both({0, 3, 1, 3, 5, mad::LinkWidth::none, mad::LinkSpeed::none}));
    EXPECT_FALSE(assembler.state({0, 5, 1, 4, 6, mad::LinkWidth::none, mad::LinkSpeed::none}));
    EXPECT_FALSE(assembler.state({0, 1, 1, 4, 7, mad::LinkWidth::none, mad::LinkSpeed::none}));
    const auto netlist = assembler.finish();
    ASSERT_TRUE(netlist) << netlist.error().message;
    EXPECT_EQ(netlist->link_count(), 2U);
    EXPECT_TRUE(netlist->warnings.empty());
    for (const NetlistPort* port : {&netlist->nodes[0].ports[1], &netlist->nodes[1].ports[2]}) {
        EXPECT_EQ(port->width, mad::LinkWidth::x2) << "the narrower one";
        EXPECT_EQ(port->speed, mad::LinkSpeed::hdr) << "the one that is stated";
    }
}

}  // namespace
}  // namespace ibf::routing
