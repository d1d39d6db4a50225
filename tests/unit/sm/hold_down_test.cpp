#include "daemon/sm/hold_down.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace ibf::sm {
namespace {

using base::Instant;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr base::Duration kFirst = milliseconds{500};
constexpr base::Duration kMost = seconds{30};
constexpr HoldDown::Subject kSubject{0x100, 5};

/// When news that come every `pace` are acted on within `time`, and how many were answered in all.
std::vector<Instant> acts_of(HoldDown& gates, base::Duration pace, base::Duration time) {
    std::set<Instant> acts;
    for (Instant now{}; now < Instant{time}; now += pace) {
        const Instant at = gates.on_news(kSubject, kFirst, now).act_at;
        EXPECT_GE(at, now) << "nothing is answered in the past";
        if (at < Instant{time}) {
            acts.insert(at);
        }
    }
    return {acts.begin(), acts.end()};
}

TEST(HoldDown, TheFirstNewsActAtOnceAndOthersAreNotHeldUpByThem) {
    HoldDown gates(kMost);
    const Instant now{seconds{5}};
    EXPECT_EQ(gates.on_news(kSubject, kFirst, now).act_at, now);
    EXPECT_EQ(gates.on_news(kSubject, kFirst, now + milliseconds{1}).act_at, now + kFirst);
    EXPECT_EQ(gates.on_news({0x100, 6}, kFirst, now + milliseconds{1}).act_at, now + milliseconds{1});
}

// C25: a thousand in ten seconds are answered three times, whatever the offset of what comes to the windows.
TEST(FieldCase, C25_a_storm_is_answered_three_times) {
    for (const base::Duration pace :
         {base::Duration{milliseconds{10}}, base::Duration{std::chrono::microseconds{9'973}}}) {
        HoldDown gates(kMost);
        const std::vector<Instant> expected{Instant{}, Instant{kFirst}, Instant{kFirst + 8 * kFirst}};
        EXPECT_EQ(acts_of(gates, pace, seconds{10}), expected);
    }
}

TEST(HoldDown, AFewNewsDoubleTheWindowManyOctupleIt) {
    HoldDown gates(kMost);
    const std::vector<Instant> acts = acts_of(gates, milliseconds{400}, seconds{9});
    // Held 0.5 s with one in it, then 1 s with two, then 4 s with ten, then the bound is on its way.
    const std::vector<Instant> expected{Instant{}, Instant{milliseconds{500}}, Instant{milliseconds{1500}},
                                        Instant{milliseconds{5500}}};
    EXPECT_EQ(acts, expected);
}

TEST(HoldDown, TheWindowHasABound) {
    HoldDown gates(kMost);
    const std::vector<Instant> acts = acts_of(gates, milliseconds{50}, seconds{200});
    for (std::size_t i = 4; i < acts.size(); ++i) {
        EXPECT_EQ(acts[i] - acts[i - 1], kMost);
    }
    EXPECT_EQ(acts.size(), 9U);
}

TEST(HoldDown, QuietTimeShrinksItStepByStep) {
    HoldDown gates(kMost);
    static_cast<void>(acts_of(gates, milliseconds{50}, seconds{34}));  // closed for 30 s until 34.5 s
    const Instant opens = gates.opens_at(kSubject);
    EXPECT_EQ(opens, Instant{milliseconds{34'500}});
    // What was waited for was answered then: closed for 30 s more. After one such length of quiet, half of
    // it.
    const Instant one_window_later = opens + 2 * kMost + seconds{1};
    EXPECT_EQ(gates.on_news(kSubject, kFirst, one_window_later).act_at, one_window_later);
    EXPECT_EQ(gates.opens_at(kSubject) - one_window_later, kMost / 2);
    const Instant much_later = one_window_later + seconds{3600};
    EXPECT_EQ(gates.on_news(kSubject, kFirst, much_later).act_at, much_later);
    EXPECT_EQ(gates.opens_at(kSubject) - much_later, kFirst);
}

TEST(HoldDown, WhatIsDoneAnywayClosesTheGateAndEchoesLengthenIt) {
    HoldDown gates(kMost);
    const Instant now{seconds{5}};
    gates.on_act(kSubject, kFirst, now);
    EXPECT_EQ(gates.opens_at(kSubject), now + kFirst);
    for (int i = 0; i < 50; ++i) {
        gates.on_echo(kSubject.first, now + milliseconds{10});
    }
    gates.on_act(kSubject, kFirst, now + kFirst);
    EXPECT_EQ(gates.opens_at(kSubject), now + kFirst + 8 * kFirst);
    gates.on_echo(0x200, now);
    EXPECT_EQ(gates.opens_at({0x200, 1}), Instant{}) << "an echo of nothing";
    gates.on_act({0x100, 3}, kFirst, now + kFirst);
    EXPECT_EQ(gates.closed(now + kFirst), (std::vector<HoldDown::Subject>{{0x100, 3}, kSubject}));
    EXPECT_TRUE(gates.closed(now + seconds{10}).empty());
}

TEST(HoldDown, CountsWhatItHeldBack) {
    HoldDown gates(kMost);
    EXPECT_EQ(gates.on_news_to_tell(kSubject, kFirst, Instant{}), 0U);
    for (int i = 0; i < 6; ++i) {
        EXPECT_FALSE(gates.on_news_to_tell(kSubject, kFirst, Instant{milliseconds{10} * i}));
    }
    EXPECT_EQ(gates.on_news_to_tell(kSubject, kFirst, Instant{milliseconds{500}}), 6U) << "as soon as it may";
    EXPECT_FALSE(gates.on_news_to_tell(kSubject, kFirst, Instant{seconds{4}})) << "eight times as long";
    EXPECT_EQ(gates.on_news_to_tell(kSubject, kFirst, Instant{seconds{200}}), 1U);
    EXPECT_EQ(gates.on_news_to_tell(kSubject, kFirst, Instant{seconds{400}}), 0U);
}

TEST(HoldDown, WhoSpeaksForManyKeepsThoseThatOpenedOfLateFromGrowingQuiet) {
    HoldDown gates(kMost);
    gates.on_act({0x100, 3}, kFirst, Instant{});
    gates.on_act(kSubject, kFirst, Instant{seconds{60}});
    const Instant later{seconds{70}};
    EXPECT_EQ(gates.suspects(0x100, later), std::vector<HoldDown::Subject>{kSubject});
    for (int i = 0; i < 10; ++i) {
        gates.on_echo(0x100, later);
    }
    gates.on_act(kSubject, kFirst, later);
    EXPECT_EQ(gates.opens_at(kSubject) - later, 8 * kFirst);
    gates.on_act({0x100, 3}, kFirst, later);
    EXPECT_EQ(gates.opens_at({0x100, 3}) - later, kFirst) << "it had nothing to do with it";
    EXPECT_TRUE(gates.suspects(0x200, later).empty());
}

TEST(HoldDown, MemoryIsBounded) {
    HoldDown gates(kMost);
    const Instant start{seconds{1}};
    for (std::uint64_t guid = 1; guid <= 0xBFFF; ++guid) {
        static_cast<void>(gates.on_news({guid, 0}, kFirst, start));
    }
    const Instant next = start + milliseconds{1};
    EXPECT_GT(gates.on_news({0xBFF0, 0}, kFirst, next).act_at, next) << "those past the bound share one gate";
    // Quiet gates make room: after a while new ones are acted on at once again.
    const Instant later{seconds{120}};
    for (std::uint64_t guid = 0x10000; guid < 0x10010; ++guid) {
        EXPECT_EQ(gates.on_news({guid, 0}, kFirst, later).act_at, later);
    }
}

}  // namespace
}  // namespace ibf::sm
