#include "daemon/sm/lane_plan.hpp"

#include <gtest/gtest.h>

#include "mad/codec.hpp"

namespace ibf::sm {
namespace {

using fabric::LaneTables;
using mad::Sl2VlTable;
using mad::Vl;
using mad::VlArbBlock;

constexpr std::uint8_t kFourLanes = 3;

Sl2VlTable all_to(std::uint8_t vl) {
    Sl2VlTable table;
    table.vls.fill(Vl{vl});
    return table;
}

/// Four outer ports with cables, each of four lanes.
LaneDevice switch_of_four() {
    LaneDevice device;
    device.is_switch = true;
    device.has_maps = true;
    device.optimised = true;
    device.ports.assign(5, LanePort{kFourLanes, kFourLanes, 8, 8, true, true});
    device.ports[0].sends = false;
    return device;
}

/// All mapped to one lane, VL 0 served.
LaneTables tables_of(const LaneDevice& device, std::uint8_t vl) {
    LaneTables tables = LaneTables::of_ports(device.ports.size());
    VlArbBlock low;
    low.entries[0] = {Vl{0}, 32};
    for (std::size_t exit = 0; exit < device.ports.size(); ++exit) {
        for (std::size_t input = 0; input < device.ports.size(); ++input) {
            tables.set_map(input, exit, all_to(vl));
        }
        tables.set_arbitration_block(exit, 1, low);
        for (std::size_t block = 2; block <= 4; ++block) {
            tables.set_arbitration_block(exit, block, {});
        }
    }
    return tables;
}

std::vector<std::uint32_t> modifiers(const LanePlan& plan) {
    std::vector<std::uint32_t> list;
    for (const LaneWrite& write : plan.writes) {
        list.push_back(write.modifier);
    }
    return list;
}

/// After the plan's writes nothing is left to be planned.
void expect_mended(const LaneDevice& device, LaneTables tables, const LanePlan& plan) {
    for (const LaneWrite& write : plan.writes) {
        apply(write, device, tables);
    }
    EXPECT_TRUE(plan_lanes(device, tables).writes.empty());
}

TEST(LanePlan, WhatLosesNothingStays) {
    const LaneDevice device = switch_of_four();
    LaneTables tables = tables_of(device, 3);  // the last of four
    tables.set_map(1, 2, [] {
        Sl2VlTable barred = all_to(15);
        barred.vls[0] = Vl{2};
        return barred;
    }());
    const LanePlan plan = plan_lanes(device, tables);
    EXPECT_TRUE(plan.writes.empty());
    EXPECT_EQ(plan.wrong, "");
}

TEST(LanePlan, AWholeSwitchIsMendedByOneOptimisedSetAndRowsFromPort0) {
    const LaneDevice device = switch_of_four();
    const LaneTables tables = tables_of(device, 15);
    const LanePlan plan = plan_lanes(device, tables);
    EXPECT_EQ(plan.wrong, "SL 0 led to VL 15 at exit ports 1-4");
    EXPECT_EQ(modifiers(plan), (std::vector<std::uint32_t>{0x30000, 1, 2, 3, 4}))
        << "the mask leaves out port 0";
    EXPECT_TRUE(plan.writes[0].optimised());
    const Sl2VlTable written = mad::decode_sl2vl(plan.writes[0].data);
    EXPECT_EQ(written.vls[0], Vl{0});
    EXPECT_EQ(written.vls[1], Vl{15}) << "a barred SL stays barred";
    expect_mended(device, tables, plan);
}

TEST(LanePlan, OneExitPortByOneOptimisedSet) {
    const LaneDevice device = switch_of_four();
    LaneTables tables = tables_of(device, 1);
    for (std::size_t input = 1; input < 5; ++input) {
        tables.set_map(input, 3, all_to(7));
    }
    const LanePlan plan = plan_lanes(device, tables);
    EXPECT_EQ(plan.wrong, "SL 0 led to VL 7 of 4 operational at exit port 3");
    EXPECT_EQ(modifiers(plan), (std::vector<std::uint32_t>{0x20003}));
    for (unsigned sl = 1; sl < 16; ++sl) {
        EXPECT_EQ(mad::decode_sl2vl(plan.writes[0].data).vls[sl].value(), sl % 4)
            << "no agent takes a lane that the port does not run";
    }
    expect_mended(device, tables, plan);
}

TEST(LanePlan, RowByRowWhereAnOptimisedSetWouldChangeOthersOrIsNotOffered) {
    LaneDevice device = switch_of_four();
    LaneTables tables = tables_of(device, 1);
    tables.set_map(1, 3, all_to(15));
    tables.set_map(2, 3, all_to(15));
    EXPECT_EQ(modifiers(plan_lanes(device, tables)), (std::vector<std::uint32_t>{0x0103, 0x0203}));
    device.optimised = false;
    const LaneTables wiped = tables_of(device, 15);
    const LanePlan plan = plan_lanes(device, wiped);
    EXPECT_EQ(plan.writes.size(), 16U) << "four inputs, port 0 among them and no way back, for each exit";
    expect_mended(device, wiped, plan);
}

// A mapping of a switch whose others all lost packets is kept, of ports that are up and of ports that are
// down.
TEST(LanePlan, AnOptimisedSetWritesOverNothingThatSomebodySet) {
    LaneDevice device = switch_of_four();
    Sl2VlTable kept = all_to(15);
    kept.vls[0] = Vl{2};
    LaneTables tables = tables_of(device, 15);
    tables.set_map(1, 3, kept);
    EXPECT_EQ(modifiers(plan_lanes(device, tables)),
              (std::vector<std::uint32_t>{0x20001, 0x20002, 0x20004, 1, 2, 3, 0x0203, 0x0403, 4}));

    device.ports[4].sends = device.ports[4].receives = false;
    device.ports[4].operational_vls = 1;  // of four
    const LaneTables lost = tables_of(device, 15);
    EXPECT_EQ(modifiers(plan_lanes(device, lost)), (std::vector<std::uint32_t>{0x30000, 1, 2, 3}))
        << "those of port 4 would be mended to the same as soon as it is up";
    tables = lost;
    tables.set_map(4, 1, kept);
    EXPECT_EQ(modifiers(plan_lanes(device, tables)),
              (std::vector<std::uint32_t>{0x20002, 0x20003, 1, 0x0201, 0x0301, 2, 3}));
    tables = lost;
    tables.set_map(1, 4, kept);
    EXPECT_EQ(modifiers(plan_lanes(device, tables)),
              (std::vector<std::uint32_t>{0x20001, 0x20002, 0x20003, 1, 2, 3}))
        << "up, it may run the lanes that it has";
}

TEST(LanePlan, PortsThatNoPacketPassesAreLeftAlone) {
    LaneDevice device = switch_of_four();
    device.ports[2].sends = device.ports[2].receives = false;
    LaneTables tables = tables_of(device, 0);
    tables.set_map(1, 2, all_to(15));
    tables.set_map(2, 1, all_to(15));
    tables.set_map(1, 1, all_to(15));  // back out where it came in: never
    tables.set_map(1, 0, all_to(15));  // a base port 0 has no lanes
    EXPECT_TRUE(plan_lanes(device, tables).writes.empty());
    device.ports[0].sends = true;
    EXPECT_EQ(modifiers(plan_lanes(device, tables)), (std::vector<std::uint32_t>{0x0100}));
}

TEST(LanePlan, AnAdapterHasOneTable) {
    LaneDevice device;
    device.has_maps = true;
    device.at.port = mad::PortNum{2};
    device.ports.assign(1, LanePort{kFourLanes, kFourLanes, 8, 0, true, true});
    LaneTables tables = tables_of(device, 4);
    tables.set_arbitration_block(0, 1, {});
    const LanePlan plan = plan_lanes(device, tables);
    EXPECT_EQ(plan.wrong, "SL 0 led to VL 4 of 4 operational; VL 0 had no weight");
    EXPECT_EQ(modifiers(plan), (std::vector<std::uint32_t>{0, 0x10000}));
    expect_mended(device, tables, plan);
}

TEST(LanePlan, ArbitrationThatNeverServesVl0IsGivenAWeight) {
    LaneDevice device = switch_of_four();
    LaneTables tables = tables_of(device, 0);
    VlArbBlock starving;
    starving.entries[0] = {Vl{1}, 100};
    starving.entries[1] = {Vl{2}, 50};
    starving.entries[9] = {Vl{0}, 255};  // beyond the eight entries of the table
    tables.set_arbitration_block(3, 1, starving);
    const LanePlan plan = plan_lanes(device, tables);
    EXPECT_EQ(plan.wrong, "VL 0 had no weight at exit port 3");
    ASSERT_EQ(modifiers(plan), (std::vector<std::uint32_t>{0x10003}));
    VlArbBlock fair = starving;
    fair.entries[2] = {Vl{0}, 100};
    EXPECT_EQ(mad::decode_vl_arb(plan.writes[0].data), fair);
    expect_mended(device, tables, plan);

    VlArbBlock high;
    high.entries[7] = {Vl{0}, 1};
    tables.set_arbitration_block(3, 3, high);
    EXPECT_TRUE(plan_lanes(device, tables).writes.empty()) << "served by the high table";

    tables.set_arbitration_block(3, 3, {});
    device.ports[3].operational_vls = 1;
    EXPECT_TRUE(plan_lanes(device, tables).writes.empty()) << "a single lane waits for no other";
}

TEST(LanePlan, WhatWasNotToldIsNotJudged) {
    const LaneDevice device = switch_of_four();
    EXPECT_TRUE(plan_lanes(device, LaneTables::of_ports(5)).writes.empty());
    LaneTables tables = tables_of(device, 15);
    tables.forget(4);
    const LanePlan plan = plan_lanes(device, tables);
    EXPECT_EQ(plan.wrong, "SL 0 led to VL 15 at exit ports 1-3");
    EXPECT_EQ(modifiers(plan), (std::vector<std::uint32_t>{0x20001, 0x20002, 0x20003, 1, 2, 3}))
        << "no Set for all ports: one is not known";
}

}  // namespace
}  // namespace ibf::sm
