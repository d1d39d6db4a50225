// Which switch stands on which level, and what is no tree.
#include "routing/tree_levels.hpp"

#include <algorithm>

#include "engine_fixtures.hpp"

namespace ibf::routing::test {
namespace {

/// The generator names switches by level.
std::uint32_t level_by_name(const std::string& name, std::uint32_t top) {
    return name.starts_with("leaf") ? 0 : name.starts_with("spine") ? 1 : name.starts_with("super") ? 2 : top;
}

void expect_levels_by_name(const Topology& topology, const Graph& graph) {
    const Levels levels = levels_from_hosts(graph, *sample_hosts(graph));
    const std::uint32_t top = *std::max_element(levels.begin(), levels.end());
    for (std::size_t at = 0; at < levels.size(); ++at) {
        EXPECT_EQ(levels[at], level_by_name(topology.switches[at].name, top)) << topology.switches[at].name;
    }
    EXPECT_EQ(why_no_tree(graph, levels), "");
}

TEST(TreeLevels, OfIntactTrees) {
    for (const char* spec :
         {"fat-tree:radix=8,levels=2", "fat-tree:radix=8,levels=3", "fat-tree:radix=4,levels=4",
          "fat-tree:radix=12,levels=3,pods=5", "fat-tree:radix=12,levels=3,taper=2",
          "fat-tree:radix=8,levels=3,parallel=2", "fat-tree:radix=8,levels=3,pods=2,hosts=3"}) {
        SCOPED_TRACE(spec);
        const Topology topology = generated(spec);
        expect_levels_by_name(topology, make_graph(topology, {}));
    }
}

TEST(TreeLevels, DoNotFollowFromWhoHasHosts) {
    for (const char* spec :
         {"fat-tree:radix=8,levels=2", "fat-tree:radix=8,levels=3", "fat-tree:radix=12,levels=3,pods=5"}) {
        SCOPED_TRACE(spec);
        const Topology topology = generated(spec);
        Graph graph = make_graph(topology, {});
        for (std::uint32_t& hosts : graph.hosts) {
            ++hosts;  // an aggregation node on every switch
        }
        expect_levels_by_name(topology, graph);
        graph = make_graph(topology, {});
        const auto leaf =
            static_cast<std::size_t>(std::find_if(graph.hosts.begin(), graph.hosts.end(),
                                                  [](std::uint32_t hosts) { return hosts != 0; }) -
                                     graph.hosts.begin());
        graph.hosts[leaf] = 1;  // nearly empty
        expect_levels_by_name(topology, graph);
        graph.hosts[leaf] = 0;  // empty, and still where it was
        expect_levels_by_name(topology, graph);
    }
}

TEST(TreeLevels, LostLinksMoveNoLevel) {
    for (int seed = 1; seed <= 10; ++seed) {
        const Topology topology =
            generated("fat-tree:radix=12,levels=3,missing-links=0.05,seed=" + std::to_string(seed));
        expect_levels_by_name(topology, make_graph(topology, {}));
    }
}

TEST(TreeLevels, FromRootsDownward) {
    const Topology topology = generated("fat-tree:radix=4,levels=3");
    const Graph graph = make_graph(topology, {});
    std::vector<std::uint32_t> roots;
    for (std::uint32_t at = 0; at < topology.switches.size(); ++at) {
        if (topology.switches[at].name.starts_with("core")) {
            roots.push_back(at);
        }
    }
    EXPECT_EQ(levels_from_roots(graph, roots), levels_from_hosts(graph, *sample_hosts(graph)));
}

TEST(TreeLevels, ASampleOfAllHostsIsExact) {
    const Topology topology = generated("fat-tree:radix=4,levels=3");  // 16 hosts
    const Graph graph = make_graph(topology, {});
    const auto sample = sample_hosts(graph);
    ASSERT_TRUE(sample);
    ASSERT_EQ(sample->at.size(), 16U);
    const auto plain = plain_distances(topology);
    for (std::uint32_t at = 0; at < topology.switches.size(); ++at) {
        std::uint32_t sum = 0;
        for (const TopologyEndPort& end : topology.end_ports) {
            sum += static_cast<std::uint32_t>(plain[at][end.switch_index]);
        }
        EXPECT_EQ(sample->mean[at], sum * 256 / 16);
    }
}

TEST(TreeLevels, NoTrees) {
    for (const char* spec : {"torus:4x4", "ring:3", "ring:6", "hypercube:3"}) {
        const Topology topology = generated(spec);
        const Graph graph = make_graph(topology, {});
        const std::string reason = why_no_tree(graph, levels_from_hosts(graph, *sample_hosts(graph)));
        EXPECT_NE(reason.find("join two of the same level"), std::string::npos) << spec << ": " << reason;
    }
    FabricMaker line{.switches = 6, .links = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}}};
    const Graph graph = make_graph(line.make(), {});
    EXPECT_EQ(why_no_tree(graph, levels_from_hosts(graph, *sample_hosts(graph))), "");  // no circle
}

}  // namespace
}  // namespace ibf::routing::test
