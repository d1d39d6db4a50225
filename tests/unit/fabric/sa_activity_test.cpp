#include "daemon/fabric/sa_activity.hpp"

#include <gtest/gtest.h>

namespace ibf::fabric {
namespace {

using namespace std::chrono_literals;

constexpr base::Instant kStart{1000s};

TEST(RateWindow, IsTheRateOfTheLastSeconds) {
    RateWindow rate;
    EXPECT_EQ(rate.per_second(kStart), 0.0);
    for (int i = 0; i < 1000; ++i) {
        rate.count(kStart + i * 10ms);
    }
    EXPECT_NEAR(rate.per_second(kStart + 10s), 100.0, 1.0);
    EXPECT_NEAR(rate.per_second(kStart + 12'500ms), 50.0, 1.0) << "fades where nothing comes";
    EXPECT_EQ(rate.per_second(kStart + 15s), 0.0);
    EXPECT_EQ(rate.per_second(kStart + 1h), 0.0);
}

TEST(RateWindow, SlidesOverItsStretches) {
    RateWindow rate;
    for (int i = 0; i < 12'000; ++i) {
        const base::Instant now = kStart + i * 5ms;
        rate.count(now);
        if (i > 1000) {
            ASSERT_NEAR(rate.per_second(now), 200.0, 1.0) << i;
        }
    }
}

TEST(RateWindow, APauseIsNotCounted) {
    RateWindow rate;
    rate.count(kStart);
    rate.count(kStart + 60s);
    EXPECT_DOUBLE_EQ(rate.per_second(kStart + 60s), 0.2);
}

}  // namespace
}  // namespace ibf::fabric
