#include "mad/codec.hpp"

#include <gtest/gtest.h>

namespace ibf::mad {
namespace {

TEST(Codec, NodeDescriptionEndsAtTheFirstNulAndKeepsBlanks) {
    AttributeData bytes{};
    const std::string text = "gpu-17 HCA-1  ";
    std::copy(text.begin(), text.end(), bytes.begin());
    bytes[20] = 'x';  // after the NUL
    EXPECT_EQ(decode_node_description(bytes).text, text);
    bytes.fill('a');
    EXPECT_EQ(decode_node_description(bytes).text, std::string(64, 'a'));
    EXPECT_EQ(encode(NodeDescription{.text = std::string(100, 'a')}), bytes) << "cut at 64";
    EXPECT_EQ(decode_node_description(encode(NodeDescription{.text = text})).text, text);
}

TEST(Codec, VlCountOfACode) {
    constexpr std::array<unsigned, 8> kWant{0, 1, 2, 4, 8, 15, 0, 0};
    for (std::uint8_t code = 0; code < kWant.size(); ++code) {
        EXPECT_EQ(vl_count(code), kWant[code]);
    }
    EXPECT_EQ(vl_count(255), 0U);
}

TEST(Codec, AValueTooWideForItsFieldTouchesNoNeighbour) {
    PortInfo port;
    port.lmc = 0xFF;
    port.hoq_life = 0xFF;
    port.speed_ext_active = 0xFF;
    port.speed_ext2_active = 0xFF;
    port.link_round_trip = 0xFFFFFFFF;
    const PortInfo back = decode_port_info(encode(port));
    EXPECT_EQ(back.lmc, 7);
    EXPECT_EQ(back.mkey_protect, 0);
    EXPECT_EQ(back.hoq_life, 0x1F);
    EXPECT_EQ(back.vl_stall_count, 0);
    EXPECT_EQ(back.speed_ext_active, 0xF);
    EXPECT_EQ(back.speed_ext_supported, 0);
    EXPECT_EQ(back.speed_ext2_active, 3);
    EXPECT_EQ(back.speed_ext2_supported, 0);
    EXPECT_EQ(back.link_round_trip, 0x00FFFFFFU);
}

TEST(Codec, SwitchInfoKeepsTheSecondOptimisationBit) {
    AttributeData bytes{};
    bytes[11] = 0x03;
    SwitchInfo info = decode_switch_info(bytes);
    EXPECT_TRUE(info.optimized_sl2vl);
    EXPECT_EQ(encode(info), bytes);
    info.port_state_change = true;
    EXPECT_EQ(encode(info)[11], 0x07);
}

}  // namespace
}  // namespace ibf::mad
