// Several of our SMs on one fabric, in virtual time: who is master, and what that does to the fabric, judged
// by the simulated devices' own state and by what each SM sent.
#include <sstream>

#include <gtest/gtest.h>

#include "base/prng.hpp"
#include "harness.hpp"
#include "mad/codec.hpp"
#include "sim/world.hpp"

namespace ibf::test {
namespace {

using mad::Attribute;
using sm::Role;
using std::chrono::milliseconds;
using std::chrono::seconds;

LabOptions manager(const std::string& at, std::uint8_t priority) {
    LabOptions options;
    options.at = at;
    options.config.priority = priority;
    return options;
}

LabOptions with_key(LabOptions options, std::uint64_t key) {
    options.config.sm_key = mad::SmKey{key};
    return options;
}

bool is_master(const Lab& lab) {
    return lab.sm && sm_state(lab.sm->role()) == mad::SmState::master;
}

bool is_sm_set(const mad::WireMad& wire) {
    const auto smp = mad::parse_smp(wire.bytes);
    return smp && smp->header.attribute == Attribute::sm_info &&
           smp->header.method == static_cast<std::uint8_t>(mad::Method::set);
}

bool is_sm_answer(const mad::WireMad& wire) {
    const auto smp = mad::parse_smp(wire.bytes);
    return smp && smp->header.attribute == Attribute::sm_info && smp->header.is_response();
}

/// How often each host was asked to register anew.
std::map<std::string, std::uint32_t> asked(const Lab& lab) {
    std::map<std::string, std::uint32_t> counts;
    for (std::uint32_t n = 0; n < lab.sim.netlist().nodes.size(); ++n) {
        const routing::NetlistNode& node = lab.sim.netlist().nodes[n];
        if (node.type == mad::NodeType::ca) {
            counts[node.description] = lab.sim.world().device(n).ports[1].events.client_reregister;
        }
    }
    return counts;
}

/// Ports (of adapters, and ports 0) that do not name `lab`'s port as their master.
std::vector<std::string> strangers_to(const Lab& lab, const std::string& host) {
    const mad::Lid master = lab.lid(lab.node(host), 1);
    std::vector<std::string> found;
    for (std::uint32_t n = 0; n < lab.sim.netlist().nodes.size(); ++n) {
        const routing::NetlistNode& node = lab.sim.netlist().nodes[n];
        const std::uint8_t port = node.type == mad::NodeType::switch_ ? 0 : 1;
        if (lab.sim.port_info(n, mad::PortNum{port}).sm_lid != master) {
            found.push_back(node.description);
        }
    }
    return found;
}

/// A on h1 is master and at rest; B on h5 stands by.
class Pair : public ::testing::Test {
protected:
    explicit Pair(LabOptions first = manager("h1", 0), LabOptions second = manager("h5", 0))
        : a(t2(), std::move(first)), b(a, std::move(second)) {
        a.start();
        EXPECT_TRUE(a.run_until_up(seconds{5}));
        a.advance(seconds{15});
        b.start();
        EXPECT_TRUE(a.run_until([&] { return b.sm->role() != Role::discovering; }, seconds{5}));
    }
    [[nodiscard]] bool settled_on(Lab& master) {
        return master.run_until(
            [&] {
                return master.sm->role() == Role::master && master.sm->at_rest() &&
                       master.sm->mode() == fabric::SmMode::up;
            },
            seconds{30});
    }
    void expect_unmoved(const std::string& before) {
        EXPECT_EQ(a.tables_text(), before);
        EXPECT_EQ(a.sets(Attribute::linear_forwarding_table), 0U);
        EXPECT_EQ(a.sim.counters().rule_breaks, 0U);
        EXPECT_EQ(wrong(a), "");
    }
    void forget() {
        a.forget_counts();
        b.forget_counts();
    }
    /// A is suspended with its host, and followed; its heir dies before it wakes, and nobody tells it of
    /// that.
    void sleep_through_another() {
        a.freeze();
        ASSERT_TRUE(settled_on(b));
        ASSERT_EQ(a.sim.port_info(a.node("h2"), mad::PortNum{1}).sm_lid, b.lid(b.node("h5"), 1));
        b.kill();
        a.thaw();
        a.advance(seconds{15});
        EXPECT_EQ(a.sm->role(), Role::master);
        EXPECT_EQ(wrong(a), "");
    }
    Lab a;
    Lab b;
};

// What lies behind a switch that falls silent in the middle of the first look may be the master.
TEST(Silence, OfASwitchThatHidesTheMasterIsLookedPast) {
    Lab a(t2(), manager("h1", 0));
    a.start();
    ASSERT_TRUE(a.run_until_up(seconds{5}));
    Lab b(a, manager("h5", 9));
    bool silent = true;
    b.on_deliver = [&](mad::WireMad& wire) {
        const auto smp = mad::parse_smp(wire.bytes);
        constexpr std::uint8_t kBeyondASpine = 3;
        const bool lost =
            smp && ((smp->header.attribute == Attribute::port_info && smp->path.hops >= kBeyondASpine) ||
                    smp->header.attribute == Attribute::sm_info);  // nor does the master make itself heard
        return !silent || !lost;
    };
    b.start();
    ASSERT_TRUE(a.run_until([&] { return b.sweeps("full") > 0; }, seconds{30}));
    silent = false;
    ASSERT_TRUE(a.run_until([&] { return b.sm->role() != Role::discovering; }, seconds{30}));
    EXPECT_EQ(b.sm->role(), Role::standby);
    EXPECT_EQ(b.own_sets(), 0U);
}

TEST_F(Pair, AMasterThatSleptThroughAnotherOneSetsUpAnew) {
    sleep_through_another();
    EXPECT_EQ(a.sim.port_info(a.node("h2"), mad::PortNum{1}).sm_lid, a.lid(a.node("h1"), 1));
}

class OnASwitch : public Pair {
protected:
    OnASwitch() : Pair(manager("spine1", 0)) {}
};

TEST_F(OnASwitch, AMasterThatSleptThroughAnotherOneSetsUpAnew) {
    sleep_through_another();
    EXPECT_EQ(a.sim.port_info(a.node("h2"), mad::PortNum{1}).sm_lid, a.lid(a.node("spine1"), 0));
}

TEST_F(Pair, C57_APlainStartBesideALivingMasterWritesNothing) {
    EXPECT_EQ(b.sm->role(), Role::standby);
    EXPECT_EQ(b.sm->mode(), fabric::SmMode::standby);
    a.advance(seconds{60});
    b.request_sweep(sm::SweepScope::full);
    a.advance(seconds{60});
    EXPECT_EQ(b.own_sets(), 0U);
    EXPECT_EQ(b.sm->role(), Role::standby);
    EXPECT_EQ(a.sm->role(), Role::master);
    EXPECT_EQ(a.sm->mode(), fabric::SmMode::up);
    ASSERT_EQ(b.events("other-master"), 1U);
    EXPECT_NE(b.find_event("other-master")->text.find("h1"), std::string::npos);
}

// Killed at any moment between two polls: known within (N + 1.5) P, with P = 1 s and N = 3.
TEST_F(Pair, AMasterThatDiesIsFollowedWithinFourAndAHalfSecondsAndNothingMoves) {
    const std::string before = a.tables_text();
    for (int i = 0; i < 8; ++i) {
        Lab& old = i % 2 == 0 ? a : b;
        Lab& heir = i % 2 == 0 ? b : a;
        ASSERT_EQ(heir.sm->role(), Role::standby) << i;
        old.advance(milliseconds{137 * i});
        forget();
        const auto asked_before = asked(a);
        const base::Instant died = a.now;
        old.kill();
        ASSERT_TRUE(heir.run_until([&] { return heir.own_sets() > 0; }, seconds{60}));
        EXPECT_LE(a.now - died, milliseconds{4500}) << i;
        EXPECT_GE(a.now - died, seconds{2}) << i;
        ASSERT_TRUE(settled_on(heir));
        expect_unmoved(before);
        EXPECT_EQ(strangers_to(a, i % 2 == 0 ? "h5" : "h1"), std::vector<std::string>{});
        for (const auto& [host, count] : asked(a)) {
            EXPECT_EQ(count, asked_before.at(host) + 1) << host << " is asked to register anew, once";
        }
        old.start();
        old.advance(seconds{20});
        EXPECT_EQ(old.own_sets(), 0U);
    }
}

// C51, C52: the bit comes after the SA has been shown the fabric, and never to a switch.
TEST_F(Pair, ClientsAreAskedToRegisterOnlyWhenTheSaAnswers) {
    std::uint32_t early = 0;
    b.on_mad = [&](base::Instant, std::uint32_t, const mad::Smp& smp, mad::MadStatus) {
        const bool asks = smp.header.attribute == Attribute::port_info && smp.header.method == 2 &&
                          mad::decode_port_info(smp.data).client_reregister;
        early += asks && b.sm->mode() != fabric::SmMode::up ? 1U : 0U;
    };
    a.kill();
    ASSERT_TRUE(settled_on(b));
    EXPECT_EQ(early, 0U);
    EXPECT_EQ(b.events("reregister"), 1U);
}

TEST_F(Pair, NoTakeOverWhenAnyTwoAnswersInARowAreLost) {
    for (std::uint32_t phase = 0; phase < 3; ++phase) {
        std::uint32_t answers = phase;
        bool doubted = false;
        b.on_deliver = [&](mad::WireMad& wire) {
            doubted = doubted || b.sm->role() != Role::standby;
            return !is_sm_answer(wire) || ++answers % 3 == 0;
        };
        b.advance(seconds{60});
        EXPECT_GT(answers, 50U);
        EXPECT_FALSE(doubted) << "not even that";
        EXPECT_EQ(b.own_sets(), 0U);
    }
}

// Three in a row: it looks, finds its master alive, and stands by again.
TEST_F(Pair, AMasterThatOnlySeemedDeadIsFoundAlive) {
    std::uint32_t lost = 0;
    b.on_deliver = [&](mad::WireMad& wire) { return !is_sm_answer(wire) || ++lost > 3; };
    ASSERT_TRUE(b.run_until([&] { return b.sm->role() == Role::discovering; }, seconds{10}));
    ASSERT_TRUE(b.run_until([&] { return b.sm->role() == Role::standby; }, seconds{10}));
    b.advance(seconds{30});
    EXPECT_EQ(b.own_sets(), 0U);
    EXPECT_EQ(a.sm->role(), Role::master);
}

// The way to the master is what died, not the master.
TEST_F(Pair, AnotherWayToTheMasterIsFound) {
    const fabric::Snapshot seen = b.snapshot();
    const std::uint32_t h1 = seen.fabric->find(a.sim.netlist().nodes[a.node("h1")].guid);
    const std::string way = seen.fabric->nodes[h1].ports[1].path.to_string();
    a.inject(way.starts_with("0,1,5") ? "link-down leaf2/5" : "link-down leaf2/6");
    ASSERT_TRUE(b.run_until([&] { return b.sm->role() == Role::discovering; }, seconds{10})) << way;
    a.advance(seconds{30});
    EXPECT_EQ(b.sm->role(), Role::standby);
    EXPECT_EQ(b.own_sets(), 0U);
    EXPECT_EQ(a.sm->role(), Role::master);
}

// Its port stays up, claims to have an SM, and says nothing: there is no more waiting for its word.
TEST_F(Pair, AMasterWhoseHostHangsIsFollowedAsFast) {
    const std::uint32_t h1 = a.node("h1");
    const mad::PortInfo claims = a.sim.port_info(h1, mad::PortNum{1});
    ASSERT_TRUE(claims.is_sm());
    const base::Instant died = a.now;
    a.inject("drop h1\ndead h1");
    a.kill();
    a.sim.set_port_info(h1, mad::PortNum{1}, claims);
    b.forget_counts();
    ASSERT_TRUE(b.run_until([&] { return b.own_sets() > 0; }, seconds{60}));
    EXPECT_LE(a.now - died, milliseconds{4500});
}

// A switch that answered and then fell silent under the look may hide the master: one more look, and no more,
// before the first Set. Besides, its silence is waited for: 200 ms, doubled three times, and 100 ms until the
// look.
TEST_F(Pair, ASwitchThatFallsSilentMeanwhileCostsOneMoreLook) {
    const mad::Guid spine = a.sim.netlist().nodes[a.node("spine1")].guid;
    bool answered = false;
    b.on_deliver = [&](mad::WireMad& wire) {
        const auto smp = mad::parse_smp(wire.bytes);
        answered = answered || (b.sm->role() == Role::discovering && smp &&
                                smp->header.attribute == Attribute::node_info &&
                                mad::decode_node_info(smp->data).node_guid == spine);
        return true;
    };
    const base::Instant died = a.now;
    a.kill();
    b.forget_counts();
    ASSERT_TRUE(b.run_until([&] { return answered; }, seconds{10}));
    const auto looks = b.sweeps("full");
    a.inject("dead spine1");
    ASSERT_TRUE(b.run_until([&] { return b.own_sets() > 0; }, seconds{60}));
    EXPECT_EQ(b.sweeps("full"), looks + 1) << "looks that ended without a Set";
    EXPECT_LE(a.now - died, milliseconds{4500 + 3000 + 100});
    ASSERT_TRUE(settled_on(b));
}

class Ranks : public Pair {
protected:
    Ranks() : Pair(manager("h1", 3), manager("h5", 8)) {}
};

// Up by priority, back by priority, and back by the end of the other.
TEST_F(Ranks, AStandbyOfHigherPriorityIsHandedOverTo) {
    ASSERT_TRUE(settled_on(b));
    a.advance(seconds{15});
    const std::string before = a.tables_text();
    EXPECT_EQ(a.sm->role(), Role::standby);
    EXPECT_EQ(b.sm->role(), Role::master);
    forget();
    sm::SmConfig config;
    config.priority = 12;
    a.replace_config(config);  // a standby tells by trap 144
    ASSERT_TRUE(a.run_until([&] { return a.sm->role() == Role::master; }, seconds{3}));
    ASSERT_TRUE(settled_on(a));
    EXPECT_EQ(b.sm->role(), Role::standby);
    a.kill();
    ASSERT_TRUE(settled_on(b));
    expect_unmoved(before);
    EXPECT_EQ(strangers_to(a, "h5"), std::vector<std::string>{});
}

// C47: whichever of the messages of a hand-over are lost.
TEST(Handover, C47_LostMessagesDelayItAndNoMore) {
    for (std::uint32_t lost = 0; lost <= 6; ++lost) {
        Lab a(t2(), manager("h1", 3));
        a.start();
        ASSERT_TRUE(a.run_until_up(seconds{5}));
        a.advance(seconds{15});
        Lab b(a, manager("h5", 8));
        std::uint32_t seen_a = 0;
        std::uint32_t seen_b = 0;
        b.on_deliver = [&](mad::WireMad& wire) { return !is_sm_set(wire) || ++seen_b > lost % 4; };
        a.on_deliver = [&](mad::WireMad& wire) {
            return !(is_sm_set(wire) || (is_sm_answer(wire) && a.sm->role() == Role::handing_over)) ||
                   ++seen_a > lost;
        };
        b.start();
        ASSERT_TRUE(a.run_until([&] { return b.sm->role() == Role::master && a.sm->role() == Role::standby; },
                                seconds{30}))
            << lost << ": " << to_string(a.sm->role()) << ", " << to_string(b.sm->role());
        a.advance(seconds{30});
        EXPECT_EQ(b.sm->role(), Role::master);
        EXPECT_EQ(a.sm->role(), Role::standby);
        EXPECT_EQ(wrong(a), "");
    }
}

// The trap that tells of its IsSM bit is lost: a standby of higher priority sends one of its own.
TEST(Handover, C47_AStandbyOfHigherPriorityTellsOfItself) {
    Lab a(t2(), manager("h1", 3));
    a.start();
    ASSERT_TRUE(a.run_until_up(seconds{5}));
    a.advance(milliseconds{10'500});  // a light sweep has just been
    a.inject("mute-traps *");
    Lab b(a, manager("h5", 8));
    b.start();
    ASSERT_TRUE(a.run_until([&] { return b.sm->role() == Role::master; }, seconds{4}));
}

/// T2, cut between the spines and leaf 2: h1..h4 here, h5..h8 there.
constexpr const char* kCut = "link-down leaf2/5\nlink-down leaf2/6";
constexpr const char* kJoin = "link-up leaf2/5\nlink-up leaf2/6";

// C46, C51: cut, both sides have a master; joined, one is left, within a second or two, and each port of the
// other side learns of it and is asked to register once.
TEST_F(Pair, C46_C51_CutAndJoined) {
    a.inject(kCut);
    ASSERT_TRUE(b.run_until([&] { return b.sm->role() == Role::master && b.sm->at_rest(); }, seconds{10}));
    a.advance(seconds{15});
    EXPECT_EQ(a.sm->role(), Role::master);
    EXPECT_EQ(asked(a).at("h6"), 1U);
    const auto before = asked(a);
    const base::Instant joined = a.now;
    a.inject(kJoin);
    ASSERT_TRUE(a.run_until([&] { return !is_master(a) || !is_master(b); }, seconds{60}));
    EXPECT_LE(a.now - joined, milliseconds{1500});
    ASSERT_TRUE(settled_on(a)) << "of equal priority the lower GUID's";
    a.advance(seconds{30});
    EXPECT_EQ(b.sm->role(), Role::standby);
    EXPECT_EQ(strangers_to(a, "h1"), std::vector<std::string>{});
    EXPECT_EQ(wrong(a), "");
    for (const auto& [host, count] : asked(a)) {
        const bool there = host >= "h5";
        EXPECT_EQ(count, before.at(host) + (there ? 1U : 0U)) << host;
    }
}

// The same where two subnets never knew each other, and no trap tells of the cable.
TEST(Join, C46_TwoStrangersWithoutTraps) {
    Lab a(t2(), manager("h1", 0));
    a.inject("mute-traps *");
    a.inject(kCut);
    a.advance(milliseconds{10});
    Lab b(a, manager("h5", 4));
    a.start();
    b.start();
    ASSERT_TRUE(a.run_until_up(seconds{10}));
    ASSERT_TRUE(b.run_until_up(seconds{10}));
    a.inject(kJoin);
    ASSERT_TRUE(a.run_until([&] { return !is_master(a) && b.sm->role() == Role::master; }, seconds{13}))
        << to_string(a.sm->role()) << ", " << to_string(b.sm->role());
    a.advance(seconds{40});
    EXPECT_EQ(a.sm->role(), Role::standby);
    EXPECT_EQ(strangers_to(a, "h5"), std::vector<std::string>{});
    EXPECT_EQ(wrong(a), "");
}

class OtherKey : public Pair {
protected:
    OtherKey() : Pair(manager("h1", 0), with_key(manager("h5", 9), 2)) {}
};

TEST_F(OtherKey, C55_IsToldAndNotHandedOverTo) {
    std::uint32_t handed = 0;
    b.on_deliver = [&](mad::WireMad& wire) {
        handed += is_sm_set(wire) ? 1U : 0U;
        return true;
    };
    a.advance(seconds{60});
    EXPECT_EQ(handed, 0U);
    EXPECT_EQ(a.sm->role(), Role::master);
    EXPECT_EQ(b.sm->role(), Role::standby);
    EXPECT_EQ(b.own_sets(), 0U);
    EXPECT_EQ(a.events("sm-untrusted"), 1U);
    EXPECT_EQ(b.events("sm-untrusted"), 1U);
    EXPECT_EQ(wrong(a), "");
    // Two masters that do not trust each other: the lower one steps down by itself.
    a.inject(kCut);
    ASSERT_TRUE(b.run_until_up(seconds{20}));
    a.inject(kJoin);
    ASSERT_TRUE(a.run_until([&] { return a.sm->role() == Role::standby; }, seconds{20}));
    ASSERT_TRUE(settled_on(b));
    a.advance(seconds{20});
    EXPECT_EQ(handed, 0U);
    EXPECT_EQ(wrong(a), "");
}

class Flapping : public Pair {
protected:
    Flapping() : Pair(manager("h1", 9), manager("h5", 0)) {}
};

// C54: the master restarts five times in a minute: mastership moves once, not back.
TEST_F(Flapping, C54_MastershipMovesOnce) {
    std::uint32_t moves = 0;
    bool b_was = false;
    const auto watch = [&](base::Duration time) {
        const base::Instant until = a.now + time;
        static_cast<void>(a.run_until(
            [&] {
                moves += is_master(b) != b_was ? 1U : 0U;
                b_was = is_master(b);
                return a.now >= until;
            },
            time));
    };
    for (int restart = 0; restart < 5; ++restart) {
        a.kill();
        watch(seconds{6});
        a.start();
        watch(seconds{6});
    }
    EXPECT_EQ(moves, 1U);
    EXPECT_TRUE(is_master(b));
    watch(std::chrono::minutes{20});
    EXPECT_EQ(moves, 2U) << "in the end, when it has stayed, it gets its own back";
    EXPECT_TRUE(is_master(a));
    EXPECT_EQ(wrong(a), "");
}

// A restart that is over before the polls give up moves nothing.
TEST_F(Pair, AQuickRestartMovesNothing) {
    for (int i = 0; i < 5; ++i) {
        a.kill();
        a.advance(milliseconds{500});
        a.start();
        a.advance(seconds{10});
        EXPECT_EQ(a.sm->role(), Role::master);
        EXPECT_EQ(b.sm->role(), Role::standby);
    }
    EXPECT_EQ(b.own_sets(), 0U);
}

std::size_t masters(const std::vector<Lab*>& labs) {
    return static_cast<std::size_t>(
        std::count_if(labs.begin(), labs.end(), [](Lab* lab) { return is_master(*lab); }));
}

// Started at once, or as far apart as a discovery takes.
TEST(Three, StartedTogetherOneBecomesMaster) {
    base::Prng prng(7);
    for (int round = 0; round < 40; ++round) {
        Lab a(t2(), manager("h1", static_cast<std::uint8_t>(prng.below(3))));
        Lab b(a, manager("h5", static_cast<std::uint8_t>(prng.below(3))));
        Lab c(a, manager("h8", static_cast<std::uint8_t>(prng.below(3))));
        for (Lab* lab : {&a, &b, &c}) {
            lab->start();
            lab->advance(std::chrono::microseconds{prng.below(120)});
        }
        a.advance(seconds{40});
        EXPECT_EQ(masters({&a, &b, &c}), 1U) << round << ": " << to_string(a.sm->role()) << ", "
                                             << to_string(b.sm->role()) << ", " << to_string(c.sm->role());
        EXPECT_EQ(wrong(a), "") << round;
    }
}

TEST(Three, OneAfterTheOther) {
    Lab a(t2(), manager("h1", 0));
    Lab b(a, manager("h5", 0));
    Lab c(a, manager("h8", 0));
    const std::vector<Lab*> labs{&a, &b, &c};
    a.start();
    ASSERT_TRUE(a.run_until_up(seconds{5}));
    b.start();
    c.start();
    a.advance(seconds{20});
    const std::string before = a.tables_text();
    EXPECT_EQ(masters(labs), 1U);
    a.kill();
    a.advance(seconds{20});
    EXPECT_EQ(masters(labs), 1U);
    b.kill();
    a.advance(seconds{20});
    EXPECT_EQ(masters(labs), 1U);
    EXPECT_TRUE(is_master(c));
    EXPECT_EQ(a.tables_text(), before);
    EXPECT_EQ(strangers_to(a, "h8"), std::vector<std::string>{});
}

/// SubnSet(SMInfo) from h8, to the SM on h1 or h5.
void send_sm_set(Lab& lab, sim::Simulator::ClientId from, const std::string& to, std::uint32_t modifier,
                 const mad::SmInfo& shown) {
    mad::Smp smp;
    smp.header.method = static_cast<std::uint8_t>(mad::Method::set);
    smp.header.attribute = Attribute::sm_info;
    smp.header.modifier = modifier;
    smp.header.tid = (std::uint64_t{from} << 32U) | 0x100U;
    smp.path = mad::DrPath{}.then(mad::PortNum{1});
    smp.path = to == "h5" ? smp.path.then(mad::PortNum{1})
                          : smp.path.then(mad::PortNum{5}).then(mad::PortNum{1}).then(mad::PortNum{1});
    smp.data = mad::encode(shown);
    mad::WireMad wire{mad::encode_smp(smp), {}, {}};
    wire.address.lid = mad::kLidPermissive;
    lab.sim.send(from, wire, lab.now);
}

// C49: Sets, cables and restarts in a hundred random orders: nothing breaks, and one master is left.
TEST(Orders, C49_AHundredRandomOnes) {
    for (std::uint64_t seed = 0; seed < 100 && !::testing::Test::HasFailure(); ++seed) {
        base::Prng prng(seed);
        Lab a(t2(), manager("h1", 2));
        Lab b(a, manager("h5", static_cast<std::uint8_t>(prng.below(5))));
        const auto stranger = a.sim.join("h8", 0, [](mad::WireMad&&) {}).value();
        a.start();
        b.start();
        for (int step = 0; step < 25; ++step) {
            Lab& lab = prng.below(2) == 0 ? a : b;
            const mad::SmInfo shown{mad::Guid{0x0002C90000000C01ULL}, mad::SmKey{prng.below(2)}, 1,
                                    static_cast<std::uint8_t>(prng.below(16)),
                                    prng.below(3) == 0 ? mad::SmState::standby : mad::SmState::master};
            switch (prng.below(8)) {
                case 0: a.inject(kCut); break;
                case 1: a.inject(kJoin); break;
                case 2:
                    lab.kill();
                    lab.start();
                    break;
                case 3: a.inject("link-down leaf1/1"); break;
                case 4: a.inject("link-up leaf1/1"); break;
                default:
                    send_sm_set(a, stranger, prng.below(2) == 0 ? "h1" : "h5",
                                1 + static_cast<std::uint32_t>(prng.below(5)), shown);
                    break;
            }
            a.advance(milliseconds{prng.below(2500)});
        }
        a.inject(kJoin);
        a.inject("link-up leaf1/1");
        for (Lab* lab : {&a, &b}) {
            if (lab->sm->role() == Role::not_active) {
                lab->kill();
                lab->start();
            }
        }
        a.advance(seconds{90});
        EXPECT_EQ(masters({&a, &b}), 1U)
            << seed << ": " << to_string(a.sm->role()) << ", " << to_string(b.sm->role());
        EXPECT_EQ(wrong(a), "") << seed;
    }
}

/// Whose timers are those of a test, so that two masters write at the same time.
LabOptions in_a_hurry(LabOptions options) {
    options.config.poll_interval = milliseconds{50};
    options.config.hand_over_hold = {};
    options.config.trap_hold_down = milliseconds{10};
    options.config.sweep_interval = milliseconds{100};
    options.config.mads.timeout = milliseconds{20};
    return options;
}

/// But for the rules of the wire: a port that the other one has set meanwhile refuses the next step.
std::string wrong_at_rest(const Lab& lab) {
    std::istringstream all(wrong(lab));
    std::string kept;
    for (std::string line; std::getline(all, line);) {
        kept += line.starts_with("wire rule") ? "" : line + "\n";
    }
    return kept;
}

/// A hurried order of Sets, cables and managers whose host stops now and then, milliseconds apart.
void hurry(std::uint64_t seed) {
    base::Prng prng(seed);
    Lab a(t2(), in_a_hurry(manager("h1", 2)));
    Lab b(a, in_a_hurry(manager("h5", static_cast<std::uint8_t>(prng.below(5)))));
    const auto stranger = a.sim.join("h8", 0, [](mad::WireMad&&) {}).value();
    a.start();
    b.start();
    std::array<bool, 2> frozen{};
    for (int step = 0; step < 25; ++step) {
        const bool first = prng.below(2) == 0;
        const mad::SmInfo shown{mad::Guid{0x0002C90000000C01ULL}, mad::SmKey{1}, 1,
                                static_cast<std::uint8_t>(prng.below(16)), mad::SmState::master};
        switch (prng.below(10)) {
            case 0: a.inject("link-down leaf1/5\nlink-down leaf1/6"); break;
            case 1: a.inject("link-up leaf1/5\nlink-up leaf1/6"); break;
            case 2: a.inject(first ? "link-down leaf1/1" : "link-down leaf2/1"); break;
            case 3: a.inject(first ? "link-up leaf1/1" : "link-up leaf2/1"); break;
            case 4:
            case 5: {
                Lab& lab = first ? a : b;
                bool& is = frozen[first ? 0 : 1];
                is ? lab.thaw() : lab.freeze();
                is = !is;
                break;
            }
            default: send_sm_set(a, stranger, first ? "h1" : "h5", prng.below(3) == 0 ? 4 : 1, shown); break;
        }
        a.advance(std::chrono::microseconds{prng.below(15'000)});
    }
    if (frozen[0]) {
        a.thaw();
    }
    if (frozen[1]) {
        b.thaw();
    }
    a.inject("link-up leaf1/5\nlink-up leaf1/6\nlink-up leaf1/1\nlink-up leaf2/1");
    a.advance(seconds{20});
    EXPECT_EQ(masters({&a, &b}), 1U) << seed << ": " << to_string(a.sm->role()) << ", "
                                     << to_string(b.sm->role());
    EXPECT_EQ(wrong_at_rest(a), "") << seed;
}

// In 22301 the one that is left had acknowledgements for tables that the other wrote over, and in 3718 each
// of them cleared the bits that would have told the other one of it.
TEST(Orders, C49_TwoThatWriteAtTheSameTime) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        hurry(seed);
    }
    hurry(3718);
    hurry(22301);
}

// C28: a standby that is gone is not asked any more.
TEST_F(Pair, C28_AStandbyThatIsGoneIsForgotten) {
    a.advance(seconds{15});
    ASSERT_EQ(a.snapshot().fabric->sms.size(), 1U);
    b.kill();  // IsSM goes, trap 144 comes
    a.advance(seconds{2});
    EXPECT_TRUE(a.snapshot().fabric->sms.empty());
    EXPECT_EQ(a.sm->role(), Role::master);
}

TEST_F(Pair, DisableAndStandby) {
    const auto stranger = a.sim.join("h8", 0, [](mad::WireMad&&) {}).value();
    const mad::SmInfo master{mad::Guid{0x0002C90000000501ULL}, mad::SmKey{1}, 1, 0, mad::SmState::master};
    send_sm_set(a, stranger, "h5", 3, {master.guid, mad::SmKey{2}, 1, 0, mad::SmState::master});
    a.advance(seconds{1});
    EXPECT_EQ(b.sm->role(), Role::standby) << "another key";
    send_sm_set(a, stranger, "h5", 3, master);
    a.advance(seconds{1});
    ASSERT_EQ(b.sm->role(), Role::not_active);
    b.forget_counts();
    a.kill();
    a.advance(seconds{60});
    EXPECT_EQ(b.sm->role(), Role::not_active);
    EXPECT_EQ(b.own_sets(), 0U);
    send_sm_set(a, stranger, "h5", 4, master);
    ASSERT_TRUE(settled_on(b)) << "and then its master is dead";
}

}  // namespace
}  // namespace ibf::test
