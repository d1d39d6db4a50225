// The snapshot of a plan says what the netlist, the LIDs and the tables say.
#include <gtest/gtest.h>

#include <algorithm>

#include "daemon/fabric/planned.hpp"

namespace ibf::fabric {
namespace {

struct Plan {
    routing::Netlist netlist;
    routing::Topology topology;
    routing::RouteOutcome outcome;
};

Plan plan_of(const std::string& spec, std::uint8_t lmc) {
    Plan plan;
    auto netlist = routing::netlist_from_spec(spec);
    EXPECT_TRUE(netlist);
    plan.netlist = std::move(*netlist);
    auto topology = routing::topology_of(plan.netlist, lmc);
    EXPECT_TRUE(topology);
    plan.topology = std::move(*topology);
    auto outcome = routing::route(plan.topology, nullptr, routing::RouteOptions{});
    EXPECT_TRUE(outcome);
    plan.outcome = std::move(*outcome);
    return plan;
}

TEST(Planned, LidsAndTablesAreThoseOfThePlan) {
    for (const std::uint8_t lmc : {std::uint8_t{0}, std::uint8_t{2}}) {
        const Plan plan = plan_of("fat-tree:radix=4,levels=3", lmc);
        const Snapshot snapshot = planned_snapshot(plan.netlist, plan.topology, &plan.outcome);
        EXPECT_EQ(snapshot.mode, SmMode::up);
        const routing::Topology& seen = snapshot.view->topology;
        ASSERT_EQ(seen.switches.size(), plan.topology.switches.size());
        ASSERT_EQ(seen.end_ports.size(), plan.topology.end_ports.size());
        EXPECT_EQ(seen.max_lid, plan.topology.max_lid);
        EXPECT_EQ(seen.link_count(), plan.topology.link_count());
        for (std::size_t i = 0; i < seen.end_ports.size(); ++i) {
            EXPECT_EQ(seen.end_ports[i].port_guid, plan.topology.end_ports[i].port_guid);
            EXPECT_EQ(seen.end_ports[i].lids, plan.topology.end_ports[i].lids);
        }
        for (std::size_t i = 0; i < seen.switches.size(); ++i) {
            EXPECT_EQ(seen.switches[i].lids, plan.topology.switches[i].lids);
            EXPECT_EQ(*snapshot.programmed[i], *plan.outcome.routes.rows[i]);
        }
        EXPECT_TRUE(routing::verify(seen, snapshot.routes->routes, 1).reachable());
    }
}

TEST(Planned, WithoutRoutesNothingIsInForce) {
    const Plan plan = plan_of("ring:4", 0);
    const Snapshot snapshot = planned_snapshot(plan.netlist, plan.topology, nullptr);
    EXPECT_EQ(snapshot.routes, nullptr);
    EXPECT_TRUE(snapshot.programmed.empty());
}

TEST(Planned, CablesRunAtTheirSpeed) {
    for (const char* speed : {"SDR", "DDR", "QDR", "FDR10", "FDR", "EDR", "HDR", "NDR", "XDR"}) {
        const Plan plan = plan_of(std::string("star:leaves=2,hosts=1,speed=") + speed, 0);
        const Snapshot snapshot = planned_snapshot(plan.netlist, plan.topology, &plan.outcome);
        std::size_t linked = 0;
        for (const Node& node : snapshot.fabric->nodes) {
            for (std::size_t p = 1; p < node.ports.size(); ++p) {
                if (node.ports[p].peer.node != kNoNode) {
                    const mad::PortNum port{static_cast<std::uint8_t>(p)};
                    EXPECT_EQ(mad::to_string(speed_of(node, port)), speed) << node.description;
                    ++linked;
                }
            }
        }
        EXPECT_EQ(linked, 2 * plan.topology.link_count());
    }
}

TEST(Planned, TheFirstAdapterIsTheManagers) {
    const Plan plan = plan_of("ring:4", 0);
    const Snapshot snapshot = planned_snapshot(plan.netlist, plan.topology, &plan.outcome);
    const Fabric& fabric = *snapshot.fabric;
    const auto first = std::find_if(fabric.nodes.begin(), fabric.nodes.end(),
                                    [](const Node& node) { return !node.is_switch(); });
    EXPECT_EQ(fabric.local.node, static_cast<std::uint32_t>(first - fabric.nodes.begin()));
}

}  // namespace
}  // namespace ibf::fabric
