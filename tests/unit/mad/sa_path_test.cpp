#include "mad/sa_path.hpp"

#include <gtest/gtest.h>

namespace ibf::mad {
namespace {

TEST(SaPath, RefusesWhatIsNoRecord) {
    const std::array<std::uint8_t, 64> zeros{};
    const auto empty = parse_path_record(zeros);
    ASSERT_FALSE(empty);
    EXPECT_EQ(empty.error().message, "a path record with MTU code 0 and rate code 0: there are none such");
    const auto shorter = parse_path_record(std::span(zeros).first(63));
    ASSERT_FALSE(shorter);
    EXPECT_EQ(shorter.error().kind, base::ErrorKind::parse);
}

TEST(SaPath, PacketLifetimeIsInUnits) {
    EXPECT_EQ(PathRecord{.packet_life = 0}.packet_lifetime(), std::chrono::nanoseconds{4096});
    EXPECT_EQ(PathRecord{.packet_life = 18}.packet_lifetime(), std::chrono::nanoseconds{1'073'741'824});
    EXPECT_GT(PathRecord{.packet_life = 31}.packet_lifetime(), std::chrono::hours{2});
}

}  // namespace
}  // namespace ibf::mad
