// Engines against brute force: every small connected graph, random larger ones, damaged trees.
#include <algorithm>
#include <array>

#include "engine_fixtures.hpp"

namespace ibf::routing::test {
namespace {

const std::array<const char*, 6> kEngines{"minhop", "updn",   "dnup",
                                          "sssp",   "dfsssp", "nue"};      // serve any graph
const std::array<const char*, 3> kTreeEngines{"minhop", "updn", "ftree"};  // serve trees
const std::set<std::string> kShortest{"minhop", "sssp", "dfsssp"};
const std::set<std::string> kSafe{"updn", "dnup", "dfsssp", "ftree", "nue"};

void expect_proved(const Topology& topology, const Routes& routes) {
    const SlowVerdict slow = judge_slowly(topology, routes);
    const Verdict verdict = verify(topology, routes, 2);
    EXPECT_EQ(slow.unreachable, 0U);
    EXPECT_EQ(verdict.unreachable_pairs, 0U) << verdict.first_failure;
    EXPECT_EQ(verdict.loops, 0U);
    EXPECT_EQ(verdict.pairs_checked, slow.pairs);
    EXPECT_EQ(verdict.credit_loop_free, !slow.cyclic);
    EXPECT_EQ(verdict.lane_faults, 0U) << verdict.first_lane_fault;
    if (kSafe.count(routes.engine) != 0) {
        EXPECT_FALSE(slow.cyclic);
        EXPECT_EQ(verdict.switch_pairs_unreachable,
                  0U);  // one first switch per component: all pairs are legal
    }
}

TEST(Engines, EveryGraphOfUpToFiveSwitches) {
    for (unsigned switches = 1; switches <= 5; ++switches) {
        const std::uint32_t graphs = 1U << (switches * (switches - 1) / 2);
        for (std::uint32_t bits = 0; bits < graphs && !::testing::Test::HasFailure(); ++bits) {
            FabricMaker maker{.switches = switches, .links = links_from_bits(switches, bits)};
            const Topology topology = maker.make();
            for (const char* engine : kEngines) {
                SCOPED_TRACE(std::string(engine) + " graph " + std::to_string(bits));
                const Routes routes = routes_of(engine, topology);
                expect_proved(topology, routes);
                if (kShortest.count(routes.engine) != 0) {
                    expect_shortest(topology, routes);
                }
            }
        }
    }
}

const std::set<std::string> kServeAll{"minhop", "updn", "dnup", "sssp", "dfsssp", "nue"};

/// Every engine on a small fabric: what it serves both judges pass, what it refuses it may, and says why.
unsigned try_all_engines(const Topology& topology) {
    RouteOptions options;
    options.threads = 1;
    unsigned served_by = 0;
    for (const std::string& engine : engine_names()) {
        SCOPED_TRACE(engine);
        const auto routes = run_engine(engine, topology, nullptr, options);
        if (!routes) {
            EXPECT_EQ(kServeAll.count(engine), 0U) << routes.error().message;
            EXPECT_NE(routes.error().message, "");
            continue;
        }
        ++served_by;
        const SlowVerdict slow = judge_slowly(topology, *routes);
        const Verdict verdict = verify(topology, *routes, 1);
        EXPECT_EQ(slow.unreachable, 0U);
        EXPECT_EQ(verdict.unreachable_pairs + verdict.loops, 0U) << verdict.first_failure;
        EXPECT_EQ(verdict.pairs_checked, slow.pairs);
        EXPECT_EQ(verdict.credit_loop_free, !slow.cyclic);
        EXPECT_EQ(verdict.lane_faults, slow.lane_faults.size());
        EXPECT_TRUE(slow.lane_faults.empty());
        EXPECT_FALSE(slow.cyclic && engine != "minhop" && engine != "sssp");
        if (kShortest.count(engine) != 0) {
            expect_shortest(topology, *routes);
        }
    }
    return served_by;
}

// So many connected graphs there are that are not the same under other names (OEIS A001349): every fabric of
// up to seven switches with single links, but for the numbering. Once with a host everywhere, once with hosts
// on some.
TEST(Engines, EveryConnectedGraphOfUpToSevenSwitches) {
    const std::array<std::size_t, 8> known{0, 1, 1, 2, 6, 21, 112, 853};
    base::Prng prng(7);
    std::uint64_t served = 0;
    for (unsigned switches = 1; switches <= 7; ++switches) {
        const std::vector<std::vector<Edge>> graphs = connected_graphs(switches);
        ASSERT_EQ(graphs.size(), known[switches]);
        for (std::size_t i = 0; i < graphs.size() && !::testing::Test::HasFailure(); ++i) {
            SCOPED_TRACE(std::to_string(switches) + " switches, graph " + std::to_string(i));
            FabricMaker maker{.switches = switches, .links = graphs[i]};
            served += try_all_engines(maker.make());
            for (unsigned at = 0; at < switches; ++at) {
                maker.hosts.push_back(static_cast<unsigned>(prng.below(3)));
            }
            maker.hosts[prng.below(switches)] = 1;
            served += try_all_engines(maker.make());
        }
    }
    EXPECT_GT(served, (known[7] + known[6]) * 2 * kServeAll.size());
}

TEST(Engines, RandomGraphs) {
    for (std::uint64_t seed = 1; seed <= 40 && !::testing::Test::HasFailure(); seed += kSeriesStep) {
        const Topology topology = random_fabric(seed, 60, 80).make();
        for (const char* engine : kEngines) {
            SCOPED_TRACE(std::string(engine) + " seed " + std::to_string(seed));
            const Routes routes = routes_of(engine, topology);
            expect_proved(topology, routes);
            if (kShortest.count(routes.engine) != 0) {
                expect_shortest(topology, routes);
            }
        }
    }
}

TEST(Engines, DisconnectedFabricIsServedPieceByPiece) {
    FabricMaker maker{.switches = 5, .links = {{0, 1}, {1, 2}, {3, 4}}};
    const Topology topology = maker.make();
    for (const char* engine : kTreeEngines) {
        expect_proved(topology, routes_of(engine, topology));
    }
}

TEST(Engines, NoSwitchAtAll) {
    TopologyBuilder builder;
    for (std::uint64_t guid = 1; guid <= 2; ++guid) {
        TopologyEndPort end;
        end.node_guid = mad::Guid{guid};
        end.port = mad::PortNum{1};
        end.lids = {mad::Lid{static_cast<std::uint16_t>(guid)}, 0};
        builder.add_end_port(end);
    }
    builder.add_link(mad::Guid{1}, mad::PortNum{1}, mad::Guid{2}, mad::PortNum{1}, {8});
    const Topology topology = builder.build();
    for (const char* engine : kTreeEngines) {
        const Routes routes = routes_of(engine, topology);
        EXPECT_TRUE(routes.rows.empty());
        EXPECT_TRUE(verify(topology, routes, 1).reachable());
    }
}

TEST(Engines, OrderOfDiscoveryDoesNotMatter) {
    FabricMaker maker{.switches = 12, .links = random_links(12, 14, 7)};
    const Topology plain = maker.make();
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        maker.shuffle_seed = seed;
        const Topology shuffled = maker.make();
        for (const char* engine : kEngines) {
            EXPECT_EQ(routes_of(engine, plain).hash(), routes_of(engine, shuffled).hash()) << engine;
        }
    }
}

TEST(Engines, ThreadCountDoesNotMatter) {
    for (const char* spec : {"fat-tree:radix=12,levels=3", "torus:5x5,hosts=2"}) {
        const Topology topology = generated(spec);
        for (const char* engine : kEngines) {
            RouteOptions options;
            options.threads = 1;
            const auto one = run_engine(engine, topology, nullptr, options);
            for (const unsigned threads : {2U, 3U, 8U}) {
                options.threads = threads;
                const auto many = run_engine(engine, topology, nullptr, options);
                ASSERT_TRUE(one && many);
                EXPECT_EQ(one->hash(), many->hash()) << spec << " " << engine;
                const Verdict a = verify(topology, *one, 1);
                const Verdict b = verify(topology, *many, threads);
                EXPECT_EQ(a.pairs_checked, b.pairs_checked);
                EXPECT_EQ(a.credit_loop.size(), b.credit_loop.size());
            }
        }
    }
}

/// Two leaves (0, 1), two spines (2, 3), four adapters a leaf.
FabricMaker two_by_two() {
    return {.switches = 4, .links = {{0, 2}, {0, 3}, {1, 2}, {1, 3}}, .hosts = {4, 4, 0, 0}};
}

TEST(Engines, LmcSpreadsOverSpines) {
    FabricMaker maker = two_by_two();
    maker.lmc = 1;
    const Topology topology = maker.make();
    for (const char* engine : kTreeEngines) {
        const Routes routes = routes_of(engine, topology);
        expect_proved(topology, routes);
        for (const TopologyEndPort& end : topology.end_ports) {
            ASSERT_EQ(end.lids.count(), 2U);
            const std::uint32_t other_leaf = 1 - end.switch_index;
            const auto first = walk(topology, routes, other_leaf, end.lids.base.value());
            const auto second = walk(topology, routes, other_leaf, end.lids.base.value() + 1U);
            ASSERT_EQ(first.size(), 3U);
            ASSERT_EQ(second.size(), 3U);
            EXPECT_NE(first[1], second[1]) << engine << " " << end.name;
        }
    }
}

TEST(Engines, SmallTableIsRoutedAround) {
    FabricMaker maker = two_by_two();
    maker.hosts = {60, 40, 0, 0};
    maker.lft_caps = {0xC000, 0xC000, 64, 0xC000};  // a spine that holds 64 LIDs of 104
    const Topology topology = maker.make();
    for (const char* engine : kTreeEngines) {
        const Routes routes = routes_of(engine, topology);
        for (std::uint32_t lid = 64; lid <= topology.max_lid; ++lid) {
            EXPECT_EQ(routes.port(SwitchIndex{2}, mad::Lid{static_cast<std::uint16_t>(lid)}), mad::kLftDrop);
        }
        for (const TopologyEndPort& end : topology.end_ports) {
            for (std::uint32_t leaf = 0; leaf < 2; ++leaf) {
                EXPECT_FALSE(walk(topology, routes, leaf, end.lids.base.value()).empty())
                    << engine << " " << end.name;
            }
        }
        const Verdict verdict = verify(topology, routes, 1);
        EXPECT_EQ(verdict.loops, 0U);
        EXPECT_GT(verdict.unreachable_pairs,
                  0U);  // from the small spine itself, and its own LID if that is above
        EXPECT_NE(verdict.first_failure.find("switch-2"), std::string::npos) << verdict.first_failure;
    }
}

TEST(Engines, PortsWithoutLidAreLeftOut) {
    FabricMaker maker = two_by_two();
    Topology topology = maker.make();
    const auto stuck = topology.end_ports[3].lids;
    topology.end_ports[3].lids = {};
    for (const char* engine : kTreeEngines) {
        const Routes routes = routes_of(engine, topology);
        expect_proved(topology, routes);
        EXPECT_EQ(routes.port(SwitchIndex{1}, stuck.base), mad::kLftDrop);
    }
}

TEST(Engines, DeadSpineMovesOnlyItsOwnTraffic) {
    const Topology whole = two_by_two().make();
    for (const char* engine : kTreeEngines) {
        const Routes old = routes_of(engine, whole);
        Topology cut = whole;  // spine 2 dies: its links go, all port numbers stay
        for (auto& item : cut.switches) {
            for (auto& peer : item.peers) {
                if (peer.kind == PortPeer::Kind::switch_ &&
                    (peer.index == 2 || item.guid == cut.switches[2].guid)) {
                    peer = {};
                }
            }
        }
        const auto fresh = run_engine(engine, cut, &old, RouteOptions{});
        ASSERT_TRUE(fresh);
        expect_proved(cut, *fresh);
        for (std::uint32_t leaf = 0; leaf < 2; ++leaf) {
            for (const TopologyEndPort& end : cut.end_ports) {
                const std::uint8_t was = old.port(SwitchIndex{leaf}, end.lids.base);
                const bool died = whole.switches[leaf].peers[was].kind == PortPeer::Kind::switch_ &&
                                  whole.switches[leaf].peers[was].index == 2;
                const std::uint8_t now = fresh->port(SwitchIndex{leaf}, end.lids.base);
                EXPECT_TRUE(died ? now != was : now == was) << engine << " " << end.name;
            }
        }
    }
}

TEST(Engines, SameFabricAgainChangesNothing) {
    for (const char* spec : {"fat-tree:radix=8,levels=3", "torus:4x4x3"}) {
        const Topology topology = generated(spec);
        for (const char* engine : kEngines) {
            const Routes first = routes_of(engine, topology);
            const auto second = run_engine(engine, topology, &first, RouteOptions{});
            ASSERT_TRUE(second);
            EXPECT_EQ(first.hash(), second->hash()) << spec << " " << engine;
        }
    }
}

TEST(Engines, UnknownEngineAndUnknownRootsSayWhy) {
    const Topology topology = two_by_two().make();
    const auto unknown = run_engine("min-hop", topology, nullptr, RouteOptions{});
    ASSERT_FALSE(unknown);
    EXPECT_NE(unknown.error().message.find("minhop, updn"), std::string::npos);
    RouteOptions options;
    options.root_guids = {mad::Guid{0xdead}};
    const auto rootless = run_engine("updn", topology, nullptr, options);
    ASSERT_FALSE(rootless);
    EXPECT_NE(rootless.error().message.find("root_guids"), std::string::npos);
}

TEST(Engines, ConfiguredRootsAreUsed) {
    const Topology topology = two_by_two().make();
    RouteOptions options;
    options.root_guids = {topology.switches[3].guid, topology.switches[2].guid};
    const auto routes = run_engine("updn", topology, nullptr, options);
    ASSERT_TRUE(routes);
    EXPECT_EQ(routes->roots, (std::vector<mad::Guid>{topology.switches[2].guid, topology.switches[3].guid}));
    expect_proved(topology, *routes);
}

TEST(Engines, ChainTooLongForByteDistancesIsRefused) {
    FabricMaker maker{.switches = 300, .links = {}};
    for (unsigned at = 1; at < 300; ++at) {
        maker.links.emplace_back(at - 1, at);
    }
    const Topology topology = maker.make();
    for (const char* engine : kTreeEngines) {
        const auto routes = run_engine(engine, topology, nullptr, RouteOptions{});
        ASSERT_FALSE(routes);
        EXPECT_NE(routes.error().message.find("250 hops"), std::string::npos);
    }
}

}  // namespace
}  // namespace ibf::routing::test
