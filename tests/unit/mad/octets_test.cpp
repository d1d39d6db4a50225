#include "mad/octets.hpp"

#include <array>

#include <gtest/gtest.h>

#include "mad/multicast.hpp"

namespace ibf::mad {
namespace {

TEST(Octets, AreInNetworkOrder) {
    std::array<std::uint8_t, 20> octets{};
    store16(octets, 1, 0x1234);
    EXPECT_EQ(octets[1], 0x12);
    EXPECT_EQ(octets[2], 0x34);
    EXPECT_EQ(load16(octets, 1), 0x1234);
    store_gid(octets, 3, {0x0102030405060708ULL, Guid{0x090a0b0c0d0e0f10ULL}});
    for (std::uint8_t i = 1; i <= 16; ++i) {
        EXPECT_EQ(octets[2U + i], i);
    }
    EXPECT_EQ(octets[19], 0);
    EXPECT_EQ(load_gid(octets, 3), (Gid{0x0102030405060708ULL, Guid{0x090a0b0c0d0e0f10ULL}}));
    EXPECT_EQ(load64(octets, 11), 0x090a0b0c0d0e0f10ULL);
}

TEST(Multicast, NamesSayWhatTheyAre) {
    const Gid broadcast = ipoib_broadcast(PKey{0x7FFF}, kScopeLinkLocal);
    EXPECT_EQ(to_string(broadcast), "ff12:401b:ffff:0:0:0:ffff:ffff");
    EXPECT_EQ(scope_of(ipoib_broadcast(PKey{0x8005}, kScopeGlobal)), kScopeGlobal);
    EXPECT_TRUE(is_multicast(broadcast));
    EXPECT_FALSE(is_multicast({0xfe80000000000000ULL, Guid{1}}));
    EXPECT_TRUE(is_sa_made({0xff10a01b00000000ULL, Guid{1}}));
    EXPECT_FALSE(is_sa_made(broadcast));
    EXPECT_EQ(partition_of(kPKeyDefaultFull), partition_of(kPKeyDefaultLimited));
}

}  // namespace
}  // namespace ibf::mad
