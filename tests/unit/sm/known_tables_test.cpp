// What is not believed of a switch's table although it was once acknowledged.
#include <gtest/gtest.h>

#include "harness.hpp"
#include "mad/codec.hpp"

namespace ibf::test {
namespace {

using mad::Attribute;
using mad::PortNum;
using std::chrono::seconds;

/// T2, set up.
class KnownTables : public ::testing::Test {
protected:
    KnownTables() : lab(t2(), at("h1")) {
        lab.start();
        EXPECT_TRUE(lab.run_until_up(seconds{5}));
    }
    Lab lab;
};

void swap_lids(Lab& lab, std::uint32_t a, std::uint32_t b) {
    mad::PortInfo first = lab.sim.port_info(a, PortNum{0});
    mad::PortInfo second = lab.sim.port_info(b, PortNum{0});
    std::swap(first.lid, second.lid);
    lab.sim.set_port_info(a, PortNum{0}, first);
    lab.sim.set_port_info(b, PortNum{0}, second);
}

// A switch that was reset before our tables came holds them behind a LinearFDBTop of 0. Raised, it would
// bring them into force, whatever the others hold by then.
TEST_F(KnownTables, ATableWrittenAfterAResetIsEmptiedFirst) {
    const std::uint32_t spine = lab.node("spine1");
    mad::SwitchInfo info = lab.sim.switch_info(spine);
    info.linear_fdb_top = 0;
    lab.sim.set_switch_info(spine, info);
    mad::PortInfo port = lab.sim.port_info(spine, PortNum{0});
    port.lid = port.sm_lid = mad::kLidNone;
    lab.sim.set_port_info(spine, PortNum{0}, port);
    std::vector<mad::LftBlock> written;
    lab.on_mad = [&](base::Instant, std::uint32_t node, const mad::Smp& request, mad::MadStatus) {
        if (node == spine && request.header.attribute == Attribute::linear_forwarding_table) {
            written.push_back(mad::decode_lft(request.data));
        }
    };
    lab.request_sweep(sm::SweepScope::full);
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    ASSERT_EQ(written.size(), 2U);
    mad::LftBlock empty;
    empty.ports.fill(mad::kLftDrop);
    EXPECT_EQ(written[0], empty);
    EXPECT_NE(written[1], empty);
    EXPECT_EQ(wrong(lab), "");
}

// Two switches that exchanged their places, and the LIDs of their GUIDs with them: each is known, and neither
// holds what is known of it.
TEST_F(KnownTables, ASwitchElsewhereIsReadAnew) {
    const std::uint32_t a = lab.node("spine1");
    const std::uint32_t b = lab.node("leaf2");
    const auto& nodes = lab.sim.netlist().nodes;
    lab.inject("link-down spine1\nlink-down leaf2");
    lab.sim.set_node_guid(a, nodes[b].guid);
    lab.sim.set_node_guid(b, nodes[a].guid);
    swap_lids(lab, a, b);
    lab.forget_counts();
    lab.inject("link-up spine1\nlink-up leaf2");
    lab.advance(seconds{60});
    EXPECT_GE(lab.gets(Attribute::linear_forwarding_table), 2U);
    EXPECT_EQ(wrong(lab), "");
}

// Looks that saw only our own port say nothing of the switches that come back with the cable.
TEST_F(KnownTables, OurOwnCableIsNoReasonToReadAnything) {
    lab.inject("link-down h1/1");
    lab.advance(seconds{30});
    EXPECT_EQ(lab.sm->mode(), fabric::SmMode::port_down);
    lab.forget_counts();
    lab.inject("link-up h1/1");
    ASSERT_TRUE(lab.run_until_up(seconds{30}));
    EXPECT_EQ(lab.gets(Attribute::linear_forwarding_table), 0U);
    EXPECT_EQ(wrong(lab), "");
}

// The whole of the row is not needed to know a switch again: one cable is.
TEST_F(KnownTables, ASwitchThatKeepsACableIsNotReadAgain) {
    lab.inject("link-down spine1/1");
    lab.advance(seconds{5});
    lab.forget_counts();
    lab.request_sweep(sm::SweepScope::full);
    lab.inject("link-up spine1/1");
    lab.advance(seconds{60});
    EXPECT_EQ(lab.gets(Attribute::linear_forwarding_table), 0U);
    EXPECT_EQ(wrong(lab), "");
}

}  // namespace
}  // namespace ibf::test
