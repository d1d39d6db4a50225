// Traffic patterns: values worked out by hand on tiny fabrics, and a slow count on anything.
#include <algorithm>
#include <array>
#include <map>

#include "engine_fixtures.hpp"
#include "routing/netlist.hpp"
#include "routing/patterns.hpp"

namespace ibf::routing::test {
namespace {

/// Tables written by hand: for each switch, exit ports by LID.
Routes tables(const Topology& topology, const std::vector<std::map<unsigned, unsigned>>& ports) {
    Routes routes;
    for (std::size_t at = 0; at < topology.switches.size(); ++at) {
        LftRow row(64, mad::kLftDrop);
        for (const auto& [lid, port] : ports[at]) {
            row[lid] = static_cast<std::uint8_t>(port);
        }
        routes.switch_guids.push_back(topology.switches[at].guid);
        routes.rows.push_back(std::make_shared<const LftRow>(std::move(row)));
    }
    return routes;
}

std::vector<EndPortIndex> first_end_ports(std::uint32_t count) {
    std::vector<EndPortIndex> hosts;
    for (std::uint32_t i = 0; i < count; ++i) {
        hosts.emplace_back(i);
    }
    return hosts;
}

/// Leaves 0 and 1 with hosts of LIDs 1, 2 and 3, 4 on their ports 1 and 2; spines 2 and 3 behind ports 3
/// and 4. `spine_of`: by LID, 3 or 4.
struct TwoByTwo {
    Topology topology =
        FabricMaker{.switches = 4, .links = {{0, 2}, {0, 3}, {1, 2}, {1, 3}}, .hosts = {2, 2, 0, 0}}.make();
    std::vector<EndPortIndex> hosts = first_end_ports(4);

    [[nodiscard]] Routes through(const std::array<unsigned, 5>& spine_of) const {
        const std::map<unsigned, unsigned> spine{{1, 1}, {2, 1}, {3, 2}, {4, 2}};
        return tables(topology, {{{1, 1}, {2, 2}, {3, spine_of[3]}, {4, spine_of[4]}},
                                 {{1, spine_of[1]}, {2, spine_of[2]}, {3, 1}, {4, 2}},
                                 spine,
                                 spine});
    }
};

PatternFigures lay(Pattern pattern, const TwoByTwo& fabric, const Routes& routes) {
    return lay_pattern(pattern, fabric.topology, routes, fabric.hosts, {.threads = 2});
}

// Everything through one spine. Displacement 1: hosts 2 -> 3 and 4 -> 1 cross, one flow each way. 2: all
// cross, two each way. 3: 1 -> 4 and 3 -> 2 cross.
TEST(Patterns, ShiftThroughOneSpine) {
    const TwoByTwo fabric;
    const PatternFigures shift = lay(Pattern::shift, fabric, fabric.through({0, 3, 3, 3, 3}));
    EXPECT_EQ(shift.patterns, 3U);
    EXPECT_DOUBLE_EQ(shift.mean_worst, 4.0 / 3);
    EXPECT_EQ(shift.worst, 2U);
    EXPECT_DOUBLE_EQ(shift.bandwidth, (1 + 0.5 + 1) / 3);
    EXPECT_EQ(shift.lost_flows, 0U);
}

// Each leaf's hosts are reached through a spine of their own: no displacement has two flows on a link.
TEST(Patterns, ShiftThroughBothSpines) {
    const TwoByTwo fabric;
    const PatternFigures shift = lay(Pattern::shift, fabric, fabric.through({0, 3, 4, 3, 4}));
    EXPECT_DOUBLE_EQ(shift.mean_worst, 1.0);
    EXPECT_EQ(shift.worst, 1U);
    EXPECT_DOUBLE_EQ(shift.bandwidth, 1.0);
}

// Four hosts pair in three ways: leaf by leaf nothing crosses, else two flows share the spine both ways. So
// if x of the matchings cross, the mean worst is 2x and the bandwidth 1 - x / 2; x tends to 2/3.
TEST(Patterns, MatchingsThroughOneSpine) {
    const TwoByTwo fabric;
    const PatternFigures matching = lay(Pattern::matching, fabric, fabric.through({0, 3, 3, 3, 3}));
    EXPECT_EQ(matching.patterns, 200U);
    EXPECT_NEAR(matching.bandwidth, 1 - matching.mean_worst / 4, 1e-12);
    EXPECT_NEAR(matching.bandwidth, 2.0 / 3, 0.05);
    EXPECT_EQ(matching.worst, 2U);
}

// Of the 24 permutations 4 send nothing over the spine, 4 two flows each way, 16 one: (4 * 0 + 16 * 1 + 4 *
// 2) / 24 = 1.
TEST(Patterns, PermutationsThroughOneSpine) {
    const TwoByTwo fabric;
    const PatternFigures permutation =
        lay_pattern(Pattern::permutation, fabric.topology, fabric.through({0, 3, 3, 3, 3}), fabric.hosts,
                    {.draws = 4'000, .threads = 2});
    EXPECT_EQ(permutation.patterns, 4'000U);
    EXPECT_NEAR(permutation.mean_worst, 1.0, 0.03);
    EXPECT_EQ(permutation.worst, 2U);
}

// A ring of four on which all go the same way round: a displacement of k crosses k links, so k flows share
// each.
TEST(Patterns, RingOneWayRound) {
    const Topology topology = FabricMaker{.switches = 4, .links = {{0, 1}, {1, 2}, {2, 3}, {3, 0}}}.make();
    // Port 1 is the host's. The cable to the next switch is port 2 of switch 0, port 3 of the others.
    std::vector<std::map<unsigned, unsigned>> ports(4);
    for (unsigned at = 0; at < 4; ++at) {
        for (unsigned lid = 1; lid <= 4; ++lid) {
            ports[at][lid] = lid == at + 1 ? 1 : at == 0 ? 2 : 3;
        }
    }
    const Routes routes = tables(topology, ports);
    const PatternFigures shift = lay_pattern(Pattern::shift, topology, routes, first_end_ports(4), {});
    EXPECT_DOUBLE_EQ(shift.mean_worst, (1 + 2 + 3) / 3.0);
    EXPECT_EQ(shift.worst, 3U);
    EXPECT_DOUBLE_EQ(shift.bandwidth, (1 + 1 / 2.0 + 1 / 3.0) / 3);
    // Two hosts opposite each other: their one matching takes half the ring each way.
    const std::vector<EndPortIndex> two{EndPortIndex{0}, EndPortIndex{2}};
    EXPECT_DOUBLE_EQ(lay_pattern(Pattern::matching, topology, routes, two, {}).bandwidth, 1.0);
}

// 1 -> 2 and 3 -> 4 stay on their leaves; 2 -> 3 and 4 -> 1 cross, one flow each way.
TEST(Patterns, RingOfRanks) {
    const TwoByTwo fabric;
    const Routes routes = fabric.through({0, 3, 3, 3, 3});
    const LaidPattern ring =
        lay_pattern_by_link(Pattern::ring, fabric.topology, routes, fabric.hosts, {.threads = 2});
    EXPECT_EQ(ring.figures.patterns, 1U);
    EXPECT_EQ(ring.figures.worst, 1U);
    EXPECT_DOUBLE_EQ(ring.figures.bandwidth, 1.0);
    ASSERT_EQ(ring.links.size(), 8U);
    std::uint64_t loaded = 0;
    for (const LinkLoad& link : ring.links) {
        loaded += link.flows;
    }
    EXPECT_EQ(loaded, 4U) << "up and down through spine 2";
    // Every other rank on the other leaf: both hosts of a leaf send to the other one at the same time.
    const std::vector<EndPortIndex> mixed{EndPortIndex{0}, EndPortIndex{2}, EndPortIndex{1}, EndPortIndex{3}};
    EXPECT_EQ(lay_pattern(Pattern::ring, fabric.topology, routes, mixed, {}).worst, 2U);
}

// By link the most of any displacement: each of a ring's displacements k lays k flows on each link of it.
TEST(Patterns, ByLinkTheMostOfAnyPatternIsTold) {
    const TwoByTwo fabric;
    const Routes routes = fabric.through({0, 3, 3, 3, 3});
    for (const Pattern pattern : {Pattern::shift, Pattern::permutation, Pattern::matching}) {
        const LaidPattern laid =
            lay_pattern_by_link(pattern, fabric.topology, routes, fabric.hosts, {.threads = 3});
        std::uint64_t most = 0;
        for (const LinkLoad& link : laid.links) {
            // Leaves reach each other through spine 2, their port 3; nothing leads over spine 3.
            const bool used = link.from.value() == 2 || (link.from.value() < 2 && link.port.value() == 3);
            EXPECT_EQ(link.flows, used ? 2U : 0U) << link.from.value() << "/" << int{link.port.value()};
            most = std::max(most, link.flows);
        }
        EXPECT_EQ(most, laid.figures.worst);
        EXPECT_EQ(laid.figures.bandwidth, lay(pattern, fabric, routes).bandwidth);
    }
    EXPECT_TRUE(
        lay_pattern_by_link(Pattern::ring, fabric.topology, routes, first_end_ports(1), {}).links.empty());
}

TEST(Patterns, WhatDoesNotArriveIsLost) {
    const TwoByTwo fabric;
    // Spine 3 does not know where to send LID 4, and LID 2 goes to and fro between leaf 0 and spine 3.
    const std::map<unsigned, unsigned> leaf0{{1, 1}, {2, 4}, {3, 3}, {4, 4}};
    const std::map<unsigned, unsigned> leaf1{{1, 3}, {2, 4}, {3, 1}, {4, 2}};
    const Routes routes =
        tables(fabric.topology, {leaf0, leaf1, {{1, 1}, {2, 1}, {3, 2}}, {{1, 1}, {2, 1}, {3, 2}}});
    const PatternFigures shift = lay(Pattern::shift, fabric, routes);
    EXPECT_EQ(shift.lost_flows, 3U + 2U);  // to host 2 from all others, to host 4 from leaf 0
    EXPECT_LT(shift.bandwidth, 1.0);
    EXPECT_EQ(shift.worst, 1U);
}

TEST(Patterns, FewerThanTwoHosts) {
    const TwoByTwo fabric;
    const Routes routes = fabric.through({0, 3, 3, 3, 3});
    for (const Pattern pattern : {Pattern::shift, Pattern::permutation, Pattern::matching}) {
        EXPECT_EQ(lay_pattern(pattern, fabric.topology, routes, first_end_ports(1), {}).patterns, 0U);
        EXPECT_EQ(lay_pattern(pattern, fabric.topology, routes, {}, {}).patterns, 0U);
    }
}

// The generator draws the hosts of trees leaf by leaf, pod by pod, those of grids by coordinates.
TEST(Patterns, UsualOrderIsThatOfLeavesOrOfCoordinates) {
    for (const char* spec :
         {"fat-tree:radix=4,levels=3", "torus:3x5x6,hosts=2", "mesh:4x3,hosts=1", "hyperx:5x4"}) {
        const Topology topology = generated(spec);
        std::vector<std::string> names;
        for (const EndPortIndex host : usual_order(topology, 2)) {
            names.push_back(topology.end_ports[host.value()].name);
        }
        ASSERT_EQ(names.size(), topology.end_ports.size()) << spec;
        EXPECT_TRUE(std::is_sorted(names.begin(), names.end()))
            << spec << ": " << fmt::format("{}", fmt::join(names, " "));
    }
}

TEST(Patterns, UsualOrderOfADamagedTorusIsStillThatOfCoordinates) {
    const Topology topology = generated("torus:5x6x7,hosts=2,missing-links=0.02,seed=3");
    std::vector<std::string> names;
    for (const EndPortIndex host : usual_order(topology, 2)) {
        names.push_back(topology.end_ports[host.value()].name);
    }
    EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
}

TEST(Patterns, FullTreesShiftWithoutContention) {
    for (const char* spec :
         {"fat-tree:radix=8,levels=2", "fat-tree:radix=8,levels=3", "fat-tree:radix=4,levels=4"}) {
        const Topology topology = generated(spec);
        const std::vector<EndPortIndex> hosts = usual_order(topology, 2);
        for (const char* engine : {"minhop", "updn"}) {
            const PatternFigures shift =
                lay_pattern(Pattern::shift, topology, routes_of(engine, topology), hosts, {.threads = 2});
            EXPECT_DOUBLE_EQ(shift.mean_worst, 1.0) << spec << " " << engine;
            EXPECT_EQ(shift.worst, 1U) << spec << " " << engine;
            EXPECT_DOUBLE_EQ(shift.bandwidth, 1.0) << spec << " " << engine;
        }
    }
}

TEST(Patterns, JobOnOneLeafLoadsNothing) {
    const Topology topology = generated("fat-tree:radix=8,levels=2");
    std::vector<EndPortIndex> hosts = usual_order(topology, 2);
    hosts.resize(4);
    const Routes routes = routes_of("updn", topology);
    for (const Pattern pattern : {Pattern::shift, Pattern::permutation, Pattern::matching}) {
        const PatternFigures figures = lay_pattern(pattern, topology, routes, hosts, {.threads = 2});
        EXPECT_EQ(figures.worst, 0U);
        EXPECT_DOUBLE_EQ(figures.bandwidth, 1.0);
    }
}

TEST(Patterns, SameFiguresOnAnyNumberOfThreads) {
    const Topology topology = generated("fat-tree:radix=8,levels=3,missing-links=0.1,seed=4");
    const std::vector<EndPortIndex> hosts = usual_order(topology, 1);
    EXPECT_EQ(hosts, usual_order(topology, 2));
    const Routes routes = routes_of("updn", topology);
    for (const Pattern pattern : {Pattern::shift, Pattern::permutation, Pattern::matching}) {
        const PatternFigures one = lay_pattern(pattern, topology, routes, hosts, {.threads = 1});
        const PatternFigures two = lay_pattern(pattern, topology, routes, hosts, {.threads = 2});
        EXPECT_EQ(one.patterns, two.patterns);
        EXPECT_EQ(one.mean_worst, two.mean_worst);
        EXPECT_EQ(one.worst, two.worst);
        EXPECT_EQ(one.bandwidth, two.bandwidth);
        EXPECT_EQ(one.lost_flows, two.lost_flows);
    }
}

TEST(Patterns, SeedsAreWhatDrawsFollowFrom) {
    const Topology topology = generated("fat-tree:radix=8,levels=3");
    const std::vector<EndPortIndex> hosts = usual_order(topology, 2);
    const Routes routes = routes_of("updn", topology);
    const auto bandwidth = [&](std::uint64_t seed) {
        return lay_pattern(Pattern::matching, topology, routes, hosts, {.seed = seed, .threads = 2})
            .bandwidth;
    };
    EXPECT_EQ(bandwidth(1), bandwidth(1));
    EXPECT_NE(bandwidth(1), bandwidth(2));
    EXPECT_NEAR(bandwidth(1), bandwidth(2), 0.01);
}

TEST(Patterns, SampledShiftsAreSomeOfAll) {
    const Topology topology = generated("fat-tree:radix=8,levels=3,missing-links=0.1,seed=4");
    const std::vector<EndPortIndex> hosts = usual_order(topology, 2);
    const Routes routes = routes_of("updn", topology);
    const auto shift = [&](std::uint64_t seed, std::uint32_t most, std::uint32_t draws) {
        return lay_pattern(Pattern::shift, topology, routes, hosts,
                           {.seed = seed, .draws = draws, .shifts_most = most, .threads = 2});
    };
    const PatternFigures all = shift(1, 127, 40);
    EXPECT_EQ(all.patterns, 127U);
    EXPECT_EQ(all.mean_worst, shift(2, 127, 40).mean_worst) << "where all are laid, the seed is nothing";
    EXPECT_EQ(all.mean_worst, shift(1, 126, 200).mean_worst) << "more draws than there are";
    const PatternFigures some = shift(1, 126, 40);
    EXPECT_EQ(some.patterns, 40U);
    EXPECT_LE(some.worst, all.worst);
    EXPECT_NEAR(some.mean_worst, all.mean_worst, 0.5);
    EXPECT_NE(some.bandwidth, shift(2, 126, 40).bandwidth);
    double mean = 0;  // no displacement is preferred: samples are right on the mean
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        mean += shift(seed, 126, 40).mean_worst / 50;
    }
    EXPECT_NEAR(mean, all.mean_worst, 0.05);
}

/// The figures of all displacements, by following every path with trace_path.
PatternFigures shift_slowly(const Topology& topology, const Routes& routes,
                            const std::vector<EndPortIndex>& hosts) {
    using Links = std::vector<std::pair<std::uint32_t, std::uint8_t>>;
    PatternFigures figures;
    for (std::size_t k = 1; k < hosts.size(); ++k) {
        std::map<Links::value_type, std::uint64_t> load;
        std::vector<Links> paths;
        for (std::size_t i = 0; i < hosts.size(); ++i) {
            const EndPortIndex to = hosts[(i + k) % hosts.size()];
            const auto path =
                trace_path(topology, routes, hosts[i], topology.end_ports[to.value()].lids.base);
            Links& links = paths.emplace_back();
            for (std::size_t hop = 0; path && hop + 1 < path->size(); ++hop) {
                links.emplace_back((*path)[hop].at.value(), (*path)[hop].out.value());
                ++load[links.back()];
            }
        }
        std::uint64_t worst = 0;
        for (const Links& links : paths) {
            std::uint64_t most = 1;
            for (const auto& link : links) {
                most = std::max(most, load[link]);
                worst = std::max(worst, load[link]);
            }
            figures.bandwidth += 1.0 / static_cast<double>(most);
        }
        figures.mean_worst += static_cast<double>(worst);
        figures.worst = std::max(figures.worst, worst);
        ++figures.patterns;
    }
    figures.mean_worst /= static_cast<double>(figures.patterns);
    figures.bandwidth /= static_cast<double>(figures.patterns * hosts.size());
    return figures;
}

TEST(Patterns, AgreeWithFollowingEveryPath) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        const auto switches = static_cast<unsigned>(5 + seed);
        const Topology topology = FabricMaker{.switches = switches,
                                              .links = random_links(switches, 9, seed),
                                              .hosts = std::vector<unsigned>(switches, 2),
                                              .lmc = static_cast<std::uint8_t>(seed % 3)}
                                      .make();
        const Routes routes = routes_of("updn", topology);
        const std::vector<EndPortIndex> hosts = usual_order(topology, 2);
        ASSERT_EQ(hosts.size(), 2U * switches);
        const PatternFigures fast = lay_pattern(Pattern::shift, topology, routes, hosts, {.threads = 2});
        const PatternFigures slow = shift_slowly(topology, routes, hosts);
        EXPECT_EQ(fast.patterns, slow.patterns);
        EXPECT_EQ(fast.worst, slow.worst);
        EXPECT_NEAR(fast.mean_worst, slow.mean_worst, 1e-9);
        EXPECT_NEAR(fast.bandwidth, slow.bandwidth, 1e-9);
    }
}

}  // namespace
}  // namespace ibf::routing::test
