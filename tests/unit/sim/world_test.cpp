// Ways through the fabric: directed routes, and LIDs over the programmed tables.
#include "sim/world.hpp"

#include <gtest/gtest.h>

#include "sim_bench.hpp"

namespace ibf::sim {
namespace {

using mad::Attribute;
using mad::Method;
using mad::PortNum;

mad::NodeInfo node_info(const mad::Smp& smp) {
    return mad::decode_node_info(smp.data);
}

TEST(World, DirectedRouteReachesEveryNodeAndFillsTheReturnPath) {
    SimBench bench(four_switches());
    const mad::Smp own = bench.get(Attribute::node_info, 0, mad::DrPath{}).value();
    EXPECT_EQ(node_info(own).node_guid, bench.sim.netlist().nodes[4].guid);
    EXPECT_EQ(node_info(own).local_port, PortNum{1});

    // h1 - leaf1 port 3 - spine1 port 2 - leaf2 port 2 - h4.
    const mad::Smp far = bench.get(Attribute::node_info, 0, path_of({1, 3, 2, 2})).value();
    EXPECT_EQ(far.header.status, 0);
    EXPECT_EQ(node_info(far).node_guid, bench.sim.netlist().nodes[7].guid);
    EXPECT_TRUE(node_info(far).valid());
    EXPECT_TRUE(far.returning);
    EXPECT_EQ(far.return_path.to_string(), "0,1,1,3,1");

    const mad::Smp spine = bench.get(Attribute::node_info, 0, path_of({1, 3})).value();
    EXPECT_EQ(node_info(spine).local_port, PortNum{1});
    EXPECT_EQ(node_info(spine).type, mad::NodeType::switch_);
}

TEST(World, DirectedRouteIsLostWhereItCannotGo) {
    SimBench bench(four_switches());
    EXPECT_FALSE(bench.get(Attribute::node_info, 0, path_of({2})));        // not the port we sit at
    EXPECT_FALSE(bench.get(Attribute::node_info, 0, path_of({1, 9})));     // no such port
    EXPECT_FALSE(bench.get(Attribute::node_info, 0, path_of({1, 3, 3})));  // no cable
    EXPECT_FALSE(bench.get(Attribute::node_info, 0, path_of({1, 2, 1})));  // through an adapter
    EXPECT_FALSE(bench.get(Attribute::node_info, 0, path_of({1, 0})));     // port 0 leads nowhere
    EXPECT_EQ(bench.sim.counters().lost, 5U);
}

TEST(World, SixtyThreeHopsAndSelfCables) {
    FabricMaker maker;
    const std::uint32_t hub = maker.add(mad::NodeType::switch_, "sw", 4);
    const std::uint32_t host = maker.add(mad::NodeType::ca, "h1", 1);
    maker.connect(hub, 1, host, 1, mad::LinkSpeed::hdr);
    maker.connect(hub, 2, hub, 3, mad::LinkSpeed::hdr);
    SimBench bench(maker.netlist);
    mad::DrPath path = path_of({1});
    while (path.hops < mad::kHopsMax) {
        path = path.then(PortNum{2});
    }
    const mad::Smp answer = bench.get(Attribute::node_info, 0, path).value();
    EXPECT_EQ(node_info(answer).local_port, PortNum{3});
}

TEST(World, LidRoutingFollowsTheProgrammedTables) {
    SimBench bench(four_switches());
    const mad::Smp get = bench.request(Method::get, Attribute::node_info, 0, mad::DrPath{}, {});
    EXPECT_FALSE(bench.ask_lid(get, lid_of(7)));  // nothing is programmed yet
    bring_up(bench);
    const mad::Smp answer = bench.ask_lid(get, lid_of(7)).value();
    EXPECT_EQ(node_info(answer).node_guid, bench.sim.netlist().nodes[7].guid);
    EXPECT_TRUE(
        bench.ask_lid(bench.request(Method::get, Attribute::node_info, 0, mad::DrPath{}, {}), lid_of(3)));

    bench.sim.set_lft_entry(0, lid_of(7), mad::kLftDrop);
    EXPECT_FALSE(
        bench.ask_lid(bench.request(Method::get, Attribute::node_info, 0, mad::DrPath{}, {}), lid_of(7)));
    const base::Result<std::vector<Simulator::Step>> broken = bench.sim.walk(4, PortNum{1}, lid_of(7));
    ASSERT_FALSE(broken);
    EXPECT_EQ(broken.error().kind, base::ErrorKind::not_found);
    EXPECT_NE(broken.error().message.find("leaf1"), std::string::npos) << broken.error().message;

    // A loop between leaf 1 and spine 1 ends as a loss, and the walk says so.
    bench.sim.set_lft_entry(0, lid_of(7), 3);
    bench.sim.set_lft_entry(2, lid_of(7), 1);
    EXPECT_FALSE(
        bench.ask_lid(bench.request(Method::get, Attribute::node_info, 0, mad::DrPath{}, {}), lid_of(7)));
    const base::Result<std::vector<Simulator::Step>> loop = bench.sim.walk(4, PortNum{1}, lid_of(7));
    ASSERT_FALSE(loop);
    EXPECT_NE(loop.error().message.find("loop"), std::string::npos) << loop.error().message;
}

}  // namespace
}  // namespace ibf::sim
