// The tables of the agents: written, read back, cleared.
#include "sim/agent.hpp"

#include <gtest/gtest.h>

#include "sim_bench.hpp"

namespace ibf::sim {
namespace {

using mad::Attribute;
using mad::PortNum;

TEST(Agent, TablesReadBackWhatWasWritten) {
    SimBench bench(star_of_four());
    const mad::DrPath sw = path_of({1});
    mad::PKeyBlock keys;
    keys.keys[0] = mad::kPKeyDefaultFull;
    keys.keys[5] = mad::PKey{0x8005};
    EXPECT_EQ(bench.set(Attribute::pkey_table, 2U << 16U, sw, mad::encode(keys)).value().header.status, 0);
    EXPECT_EQ(mad::decode_pkey_block(bench.get(Attribute::pkey_table, 2U << 16U, sw).value().data), keys);
    EXPECT_EQ(bench.sim.pkeys(0, PortNum{2}, 0), keys);
    EXPECT_NE(bench.sim.pkeys(0, PortNum{3}, 0), keys);

    mad::MftBlock masks;
    masks.port_masks[3] = 0x16;
    EXPECT_EQ(
        bench.set(Attribute::multicast_forwarding_table, 2, sw, mad::encode(masks)).value().header.status, 0);
    EXPECT_EQ(mad::decode_mft(bench.get(Attribute::multicast_forwarding_table, 2, sw).value().data), masks);

    mad::VlArbBlock arb;
    arb.entries[1] = {.vl = mad::Vl{3}, .weight = 64};
    EXPECT_EQ(bench.set(Attribute::vl_arbitration, 0x00030002, sw, mad::encode(arb)).value().header.status,
              0);
    EXPECT_EQ(mad::decode_vl_arb(bench.get(Attribute::vl_arbitration, 0x00030002, sw).value().data), arb);

    mad::GuidInfo guids;
    guids.guids[0] = mad::Guid{1};
    guids.guids[2] = mad::Guid{77};
    EXPECT_EQ(bench.set(Attribute::guid_info, 0, path_of({1, 2}), mad::encode(guids)).value().header.status,
              0);
    const mad::GuidInfo got =
        mad::decode_guid_info(bench.get(Attribute::guid_info, 0, path_of({1, 2})).value().data);
    EXPECT_EQ(got.guids[2], mad::Guid{77});
    EXPECT_NE(got.guids[0], mad::Guid{1});  // burnt in
}

TEST(Agent, PortStateChangeIsWriteOneToClear) {
    SimBench bench(star_of_four());
    mad::SwitchInfo info = bench.sim.switch_info(0);
    info.port_state_change = false;
    EXPECT_EQ(bench.set(Attribute::switch_info, 0, path_of({1}), mad::encode(info)).value().header.status, 0);
    EXPECT_TRUE(bench.sim.switch_info(0).port_state_change);
    info.port_state_change = true;
    EXPECT_EQ(bench.set(Attribute::switch_info, 0, path_of({1}), mad::encode(info)).value().header.status, 0);
    EXPECT_FALSE(bench.sim.switch_info(0).port_state_change);
}

}  // namespace
}  // namespace ibf::sim
