#include "daemon/sa/registry_state.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/prng.hpp"

namespace ibf::sa {
namespace {

using std::chrono::seconds;

constexpr base::Instant kNow{seconds{50}};
constexpr std::uint64_t kEdition = 0xE;
const base::WallTime kWall{std::chrono::milliseconds{1'700'000'000'000}};

fabric::SaTables some() {
    fabric::SaTables tables;
    for (std::uint64_t i = 1; i <= 3; ++i) {
        auto group = std::make_shared<fabric::Group>();
        group->mgid = {0xff12401bffff0000ULL, mad::Guid{i}};
        group->mlid = mad::Mlid{static_cast<std::uint16_t>(0xC000 + i)};
        group->qkey = 0x0b1b;
        group->mtu = 4;
        group->rate = 3;
        group->pkey = mad::PKey{0xFFFF};
        group->flow_label = 0xABCDE;
        group->well_known = i == 1;
        for (std::uint64_t m = 0; m < i; ++m) {
            group->members[mad::Guid{m + 1}] = {
                {0xfe80000000000000ULL, mad::Guid{m + 1}}, fabric::kFullMember, m == 1};
        }
        tables.groups.emplace(group->mgid, group);
    }
    for (const std::uint32_t lease : {10U, 0xFFFFFFFFU}) {
        auto service = std::make_shared<fabric::Service>();
        service->id = lease;
        service->lease = lease;
        service->until = lease == 10 ? kNow + seconds{10} : base::Instant{};
        service->record[100] = 0x5A;
        tables.services.emplace(std::tuple{service->id, service->gid, service->pkey}, service);
    }
    auto subscription = std::make_shared<fabric::Subscription>();
    subscription->subscriber = {1, mad::Guid{2}};
    subscription->qpn = 77;
    subscription->inform_info[35] = 4;
    tables.subscriptions.push_back(subscription);
    return tables;
}

TEST(RegistryState, ReadsBackWhatWasWritten) {
    const std::string text = state_text(some(), kEdition, kNow, kWall);
    const auto [back, edition] = state_of(text, kNow, kWall);
    EXPECT_EQ(edition, kEdition);
    EXPECT_EQ(state_text(back, kEdition, kNow, kWall), text);
    EXPECT_EQ(back.groups.size(), 3U);
    EXPECT_EQ(*back.groups.at({0xff12401bffff0000ULL, mad::Guid{3}}),
              *some().groups.at({0xff12401bffff0000ULL, mad::Guid{3}}));
    EXPECT_EQ(*back.subscriptions[0], *some().subscriptions[0]);
}

TEST(RegistryState, ALeaseRunsOnWhileNobodyIsThere) {
    const std::string text = state_text(some(), kEdition, kNow, kWall);
    const base::Instant other{seconds{3}};
    const auto [four_later, edition] = state_of(text, other, kWall + seconds{4});
    EXPECT_EQ(edition, kEdition) << "nothing is torn";
    ASSERT_EQ(four_later.services.size(), 2U);
    EXPECT_EQ(four_later.services.begin()->second->until, other + seconds{6});
    EXPECT_EQ(state_of(text, other, kWall + seconds{10}).tables.services.size(), 1U) << "the one for ever";
    EXPECT_EQ(state_of(text, other, kWall - seconds{86'400}).tables.services.begin()->second->until,
              other + seconds{10})
        << "a clock that was set back lengthens no lease";
}

// Further away than a Duration reaches: it is as long as the lease at most.
TEST(RegistryState, ALeaseUntilTheEndOfTimeIsNoLongerThanALease) {
    std::string text = state_text(some(), kEdition, kNow, kWall);
    const std::string until = fmt::format("{:x}", (kWall + seconds{10}).time_since_epoch().count());
    const auto at = text.find(until);
    ASSERT_NE(at, std::string::npos);
    const auto [back, edition] = state_of(text.replace(at, until.size(), "7fffffffffffffff"), kNow, kWall);
    ASSERT_EQ(back.services.size(), 2U);
    EXPECT_EQ(back.services.begin()->second->until, kNow + seconds{10});
}

TEST(RegistryState, TornTextCostsWhatIsTorn) {
    const std::string text = state_text(some(), kEdition, kNow, kWall);
    base::Prng prng(8);
    for (int i = 0; i < 3000; ++i) {
        std::string torn = text;
        for (std::uint64_t k = 0; k <= prng.below(4); ++k) {
            torn[prng.below(torn.size())] = static_cast<char>(prng.below(256));
        }
        torn.resize(prng.below(torn.size()));
        const auto [tables, edition] = state_of(torn, kNow, kWall);
        EXPECT_LE(tables.groups.size(), 12U);
        EXPECT_EQ(edition, 0U);
    }
    EXPECT_TRUE(state_of("something else\ngroup 1", kNow, kWall).tables.groups.empty());
    EXPECT_TRUE(state_of("", kNow, kWall).tables.groups.empty());
}

TEST(RegistryState, OneWrongCharacterAndTheEditionDoesNotCount) {
    const std::string text = state_text(some(), kEdition, kNow, kWall);
    for (std::size_t at = 0; at < text.size(); ++at) {
        std::string wrong = text;
        wrong[at] = static_cast<char>(wrong[at] ^ 1);
        EXPECT_EQ(state_of(wrong, kNow, kWall).edition, 0U) << at;
        EXPECT_EQ(state_of(std::string_view(text).substr(0, at), kNow, kWall).edition, 0U) << at;
    }
}

}  // namespace
}  // namespace ibf::sa
