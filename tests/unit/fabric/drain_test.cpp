// Drained elements as a fabric shows them: there, away, or with another switch in their place.
#include "daemon/fabric/drain.hpp"

#include <gtest/gtest.h>

#include "tests/unit/fabric_from_netlist.hpp"

namespace ibf::fabric {
namespace {

class DrainTest : public ::testing::Test {
protected:
    void SetUp() override {
        fabric_ = *test::snapshot_of_spec("fat-tree:radix=4,levels=2").fabric;
        for (std::uint32_t n = 0; n < fabric_.nodes.size(); ++n) {
            if (fabric_.nodes[n].description == "spine-001") {
                spine_ = n;
            }
        }
        ASSERT_NE(spine_, kNoNode);
        whole_ = {fabric_.nodes[spine_].guid(), mad::PortNum{0}, "spine-001", {}, false, {}};
        whole_.cables = cables_of(fabric_, whole_);
        cable_ = {fabric_.nodes[spine_].guid(), mad::PortNum{2}, "spine-001", {}, false, {}};
        cable_.cables = cables_of(fabric_, cable_);
    }

    Fabric fabric_;
    std::uint32_t spine_ = kNoNode;
    Drain whole_;
    Drain cable_;
};

TEST_F(DrainTest, KnowsItsCablesToSwitches) {
    EXPECT_EQ(whole_.cables.size(), 4U);
    ASSERT_EQ(cable_.cables.size(), 1U);
    EXPECT_EQ(cable_.cables[0].port, mad::PortNum{2});
    const PortRef peer = fabric_.nodes[spine_].ports[2].peer;
    EXPECT_EQ(cable_.cables[0].peer, fabric_.nodes[peer.node].guid());
    EXPECT_EQ(cable_.cables[0].peer_port, peer.port);
}

TEST_F(DrainTest, IsHereWhileItIs) {
    EXPECT_TRUE(look_for(fabric_, whole_).here);
    EXPECT_TRUE(look_for(fabric_, cable_).here);
    EXPECT_FALSE(look_for(fabric_, whole_).substitute);
    fabric_.nodes[spine_].ports[2].peer = {};
    EXPECT_TRUE(look_for(fabric_, whole_).here);
    EXPECT_FALSE(look_for(fabric_, cable_).here) << "pulled";
    EXPECT_FALSE(look_for(fabric_, cable_).substitute);
}

TEST_F(DrainTest, ASubstituteIsWhoIsAtTheFarEndOfItsCables) {
    fabric_.nodes[spine_].info.node_guid = mad::Guid{0xABC};
    const DrainSight sight = look_for(fabric_, whole_);
    EXPECT_FALSE(sight.here);
    ASSERT_TRUE(sight.substitute);
    EXPECT_EQ(sight.substitute->guid, mad::Guid{0xABC});
    EXPECT_EQ(sight.substitute->at, whole_.cables[0]);
    ASSERT_TRUE(look_for(fabric_, cable_).substitute) << "the far end of the cable leads to a stranger";
}

TEST_F(DrainTest, AwayIsNotSwapped) {
    const mad::Guid guid = fabric_.nodes[spine_].guid();
    for (Node& node : fabric_.nodes) {
        for (Port& port : node.ports) {
            port.peer = port.peer.node == spine_ ? PortRef{} : port.peer;
        }
    }
    fabric_.nodes[spine_].info.node_guid = mad::Guid{guid.value() + 0x1000};
    const DrainSight sight = look_for(fabric_, whole_);
    EXPECT_FALSE(sight.here);
    EXPECT_FALSE(sight.substitute);
}

TEST_F(DrainTest, NamesAndSets) {
    EXPECT_EQ(to_string(whole_), fmt::format("'spine-001' {}", whole_.node));
    EXPECT_EQ(to_string(cable_), fmt::format("'spine-001' {} port 2", whole_.node));
    const Drains drains{{whole_, cable_}, elements_of({whole_})};
    EXPECT_TRUE(drains.heeds(whole_));
    EXPECT_FALSE(drains.heeds(cable_)) << "an element of its own";
}

}  // namespace
}  // namespace ibf::fabric
