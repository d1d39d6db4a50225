#include "base/prng.hpp"

#include <algorithm>
#include <array>

#include <gtest/gtest.h>

namespace ibf::base {
namespace {

// The first outputs of the authors' splitmix64.c for seed 1234567.
TEST(Prng, IsSplitMix64) {
    Prng prng{1234567};
    EXPECT_EQ(prng.next(), 6457827717110365317ULL);
    EXPECT_EQ(prng.next(), 3203168211198807973ULL);
    EXPECT_EQ(prng.next(), 9817491932198370423ULL);
    EXPECT_EQ(prng.next(), 4593380528125082431ULL);
}

TEST(Prng, BelowStaysBelowAndReachesAll) {
    Prng prng{7};
    std::array<int, 6> seen{};
    for (int i = 0; i < 60000; ++i) {
        const std::uint64_t value = prng.below(seen.size());
        ASSERT_LT(value, seen.size());
        ++seen[value];
    }
    for (const int count : seen) {
        EXPECT_NEAR(count, 10000, 500);
    }
    EXPECT_EQ(prng.below(1), 0U);
    EXPECT_LT(prng.below(~std::uint64_t{0}), ~std::uint64_t{0});
}

TEST(Prng, UnitIsInTheHalfOpenInterval) {
    Prng prng{8};
    double sum = 0;
    for (int i = 0; i < 10000; ++i) {
        const double value = prng.unit();
        ASSERT_GE(value, 0.0);
        ASSERT_LT(value, 1.0);
        sum += value;
    }
    EXPECT_NEAR(sum / 10000, 0.5, 0.02);
}

TEST(Prng, ShuffleIsAPermutationAndRepeatable) {
    std::vector<int> items(100);
    for (int i = 0; i < 100; ++i) {
        items[static_cast<std::size_t>(i)] = i;
    }
    std::vector<int> once = items;
    std::vector<int> twice = items;
    Prng{5}.shuffle(once);
    Prng{5}.shuffle(twice);
    EXPECT_EQ(once, twice);
    EXPECT_NE(once, items);
    EXPECT_TRUE(std::is_permutation(once.begin(), once.end(), items.begin()));
    std::vector<int> none;
    Prng{5}.shuffle(none);
    EXPECT_TRUE(none.empty());
}

}  // namespace
}  // namespace ibf::base
