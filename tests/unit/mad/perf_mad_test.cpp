#include "mad/perf_mad.hpp"

#include <gtest/gtest.h>

namespace ibf::mad {
namespace {

TEST(PerfMad, AGetIsWhatTheWireWants) {
    const MadBuffer bytes =
        encode_perf_get(PerfAttribute::port_counters_extended, PortNum{7}, Tid{0x01020304});
    EXPECT_EQ(bytes[0], 1);
    EXPECT_EQ(bytes[1], 0x04);
    EXPECT_EQ(bytes[2], 1);
    EXPECT_EQ(bytes[3], 0x01);
    EXPECT_EQ(bytes[12], 1);
    EXPECT_EQ(bytes[15], 4);
    EXPECT_EQ(bytes[17], 0x1D);
    EXPECT_EQ(bytes[65], 7);
    EXPECT_EQ(encode_perf_get(PerfAttribute::class_port_info, PortNum{7}, Tid{1})[65], 0);
}

TEST(PerfMad, ClassPortInfoComesBack) {
    const ClassPortInfo info{.capability_mask = 0x1200,
                             .redirect_gid = {.prefix = 0xFE80000000000000ULL, .interface_id = Guid{0x1234}},
                             .redirect_sl = Sl{5},
                             .redirect_lid = Lid{0x0102},
                             .redirect_pkey = PKey{0xFFFF},
                             .redirect_qp = 0x00ABCDEF,
                             .redirect_qkey = 0x80010000};
    const PerfData data = encode(info);
    EXPECT_EQ(decode_class_port_info(data), info);
    EXPECT_EQ(data[28], 0x01);  // RedirectLID at 28, RedirectQP in the low 24 bits at 32 (IBA 13.4.8.1)
    EXPECT_EQ(data[33], 0xAB);
    EXPECT_TRUE(info.has_extended_counters());
    EXPECT_TRUE(info.has_transmit_wait());
    EXPECT_FALSE(ClassPortInfo{.capability_mask = 0x0100}.has_extended_counters());
    EXPECT_TRUE(ClassPortInfo{.capability_mask = 0x0400}.has_extended_counters()) << "without IETF counters";
}

TEST(PerfMad, OnlyAnswersOfTheClassAreRead) {
    MadBuffer bytes = encode_perf_get(PerfAttribute::port_counters, PortNum{1}, Tid{9});
    EXPECT_FALSE(parse_perf_reply(bytes)) << "a request";
    bytes[3] = 0x81;
    bytes[5] = 0x02;
    bytes[64 + 191] = 77;
    const auto reply = parse_perf_reply(bytes);
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->tid, Tid{9});
    EXPECT_EQ(reply->status, kStatusRedirect);
    EXPECT_EQ(reply->data[191], 77);
    bytes[1] = 0x03;
    EXPECT_FALSE(parse_perf_reply(bytes)) << "another class";
    bytes[1] = 0x04;
    EXPECT_FALSE(parse_perf_reply(std::span(bytes).first(200))) << "cut";
}

}  // namespace
}  // namespace ibf::mad
