// Each verdict, and each reason for it. Readings are made by hand: what the simulator can do is not the
// limit.
#include "probe/proof/judge.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "mad/codec.hpp"
#include "sim/link_speed.hpp"
#include "tests/unit/conduct/stage.hpp"

namespace ibf::probe::test {
namespace {

class Judge : public ::testing::Test {
protected:
    void SetUp() override {
        stage = Stage::make("fat-tree:radix=4,levels=3", "minhop");
        ASSERT_TRUE(stage);
        view = std::make_unique<routing::TableView>(stage->topology, stage->routes);
    }
    [[nodiscard]] const routing::Topology& topology() const { return stage->topology; }
    [[nodiscard]] TableReading table(std::uint32_t at, std::uint16_t block) const {
        TableReading reading{
            .at = {.switch_index = at, .block = block}, .entries = {}, .top = topology().max_lid};
        for (unsigned i = 0; i < mad::kLftBlockEntries; ++i) {
            reading.entries.ports[i] = view->port(at, block * mad::kLftBlockEntries + i);
        }
        return reading;
    }
    std::unique_ptr<Stage> stage;
    std::unique_ptr<routing::TableView> view;
};

TEST_F(Judge, TablesAsComputedAreFine) {
    std::vector<TableReading> readings;
    for (std::uint32_t at = 0; at < topology().switches.size(); ++at) {
        readings.push_back(table(at, 0));
    }
    EXPECT_TRUE(judge_tables(topology(), *view, readings).empty());
}

TEST_F(Judge, AWrongEntryIsNamed) {
    TableReading reading = table(2, 0);
    const mad::Lid lid = topology().end_ports[5].lids.base;
    const std::uint8_t wants = reading.entries.ports[lid.value()];
    reading.entries.ports[lid.value()] = mad::kLftDrop;
    const auto findings = judge_tables(topology(), *view, std::vector<TableReading>{reading});
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].kind, Finding::Kind::wrong_entry);
    EXPECT_EQ(findings[0].at, (Place{.index = 2, .port = mad::PortNum{wants}}));
    EXPECT_EQ(findings[0].lid, lid);
    EXPECT_EQ(findings[0].has, mad::kLftDrop);
    EXPECT_EQ(findings[0].wants, wants);
    EXPECT_NE(findings[0].text.find(topology().switches[2].name), std::string::npos);
    EXPECT_NE(findings[0].text.find(topology().end_ports[5].name), std::string::npos);
    EXPECT_NE(findings[0].text.find("dropped"), std::string::npos);
}

TEST_F(Judge, EntriesOfLidsThatNobodyHasAreNoMatter) {
    TableReading reading = table(2, 0);
    std::uint8_t& entry = reading.entries.ports[topology().end_ports[3].lids.base.value()];
    entry = mad::kLftDrop;
    EXPECT_EQ(judge_tables(topology(), *view, std::vector<TableReading>{reading}).size(), 1U);
    routing::Topology without = topology();
    without.end_ports[3].lids = {};
    const routing::TableView other(without, stage->routes);
    EXPECT_TRUE(judge_tables(without, other, std::vector<TableReading>{reading}).empty());
}

TEST_F(Judge, EntriesAboveTheTopForwardNothing) {
    TableReading reading = table(2, 0);
    reading.top = static_cast<std::uint16_t>(topology().max_lid - 1);
    const auto findings = judge_tables(topology(), *view, std::vector<TableReading>{reading});
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].lid, mad::Lid{topology().max_lid});
    EXPECT_EQ(findings[0].has, mad::kLftDrop);
}

TEST_F(Judge, ASwitchThatLostItsTableIsOneFinding) {
    TableReading reading = table(2, 0);
    reading.entries.ports.fill(mad::kLftDrop);
    const auto findings = judge_tables(topology(), *view, std::vector<TableReading>{reading});
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_NE(findings[0].text.find("entries of its table"), std::string::npos);
}

TEST_F(Judge, SwitchesThatWereNotReadInFullAreNamed) {
    const ReadShare whole{.is_reached = true, .blocks = 2, .blocks_read = 2, .ports = 3, .ports_read = 3};
    std::map<std::uint32_t, ReadShare> shares{{0, whole}, {1, whole}, {2, whole}, {3, whole}, {4, whole}};
    std::vector<Finding> findings;
    judge_unread(topology(), shares, findings);
    EXPECT_TRUE(findings.empty());
    shares[1].blocks_read = 1;
    shares[2].ports_read = 0;
    shares[3].is_reached = shares[4].is_reached = false;
    findings.push_back({.kind = Finding::Kind::dead_device, .at = {.index = 4}});
    judge_unread(topology(), shares, findings);
    ASSERT_EQ(findings.size(), 4U) << "a dead device is told already";
    for (std::uint32_t i = 1; i <= 3; ++i) {
        EXPECT_EQ(findings[i].kind, Finding::Kind::not_read);
        EXPECT_EQ(findings[i].at, Place{.index = i});
    }
    EXPECT_NE(findings[1].text.find("1 of 2 blocks"), std::string::npos) << findings[1].text;
    EXPECT_NE(findings[2].text.find("3 of 3 ports"), std::string::npos) << findings[2].text;
    EXPECT_NE(findings[3].text.find("no way there"), std::string::npos) << findings[3].text;
}

class JudgeCables : public Judge {
protected:
    /// Through each cable of each switch, as they should be.
    void SetUp() override {
        Judge::SetUp();
        for (std::uint32_t at = 0; at < topology().switches.size(); ++at) {
            for (std::size_t port = 1; port < topology().switches[at].peers.size(); ++port) {
                const Place from{.index = at, .port = mad::PortNum{static_cast<std::uint8_t>(port)}};
                if (const auto to = peer_of(topology(), from)) {
                    readings.push_back({.from = from, .to = *to, .state = CableReading::State::as_expected});
                }
            }
        }
    }
    std::vector<CableReading> readings;
};

TEST_F(JudgeCables, ThoseThatAreRightAreFine) {
    EXPECT_TRUE(judge_cables(topology(), readings).empty());
}

TEST_F(JudgeCables, OneThatLeadsElsewhereNamesAllThree) {
    for (const bool known : {true, false}) {
        readings[0].state = CableReading::State::elsewhere;
        readings[0].seen_guid = known ? topology().switches[3].guid : mad::Guid{0xABCDEF};
        readings[0].seen_port = mad::PortNum{2};
        const auto findings = judge_cables(topology(), readings);
        ASSERT_EQ(findings.size(), 1U);
        EXPECT_EQ(findings[0].kind, Finding::Kind::miswired_cable);
        EXPECT_EQ(findings[0].at, readings[0].from);
        EXPECT_EQ(findings[0].peer, readings[0].to);
        EXPECT_NE(findings[0].text.find(name_of(topology(), readings[0].to)), std::string::npos);
        EXPECT_NE(
            findings[0].text.find(known ? topology().switches[3].name + " port 2" : "0x0000000000abcdef"),
            std::string::npos)
            << findings[0].text;
    }
}

TEST_F(JudgeCables, OneThatIsSilentIsADeadLink) {
    readings[0].state = CableReading::State::silent;
    const auto findings = judge_cables(topology(), readings);
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].kind, Finding::Kind::dead_link);
    EXPECT_EQ(findings[0].at, readings[0].from);
}

TEST_F(JudgeCables, ASwitchThatIsSilentThroughAllIsOneDeadDevice) {
    const std::uint32_t dead = readings[0].to.is_switch ? readings[0].to.index : 0;
    std::erase_if(readings, [&](const CableReading& reading) { return reading.from.index == dead; });
    for (CableReading& reading : readings) {
        if (reading.to.is_switch && reading.to.index == dead) {
            reading.state = CableReading::State::silent;
        }
    }
    const auto findings = judge_cables(topology(), readings);
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].kind, Finding::Kind::dead_device);
    EXPECT_EQ(findings[0].at.index, dead);
}

TEST_F(Judge, LinksBelowWhatBothEndsCould) {
    const Place a = place_of(topology(), routing::EndPortIndex{0});
    const Place b = peer_of(topology(), a).value();
    mad::PortInfo info;
    info.state = mad::PortState::active;
    info.phys_state = mad::PhysState::link_up;
    info.capability_mask = 0x0000C000;
    info.width_supported = info.width_enabled = 3;
    sim::set_supported_speeds(info, mad::LinkSpeed::edr);
    info.speed_enabled = info.speed_supported;
    info.speed_ext_enabled = info.speed_ext_supported;
    sim::set_active(info, mad::LinkWidth::x4, mad::LinkSpeed::edr);
    std::map<Place, mad::PortInfo> infos{{a, info}, {b, info}};
    EXPECT_TRUE(judge_links(topology(), infos).empty());

    for (auto& [place, each] : infos) {
        each.width_active = mad::LinkWidth::x1;
    }
    auto findings = judge_links(topology(), infos);
    ASSERT_EQ(findings.size(), 1U) << "once for a cable";
    EXPECT_EQ(findings[0].kind, Finding::Kind::throttled_link);
    EXPECT_TRUE(findings[0].at == a || findings[0].at == b);
    EXPECT_TRUE(findings[0].peer == a || findings[0].peer == b);

    infos.at(b).width_supported = infos.at(b).width_enabled = 1;
    EXPECT_TRUE(judge_links(topology(), infos).empty()) << "the other end cannot do more";

    infos.at(a).state = mad::PortState::init;
    findings = judge_links(topology(), infos);
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].kind, Finding::Kind::dead_link);
    EXPECT_EQ(findings[0].at, a);
}

/// One flow over five links, and hand-made counters of all ports of its switches.
class JudgeRound : public Judge {
protected:
    void SetUp() override {
        Judge::SetUp();
        spec.test = probe::Test::write;
        spec.message_bytes = kBytes;
        flow.flow.from = routing::EndPortIndex{0};
        flow.flow.to = routing::EndPortIndex{static_cast<std::uint32_t>(topology().end_ports.size() - 1)};
        flow.flow.lid = topology().end_ports.back().lids.base;
        flow.has_run = flow.result.ran = true;
        flow.result.initiator.bytes = kBytes;
        flow.result.initiator.messages = 1;
        hops = stage->hops(flow.flow);
        ASSERT_EQ(hops.size(), 6U);
        at_full_rate();
        for (const Hop& hop : hops) {
            for (const Place& end : {hop.out, hop.in}) {
                for (std::uint8_t port = 1; end.is_switch && port <= 4; ++port) {
                    both({.index = end.index, .port = mad::PortNum{port}});
                }
                both(end);
            }
        }
        for (const Hop& hop : hops) {
            after[hop.out].transmit_words += kWords;
            after[hop.in].receive_words += kWords;
        }
    }
    void both(const Place& place) {
        for (CounterReadings* readings : {&before, &after}) {
            (*readings)[place] = {.known = true,
                                  .wide = true,
                                  .transmit_words = 1000,
                                  .receive_words = 1000,
                                  .knows_wait = true};
        }
    }
    void at_full_rate() { at_share_of_rate(0.95); }
    void at_share_of_rate(double share) {
        flow.result.initiator.elapsed = base::Duration{static_cast<base::Duration::rep>(
            static_cast<double>(kBytes) * 8000.0 / (share * mbps_of(topology(), hops[0].out)))};
    }
    void judge() {
        findings.clear();
        FlowReport* const flows[] = {&flow};
        judge_round(topology(), *view, spec,
                    {.before = before, .after = after, .adaptive = adaptive, .running = running}, flows,
                    findings);
    }
    /// Of the hop of that number; proved where it is not among the unproved.
    [[nodiscard]] HopReport seen(std::size_t hop) const {
        for (const HopReport& report : flow.unproved) {
            if (report.hop == hops[hop]) {
                return report;
            }
        }
        return {.hop = hops[hop], .seen = Seen::proved};
    }
    [[nodiscard]] Place beside(std::size_t hop) const {
        for (std::uint8_t port = 1; port <= 4; ++port) {
            const Place place{.index = hops[hop].out.index, .port = mad::PortNum{port}};
            if (place != hops[hop].out && place != hops[hop - 1].in) {
                return place;
            }
        }
        return {};
    }
    /// From that hop on nobody saw anything.
    void lose_from(std::size_t hop) {
        for (std::size_t i = hop; i < hops.size(); ++i) {
            after[hops[i].out].transmit_words = before[hops[i].out].transmit_words;
            after[hops[i].in].receive_words = before[hops[i].in].receive_words;
        }
        flow.result.initiator.failure = failure::kRetryExceeded;
        flow.result.initiator.bytes = 0;
    }

    static constexpr std::uint64_t kBytes = 4U << 20U;
    static constexpr std::uint64_t kWords = kBytes / 4 + 1000;
    TestSpec spec;
    FlowReport flow;
    std::vector<Hop> hops;
    CounterReadings before;
    CounterReadings after;
    std::vector<std::uint32_t> adaptive;
    std::map<Place, std::uint32_t> running;
    std::vector<Finding> findings;
};

TEST_F(JudgeRound, AllIsProved) {
    judge();
    EXPECT_EQ(flow.seen, Seen::proved);
    EXPECT_EQ(flow.proved, 6U);
    EXPECT_EQ(flow.hops, 6U);
    EXPECT_TRUE(findings.empty());
}

TEST_F(JudgeRound, MoreThanOursIsNoLess) {
    for (auto& [place, reading] : after) {
        reading.transmit_words += 5 * kWords;
        reading.receive_words += 5 * kWords;
        reading.counters.transmit_wait += static_cast<std::uint32_t>(kWords / 20);
    }
    judge();
    EXPECT_EQ(flow.proved, 6U);
    EXPECT_TRUE(findings.empty());
}

TEST_F(JudgeRound, TooFewAtEitherEndIsNotSeen) {
    after[hops[2].in].receive_words = 1000 + kBytes / 4 - 1;
    judge();
    EXPECT_EQ(seen(2).seen, Seen::not_seen);
    EXPECT_EQ(flow.seen, Seen::not_seen);
    EXPECT_EQ(flow.proved, 5U);
    EXPECT_TRUE(findings.empty()) << "it did arrive";
}

TEST_F(JudgeRound, SeenElsewhere) {
    after[hops[2].out].transmit_words = 1000;
    const Place other = beside(2);
    after[other].transmit_words += kWords;
    judge();
    EXPECT_EQ(seen(2).seen, Seen::elsewhere);
    EXPECT_EQ(seen(2).seen_at, other);
}

TEST_F(JudgeRound, WhatAnotherFlowSendsBesideIsNotOurs) {
    // Another flow leaves our leaf by the port beside ours, as it should.
    after[hops[1].out].transmit_words = 1000;
    FlowReport other = flow;
    std::optional<Flow> found;
    Place up;
    for (std::uint32_t to = 0; to < topology().end_ports.size() && !found; ++to) {
        const Flow candidate{.from = flow.flow.from,
                             .to = routing::EndPortIndex{to},
                             .lid = topology().end_ports[to].lids.base};
        const auto path = stage->hops(candidate);
        if (path.size() > 2 && path[1].out != hops[1].out) {
            found = candidate;
            up = path[1].out;
        }
    }
    ASSERT_TRUE(found);
    other.flow = *found;
    after[up].transmit_words += kWords;
    FlowReport* const flows[] = {&flow, &other};
    judge_round(topology(), *view, spec,
                {.before = before, .after = after, .adaptive = {}, .running = running}, flows, findings);
    EXPECT_EQ(seen(1).seen, Seen::not_seen);
}

TEST_F(JudgeRound, AnAdaptiveSwitchHasSeveralWays) {
    adaptive = {hops[2].out.index};
    judge();
    EXPECT_EQ(seen(2).seen, Seen::proved) << "it took the one of the table";
    after[hops[2].out].transmit_words = 1000;
    after[beside(2)].transmit_words += kWords;
    judge();
    EXPECT_EQ(seen(2).seen, Seen::no_evidence);
    EXPECT_NE(seen(2).why.find("adaptively"), std::string::npos);
}

TEST_F(JudgeRound, AfterAnAdaptiveSwitchPlainOnesSayNothingEither) {
    adaptive = {hops[1].out.index};  // the leaf; its spines are plain
    for (std::size_t i = 1; i + 1 < hops.size(); ++i) {
        after[hops[i].out].transmit_words = 1000;
        after[hops[i].in].receive_words = 1000;
        after[beside(i)].transmit_words += kWords;
    }
    judge();
    EXPECT_EQ(seen(0).seen, Seen::proved);
    for (std::size_t i = 1; i + 1 < hops.size(); ++i) {
        EXPECT_EQ(seen(i).seen, Seen::no_evidence) << i;
        EXPECT_NE(seen(i).why.find(node_name_of(topology(), hops[1].out)), std::string::npos) << seen(i).why;
    }
    EXPECT_EQ(seen(hops.size() - 1).seen, Seen::proved);
    EXPECT_EQ(flow.seen, Seen::no_evidence);
    EXPECT_TRUE(findings.empty());
    flow.result.initiator.failure = failure::kRetryExceeded;
    judge();
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].at, hops[1].out) << "beyond, it is not known";
    EXPECT_NE(findings[0].text.find("nothing says"), std::string::npos) << findings[0].text;
}

TEST_F(JudgeRound, AFlowThatMayHaveGoneElsewhereIsNotMissedOnAnothersLink) {
    // The other one comes to our spine by an adaptive leaf of its own, or it does not.
    FlowReport other = flow;
    std::optional<Flow> found;
    for (std::uint32_t from = 0; from < topology().end_ports.size() && !found; ++from) {
        const Flow candidate{.from = routing::EndPortIndex{from}, .to = flow.flow.to, .lid = flow.flow.lid};
        const auto path = from == flow.flow.to.value() ? std::vector<Hop>{} : stage->hops(candidate);
        if (path.size() == hops.size() && path[1].out.index != hops[1].out.index &&
            path[4].out == hops[4].out) {
            found = candidate;
            adaptive = {path[1].out.index};
        }
    }
    ASSERT_TRUE(found);
    other.flow = *found;
    FlowReport* const flows[] = {&flow, &other};
    judge_round(topology(), *view, spec,
                {.before = before, .after = after, .adaptive = adaptive, .running = running}, flows,
                findings);
    EXPECT_EQ(seen(4).seen, Seen::no_evidence) << "there were ours, not both";
}

TEST_F(JudgeRound, CountersThatSayNothing) {
    const auto expect_nothing = [&](const char* why) {
        judge();
        EXPECT_EQ(seen(2).seen, Seen::no_evidence);
        EXPECT_NE(seen(2).why.find(why), std::string::npos) << seen(2).why;
    };
    const auto narrow = [&](std::uint64_t words) {
        for (const Place& place : {hops[2].out, hops[2].in}) {
            before[place].wide = after[place].wide = false;
            after[place].transmit_words = after[place].receive_words = words;
        }
    };
    narrow(0xFFFFFFFFU);
    expect_nothing("maximum");
    narrow(0xFFFFFFFEU);
    judge();
    EXPECT_EQ(seen(2).seen, Seen::proved) << "32 bits are enough while they last";
    narrow(999);
    expect_nothing("cleared");
    for (const Place& place : {hops[2].out, hops[2].in}) {
        after[place].wide = true;
    }
    expect_nothing("changed");
    for (const Place& place : {hops[2].out, hops[2].in}) {
        after[place] = {.known = false, .why = "its performance agent does not answer"};
    }
    expect_nothing("does not answer");
    for (const Place& place : {hops[2].out, hops[2].in}) {
        before.erase(place);
    }
    expect_nothing("not read");
}

TEST_F(JudgeRound, OneEndThatSawItIsEnough) {
    judge();
    EXPECT_EQ(flow.by_one_end, 0U);
    after[hops[2].out].known = false;
    judge();
    EXPECT_EQ(seen(2).seen, Seen::proved);
    EXPECT_EQ(flow.by_one_end, 1U) << "and it is told";
    after[hops[2].in].receive_words = 1000;
    judge();
    EXPECT_EQ(seen(2).seen, Seen::not_seen);
}

TEST_F(JudgeRound, NothingSentProvesNothing) {
    flow.has_run = flow.result.ran = false;
    judge();
    EXPECT_EQ(seen(0).seen, Seen::no_evidence);
    EXPECT_EQ(flow.seen, Seen::no_evidence);
    EXPECT_TRUE(findings.empty());
}

TEST_F(JudgeRound, EachErrorCounterBlamesItsPort) {
    using C = mad::PortCounters;
    const auto expect_blamed = [&](auto C::*counter, const char* name) {
        const Place bad = hops[3].in;
        after[bad].counters.*counter = 3;
        judge();
        ASSERT_EQ(findings.size(), 1U) << name;
        EXPECT_EQ(findings[0].kind, Finding::Kind::port_errors);
        EXPECT_EQ(findings[0].at, bad);
        EXPECT_EQ(findings[0].peer, hops[3].out);
        EXPECT_NE(findings[0].text.find(std::string(name) + " +3"), std::string::npos) << findings[0].text;
        EXPECT_EQ(seen(3).seen, Seen::errors_rose);
        before[bad].counters.*counter = 3;
        judge();
        EXPECT_TRUE(findings.empty()) << "that was before";
        before[bad].counters.*counter = 9;
        judge();
        EXPECT_EQ(findings.size(), 1U) << "cleared, and 3 since";
        before[bad].counters.*counter = after[bad].counters.*counter = 0;
    };
    expect_blamed(&C::symbol_errors, "symbol errors");
    expect_blamed(&C::link_recoveries, "link recoveries");
    expect_blamed(&C::link_downed, "link downed");
    expect_blamed(&C::receive_errors, "receive errors");
    expect_blamed(&C::transmit_discards, "transmit discards");
    expect_blamed(&C::local_integrity_errors, "local integrity errors");
    expect_blamed(&C::buffer_overruns, "buffer overruns");
    after[hops[3].in].counters.remote_physical_errors = 5;
    after[hops[3].in].counters.switch_relay_errors = 5;
    judge();
    EXPECT_TRUE(findings.empty()) << "marked bad by somebody else, or without a way";
    after[hops[3].in].counters = {};
    after[hops[3].out].counters.symbol_errors = 0xFFFF;
    judge();
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_NE(findings[0].text.find("or more"), std::string::npos);
}

TEST_F(JudgeRound, AThrottledLinkIsTheLastThatWaits) {
    at_share_of_rate(0.4);
    judge();
    EXPECT_TRUE(findings.empty()) << "slow, but nobody waits: a slow host";
    for (std::size_t i = 0; i <= 3; ++i) {
        after[hops[i].out].counters.transmit_wait = static_cast<std::uint32_t>(kWords);
    }
    after[hops[4].out].counters.transmit_wait = static_cast<std::uint32_t>(kWords / 50);
    judge();
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].kind, Finding::Kind::throttled_link);
    EXPECT_EQ(findings[0].at, hops[3].out);
    EXPECT_EQ(findings[0].peer, hops[3].in);

    after[hops[3].out].transmit_words += 2 * kWords;
    judge();
    EXPECT_EQ(findings.size(), 1U) << "others wait there too";
    after[hops[3].out].transmit_words -= 2 * kWords;
    after[hops[4].out].transmit_words += 2 * kWords;
    judge();
    EXPECT_TRUE(findings.empty()) << "the next link is busy with others' traffic";
    after[hops[4].out].transmit_words -= 2 * kWords;
    after[hops[4].out].known = false;
    judge();
    EXPECT_TRUE(findings.empty()) << "it may be";
    after[hops[4].out].known = true;

    after[hops[3].out].knows_wait = after[hops[2].out].knows_wait = false;
    judge();
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].at, hops[1].out) << "of those that can tell";
    after[hops[3].out].knows_wait = after[hops[2].out].knows_wait = true;

    running[hops[2].in] = mbps_of(topology(), hops[2].out) / 2;
    judge();
    EXPECT_TRUE(findings.empty()) << "a link of the path runs at half the rate, and says so";
    running.clear();

    at_full_rate();
    judge();
    EXPECT_TRUE(findings.empty()) << "as fast as it should be";

    at_share_of_rate(0.4);
    spec.bits_per_second = 1'000'000;
    judge();
    EXPECT_TRUE(findings.empty()) << "we wanted it slow";
    spec.bits_per_second = 0;
    judge();
    EXPECT_EQ(findings.size(), 1U);
    flow.result.bits_per_second = 1'000'000;
    judge();
    EXPECT_TRUE(findings.empty()) << "an agent held it to that";
    flow.result.bits_per_second = 0;
    spec.test = probe::Test::ping;
    judge();
    EXPECT_TRUE(findings.empty()) << "a ping has no rate";
}

TEST_F(JudgeRound, ALittleSaysNothingOfARate) {
    at_share_of_rate(0.01);
    flow.result.initiator.bytes = kBulkBytes - 1;
    for (const Hop& hop : hops) {
        after[hop.out].counters.transmit_wait = static_cast<std::uint32_t>(kWords);
    }
    judge();
    EXPECT_TRUE(findings.empty());
}

TEST_F(JudgeRound, ADeadAgentIsNamedWithItsLeaf) {
    flow.has_run = flow.result.ran = false;
    flow.result.silent_agent = flow.flow.to;
    flow.result.text = "connection refused";
    judge();
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].kind, Finding::Kind::dead_agent);
    EXPECT_EQ(findings[0].at, hops.back().in);
    EXPECT_EQ(findings[0].peer, hops.back().out);
    EXPECT_NE(findings[0].text.find("connection refused"), std::string::npos);
}

TEST_F(JudgeRound, AnAgentThatGoesAwayIsNamedAtItsOwnHost) {
    for (const bool is_initiator : {true, false}) {
        lose_from(3);
        Outcome& gone = is_initiator ? flow.result.initiator : flow.result.target;
        gone.failure = failure::kPeerGone;
        gone.failure_text = "host-x: the connection to its agent broke";
        judge();
        ASSERT_EQ(findings.size(), 1U) << "no lost traffic";
        EXPECT_EQ(findings[0].kind, Finding::Kind::dead_agent);
        EXPECT_EQ(findings[0].at, is_initiator ? hops.front().out : hops.back().in);
        EXPECT_EQ(findings[0].peer, is_initiator ? hops.front().in : hops.back().out);
        EXPECT_NE(findings[0].text.find(gone.failure_text), std::string::npos);
    }
}

TEST_F(JudgeRound, ALimitIsNoLostTraffic) {
    for (const bool is_initiator : {true, false}) {
        flow.result.initiator = flow.result.target = {};
        Outcome& refuser = is_initiator ? flow.result.initiator : flow.result.target;
        refuser.failure = failure::kRefused;
        refuser.failure_text = "the longest that it allows (limits.seconds)";
        flow.result.initiator.was_stopped = true;
        judge();
        ASSERT_EQ(findings.size(), 1U);
        EXPECT_EQ(findings[0].kind, Finding::Kind::ended_early);
        EXPECT_EQ(findings[0].at, is_initiator ? hops.front().out : hops.back().in);
        EXPECT_NE(findings[0].text.find("limits.seconds"), std::string::npos);
    }
}

TEST_F(JudgeRound, AnEndThatNobodyExplainsIsTold) {
    flow.result.initiator.was_stopped = true;
    judge();
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].kind, Finding::Kind::ended_early);
    flow.result.target.was_stopped = true;
    judge();
    EXPECT_TRUE(findings.empty()) << "whoever runs it said stop, to both";
}

TEST_F(JudgeRound, CorruptPayloadIsToldByWhoComparedIt) {
    for (const bool is_initiator : {true, false}) {
        flow.result.initiator.corrupt = is_initiator ? 7 : 0;
        flow.result.target.corrupt = is_initiator ? 0 : 7;
        judge();
        ASSERT_EQ(findings.size(), 1U);
        EXPECT_EQ(findings[0].kind, Finding::Kind::corrupt_data);
        EXPECT_EQ(findings[0].at, is_initiator ? hops.front().out : hops.back().in);
        EXPECT_NE(findings[0].text.find("7 messages"), std::string::npos) << findings[0].text;
    }
    flow.result.target = {};
    flow.result.target.failure = failure::kCorrupt;
    judge();
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].kind, Finding::Kind::corrupt_data);
}

TEST_F(JudgeRound, LostDatagramsAreLostTraffic) {
    flow.result.initiator.messages = 90;
    flow.result.initiator.lost = 10;
    judge();
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].kind, Finding::Kind::lost_traffic);
    EXPECT_NE(findings[0].text.find("10 of 100 messages"), std::string::npos) << findings[0].text;
    after[hops[3].in].counters.symbol_errors = 3;
    judge();
    ASSERT_EQ(findings.size(), 1U) << "which explains it";
    EXPECT_EQ(findings[0].kind, Finding::Kind::port_errors);
}

TEST_F(JudgeRound, WhatTheTargetFailedAtIsTold) {
    flow.result.target.failure = failure::kRetryExceeded;
    flow.result.target.failure_text = "its answers";
    judge();
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].kind, Finding::Kind::lost_traffic);
    EXPECT_NE(findings[0].text.find("at the target (its answers)"), std::string::npos) << findings[0].text;
}

TEST_F(JudgeRound, LostTrafficIsPlacedWhereItWasLastSeen) {
    lose_from(3);
    judge();
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].kind, Finding::Kind::lost_traffic);
    EXPECT_EQ(findings[0].at, hops[3].out);
    EXPECT_EQ(seen(2).seen, Seen::proved) << "retries are counted where they passed";
    EXPECT_EQ(seen(3).seen, Seen::not_seen);
}

TEST_F(JudgeRound, WhatIsSeenToTheEndAndNotAcknowledgedIsTold) {
    flow.result.initiator.failure = failure::kRetryExceeded;
    judge();
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].at, hops.back().in);
}

TEST_F(JudgeRound, AFindingOnTheWayExplainsALoss) {
    lose_from(3);
    const auto known = [&](Finding finding) {
        findings.clear();
        findings.push_back(std::move(finding));
        FlowReport* const flows[] = {&flow};
        judge_round(topology(), *view, spec,
                    {.before = before, .after = after, .adaptive = {}, .running = running}, flows, findings);
        return findings.size() == 1;
    };
    const Place at = hops[3].out;
    Finding entry{.kind = Finding::Kind::wrong_entry,
                  .at = {.index = at.index, .port = mad::PortNum{0}},
                  .lid = flow.flow.lid};
    EXPECT_TRUE(known(entry));
    entry.lid = topology().end_ports[0].lids.base;
    const auto back = stage->hops({.from = flow.flow.to, .to = flow.flow.from, .lid = entry.lid});
    entry.at.index = back[2].out.index;
    EXPECT_TRUE(known(entry)) << "on the way back";
    entry.lid = topology().end_ports[1].lids.base;
    EXPECT_FALSE(known(entry)) << "another LID's";
    EXPECT_TRUE(known({.kind = Finding::Kind::miswired_cable, .at = at}));
    EXPECT_TRUE(known({.kind = Finding::Kind::dead_link, .at = {}, .peer = at}));
    EXPECT_TRUE(known({.kind = Finding::Kind::dead_device, .at = {.index = at.index}}));
    EXPECT_FALSE(known({.kind = Finding::Kind::dead_link, .at = beside(3)})) << "a cable beside it";
}

}  // namespace
}  // namespace ibf::probe::test
