#include "mad/sa_rates.hpp"

#include <gtest/gtest.h>

#include "mad/ids.hpp"

namespace ibf::mad {
namespace {

TEST(SaRates, RanksAreInOrderOfSpeedAndLeadBackToTheirCodes) {
    for (std::uint8_t rank = 1; rank <= kRateRankMost; ++rank) {
        EXPECT_EQ(rank_of_code(rate_code(rank)), rank);
        EXPECT_GT(gbps_of_code(rate_code(rank)),
                  gbps_of_code(rate_code(static_cast<std::uint8_t>(rank - 1))));
        EXPECT_EQ(rate_rank(gbps_of_code(rate_code(rank))), rank);
    }
}

TEST(SaRates, CodesAreThoseOfTheSpecification) {
    EXPECT_EQ(gbps_of_code(2), 2.5);
    EXPECT_EQ(gbps_of_code(3), 10);
    EXPECT_EQ(gbps_of_code(7), 40);
    EXPECT_EQ(gbps_of_code(16), 100);
    EXPECT_EQ(gbps_of_code(18), 300);
    EXPECT_EQ(rate_code(rate_rank(link_gbps(LinkWidth::x4, LinkSpeed::ndr))), 21);
    EXPECT_GT(rank_of_code(4), rank_of_code(6)) << "30 Gb/s has a lower code than 20 Gb/s";
}

TEST(SaRates, WhatIsNoRateIsNone) {
    EXPECT_EQ(rank_of_code(0), 0);
    EXPECT_EQ(rank_of_code(1), 0);
    EXPECT_EQ(rank_of_code(63), 0);
    EXPECT_EQ(gbps_of_code(255), 0);
    EXPECT_EQ(rate_rank(0), 0);
    EXPECT_EQ(rate_rank(1e9), kRateRankMost);
    EXPECT_EQ(rate_code(255), rate_code(kRateRankMost));
}

TEST(SaRates, ALinkBetweenTwoRatesHasTheSlower) {
    EXPECT_EQ(gbps_of_code(rate_code(rate_rank(41.25))), 40);
    EXPECT_EQ(gbps_of_code(rate_code(rate_rank(13.999))), 14);
}

}  // namespace
}  // namespace ibf::mad
