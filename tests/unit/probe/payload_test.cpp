#include "probe/payload.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <set>
#include <string_view>
#include <vector>

#include "base/prng.hpp"

namespace ibf::probe::test {
namespace {

using Octets = std::vector<std::uint8_t>;

Octets octets(std::size_t count, std::uint64_t seed) {
    Octets made(count);
    fill_pattern(made, seed, 0);
    return made;
}

struct Vector {
    Octets data;
    std::uint32_t crc;
};

/// RFC 3720, B.4, and the check value of the CRC catalogue.
std::vector<Vector> known_vectors() {
    Octets rising(32);
    std::iota(rising.begin(), rising.end(), std::uint8_t{0});
    const std::string_view digits = "123456789";
    return {{Octets(32, 0), 0x8a9136aa},
            {Octets(32, 0xFF), 0x62a8ab43},
            {rising, 0x46dd794e},
            {Octets(rising.rbegin(), rising.rend()), 0x113fdb5c},
            {Octets(digits.begin(), digits.end()), 0xe3069283},
            {{}, 0}};
}

TEST(Payload, KnownCrcsByEachWay) {
    for (const auto& [data, crc] : known_vectors()) {
        EXPECT_EQ(crc32c_by_table(data), crc);
        EXPECT_EQ(crc32c(data), crc);
        if (has_crc32c_instruction()) {
            EXPECT_EQ(crc32c_by_instruction(data), crc);
        }
    }
}

TEST(Payload, TableAndInstructionAgreeAtEachLengthAndOffset) {
    if (!has_crc32c_instruction()) {
        GTEST_SKIP() << "this processor has no CRC32C instruction";
    }
    const Octets data = octets(3 * 3 * 1024 + 64, 7);
    base::Prng numbers(1);
    for (int i = 0; i < 2000; ++i) {
        const std::size_t from = numbers.below(64);
        const std::size_t count =
            i < 100 ? static_cast<std::size_t>(i) : numbers.below(data.size() - from + 1);
        const std::span<const std::uint8_t> part(data.data() + from, count);
        ASSERT_EQ(crc32c_by_instruction(part), crc32c_by_table(part)) << from << " " << count;
    }
}

TEST(Payload, CrcsContinue) {
    const Octets data = octets(10'000, 3);
    const std::span<const std::uint8_t> all(data);
    for (const std::size_t cut : {0U, 1U, 7U, 3072U, 3073U, 9999U, 10'000U}) {
        EXPECT_EQ(crc32c(all.subspan(cut), crc32c(all.first(cut))), crc32c(all)) << cut;
    }
}

TEST(Payload, AnyOneBitThatTurnsIsSeen) {
    Octets data = octets(3200, 5);
    const std::uint32_t right = crc32c(data);
    for (std::size_t bit = 0; bit < data.size() * 8; bit += 11) {
        data[bit / 8] = static_cast<std::uint8_t>(data[bit / 8] ^ 1U << bit % 8);
        EXPECT_NE(crc32c(data), right) << bit;
        data[bit / 8] = static_cast<std::uint8_t>(data[bit / 8] ^ 1U << bit % 8);
    }
}

TEST(Payload, AShorterPatternBeginsALongerOne) {
    Octets longest(100);
    fill_pattern(longest, 42, 17);
    for (std::size_t count = 0; count <= longest.size(); ++count) {
        Octets made(count);
        fill_pattern(made, 42, 17);
        EXPECT_TRUE(std::equal(made.begin(), made.end(), longest.begin())) << count;
    }
}

TEST(Payload, SeedsAndNumbersGivePatternsOfTheirOwn) {
    std::set<Octets> seen;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        for (std::uint64_t number = 0; number < 20; ++number) {
            Octets made(16);
            fill_pattern(made, seed, number);
            EXPECT_TRUE(seen.insert(made).second) << seed << " " << number;
        }
    }
}

// Both sides of a test may be of different versions and machines: what a pattern is stays as it is.
TEST(Payload, ThePatternOfSeed1) {
    Octets made(8);
    fill_pattern(made, 1, 0);
    EXPECT_EQ(crc32c(made), 0xb38d7a65) << "by SplitMix64 and CRC32C written anew in Python";
}

}  // namespace
}  // namespace ibf::probe::test
