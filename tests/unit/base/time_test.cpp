#include "base/time.hpp"

#include <gtest/gtest.h>

namespace ibf::base {
namespace {

using namespace std::chrono_literals;

TEST(Time, Utc) {
    using namespace std::chrono;
    const sys_days day{2026y / November / 29};
    EXPECT_EQ(format_utc(day + 16h + 25min + 48s + 123ms), "2026-11-29T16:25:48.123Z");
    EXPECT_EQ(format_utc(WallTime{}), "1970-01-01T00:00:00.000Z");
    EXPECT_EQ(format_utc(WallTime{-1ms}), "1969-12-31T23:59:59.999Z");
    EXPECT_EQ(format_utc(sys_days{2028y / February / 29} + 5ms), "2028-02-29T00:00:00.005Z");
}

TEST(Time, Durations) {
    EXPECT_EQ(format_duration(0us), "0us");
    EXPECT_EQ(format_duration(850us), "850us");
    EXPECT_EQ(format_duration(12300us), "12.3ms");
    EXPECT_EQ(format_duration(4210ms), "4.21s");
    EXPECT_EQ(format_duration(192s), "3m12s");
    EXPECT_EQ(format_duration(120s), "2m00s");
    EXPECT_EQ(format_duration(3605s), "60m05s");
}

TEST(Time, TheMonotonicClockDoesNotGoBack) {
    Instant last = monotonic_now();
    for (int i = 0; i < 1000; ++i) {
        const Instant now = monotonic_now();
        ASSERT_GE(now, last);
        last = now;
    }
    EXPECT_GT(wall_now().time_since_epoch(), std::chrono::hours{24 * 365 * 50});
}

}  // namespace
}  // namespace ibf::base
