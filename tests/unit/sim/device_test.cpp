// Devices as they come out of power-on.
#include "sim/device.hpp"

#include <gtest/gtest.h>

#include "sim_bench.hpp"

namespace ibf::sim {
namespace {

using mad::Attribute;
using mad::PortInfo;
using mad::PortNum;
using mad::PortState;

TEST(Device, PowersUpAsRealDevicesDo) {
    SimBench bench(star_of_four());
    const PortInfo port0 = bench.port_info(path_of({1}), 0);
    EXPECT_EQ(port0.state, PortState::active);
    EXPECT_EQ(port0.lid, mad::kLidNone);
    EXPECT_TRUE(port0.has_extended_speeds());
    const PortInfo linked = bench.port_info(path_of({1}), 2);
    EXPECT_EQ(linked.state, PortState::init);
    EXPECT_EQ(linked.phys_state, mad::PhysState::link_up);
    EXPECT_EQ(linked.mtu_cap, mad::Mtu::b4096);
    EXPECT_EQ(linked.vl_cap, 4);
    EXPECT_EQ(linked.capability_mask, 0U);  // a switch shows its capabilities in port 0 alone
    EXPECT_EQ(linked.local_port, PortNum{1});
    const PortInfo host = bench.port_info(path_of({1, 2}), 1);
    EXPECT_EQ(host.speed(), mad::LinkSpeed::edr);
    EXPECT_TRUE(host.can_reregister());
    const mad::SwitchInfo info =
        mad::decode_switch_info(bench.get(Attribute::switch_info, 0, path_of({1})).value().data);
    EXPECT_EQ(info.linear_fdb_cap, 0xC000);
    EXPECT_TRUE(info.port_state_change);
    EXPECT_TRUE(info.optimized_sl2vl);
    const mad::Smp keys = bench.get(Attribute::pkey_table, 0, path_of({1, 2})).value();
    EXPECT_EQ(mad::decode_pkey_block(keys.data).keys[0], mad::kPKeyDefaultFull);
    EXPECT_EQ(mad::decode_pkey_block(keys.data).keys[1], mad::PKey{0});
    const mad::Smp name = bench.get(Attribute::node_description, 0, path_of({1, 2})).value();
    EXPECT_EQ(mad::decode_node_description(name.data).text, "h2");
}

TEST(Device, PowerUpForgetsWhatAManagerWroteAndKeepsWhatIsBurntIn) {
    const routing::Netlist netlist = star_of_four();
    const SimOptions options;
    Device device = make_device(netlist.nodes[0], options);
    device.lft.assign(64, 1);
    device.ports[2].pkeys.assign(32, mad::PKey{7});
    PortInfo info = device.ports[0].info;
    info.lid = mad::Lid{9};
    info.mkey = mad::MKey{5};
    info.capability_mask |= kCapIsSm;
    device.ports[0].store(info);
    device.switch_info.linear_fdb_top = 60;
    power_up(device, netlist.nodes[0], options);
    EXPECT_EQ(device.lft_entry(mad::Lid{1}), mad::kLftDrop);
    EXPECT_EQ(device.ports[2].pkey(0), mad::kPKeyDefaultFull);
    EXPECT_EQ(device.ports[2].pkey(1), mad::PKey{0});
    EXPECT_EQ(device.ports[0].info.lid, mad::kLidNone);
    EXPECT_EQ(device.ports[0].info.mkey, mad::MKey{0});
    EXPECT_FALSE(device.ports[0].info.is_sm());
    EXPECT_EQ(device.switch_info.linear_fdb_top, 0);
    EXPECT_EQ(device.switch_info.linear_fdb_cap, 0xC000);
    EXPECT_EQ(device.ports[0].info.wire, mad::encode(device.ports[0].info));
}

}  // namespace
}  // namespace ibf::sim
