#include "probe/amounts.hpp"

#include <gtest/gtest.h>

namespace ibf::probe {
namespace {

TEST(Amounts, SizesGoBy1024AndRatesBy1000) {
    EXPECT_EQ(parse_size("64"), 64U);
    EXPECT_EQ(parse_size("4K"), 4096U);
    EXPECT_EQ(parse_size("1m"), 1048576U);
    EXPECT_EQ(parse_size("1G"), 1073741824U);
    EXPECT_EQ(parse_size("1.5K"), 1536U);
    EXPECT_EQ(parse_rate("500M"), 500'000'000U);
    EXPECT_EQ(parse_rate("10G"), 10'000'000'000U);
    EXPECT_EQ(parse_rate("0"), 0U);
}

TEST(Amounts, WhatIsNoneIsRefused) {
    for (const char* text : {"", "K", "-1", "1.3", "4KB", "4 K", "nan", "inf", "1e30", "0x10"}) {
        EXPECT_FALSE(parse_size(text)) << text;
        EXPECT_FALSE(parse_rate(text)) << text;
    }
}

TEST(Amounts, SizesAreWrittenShortWhereThatIsExact) {
    EXPECT_EQ(size_text(1), "1");
    EXPECT_EQ(size_text(1023), "1023");
    EXPECT_EQ(size_text(65536), "64K");
    EXPECT_EQ(size_text(65537), "65537");
    EXPECT_EQ(size_text(1U << 30U), "1G");
}

}  // namespace
}  // namespace ibf::probe
