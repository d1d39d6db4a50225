// A multi-lane engine under the SM: what the switches hold in the end is what was proved.
#include <gtest/gtest.h>

#include "daemon/fabric/forwarding.hpp"
#include "harness.hpp"
#include "mad/codec.hpp"

namespace ibf::test {
namespace {

using mad::Attribute;
using mad::PortNum;
using std::chrono::seconds;

LabOptions torus_engine() {
    LabOptions options;
    options.config.routing.engines = {"torus-2qos"};
    return options;
}

routing::Netlist torus() {
    auto netlist = routing::generate_netlist("torus:5x5,hosts=1");
    EXPECT_TRUE(netlist);
    return std::move(*netlist);
}

std::uint64_t lane_sets_of(const Lab& lab) {
    return lab.sets(Attribute::sl2vl_table) + lab.sets(Attribute::vl_arbitration);
}

/// Routes whose lanes are read from the simulated switches: a map of a class for each port.
routing::Routes as_switches_hold_them(const Lab& lab, const fabric::Snapshot& snapshot) {
    routing::Routes routes = fabric::Forwarding(snapshot).routes();
    routes.lane_maps.clear();
    for (std::uint32_t s = 0; s < snapshot.view->topology.switches.size(); ++s) {
        const auto& item = snapshot.view->topology.switches[s];
        std::uint32_t node = 0;
        while (lab.sim.netlist().nodes[node].guid != item.guid) {
            ++node;
        }
        auto map = std::make_shared<routing::LaneMap>();
        map->exit_classes = static_cast<std::uint8_t>(item.peers.size());
        for (std::size_t port = 0; port < item.peers.size(); ++port) {
            map->input_class.push_back(static_cast<std::uint8_t>(port));
            map->exit_class.push_back(static_cast<std::uint8_t>(port));
        }
        for (std::size_t pair = 0; pair < item.peers.size() * item.peers.size(); ++pair) {
            const PortNum input{static_cast<std::uint8_t>(pair / item.peers.size())};
            const PortNum exit{static_cast<std::uint8_t>(pair % item.peers.size())};
            routing::LaneMap::Lanes lanes{};
            const mad::Sl2VlTable held = lab.sim.sl2vl(node, input, exit);
            for (std::size_t sl = 0; sl < lanes.size(); ++sl) {
                lanes[sl] = held.vls[sl].value();
            }
            map->tables.push_back(lanes);
        }
        routes.lane_maps.push_back(std::move(map));
    }
    return routes;
}

TEST(ProgrammerLanes, WhatTheSwitchesHoldIsProvedFree) {
    Lab lab(torus(), torus_engine());
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{30}));
    const fabric::Snapshot snapshot = lab.snapshot();
    ASSERT_EQ(snapshot.routes->routes.engine, "torus-2qos");
    EXPECT_GT(snapshot.routes->routes.vls, 1U);
    EXPECT_GT(lane_sets_of(lab), 0U);
    const routing::Routes held = as_switches_hold_them(lab, snapshot);
    const routing::Verdict verdict = routing::verify(snapshot.view->topology, held, 1);
    EXPECT_TRUE(verdict.reachable()) << verdict.first_failure;
    EXPECT_TRUE(verdict.credit_loop_free);
    EXPECT_EQ(verdict.lane_faults, 0U) << verdict.first_lane_fault;
    // One lane for all would be a ring: the mappings are what makes it safe.
    routing::Routes merged = held;
    merged.lane_maps.clear();
    merged.sls.clear();
    EXPECT_FALSE(routing::verify(snapshot.view->topology, merged, 1).credit_loop_free);
}

/// Links begin with more lanes than policy lets them run, so no mapping can be written before OperationalVLs.
TEST(ProgrammerLanes, LanesOfNewLinksFollowTheirOperationalVls) {
    LabOptions options = torus_engine();
    options.config.operational_vls_max = 3;  // four data lanes
    Lab lab(torus(), std::move(options));
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{30}));
    const fabric::Snapshot snapshot = lab.snapshot();
    const routing::Routes& wanted = snapshot.routes->routes;
    ASSERT_EQ(wanted.engine, "torus-2qos");
    const routing::Routes held = as_switches_hold_them(lab, snapshot);
    const auto& switches = snapshot.view->topology.switches;
    for (std::uint32_t s = 0; s < switches.size(); ++s) {
        for (std::uint8_t exit = 1; exit < switches[s].peers.size(); ++exit) {
            for (std::uint8_t input = 1; input < switches[s].peers.size(); ++input) {
                for (std::uint8_t sl = 0; sl < 4; ++sl) {
                    const routing::SwitchIndex at{s};
                    ASSERT_EQ(held.lane(at, PortNum{input}, PortNum{exit}, sl),
                              wanted.lane(at, PortNum{input}, PortNum{exit}, sl) % 4)
                        << switches[s].name << " from " << int{input} << " to " << int{exit} << ", SL "
                        << int{sl};
                }
            }
        }
    }
    EXPECT_EQ(lab.events("lanes-lacking"), 0U);
}

TEST(ProgrammerLanes, NothingIsWrittenAgain) {
    Lab lab(torus(), torus_engine());
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{30}));
    lab.forget_counts();
    lab.request_sweep(sm::SweepScope::full);
    ASSERT_TRUE(lab.run_until([&] { return lab.sweeps("full") == 1; }, seconds{30}));
    EXPECT_EQ(lane_sets_of(lab), 0U) << "a sweep over the same fabric";
    lab.stop();
    lab.forget_counts();
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{30}));
    EXPECT_EQ(lane_sets_of(lab), 0U) << "a clean restart believes what was stored";
    lab.kill();
    lab.forget_counts();
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{30}));
    EXPECT_GT(lane_sets_of(lab), 0U) << "after a kill nobody knows";
}

// It was another's meanwhile, which had use for one lane.
TEST(ProgrammerLanes, WhatADeviceOfAnotherSmOnceAcknowledgedIsNotBelieved) {
    Lab lab(torus(), torus_engine());
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{30}));
    const std::uint32_t node = lab.node(lab.snapshot().view->topology.switches[5].name);
    for (std::uint8_t pair = 0; pair < 36; ++pair) {
        lab.sim.set_sl2vl(node, PortNum{static_cast<std::uint8_t>(pair / 6)},
                          PortNum{static_cast<std::uint8_t>(pair % 6)}, mad::Sl2VlTable{});
    }
    mad::PortInfo own = lab.sim.port_info(node, PortNum{0});
    own.sm_lid = mad::Lid{99};
    lab.sim.set_port_info(node, PortNum{0}, own);
    lab.request_sweep(sm::SweepScope::full);
    ASSERT_TRUE(lab.run_until_up(seconds{30}));
    const fabric::Snapshot snapshot = lab.snapshot();
    EXPECT_TRUE(
        routing::verify(snapshot.view->topology, as_switches_hold_them(lab, snapshot), 1).credit_loop_free);
}

TEST(ProgrammerLanes, AResetSwitchGetsItsLanesBackBeforeItCarriesTraffic) {
    Lab lab(torus(), torus_engine());
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{30}));
    const std::string before = lab.tables_text();
    const std::string name = lab.snapshot().view->topology.switches[5].name;
    lab.forget_counts();
    // What the switch takes after its reboot, in order: (is a lane table, makes a port Active).
    const std::uint32_t rebooted = lab.node(name);
    std::vector<std::pair<bool, bool>> taken;
    lab.on_mad = [&](base::Instant, std::uint32_t node, const mad::Smp& request, mad::MadStatus status) {
        if (node == rebooted && request.header.method == static_cast<std::uint8_t>(mad::Method::set) &&
            status == 0) {
            const bool active = request.header.attribute == Attribute::port_info &&
                                mad::decode_port_info(request.data).state == mad::PortState::active;
            taken.emplace_back(request.header.attribute == Attribute::sl2vl_table, active);
        }
    };
    lab.inject("reboot \"" + name + "\"");
    ASSERT_TRUE(lab.run_until([&] { return lane_sets_of(lab) > 0; }, seconds{30}));
    ASSERT_TRUE(lab.run_until_up(seconds{30}));
    EXPECT_EQ(lab.tables_text(), before);
    const auto first_active =
        std::find_if(taken.begin(), taken.end(), [](const auto& set) { return set.second; });
    ASSERT_NE(first_active, taken.end());
    EXPECT_TRUE(std::any_of(taken.begin(), first_active, [](const auto& set) { return set.first; }));
    EXPECT_TRUE(std::none_of(first_active, taken.end(), [](const auto& set) { return set.first; }));
    const fabric::Snapshot snapshot = lab.snapshot();
    const routing::Verdict verdict =
        routing::verify(snapshot.view->topology, as_switches_hold_them(lab, snapshot), 1);
    EXPECT_TRUE(verdict.reachable() && verdict.credit_loop_free && verdict.lane_faults == 0);
}

TEST(ProgrammerLanes, ASwitchThatRefusesIsNamedAndTriedAgain) {
    Lab lab(torus(), torus_engine());
    const mad::Guid refusing = lab.sim.netlist().nodes[lab.node("switch-1-1")].guid;
    lab.inject("error-status switch-1-1 attr=SLtoVLMappingTable method=Set number=0x1c");
    lab.start();
    ASSERT_TRUE(lab.run_until([&] { return lab.find_event("lanes-lacking") != nullptr; }, seconds{30}));
    EXPECT_EQ(lab.find_event("lanes-lacking")->guid, refusing);
}

}  // namespace
}  // namespace ibf::test
