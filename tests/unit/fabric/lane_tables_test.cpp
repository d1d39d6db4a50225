#include "daemon/fabric/lane_tables.hpp"

#include <gtest/gtest.h>

namespace ibf::fabric {
namespace {

/// A mapping with a number in it.
mad::Sl2VlTable mapping(std::size_t number) {
    mad::Sl2VlTable table;
    for (mad::Vl& vl : table.vls) {
        vl = mad::Vl{static_cast<std::uint8_t>(number & 0xFU)};
        number >>= 4U;
    }
    return table;
}

TEST(LaneTables, EqualTablesAreHeldOnce) {
    LaneTables tables = LaneTables::of_ports(3);
    EXPECT_EQ(tables.map(0, 0), nullptr);
    EXPECT_EQ(tables.map(3, 0), nullptr) << "no such port";
    for (std::size_t exit = 0; exit < 3; ++exit) {
        for (std::size_t input = 0; input < 3; ++input) {
            tables.set_map(input, exit, mapping(exit == 2 ? 5 : 1));
        }
        tables.set_arbitration_block(exit, 1, {});
    }
    EXPECT_EQ(tables.maps.size(), 2U);
    EXPECT_EQ(tables.arbitration.size(), 1U);
    EXPECT_EQ(*tables.map(1, 2), mapping(5));
    EXPECT_EQ(*tables.map(2, 1), mapping(1));
    EXPECT_NE(tables.arbitration_block(2, 1), nullptr);
    EXPECT_EQ(tables.arbitration_block(2, 2), nullptr);
    EXPECT_EQ(tables.arbitration_block(2, 5), nullptr);
    tables.forget(2);
    EXPECT_EQ(tables.map(1, 2), nullptr);
    EXPECT_EQ(tables.arbitration_block(2, 1), nullptr);
    EXPECT_EQ(*tables.map(2, 1), mapping(1)) << "the mapping from the port to another stays";
}

TEST(LaneTables, TheCanonicalFormDoesNotTellHowItCameAbout) {
    LaneTables one = LaneTables::of_ports(2);
    one.set_map(0, 0, mapping(9));
    one.set_map(0, 0, mapping(1));  // 9 is unused now
    one.set_map(1, 1, mapping(2));
    LaneTables other = LaneTables::of_ports(2);
    other.set_map(1, 1, mapping(2));
    other.set_map(0, 0, mapping(1));
    EXPECT_NE(one, other);
    EXPECT_EQ(one.canonical(), other.canonical());
    EXPECT_EQ(one.canonical().maps.size(), 2U);
}

// A switch of 255 ports with every mapping different, read twice over: the numbers do not run out.
TEST(LaneTables, TheLargestSwitchFitsHoweverOddItIs) {
    constexpr std::size_t kPorts = 255;
    LaneTables tables = LaneTables::of_ports(kPorts);
    for (std::size_t round = 0; round < 2; ++round) {
        for (std::size_t pair = 0; pair < kPorts * kPorts; ++pair) {
            tables.set_map(pair % kPorts, pair / kPorts, mapping(round << 20U | pair));
            if (round == 1 && pair == 2000) {
                break;
            }
        }
    }
    EXPECT_LT(tables.maps.size(), std::size_t{LaneTables::kNotTold} + 1);
    for (std::size_t pair = 0; pair < kPorts * kPorts; pair += 997) {
        ASSERT_NE(tables.map(pair % kPorts, pair / kPorts), nullptr);
        EXPECT_EQ(*tables.map(pair % kPorts, pair / kPorts), mapping((pair <= 2000 ? 1U << 20U : 0U) | pair));
    }
}

}  // namespace
}  // namespace ibf::fabric
