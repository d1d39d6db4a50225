// Directions: dimensions of grids, whatever their ports and GUIDs; nothing where there are none.
#include "routing/directions.hpp"

#include <set>

#include "engine_fixtures.hpp"

namespace ibf::routing::test {
namespace {

/// The dimension that a cable of the generated torus runs in, by the names of its ends: switch-1-2-3.
std::size_t dimension_of(const std::string& a, const std::string& b) {
    std::size_t dashes = 0;
    for (std::size_t i = 0; i < a.size() && a[i] == b[i]; ++i) {
        dashes += a[i] == '-' ? 1 : 0;
    }
    return dashes;
}

/// By dimension of the torus: the ranks of its links.
std::map<std::size_t, std::set<unsigned>> ranks_by_dimension(const Topology& topology) {
    const Graph graph = make_graph(topology, {});
    const LinkRanks ranks = direction_ranks(graph);
    std::map<std::size_t, std::set<unsigned>> result;
    for (std::uint32_t at = 0; at < graph.switch_count(); ++at) {
        for (const PortGroup& group : graph.groups_of(at)) {
            const std::size_t dimension =
                dimension_of(topology.switches[at].name, topology.switches[group.peer].name);
            for (std::uint32_t link = group.first_port; link < group.first_port + group.port_count; ++link) {
                result[dimension].insert(ranks.empty() ? 0U : ranks[link]);
            }
        }
    }
    return result;
}

TEST(Directions, AreTheDimensionsOfATorus) {
    for (const char* spec :
         {"torus:5x6x7", "torus:3x5x6", "mesh:4x5x3", "torus:5x6x7,missing-links=0.03,seed=4"}) {
        const auto ranks = ranks_by_dimension(generated(spec));
        std::set<unsigned> all;
        for (const auto& [dimension, of_links] : ranks) {
            EXPECT_EQ(of_links.size(), 1U) << spec << " dimension " << dimension;
            all.insert(of_links.begin(), of_links.end());
        }
        EXPECT_EQ(all.size(), ranks.size()) << spec;
    }
}

TEST(Directions, NoneInTreesAndRings) {
    for (const char* spec : {"fat-tree:radix=8,levels=3", "ring:9"}) {
        EXPECT_TRUE(direction_ranks(make_graph(generated(spec), {})).empty()) << spec;
    }
}

TEST(Directions, DoNotDependOnTheOrderOfDiscovery) {
    FabricMaker maker{.switches = 12, .links = random_links(12, 14, 7)};
    const LinkRanks plain = direction_ranks(make_graph(maker.make(), {}));
    maker.shuffle_seed = 3;
    EXPECT_EQ(direction_ranks(make_graph(maker.make(), {})), plain);
}

}  // namespace
}  // namespace ibf::routing::test
