#include "mad/speeds_beyond.hpp"

#include <gtest/gtest.h>

#include "mad/codec.hpp"

namespace ibf::mad {
namespace {

TEST(SpeedsBeyond, EveryOctetSplitsAndJoins) {
    for (unsigned octet = 0; octet < 256; ++octet) {
        const auto whole = static_cast<std::uint8_t>(octet);
        EXPECT_EQ(join_speed_ext2(whole, split_speed_ext2(whole)), whole);
        EXPECT_EQ(join_speed_ext2(whole, {}), octet & 0x80U) << "the reserved bit stays";
    }
    EXPECT_EQ(join_speed_ext2(0, {.active = 0xFF, .supported = 0, .enabled = 0}), 0x60);
    EXPECT_EQ(join_speed_ext2(0, {.active = 0, .supported = 0xFF, .enabled = 0}), 0x18);
    EXPECT_EQ(join_speed_ext2(0, {.active = 0, .supported = 0, .enabled = 0xFF}), 0x07);
}

// Linux reads XDR as ((data[56] >> 4) & 6) == 2 (drivers/infiniband/hw/mlx5/mad.c).
TEST(SpeedsBeyond, ExtendedSpeeds2SitWhereLinuxReadsThem) {
    PortInfo port;
    port.speed_ext2_active = kSpeedExt2Xdr;
    port.speed_ext2_supported = 2;
    port.speed_ext2_enabled = 5;
    const AttributeData bytes = encode(port);
    EXPECT_EQ((bytes[56] >> 4U) & 6U, 2U);
    EXPECT_EQ(bytes[56], 0x20 | 0x10 | 0x05);
    const PortInfo back = decode_port_info(bytes);
    EXPECT_EQ(back.speed_ext2_active, 1);
    EXPECT_EQ(back.speed_ext2_supported, 2);
    EXPECT_EQ(back.speed_ext2_enabled, 5);
    EXPECT_EQ(back.link_round_trip, 0U);
    AttributeData reserved{};
    reserved[56] = 0x80;
    EXPECT_EQ(encode(decode_port_info(reserved))[56], 0x80);
}

}  // namespace
}  // namespace ibf::mad
