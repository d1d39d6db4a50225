#include "daemon/sa/statistics.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/prng.hpp"
#include "tests/unit/sa/counted_allocations.hpp"

namespace ibf::sa {
namespace {

using namespace std::chrono_literals;
using mad::Lid;
using mad::SaAttribute;
using mad::SaMethod;

constexpr base::Instant kStart{1000s};

Statistics::Kind kind(const Statistics& statistics, SaMethod method, SaAttribute attribute) {
    return statistics.kind_of(static_cast<std::uint8_t>(method), static_cast<std::uint16_t>(attribute));
}

fabric::SaActivity told(const Statistics& statistics, base::Instant now) {
    fabric::SaActivity activity;
    statistics.tell(now, activity);
    return activity;
}

TEST(LatencyHistogram, QuantilesAreWithinAnEighthAndTheMaximumIsExact) {
    base::Prng prng(3);
    for (const std::uint64_t most : {2'000ULL, 1'000'000ULL, 60'000'000'000ULL}) {
        LatencyHistogram histogram;
        std::vector<base::Duration> all;
        for (int i = 0; i < 10'000; ++i) {
            all.emplace_back(prng.below(most));
            histogram.add(all.back());
        }
        std::sort(all.begin(), all.end());
        const fabric::Latencies summary = histogram.summary();
        EXPECT_EQ(summary.count, 10'000U);
        EXPECT_EQ(summary.max, all.back());
        const auto near = [](base::Duration got, base::Duration exact) {
            const base::Duration finest{1024};
            EXPECT_GE(got, exact);
            EXPECT_LE(got, std::max(finest, exact + exact / 8 + base::Duration{1}));
        };
        near(summary.median, all[4'999]);
        near(summary.p99, all[9'899]);
    }
}

TEST(LatencyHistogram, ExtremesHaveABucket) {
    LatencyHistogram histogram;
    EXPECT_EQ(histogram.summary().count, 0U);
    EXPECT_EQ(histogram.summary().p99, base::Duration{});
    histogram.add(base::Duration{-5});
    histogram.add(base::Duration{});
    histogram.add(base::Duration::max());
    EXPECT_EQ(histogram.summary().count, 3U);
    EXPECT_EQ(histogram.summary().max, base::Duration::max());
    EXPECT_EQ(histogram.summary().p99, base::Duration::max());
    EXPECT_EQ(histogram.summary().median, base::Duration{1024});
}

TEST(Statistics, CountsByKindAndClient) {
    Statistics statistics;
    const auto paths = kind(statistics, SaMethod::get, SaAttribute::path_record);
    const auto joins = kind(statistics, SaMethod::set, SaAttribute::mc_member_record);
    const auto informs = kind(statistics, SaMethod::get_table, SaAttribute::inform_info_record);
    for (int i = 0; i < 10; ++i) {
        statistics.requested(paths, Lid{7}, kStart);
    }
    statistics.requested(joins, Lid{8}, kStart + 1s);
    statistics.requested(informs, Lid{8}, kStart + 1s);
    statistics.duplicate(Lid{7});
    statistics.dropped(Lid{7});
    statistics.dropped(Lid{7});
    statistics.answered(paths, 10us);
    statistics.answered(informs, 3ms);
    const fabric::SaActivity activity = told(statistics, kStart + 2s);
    ASSERT_EQ(activity.by_kind.size(), 3U) << "only those that were asked for";
    EXPECT_EQ(activity.by_kind[0].method, static_cast<std::uint8_t>(SaMethod::get));
    EXPECT_EQ(activity.by_kind[0].attribute, static_cast<std::uint16_t>(SaAttribute::path_record));
    EXPECT_EQ(activity.by_kind[0].requests, 10U);
    EXPECT_DOUBLE_EQ(activity.by_kind[0].rate.per_second(kStart + 2s), 2.0);
    EXPECT_EQ(activity.by_kind[0].latencies.max, 10us);
    EXPECT_EQ(activity.by_kind[1].latencies.count, 0U);
    EXPECT_EQ(activity.by_kind[2].attribute, static_cast<std::uint16_t>(SaAttribute::inform_info_record));
    EXPECT_EQ(activity.latencies.count, 2U);
    EXPECT_EQ(activity.latencies.max, 3ms);
    ASSERT_EQ(activity.clients.size(), 2U);
    EXPECT_EQ(activity.client_count, 2U);
    EXPECT_EQ(activity.clients[0].lid, Lid{7}) << "who asks most comes first";
    EXPECT_EQ(activity.clients[0].requests, 10U);
    EXPECT_EQ(activity.clients[0].duplicates, 1U);
    EXPECT_EQ(activity.clients[0].dropped, 2U);
    EXPECT_EQ(activity.clients[1].last_seen, kStart + 1s);
}

TEST(Statistics, WhatTheIbaDoesNotKnowSharesARow) {
    Statistics statistics;
    const auto strange = statistics.kind_of(0x77, 0x7777);
    EXPECT_EQ(strange, statistics.kind_of(static_cast<std::uint8_t>(SaMethod::get), 0x7777));
    EXPECT_EQ(strange, statistics.kind_of(0x77, static_cast<std::uint16_t>(SaAttribute::path_record)));
    EXPECT_EQ(strange, statistics.kind_of(0x81, static_cast<std::uint16_t>(SaAttribute::path_record)))
        << "no request";
    for (unsigned method = 0; method < 256; ++method) {
        for (unsigned attribute = 0; attribute < 65'536; attribute += 17) {
            statistics.requested(
                statistics.kind_of(static_cast<std::uint8_t>(method), static_cast<std::uint16_t>(attribute)),
                Lid{1}, kStart);
        }
    }
    const fabric::SaActivity activity = told(statistics, kStart);
    EXPECT_LT(activity.by_kind.size(), 200U);
    EXPECT_EQ(activity.by_kind.back().method, 0);
    EXPECT_GT(activity.by_kind.back().requests, 900'000U);
}

// 100,000 requests under made-up LIDs cost what one costs, and the busiest are told.
TEST(Statistics, NothingGrowsWithWhoAsks) {
    Statistics statistics;
    const auto paths = kind(statistics, SaMethod::get, SaAttribute::path_record);
    const std::size_t before = test::allocations();
    for (unsigned i = 0; i < 100'000; ++i) {
        const Lid lid{static_cast<std::uint16_t>(i)};
        statistics.requested(paths, lid, kStart + i * 1us);
        statistics.duplicate(lid);
        statistics.dropped(lid);
        statistics.answered(paths, i * 10ns);
    }
    EXPECT_EQ(test::allocations(), before);
    for (int i = 0; i < 5; ++i) {
        statistics.requested(paths, Lid{50'000}, kStart + 1s);
    }
    const fabric::SaActivity activity = told(statistics, kStart + 2s);
    EXPECT_EQ(activity.client_count, 65'536U);
    ASSERT_EQ(activity.clients.size(), Statistics::kClientsTold);
    EXPECT_EQ(activity.clients[0].lid, Lid{50'000});
    EXPECT_EQ(activity.clients[1].lid, Lid{0}) << "of equals the lowest LID: those below 34,464 asked twice";
    EXPECT_EQ(activity.clients[2].lid, Lid{1});
    EXPECT_GT(told(statistics, kStart).by_kind[0].latencies.count, 0U);
}

TEST(Statistics, WhoAskedMostOfLateComesFirst) {
    Statistics statistics;
    const auto paths = kind(statistics, SaMethod::get, SaAttribute::path_record);
    for (int i = 0; i < 100; ++i) {
        statistics.requested(paths, Lid{1}, kStart);
    }
    statistics.requested(paths, Lid{2}, kStart + 60s);
    EXPECT_EQ(told(statistics, kStart + 61s).clients[0].lid, Lid{2});
    EXPECT_EQ(told(statistics, kStart + 600s).clients[0].lid, Lid{1}) << "none of late: who ever asked most";
}

}  // namespace
}  // namespace ibf::sa
