// Field cases about change: reboots, traps, restarts, LIDs, routes and what is written when.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/prng.hpp"
#include "harness.hpp"
#include "mad/codec.hpp"

namespace ibf::test {
namespace {

using mad::Attribute;
using mad::PortNum;
using mad::PortState;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// Where links went down while the SM was setting them.
std::string wrong_but_races(const Lab& lab) {
    return join_lines(problems(lab, CheckOptions{{}, lab.sim.counters().by_rule, 4000}));
}

/// A switch's whole table as the simulator holds it.
std::vector<std::uint8_t> table_of(const Lab& lab, std::uint32_t node) {
    std::vector<std::uint8_t> table;
    for (std::uint32_t lid = 0; lid < 128; ++lid) {
        table.push_back(lab.sim.lft_entry(node, mad::Lid{static_cast<std::uint16_t>(lid)}));
    }
    return table;
}

TEST(FieldCase, C12_switch_reboots_mid_sweep) {
    Lab lab(t2(), at("h1"));
    const std::uint32_t spine = lab.node("spine1");
    std::vector<std::string> after;
    bool written = false;
    bool rebooted = false;
    lab.on_mad = [&](base::Instant, std::uint32_t node, const mad::Smp& smp, mad::MadStatus) {
        const bool set = smp.header.method == 2;
        written =
            written || (set && node == spine && smp.header.attribute == Attribute::linear_forwarding_table);
        if (rebooted && node == spine) {
            const bool arm = set && smp.header.attribute == Attribute::port_info &&
                             mad::decode_port_info(smp.data).state == PortState::armed;
            after.push_back(
                arm ? "arm"
                    : fmt::format("{} {}", set ? "Set" : "Get", mad::attribute_name(smp.header.attribute)));
        }
    };
    lab.start();
    ASSERT_TRUE(lab.run_until([&] { return written; }, seconds{5}));
    lab.inject("reboot spine1 delay=5s");
    lab.advance(seconds{4});  // what was on its way to the old life of the switch
    rebooted = true;
    lab.advance(seconds{30});
    EXPECT_EQ(wrong_but_races(lab), "");
    const auto first = [&](const std::string& what) {
        return std::find(after.begin(), after.end(), what) - after.begin();
    };
    EXPECT_LT(first("Get P_KeyTable"), first("arm"));
    EXPECT_LT(first("Set LinearForwardingTable"), first("arm"));
    EXPECT_LT(static_cast<std::size_t>(first("arm")), after.size());
}

TEST(FieldCase, C13_a_reset_switch_is_written_whole_although_port_0_is_active) {
    for (const bool muted : {false, true}) {
        Lab lab(t2(), at("h1"));
        lab.start();
        ASSERT_TRUE(lab.run_until_up(seconds{5}));
        lab.advance(seconds{12});
        if (muted) {
            lab.inject("mute-traps *");
        }
        const std::uint32_t spine = lab.node("spine1");
        const auto before = table_of(lab, spine);
        lab.inject("reboot spine1");
        ASSERT_EQ(lab.sim.port_info(spine, PortNum{0}).state, PortState::active);
        ASSERT_NE(table_of(lab, spine), before);
        lab.forget_counts();
        lab.advance(seconds{30});
        EXPECT_EQ(table_of(lab, spine), before);
        EXPECT_GE(lab.sets(Attribute::linear_forwarding_table), 1U);
        EXPECT_EQ(lab.sim.port_info(spine, PortNum{0}).lid,
                  lab.snapshot()
                      .fabric->nodes[lab.snapshot().fabric->find(lab.sim.netlist().nodes[spine].guid)]
                      .ports[0]
                      .info.lid);
        EXPECT_EQ(wrong(lab), "");
    }
}

TEST(FieldCase, C14_junk_left_by_another_sm_is_replaced) {
    Lab lab(t2(), at("h1"));
    base::Prng prng(14);
    for (const char* name : {"leaf1", "leaf2", "spine1", "spine2"}) {
        const std::uint32_t node = lab.node(name);
        mad::SwitchInfo info = lab.sim.switch_info(node);
        info.linear_fdb_top = 100;
        lab.sim.set_switch_info(node, info);
        mad::PortInfo port0 = lab.sim.port_info(node, PortNum{0});
        port0.lid = mad::Lid{static_cast<std::uint16_t>(80 + node)};
        port0.sm_lid = mad::Lid{77};
        lab.sim.set_port_info(node, PortNum{0}, port0);
        for (std::uint16_t lid = 0; lid < 128; ++lid) {
            const std::size_t ports = lab.sim.netlist().nodes[node].ports.size();
            lab.sim.set_lft_entry(node, mad::Lid{lid}, static_cast<std::uint8_t>(prng.below(ports)));
        }
    }
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    EXPECT_EQ(lab.sweeps("full"), 1U);
    EXPECT_EQ(wrong(lab), "");
    const fabric::Snapshot snapshot = lab.snapshot();
    for (std::size_t s = 0; s < snapshot.routes->routes.rows.size(); ++s) {
        const auto& row = *snapshot.routes->routes.rows[s];
        const auto& nodes = lab.sim.netlist().nodes;
        const auto node = static_cast<std::uint32_t>(
            std::find_if(
                nodes.begin(), nodes.end(),
                [&](const auto& item) { return item.guid == snapshot.view->topology.switches[s].guid; }) -
            nodes.begin());
        for (std::size_t lid = 0; lid < row.size(); ++lid) {
            EXPECT_EQ(lab.sim.lft_entry(node, mad::Lid{static_cast<std::uint16_t>(lid)}), row[lid])
                << "LID " << lid;
        }
    }
}

/// T2 whose switches cannot stop multicast by MulticastFDBTop.
void forget_multicast_top(Lab& lab) {
    constexpr std::uint32_t kMulticastTopSupported = 0x40000000U;
    for (const char* name : {"leaf1", "leaf2", "spine1", "spine2"}) {
        mad::PortInfo info = lab.sim.port_info(lab.node(name), PortNum{0});
        info.capability_mask &= ~kMulticastTopSupported;
        lab.sim.set_port_info(lab.node(name), PortNum{0}, info);
    }
}

TEST(FieldCase, C14_multicast_entries_left_by_another_sm_are_emptied_once) {
    Lab lab(t2(), at("h1"));
    forget_multicast_top(lab);
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    EXPECT_EQ(lab.gets(Attribute::multicast_forwarding_table), 0U) << "fresh switches hold none";
    lab.kill();
    // Another SM's group on leaf2: MLID 0xC021, ports 1 and 3.
    const auto other = lab.sim.join("h2", 0, [](mad::WireMad&&) {}).value();
    mad::Smp smp;
    smp.header.method = static_cast<std::uint8_t>(mad::Method::set);
    smp.header.attribute = Attribute::multicast_forwarding_table;
    smp.header.modifier = 1;
    smp.path = mad::DrPath{}.then(PortNum{1}).then(PortNum{5}).then(PortNum{2});
    mad::MftBlock block;
    block.port_masks[1] = 0x000A;
    smp.data = mad::encode(block);
    mad::WireMad wire{mad::encode_smp(smp), {}, {}};
    wire.address.lid = mad::kLidPermissive;
    lab.sim.send(other, wire, lab.now);
    lab.advance(seconds{1});
    lab.forget_counts();
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    EXPECT_EQ(lab.gets(Attribute::multicast_forwarding_table), 4U * 256U);
    EXPECT_EQ(lab.sets(Attribute::multicast_forwarding_table), 1U) << "only what is not empty is written";
    lab.kill();
    lab.forget_counts();
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    EXPECT_EQ(lab.sets(Attribute::multicast_forwarding_table), 0U);
    lab.forget_counts();
    lab.request_sweep(sm::SweepScope::full);
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    EXPECT_EQ(lab.gets(Attribute::multicast_forwarding_table), 0U) << "known clean";
    EXPECT_EQ(wrong(lab), "");
}

TEST(FieldCase, C23_a_lost_trap_is_made_good_by_the_light_sweep) {
    Lab lab(t2(), at("h1"));
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    lab.advance(seconds{11});
    lab.inject("mute-traps *");
    lab.forget_counts();
    lab.inject("link-down leaf1/5");
    lab.advance(seconds{11});
    EXPECT_EQ(lab.sweeps("touched"), 1U);
    EXPECT_EQ(wrong(lab), "");
    EXPECT_EQ(lab.events("link-down"), 1U);
}

TEST(FieldCase, C33_ten_thousand_short_sweeps_none_stuck) {
    Lab lab(t1(), at("h1"));
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    lab.inject(
        "drop * probability=0.01\nduplicate * probability=0.05\nreorder * probability=0.2\nwrong-tid * "
        "probability=0.005");
    for (std::uint32_t i = 0; i < 10'000; ++i) {
        lab.request_sweep(i % 16 == 0 ? sm::SweepScope::full : sm::SweepScope::light);
        ASSERT_TRUE(lab.run_until_up(seconds{60})) << "sweep " << i << ": " << lab.snapshot().mode_text;
    }
    EXPECT_EQ(wrong(lab), "");
}

TEST(FieldCase, C38_a_restart_on_an_unchanged_fabric_sets_nothing) {
    for (const bool clean : {true, false}) {
        Lab lab(t2(), at("h1"));
        lab.start();
        ASSERT_TRUE(lab.run_until_up(seconds{5}));
        lab.advance(seconds{30});
        const auto lids = lab.lids();
        clean ? lab.stop() : lab.kill();
        lab.advance(seconds{1});
        lab.forget_counts();
        lab.start();
        ASSERT_TRUE(lab.run_until_up(seconds{5}));
        lab.advance(seconds{30});
        EXPECT_EQ(lab.all_sets(), 0U) << "no table, no port, and so no reregister";
        EXPECT_EQ(lab.lids(), lids);
    }
}

TEST(FieldCase, C39_no_mix_of_old_and_new_tables_loops) {
    for (const char* spec :
         {"torus:4x4", "fat-tree:radix=4,levels=3", "random:switches=14,degree=4,hosts=1,seed=3"}) {
        Lab lab(netlist(spec));
        lab.watch_loops();
        lab.start();
        ASSERT_TRUE(lab.run_until_up(seconds{10})) << spec;
        base::Prng prng(39);
        const auto& nodes = lab.sim.netlist().nodes;
        for (std::uint32_t round = 0; round < 12; ++round) {
            std::vector<std::string> cables;
            for (const routing::NetlistNode& node : nodes) {
                for (std::size_t p = 1; p < node.ports.size(); ++p) {
                    const auto peer = node.ports[p].peer_node;
                    if (node.type == mad::NodeType::switch_ && peer &&
                        nodes[*peer].type == mad::NodeType::switch_) {
                        cables.push_back(fmt::format("\"{}/{}\"", node.id, p));
                    }
                }
            }
            const std::string cable = cables[prng.below(cables.size())];
            lab.inject("link-down " + cable);
            lab.advance(seconds{40});
            EXPECT_EQ(wrong(lab), "") << spec << " without " << cable;
            lab.inject("link-up " + cable);
            lab.advance(seconds{40});
            EXPECT_EQ(wrong(lab), "") << spec << " with " << cable << " again";
        }
    }
}

// A switch that stops answering while its old entries are being taken away goes on forwarding by them: nobody
// may get new entries for the same LIDs.
TEST(FieldCase, C39_a_switch_that_dies_under_the_drops_makes_no_loop) {
    unsigned died = 0;
    for (std::uint32_t seed = 0; seed < 12; ++seed) {
        Lab lab(netlist("torus:5x5,hosts=6"));  // 175 LIDs: three blocks
        lab.watch_loops();
        lab.start();
        ASSERT_TRUE(lab.run_until_up(seconds{10}));
        std::vector<std::uint32_t> switches;
        for (std::uint32_t n = 0; n < lab.sim.netlist().nodes.size(); ++n) {
            if (lab.sim.netlist().nodes[n].type == mad::NodeType::switch_) {
                switches.push_back(n);
            }
        }
        bool armed = true;
        const std::uint32_t victim = switches[(seed * 7 + 3) % switches.size()];
        lab.on_mad = [&](base::Instant, std::uint32_t, const mad::Smp& smp, mad::MadStatus) {
            if (armed && smp.header.method == 2 &&
                smp.header.attribute == Attribute::linear_forwarding_table) {
                armed = false;
                ++died;
                lab.inject(fmt::format("dead \"{}\"", lab.sim.netlist().nodes[victim].id));
            }
        };
        lab.inject(
            fmt::format("link-down \"{}/{}\"", lab.sim.netlist().nodes[switches[seed]].id, seed % 4 + 1));
        lab.advance(seconds{40});
        EXPECT_EQ(join_lines(lab.loops()), "") << "seed " << seed;
    }
    EXPECT_GT(died, 6U);
}

// A table that cannot be read is emptied before new entries are written anywhere.
TEST(FieldCase, C39_a_table_that_cannot_be_read_is_emptied_first) {
    Lab lab(t2(), at("h1"));
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    lab.kill();
    lab.stored = {};
    for (const char* name : {"leaf1", "leaf2", "spine1", "spine2"}) {  // somebody else's tables
        lab.sim.set_lft_entry(lab.node(name), lab.lid(lab.node("h7"), 1), 5);
    }
    lab.inject("error-status leaf2 attr=LinearForwardingTable method=Get number=0x1c");
    std::vector<std::string> order;
    lab.on_mad = [&](base::Instant, std::uint32_t node, const mad::Smp& smp, mad::MadStatus) {
        if (smp.header.method == 2 && smp.header.attribute == Attribute::linear_forwarding_table) {
            const mad::LftBlock block = mad::decode_lft(smp.data);
            const bool empty = std::all_of(block.ports.begin(), block.ports.end(),
                                           [](std::uint8_t port) { return port == mad::kLftDrop; });
            order.push_back(lab.sim.netlist().nodes[node].description + (empty ? " emptied" : ""));
        }
    };
    lab.start();
    ASSERT_TRUE(lab.run_until([&] { return lab.sm->mode() == fabric::SmMode::up; }, seconds{5}));
    EXPECT_EQ(lab.events("table-unread"), 1U);
    ASSERT_FALSE(order.empty());
    EXPECT_EQ(order.front(), "leaf2 emptied");
    EXPECT_EQ(wrong(lab), "");
}

TEST(FieldCase, C43_an_unstable_link_stops_neither_the_rest_nor_a_reload) {
    Lab lab(t2(), at("h1"));
    lab.inject("flap leaf1/5 delay=200ms count=150");  // from before the first sweep on, for a minute
    lab.start();
    ASSERT_TRUE(lab.run_until([&] { return lab.sm->mode() == fabric::SmMode::up; }, seconds{20}));
    lab.advance(seconds{20});
    sm::SmConfig config;
    config.hoq_life_hosts = 0x11;
    lab.replace_config(config);
    lab.advance(seconds{39});
    for (std::uint8_t port = 1; port <= 4; ++port) {
        const mad::PortInfo info = lab.sim.port_info(lab.node("leaf2"), PortNum{port});
        EXPECT_EQ(info.state, PortState::active);
        EXPECT_EQ(info.hoq_life, 0x11) << "the reload was not reached";
    }
    lab.advance(seconds{120});
    EXPECT_EQ(wrong_but_races(lab), "");
}

// --- LIDs
// -------------------------------------------------------------------------------------------------------

/// T6: two stars of four joined by a cable between port 5 of "sw" and port 5 of "other"; hosts "h1".."h4",
/// "o1".."o4".
routing::Netlist t6() {
    routing::Netlist net = t1();
    const routing::Netlist second = t1();
    const auto offset = static_cast<std::uint32_t>(net.nodes.size());
    for (routing::NetlistNode node : second.nodes) {
        node.guid = mad::Guid{node.guid.value() + 0x100000};
        node.system_guid = node.guid;
        node.description = node.type == mad::NodeType::switch_ ? "other" : "o" + node.description.substr(1);
        node.id = "N-" + node.description;
        for (routing::NetlistPort& port : node.ports) {
            if (port.peer_node) {
                port.peer_node = *port.peer_node + offset;
            }
        }
        net.nodes.push_back(node);
    }
    for (const std::uint32_t n : {0U, offset}) {
        net.nodes[n].ports.resize(6);
        net.nodes[n].ports[5].peer_node = n == 0 ? offset : 0;
        net.nodes[n].ports[5].peer_port = PortNum{5};
        net.nodes[n].ports[5].speed = mad::LinkSpeed::edr;
    }
    return net;
}

TEST(FieldCase, C59_overlapping_lids_when_two_subnets_are_joined) {
    Lab lab(t6(), at("h1"));
    lab.inject("link-down sw/5");
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    lab.advance(seconds{5});
    const auto ours = lab.lids();
    for (const auto& [name, lid] :
         std::map<std::string, std::uint16_t>{{"o1", 1}, {"o2", 2}, {"o3", 300}, {"o4", 4}}) {
        mad::PortInfo info = lab.sim.port_info(lab.node(name), PortNum{1});
        info.lid = mad::Lid{lid};
        info.sm_lid = mad::Lid{4};
        lab.sim.set_port_info(lab.node(name), PortNum{1}, info);
    }
    lab.inject("link-up sw/5");
    lab.advance(seconds{20});
    EXPECT_EQ(wrong(lab), "");
    for (const char* name : {"sw", "h1", "h2", "h3", "h4"}) {
        const mad::Guid guid{lab.sim.netlist().nodes[lab.node(name)].guid.value() +
                             (name == std::string("sw") ? 0U : 1U)};
        EXPECT_EQ(lab.lids().at(guid), ours.at(guid)) << name << " was moved";
    }
    EXPECT_EQ(lab.lid(lab.node("o3"), 1), mad::Lid{300}) << "no clash, no move";
    EXPECT_EQ(lab.events("lid-moved"), 3U);
}

TEST(FieldCase, C60_without_a_database_lids_are_taken_from_the_fabric) {
    Lab lab(t2(), at("h1"));
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    const auto lids = lab.lids();
    lab.kill();
    lab.stored = {};  // what a torn file leaves
    lab.forget_counts();
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    EXPECT_EQ(lab.lids(), lids);
    EXPECT_EQ(lab.events("lid-moved"), 0U);
    EXPECT_EQ(lab.sets(Attribute::port_info), 8U) << "each host is asked to register with the SA anew";
    EXPECT_EQ(lab.events("reregister"), 1U);
}

TEST(FieldCase, C62_lmc_1_takes_two_roads_and_base_port_0_keeps_lmc_0) {
    for (const char* engine : {"updn", "minhop"}) {
        LabOptions options = at("h1");
        options.config.lmc = 1;
        options.config.routing.engines = {engine};
        Lab lab(t2(), options);
        lab.start();
        ASSERT_TRUE(lab.run_until_up(seconds{5}));
        EXPECT_EQ(wrong(lab), "");
        for (const char* name : {"leaf1", "spine1"}) {
            EXPECT_EQ(lab.sim.port_info(lab.node(name), PortNum{0}).lmc, 0);
        }
        for (const char* name : {"h5", "h6", "h7", "h8"}) {
            const mad::PortInfo info = lab.sim.port_info(lab.node(name), PortNum{1});
            EXPECT_EQ(info.lmc, 1);
            std::set<std::uint32_t> spines;
            for (std::uint16_t bit = 0; bit < 2; ++bit) {
                const mad::Lid lid{static_cast<std::uint16_t>(info.lid.value() + bit)};
                const auto steps = lab.sim.walk(lab.node("h2"), PortNum{1}, lid);
                ASSERT_TRUE(steps);
                for (const auto& step : *steps) {
                    if (lab.sim.netlist().nodes[step.node].description.rfind("spine", 0) == 0) {
                        spines.insert(step.node);
                    }
                }
            }
            EXPECT_EQ(spines.size(), 2U) << engine << ": both LIDs of " << name << " go one way";
        }
    }
}

TEST(FieldCase, C63_a_switch_with_a_small_table) {
    Lab lab(leaf_spine(6, 2, 16, mad::LinkSpeed::edr), at("h1"));
    const std::uint32_t spine = lab.node("spine2");
    mad::SwitchInfo info = lab.sim.switch_info(spine);
    info.linear_fdb_cap = 64;
    lab.sim.set_switch_info(spine, info);
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5})) << lab.snapshot().mode_text;
    const bool told =
        std::any_of(lab.announced.begin(), lab.announced.end(), [](const fabric::EventRecord& event) {
            return event.severity != fabric::EventRecord::Severity::info &&
                   event.text.find("spine2") != std::string::npos;
        });
    EXPECT_TRUE(told) << "no event names the switch";
    // Hosts reach each other; what lies above the table of spine2 is served by spine1.
    for (const auto& [a, b] :
         {std::pair{"h2", "h96"}, std::pair{"h96", "h2"}, std::pair{"h40", "h70"}, std::pair{"h1", "h20"}}) {
        const auto steps = lab.sim.walk(lab.node(a), PortNum{1}, lab.lid(lab.node(b), 1));
        EXPECT_TRUE(steps) << a << " to " << b << ": " << steps.error().message;
    }
    EXPECT_EQ(lab.sim.counters().rule_breaks, 0U);
    lab.advance(seconds{60});
    EXPECT_LE(lab.sweeps("full"), 2U);
}

// --- routes
// -----------------------------------------------------------------------------------------------------

TEST(FieldCase, C66_minhop_on_a_ring_is_refused_link_by_link_and_updn_serves) {
    LabOptions options;
    options.config.routing.engines = {"minhop", "updn"};
    Lab lab(netlist("ring:6,hosts=1"), options);
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    EXPECT_EQ(lab.snapshot().routes->routes.engine, "updn");
    ASSERT_NE(lab.find_event("engine-refused"), nullptr);
    EXPECT_NE(lab.find_event("engine-refused")->text.find("->"), std::string::npos)
        << lab.find_event("engine-refused")->text;
    EXPECT_TRUE(lab.snapshot().routes->verdict.credit_loop_free);
    EXPECT_EQ(wrong(lab), "");
}

TEST(FieldCase, C71_ports_that_are_stuck_leave_the_others_alone) {
    const routing::Netlist net = netlist("fat-tree:radix=16,levels=3");
    Lab lab(net);
    std::set<std::uint32_t> stuck;
    std::vector<std::uint32_t> hosts;
    for (std::uint32_t n = 0; n < net.nodes.size(); ++n) {
        if (net.nodes[n].type == mad::NodeType::ca) {
            hosts.push_back(n);
        }
    }
    for (std::uint32_t i = 0; i < 10; ++i) {
        const std::uint32_t host = hosts[100 * i + 3];
        stuck.insert(host);
        lab.inject(
            fmt::format("error-status \"{}\" attr=PortInfo method=Set number=0x1c", net.nodes[host].id));
    }
    lab.start();
    ASSERT_TRUE(lab.run_until([&] { return lab.sweeps("full") >= 1; }, seconds{20}));
    EXPECT_EQ(lab.sm->mode(), fabric::SmMode::up);
    EXPECT_EQ(wrong(lab, stuck), "");
    EXPECT_EQ(lab.events("setup-failed"), 10U);
}

TEST(FieldCase, C74_a_lost_spine_rewrites_only_the_blocks_that_differ) {
    Lab lab(leaf_spine(4, 3, 6, mad::LinkSpeed::edr), at("h1"));
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    lab.advance(seconds{5});
    std::map<std::string, std::vector<std::uint8_t>> before;
    for (const char* name : {"leaf1", "leaf2", "leaf3", "leaf4", "spine2", "spine3"}) {
        before[name] = table_of(lab, lab.node(name));
    }
    lab.forget_counts();
    lab.inject("remove-node spine1");
    lab.advance(seconds{20});
    EXPECT_EQ(wrong(lab), "");
    std::uint64_t blocks = 0;
    for (const auto& [name, old] : before) {
        const auto now = table_of(lab, lab.node(name));
        bool differs = false;
        for (std::size_t lid = 1; lid < 64; ++lid) {
            differs = differs || now[lid] != old[lid];
            const bool leaf = name.rfind("leaf", 0) == 0;
            // Leaf port 7 led to spine1; every other entry was still good and stays.
            const bool lost = leaf ? old[lid] == 7 : false;
            const bool to_spine1 =
                mad::Lid{static_cast<std::uint16_t>(lid)} == mad::Lid{static_cast<std::uint16_t>(29)};
            if (!lost && !to_spine1 && leaf) {
                EXPECT_EQ(now[lid], old[lid]) << name << " LID " << lid << " was moved without need";
            }
        }
        blocks += differs ? 1U : 0U;
    }
    EXPECT_EQ(lab.sets(Attribute::linear_forwarding_table), blocks);
    EXPECT_EQ(lab.sweeps("touched"), 1U);
}

TEST(FieldCase, C116_a_thousand_nodes_at_once_are_told_in_few_lines) {
    const routing::Netlist net = netlist("fat-tree:radix=16,levels=3");
    Lab lab(net);
    std::uint32_t lines = 0;
    lab.on_line = [&](const std::string&) { ++lines; };
    // All but the SM's own leaf are without power at first.
    const mad::Guid own = lab.sim.local_port(lab.client).node_guid;
    for (std::uint32_t n = 0; n < net.nodes.size(); ++n) {
        const auto peer = net.nodes[n].ports[1].peer_node;
        const bool own_leaf =
            net.nodes[n].type == mad::NodeType::switch_ && peer && net.nodes[*peer].guid == own;
        if (net.nodes[n].guid != own && !own_leaf) {
            lab.inject(fmt::format("remove-node \"{}\"", net.nodes[n].id));
        }
    }
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    lab.advance(seconds{12});
    lab.inject("add-node *");
    lab.advance(seconds{30});
    EXPECT_EQ(lab.snapshot().fabric->nodes.size(), net.nodes.size());
    EXPECT_LT(lines, 200U);
    EXPECT_GT(lab.events("node-added"), 0U);
}

// --- more of change
// ---------------------------------------------------------------------------------------------

TEST(Change, LinksAndSwitchesComeAndGo) {
    Lab lab(netlist("fat-tree:radix=6,levels=2"));
    lab.watch_loops();
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    const auto& nodes = lab.sim.netlist().nodes;
    std::vector<std::string> switches;
    for (const routing::NetlistNode& node : nodes) {
        if (node.type == mad::NodeType::switch_) {
            switches.push_back(node.id);
        }
    }
    for (const std::string& name : switches) {
        lab.inject(fmt::format("remove-node \"{}\"", name));
        lab.advance(seconds{40});
        if (!lab.sm->at_rest() || lab.sm->mode() != fabric::SmMode::up) {
            lab.inject(fmt::format("add-node \"{}\"", name));  // it was the SM's own leaf
            lab.advance(seconds{70});
            continue;
        }
        EXPECT_EQ(wrong(lab), "") << "without " << name;
        lab.inject(fmt::format("add-node \"{}\"", name));
        lab.advance(seconds{40});
        EXPECT_EQ(wrong(lab), "") << "with " << name;
    }
    EXPECT_EQ(wrong(lab), "");
}

TEST(Change, AReloadChangesActiveLinks) {
    Lab lab(t2(), at("h1"));
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    sm::SmConfig config;
    config.operational_vls_max = 3;
    lab.replace_config(config);
    lab.advance(seconds{60});
    EXPECT_EQ(wrong(lab), "");
    for (std::uint8_t port = 1; port <= 6; ++port) {
        const mad::PortInfo info = lab.sim.port_info(lab.node("leaf1"), PortNum{port});
        EXPECT_EQ(info.operational_vls, 3);
    }
    lab.forget_counts();
    lab.advance(seconds{60});
    EXPECT_EQ(lab.all_sets(), 0U);
}

// Nothing but the refused block is missing of its switch: it is not known all the same.
TEST(Change, ABlockThatIsRefusedAloneIsReadAndWrittenAgain) {
    Lab lab(t2(), at("h1"));
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    lab.forget_counts();
    lab.inject("error-status leaf2 attr=LinearForwardingTable method=Set number=0x1c count=1");
    lab.inject("link-down leaf2/5");
    ASSERT_TRUE(lab.run_until([&] { return lab.events("setup-failed") > 0; }, seconds{5}));
    EXPECT_EQ(lab.gets(Attribute::linear_forwarding_table), 0U);
    lab.advance(seconds{30});
    EXPECT_GE(lab.gets(Attribute::linear_forwarding_table), 1U);
    EXPECT_EQ(wrong(lab), "");
}

// Another root: each of the two tables has its own place where no packet turns, both together have none.
TEST(Change, ARingThatOldAndNewTablesCloseTogetherIsTold) {
    LabOptions options;
    options.config.routing.engines = {"updn"};
    Lab lab(netlist("ring:5,hosts=1"), options);
    std::vector<mad::Guid> switches;
    for (const routing::NetlistNode& node : lab.sim.netlist().nodes) {
        if (node.type == mad::NodeType::switch_) {
            switches.push_back(node.guid);
        }
    }
    const auto with_root = [&](mad::Guid root, std::uint8_t priority) {
        sm::SmConfig config = options.config;
        config.routing.root_guids = {root};
        config.priority = priority;
        return config;
    };
    options.config.routing.root_guids = {switches[0]};
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    lab.replace_config(with_root(switches[0], 0));
    lab.advance(seconds{5});
    EXPECT_GT(lab.routings, 1U);
    lab.announced.clear();
    lab.replace_config(with_root(switches[0], 1));
    lab.advance(seconds{5});
    EXPECT_EQ(lab.events("credit-cycle-in-transit"), 0U);
    lab.replace_config(with_root(switches[2], 1));
    lab.advance(seconds{5});
    ASSERT_EQ(lab.events("credit-cycle-in-transit"), 1U);
    EXPECT_NE(lab.find_event("credit-cycle-in-transit")->text.find("a ring of 5 links"), std::string::npos)
        << lab.find_event("credit-cycle-in-transit")->text;
    EXPECT_EQ(wrong(lab), "");
}

TEST(Change, BackToBackSurvivesACableThatGoes) {
    Lab lab(netlist("back-to-back"));
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    EXPECT_EQ(wrong(lab), "");
    lab.inject("link-down *");
    lab.advance(seconds{60});
    EXPECT_EQ(lab.sm->mode(), fabric::SmMode::port_down);
    lab.inject("link-up *");
    lab.advance(seconds{60});
    EXPECT_EQ(lab.sm->mode(), fabric::SmMode::up);
    EXPECT_EQ(wrong(lab), "");
}

}  // namespace
}  // namespace ibf::test
