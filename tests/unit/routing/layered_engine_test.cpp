// dfsssp and lash: shortest paths that no lane can deadlock on, within the lanes that links have.
#include <numeric>

#include "engine_fixtures.hpp"

namespace ibf::routing::test {
namespace {

constexpr const char* kLayered[] = {"dfsssp", "lash"};

base::Result<Routes> with_lanes(const char* engine, const Topology& topology, std::uint8_t vls_max) {
    RouteOptions options;
    options.vls_max = vls_max;
    return run_engine(engine, topology, nullptr, options);
}

void expect_layered(const Topology& topology, const Routes& routes) {
    expect_safe(topology, routes);
    expect_shortest(topology, routes);
}

TEST(Layered, EveryGraphOfUpToFiveSwitchesAndSomeOfSix) {
    for (unsigned switches = 2; switches <= 6; ++switches) {
        const std::uint32_t graphs = 1U << (switches * (switches - 1) / 2);
        for (std::uint32_t bits = 0; bits < graphs && !::testing::Test::HasFailure();
             bits += (switches == 6 ? 41 : 1) * (switches > 4 ? kSeriesStep : 1)) {
            const Topology topology =
                FabricMaker{.switches = switches, .links = links_from_bits(switches, bits)}.make();
            for (const char* engine : kLayered) {
                SCOPED_TRACE(std::string(engine) + " graph " + std::to_string(bits));
                expect_layered(topology, routes_of(engine, topology));
            }
        }
    }
}

TEST(Layered, RandomGraphsWithParallelLinksAndLmc) {
    for (std::uint64_t seed = 1; seed <= 25 && !::testing::Test::HasFailure(); seed += kSeriesStep) {
        const Topology topology = random_fabric(seed, 30, 60).make();
        for (const char* engine : kLayered) {
            SCOPED_TRACE(std::string(engine) + " seed " + std::to_string(seed));
            expect_layered(topology, routes_of(engine, topology));
        }
    }
}

TEST(Layered, TwoPiecesAreServedApart) {
    const Topology topology =
        FabricMaker{.switches = 9,
                    .links = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 0}, {5, 6}, {6, 7}, {7, 8}, {8, 5}}}
            .make();
    for (const char* engine : kLayered) {
        expect_layered(topology, routes_of(engine, topology));
    }
}

// OpenSM's dfsssp asks for 9 lanes here, and refuses.
TEST(Layered, ToriFitEightLanes) {
    for (const char* spec : {"torus:6x6x6", "torus:6x6x6,missing-links=0.02,seed=3", "torus:7x5x4,hosts=2"}) {
        const Topology topology = generated(spec);
        const Routes routes = routes_of("dfsssp", topology);
        const Verdict verdict = verify(topology, routes, 2);
        EXPECT_TRUE(verdict.reachable() && verdict.credit_loop_free) << spec;
        EXPECT_EQ(verdict.lane_faults, 0U) << spec;
        EXPECT_LE(routes.vls, 8U) << spec;
        EXPECT_EQ(measure_quality(topology, routes, 2).max_dilation, 1.0) << spec;
    }
}

/// A 6x6 torus whose switches and cables come in any order: nothing but the graph tells its dimensions.
FabricMaker shuffled_torus(std::uint64_t seed) {
    constexpr unsigned kSide = 6;
    std::vector<unsigned> number(kSide * kSide);
    std::iota(number.begin(), number.end(), 0U);
    base::Prng prng(seed);
    prng.shuffle(number);
    FabricMaker maker{.switches = kSide * kSide};
    for (unsigned x = 0; x < kSide; ++x) {
        for (unsigned y = 0; y < kSide; ++y) {
            maker.links.emplace_back(number[x * kSide + y], number[(x + 1) % kSide * kSide + y]);
            maker.links.emplace_back(number[x * kSide + y], number[x * kSide + (y + 1) % kSide]);
        }
    }
    prng.shuffle(maker.links);
    return maker;
}

TEST(Layered, DimensionsAreFoundWhateverTheNumbers) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        const Topology topology = shuffled_torus(seed).make();
        const Routes routes = routes_of("dfsssp", topology);
        expect_layered(topology, routes);
        EXPECT_LE(routes.vls, 4U) << seed;
    }
}

TEST(Layered, OneLaneWhereNothingCanDeadlock) {
    for (const char* spec : {"fat-tree:radix=8,levels=3", "fat-tree:radix=8,levels=2,parallel=2",
                             "mesh:4x4x3", "hypercube:dim=5", "hyperx:4x4"}) {
        const Topology topology = generated(spec);
        const Routes routes = routes_of("dfsssp", topology);
        EXPECT_EQ(routes.vls, 1U) << spec;
        EXPECT_TRUE(routes.sls.empty() || routes.sls.front() == nullptr) << spec;
        EXPECT_TRUE(verify(topology, routes, 2).credit_loop_free) << spec;
    }
}

TEST(Layered, DamagedTreesStayShortest) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        const Topology topology =
            generated("fat-tree:radix=6,levels=3,missing-links=0.05,seed=" + std::to_string(seed));
        for (const char* engine : kLayered) {
            SCOPED_TRACE(engine);
            expect_layered(topology, routes_of(engine, topology));
        }
    }
}

TEST(Layered, LanesThatAreMissingAreNamed) {
    FabricMaker maker{.switches = 5, .links = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 0}}};
    maker.lanes = 1;
    const Topology topology = maker.make();
    for (const char* engine : kLayered) {
        const auto narrow = run_engine(engine, topology, nullptr, RouteOptions{});
        ASSERT_FALSE(narrow);
        EXPECT_NE(narrow.error().message.find("needs 2 lanes without deadlock, the fabric has 1"),
                  std::string::npos)
            << narrow.error().message;
        EXPECT_NE(narrow.error().message.find("link switch-0"), std::string::npos) << narrow.error().message;
        const auto forbidden = with_lanes(engine, generated("ring:5"), 1);
        ASSERT_FALSE(forbidden);
        EXPECT_NE(forbidden.error().message.find("vls_max"), std::string::npos) << forbidden.error().message;
        const auto enough = with_lanes(engine, generated("ring:5"), 2);
        ASSERT_TRUE(enough);
        EXPECT_EQ(enough->vls, 2U);
    }
}

// One narrow cable anywhere is enough; lanes above it are not used, and a chain goes on to the next engine.
TEST(Layered, OneNarrowLinkLimitsTheFabric) {
    Topology topology = generated("ring:5");
    PortPeer& peer = topology.switches[3].peers[1];
    ASSERT_EQ(peer.kind, PortPeer::Kind::switch_);
    topology.switches[peer.index].peers[peer.port.value()].data_vls = 1;
    peer.data_vls = 1;
    RouteOptions options;
    options.engines = {"dfsssp"};
    const auto outcome = route(topology, nullptr, options);
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->routes.engine, "updn");
    EXPECT_NE(outcome->attempts[0].refused_because.find("needs 2 lanes"), std::string::npos);
}

TEST(Layered, ThreadsDoNotMatter) {
    for (const char* spec : {"torus:5x5,hosts=2", "random:switches=40,degree=5,hosts=2,seed=9"}) {
        const Topology topology = generated(spec);
        for (const char* engine : kLayered) {
            RouteOptions options;
            options.threads = 1;
            const auto one = run_engine(engine, topology, nullptr, options);
            options.threads = 3;
            const auto three = run_engine(engine, topology, nullptr, options);
            ASSERT_TRUE(one && three) << spec << " " << engine;
            EXPECT_GT(one->vls, 1U);
            EXPECT_EQ(one->hash(), three->hash()) << spec << " " << engine;
        }
    }
}

TEST(Layered, SameFabricAgainChangesNothing) {
    for (const char* spec : {"torus:5x5", "ring:6", "fat-tree:radix=6,levels=3,missing-links=0.05,seed=2"}) {
        const Topology topology = generated(spec);
        for (const char* engine : kLayered) {
            const Routes first = routes_of(engine, topology);
            const auto second = run_engine(engine, topology, &first, RouteOptions{});
            ASSERT_TRUE(second);
            EXPECT_EQ(first.hash(), second->hash()) << spec << " " << engine;
        }
    }
}

/// Share of (switch, LID) whose SL changed.
double moved_levels(const Topology& topology, const Routes& before, const Routes& after) {
    double moved = 0;
    double all = 0;
    for (std::uint32_t at = 0; at < topology.switches.size(); ++at) {
        for (std::uint16_t lid = 1; lid <= topology.max_lid; ++lid, ++all) {
            moved +=
                before.sl(SwitchIndex{at}, mad::Lid{lid}) != after.sl(SwitchIndex{at}, mad::Lid{lid}) ? 1 : 0;
        }
    }
    return moved / all;
}

TEST(Layered, ALostCableKeepsMostServiceLevels) {
    Topology topology = generated("torus:5x5,hosts=2");
    for (const char* engine : kLayered) {
        const Routes before = routes_of(engine, topology);
        Topology cut = topology;
        cut_link(cut, 7, 1);
        const auto after = run_engine(engine, cut, &before, RouteOptions{});
        ASSERT_TRUE(after) << engine;
        expect_layered(cut, *after);
        EXPECT_LT(moved_levels(cut, before, *after), 0.25) << engine;
    }
}

// C65: 13 switches, any one link or switch gone: the engines answer, whatever they had computed before.
TEST(Layered, C65AnyLinkOrSwitchMayGo) {
    const Topology whole =
        FabricMaker{.switches = 13, .links = random_links(13, 12, 65), .hosts = std::vector<unsigned>(13, 2)}
            .make();
    std::vector<Topology> damaged;
    for (std::uint32_t at = 0; at < whole.switches.size(); ++at) {
        damaged.push_back(whole);
        cut_switch(damaged.back(), at);
        for (std::size_t port = 1; port < whole.switches[at].peers.size(); ++port) {
            const PortPeer& peer = whole.switches[at].peers[port];
            if (peer.kind == PortPeer::Kind::switch_ && peer.index > at) {
                damaged.push_back(whole);
                cut_link(damaged.back(), at, port);
            }
        }
    }
    ASSERT_GT(damaged.size(), 30U);
    for (const char* engine : kLayered) {
        const Routes before = routes_of(engine, whole);
        for (const Topology& topology : damaged) {
            const auto routes = run_engine(engine, topology, &before, RouteOptions{});
            ASSERT_TRUE(routes) << engine << ": " << routes.error().message;
            expect_layered(topology, *routes);
        }
    }
}

// C71: ten ports have no LID yet; the rest is served.
TEST(Layered, C71PortsWithoutLidsDoNotStopTheRest) {
    Topology topology = generated("torus:5x5,hosts=2");
    std::vector<mad::Lid> stuck;
    for (std::size_t end = 3; stuck.size() < 10; end += 4) {
        stuck.push_back(topology.end_ports[end].lids.base);
        topology.end_ports[end].lids = {};
    }
    for (const char* engine : kLayered) {
        const Routes routes = routes_of(engine, topology);
        expect_safe(topology, routes);
        for (const mad::Lid lid : stuck) {
            EXPECT_EQ(routes.port(SwitchIndex{0}, lid), mad::kLftDrop);
        }
    }
}

TEST(Layered, NoSwitchAtAll) {
    for (const char* engine : kLayered) {
        EXPECT_TRUE(routes_of(engine, TopologyBuilder().build()).rows.empty());
    }
}

}  // namespace
}  // namespace ibf::routing::test
