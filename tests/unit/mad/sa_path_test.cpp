#include "mad/sa_path.hpp"

#include <array>

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
    EXPECT_EQ(PathRecord{.packet_life = 50}.packet_lifetime().count(), std::int64_t{1} << 62U);
    EXPECT_EQ(PathRecord{.packet_life = 51}.packet_lifetime().count(), std::int64_t{1} << 62U);
    EXPECT_EQ(PathRecord{.packet_life = 63}.packet_lifetime().count(), std::int64_t{1} << 62U);
}

/// The octets of a path from LID 7 to LID 9 and GID fec0::5, in partition 0x8005.
std::array<std::uint8_t, 64> answer() {
    std::array<std::uint8_t, 64> out{};
    out[8] = 0xFE, out[9] = 0xC0, out[23] = 5;  // DGID
    out[41] = 9;                                // DLID
    out[43] = 7;                                // SLID
    out[49] = 0x81;                             // reversible, one
    out[50] = 0x80, out[51] = 0x05;             // P_Key
    out[53] = 3;                                // SL
    out[54] = 0x80 | 4;                         // MTU 2048
    out[55] = 0x80 | 16;                        // 100 Gb/s
    return out;
}

TEST(SaPath, AnAnswerIsToTheQuestion) {
    const PathQuestion question{.slid = Lid{7}, .dlid = Lid{9}, .dgid = {}, .pkey = PKey{0x0005}};
    const auto fits = parse_path_answer(answer(), question);
    ASSERT_TRUE(fits) << fits.error().message;
    EXPECT_EQ(fits->sl, Sl{3});
    PathQuestion by_gid = question;
    by_gid.dlid = kLidNone;
    by_gid.dgid = Gid{0xFE80000000000000, Guid{5}};
    EXPECT_TRUE(parse_path_answer(answer(), by_gid)) << "the prefix is the subnet's own";

    const auto refused = [](const PathQuestion& asked, std::size_t at, std::uint8_t octet) {
        auto octets = answer();
        octets[at] = octet;
        const auto got = parse_path_answer(octets, asked);
        EXPECT_FALSE(got);
        EXPECT_EQ(got.error().kind, base::ErrorKind::parse);
        return got ? std::string() : got.error().message;
    };
    EXPECT_EQ(refused(question, 41, 12),
              "the SA was asked for a path from LID 7 to LID 9, and answers with one from LID 7 to LID 12, "
              "fec0:0:0:0:0:0:0:5");
    EXPECT_NE(refused(question, 43, 8).find("from LID 8"), std::string::npos);
    EXPECT_NE(refused(by_gid, 23, 6).find("to fe80:0:0:0:0:0:0:5, and answers"), std::string::npos);
    EXPECT_NE(refused(question, 51, 6).find("partition 0x0005, and answers with one in 0x8006"),
              std::string::npos);
    EXPECT_EQ(refused(question, 49, 0x01),
              "the SA was asked for a path of both directions, and answers with one of one");
}

}  // namespace
}  // namespace ibf::mad
