// Field cases about port health, from the wire to what follows of a verdict.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "harness.hpp"
#include "mad/codec.hpp"

namespace ibf::test {
namespace {

using fabric::HealthAction;
using fabric::HealthRule;
using fabric::IsolationReason;
using fabric::PortId;
using mad::PhysState;
using mad::PortNum;
using mad::PortState;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

LabOptions with(HealthRule rule, HealthAction action) {
    LabOptions options = at("h1");
    options.config.health.actions[static_cast<std::size_t>(rule)] = action;
    return options;
}

PortId port_id(const Lab& lab, const std::string& node, std::uint8_t port) {
    return {lab.sim.netlist().nodes[lab.node(node)].guid, PortNum{port}};
}

/// The rules that a port is ill by.
std::set<HealthRule> ills(const Lab& lab, const std::string& node, std::uint8_t port) {
    std::set<HealthRule> found;
    if (const auto rows = lab.snapshot().health) {
        for (const fabric::HealthRow& row : *rows) {
            if (row.at == port_id(lab, node, port)) {
                found.insert(row.rule);
            }
        }
    }
    return found;
}

void set_health(Lab& lab, PortId port) {
    lab.tell([&](auto& sm, base::Instant now, sm::Effects& out) { sm.set_health(port, now, out); });
}

void clear_health(Lab& lab, PortId port) {
    lab.tell([&](auto& sm, base::Instant now, sm::Effects& out) { sm.clear_health(port, now, out); });
}

std::string place(const char* node, int port) {
    return fmt::format("{}/{}", node, port);
}

TEST(FieldCase, C26_babbling_traps_are_reported_and_forgiven) {
    Lab lab(t2(), at("h1"));
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    lab.inject("trap h2/1 number=131 count=9 delay=10ms");
    lab.advance(seconds{1});
    EXPECT_EQ(lab.events("unhealthy"), 0U);
    lab.inject("trap h2/1 number=131 count=1");
    lab.advance(seconds{1});
    EXPECT_EQ(lab.events("unhealthy"), 1U);
    lab.forget_counts();
    lab.inject("trap h2/1 number=131 count=250 delay=100ms");
    lab.advance(seconds{30});
    EXPECT_EQ(ills(lab, "h2", 1), std::set<HealthRule>{HealthRule::babbling});
    EXPECT_EQ(lab.events("port-disabled"), 0U);
    EXPECT_LE(lab.events("flow-control"), 4U) << "told at once, then less and less often";
    EXPECT_GE(lab.events("flow-control"), 1U);
    EXPECT_EQ(lab.heavy_sweeps(), 0U) << "nothing has changed";
    EXPECT_EQ(lab.all_sets(), 0U);
    EXPECT_EQ(wrong(lab), "");
    lab.advance(minutes{6});
    EXPECT_TRUE(ills(lab, "h2", 1).empty());
    EXPECT_EQ(lab.events("healthy"), 1U);
}

TEST(FieldCase, C26_the_end_nearest_to_the_sm_is_disabled_by_policy_and_enabled_again) {
    Lab lab(t2(), with(HealthRule::babbling, HealthAction::disable));
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    const std::uint32_t leaf = lab.node("leaf1");
    lab.inject("trap h2/1 number=131 count=249 delay=10ms");
    lab.advance(seconds{3});
    EXPECT_EQ(lab.events("unhealthy"), 1U);
    EXPECT_EQ(lab.sim.port_info(leaf, PortNum{2}).phys_state, PhysState::link_up);
    lab.inject("trap h2/1 number=131 count=11 delay=10ms");
    lab.advance(seconds{2});
    EXPECT_EQ(lab.sim.port_info(leaf, PortNum{2}).phys_state, PhysState::disabled) << "the switch's end";
    EXPECT_EQ(lab.events("port-disabled"), 1U);
    EXPECT_EQ(lab.sim.counters().rule_breaks, 0U);
    lab.advance(minutes{10});
    EXPECT_EQ(lab.events("port-enabled"), 1U);
    EXPECT_EQ(lab.sim.port_info(leaf, PortNum{2}).state, PortState::active);
    EXPECT_EQ(wrong(lab), "");
}

/// leaf2's port 2 is disabled for what h6 did.
void have_one_disabled(Lab& lab) {
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    lab.inject("trap h6/1 number=131 count=260 delay=10ms");
    lab.advance(seconds{15});
    ASSERT_EQ(lab.sim.port_info(lab.node("leaf2"), PortNum{2}).phys_state, PhysState::disabled);
}

/// The verdict ends while leaf2 is cut off; then it is back.
void be_well_while_away(Lab& lab) {
    lab.inject("link-down leaf2/5\nlink-down leaf2/6");
    lab.advance(minutes{20});
    EXPECT_EQ(lab.events("healthy"), 1U);
    EXPECT_EQ(lab.events("port-enabled"), 0U);
    lab.inject("link-up leaf2/5\nlink-up leaf2/6");
    lab.advance(minutes{1});
}

TEST(Health, APortWhoseSwitchIsAwayWhenItIsWellIsEnabledWhenTheSwitchIsBack) {
    Lab lab(t2(), with(HealthRule::babbling, HealthAction::disable));
    have_one_disabled(lab);
    be_well_while_away(lab);
    EXPECT_EQ(lab.events("port-enabled"), 1U);
    EXPECT_EQ(wrong(lab), "");
    EXPECT_EQ(lab.sim.port_info(lab.node("leaf2"), PortNum{2}).state, PortState::active);
}

TEST(Health, APortWhoseSwitchDoesNotAnswerIsEnabledWhenItDoes) {
    Lab lab(t2(), with(HealthRule::babbling, HealthAction::disable));
    have_one_disabled(lab);
    lab.inject("dead leaf2");
    clear_health(lab, port_id(lab, "h6", 1));  // at once: nobody knows yet that it is dead
    lab.advance(seconds{5});
    EXPECT_EQ(lab.events("port-not-enabled"), 1U);
    lab.inject("alive leaf2");
    lab.advance(minutes{3});
    EXPECT_EQ(lab.events("port-enabled"), 1U);
    EXPECT_EQ(lab.sim.port_info(lab.node("leaf2"), PortNum{2}).state, PortState::active);
}

TEST(Health, APortThatWasEnabledMeanwhileIsLeftAlone) {
    Lab lab(t2(), with(HealthRule::babbling, HealthAction::disable));
    have_one_disabled(lab);
    lab.inject("reboot leaf2");
    be_well_while_away(lab);
    EXPECT_EQ(lab.events("port-enabled"), 0U) << "its switch began anew";
    EXPECT_EQ(lab.sim.port_info(lab.node("leaf2"), PortNum{2}).state, PortState::active);
}

TEST(FieldCase, C26_the_subnet_managers_own_link_is_never_disabled) {
    Lab lab(t2(), with(HealthRule::babbling, HealthAction::disable));
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    lab.inject("trap leaf1/1 number=131 count=260 delay=10ms");
    lab.advance(seconds{5});
    EXPECT_EQ(lab.events("unhealthy"), 1U);
    EXPECT_GE(lab.events("unhealthy-stays"), 1U);
    EXPECT_EQ(lab.events("port-disabled"), 0U);
    EXPECT_EQ(wrong(lab), "");
}

/// Which way a packet from one host to another takes; "" where it does not arrive.
std::string way_taken(const Lab& lab, const std::string& from, const std::string& to) {
    const auto steps = lab.sim.walk(lab.node(from), PortNum{1}, lab.lid(lab.node(to), 1));
    std::string text;
    for (std::size_t i = 0; steps && i < steps->size(); ++i) {
        text +=
            place(lab.sim.netlist().nodes[(*steps)[i].node].description.c_str(), (*steps)[i].out.value()) +
            " ";
    }
    return text;
}

TEST(FieldCase, C45_an_uplink_bounces_25_times_then_is_quiet) {
    Lab lab(t2(), with(HealthRule::flapping, HealthAction::isolate));
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    lab.advance(seconds{12});
    lab.forget_counts();
    for (int bounce = 0; bounce < 25; ++bounce) {
        lab.inject("flap leaf1/5 delay=50ms count=1");
        lab.advance(seconds{6});
    }
    EXPECT_EQ(lab.events("unhealthy"), 1U);
    EXPECT_TRUE(lab.has_isolation(IsolationReason::quarantined));
    EXPECT_LE(lab.heavy_sweeps(), 20U) << "no sweep of its own for each bounce";
    lab.advance(seconds{60});
    EXPECT_TRUE(lab.has_isolation(IsolationReason::quarantined)) << "not at the first pause";
    for (int from = 1; from <= 4; ++from) {
        for (int to = 5; to <= 8; ++to) {
            const std::string there = way_taken(lab, fmt::format("h{}", from), fmt::format("h{}", to));
            EXPECT_NE(there.find("leaf1/6"), std::string::npos) << "around what bounces: " << there;
            EXPECT_NE(way_taken(lab, fmt::format("h{}", to), fmt::format("h{}", from)), "");
        }
    }
    lab.forget_counts();
    lab.advance(minutes{20});
    EXPECT_FALSE(lab.has_isolation(IsolationReason::quarantined));
    EXPECT_EQ(lab.events("healthy"), 1U);
    EXPECT_EQ(lab.sim.port_info(lab.node("leaf1"), PortNum{5}).state, PortState::active);
    EXPECT_EQ(lab.heavy_sweeps(), 1U) << "the one that takes it back";
    EXPECT_EQ(wrong(lab), "");
}

TEST(FieldCase, C44_one_port_for_each_rule) {
    Lab lab(t2(), at("h1"));
    // h3 always says that it is in Init, h5 refuses to be set up, h6 says what cannot be.
    const std::uint32_t liar = lab.node("h3");
    lab.on_deliver = [&](mad::WireMad& wire) {
        auto smp = mad::parse_smp(wire.bytes);
        if (smp && smp->header.attribute == mad::Attribute::port_info && smp->header.is_response()) {
            mad::PortInfo info = mad::decode_port_info(smp->data);
            const mad::Lid own = lab.sim.port_info(liar, PortNum{1}).lid;
            if (info.lid == own && own != mad::kLidNone) {
                info.state = PortState::init;
                smp->data = mad::encode(info);
                wire.bytes = mad::encode_smp(*smp);
            }
        }
        return true;
    };
    lab.inject("error-status h5 attr=PortInfo method=Set number=28\ncorrupt-node-info h6");
    lab.start();
    ASSERT_TRUE(lab.run_until([&] { return lab.sm->mode() == fabric::SmMode::up; }, seconds{20}));
    lab.inject("dead h4\ntrap h8/1 number=129 count=20 delay=100ms");
    for (int i = 0; i < 12; ++i) {
        lab.inject("reboot h2 delay=200ms");
        lab.inject("flap leaf2/3 delay=100ms count=1");
        lab.request_sweep(sm::SweepScope::full);
        lab.advance(seconds{20});
    }
    set_health(lab, port_id(lab, "leaf2", 4));
    lab.advance(seconds{30});
    const auto has = [&](const std::string& node, std::uint8_t port, HealthRule rule) {
        return ills(lab, node, port).contains(rule);
    };
    EXPECT_TRUE(has("h2", 1, HealthRule::rebooting));
    EXPECT_TRUE(has("h3", 1, HealthRule::init));
    EXPECT_TRUE(has("leaf1", 4, HealthRule::silent)) << "the port that it hangs on";
    EXPECT_TRUE(has("h5", 1, HealthRule::set_errors));
    EXPECT_TRUE(has("leaf2", 2, HealthRule::illegal));
    EXPECT_TRUE(has("leaf2", 3, HealthRule::flapping));
    EXPECT_TRUE(has("h8", 1, HealthRule::babbling));
    EXPECT_TRUE(has("leaf2", 4, HealthRule::manual));
    EXPECT_TRUE(ills(lab, "h1", 1).empty() && ills(lab, "leaf1", 5).empty() && ills(lab, "leaf2", 1).empty());
    // No sweep loop: what keeps failing is tried again once in a sweep interval, whatever is said of it.
    lab.forget_counts();
    lab.advance(seconds{120});
    EXPECT_LE(lab.heavy_sweeps(), 13U);
    EXPECT_LE(lab.sweeps("light"), 13U);
    // The operator's word was that of policy at once, and is taken back at once.
    EXPECT_TRUE(lab.has_isolation(IsolationReason::quarantined));
    clear_health(lab, port_id(lab, "leaf2", 4));
    lab.advance(seconds{15});
    EXPECT_FALSE(lab.has_isolation(IsolationReason::quarantined));
    EXPECT_TRUE(ills(lab, "leaf2", 4).empty());
}

TEST(Health, ALinkThatCannotBeSparedStays) {
    Lab lab(leaf_spine(2, 1, 2, mad::LinkSpeed::edr), at("h1"));
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    set_health(lab, port_id(lab, "leaf2", 3));
    lab.advance(seconds{15});
    EXPECT_EQ(ills(lab, "leaf2", 3), std::set<HealthRule>{HealthRule::manual});
    EXPECT_EQ(lab.events("unhealthy-stays"), 1U);
    EXPECT_FALSE(lab.has_isolation(IsolationReason::quarantined));
    const auto rows = lab.snapshot().health;
    ASSERT_EQ(rows->size(), 1U);
    EXPECT_EQ(rows->at(0).wanted, HealthAction::isolate);
    EXPECT_EQ(rows->at(0).done, HealthAction::report);
    EXPECT_EQ(rows->at(0).why_not, "without it the fabric would fall apart");
    EXPECT_EQ(wrong(lab), "");
}

TEST(Health, AHostThatIsLeftOutIsAloneInThat) {
    Lab lab(t2(), at("h1"));
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    lab.forget_counts();
    set_health(lab, port_id(lab, "h7", 1));
    lab.advance(seconds{15});
    EXPECT_TRUE(lab.has_isolation(IsolationReason::quarantined));
    EXPECT_EQ(lab.heavy_sweeps(), 1U);
    const auto served = [&] {
        const fabric::Snapshot snapshot = lab.snapshot();
        return std::any_of(snapshot.view->topology.end_ports.begin(), snapshot.view->topology.end_ports.end(),
                           [](const auto& end) { return end.name == "h7"; });
    };
    EXPECT_FALSE(served()) << "nobody is told a way to it";
    EXPECT_NE(way_taken(lab, "h2", "h8"), "");
    EXPECT_EQ(wrong(lab, {lab.node("h7")}), "");
    clear_health(lab, port_id(lab, "h7", 1));
    lab.advance(seconds{15});
    EXPECT_TRUE(served());
    EXPECT_NE(way_taken(lab, "h2", "h7"), "");
    EXPECT_EQ(wrong(lab), "");
}

TEST(Health, APortThatSomebodyElseDisabledIsEnabledByTheOperator) {
    Lab lab(t2(), at("h1"));
    const std::uint32_t leaf = lab.node("leaf2");
    mad::PortInfo info = lab.sim.port_info(leaf, PortNum{2});
    info.state = PortState::down;
    info.phys_state = PhysState::disabled;
    lab.inject("link-down leaf2/2");
    lab.sim.set_port_info(leaf, PortNum{2}, info);
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    clear_health(lab, port_id(lab, "leaf2", 2));
    lab.advance(seconds{1});
    EXPECT_EQ(lab.sim.port_info(leaf, PortNum{2}).phys_state, PhysState::polling);
    EXPECT_EQ(lab.events("port-enabled"), 1U);
}

}  // namespace
}  // namespace ibf::test
