// Each wire rule: a Set that breaks it is refused with 0x1C, counted by name, and changes nothing.
#include "sim/rules.hpp"

#include <functional>

#include <gtest/gtest.h>

#include "sim_bench.hpp"

namespace ibf::sim {
namespace {

using mad::Attribute;
using mad::Mtu;
using mad::PhysState;
using mad::PortInfo;
using mad::PortState;

constexpr mad::MadStatus kRefused = 0x1C;

struct PortCase {
    const char* rule;
    mad::DrPath path;
    std::uint8_t port;
    std::function<void(PortInfo&)> spoil;
};

std::vector<PortCase> port_cases() {
    const mad::DrPath sw = path_of({1});
    const mad::DrPath host = path_of({1, 2});
    return {
        {"port-state", sw, 2, [](PortInfo& i) { i.state = PortState::active; }},
        {"port-state", sw, 2, [](PortInfo& i) { i.state = PortState::init; }},
        {"port0-state", sw, 0, [](PortInfo& i) { i.state = PortState::armed; }},
        {"neighbor-mtu", sw, 2, [](PortInfo& i) { i.neighbor_mtu = Mtu::none; }},
        {"neighbor-mtu", sw, 2, [](PortInfo& i) { i.neighbor_mtu = static_cast<Mtu>(6); }},
        {"neighbor-mtu", sw, 2,
         [](PortInfo& i) {
             i.neighbor_mtu = Mtu::b2048;
             i.state = PortState::armed;
         }},
        {"operational-vls", sw, 2, [](PortInfo& i) { i.operational_vls = 5; }},
        {"operational-vls", sw, 2, [](PortInfo& i) { i.operational_vls = 9; }},
        {"phys-state", sw, 2, [](PortInfo& i) { i.phys_state = PhysState::link_up; }},
        {"link-down-default", sw, 2, [](PortInfo& i) { i.link_down_default = 3; }},
        {"width-enabled", sw, 2, [](PortInfo& i) { i.width_enabled = 8; }},
        {"width-enabled", sw, 2, [](PortInfo& i) { i.width_enabled = 16; }},
        {"speed-enabled", sw, 2, [](PortInfo& i) { i.speed_ext_enabled = 8; }},
        {"external-port-lid", sw, 2, [](PortInfo& i) { i.lid = mad::Lid{5}; }},
        {"external-port-lid", sw, 2, [](PortInfo& i) { i.sm_lid = mad::Lid{5}; }},
        {"external-port-lid", sw, 2, [](PortInfo& i) { i.lmc = 1; }},
        {"port0-lmc", sw, 0,
         [](PortInfo& i) {
             i.lid = mad::Lid{2};
             i.lmc = 1;
         }},
        {"lid-range", host, 1, [](PortInfo& i) { i.lid = mad::Lid{0xC000}; }},
        {"lid-range", host, 1, [](PortInfo& i) { i.lid = mad::Lid{0xFFFF}; }},
        {"lid-alignment", host, 1,
         [](PortInfo& i) {
             i.lid = mad::Lid{5};
             i.lmc = 1;
         }},
        {"sm-lid-range", host, 1, [](PortInfo& i) { i.sm_lid = mad::Lid{0xC001}; }},
        {"reregister", sw, 0, [](PortInfo& i) { i.client_reregister = true; }},
    };
}

TEST(Rules, PortInfoSets) {
    for (const PortCase& item : port_cases()) {
        SimBench bench(star_of_four());
        PortInfo info = bench.settings(item.path, item.port);
        const mad::AttributeData before = mad::encode(bench.port_info(item.path, item.port));
        item.spoil(info);
        EXPECT_EQ(bench.set_port(item.path, item.port, info), kRefused) << item.rule;
        EXPECT_EQ(bench.breaks(item.rule), 1U) << item.rule;
        EXPECT_EQ(bench.sim.counters().rule_breaks, 1U) << item.rule;
        EXPECT_EQ(mad::encode(bench.port_info(item.path, item.port)), before) << item.rule;
    }
}

PortInfo ready(SimBench& bench, const mad::DrPath& path, std::uint8_t port, PortState state) {
    PortInfo info = bench.settings(path, port);
    info.neighbor_mtu = Mtu::b4096;
    info.state = state;
    return info;
}

TEST(Rules, BothEndsArmedBeforeEitherIsActive) {
    SimBench bench(star_of_four());
    const mad::DrPath sw = path_of({1});
    const mad::DrPath host = path_of({1, 2});
    EXPECT_EQ(bench.set_port(sw, 2, ready(bench, sw, 2, PortState::armed)), 0);
    EXPECT_EQ(bench.set_port(sw, 2, ready(bench, sw, 2, PortState::armed)), 0);  // said again: no transition
    EXPECT_EQ(bench.set_port(sw, 2, ready(bench, sw, 2, PortState::active)), kRefused);
    EXPECT_EQ(bench.breaks("peer-not-armed"), 1U);

    PortInfo fewer_vls = ready(bench, host, 1, PortState::armed);
    fewer_vls.operational_vls = 3;
    EXPECT_EQ(bench.set_port(host, 1, fewer_vls), kRefused);
    EXPECT_EQ(bench.breaks("operational-vls"), 1U);
    EXPECT_EQ(bench.set_port(host, 1, ready(bench, host, 1, PortState::armed)), 0);
    EXPECT_EQ(bench.set_port(sw, 2, ready(bench, sw, 2, PortState::active)), 0);
    EXPECT_EQ(bench.set_port(host, 1, ready(bench, host, 1, PortState::active)), 0);
    EXPECT_EQ(bench.set_port(sw, 2, ready(bench, sw, 2, PortState::armed)), kRefused);
    EXPECT_EQ(bench.breaks("port-state"), 1U);
}

TEST(Rules, AnActiveLinkChangesOnlyByWayOfDown) {
    SimBench bench(star_of_four());
    bring_up(bench);
    const mad::DrPath sw = path_of({1});
    PortInfo info = bench.settings(sw, 2);
    info.operational_vls = 2;
    EXPECT_EQ(bench.set_port(sw, 2, info), kRefused);
    EXPECT_EQ(bench.breaks("active-link-change"), 1U);
    info.state = PortState::down;
    EXPECT_EQ(bench.set_port(sw, 2, info), 0);
    EXPECT_EQ(bench.port_info(sw, 2).state, PortState::init);
    EXPECT_EQ(bench.port_info(sw, 2).operational_vls, 2);
    EXPECT_EQ(bench.sim.port_info(2, mad::PortNum{1}).state, PortState::init);
    EXPECT_TRUE(bench.sim.switch_info(0).port_state_change);
}

TEST(Rules, SmallerMtuCapDecides) {
    SimBench bench(star_of_four());
    PortInfo small = bench.sim.port_info(2, mad::PortNum{1});
    small.mtu_cap = Mtu::b2048;
    bench.sim.set_port_info(2, mad::PortNum{1}, small);
    const mad::DrPath sw = path_of({1});
    EXPECT_EQ(bench.set_port(sw, 2, ready(bench, sw, 2, PortState::no_change)), kRefused);
    EXPECT_EQ(bench.breaks("neighbor-mtu"), 1U);
    PortInfo info = ready(bench, sw, 2, PortState::armed);
    info.neighbor_mtu = Mtu::b2048;
    EXPECT_EQ(bench.set_port(sw, 2, info), 0);
}

struct TableCase {
    const char* rule;
    Attribute attribute;
    std::uint32_t modifier;
    mad::AttributeData data;
};

std::vector<TableCase> table_cases() {
    mad::SwitchInfo top{.linear_fdb_top = 0xC000};
    mad::SwitchInfo multicast{.multicast_fdb_top = 0xE000};
    mad::LftBlock bad_port;
    bad_port.ports[3] = 77;
    mad::Sl2VlTable bad_vl;
    bad_vl.vls[3] = mad::Vl{9};
    mad::VlArbBlock bad_arb;
    bad_arb.entries[0].vl = mad::Vl{15};
    return {
        {"linear-fdb-top", Attribute::switch_info, 0, mad::encode(top)},
        {"multicast-fdb-top", Attribute::switch_info, 0, mad::encode(multicast)},
        {"lft-block-range", Attribute::linear_forwarding_table, 0x300, {}},
        {"lft-above-top", Attribute::linear_forwarding_table, 1, {}},
        {"lft-port", Attribute::linear_forwarding_table, 0, mad::encode(bad_port)},
        {"mft-block-range", Attribute::multicast_forwarding_table, 0x1FF, {}},
        {"mft-block-range", Attribute::multicast_forwarding_table, 1U << 28U, {}},
        {"pkey-block-range", Attribute::pkey_table, 1, {}},
        {"guid-block-range", Attribute::guid_info, 1, {}},
        {"sl2vl-vl", Attribute::sl2vl_table, 0x0102, mad::encode(bad_vl)},
        {"vl-arb-vl", Attribute::vl_arbitration, 0x00010002, mad::encode(bad_arb)},
        {"vl-arb-block-range", Attribute::vl_arbitration, 0x00050002, {}},
        {"vl-arb-block-range", Attribute::vl_arbitration, 0x00020002, {}},
        {"port-range", Attribute::port_info, 9, {}},
        {"port-range", Attribute::pkey_table, 9U << 16U, {}},
    };
}

TEST(Rules, TableSets) {
    for (const TableCase& item : table_cases()) {
        SimBench bench(star_of_four());
        const mad::Smp answer = bench.set(item.attribute, item.modifier, path_of({1}), item.data).value();
        EXPECT_EQ(answer.header.status, kRefused) << item.rule;
        EXPECT_EQ(bench.breaks(item.rule), 1U) << item.rule;
        EXPECT_EQ(answer.data, item.data) << item.rule;  // the echo must not be taken for the truth
    }
}

TEST(Rules, OptimisedSl2VlNeedsASwitchThatOffersIt) {
    SimOptions options;
    options.optimized_sl2vl = false;
    SimBench bench(star_of_four(), options, "h1");
    EXPECT_EQ(bench.set(Attribute::sl2vl_table, 0x30000, path_of({1}), {}).value().header.status, kRefused);
    EXPECT_EQ(bench.breaks("sl2vl-unsupported"), 1U);

    SimBench able(star_of_four());
    mad::Sl2VlTable table;
    table.vls.fill(mad::Vl{2});
    EXPECT_EQ(
        able.set(Attribute::sl2vl_table, 0x30000, path_of({1}), mad::encode(table)).value().header.status, 0);
    const mad::Smp got = able.get(Attribute::sl2vl_table, 0x0304, path_of({1})).value();
    EXPECT_EQ(mad::decode_sl2vl(got.data), table);
}

TEST(Rules, EveryRuleHasItsOwnName) {
    std::vector<std::string_view> names;
    for (unsigned rule = 0; rule < static_cast<unsigned>(Rule::count_); ++rule) {
        names.push_back(to_string(static_cast<Rule>(rule)));
        EXPECT_FALSE(names.back().empty());
    }
    std::sort(names.begin(), names.end());
    EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

}  // namespace
}  // namespace ibf::sim
