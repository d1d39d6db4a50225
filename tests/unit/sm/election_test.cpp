// The election by itself: every cell of its table, rank, trust, polling and who inherits, with values.
#include "daemon/sm/election.hpp"

#include <map>
#include <sstream>

#include <gtest/gtest.h>

namespace ibf::test {
namespace {

using fabric::OtherSm;
using fabric::SmTrust;
using mad::Guid;
using mad::SmInfo;
using mad::SmKey;
using mad::SmState;
using sm::Act;
using sm::Election;
using sm::Input;
using sm::Role;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr Guid kSelf{100};
constexpr Guid kLower{200};  ///< of rank, at equal priority
constexpr Guid kHigher{50};

// One line a cell, as IBA 14.4.1 and decision 16 have it: input, role: next role, act.
constexpr std::string_view kWanted = R"(
higher_master    discovering: standby, watch
higher_master    standby: standby, watch
higher_master    not active: not active, nothing
higher_master    master: handing over, hand over
higher_master    contested: handing over, hand over
higher_master    handing over: standby, step down
foreign_master   discovering: standby, watch
foreign_master   standby: standby, watch
foreign_master   not active: not active, nothing
foreign_master   master: standby, step down
foreign_master   contested: standby, step down
foreign_master   handing over: standby, step down
lower_master     discovering: standby, watch
lower_master     standby: standby, watch
lower_master     not active: not active, nothing
lower_master     master: contested, call
lower_master     contested: contested, call
lower_master     handing over: contested, call
heir             discovering: standby, watch
heir             standby: standby, nothing
heir             not active: not active, nothing
heir             master: handing over, hand over
heir             contested: handing over, hand over
heir             handing over: handing over, nothing
higher_waiting   discovering: standby, watch
higher_waiting   standby: standby, nothing
higher_waiting   not active: not active, nothing
higher_waiting   master: master, serve
higher_waiting   contested: master, serve
higher_waiting   handing over: master, serve
alone            discovering: master, serve
alone            standby: standby, nothing
alone            not active: not active, nothing
alone            master: master, serve
alone            contested: master, serve
alone            handing over: master, serve
polled_master    discovering: discovering, nothing
polled_master    standby: standby, nothing
polled_master    not active: not active, nothing
polled_master    master: master, nothing
polled_master    contested: contested, call
polled_master    handing over: standby, step down
polled_waiting   discovering: discovering, nothing
polled_waiting   standby: standby, nothing
polled_waiting   not active: not active, nothing
polled_waiting   master: master, nothing
polled_waiting   contested: master, look
polled_waiting   handing over: handing over, hand over
polled_gone      discovering: discovering, nothing
polled_gone      standby: discovering, look
polled_gone      not active: not active, nothing
polled_gone      master: master, nothing
polled_gone      contested: master, look
polled_gone      handing over: master, look
handover         discovering: discovering, look
handover         standby: master, acknowledge
handover         not active: not active, refuse
handover         master: master, look
handover         contested: master, look
handover         handing over: master, look
acknowledge      discovering: discovering, refuse
acknowledge      standby: standby, nothing
acknowledge      not active: not active, refuse
acknowledge      master: master, refuse
acknowledge      contested: contested, refuse
acknowledge      handing over: standby, step down
disable          discovering: discovering, refuse
disable          standby: not active, sleep
disable          not active: not active, refuse
disable          master: master, refuse
disable          contested: contested, refuse
disable          handing over: handing over, refuse
standby          discovering: discovering, refuse
standby          standby: standby, refuse
standby          not active: standby, watch
standby          master: master, refuse
standby          contested: contested, refuse
standby          handing over: handing over, refuse
discover         discovering: discovering, refuse
discover         standby: discovering, look
discover         not active: not active, refuse
discover         master: master, refuse
discover         contested: contested, refuse
discover         handing over: handing over, refuse
)";

constexpr std::array<std::string_view, sm::kInputs> kInputWords{
    "higher_master", "foreign_master", "lower_master",   "heir",        "higher_waiting",
    "alone",         "polled_master",  "polled_waiting", "polled_gone", "handover",
    "acknowledge",   "disable",        "standby",        "discover"};

std::string cell(Input input, Role role) {
    const sm::Rule rule = sm::rule_of(role, input);
    return fmt::format("{:<16} {}: {}, {}", kInputWords[static_cast<std::size_t>(input)], to_string(role),
                       to_string(rule.next), to_string(rule.act));
}

TEST(ElectionTable, EveryCellIsAsWritten) {
    std::istringstream in{std::string(kWanted)};
    std::string line;
    std::getline(in, line);
    for (std::size_t input = 0; input < sm::kInputs; ++input) {
        for (std::size_t role = 0; role < sm::kRoles; ++role) {
            ASSERT_TRUE(std::getline(in, line));
            EXPECT_EQ(cell(static_cast<Input>(input), static_cast<Role>(role)), line);
        }
    }
    EXPECT_FALSE(std::getline(in, line));
}

// What must hold of any such table.
TEST(ElectionTable, NobodyBecomesMasterExceptByALookAHandoverOrTheOthersEnd) {
    for (std::size_t i = 0; i < sm::kInputs; ++i) {
        for (std::size_t r = 0; r < sm::kRoles; ++r) {
            const auto input = static_cast<Input>(i);
            const auto role = static_cast<Role>(r);
            const sm::Rule rule = sm::rule_of(role, input);
            const bool was = sm_state(role) == SmState::master;
            const bool is = sm_state(rule.next) == SmState::master;
            if (is && !was) {
                EXPECT_TRUE((role == Role::discovering && input == Input::alone) ||
                            (role == Role::standby && input == Input::handover))
                    << cell(input, role);
            }
            if (was && !is) {  // who has been master lets go of what it knew
                EXPECT_EQ(rule.act, Act::step_down) << cell(input, role);
            }
            if (rule.act == Act::refuse || rule.act == Act::none) {
                EXPECT_EQ(rule.next, role) << cell(input, role);
            }
            if (input <= Input::lower_master) {
                EXPECT_NE(rule.next, Role::master) << "beside another master: " << cell(input, role);
            }
        }
    }
}

TEST(ElectionTable, TheModifiersOfSubnSetSmInfo) {
    const std::map<std::uint32_t, Input> wanted{{1, Input::handover},
                                                {2, Input::acknowledge},
                                                {3, Input::disable},
                                                {4, Input::standby},
                                                {5, Input::discover}};
    for (const auto& [modifier, input] : wanted) {
        EXPECT_EQ(sm::request_of(modifier), input);
        EXPECT_EQ(sm::modifier_of(input), modifier);
    }
    EXPECT_FALSE(sm::request_of(0));
    EXPECT_FALSE(sm::request_of(6));
    EXPECT_FALSE(sm::request_of(0xFFFFFFFFU));
}

OtherSm other(Guid guid, std::uint8_t priority, SmState state, SmTrust trust = SmTrust::ours) {
    OtherSm sm;
    sm.guid = guid;
    sm.priority = priority;
    sm.state = state;
    sm.trust = trust;
    return sm;
}

SmInfo info_of(const OtherSm& sm, SmKey key, std::uint32_t count = 1) {
    return {sm.guid, key, count, sm.priority, sm.state};
}

struct Bench {
    explicit Bench(std::uint8_t priority = 5) {
        policy.priority = priority;
        policy.sm_key = SmKey{1};
        policy.interval = seconds{1};
        policy.misses = 3;
        policy.hold = seconds{60};
        election.emplace(kSelf, policy);
    }
    Role look(const std::vector<OtherSm>& others) { return election->on_fabric(others, now).to; }
    /// Polls that are due up to `until`; `answer`: what the polled SM says, if anything.
    Election::Step polls(base::Duration time, const std::optional<SmInfo>& answer) {
        Election::Step last;
        for (const base::Instant until = now + time; election->due() && *election->due() <= until;) {
            now = *election->due();
            EXPECT_TRUE(election->poll(now));
            if (answer) {
                last = election->on_poll_answer(*answer, now);
            } else {
                now += election->poll_timeout();
                last = election->on_poll_lost(now);
            }
            ++polled;
        }
        return last;
    }
    sm::ElectionPolicy policy;
    std::optional<Election> election;
    base::Instant now{seconds{100}};
    std::uint32_t polled = 0;
};

TEST(Election, RankIsThePriorityThenTheLowerGuid) {
    const auto alone_with = [](const OtherSm& sm) { return Bench().look({sm}); };
    EXPECT_EQ(Bench().look({}), Role::master);
    EXPECT_EQ(alone_with(other(kLower, 5, SmState::discovering)), Role::master);
    EXPECT_EQ(alone_with(other(kHigher, 5, SmState::discovering)), Role::standby);
    EXPECT_EQ(alone_with(other(kHigher, 5, SmState::standby)), Role::standby);
    EXPECT_EQ(alone_with(other(kHigher, 4, SmState::standby)), Role::master);
    EXPECT_EQ(alone_with(other(kLower, 6, SmState::discovering)), Role::standby);
    EXPECT_EQ(alone_with(other(kHigher, 15, SmState::not_active)), Role::master);
    for (const SmTrust trust : {SmTrust::unknown, SmTrust::ours, SmTrust::foreign}) {  // C57, C55
        EXPECT_EQ(alone_with(other(kLower, 0, SmState::master, trust)), Role::standby);
        EXPECT_EQ(alone_with(other(kHigher, 15, SmState::master, trust)), Role::standby);
    }
    OtherSm silent = other(kHigher, 15, SmState::master);
    silent.answered = false;
    EXPECT_EQ(alone_with(silent), Role::master) << "whoever waits for it does so before";
}

TEST(Election, AmongSeveralTheHighestIsPolled) {
    Bench bench;
    EXPECT_EQ(bench.look({other(kLower, 1, SmState::master), other(kHigher, 3, SmState::master),
                          other(Guid{70}, 3, SmState::master), other(Guid{1}, 15, SmState::standby)}),
              Role::standby);
    EXPECT_EQ(bench.election->polled(), kHigher);
}

// P = 1 s, N = 3: known dead no later than 3.5 s after the last answer, and not by any two losses in a row.
TEST(Election, PollsAndMisses) {
    Bench bench;
    const OtherSm master = other(kLower, 0, SmState::master);
    ASSERT_EQ(bench.look({master}), Role::standby);
    const SmInfo answer = info_of(master, SmKey{});
    for (std::uint32_t i = 0; i < 10; ++i) {
        EXPECT_EQ(bench.polls(seconds{1}, answer).to, Role::standby);
        EXPECT_EQ(bench.polls(seconds{2}, {}).to, Role::standby) << "two lost";
        EXPECT_EQ(bench.election->missed(), 2U);
    }
    bench.polls(seconds{1}, answer);
    const base::Instant died = bench.now;  // right after it answered
    const Election::Step step = bench.polls(seconds{100}, {});
    EXPECT_EQ(step.to, Role::discovering);
    EXPECT_EQ(step.act, Act::look);
    EXPECT_EQ(bench.now - died, milliseconds{3500});
    EXPECT_TRUE(bench.election->given_up(kLower));
    EXPECT_FALSE(bench.election->due());
    EXPECT_EQ(bench.look({}), Role::master);
    EXPECT_FALSE(bench.election->given_up(kLower));
}

// A poll is on its way when the polled one answers a sweep: that it is lost does not count any more.
TEST(Election, AnAnswerToASweepIsASignOfLife) {
    Bench bench;
    const OtherSm master = other(kLower, 0, SmState::master);
    ASSERT_EQ(bench.look({master}), Role::standby);
    bench.polls(seconds{2}, {});
    ASSERT_EQ(bench.election->missed(), 2U);
    bench.now = *bench.election->due();
    ASSERT_TRUE(bench.election->poll(bench.now));
    bench.now += milliseconds{100};
    bench.election->on_sign_of_life(info_of(other(kHigher, 0, SmState::master), SmKey{}), bench.now);
    EXPECT_EQ(bench.election->missed(), 2U) << "another one's";
    bench.election->on_sign_of_life(info_of(master, SmKey{}), bench.now);
    bench.now += milliseconds{400};
    EXPECT_EQ(bench.election->on_poll_lost(bench.now).to, Role::standby);
    EXPECT_EQ(bench.election->missed(), 0U);
    EXPECT_EQ(bench.polls(seconds{2}, {}).to, Role::standby);
    EXPECT_EQ(bench.polls(seconds{1}, {}).to, Role::discovering);
}

TEST(Election, APolledSmThatIsNoMasterAnyMore) {
    const auto after = [](const OtherSm& says) {
        Bench bench;
        EXPECT_EQ(bench.look({other(says.guid, says.priority, SmState::master)}), Role::standby);
        return bench.polls(seconds{1}, info_of(says, SmKey{})).to;
    };
    EXPECT_EQ(after(other(kLower, 5, SmState::standby)), Role::discovering);
    EXPECT_EQ(after(other(kLower, 5, SmState::not_active)), Role::discovering);
    EXPECT_EQ(after(other(kHigher, 5, SmState::not_active)), Role::discovering);
    EXPECT_EQ(after(other(kHigher, 5, SmState::standby)), Role::standby) << "it will take over itself";
    EXPECT_EQ(after(other(kHigher, 5, SmState::discovering)), Role::standby);
}

TEST(Election, AnotherDeviceInItsPlaceIsNoAnswer) {
    Bench bench;
    ASSERT_EQ(bench.look({other(kLower, 0, SmState::master)}), Role::standby);
    EXPECT_EQ(bench.polls(seconds{3}, info_of(other(Guid{7}, 0, SmState::master), SmKey{})).to,
              Role::discovering);
}

TEST(Election, AnActCountThatStandsStillIsNotedAndNoMore) {
    Bench bench;
    const OtherSm master = other(kLower, 0, SmState::master);
    ASSERT_EQ(bench.look({master}), Role::standby);
    bench.polls(seconds{59}, info_of(master, SmKey{}, 9));
    EXPECT_FALSE(bench.election->polled_is_stuck(bench.now));
    EXPECT_EQ(bench.polls(seconds{2}, info_of(master, SmKey{}, 9)).to, Role::standby);
    EXPECT_TRUE(bench.election->polled_is_stuck(bench.now));
    bench.polls(seconds{1}, info_of(master, SmKey{}, 10));
    EXPECT_FALSE(bench.election->polled_is_stuck(bench.now));
}

// C54: of equal priority, a master stays, whatever the GUIDs. Of higher priority, it inherits; but not one
// that shows another key or none (C55), and none at all where the policy says so.
TEST(Election, WhoInherits) {
    const auto master_beside = [](const OtherSm& sm, sm::HandOver policy) {
        Bench bench;
        bench.policy.hand_over = policy;
        bench.election->set_policy(bench.policy);
        EXPECT_EQ(bench.look({}), Role::master);
        return bench.look({sm});
    };
    using sm::HandOver;
    EXPECT_EQ(master_beside(other(kHigher, 5, SmState::standby), HandOver::priority), Role::master);
    EXPECT_EQ(master_beside(other(kLower, 6, SmState::standby), HandOver::priority), Role::handing_over);
    EXPECT_EQ(master_beside(other(kLower, 6, SmState::discovering), HandOver::priority), Role::master);
    EXPECT_EQ(master_beside(other(kLower, 6, SmState::standby), HandOver::never), Role::master);
    EXPECT_EQ(master_beside(other(kLower, 6, SmState::standby, SmTrust::unknown), HandOver::priority),
              Role::master);
    EXPECT_EQ(master_beside(other(kLower, 6, SmState::standby, SmTrust::foreign), HandOver::priority),
              Role::master);
}

TEST(Election, TwoMastersThatMeet) {
    const auto master_meets = [](const OtherSm& sm) {
        Bench bench;
        EXPECT_EQ(bench.look({}), Role::master);
        return bench.look({sm});
    };
    EXPECT_EQ(master_meets(other(kLower, 5, SmState::master)), Role::contested);
    EXPECT_EQ(master_meets(other(kLower, 5, SmState::master, SmTrust::unknown)), Role::contested);
    EXPECT_EQ(master_meets(other(kLower, 5, SmState::master, SmTrust::foreign)), Role::master);
    EXPECT_EQ(master_meets(other(kHigher, 5, SmState::master)), Role::handing_over);
    EXPECT_EQ(master_meets(other(kHigher, 5, SmState::master, SmTrust::unknown)), Role::standby);
    EXPECT_EQ(master_meets(other(kHigher, 5, SmState::master, SmTrust::foreign)), Role::standby);
}

// C54: an SM that vanishes again and again gets mastership back only when it has stayed, longer each time.
TEST(Election, AFlappingSmMustStayBeforeItInherits) {
    Bench bench;
    const OtherSm flapping = other(kLower, 9, SmState::standby);
    ASSERT_EQ(bench.look({}), Role::master);
    for (int i = 0; i < 3; ++i) {
        bench.now += seconds{6};
        EXPECT_EQ(bench.look({flapping}), i == 0 ? Role::handing_over : Role::master) << i;
        if (i == 0) {
            bench.polls(seconds{3}, {});  // it has gone already
            ASSERT_EQ(bench.election->role(), Role::master);
        }
        bench.now += seconds{6};
        EXPECT_EQ(bench.look({}), Role::master);
    }
    EXPECT_EQ(bench.look({flapping}), Role::master);  // three times gone: 60 s, doubled twice
    bench.now += seconds{239};
    EXPECT_EQ(bench.look({flapping}), Role::master);
    bench.now += seconds{1};
    EXPECT_EQ(bench.look({flapping}), Role::handing_over);
}

TEST(Election, ALostAnswerIsNoVanishing) {
    Bench bench;
    OtherSm heir = other(kLower, 9, SmState::standby);
    ASSERT_EQ(bench.look({}), Role::master);
    ASSERT_EQ(bench.look({heir}), Role::handing_over);
    heir.answered = false;
    EXPECT_EQ(bench.look({heir}), Role::master);
    heir.answered = true;
    EXPECT_EQ(bench.look({heir}), Role::handing_over);
}

TEST(Election, HandoverIsRepeatedUntilItsHeirIsMaster) {
    Bench bench;
    const OtherSm heir = other(kLower, 9, SmState::standby);
    ASSERT_EQ(bench.look({}), Role::master);
    ASSERT_EQ(bench.look({heir}), Role::handing_over);
    EXPECT_FALSE(bench.election->may_write());
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(bench.polls(seconds{1}, info_of(heir, SmKey{1})).act, Act::hand_over);
    }
    const Election::Step step = bench.polls(seconds{1}, info_of(other(kLower, 9, SmState::master), SmKey{1}));
    EXPECT_EQ(step.to, Role::standby);
    EXPECT_EQ(step.act, Act::step_down);
    EXPECT_EQ(bench.election->polled(), kLower) << "the new master is polled from now on";
}

TEST(Election, AnHeirThatTookItIsAskedAtOnceButOnce) {
    Bench bench;
    ASSERT_EQ(bench.look({}), Role::master);
    ASSERT_EQ(bench.look({other(kLower, 9, SmState::standby)}), Role::handing_over);
    EXPECT_EQ(bench.election->due(), bench.now + seconds{1});
    bench.election->on_handover_taken(bench.now);
    EXPECT_EQ(bench.election->due(), bench.now);
    EXPECT_TRUE(bench.election->poll(bench.now));
    bench.election->on_handover_taken(bench.now);
    EXPECT_EQ(bench.election->due(), bench.now + seconds{1});
}

// It was woken, or began, when HANDOVER came: it looks, and takes mastership at the end of that.
TEST(Election, AnHeirThatLooksFirstIsWaitedFor) {
    Bench bench;
    ASSERT_EQ(bench.look({}), Role::master);
    ASSERT_EQ(bench.look({other(kLower, 9, SmState::standby)}), Role::handing_over);
    EXPECT_EQ(bench.look({other(kLower, 9, SmState::discovering)}), Role::handing_over);
    EXPECT_FALSE(bench.election->may_write());
    EXPECT_EQ(bench.look({other(kHigher, 9, SmState::discovering)}), Role::master)
        << "one that was handed nothing";
}

TEST(Election, AnHeirThatRefusesIsNotAskedAtOnceAgain) {
    Bench bench;
    const OtherSm heir = other(kLower, 9, SmState::standby);
    ASSERT_EQ(bench.look({}), Role::master);
    ASSERT_EQ(bench.look({heir}), Role::handing_over);
    EXPECT_EQ(bench.election->on_handover_refused(bench.now).to, Role::master);
    EXPECT_EQ(bench.look({heir}), Role::master);
    bench.now += seconds{60};
    EXPECT_EQ(bench.look({heir}), Role::handing_over);
}

// C55: what could take mastership away wants our SM_Key; what gives it, or confirms, no other one than ours.
TEST(Election, WhoMayAskForWhat) {
    const auto asked = [](Input input, SmState state, SmKey key) {
        Bench bench;
        EXPECT_EQ(bench.look({other(kLower, 0, SmState::master)}), Role::standby);
        return bench.election->on_request(input, {kLower, key, 1, 0, state}, bench.now).act;
    };
    EXPECT_EQ(asked(Input::handover, SmState::master, SmKey{1}), Act::acknowledge);
    EXPECT_EQ(asked(Input::handover, SmState::master, SmKey{}), Act::acknowledge);
    EXPECT_EQ(asked(Input::handover, SmState::master, SmKey{2}), Act::refuse);
    EXPECT_EQ(asked(Input::handover, SmState::standby, SmKey{1}), Act::refuse);
    EXPECT_EQ(asked(Input::disable, SmState::master, SmKey{1}), Act::sleep);
    EXPECT_EQ(asked(Input::disable, SmState::master, SmKey{}), Act::refuse);
    EXPECT_EQ(asked(Input::disable, SmState::standby, SmKey{1}), Act::refuse);
    EXPECT_EQ(asked(Input::discover, SmState::master, SmKey{1}), Act::look);
    EXPECT_EQ(asked(Input::discover, SmState::master, SmKey{}), Act::refuse);
    EXPECT_EQ(asked(Input::acknowledge, SmState::standby, SmKey{}), Act::none);
    EXPECT_EQ(asked(Input::acknowledge, SmState::master, SmKey{1}), Act::refuse);
}

TEST(Election, OnlyTheHeirAcknowledges) {
    Bench bench;
    ASSERT_EQ(bench.look({}), Role::master);
    ASSERT_EQ(bench.look({other(kLower, 9, SmState::standby)}), Role::handing_over);
    const auto acknowledge = [&](Guid guid) {
        return bench.election
            ->on_request(Input::acknowledge, {guid, SmKey{1}, 1, 9, SmState::standby}, bench.now)
            .act;
    };
    EXPECT_EQ(acknowledge(kHigher), Act::refuse);
    EXPECT_EQ(acknowledge(kSelf), Act::refuse);
    EXPECT_EQ(acknowledge(kLower), Act::step_down);
}

// The old master calls itself so until it knows that we took it: that is no second master, for a while.
TEST(Election, ThePredecessorIsNoRival) {
    Bench bench(9);
    const OtherSm before = other(kLower, 5, SmState::master);
    ASSERT_EQ(bench.look({before}), Role::standby);
    ASSERT_EQ(bench.election->on_request(Input::handover, info_of(before, SmKey{1}), bench.now).to,
              Role::master);
    EXPECT_EQ(bench.look({before}), Role::master);
    bench.now += seconds{3};
    EXPECT_EQ(bench.look({before}), Role::contested);
}

// The one that we had met may have been unreachable, not dead: nothing is written before a look has shown it.
TEST(Election, AMasterWritesOnlyWhenItHasLooked) {
    Bench bench;
    ASSERT_EQ(bench.look({}), Role::master);
    EXPECT_TRUE(bench.election->may_write());
    ASSERT_EQ(bench.look({other(kLower, 5, SmState::master)}), Role::contested);
    EXPECT_FALSE(bench.election->may_write());
    EXPECT_EQ(bench.polls(seconds{10}, {}).to, Role::master);
    EXPECT_FALSE(bench.election->may_write());
    EXPECT_EQ(bench.look({}), Role::master);
    EXPECT_TRUE(bench.election->may_write());
    EXPECT_EQ(
        bench.election->on_request(Input::handover, {kLower, SmKey{1}, 1, 0, SmState::master}, bench.now).to,
        Role::master);
    EXPECT_TRUE(bench.election->may_write()) << "it was, and is";
}

TEST(Election, DisabledUntilItIsToldToStandBy) {
    Bench bench;
    const OtherSm master = other(kLower, 0, SmState::master);
    ASSERT_EQ(bench.look({master}), Role::standby);
    ASSERT_EQ(bench.election->on_request(Input::disable, info_of(master, SmKey{1}), bench.now).to,
              Role::not_active);
    EXPECT_FALSE(bench.election->due());
    EXPECT_EQ(bench.look({}), Role::not_active);
    EXPECT_EQ(bench.election->on_request(Input::standby, info_of(master, SmKey{1}), bench.now).to,
              Role::standby);
    EXPECT_EQ(bench.election->polled(), kLower);
}

TEST(Election, AKeyThatWasShownIsRemembered) {
    OtherSm sm;
    sm.guid = kLower;
    sm::note_sm_info(sm, {kLower, SmKey{}, 1, 3, SmState::standby}, SmKey{1});
    EXPECT_EQ(sm.trust, SmTrust::unknown);
    sm::note_sm_info(sm, {kLower, SmKey{2}, 1, 3, SmState::standby}, SmKey{1});
    EXPECT_EQ(sm.trust, SmTrust::foreign);
    sm::note_sm_info(sm, {kLower, SmKey{}, 1, 3, SmState::standby}, SmKey{1});
    EXPECT_EQ(sm.trust, SmTrust::foreign);
    sm::note_sm_info(sm, {kHigher, SmKey{}, 1, 3, SmState::standby}, SmKey{1});
    EXPECT_EQ(sm.trust, SmTrust::unknown) << "another SM in its place";
    EXPECT_EQ(sm::trust_of(SmKey{}, SmKey{}), SmTrust::ours) << "who uses no key trusts those without one";
}

}  // namespace
}  // namespace ibf::test
