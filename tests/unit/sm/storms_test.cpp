// Field cases about storms: traps, flapping links, and what is said of them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "harness.hpp"
#include "mad/codec.hpp"
#include "mad/trap.hpp"

namespace ibf::test {
namespace {

using fabric::HealthRule;
using mad::PortNum;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// Where links went down while the SM was setting them.
std::string wrong_after_races(const Lab& lab) {
    return join_lines(problems(lab, CheckOptions{{}, lab.sim.counters().by_rule, 4000}));
}

bool is_repress(const mad::WireMad& wire) {
    return wire.bytes[3] == static_cast<std::uint8_t>(mad::Method::trap_repress);
}

std::size_t represses(const Lab& lab) {
    return static_cast<std::size_t>(
        std::count_if(lab.sent_unasked.begin(), lab.sent_unasked.end(), is_repress));
}

bool is_ill(const Lab& lab, const std::string& node, std::uint8_t port, HealthRule rule) {
    const auto rows = lab.snapshot().health;
    const mad::Guid guid = lab.sim.netlist().nodes[lab.node(node)].guid;
    return rows && std::any_of(rows->begin(), rows->end(), [&](const fabric::HealthRow& row) {
               return row.at == fabric::PortId{guid, PortNum{port}} && row.rule == rule;
           });
}

Lab& up_and_quiet(Lab& lab) {
    lab.start();
    EXPECT_TRUE(lab.run_until_up(seconds{5}));
    lab.advance(seconds{15});
    lab.forget_counts();
    return lab;
}

TEST(FieldCase, C25_a_thousand_traps_in_ten_seconds) {
    Lab lab(t2(), at("h1"));
    up_and_quiet(lab);
    const std::uint64_t before = lab.snapshot().traps_received;
    lab.inject("trap leaf1/5 number=128 count=1000 delay=10ms");
    lab.advance(seconds{11});
    EXPECT_EQ(lab.snapshot().traps_received - before, 1000U);
    EXPECT_EQ(represses(lab), 1000U);
    EXPECT_LE(lab.heavy_sweeps(), 3U);
    EXPECT_LE(lab.sweeps("light"), 5U);
    EXPECT_TRUE(is_ill(lab, "leaf1", 0, HealthRule::storm)) << "a trap 128 names no port";
    EXPECT_EQ(lab.events("unhealthy"), 1U);
    EXPECT_EQ(lab.all_sets(), 0U);
}

TEST(FieldCase, C25_a_flapping_link) {
    Lab lab(t2(), at("h1"));
    up_and_quiet(lab);
    lab.inject("flap leaf1/5 delay=10ms count=1000");
    lab.advance(seconds{10});
    EXPECT_LE(lab.heavy_sweeps(), 3U) << "both ends of the link send traps";
    EXPECT_TRUE(is_ill(lab, "leaf1", 5, HealthRule::flapping) ||
                is_ill(lab, "spine1", 1, HealthRule::flapping));
    EXPECT_FALSE(is_ill(lab, "leaf1", 6, HealthRule::flapping) ||
                 is_ill(lab, "leaf1", 1, HealthRule::flapping));
    lab.advance(seconds{80});
    EXPECT_EQ(wrong_after_races(lab), "");
    EXPECT_EQ(lab.sim.port_info(lab.node("leaf1"), PortNum{5}).state, mad::PortState::active);
}

TEST(FieldCase, C25_a_storm_does_not_starve_another_port) {
    // Of another switch: within half a second. Of the same one, whose traps are the storm: within four.
    const std::vector<std::tuple<std::string, std::uint8_t, base::Duration>> others{
        {"leaf2", 6, milliseconds{600}}, {"leaf1", 7, milliseconds{4100}}};
    for (const auto& [node, port, within] : others) {
        Lab lab(leaf_spine(2, 4, 4, mad::LinkSpeed::edr), at("h1"));
        up_and_quiet(lab);
        lab.inject("flap leaf1/5 delay=10ms count=3000");
        lab.advance(seconds{12});
        lab.inject(fmt::format("link-down {}/{}", node, port));
        const auto seen = [&, name = node, number = port] {
            const fabric::Snapshot snapshot = lab.snapshot();
            const mad::Guid guid = lab.sim.netlist().nodes[lab.node(name)].guid;
            return snapshot.fabric &&  // else a sweep is at it
                   snapshot.fabric->nodes[snapshot.fabric->find(guid)].ports[number].peer.node ==
                       fabric::kNoNode;
        };
        EXPECT_FALSE(seen());
        EXPECT_TRUE(lab.run_until(seen, within)) << node;
        for (int host = 1; host <= 4; ++host) {  // and is acted upon: no way leads over it
            const auto steps =
                lab.sim.walk(lab.node(fmt::format("h{}", host)), PortNum{1}, lab.lid(lab.node("h8"), 1));
            EXPECT_TRUE(steps) << steps.error().message;
        }
    }
}

TEST(FieldCase, C25_many_ports_at_once_are_one_sweep_a_window) {
    Lab lab(netlist("fat-tree:radix=8,levels=2"));
    up_and_quiet(lab);
    const auto& nodes = lab.sim.netlist().nodes;
    const mad::Guid own = lab.sim.local_port(lab.client).node_guid;
    std::uint32_t hosts = 0;
    for (const routing::NetlistNode& node : nodes) {  // a rack powers up: a host every 20 ms, ten times each
        if (node.type == mad::NodeType::ca && node.guid != own) {
            lab.inject(fmt::format("at {}ms flap {}/1 delay=100ms count=10", 20 * ++hosts, node.id));
        }
    }
    lab.advance(seconds{5});
    EXPECT_GE(hosts, 30U);
    EXPECT_LE(lab.heavy_sweeps() + lab.sweeps("light"), 12U) << "one in half a second";
    lab.advance(seconds{120});
    EXPECT_EQ(wrong_after_races(lab), "");
}

TEST(FieldCase, C27_a_trap_from_a_port_not_yet_discovered) {
    Lab lab(t2(), at("h1"));
    lab.start();
    lab.inject("trap h5 number=128 count=1");
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    lab.advance(seconds{5});
    EXPECT_EQ(represses(lab), lab.snapshot().traps_received);
    EXPECT_GE(lab.snapshot().traps_received, 1U);
    EXPECT_EQ(lab.heavy_sweeps(), 1U);
    EXPECT_EQ(lab.sweeps("light"), 1U) << "one extra sweep";
    EXPECT_EQ(wrong(lab), "");
}

TEST(FieldCase, C32_priority_is_raised_20_times_and_every_mad_is_accounted_for) {
    for (const bool repressed : {true, false}) {
        LabOptions first = at("h1");
        first.config.priority = 15;
        Lab lab(t2(), first);
        lab.start();
        ASSERT_TRUE(lab.run_until_up(seconds{5}));
        Lab other(lab, at("h8"));
        other.start();
        ASSERT_TRUE(lab.run_until([&] { return other.sm->role() == sm::Role::standby; }, seconds{20}));
        lab.advance(seconds{10});
        const std::uint64_t before = lab.snapshot().traps_received;
        lab.sent_unasked.clear();
        for (std::uint8_t i = 1; i <= 20; ++i) {
            sm::SmConfig config;
            config.priority = static_cast<std::uint8_t>(i <= 10 ? i : i - 10);
            other.replace_config(config);
            lab.advance(milliseconds{50});
            ASSERT_GE(represses(lab), 1U) << "the master represses each";
            if (repressed) {  // the simulated fabric takes represses for its own devices
                other.tell([&](auto& sm, base::Instant now, sm::Effects& out) {
                    const auto repress =
                        std::find_if(lab.sent_unasked.begin(), lab.sent_unasked.end(), is_repress);
                    sm.on_mad(*repress, now, out);
                });
            }
            lab.sent_unasked.clear();
            lab.advance(seconds{4});
        }
        const std::uint64_t traps = lab.snapshot().traps_received - before;
        if (repressed) {
            EXPECT_GE(traps, 20U);
            EXPECT_LT(traps, 30U) << "some go out again with a poll that comes before the repress";
        } else {
            EXPECT_EQ(traps, 60U) << "three times each";
        }
        lab.forget_counts();
        lab.request_sweep(sm::SweepScope::full);
        other.request_sweep(sm::SweepScope::full);
        lab.advance(seconds{8});
        EXPECT_TRUE(lab.sm->at_rest() && other.sm->at_rest());
        EXPECT_GE(lab.heavy_sweeps(), 1U);
        for (const Lab* one : {&lab, &other}) {
            const mad::TransactionCounters mads = one->snapshot().mads;
            const std::uint64_t ended = mads.replies + mads.error_statuses + mads.timeouts;
            EXPECT_GE(ended + 1U, mads.requests) << "a poll of the master may be under way";
            EXPECT_LE(ended, mads.requests);
        }
        EXPECT_EQ(wrong(lab), "");
    }
}

// --- security

/// A notice as it comes from the wire, put together by hand; `details` from their first octet on.
mad::WireMad notice_from(mad::Lid issuer, std::uint16_t trap, const std::vector<std::uint8_t>& details) {
    mad::Notice notice;
    notice.type = 2;
    notice.producer = 1;
    notice.trap_number = trap;
    notice.issuer_lid = issuer;
    std::copy(details.begin(), details.end(), notice.details.begin());
    mad::Smp smp;
    smp.header.mgmt_class = mad::MgmtClass::subn_lid;
    smp.header.method = static_cast<std::uint8_t>(mad::Method::trap);
    smp.header.attribute = mad::Attribute::notice;
    smp.header.tid = 0xABCDEF01;
    smp.data = mad::encode(notice);
    mad::WireMad wire{mad::encode_smp(smp), {}, {}};
    wire.address.lid = issuer;
    return wire;
}

/// What the SM makes of it: its one answer checked, its events.
std::vector<fabric::EventRecord> told_of(Lab& lab, const mad::WireMad& wire) {
    sm::Effects effects;
    lab.sm->on_mad(wire, lab.now, effects);
    std::vector<fabric::EventRecord> events;
    std::size_t sent = 0;
    for (const sm::Effect& effect : effects) {
        if (const auto* announce = std::get_if<sm::Announce>(&effect)) {
            events.push_back(announce->event);
        } else if (const auto* send = std::get_if<sm::SendMad>(&effect)) {
            const auto smp = mad::parse_smp(send->mad.bytes);
            EXPECT_TRUE(smp && smp->header.tid == 0xABCDEF01 &&
                        smp->header.attribute == mad::Attribute::notice);
            EXPECT_EQ(smp->header.method, static_cast<std::uint8_t>(mad::Method::trap_repress));
            ++sent;
        }
    }
    EXPECT_EQ(sent, 1U) << "a trap is repressed, whatever it is";
    return events;
}

TEST(FieldCase, C30_violations_are_told_with_both_ends) {
    Lab lab(t2(), at("h1"));
    up_and_quiet(lab);
    const mad::Lid victim = lab.lid(lab.node("h2"), 1);
    const mad::Lid culprit = lab.lid(lab.node("h5"), 1);
    const auto from = static_cast<std::uint8_t>(culprit.value());
    const auto to = static_cast<std::uint8_t>(victim.value());
    std::vector<std::uint8_t> two_ends(54);
    two_ends[3] = from;
    two_ends[5] = to;
    const std::vector<std::uint8_t> key{0x80, 0x01, 0xab, 0xcd, 0x30, 0x00, 0x01, 0x02, 0, 0, 0, 0x07};
    std::copy(key.begin(), key.end(), two_ends.begin() + 6);
    for (const auto& [number, word, text] : {std::tuple<std::uint16_t, std::string, std::string>{
                                                 257, "pkey-violation", "wrong P_Key 0x8001abcd on SL 3"},
                                             {258, "qkey-violation", "wrong Q_Key 0x8001abcd on SL 3"}}) {
        const auto events = told_of(lab, notice_from(victim, number, two_ends));
        ASSERT_EQ(events.size(), 1U);
        EXPECT_EQ(events[0].kind, word);
        EXPECT_EQ(events[0].severity, fabric::EventRecord::Severity::warning);
        EXPECT_EQ(events[0].guid, lab.sim.netlist().nodes[lab.node("h5")].guid) << "whose doing it is";
        EXPECT_NE(events[0].text.find(text + ": from h5 ("), std::string::npos) << events[0].text;
        EXPECT_NE(events[0].text.find("(QP 0x102"), std::string::npos) << events[0].text;
        EXPECT_NE(events[0].text.find(" to h2 ("), std::string::npos) << events[0].text;
    }
    std::vector<std::uint8_t> at_switch(54);
    at_switch[3] = from;
    at_switch[5] = to;
    at_switch[6] = 0x12;
    at_switch[7] = 0x34;
    at_switch[49] = static_cast<std::uint8_t>(lab.lid(lab.node("leaf2"), 0).value());
    at_switch[50] = 3;
    const auto events = told_of(lab, notice_from(lab.lid(lab.node("leaf2"), 0), 259, at_switch));
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].kind, "pkey-violation");
    EXPECT_NE(events[0].text.find("wrong P_Key 0x1234 on SL 0: from h5 ("), std::string::npos)
        << events[0].text;
    EXPECT_NE(events[0].text.find(", at leaf2 ("), std::string::npos) << events[0].text;
    EXPECT_EQ(events[0].text.substr(events[0].text.size() - 7), " port 3") << events[0].text;
}

TEST(FieldCase, C30_a_violation_is_told_at_once_then_with_how_often) {
    Lab lab(t2(), at("h1"));
    up_and_quiet(lab);
    const mad::Lid victim = lab.lid(lab.node("h2"), 1);
    std::vector<std::uint8_t> details(54);
    details[3] = static_cast<std::uint8_t>(lab.lid(lab.node("h5"), 1).value());
    details[6] = 2;
    details[9] = 0x15;
    details[23] = 0x82;
    details[24] = 1;
    details[25] = 7;
    const auto events = told_of(lab, notice_from(victim, 256, details));
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].kind, "mkey-violation");
    EXPECT_NE(events[0].text.find("wrong M_Key: h2 ("), std::string::npos) << events[0].text;
    EXPECT_NE(events[0].text.find("was asked to Set PortInfo"), std::string::npos) << events[0].text;
    EXPECT_NE(events[0].text.find("by h5 ("), std::string::npos) << events[0].text;
    EXPECT_NE(events[0].text.find("way back 1,7)"), std::string::npos) << events[0].text;
    for (int i = 0; i < 500; ++i) {
        EXPECT_TRUE(told_of(lab, notice_from(victim, 256, details)).empty());
    }
    lab.advance(seconds{60});
    const auto later = told_of(lab, notice_from(victim, 256, details));
    ASSERT_EQ(later.size(), 1U);
    EXPECT_NE(later[0].text.find("500 more like it"), std::string::npos) << later[0].text;
}

}  // namespace
}  // namespace ibf::test
