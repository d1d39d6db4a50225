// Links below their capability, from the wire to the tables: told once, shared out or avoided as configured.
#include <gtest/gtest.h>

#include "harness.hpp"

namespace ibf::test {
namespace {

using mad::Attribute;
using routing::SlowLinks;
using std::chrono::seconds;

/// T2 of HDR ports, but for one cable that carries EDR: from port 5 of leaf1 to port 1 of spine1.
routing::Netlist t2_with_a_slow_uplink() {
    routing::Netlist net = leaf_spine(2, 2, 4, mad::LinkSpeed::hdr);
    for (routing::NetlistNode& node : net.nodes) {
        if (node.description == "leaf1") {
            routing::NetlistPort& uplink = node.ports[5];
            uplink.speed = mad::LinkSpeed::edr;
            net.nodes[*uplink.peer_node].ports[uplink.peer_port.value()].speed = mad::LinkSpeed::edr;
        }
    }
    return net;
}

sm::SmConfig configured(SlowLinks slow_links) {
    sm::SmConfig config;
    config.routing.preferences.slow_links = slow_links;
    return config;
}

/// How many of the hosts' LIDs a leaf sends by a port.
unsigned hosts_by(const Lab& lab, const std::string& leaf, std::uint8_t port) {
    unsigned count = 0;
    for (int host = 1; host <= 8; ++host) {
        const mad::Lid lid = lab.lid(lab.node("h" + std::to_string(host)), 1);
        count += lab.sim.lft_entry(lab.node(leaf), lid) == port ? 1U : 0U;
    }
    return count;
}

TEST(FieldCase, C72_a_link_at_half_rate_is_told_once_and_weighs_half) {
    LabOptions options = at("h1");
    options.config = configured(SlowLinks::weigh);
    Lab lab(t2_with_a_slow_uplink(), options);
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    EXPECT_EQ(wrong(lab), "");
    EXPECT_EQ(hosts_by(lab, "leaf1", 5), 1U);
    EXPECT_EQ(hosts_by(lab, "leaf1", 6), 3U);
    EXPECT_EQ(hosts_by(lab, "leaf2", 5), 1U) << "what comes down the slow link";
    lab.request_sweep(sm::SweepScope::full);
    lab.advance(seconds{60});
    ASSERT_EQ(lab.events("link-below-capability"), 1U);
    const fabric::EventRecord& event = *lab.find_event("link-below-capability");
    EXPECT_EQ(event.severity, fabric::EventRecord::Severity::warning);
    EXPECT_NE(event.text.find("'leaf1' "), std::string::npos) << event.text;
    EXPECT_NE(event.text.find(" port 5"), std::string::npos) << event.text;
    EXPECT_NE(event.text.find("'spine1' "), std::string::npos) << event.text;
    EXPECT_NE(event.text.find("runs at 4x EDR, both ends can do 4x HDR"), std::string::npos) << event.text;
}

TEST(SlowLinks, AreUsedLikeOthersUnlessToldOtherwise) {
    Lab lab(t2_with_a_slow_uplink(), at("h1"));
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    EXPECT_EQ(hosts_by(lab, "leaf1", 5), 2U);
    EXPECT_EQ(lab.events("link-below-capability"), 1U);

    Lab sound(t2(), at("h1"));
    sound.start();
    ASSERT_TRUE(sound.run_until_up(seconds{5}));
    EXPECT_EQ(sound.events("link-below-capability"), 0U);
}

TEST(SlowLinks, AReloadPicksPreferencesUpAndBack) {
    Lab lab(t2_with_a_slow_uplink(), at("h1"));
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    const std::string before = lab.tables_text();
    const std::pair<SlowLinks, unsigned> steps[] = {
        {SlowLinks::weigh, 1}, {SlowLinks::avoid, 0}, {SlowLinks::use, 2}};
    for (const auto& [slow_links, hosts] : steps) {
        lab.watch_loops();
        lab.replace_config(configured(slow_links));
        lab.advance(seconds{20});
        EXPECT_EQ(wrong(lab), "");
        EXPECT_EQ(hosts_by(lab, "leaf1", 5), hosts) << static_cast<int>(slow_links);
        EXPECT_EQ(hosts_by(lab, "leaf2", 5), hosts) << static_cast<int>(slow_links);
    }
    EXPECT_EQ(lab.tables_text(), before);
    EXPECT_TRUE(lab.loops().empty());
}

/// The database tells by which preferences tables were made: a restart with the same ones writes nothing, one
/// with others spreads anew.
TEST(SlowLinks, ARestartKnowsByWhichPreferencesTablesWereMade) {
    Lab lab(t2_with_a_slow_uplink(), at("h1"));
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    ASSERT_EQ(hosts_by(lab, "leaf1", 5), 2U);
    lab.replace_config(configured(SlowLinks::weigh));
    lab.kill();
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    EXPECT_EQ(hosts_by(lab, "leaf1", 5), 1U);
    lab.stop();
    lab.forget_counts();
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    EXPECT_EQ(lab.sets(Attribute::linear_forwarding_table), 0U);
    EXPECT_EQ(hosts_by(lab, "leaf1", 5), 1U);
}

}  // namespace
}  // namespace ibf::test
