#include "base/strong.hpp"

#include <type_traits>
#include <unordered_set>

#include <gtest/gtest.h>

namespace ibf::base {
namespace {

using Apples = StrongInt<struct ApplesTag, std::uint16_t>;
using Pears = StrongInt<struct PearsTag, std::uint16_t>;
using Mask = StrongInt<struct MaskTag, std::uint64_t, Radix::hexadecimal>;

static_assert(sizeof(Apples) == sizeof(std::uint16_t));
static_assert(std::is_trivially_copyable_v<Apples>);
static_assert(!std::is_convertible_v<std::uint16_t, Apples>, "no implicit way in");
static_assert(!std::is_convertible_v<Apples, std::uint16_t>, "no implicit way out");
static_assert(!std::is_constructible_v<Apples, Pears>, "apples are not pears");
static_assert(kIsStrongInt<Apples> && !kIsStrongInt<std::uint16_t>);
static_assert(Apples{}.value() == 0);
static_assert(Apples{1} < Apples{2} && Apples{2} == Apples{2});

TEST(Strong, PrintsInItsRadix) {
    EXPECT_EQ(fmt::format("{}", Apples{65535}), "65535");
    EXPECT_EQ(fmt::format("{}", Mask{0x2c9}), "0x00000000000002c9");
    using Octet = StrongInt<struct OctetTag, std::uint8_t>;
    EXPECT_EQ(fmt::format("{}", Octet{65}), "65") << "a number, not a letter";
    using HexOctet = StrongInt<struct HexOctetTag, std::uint8_t, Radix::hexadecimal>;
    EXPECT_EQ(fmt::format("{}", HexOctet{10}), "0x0a");
}

TEST(Strong, Hashes) {
    const std::unordered_set<Apples> basket{Apples{1}, Apples{2}, Apples{1}};
    EXPECT_EQ(basket.size(), 2U);
    EXPECT_TRUE(basket.contains(Apples{2}));
}

}  // namespace
}  // namespace ibf::base
