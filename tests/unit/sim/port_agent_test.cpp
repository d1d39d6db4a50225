// PortInfo: ClientReregister, M_Key protection, extended speeds, FDR10 and split ports.
#include "sim/agent.hpp"

#include <gtest/gtest.h>

#include "sim_bench.hpp"

namespace ibf::sim {
namespace {

using mad::Attribute;
using mad::Method;
using mad::PortInfo;
using mad::PortNum;

struct KeyCase {
    std::uint8_t protect;
    bool key_known;
    bool get_answered;
    bool key_shown;
    bool set_answered;
};

TEST(PortAgent, ReregisterShowsInTheAnswerOnly) {
    SimBench bench(star_of_four());
    PortInfo info = bench.settings(path_of({1, 2}), 1);
    info.client_reregister = true;
    const mad::Smp answer = bench.set(Attribute::port_info, 1, path_of({1, 2}), mad::encode(info)).value();
    EXPECT_EQ(answer.header.status, 0);
    EXPECT_TRUE(mad::decode_port_info(answer.data).client_reregister);
    EXPECT_FALSE(bench.port_info(path_of({1, 2}), 1).client_reregister);
}

TEST(PortAgent, MKeyProtectionLevels) {
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

TEST(PortAgent, AnExpiredLeaseOpensThePortForReading) {
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

TEST(PortAgent, ExtendedSpeedsBehindBit31) {
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

TEST(PortAgent, Fdr10AndSplitPorts) {
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

}  // namespace
}  // namespace ibf::sim
