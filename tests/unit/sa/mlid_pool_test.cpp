#include "daemon/sa/mlid_pool.hpp"

#include <gtest/gtest.h>

namespace ibf::sa {
namespace {

fabric::Group group(std::uint16_t pkey, std::uint8_t scope) {
    fabric::Group group;
    group.pkey = mad::PKey{pkey};
    group.scope = scope;
    group.mtu = 4;
    group.rate = 3;
    return group;
}

constexpr mad::Mlid kNone{0};

mad::Mlid take(MlidPool& pool, fabric::Group wanted) {
    return pool.take(wanted).value_or(kNone);
}

TEST(MlidPool, GivesTheLowestFreeWhileThereArePlenty) {
    MlidPool pool;
    pool.limit(10);
    EXPECT_EQ(take(pool, group(0xFFFF, 2)), mad::Mlid{0xC000});
    EXPECT_EQ(take(pool, group(0xFFFF, 2)), mad::Mlid{0xC001});
    fabric::Group first = group(0xFFFF, 2);
    first.mlid = mad::Mlid{0xC000};
    pool.release(first);
    EXPECT_EQ(pool.used(), 1U);
    EXPECT_EQ(take(pool, group(0x8005, 2)), mad::Mlid{0xC000});
}

TEST(MlidPool, KeepsItsLastFifthForPartitionsAndScopesThatHaveNone) {
    MlidPool pool;
    pool.limit(10);
    for (int i = 0; i < 8; ++i) {
        EXPECT_FALSE(pool.scarce());
        EXPECT_NE(take(pool, group(0xFFFF, 2)), kNone);
    }
    EXPECT_TRUE(pool.scarce());
    EXPECT_EQ(take(pool, group(0xFFFF, 2)), mad::Mlid{0xC000});
    EXPECT_EQ(take(pool, group(0x7FFF, 2)), mad::Mlid{0xC001}) << "membership is no part of the partition";
    EXPECT_EQ(take(pool, group(0x8005, 2)), mad::Mlid{0xC008});
    EXPECT_EQ(take(pool, group(0xFFFF, 5)), mad::Mlid{0xC009});
    EXPECT_EQ(take(pool, group(0x8005, 2)), mad::Mlid{0xC008});
    EXPECT_EQ(take(pool, group(0x8006, 2)), kNone) << "none is left, and none to share";
    EXPECT_EQ(pool.used(), 10U);
}

TEST(MlidPool, SharesWithTheLikeAndTheFew) {
    MlidPool pool;
    pool.limit(5);
    fabric::Group known = group(0xFFFF, 2);
    known.well_known = true;
    fabric::Group fast = group(0xFFFF, 2);
    fast.rate = 16;
    EXPECT_EQ(take(pool, known), mad::Mlid{0xC000});
    EXPECT_EQ(take(pool, fast), mad::Mlid{0xC001});
    EXPECT_EQ(take(pool, group(0xFFFF, 2)), mad::Mlid{0xC002});
    EXPECT_EQ(take(pool, group(0xFFFF, 2)), mad::Mlid{0xC003});
    EXPECT_EQ(take(pool, fast), mad::Mlid{0xC001});
    EXPECT_EQ(take(pool, group(0xFFFF, 2)), mad::Mlid{0xC002});
    EXPECT_EQ(take(pool, group(0xFFFF, 2)), mad::Mlid{0xC003});
}

TEST(MlidPool, AdoptsWhatFitsTogether) {
    MlidPool pool;
    fabric::Group one = group(0xFFFF, 2);
    one.mlid = mad::Mlid{0xC123};
    EXPECT_TRUE(pool.adopt(one));
    EXPECT_TRUE(pool.adopt(one));
    EXPECT_EQ(pool.used(), 1U);
    fabric::Group other = group(0x8005, 2);
    other.mlid = one.mlid;
    EXPECT_FALSE(pool.adopt(other));
    pool.release(one);
    EXPECT_FALSE(pool.adopt(other)) << "one is still there";
    pool.release(one);
    EXPECT_TRUE(pool.adopt(other));
}

}  // namespace
}  // namespace ibf::sa
