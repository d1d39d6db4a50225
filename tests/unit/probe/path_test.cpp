#include "probe/path.hpp"

#include <gtest/gtest.h>

namespace ibf::probe::test {
namespace {

class Paths : public testing::Test {
protected:
    Paths() { peer.lid = mad::Lid{9}, peer.mtu_bytes = 4096, peer.device = "host-17 (mlx5_0/1)"; }

    base::Result<PathTaken> take() {
        return take_path(
            spec, way, from, peer,
            [this](const PathWanted& wanted, const std::stop_token&) {
                asked.push_back(wanted);
                return answer;
            },
            stop.get_token());
    }

    TestSpec spec;
    Way way;
    PathFrom from{.device = "mlx5_0",
                  .port = 1,
                  .layer = LinkLayer::infiniband,
                  .lids = {mad::Lid{4}, 1},
                  .mtu_bytes = 4096};
    EndpointAddress peer;
    std::stop_source stop;
    base::Result<mad::PathRecord> answer = mad::PathRecord{
        .sl = mad::Sl{3}, .mtu = mad::Mtu::b2048, .rate = 16, .bits_per_second = 100'000'000'000};
    std::vector<PathWanted> asked;
};

TEST_F(Paths, AreTheRecordsWhereNobodySaysAnything) {
    way.path_bits = 1;
    way.pkey_index = 2;
    const auto taken = take();
    ASSERT_TRUE(taken);
    EXPECT_EQ(taken->sl, mad::Sl{3});
    EXPECT_EQ(taken->mtu_bytes, 2048U) << "no more than the path's";
    EXPECT_EQ(taken->bits_per_second, 100'000'000'000U);
    EXPECT_TRUE(taken->is_recorded);
    EXPECT_EQ(taken->trouble, "");
    ASSERT_EQ(asked.size(), 1U);
    EXPECT_EQ(asked[0].device, "mlx5_0");
    EXPECT_EQ(asked[0].port, 1);
    EXPECT_EQ(asked[0].slid, mad::Lid{5}) << "with its path bits";
    EXPECT_EQ(asked[0].dlid, mad::Lid{9});
    EXPECT_EQ(asked[0].pkey_index, 2);
}

TEST_F(Paths, OfAnSlByFlagNobodyIsAsked) {
    way.sl = mad::Sl{};
    const auto taken = take();
    ASSERT_TRUE(taken);
    EXPECT_TRUE(asked.empty());
    EXPECT_EQ(taken->sl, mad::Sl{});
    EXPECT_FALSE(taken->is_recorded);
    EXPECT_EQ(taken->mtu_bytes, 4096U) << "of both ports";
    EXPECT_EQ(taken->trouble, "") << "somebody said so";
}

TEST_F(Paths, ADlidByFlagIsAskedForAndAnMtuByFlagWins) {
    way.dlid = mad::Lid{11};
    spec.mtu_bytes = 4096;
    const auto taken = take();
    ASSERT_TRUE(taken);
    ASSERT_EQ(asked.size(), 1U);
    EXPECT_EQ(asked[0].dlid, mad::Lid{11});
    EXPECT_EQ(taken->mtu_bytes, 4096U);
    EXPECT_EQ(taken->sl, mad::Sl{3});
}

TEST_F(Paths, AnMtuThatAPortHasNotIsRefused) {
    peer.mtu_bytes = 1024;
    EXPECT_EQ(take()->mtu_bytes, 1024U);
    spec.mtu_bytes = 2048;
    const auto taken = take();
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error().message,
              "an MTU of 2048 does not go: mlx5_0/1 has 4096, host-17 (mlx5_0/1) has 1024");
    EXPECT_EQ(asked.size(), 1U) << "of what cannot be nobody is asked";
}

TEST_F(Paths, AUdMessageIsOnePacket) {
    spec.test = probe::Test::ud;
    spec.message_bytes = 4096;
    const auto by_record = take();
    ASSERT_FALSE(by_record);
    EXPECT_EQ(by_record.error().message,
              "a ud message of 4096 octets is more than one packet: the MTU to host-17 (mlx5_0/1) is 2048");
    EXPECT_EQ(asked.size(), 1U);
    peer.mtu_bytes = 1024;
    EXPECT_EQ(take().error().message,
              "a ud message of 4096 octets is more than one packet: the MTU to host-17 (mlx5_0/1) is 1024");
    EXPECT_EQ(asked.size(), 1U) << "of what cannot be nobody is asked";
    spec.message_bytes = 1024;
    EXPECT_TRUE(take());
}

TEST_F(Paths, WithoutARecordItIsSlZeroAndSaidSo) {
    answer = base::fail(base::ErrorKind::unavailable, "no answer from the subnet administrator");
    const auto taken = take();
    ASSERT_TRUE(taken) << taken.error().message;
    EXPECT_EQ(taken->sl, mad::Sl{});
    EXPECT_EQ(taken->mtu_bytes, 4096U);
    EXPECT_FALSE(taken->is_recorded);
    EXPECT_EQ(taken->trouble,
              "SL 0 was taken, without the SA's path record: no answer from the subnet administrator. Where "
              "paths have another SL, give --sl");
}

TEST_F(Paths, FromAPortToItselfNobodyIsAsked) {
    peer.lid = mad::Lid{5};  // its second one
    const auto taken = take();
    ASSERT_TRUE(taken);
    EXPECT_TRUE(asked.empty());
    EXPECT_EQ(taken->sl, mad::Sl{});
    EXPECT_EQ(taken->mtu_bytes, 4096U);
    EXPECT_EQ(taken->trouble, "");
}

TEST_F(Paths, AStopEndsThem) {
    stop.request_stop();
    const auto taken = take();
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error().kind, base::ErrorKind::unavailable);
}

TEST_F(Paths, OfRoceAndOfLibrdmacmNobodyIsAsked) {
    from.layer = LinkLayer::ethernet;
    const auto roce = take();
    ASSERT_TRUE(roce);
    EXPECT_FALSE(roce->sl);
    EXPECT_EQ(roce->mtu_bytes, 4096U);
    from.layer = LinkLayer::infiniband;
    spec.use_cm = true;
    const auto by_cm = take();
    ASSERT_TRUE(by_cm);
    EXPECT_FALSE(by_cm->sl);
    EXPECT_EQ(by_cm->mtu_bytes, 0U);
    EXPECT_TRUE(asked.empty());
}

TEST(RateLimit, IsThatOfASlowerPathOnly) {
    constexpr std::uint64_t kEdr = 100'000'000'000;
    EXPECT_EQ(rate_limit({.bits_per_second = kEdr}, 2 * kEdr), 16);
    EXPECT_EQ(rate_limit({.bits_per_second = kEdr}, 0), 16) << "the port's is not known";
    EXPECT_EQ(rate_limit({.bits_per_second = kEdr}, kEdr), 0);
    EXPECT_EQ(rate_limit({}, kEdr), 0) << "no record";
}

}  // namespace
}  // namespace ibf::probe::test
