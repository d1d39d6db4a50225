// What agents answer: defaults, tables, M_Key, extended speeds, counters.
#include "sim/agent.hpp"

#include <gtest/gtest.h>

#include "sim_bench.hpp"

namespace ibf::sim {
namespace {

using mad::Attribute;
using mad::Method;
using mad::PortInfo;
using mad::PortNum;
using mad::PortState;

TEST(Agent, PowersUpAsRealDevicesDo) {
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

TEST(Agent, ReregisterShowsInTheAnswerOnly) {
    SimBench bench(star_of_four());
    PortInfo info = bench.settings(path_of({1, 2}), 1);
    info.client_reregister = true;
    const mad::Smp answer = bench.set(Attribute::port_info, 1, path_of({1, 2}), mad::encode(info)).value();
    EXPECT_EQ(answer.header.status, 0);
    EXPECT_TRUE(mad::decode_port_info(answer.data).client_reregister);
    EXPECT_FALSE(bench.port_info(path_of({1, 2}), 1).client_reregister);
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

struct KeyCase {
    std::uint8_t protect;
    bool key_known;
    bool get_answered;
    bool key_shown;
    bool set_answered;
};

TEST(Agent, MKeyProtectionLevels) {
    constexpr mad::MKey kKey{0x1234};
    const KeyCase cases[] = {
        {0, false, true, true, false}, {0, true, true, true, true},     {1, false, true, false, false},
        {1, true, true, true, true},   {2, false, false, false, false}, {3, true, true, true, true},
    };
    for (const KeyCase& item : cases) {
        SimBench bench(star_of_four());
        PortInfo info = bench.settings(path_of({1, 2}), 1);
        info.mkey = kKey;
        info.mkey_protect = item.protect;
        ASSERT_EQ(bench.set_port(path_of({1, 2}), 1, info), 0);
        mad::Smp get = bench.request(Method::get, Attribute::port_info, 1, path_of({1, 2}), {});
        get.mkey = item.key_known ? kKey : mad::MKey{9};
        const std::optional<mad::Smp> got = bench.ask(get);
        EXPECT_EQ(got.has_value(), item.get_answered) << int{item.protect};
        if (got) {
            EXPECT_EQ(mad::decode_port_info(got->data).mkey == kKey, item.key_shown) << int{item.protect};
        }
        mad::Smp set =
            bench.request(Method::set, Attribute::port_info, 1, path_of({1, 2}), mad::encode(info));
        set.mkey = get.mkey;
        EXPECT_EQ(bench.ask(set).has_value(), item.set_answered) << int{item.protect};
        const std::uint16_t violations = bench.sim.port_info(2, PortNum{1}).mkey_violations;
        EXPECT_EQ(violations > 0, !item.set_answered) << int{item.protect};
    }
}

TEST(Agent, AnExpiredLeaseOpensThePortForReading) {
    SimBench bench(star_of_four());
    PortInfo info = bench.settings(path_of({1, 2}), 1);
    info.mkey = mad::MKey{5};
    info.mkey_protect = 2;
    info.mkey_lease_period = 60;
    ASSERT_EQ(bench.set_port(path_of({1, 2}), 1, info), 0);
    EXPECT_FALSE(bench.get(Attribute::port_info, 1, path_of({1, 2})));
    bench.pass(std::chrono::seconds{59});
    EXPECT_FALSE(bench.get(Attribute::port_info, 1, path_of({1, 2})));
    bench.pass(std::chrono::seconds{2});
    EXPECT_TRUE(bench.get(Attribute::port_info, 1, path_of({1, 2})));
}

TEST(Agent, ExtendedSpeedsBehindBit31) {
    SimOptions options;
    options.ext_speeds_need_bit31 = true;
    options.port0_refuses_bit31 = true;
    SimBench bench(star_of_four(), options, "h1");
    constexpr std::uint32_t kBit31 = 1U << 31U;
    EXPECT_EQ(bench.port_info(path_of({1, 2}), 1).speed_ext_active, 0);
    const mad::Smp with = bench.get(Attribute::port_info, kBit31 | 1U, path_of({1, 2})).value();
    EXPECT_EQ(mad::decode_port_info(with.data).speed(), mad::LinkSpeed::edr);
    EXPECT_EQ(bench.get(Attribute::port_info, kBit31, path_of({1})).value().header.status, 0x1C);
    EXPECT_EQ(bench.get(Attribute::port_info, kBit31 | 1U, path_of({1})).value().header.status, 0);
}

TEST(Agent, Fdr10AndSplitPorts) {
    FabricMaker maker;
    const std::uint32_t hub = maker.add(mad::NodeType::switch_, "sw", 2);
    const std::uint32_t host = maker.add(mad::NodeType::ca, "h1", 1);
    const std::uint32_t half = maker.add(mad::NodeType::ca, "h2", 1);
    maker.connect(hub, 1, host, 1, mad::LinkSpeed::fdr10);
    maker.connect(hub, 2, half, 1, mad::LinkSpeed::hdr);
    maker.netlist.nodes[hub].ports[2].width = maker.netlist.nodes[half].ports[1].width = mad::LinkWidth::x2;
    SimBench bench(maker.netlist);
    const mad::Smp vendor = bench.get(Attribute::mlnx_extended_port_info, 1, path_of({1})).value();
    EXPECT_TRUE(mad::decode_mlnx_fdr10_active(vendor.data));
    EXPECT_EQ(bench.port_info(path_of({1}), 1).speed_active, 4);
    PortInfo info = bench.settings(path_of({1}), 2);
    EXPECT_EQ(info.width_active, mad::LinkWidth::x2);
    info.width_enabled = 16;
    EXPECT_EQ(bench.set_port(path_of({1}), 2, info), 0);

    PortInfo without = bench.sim.port_info(hub, PortNum{0});
    without.capability_mask2 = 0;
    bench.sim.set_port_info(hub, PortNum{0}, without);
    EXPECT_EQ(bench.set_port(path_of({1}), 2, info), 0x1C);
    EXPECT_EQ(bench.breaks("width-enabled"), 1U);
}

mad::WireMad perf_request(Method method, std::uint16_t attribute, std::uint8_t port, mad::Lid to) {
    mad::WireMad wire;
    wire.bytes[0] = wire.bytes[2] = 1;
    wire.bytes[1] = 0x04;
    wire.bytes[3] = static_cast<std::uint8_t>(method);
    wire.bytes[17] = static_cast<std::uint8_t>(attribute);
    wire.bytes[65] = port;
    wire.bytes[66] = wire.bytes[67] = 0xFF;
    wire.address.lid = to;
    wire.address.qp = 1;
    return wire;
}

TEST(PerfAgent, CountsPacketsAndClears) {
    SimBench bench(star_of_four());
    bring_up(bench);
    const auto counters = [&](Method method) {
        bench.inbox.clear();
        bench.sim.send(bench.client, perf_request(method, 0x12, 2, lid_of(0)), bench.now);
        bench.pass(std::chrono::milliseconds{1});
        mad::AttributeData data{};
        if (bench.inbox.size() == 1) {
            std::copy_n(bench.inbox[0].bytes.begin() + 64, data.size(), data.begin());
        }
        return mad::decode_port_counters(data);
    };
    EXPECT_GT(counters(Method::get).transmit_packets, 0U);
    EXPECT_EQ(counters(Method::set).transmit_packets, 0U);
    static_cast<void>(bench.get(Attribute::node_info, 0, path_of({1, 2})));
    const mad::PortCounters after = counters(Method::get);
    EXPECT_EQ(after.transmit_packets, 1U);
    EXPECT_EQ(after.receive_packets, 1U);
    EXPECT_EQ(after.transmit_words, 72U);

    bench.inbox.clear();
    bench.sim.send(bench.client, perf_request(Method::get, 0x1D, 2, lid_of(0)), bench.now);
    bench.pass(std::chrono::milliseconds{1});
    ASSERT_EQ(bench.inbox.size(), 1U);
    mad::PerfData data{};
    std::copy_n(bench.inbox[0].bytes.begin() + 64, data.size(), data.begin());
    EXPECT_EQ(mad::decode_port_counters_extended(data).receive_packets, 1U);
}

}  // namespace
}  // namespace ibf::sim
