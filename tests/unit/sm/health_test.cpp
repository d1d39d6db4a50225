#include "daemon/sm/health.hpp"

#include <gtest/gtest.h>

#include <set>

namespace ibf::sm {
namespace {

using base::Instant;
using fabric::HealthAction;
using fabric::HealthRule;
using fabric::PortId;
using std::chrono::minutes;
using std::chrono::seconds;
using Kind = PortHealth::News::Kind;

constexpr PortId kPort{mad::Guid{0x100}, mad::PortNum{5}};
constexpr PortId kOther{mad::Guid{0x100}, mad::PortNum{6}};
constexpr PortId kSwitch{mad::Guid{0x100}, mad::PortNum{0}};

HealthPolicy policy(HealthRule rule, HealthAction action) {
    HealthPolicy made;
    made.actions[static_cast<std::size_t>(rule)] = action;
    return made;
}

std::vector<Kind> kinds(PortHealth& health, Instant now) {
    std::vector<Kind> found;
    for (const PortHealth::News& news : health.take_news(now)) {
        found.push_back(news.kind);
    }
    return found;
}

/// Goes from one due time to the next until then; what became of it.
std::vector<std::pair<Instant, Kind>> wait(PortHealth& health, Instant until) {
    std::vector<std::pair<Instant, Kind>> found;
    for (int steps = 0; health.due() && *health.due() <= until; ++steps) {
        EXPECT_LT(steps, 1000) << "time alone goes on for ever";
        const Instant now = *health.due();
        for (const Kind kind : kinds(health, now)) {
            found.emplace_back(now, kind);
        }
        if (steps >= 1000) {
            break;
        }
    }
    return found;
}

// C26: unhealthy at 10, disabled at 250 only if policy says so, cleared after quiet time.
TEST(FieldCase, C26_babbling_is_ill_at_10_and_disabled_at_250_by_policy) {
    for (const HealthAction action : {HealthAction::report, HealthAction::isolate, HealthAction::disable}) {
        PortHealth health(policy(HealthRule::babbling, action));
        std::uint32_t ill_at = 0;
        std::uint32_t disabled_at = 0;
        Instant now{seconds{1000}};
        for (std::uint32_t i = 1; i <= 260; ++i, now += seconds{1}) {
            health.note(HealthRule::babbling, kPort, 1, now);
            for (const Kind kind : kinds(health, now)) {
                ill_at = kind == Kind::ill ? i : ill_at;
                disabled_at = kind == Kind::disable ? i : disabled_at;
            }
        }
        EXPECT_EQ(ill_at, 10U);
        EXPECT_EQ(disabled_at, action == HealthAction::disable ? 250U : 0U);
        EXPECT_EQ(health.to_leave_out().size(), action == HealthAction::report ? 0U : 1U);
        const auto later = wait(health, now + minutes{10});
        ASSERT_EQ(later.size(), 1U);
        EXPECT_EQ(later[0].second, Kind::well);
        EXPECT_GE(later[0].first, now + seconds{250}) << "the window of the rule";
        EXPECT_LE(later[0].first, now + seconds{300});
        EXPECT_TRUE(health.states().empty());
    }
}

// C45: neither for ever nor gone at once: 25 bounces, then quiet.
TEST(FieldCase, C45_twenty_five_bounces_then_quiet) {
    PortHealth health(policy(HealthRule::flapping, HealthAction::isolate));
    Instant now{};
    std::vector<Kind> news;
    for (int i = 0; i < 25; ++i, now += seconds{10}) {
        health.note(HealthRule::flapping, kPort, 1, now);
        for (const Kind kind : kinds(health, now)) {
            news.push_back(kind);
        }
    }
    EXPECT_EQ(news, std::vector<Kind>{Kind::ill}) << "one verdict, however often it bounces";
    EXPECT_EQ(health.to_leave_out(), std::set<PortId>{kPort});
    const auto later = wait(health, now + minutes{60});
    ASSERT_EQ(later.size(), 1U);
    EXPECT_GE(later[0].first, now + seconds{700}) << "not at the first pause";
    EXPECT_LE(later[0].first, now + seconds{900});
    EXPECT_TRUE(health.to_leave_out().empty());
}

TEST(PortHealth, RelapsesStayOutLongerAndAreForgottenInTheEnd) {
    PortHealth health(policy(HealthRule::babbling, HealthAction::report));
    Instant now{};
    std::vector<base::Duration> quarantines;
    for (int relapse = 0; relapse < 7; ++relapse) {
        health.note(HealthRule::babbling, kPort, 10, now);
        quarantines.push_back(health.take_news(now).at(0).quarantine);
        now = wait(health, now + minutes{200}).at(0).first + seconds{1};
    }
    const std::vector<base::Duration> expected{minutes{5},  minutes{10}, minutes{20}, minutes{40},
                                               minutes{80}, minutes{80}, minutes{80}};
    EXPECT_EQ(quarantines, expected);
    now += minutes{8 * 80};
    health.note(HealthRule::babbling, kPort, 10, now);
    EXPECT_EQ(health.take_news(now).at(0).quarantine, base::Duration{minutes{5}});
}

TEST(PortHealth, OldEventsDoNotCount) {
    PortHealth health{HealthPolicy{}};
    for (int i = 0; i < 100; ++i) {  // one in 100 s: nine in any 900
        health.note(HealthRule::rebooting, kPort, 1, Instant{seconds{100} * i});
    }
    EXPECT_TRUE(kinds(health, Instant{seconds{10'000}}).empty());
    for (int i = 0; i < 10; ++i) {
        health.note(HealthRule::rebooting, kOther, 1, Instant{seconds{20'000 + i}});
    }
    EXPECT_TRUE(kinds(health, Instant{seconds{20'010}}).empty()) << "more than ten";
    health.note(HealthRule::rebooting, kOther, 1, Instant{seconds{20'011}});
    EXPECT_EQ(kinds(health, Instant{seconds{20'011}}), std::vector<Kind>{Kind::ill});
}

TEST(PortHealth, LooksAreCountedOfTheLastSoMany) {
    PortHealth health{HealthPolicy{}};
    const std::set<PortId> found{kPort};
    for (int look = 0; look < 40; ++look) {  // two of five: four of ten
        health.note_look(HealthRule::init, look % 5 < 2 ? found : std::set<PortId>{}, Instant{seconds{look}});
    }
    EXPECT_TRUE(kinds(health, Instant{seconds{40}}).empty());
    for (int look = 0; look < 4; ++look) {
        health.note_look(HealthRule::silent, found, Instant{seconds{40 + look}});
    }
    EXPECT_TRUE(kinds(health, Instant{seconds{44}}).empty());
    health.note_look(HealthRule::silent, found, Instant{seconds{45}});
    EXPECT_EQ(kinds(health, Instant{seconds{45}}), std::vector<Kind>{Kind::ill});
    EXPECT_TRUE(wait(health, Instant{minutes{60}}).empty()) << "no look, no change of mind";
    for (int look = 0; look < 7; ++look) {
        EXPECT_TRUE(kinds(health, Instant{minutes{60}}).empty());
        health.note_look(HealthRule::silent, {}, Instant{minutes{60}});
    }
    EXPECT_EQ(kinds(health, Instant{minutes{60}}), std::vector<Kind>{Kind::well});
}

TEST(PortHealth, WhatIsLeftOutIsNotBlamedForIt) {
    PortHealth health(policy(HealthRule::init, HealthAction::isolate));
    Instant now{};
    for (int look = 0; look < 50; ++look, now += seconds{1}) {
        health.note_look(HealthRule::init, {kPort}, now);
    }
    EXPECT_EQ(kinds(health, now), std::vector<Kind>{Kind::ill});
    const auto later = wait(health, now + minutes{10});
    ASSERT_EQ(later.size(), 1U);
    EXPECT_EQ(later[0].first, Instant{seconds{4}} + minutes{5}) << "the quarantine, since it fell ill";
}

TEST(PortHealth, AnOperatorSaysSoAndAnOperatorEndsIt) {
    PortHealth health{HealthPolicy{}};
    health.set(kPort, Instant{});
    EXPECT_EQ(kinds(health, Instant{}), std::vector<Kind>{Kind::ill});
    EXPECT_EQ(health.to_leave_out(), std::set<PortId>{kPort}) << "else, why say so";
    EXPECT_FALSE(health.due()) << "for as long as it takes";
    EXPECT_FALSE(health.states().at(0).until);
    health.note(HealthRule::babbling, kPort, 10, Instant{});
    EXPECT_EQ(kinds(health, Instant{}), std::vector<Kind>{Kind::ill});
    EXPECT_TRUE(health.clear(kPort));
    EXPECT_EQ(kinds(health, Instant{}), (std::vector<Kind>{Kind::well, Kind::well}));
    EXPECT_TRUE(health.states().empty());
    EXPECT_FALSE(health.clear(kPort));
}

TEST(PortHealth, AWholeSwitchIsNeverLeftOut) {
    HealthPolicy strict;
    strict.actions.fill(HealthAction::disable);
    PortHealth health(strict);
    health.note(HealthRule::storm, kSwitch, 1000, Instant{});
    EXPECT_EQ(kinds(health, Instant{}), std::vector<Kind>{Kind::ill});
    EXPECT_TRUE(health.to_leave_out().empty());
}

TEST(PortHealth, MemoryIsBoundedAndIdleRecordsMakeRoom) {
    PortHealth health{HealthPolicy{}};
    for (std::uint64_t guid = 1; guid <= PortHealth::kPortsMax; ++guid) {
        health.note(HealthRule::flapping, {mad::Guid{guid}, mad::PortNum{1}}, 1, Instant{});
    }
    const fabric::PortId late{mad::Guid{1'000'000}, mad::PortNum{1}};
    health.note(HealthRule::flapping, late, 1000, Instant{});
    EXPECT_TRUE(health.take_news(Instant{}).empty()) << "there is no room for one more";
    health.note(HealthRule::flapping, late, 1000, Instant{minutes{20}});
    EXPECT_EQ(kinds(health, Instant{minutes{20}}), std::vector<Kind>{Kind::ill})
        << "those of twenty minutes ago are gone";
}

TEST(PortHealth, EachRuleHasMarksThatCanBeReached) {
    for (std::size_t i = 0; i < fabric::kHealthRules; ++i) {
        const HealthSpec& spec = spec_of(static_cast<HealthRule>(i));
        EXPECT_LT(spec.low, spec.high);
        EXPECT_GE(spec.disable, spec.high);
        EXPECT_NE(spec.looks == 0, spec.within == base::Duration{}) << "events or looks";
        EXPECT_TRUE(spec.looks == 0 || (spec.looks <= 16 && spec.high <= spec.looks));
    }
}

}  // namespace
}  // namespace ibf::sm
