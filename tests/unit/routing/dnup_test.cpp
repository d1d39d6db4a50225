// Down/up: what stands above what.
#include "routing/dnup.hpp"

#include "engine_fixtures.hpp"

namespace ibf::routing::test {
namespace {

TEST(Dnup, HeightGrowsWithTheDistanceToTheNearestHost) {
    // hosts - 0 - 1 - 2, and a fourth switch with hosts beside the third
    const Topology topology = FabricMaker{
        .switches = 5,
        .links = {{0, 1}, {1, 2}, {2, 3}, {3, 4}},
        .hosts = {3, 0, 0, 0, 1}}.make();
    const Graph graph = make_graph(topology, {});
    const auto distances = hop_distances(graph, 1);
    ASSERT_TRUE(distances);
    const Heights heights = heights_from_nearest_host(graph, *distances);
    EXPECT_EQ(heights[0], heights[4]);
    EXPECT_EQ(heights[1], heights[3]);
    EXPECT_LT(heights[1], heights[0]) << "smaller is higher";
    EXPECT_LT(heights[2], heights[1]);
}

TEST(Dnup, TreeIsServedByShortestPathsAndItsSpinesAreTheRoots) {
    const Topology topology = generated("fat-tree:radix=6,levels=3");
    const Routes routes = routes_of("dnup", topology);
    expect_safe(topology, routes);
    EXPECT_EQ(measure_quality(topology, routes, 1).max_dilation, 1.0);
    EXPECT_EQ(routes.roots.size(), 9U);
}

TEST(Dnup, LoneSwitchesWithoutHostsAreNoObstacle) {
    const Topology topology =
        FabricMaker{.switches = 5, .links = {{0, 1}, {1, 2}, {3, 4}}, .hosts = {1, 1, 1, 0, 0}}.make();
    expect_safe(topology, routes_of("dnup", topology));
}

}  // namespace
}  // namespace ibf::routing::test
