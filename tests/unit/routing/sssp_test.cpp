// SSSP: the closed form stays where it is even, and loads are evened out where it is not.
#include "engine_fixtures.hpp"

namespace ibf::routing::test {
namespace {

double worst_over_mean(const Topology& topology, const Routes& routes) {
    const Quality quality = measure_quality(topology, routes, 2);
    return static_cast<double>(quality.max_link_load) / quality.mean_link_load;
}

TEST(Sssp, IntactTreesKeepTheClosedForm) {
    for (const char* spec : {"fat-tree:radix=8,levels=2", "fat-tree:radix=8,levels=3"}) {
        const Topology topology = generated(spec);
        for (const LevelLoad& level : measure_quality(topology, routes_of("sssp", topology), 2).levels) {
            EXPECT_DOUBLE_EQ(static_cast<double>(level.max), level.mean) << spec << " " << level.level;
        }
    }
}

// OpenSM's sssp: 1.66 on the torus.
TEST(Sssp, IrregularFabricsAreEvenedOut) {
    EXPECT_LT(worst_over_mean(generated("torus:6x6x6"), routes_of("sssp", generated("torus:6x6x6"))), 1.6);
    const Topology damaged = generated("fat-tree:radix=8,levels=3,missing-links=0.03,seed=2");
    EXPECT_LT(worst_over_mean(damaged, routes_of("sssp", damaged)), 2.6);
}

/// Switches 0 and 1, each with 6 hosts, joined by three cables and by a way over switch 2, which is longer.
TEST(Sssp, ParallelCablesShareTheFlows) {
    const Topology topology = FabricMaker{
        .switches = 3,
        .links = {{0, 1}, {0, 1}, {0, 1}, {0, 2}, {2, 1}},
        .hosts = {6, 6, 0}}.make();
    const Routes routes = routes_of("sssp", topology);
    std::map<std::uint8_t, unsigned> by_port;
    for (const TopologyEndPort& end : topology.end_ports) {
        if (end.switch_index == 1) {
            ++by_port[routes.port(SwitchIndex{0}, end.lids.base)];
        }
    }
    ASSERT_EQ(by_port.size(), 3U);
    for (const auto& [port, flows] : by_port) {
        EXPECT_EQ(flows, 2U) << int{port};
    }
}

}  // namespace
}  // namespace ibf::routing::test
