// Nue: whatever the graph, and however few the lanes, everything arrives and nothing can deadlock.
#include "routing/nue.hpp"

#include <algorithm>
#include <numeric>

#include "engine_fixtures.hpp"

namespace ibf::routing::test {
namespace {

Routes nue(const Topology& topology, const Routes* previous, unsigned lanes_most) {
    RouteOptions options;
    options.vls_max = static_cast<std::uint8_t>(lanes_most);
    auto routes = route_nue(topology, previous, options);
    EXPECT_TRUE(routes) << (routes ? "" : routes.error().message);
    return std::move(*routes);
}

/// The verifier and the slow judge; no lane at or above the number said, and none that a link lacks.
void expect_safe(const Topology& topology, const Routes& routes) {
    const Verdict verdict = verify(topology, routes, 2);
    const SlowVerdict slow = judge_slowly(topology, routes);
    EXPECT_EQ(verdict.unreachable_pairs, 0U) << verdict.first_failure;
    EXPECT_EQ(verdict.switch_pairs_unreachable, 0U);
    EXPECT_EQ(verdict.loops, 0U);
    EXPECT_EQ(verdict.lane_faults, 0U) << verdict.first_lane_fault;
    EXPECT_TRUE(verdict.credit_loop_free);
    EXPECT_EQ(verdict.pairs_checked, slow.pairs);
    EXPECT_EQ(slow.unreachable, 0U);
    EXPECT_FALSE(slow.cyclic);
    for (std::uint32_t lid = 1; lid <= topology.max_lid; ++lid) {
        EXPECT_LT(routes.sl(SwitchIndex{0}, mad::Lid{static_cast<std::uint16_t>(lid)}), routes.vls);
    }
}

/// Routes that put every other switch's LIDs on the next lane: a past that the next run holds to.
Routes spread_over(const Topology& topology, std::uint8_t lanes) {
    Routes routes = nue(topology, nullptr, 1);
    auto row = std::make_shared<SlRow>(topology.max_lid + std::size_t{1}, std::uint8_t{0});
    const auto put = [&](const mad::LidRange& lids, std::uint32_t at) {
        for (std::uint32_t lid = lids.base.value(); lid < lids.end(); ++lid) {
            (*row)[lid] = static_cast<std::uint8_t>(at % lanes);
        }
    };
    for (const TopologyEndPort& end : topology.end_ports) {
        put(end.lids, end.switch_index);
    }
    for (std::uint32_t at = 0; at < topology.switches.size(); ++at) {
        put(topology.switches[at].lids, at);
    }
    routes.sls.assign(topology.switches.size(), row);
    routes.vls = lanes;
    return routes;
}

/// Counts the graphs tried, to be sure that none was left out.
unsigned try_every_graph(unsigned switches) {
    unsigned tried = 0;
    const std::uint32_t step = switches > 4 ? kSeriesStep : 1;
    for (std::uint32_t bits = 0; bits < 1U << (switches * (switches - 1) / 2); bits += step) {
        FabricMaker maker{.switches = switches, .links = links_from_bits(switches, bits)};
        std::vector<unsigned> degree(switches, 0);
        for (const auto& [a, b] : maker.links) {
            ++degree[a];
            ++degree[b];
        }
        // Up to five switches all labellings, of six those with the degrees in order: every graph is among
        // them.
        if (::testing::Test::HasFailure() ||
            (switches > 5 && !std::is_sorted(degree.begin(), degree.end(), std::greater<>()))) {
            continue;
        }
        SCOPED_TRACE("graph " + std::to_string(bits) + " of " + std::to_string(switches));
        const Topology topology = maker.make();
        expect_safe(topology, nue(topology, nullptr, 1));
        const Routes past = spread_over(topology, 2);
        const Routes two = nue(topology, &past, 2);
        expect_safe(topology, two);
        EXPECT_EQ(two.vls, switches > 1 ? 2 : 1);
        ++tried;
    }
    return tried;
}

TEST(Nue, EveryGraphOfUpToFiveSwitchesOnOneLaneAndOnTwo) {
    for (unsigned switches = 1; switches <= 5; ++switches) {
        const unsigned graphs = 1U << (switches * (switches - 1) / 2);
        EXPECT_EQ(try_every_graph(switches), switches > 4 ? (graphs - 1) / kSeriesStep + 1 : graphs);
    }
}

TEST(Nue, EveryGraphOfSixSwitchesOnOneLaneAndOnTwo) {
    EXPECT_GE(try_every_graph(6), 156U / kSeriesStep) << "so many there are up to relabelling";
}

TEST(Nue, RandomGraphs) {
    std::set<unsigned> lanes_used;
    for (std::uint64_t seed = 1; seed <= 60 && !::testing::Test::HasFailure(); seed += kSeriesStep) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        const Topology topology = random_fabric(seed, 30, 60).make();
        for (const unsigned lanes : {1U, 2U, 3U, 8U}) {
            const Routes routes = nue(topology, nullptr, lanes);
            expect_safe(topology, routes);
            EXPECT_LE(routes.vls, lanes);
            lanes_used.insert(routes.vls);
        }
    }
    EXPECT_EQ(lanes_used, (std::set<unsigned>{1, 2, 3, 4, 8}));
}

TEST(Nue, PiecesOfASplitFabricAreServedEach) {
    FabricMaker maker{.switches = 9,
                      .links = {{0, 1}, {1, 2}, {2, 3}, {3, 0}, {4, 5}, {5, 6}, {6, 4}, {4, 6}}};
    maker.hosts = {1, 2, 0, 1, 1, 1, 1, 2, 0};  // 7 and 8 stand alone
    const Topology topology = maker.make();
    for (const unsigned lanes : {1U, 2U, 4U}) {
        expect_safe(topology, nue(topology, nullptr, lanes));
    }
}

TEST(Nue, ParallelLinksShareTheLoad) {
    FabricMaker maker{.switches = 2, .links = {{0, 1}, {0, 1}, {0, 1}, {0, 1}}, .hosts = {4, 4}};
    const Topology topology = maker.make();
    const Routes routes = nue(topology, nullptr, 8);
    expect_safe(topology, routes);
    const Quality quality = measure_quality(topology, routes, 1);
    EXPECT_EQ(quality.max_link_load, 4U) << "four sources, one destination each";
    EXPECT_EQ(quality.unused_links, 0U);
}

/// Lanes of one cable between the first two switches that have one.
void thin_one_link(Topology& topology, std::uint8_t lanes) {
    for (TopologySwitch& item : topology.switches) {
        for (PortPeer& peer : item.peers) {
            if (peer.kind == PortPeer::Kind::switch_) {
                peer.data_vls = lanes;
                topology.switches[peer.index].peers[peer.port.value()].data_vls = lanes;
                return;
            }
        }
    }
}

TEST(Nue, TheThinnestLinkLimitsTheLanes) {
    Topology topology = generated("torus:5x5,hosts=1");
    const Routes free = nue(topology, nullptr, 8);
    EXPECT_GT(free.vls, 2U);
    for (const unsigned lanes : {1U, 2U}) {
        thin_one_link(topology, static_cast<std::uint8_t>(lanes));
        const Routes routes = nue(topology, nullptr, 8);
        EXPECT_LE(routes.vls, lanes);
        expect_safe(topology, routes);
    }
}

TEST(Nue, AHostLinkOfOneLaneIsNoLimit) {
    Topology topology = generated("torus:5x5,hosts=1");
    const std::uint8_t before = nue(topology, nullptr, 8).vls;
    const TopologyEndPort& end = topology.end_ports.front();
    topology.switches[end.switch_index].peers[end.switch_port.value()].data_vls = 1;
    EXPECT_EQ(nue(topology, nullptr, 8).vls, before);
}

TEST(Nue, TreesNeedOneLane) {
    for (const char* spec : {"fat-tree:radix=8,levels=3", "fat-tree:radix=12,levels=2", "star:5,hosts=3"}) {
        const Topology topology = generated(spec);
        const Routes routes = nue(topology, nullptr, 8);
        EXPECT_EQ(routes.vls, 1U) << spec;
        EXPECT_TRUE(routes.sls.empty()) << spec;
        const Quality quality = measure_quality(topology, routes, 2);
        EXPECT_DOUBLE_EQ(quality.mean_dilation, 1.0) << spec;
        EXPECT_EQ(quality.max_link_load,
                  measure_quality(topology, routes_of("minhop", topology), 2).max_link_load)
            << spec << ": no less even than min-hop, which is perfect here";
    }
}

TEST(Nue, DamagedTrees) {
    for (unsigned seed = 1; seed <= 6; ++seed) {
        const Topology topology =
            generated("fat-tree:radix=8,levels=3,missing-links=0.08,seed=" + std::to_string(seed));
        const Routes routes = nue(topology, nullptr, 8);
        expect_safe(topology, routes);
        EXPECT_LT(measure_quality(topology, routes, 2).mean_dilation, 1.03);
    }
}

/// What one lane and eight come to; OpenSM's nue takes 1.12 and 1.36 times the shortest on a 6x6x6 torus.
TEST(Nue, DetoursOnTori) {
    for (const char* spec : {"torus:4x4x4,hosts=2", "torus:5x5x5,hosts=1", "torus:8x8,hosts=2"}) {
        const Topology topology = generated(spec);
        for (const unsigned lanes : {1U, 8U}) {
            const Routes routes = nue(topology, nullptr, lanes);
            expect_safe(topology, routes);
            EXPECT_LT(measure_quality(topology, routes, 2).mean_dilation, lanes == 1 ? 1.12 : 1.02)
                << spec << " on " << lanes;
        }
    }
}

/// Hops that a destination-based route may take at most: those of a path over each switch once.
TEST(Nue, NoPathIsLongerThanTheEscapeTreeAllows) {
    // A ring of 12: the escape tree is a path over all, so its longest way has 11 links, 12 switches.
    const Topology topology = generated("ring:12");
    const Routes routes = nue(topology, nullptr, 1);
    expect_safe(topology, routes);
    const Quality quality = measure_quality(topology, routes, 1);
    EXPECT_LE(quality.max_hops, 12U);
    EXPECT_GT(quality.max_hops, 7U) << "one lane cannot take the shortest way round a ring for all";
}

/// Switches that a LID can be forwarded through, from `at`; plain breadth-first search.
std::vector<char> within_reach(const Topology& topology, std::uint32_t at, std::uint32_t lid) {
    std::vector<char> reached(topology.switches.size(), 0);
    std::vector<std::uint32_t> queue;
    const auto visit = [&](std::uint32_t to) {
        if (reached[to] == 0 && lid < topology.switches[to].lft_cap) {
            reached[to] = 1;
            queue.push_back(to);
        }
    };
    visit(at);
    for (std::size_t head = 0; head < queue.size(); ++head) {
        for (const PortPeer& peer : topology.switches[queue[head]].peers) {
            if (peer.kind == PortPeer::Kind::switch_) {
                visit(peer.index);
            }
        }
    }
    return reached;
}

TEST(Nue, SmallTablesAreRoutedAroundWhereverThereIsAWay) {
    for (std::uint64_t seed = 1; seed <= 60 && !::testing::Test::HasFailure(); seed += kSeriesStep) {
        base::Prng prng(seed);
        const auto switches = static_cast<unsigned>(5 + prng.below(12));
        FabricMaker maker{.switches = switches, .links = random_links(switches, 14, seed)};
        for (unsigned at = 0; at < switches; ++at) {
            const std::array<std::uint32_t, 4> caps{0xC000, 0xC000, 8, 16};
            maker.lft_caps.push_back(caps[prng.below(caps.size())]);
        }
        const Topology topology = maker.make();
        const Routes routes = nue(topology, nullptr, 2);
        EXPECT_FALSE(judge_slowly(topology, routes).cyclic) << "seed " << seed;
        for (const TopologyEndPort& end : topology.end_ports) {
            const std::uint32_t lid = end.lids.base.value();
            const std::vector<char> reached = within_reach(topology, end.switch_index, lid);
            for (std::uint32_t at = 0; at < switches; ++at) {
                EXPECT_EQ(!walk(topology, routes, at, lid).empty(), reached[at] != 0)
                    << "seed " << seed << " LID " << lid << " from " << at;
            }
        }
    }
}

TEST(Nue, ThreadsAndOrderOfDiscoveryDoNotMatter) {
    FabricMaker maker{.switches = 30, .links = random_links(30, 40, 5), .lmc = 1};
    const Topology topology = maker.make();
    RouteOptions options;
    options.threads = 1;
    const auto one = route_nue(topology, nullptr, options);
    ASSERT_TRUE(one);
    EXPECT_GT(one->vls, 1U);
    for (const unsigned threads : {2U, 3U, 8U}) {
        options.threads = threads;
        const auto many = route_nue(topology, nullptr, options);
        ASSERT_TRUE(many);
        EXPECT_EQ(one->hash(), many->hash());
    }
    maker.shuffle_seed = 11;
    EXPECT_EQ(nue(maker.make(), nullptr, 8).hash(), one->hash());
}

unsigned entries_that_differ(const Routes& a, const Routes& b) {
    unsigned count = 0;
    for (std::size_t at = 0; at < a.rows.size(); ++at) {
        for (std::size_t lid = 0; lid < a.rows[at]->size(); ++lid) {
            count += (*a.rows[at])[lid] != (*b.rows[at])[lid] ? 1 : 0;
        }
    }
    return count;
}

void expect_same_again(const Topology& topology) {
    for (const unsigned lanes : {1U, 3U, 8U}) {
        const Routes first = nue(topology, nullptr, lanes);
        EXPECT_EQ(nue(topology, &first, lanes).hash(), first.hash()) << "on " << lanes;
    }
}

TEST(Nue, TheSameFabricAgainChangesNothing) {
    for (const char* spec :
         {"fat-tree:radix=8,levels=3", "torus:5x5,hosts=2", "torus:4x4x3,hosts=2", "ring:9"}) {
        SCOPED_TRACE(spec);
        expect_same_again(generated(spec));
    }
    for (std::uint64_t seed = 1; seed <= 15; seed += kSeriesStep) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        FabricMaker maker{.switches = 24, .links = random_links(24, 30, seed)};
        expect_same_again(maker.make());
    }
}

void cut_first_link(Topology& topology, std::uint32_t at) {
    for (PortPeer& peer : topology.switches[at].peers) {
        if (peer.kind == PortPeer::Kind::switch_) {
            topology.switches[peer.index].peers[peer.port.value()] = {};
            peer = {};
            return;
        }
    }
}

TEST(Nue, ALostLinkLeavesMostEntriesAndAllServiceLevels) {
    for (const char* spec : {"fat-tree:radix=8,levels=3", "torus:5x5,hosts=2", "torus:4x4x4,hosts=2"}) {
        const Topology whole = generated(spec);
        const Routes before = nue(whole, nullptr, 8);
        Topology cut = whole;
        cut_first_link(cut, 7);
        const Routes after = nue(cut, &before, 8);
        expect_safe(cut, after);
        EXPECT_EQ(after.vls, before.vls) << spec;
        for (std::uint32_t lid = 1; lid <= whole.max_lid; ++lid) {
            const mad::Lid it{static_cast<std::uint16_t>(lid)};
            EXPECT_EQ(after.sl(SwitchIndex{0}, it), before.sl(SwitchIndex{0}, it)) << spec;
        }
        const auto entries = static_cast<unsigned>(whole.switches.size() * whole.lid_count());
        const unsigned fresh = entries_that_differ(before, nue(cut, nullptr, 8));
        const unsigned kept = entries_that_differ(before, after);
        EXPECT_LT(kept, entries / 10) << spec;
        EXPECT_LT(kept, fresh) << spec;
    }
}

TEST(Nue, FewerLanesThanBeforeStartAnew) {
    const Topology topology = generated("torus:5x5,hosts=2");
    const Routes before = nue(topology, nullptr, 8);
    ASSERT_GT(before.vls, 2U);
    const Routes after = nue(topology, &before, 2);
    EXPECT_LE(after.vls, 2U);
    expect_safe(topology, after);
}

}  // namespace
}  // namespace ibf::routing::test
