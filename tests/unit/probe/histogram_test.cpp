#include "probe/histogram.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/prng.hpp"

namespace ibf::probe::test {
namespace {

constexpr std::uint64_t kLargest = std::uint64_t{1} << 63U;

TEST(Histogram, EmptyIsAllZero) {
    const Histogram none;
    EXPECT_EQ(none.count(), 0U);
    EXPECT_EQ(none.percentile(0.5), 0U);
    EXPECT_EQ(none.mean(), 0);
    EXPECT_EQ(none.minimum(), 0U);
    EXPECT_TRUE(none.buckets().empty());
}

TEST(Histogram, CountSumAndEndsAreExact) {
    Histogram times;
    for (const std::uint64_t time : {1000U, 17U, 123'456'789U}) {
        times.add(time);
    }
    EXPECT_EQ(times.count(), 3U);
    EXPECT_EQ(times.sum(), 123'457'806U);
    EXPECT_EQ(times.minimum(), 17U);
    EXPECT_EQ(times.maximum(), 123'456'789U);
    EXPECT_DOUBLE_EQ(times.mean(), 123'457'806.0 / 3);
}

/// A lone value, beside a larger one: its percentile is its bucket's upper edge.
std::uint64_t edge_of(std::uint64_t value) {
    Histogram times;
    times.add(value);
    times.add(std::numeric_limits<std::uint64_t>::max());
    return times.percentile(0.5);
}

TEST(Histogram, ABucketIsAtMostA32ndTooHigh) {
    base::Prng numbers(1);
    std::vector<std::uint64_t> values = {0, 1, 31, 32, 33, 63, 64, 65, kLargest - 1, kLargest};
    for (int i = 0; i < 10'000; ++i) {
        values.push_back(numbers.next() >> numbers.below(64));
    }
    for (const std::uint64_t value : values) {
        const std::uint64_t edge = edge_of(value);
        ASSERT_GE(edge, value);
        ASSERT_LE(edge - value, value / 32) << value;
    }
}

TEST(Histogram, PercentilesAreThoseOfTheSortedTimes) {
    base::Prng numbers(2);
    Histogram times;
    std::vector<std::uint64_t> sorted;
    for (int i = 0; i < 5000; ++i) {
        const std::uint64_t time = 800 + numbers.below(1'000'000);
        times.add(time);
        sorted.push_back(time);
    }
    std::sort(sorted.begin(), sorted.end());
    for (const double share : {0.0, 0.01, 0.5, 0.9, 0.99, 0.999, 1.0}) {
        const auto rank = static_cast<std::size_t>(std::max(1.0, std::ceil(share * 5000)));
        const std::uint64_t exact = sorted[rank - 1];
        EXPECT_GE(times.percentile(share), exact) << share;
        EXPECT_LE(times.percentile(share), exact + exact / 32) << share;
    }
    EXPECT_EQ(times.percentile(1), times.maximum());
}

TEST(Histogram, TheSumOfTwoIsAsIfAllHadGoneIntoOne) {
    base::Prng numbers(3);
    Histogram first;
    Histogram second;
    Histogram both;
    for (int i = 0; i < 1000; ++i) {
        const std::uint64_t time = numbers.next() >> 40U;
        (i % 3 == 0 ? first : second).add(time);
        both.add(time);
    }
    first.add(second);
    first.add(Histogram{});
    EXPECT_EQ(first.buckets(), both.buckets());
    EXPECT_EQ(first.count(), both.count());
    EXPECT_EQ(first.sum(), both.sum());
    EXPECT_EQ(first.minimum(), both.minimum());
    EXPECT_EQ(first.maximum(), both.maximum());
}

TEST(Histogram, WhatIsToldAndReadIsTheSame) {
    Histogram times;
    for (const std::uint64_t time : {5U, 5U, 4000U, 9'999'999U}) {
        times.add(time);
    }
    const Histogram read = Histogram::of(times.buckets(), times.sum(), times.minimum(), times.maximum());
    EXPECT_EQ(read.count(), 4U);
    EXPECT_EQ(read.percentile(0.5), 5U);
    EXPECT_EQ(read.percentile(1), 9'999'999U);
    EXPECT_EQ(read.mean(), times.mean());
}

// From other hosts: whatever it says, it stays a histogram.
TEST(Histogram, HostileBucketsAreLeftOutAndCountsSaturate) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
    Histogram read = Histogram::of({{1, kMost}, {2, kMost}, {0xFFFFFFFF, 7}, {5000, 7}, {3, 0}}, 1, 9, 2);
    EXPECT_EQ(read.buckets().size(), 2U);
    EXPECT_EQ(read.count(), kMost);
    EXPECT_LE(read.percentile(0.999), 2U);
    read.add(read);
    EXPECT_EQ(read.count(), kMost);
    EXPECT_EQ(Histogram::of({{4000, 1}}, 77, 8, 9).maximum(), 0U) << "nothing was counted";
}

}  // namespace
}  // namespace ibf::probe::test
