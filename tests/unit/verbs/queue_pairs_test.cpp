// What goes into a queue pair's address, without a device.
#include "probe/verbs/queue_pairs.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace ibf::probe::verbs::test {
namespace {

Setting on_infiniband() {
    Setting setting;
    setting.chosen.port.port = 2;
    setting.chosen.port.bits_per_second = 100'000'000'000;
    setting.path.sl = mad::Sl{3};
    setting.path.bits_per_second = 25'000'000'000;
    setting.path.is_recorded = true;
    return setting;
}

EndpointAddress peer_with_lid(std::uint16_t lid) {
    EndpointAddress peer;
    peer.lid = mad::Lid{lid};
    peer.gid[15] = 7;
    return peer;
}

TEST(AddressOf, SlAndRateAreThePathRecords) {
    const ibv_ah_attr to = address_of(on_infiniband(), peer_with_lid(0x21));
    EXPECT_EQ(to.dlid, 0x21);
    EXPECT_EQ(to.sl, 3);
    EXPECT_EQ(to.static_rate, IBV_RATE_25_GBPS);
    EXPECT_EQ(to.port_num, 2);
    EXPECT_EQ(to.src_path_bits, 0);
    EXPECT_EQ(to.is_global, 0);
}

TEST(AddressOf, APathAsFastAsThePortHasNoRateOfItsOwn) {
    Setting setting = on_infiniband();
    setting.path.bits_per_second = setting.chosen.port.bits_per_second;
    EXPECT_EQ(address_of(setting, peer_with_lid(1)).static_rate, 0);
}

TEST(AddressOf, FlagsGiveLidAndPathBits) {
    Setting setting = on_infiniband();
    setting.way.dlid = mad::Lid{0x22};
    setting.way.path_bits = 1;
    const ibv_ah_attr to = address_of(setting, peer_with_lid(0x21));
    EXPECT_EQ(to.dlid, 0x22);
    EXPECT_EQ(to.src_path_bits, 1);
}

TEST(AddressOf, OfRoceItIsTheGid) {
    Setting setting;
    setting.chosen.with_grh = true;
    setting.chosen.gid.index = 3;
    setting.way.sl = mad::Sl{5};
    setting.way.traffic_class = 106;
    const ibv_ah_attr to = address_of(setting, peer_with_lid(0));
    EXPECT_EQ(to.is_global, 1);
    EXPECT_EQ(to.grh.dgid.raw[15], 7);
    EXPECT_EQ(to.grh.sgid_index, 3);
    EXPECT_EQ(to.grh.traffic_class, 106);
    EXPECT_EQ(to.sl, 5);
}

/// The rates of the attempts that an adapter saw, which answers `why` to all but rate 0.
std::vector<int> rates_tried(std::uint8_t rate, int why, int& last) {
    std::vector<int> tried;
    ibv_ah_attr to{};
    to.static_rate = rate;
    last = with_rate_or_without(to, [&] {
        tried.push_back(to.static_rate);
        return to.static_rate == 0 ? 0 : why;
    });
    return tried;
}

TEST(AddressRate, WhatTheAdapterDoesNotKnowIsLeftOut) {
    int last = -1;
    EXPECT_EQ(rates_tried(IBV_RATE_25_GBPS, EINVAL, last), (std::vector<int>{IBV_RATE_25_GBPS, 0}));
    EXPECT_EQ(last, 0);
    EXPECT_EQ(rates_tried(IBV_RATE_25_GBPS, ENOMEM, last), (std::vector<int>{IBV_RATE_25_GBPS}));
    EXPECT_EQ(last, ENOMEM);
    EXPECT_EQ(rates_tried(IBV_RATE_25_GBPS, 0, last), (std::vector<int>{IBV_RATE_25_GBPS}));
    EXPECT_EQ(rates_tried(0, EINVAL, last), (std::vector<int>{0}));
}

}  // namespace
}  // namespace ibf::probe::verbs::test
