// Field cases about seeing a fabric right: speeds, odd and dead devices, duplicates, errors, malformed MADs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/prng.hpp"
#include "harness.hpp"
#include "mad/codec.hpp"

namespace ibf::test {
namespace {

using fabric::IsolationReason;
using mad::Attribute;
using mad::LinkSpeed;
using mad::PortNum;
using mad::PortState;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint32_t kExtendedSpeedsBit = 0x80000000U;

/// What was announced, for a failing test's message.
std::vector<std::string> lines_of(const Lab& lab) {
    std::vector<std::string> lines;
    for (const fabric::EventRecord& event : lab.announced) {
        lines.push_back(fmt::format("{}: {}", event.kind, event.text));
    }
    return lines;
}

/// Speed of every linked port but switch ports 0, as the SM shows it; one set entry if all are alike.
std::set<LinkSpeed> speeds_shown(const Lab& lab) {
    std::set<LinkSpeed> speeds;
    const auto fabric = lab.snapshot().fabric;
    for (const fabric::Node& node : fabric->nodes) {
        for (std::size_t p = 1; p < node.ports.size(); ++p) {
            if (node.ports[p].peer.node != fabric::kNoNode) {
                speeds.insert(fabric::speed_of(node, PortNum{static_cast<std::uint8_t>(p)}));
            }
        }
    }
    return speeds;
}

TEST(FieldCase, C1_extended_speeds_shown_only_to_who_asks_with_bit_31) {
    LabOptions options;
    options.sim.ext_speeds_need_bit31 = true;
    Lab lab(leaf_spine(2, 2, 4, LinkSpeed::ndr), options);
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    lab.advance(seconds{60});
    EXPECT_EQ(speeds_shown(lab), std::set<LinkSpeed>{LinkSpeed::ndr});
    EXPECT_DOUBLE_EQ(mad::link_gbps(mad::LinkWidth::x4, *speeds_shown(lab).begin()), 400.0);
    EXPECT_EQ(lab.sweeps("full"), 1U);
    EXPECT_EQ(wrong(lab), "");
}

TEST(FieldCase, C1_external_ports_are_judged_by_the_capabilities_of_port_0) {
    Lab lab(leaf_spine(2, 2, 4, LinkSpeed::ndr));
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    EXPECT_EQ(speeds_shown(lab), std::set<LinkSpeed>{LinkSpeed::ndr});
    lab.request_sweep(sm::SweepScope::full);
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    EXPECT_EQ(speeds_shown(lab), std::set<LinkSpeed>{LinkSpeed::ndr});
}

TEST(FieldCase, C2_port_0_that_refuses_bit_31) {
    LabOptions options;
    options.sim.ext_speeds_need_bit31 = true;
    options.sim.port0_refuses_bit31 = true;
    Lab lab(t1(), options);
    std::uint32_t refused = 0;
    lab.on_mad = [&](base::Instant, std::uint32_t, const mad::Smp& smp, mad::MadStatus status) {
        const bool bit =
            smp.header.attribute == Attribute::port_info && (smp.header.modifier & kExtendedSpeedsBit) != 0;
        refused += bit && status != 0 ? 1U : 0U;
    };
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    EXPECT_EQ(refused, 0U) << "the bit was sent where it is not known";
    EXPECT_EQ(wrong(lab), "");
    EXPECT_NE(lab.lid(lab.node("sw"), 0), mad::kLidNone);
}

TEST(FieldCase, C3_width_2x_is_judged_by_switch_port_0) {
    constexpr std::uint8_t kTwo = static_cast<std::uint8_t>(mad::LinkWidth::x2);
    for (const bool port0_has_it : {true, false}) {
        routing::Netlist net = t1();
        net.nodes[0].ports[2].width = mad::LinkWidth::x2;
        net.nodes[2].ports[1].width = mad::LinkWidth::x2;
        LabOptions options;
        options.at = "h1";
        options.config.width_enabled = kTwo;
        Lab lab(net, options);
        if (!port0_has_it) {
            mad::PortInfo info = lab.sim.port_info(0, PortNum{0});
            info.capability_mask2 = static_cast<std::uint16_t>(info.capability_mask2 & ~0x0010U);
            lab.sim.set_port_info(0, PortNum{0}, info);
        }
        lab.start();
        ASSERT_TRUE(lab.run_until_up(seconds{5})) << join_lines(lines_of(lab));
        const std::uint8_t enabled = lab.sim.port_info(0, PortNum{2}).width_enabled;
        if (port0_has_it) {
            EXPECT_EQ(enabled, kTwo);
        } else {
            EXPECT_NE(enabled, kTwo);
            EXPECT_TRUE(
                std::any_of(lab.announced.begin(), lab.announced.end(), [](const fabric::EventRecord& event) {
                    return event.kind == "width-refused" && event.text.find("2x") != std::string::npos;
                }));
        }
        EXPECT_EQ(lab.sim.counters().rule_breaks, 0U);
    }
}

TEST(FieldCase, C4_fdr10_survives_the_loss_of_the_first_vendor_question) {
    routing::Netlist net = leaf_spine(1, 1, 4, LinkSpeed::fdr10);
    for (routing::NetlistNode& node : net.nodes) {
        node.device_id = node.type == mad::NodeType::switch_ ? 0xc738 : 0x1003;
    }
    Lab lab(net);
    lab.inject("drop * attr=MlnxExtendedPortInfo count=4");
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    EXPECT_EQ(speeds_shown(lab), std::set<LinkSpeed>{LinkSpeed::fdr10});
}

TEST(FieldCase, C4_a_vendor_question_never_answered_leaves_the_standard_speed) {
    routing::Netlist net = leaf_spine(1, 1, 4, LinkSpeed::fdr10);
    for (routing::NetlistNode& node : net.nodes) {
        node.device_id = 0xc738;
    }
    Lab lab(net);
    lab.inject("drop * attr=MlnxExtendedPortInfo");
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{30}));
    EXPECT_EQ(speeds_shown(lab), std::set<LinkSpeed>{LinkSpeed::qdr});
    EXPECT_EQ(wrong(lab), "");
}

TEST(FieldCase, C6_local_port_above_num_ports) {
    LabOptions options;
    options.at = "h1";
    Lab lab(t1(), options);
    lab.inject("corrupt-node-info h3");
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    lab.advance(seconds{60});
    EXPECT_EQ(lab.events("bad-node-info"), 1U);
    EXPECT_NE(lab.find_event("bad-node-info")->text.find("rejected: bad NodeInfo"), std::string::npos);
    EXPECT_EQ(wrong(lab, {lab.node("h3")}), "");
    EXPECT_EQ(lab.sweeps("full"), 1U);
}

TEST(FieldCase, C7_switch_info_comes_three_time_outs_late) {
    LabOptions options;
    Lab lab(t2(), options);
    lab.inject(fmt::format("delay spine1 attr=SwitchInfo method=Get delay=600ms count=1"));
    std::map<std::uint32_t, std::set<std::uint64_t>> questions;
    std::vector<std::string> order;
    std::uint32_t wrong_block = 0;
    const std::uint32_t spine = lab.node("spine1");
    lab.on_mad = [&](base::Instant, std::uint32_t node, const mad::Smp& smp, mad::MadStatus status) {
        if (smp.header.attribute == Attribute::switch_info && smp.header.method == 1) {
            questions[node].insert(smp.header.tid);
        }
        wrong_block += smp.header.attribute == Attribute::pkey_table && status != 0 ? 1U : 0U;
        if (node == spine && smp.header.method == 1) {
            order.push_back(fmt::format("{} {}", mad::attribute_name(smp.header.attribute),
                                        smp.header.modifier & ~kExtendedSpeedsBit));
        }
    };
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{10}));
    for (const auto& [node, tids] : questions) {
        EXPECT_EQ(tids.size(), 1U) << "SwitchInfo was asked again from " << node;
    }
    EXPECT_EQ(wrong_block, 0U);
    const auto first = [&](const std::string& what) {
        return std::find(order.begin(), order.end(), what) - order.begin();
    };
    EXPECT_LT(first("NodeInfo 0"), first("SwitchInfo 0"));
    EXPECT_LT(first("SwitchInfo 0"), first("PortInfo 0"));
    EXPECT_LT(first("PortInfo 0"), first("PortInfo 1"));
    EXPECT_EQ(wrong(lab), "");
}

TEST(FieldCase, C7_no_pkeys_are_read_of_ports_that_are_down) {
    routing::Netlist net = t1();
    net.nodes[3].ports.resize(3);  // h3 has a second port without a cable
    Lab lab(net);
    std::uint32_t of_down = 0;
    lab.on_mad = [&](base::Instant, std::uint32_t node, const mad::Smp& smp, mad::MadStatus) {
        of_down +=
            smp.header.attribute == Attribute::pkey_table && node == 0 && (smp.header.modifier >> 16U) != 0
                ? 1U
                : 0U;
    };
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    EXPECT_EQ(of_down, 0U);
    EXPECT_EQ(lab.gets(Attribute::pkey_table), 4U + 1U) << "one block each of four adapters and the switch";
}

/// Time of the first bring-up, until up.
base::Duration bring_up_time(Lab& lab) {
    lab.start();
    EXPECT_TRUE(lab.run_until_up(seconds{60}));
    return lab.snapshot().sweeps.front().time;
}

TEST(FieldCase, C9_dead_agents_do_not_double_the_sweep) {
    const routing::Netlist net = netlist("fat-tree:radix=16,levels=3");
    LabOptions options;
    options.sim.agent_delay = microseconds{50};
    Lab clean(net, options);
    const base::Duration normal = bring_up_time(clean);

    Lab lab(net, options);
    std::vector<std::uint32_t> hosts;
    for (std::uint32_t n = 0; n < net.nodes.size(); ++n) {
        if (net.nodes[n].type == mad::NodeType::ca) {
            hosts.push_back(n);
        }
    }
    ASSERT_GT(hosts.size(), 1000U);
    for (std::uint32_t i = 0; i < 20; ++i) {
        lab.inject(fmt::format("dead \"{}\"", net.nodes[hosts[50 * i + 7]].id));
    }
    // The first sweep, before anything may be written, sits out the repeats: half a second, whatever the
    // number of the dead. A bring-up that takes as long itself (some thousand real devices) is not doubled by
    // it.
    const base::Duration with_dead = bring_up_time(lab);
    EXPECT_LT(with_dead, normal + milliseconds{600})
        << base::format_duration(with_dead) << " against " << base::format_duration(normal);
    EXPECT_EQ(wrong(lab), "");
    const auto fabric = lab.snapshot().fabric;
    EXPECT_EQ(std::count_if(fabric->isolations.begin(), fabric->isolations.end(),
                            [](const auto& item) { return item.reason == IsolationReason::silent; }),
              20);
    for (const std::uint32_t host : lab.dead) {
        const routing::NetlistPort& cable = net.nodes[host].ports[1];
        EXPECT_EQ(lab.sim.port_info(*cable.peer_node, cable.peer_port).state, PortState::init)
            << "activated toward the dead";
    }

    // C35: from then on they cost nothing.
    lab.advance(seconds{30});
    clean.advance(seconds{30});
    for (const sm::SweepScope scope : {sm::SweepScope::light, sm::SweepScope::full}) {
        lab.request_sweep(scope);
        clean.request_sweep(scope);
        ASSERT_TRUE(lab.run_until_up(seconds{60}));
        ASSERT_TRUE(clean.run_until_up(seconds{60}));
        const auto steady = lab.snapshot().sweeps.front().time;
        const auto steady_clean = clean.snapshot().sweeps.front().time;
        EXPECT_LE(steady, steady_clean + steady_clean / 10)
            << base::format_duration(steady) << " against " << base::format_duration(steady_clean);
    }
}

TEST(FieldCase, C35_a_silent_device_that_wakes_up_joins) {
    LabOptions options;
    options.at = "h1";
    Lab lab(t2(), options);
    lab.inject("dead h5\ndead spine2");
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{10}));
    EXPECT_EQ(wrong(lab), "");
    lab.advance(seconds{300});
    EXPECT_LE(lab.sweeps("full"), 1U) << "the dead make no sweeps";
    lab.inject("alive h5\nalive spine2");
    lab.advance(seconds{120});
    EXPECT_EQ(wrong(lab), "");
}

// A host that answers slowly once, in a fabric where all others are fast, keeps its place and its routes.
TEST(FieldCase, C9_who_is_slow_once_is_not_cut_out) {
    LabOptions options;
    options.at = "h1";
    Lab lab(t2(), options);
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    lab.advance(seconds{15});
    lab.forget_counts();
    lab.inject("delay h6 attr=NodeInfo delay=30ms count=1");
    lab.inject("drop spine2 attr=NodeInfo count=2");
    lab.request_sweep(sm::SweepScope::full);
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    EXPECT_EQ(lab.events("node-removed"), 0U);
    EXPECT_EQ(lab.events("silent"), 0U);
    EXPECT_EQ(lab.sweeps("full"), 1U);
    EXPECT_EQ(lab.sets(Attribute::linear_forwarding_table), 0U);
}

// The device at our own cable is dead: nothing lies behind it that could be up.
TEST(SubnetManager, WaitsWhileTheOtherEndOfItsCableIsSilent) {
    LabOptions options;
    options.at = "h1";
    Lab lab(t2(), options);
    lab.inject("dead leaf1");
    lab.start();
    lab.advance(seconds{8});
    EXPECT_EQ(lab.sm->mode(), fabric::SmMode::waiting) << lab.snapshot().mode_text;
    EXPECT_EQ(lab.all_sets(), 0U);
    lab.inject("alive leaf1");
    ASSERT_TRUE(lab.run_until_up(seconds{60}));
    EXPECT_EQ(wrong(lab), "");

    // In mid-life: the fabric that is not seen is not taken for gone.
    lab.advance(seconds{5});
    lab.forget_counts();
    lab.inject("dead leaf1");
    lab.advance(seconds{40});
    EXPECT_EQ(lab.sm->mode(), fabric::SmMode::waiting);
    EXPECT_EQ(lab.events("node-removed"), 0U);
    EXPECT_EQ(lab.all_sets(), 0U);
    lab.inject("alive leaf1");
    ASSERT_TRUE(lab.run_until_up(seconds{60}));
    EXPECT_EQ(lab.sets(Attribute::linear_forwarding_table), 0U) << "every table is as it was";
    EXPECT_EQ(wrong(lab), "");
}

// A switch that dies when it has answered for port 0 still owes 36 answers: it costs the retries of one.
TEST(FieldCase, C9_a_switch_that_dies_under_discovery_is_given_up_as_a_whole) {
    Lab lab(netlist("fat-tree:radix=36,levels=2"));
    std::uint32_t spine = 0;
    while (lab.sim.netlist().nodes[spine].description.find("spine") == std::string::npos) {
        ++spine;
    }
    bool died = false;
    lab.on_mad = [&](base::Instant, std::uint32_t node, const mad::Smp& smp, mad::MadStatus) {
        if (!died && node == spine && smp.header.attribute == Attribute::port_info &&
            smp.header.modifier == 0) {
            died = true;
            lab.inject(fmt::format("dead \"{}\"", lab.sim.netlist().nodes[spine].id));
        }
    };
    const base::Duration needed = bring_up_time(lab);
    EXPECT_TRUE(died);
    EXPECT_LT(needed, seconds{6}) << base::format_duration(needed);
}

TEST(FieldCase, C35_a_silent_device_that_is_replaced_joins_at_once) {
    LabOptions options;
    options.at = "h1";
    Lab lab(t2(), options);
    lab.inject("dead h5");
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{10}));
    lab.advance(seconds{100});
    lab.inject("remove-node h5\nalive h5\nat 2s add-node h5");
    lab.advance(seconds{6});
    EXPECT_EQ(wrong(lab), "") << "the link went down and up: that is no old silence";
}

TEST(FieldCase, C10_an_answer_with_an_error_status_is_no_truth) {
    LabOptions options;
    options.at = "h1";
    Lab lab(t1(), options);
    lab.inject("error-status h3 attr=PortInfo method=Set number=0x1c count=2");
    lab.start();
    ASSERT_TRUE(lab.run_until([&] { return lab.sweeps("full") == 1; }, seconds{5}));
    const auto fabric = lab.snapshot().fabric;
    const std::uint32_t h3 = fabric->find(lab.sim.netlist().nodes[lab.node("h3")].guid);
    ASSERT_NE(h3, fabric::kNoNode);
    EXPECT_EQ(fabric->nodes[h3].ports[1].info.state, PortState::init);
    EXPECT_EQ(fabric->nodes[h3].ports[1].info.lid, mad::kLidNone);
    EXPECT_EQ(lab.events("setup-failed"), 1U);
    EXPECT_EQ(wrong(lab, {lab.node("h3")}), "");
    lab.advance(seconds{20});
    EXPECT_GE(lab.sweeps("full"), 2U);
    EXPECT_EQ(wrong(lab), "");
}

TEST(FieldCase, C16_duplicate_guid_keeps_the_first_and_names_both) {
    for (const char* at : {"h2", "h6"}) {
        LabOptions options;
        options.at = at;
        Lab lab(t2(), options);
        const std::uint32_t h1 = lab.node("h1");
        const std::uint32_t h5 = lab.node("h5");
        lab.sim.set_node_guid(h5, lab.sim.netlist().nodes[h1].guid);
        lab.start();
        ASSERT_TRUE(lab.run_until_up(seconds{5}));
        lab.advance(seconds{120});
        ASSERT_NE(lab.find_event("duplicate-guid"), nullptr);
        EXPECT_EQ(lab.events("duplicate-guid"), 1U);
        const std::string& text = lab.find_event("duplicate-guid")->text;
        EXPECT_NE(text.find("directed route"), text.rfind("directed route")) << text;
        EXPECT_EQ(lab.sweeps("full"), 1U);
        const std::uint32_t newcomer = lab.sim.port_info(h1, PortNum{1}).state == PortState::active ? h5 : h1;
        EXPECT_EQ(wrong(lab, {newcomer}), "");
    }
}

TEST(FieldCase, C16_a_duplicate_that_appears_later_does_not_displace_the_first) {
    LabOptions options;
    options.at = "h6";
    Lab lab(t2(), options);
    const std::uint32_t h1 = lab.node("h1");
    const std::uint32_t h5 = lab.node("h5");
    lab.inject("remove-node h5");
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    const mad::Lid lid = lab.lid(h1, 1);
    lab.sim.set_node_guid(h5, lab.sim.netlist().nodes[h1].guid);
    lab.inject("add-node h5");
    lab.advance(seconds{120});
    EXPECT_EQ(lab.lid(h1, 1), lid);
    EXPECT_EQ(lab.sim.port_info(h1, PortNum{1}).state, PortState::active);
    EXPECT_EQ(lab.events("duplicate-guid"), 1U);
    EXPECT_EQ(wrong(lab, {h5}), "");
    EXPECT_LE(lab.sweeps("full"), 3U);
}

TEST(FieldCase, C16_a_switch_with_the_guid_of_another) {
    LabOptions options;
    options.at = "h1";
    Lab lab(leaf_spine(4, 2, 2, LinkSpeed::edr), options);
    lab.sim.set_node_guid(lab.node("leaf4"), lab.sim.netlist().nodes[lab.node("leaf2")].guid);
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    lab.advance(seconds{60});
    EXPECT_GE(lab.events("duplicate-guid"), 1U);
    EXPECT_LE(lab.sweeps("full"), 2U);
    EXPECT_EQ(lab.sim.counters().rule_breaks, 0U);
    lab.forget_counts();
    lab.advance(seconds{60});
    EXPECT_EQ(lab.all_sets(), 0U);
}

/// T2 with a two-port adapter "hca": port 1 at leaf1 port 1, port 2 at leaf2 port 1, in place of h1 and h5.
routing::Netlist two_port_adapter() {
    routing::Netlist net = t2();
    const auto index = [&](const std::string& name) {
        return static_cast<std::uint32_t>(
            std::find_if(net.nodes.begin(), net.nodes.end(),
                         [&](const auto& node) { return node.description == name; }) -
            net.nodes.begin());
    };
    const std::uint32_t hca = index("h1");
    const std::uint32_t gone = index("h5");
    const std::uint32_t leaf2 = index("leaf2");
    net.nodes[hca].description = "hca";
    net.nodes[hca].ports.resize(3);
    net.nodes[hca].ports[2] = net.nodes[gone].ports[1];
    net.nodes[leaf2].ports[1].peer_node = hca;
    net.nodes[leaf2].ports[1].peer_port = PortNum{2};
    net.nodes[gone].ports[1].peer_node.reset();
    return net;
}

TEST(FieldCase, C17_one_port_of_a_two_port_adapter_goes_away) {
    LabOptions options;
    options.at = "h2";
    Lab lab(two_port_adapter(), options);
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    EXPECT_EQ(wrong(lab), "");
    lab.advance(seconds{10});
    lab.forget_counts();
    lab.inject("link-down hca/2");
    lab.advance(seconds{60});
    EXPECT_EQ(lab.sweeps("touched"), 1U) << "exactly one follow-up sweep";
    EXPECT_EQ(lab.sim.port_info(lab.node("hca"), PortNum{1}).state, PortState::active);
    EXPECT_EQ(wrong(lab), "");
}

TEST(FieldCase, C17_one_port_of_a_two_port_adapter_is_isolated) {
    LabOptions options;
    options.at = "h2";
    Lab lab(two_port_adapter(), options);
    lab.inject("one-way hca/2");
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    lab.advance(seconds{60});
    EXPECT_LE(lab.sweeps("full"), 2U);
    EXPECT_TRUE(lab.has_isolation(IsolationReason::silent));
    EXPECT_EQ(lab.sim.port_info(lab.node("hca"), PortNum{1}).state, PortState::active);
}

TEST(FieldCase, C19_devices_that_drop_lid_routed_smps) {
    LabOptions options;
    options.sim.lid_routed_smps = false;
    Lab lab(t2(), options);
    std::uint32_t lid_routed = 0;
    lab.on_mad = [&](base::Instant, std::uint32_t, const mad::Smp& smp, mad::MadStatus) {
        lid_routed += smp.header.mgmt_class != mad::MgmtClass::subn_directed ? 1U : 0U;
    };
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    EXPECT_EQ(wrong(lab), "");
    lab.inject("link-down leaf1/5");
    lab.advance(seconds{20});
    EXPECT_EQ(wrong(lab), "");
    EXPECT_EQ(lid_routed, 0U);
}

TEST(FieldCase, C40_malformed_mads_change_nothing) {
    LabOptions options;
    options.at = "h1";
    Lab lab(t1(), options);
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    const std::string before = lab.tables_text();
    lab.forget_counts();
    base::Prng prng(40);
    mad::Smp smp;
    smp.header.attribute = Attribute::port_info;
    const mad::MadBuffer good = mad::encode_smp(smp);
    for (std::uint32_t i = 0; i < 20'000; ++i) {
        mad::WireMad wire{good, {}, {}};
        const std::uint64_t spoilt = i % 4 == 0 ? 256 : 1 + prng.below(24);
        for (std::uint64_t k = 0; k < spoilt; ++k) {
            wire.bytes[spoilt == 256 ? k : prng.below(256)] = static_cast<std::uint8_t>(prng.next());
        }
        wire.bytes[3] = i % 3 == 0 ? static_cast<std::uint8_t>(prng.next()) : static_cast<std::uint8_t>(0x81);
        sm::Effects effects;
        lab.sm->on_mad(wire, lab.now, effects);
    }
    EXPECT_GT(lab.snapshot().mads.foreign + lab.snapshot().mads.late, 1000U);
    lab.advance(seconds{120});
    EXPECT_EQ(lab.sm->mode(), fabric::SmMode::up);
    EXPECT_EQ(lab.tables_text(), before);
    EXPECT_EQ(wrong(lab), "");
}

/// Answers whose fields are illegal in every way: the SM comes to an end, writes nothing forbidden, never
/// crashes.
TEST(FieldCase, C40_answers_with_random_payload) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        LabOptions options;
        options.at = "h1";
        Lab lab(t2(), options);
        base::Prng prng(seed);
        lab.on_deliver = [&](mad::WireMad& wire) {
            if (prng.below(seed % 2 == 0 ? 20 : 200) == 0) {
                for (std::uint64_t k = 0; k < 1 + prng.below(40); ++k) {
                    wire.bytes[64 + prng.below(64)] = static_cast<std::uint8_t>(prng.next());
                }
            }
            return true;
        };
        lab.start();
        lab.advance(seconds{20});
        lab.on_deliver = nullptr;
        lab.inject("reboot spine1");  // whatever was believed, a look follows
        lab.advance(seconds{150});
        EXPECT_EQ(lab.sm->mode(), fabric::SmMode::up) << "seed " << seed << ": " << lab.snapshot().mode_text;
    }
}

TEST(FieldCase, C41_wrong_late_and_doubled_answers_are_ignored) {
    Lab clean(t2());
    clean.start();
    ASSERT_TRUE(clean.run_until_up(seconds{5}));
    Lab lab(t2());
    lab.inject(
        "wrong-tid * probability=0.1 count=150\nduplicate * probability=0.2 count=200\n"
        "delay * probability=0.05 delay=450ms count=60\nreorder * probability=0.3 count=300");
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{60}));
    lab.advance(seconds{60});
    EXPECT_EQ(wrong(lab), "");
    EXPECT_EQ(lab.lids(), clean.lids());
    EXPECT_GT(lab.snapshot().mads.foreign + lab.snapshot().mads.duplicates + lab.snapshot().mads.late, 0U);
}

TEST(FieldCase, C41_an_answer_that_came_another_way_is_foreign) {
    Lab lab(t2());
    std::uint32_t swapped = 0;
    lab.on_deliver = [&](mad::WireMad& wire) {
        auto smp = mad::parse_smp(wire.bytes);
        if (swapped < 8 && smp && smp->header.is_response() && smp->path.hops >= 2) {
            ++swapped;
            smp->path.ports[smp->path.hops] ^= 3U;  // the same TID, from the neighbour
            wire.bytes = mad::encode_smp(*smp);
        }
        return true;
    };
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{60}));
    lab.advance(seconds{30});
    EXPECT_EQ(swapped, 8U);
    EXPECT_GE(lab.snapshot().mads.foreign, 8U);
    EXPECT_EQ(wrong(lab), "");
}

TEST(FieldCase, C80_lost_pkey_answers_cost_a_node_nothing) {
    for (const char* who : {"spine1", "h5", "leaf1"}) {
        LabOptions options;
        options.at = "h1";
        Lab lab(t2(), options);
        lab.inject(fmt::format("drop {} attr=P_KeyTable method=Get count=4", who));
        lab.start();
        ASSERT_TRUE(lab.run_until([&] { return lab.sweeps("full") >= 1; }, seconds{20}));
        EXPECT_EQ(lab.snapshot().fabric->nodes.size(), 12U) << who << " was dropped";
        lab.advance(seconds{20});
        EXPECT_EQ(wrong(lab), "") << who;
        EXPECT_EQ(lab.events("node-removed"), 0U);
        const auto fabric = lab.snapshot().fabric;
        for (const fabric::Node& node : fabric->nodes) {
            EXPECT_FALSE(node.ports[node.is_switch() ? 0 : 1].pkeys.empty()) << node.description;
        }
    }
}

}  // namespace
}  // namespace ibf::test
