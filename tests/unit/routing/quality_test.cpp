// Quality figures: known numbers on trees, and a slow count on anything.
#include <algorithm>
#include <map>

#include "engine_fixtures.hpp"
#include "routing/netlist.hpp"
#include "routing/patterns.hpp"

namespace ibf::routing::test {
namespace {

double worst_over_mean(const Quality& quality) {
    return static_cast<double>(quality.max_link_load) / std::max(1.0, quality.mean_link_load);
}

TEST(Quality, IntactFatTreesAreEvenOnEveryLevel) {
    for (const char* spec :
         {"fat-tree:radix=8,levels=2", "fat-tree:radix=16,levels=3", "fat-tree:radix=4,levels=4"}) {
        const Topology topology = generated(spec);
        for (const char* engine : {"minhop", "updn"}) {
            const Quality quality = measure_quality(topology, routes_of(engine, topology), 2);
            for (const LevelLoad& level : quality.levels) {
                EXPECT_LE(static_cast<double>(level.max), level.mean * 1.001)
                    << spec << " " << engine << level.level;
            }
            EXPECT_EQ(quality.unused_links, 0U);
            EXPECT_DOUBLE_EQ(quality.max_dilation, 1.0);
        }
    }
}

TEST(Quality, TorusIsNearlyEvenUnderMinhop) {
    const Topology topology = generated("torus:6x6,hosts=2");
    EXPECT_LT(worst_over_mean(measure_quality(topology, routes_of("minhop", topology), 2)), 1.2);
}

TEST(Quality, AgreesWithCountingEveryPath) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        const auto switches = static_cast<unsigned>(5 + seed);
        const Topology topology =
            FabricMaker{.switches = switches, .links = random_links(switches, 9, seed)}.make();
        const Routes routes = routes_of("updn", topology);
        std::map<std::pair<std::uint32_t, std::uint8_t>, std::uint64_t> load;
        double hops = 0;
        double flows = 0;
        std::uint32_t longest = 0;
        for (std::uint32_t from = 0; from < topology.end_ports.size(); ++from) {
            for (const TopologyEndPort& to : topology.end_ports) {
                if (to.lids == topology.end_ports[from].lids) {
                    continue;
                }
                const auto path = trace_path(topology, routes, EndPortIndex{from}, to.lids.base);
                ASSERT_TRUE(path);
                for (std::size_t i = 0; i + 1 < path->size(); ++i) {
                    ++load[{(*path)[i].at.value(), (*path)[i].out.value()}];
                }
                flows += 1;
                hops += static_cast<double>(path->size());
                longest = std::max(longest, static_cast<std::uint32_t>(path->size()));
            }
        }
        const Quality quality = measure_quality(topology, routes, 2);
        std::uint64_t most = 0;
        for (const auto& [link, count] : load) {
            most = std::max(most, count);
        }
        EXPECT_EQ(quality.max_link_load, most);
        EXPECT_EQ(quality.max_hops, longest);
        EXPECT_NEAR(quality.mean_hops, hops / flows, 1e-9);
    }
}

TEST(Quality, AllToAllOfAJob) {
    const Topology topology = generated("fat-tree:radix=8,levels=2");
    const Routes routes = routes_of("updn", topology);
    const std::vector<EndPortIndex> order = usual_order(topology, 2);
    // One leaf: nothing between switches.
    const Quality leaf = measure_quality(topology, routes, std::span(order).first(4), 2);
    EXPECT_EQ(leaf.max_link_load, 0U);
    EXPECT_EQ(leaf.max_hops, 1U);
    // Two end ports on two leaves, one of them named twice: one flow each way, over two links of 64.
    const std::vector<EndPortIndex> two{order[0], order[4], order[0]};
    const Quality pair = measure_quality(topology, routes, two, 2);
    EXPECT_EQ(pair.max_link_load, 1U);
    EXPECT_EQ(pair.unused_links, 60U);
    EXPECT_DOUBLE_EQ(pair.mean_hops, 3.0);
    // Everybody is what the other one measures.
    const Quality all = measure_quality(topology, routes, order, 2);
    EXPECT_EQ(all.max_link_load, measure_quality(topology, routes, 2).max_link_load);
    EXPECT_EQ(all.max_link_load, 28U);  // 4 hosts of a leaf, 28 elsewhere, 4 uplinks
}

TEST(Quality, RealFabrics) {
    for (const char* name : {"real/hdr-3tier-8rail-666sw.topo.gz", "real/edr-directors-174sw.topo.gz",
                             "real/hdr-3tier-206sw-console-paste.topo.gz", "real/ndr-2tier-40sw.topo",
                             "real/qdr-ddr-11sw.topo", "routes/qdr-irregular-9sw.topo"}) {
        const std::string file = shared_file(name);
        if (file.empty()) {
            GTEST_SKIP() << "shared fabrics are not here; set IBF_SHARED to test on them";
        }
        const auto netlist = load_netlist(file);
        ASSERT_TRUE(netlist) << name;
        const auto topology = topology_of(*netlist, 0);
        ASSERT_TRUE(topology) << name;
        if (kSeriesStep > 1 && topology->switches.size() > 100) {
            continue;
        }
        const Routes routes = routes_of("updn", *topology);
        const Verdict verdict = verify(*topology, routes, 2);
        EXPECT_TRUE(verdict.reachable()) << verdict.first_failure;
        EXPECT_TRUE(verdict.credit_loop_free) << name;
        const Quality quality = measure_quality(*topology, routes, 2);
        EXPECT_LT(quality.mean_dilation, 1.01) << name;  // the order keeps nearly all shortest paths
        std::printf("%s: worst/mean link %.2f, hops %u, mean dilation %.4f\n", name, worst_over_mean(quality),
                    quality.max_hops, quality.mean_dilation);
    }
}

}  // namespace
}  // namespace ibf::routing::test
