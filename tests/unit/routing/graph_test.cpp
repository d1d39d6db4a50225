// Distances, heights and the up/down order against their definitions.
#include "routing/graph.hpp"

#include <algorithm>
#include <numeric>

#include "engine_fixtures.hpp"
#include "routing/parallel.hpp"
#include "routing/updn.hpp"

namespace ibf::routing::test {
namespace {

TEST(Graph, ParallelLinksMakeOneGroupAndSelfCablesNone) {
    const FabricMaker maker{.switches = 2, .links = {{0, 1}, {0, 0}, {1, 0}}};
    const Graph graph = make_graph(maker.make(), {});
    ASSERT_EQ(graph.groups_of(0).size(), 1U);
    const auto ports = graph.ports_of(graph.groups_of(0)[0]);
    EXPECT_EQ(ports.size(), 2U);
    EXPECT_LT(ports[0], ports[1]);
    EXPECT_TRUE(make_graph(maker.make(), {0, 1}).groups.empty());
}

TEST(Graph, HopDistancesEqualPlainSearch) {
    for (const unsigned switches : {1U, 3U, 63U, 64U, 65U, 600U}) {
        const Topology topology =
            FabricMaker{.switches = switches, .links = random_links(switches, switches / 3, switches)}.make();
        const auto plain = plain_distances(topology);
        const auto distances = hop_distances(make_graph(topology, {}), 2);
        ASSERT_TRUE(distances);
        for (std::uint32_t a = 0; a < switches; ++a) {
            for (std::uint32_t b = 0; b < switches; ++b) {
                ASSERT_EQ(distances->row(a)[b], plain[a][b]) << a << " " << b << " of " << switches;
            }
        }
    }
}

TEST(Graph, HeightsRankATreeWhateverHangsOffItsSpines) {
    Topology topology = generated("fat-tree:radix=8,levels=3");
    const Graph bare = make_graph(topology, {});
    Graph graph = bare;
    for (std::uint32_t& hosts : graph.hosts) {
        ++hosts;  // an aggregation node on every switch
    }
    const auto distances = hop_distances(graph, 1);
    ASSERT_TRUE(distances);
    const Heights heights = heights_from_hosts(graph, *distances);
    for (std::uint32_t at = 0; at < graph.switch_count(); ++at) {
        EXPECT_EQ(is_bottom(graph, heights, at), bare.hosts[at] != 0) << at;
    }
}

TEST(Graph, UpDownOrderHasOneFirstSwitchPerComponent) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        FabricMaker maker{.switches = 30, .links = random_links(20, 10, seed)};  // ten switches stay alone
        const Topology topology = maker.make();
        const Graph graph = make_graph(topology, {});
        const auto distances = hop_distances(graph, 1);
        ASSERT_TRUE(distances);
        const auto position =
            updn_order(graph, heights_from_hosts(graph, *distances), std::vector<char>(30, 0));
        auto sorted = position;
        std::sort(sorted.begin(), sorted.end());
        std::vector<std::uint32_t> expected(30);
        std::iota(expected.begin(), expected.end(), 0U);
        EXPECT_EQ(sorted, expected);
        unsigned firsts = 0;
        for (std::uint32_t at = 0; at < 30; ++at) {
            const auto groups = graph.groups_of(at);
            firsts +=
                std::none_of(groups.begin(), groups.end(),
                             [&](const PortGroup& group) { return position[group.peer] < position[at]; })
                    ? 1
                    : 0;
        }
        EXPECT_EQ(firsts, 11U);
    }
}

TEST(Graph, ParallelRangesCoverEverythingOnce) {
    for (const unsigned threads : {1U, 2U, 7U}) {
        std::vector<int> seen(1003, 0);
        parallel_ranges(seen.size(), 10, threads, [&](const WorkRange& range) {
            EXPECT_LT(range.slot, resolve_threads(threads));
            for (std::size_t i = range.begin; i < range.end; ++i) {
                ++seen[i];
            }
        });
        EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](int count) { return count == 1; }));
    }
}

}  // namespace
}  // namespace ibf::routing::test
