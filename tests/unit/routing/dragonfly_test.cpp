// dragonfly: groups found, minimal paths on two lanes, damage served or refused.
#include <algorithm>

#include "grid_fixtures.hpp"
#include "routing/dragonfly_groups.hpp"

namespace ibf::routing::test {
namespace {

const std::initializer_list<const char*> kWhole{"dragonfly:a=4,p=2,h=2",
                                                "dragonfly:a=4,p=2,h=2,g=4",
                                                "dragonfly:a=6,p=1,h=1",
                                                "dragonfly:a=3,p=2,h=1",
                                                "dragonfly:a=5,p=1,h=2,g=2",
                                                "dragonfly:a=6,p=1,h=1,g=1",
                                                "dragonfly+:groups=5,leaves=4,spines=4,hosts=2,global=4",
                                                "dragonfly+:groups=3,leaves=3,spines=2,hosts=1,global=3",
                                                "dragonfly+:groups=9,leaves=2,spines=4,hosts=2,global=2"};

TEST(Dragonfly, GroupsAreThoseDrawn) {
    for (const char* spec : kWhole) {
        for (std::uint64_t seed = 0; seed <= 3; ++seed) {
            SCOPED_TRACE(std::string(spec) + " seed " + std::to_string(seed));
            const Topology topology = seed == 0 ? generated(spec) : scrambled(spec, seed);
            const auto map = find_groups(make_graph(topology, {}));
            ASSERT_TRUE(map) << map.error().message;
            const auto drawn = [&](std::uint32_t at) { return topology.switches[at].name.substr(0, 9); };
            std::set<std::string> names;
            for (std::uint32_t a = 0; a < topology.switches.size(); ++a) {
                names.insert(drawn(a));
                for (std::uint32_t b = 0; b < a; ++b) {
                    EXPECT_EQ(map->of[a] == map->of[b], drawn(a) == drawn(b));
                    EXPECT_TRUE(map->of[a] != map->of[b] || map->place[a] != map->place[b]);
                }
            }
            EXPECT_EQ(map->groups, names.size());
        }
    }
}

TEST(Dragonfly, WholeOnesAreServedOnTwoLanes) {
    for (const char* spec : kWhole) {
        for (std::uint64_t seed = 0; seed <= 1; ++seed) {
            SCOPED_TRACE(std::string(spec) + " seed " + std::to_string(seed));
            const Topology topology = seed == 0 ? generated(spec) : scrambled(spec, seed);
            const auto routes = served("dragonfly", topology);
            ASSERT_TRUE(routes) << refusal_of("dragonfly", topology);
            EXPECT_LE(routes->vls, 2U);
            const auto map = find_groups(make_graph(topology, {}));
            for (const TopologyEndPort& to : topology.end_ports) {
                for (const TopologyEndPort& from : topology.end_ports) {
                    const auto way = walk(topology, *routes, from.switch_index, to.lids.base.value());
                    unsigned globals = 0;
                    for (std::size_t i = 0; i + 1 < way.size(); ++i) {
                        globals += map->of[way[i]] != map->of[way[i + 1]] ? 1 : 0;
                    }
                    EXPECT_LE(way.size(), 4U) << "local, global, local";
                    EXPECT_EQ(globals, map->of[from.switch_index] != map->of[to.switch_index] ? 1U : 0U);
                }
            }
        }
    }
}

// C65-like: one cable or one switch gone, each in turn.
TEST(Dragonfly, AnyOneCableOrSwitchLost) {
    for (const char* spec : {"dragonfly:a=4,p=2,h=2", "dragonfly:a=4,p=1,h=1",
                             "dragonfly+:groups=5,leaves=4,spines=4,hosts=1,global=4",
                             "dragonfly+:groups=5,leaves=2,spines=2,hosts=1,global=2"}) {
        SCOPED_TRACE(spec);
        const Topology whole = scrambled(spec, 5);
        const std::vector<SwitchCable> cables = switch_cables(whole);
        std::size_t cables_served = 0;
        for (std::size_t i = 0; i < cables.size(); i += kSeriesStep) {
            const Topology damaged = without_cable(whole, cables[i]);
            const auto routes = served("dragonfly", damaged);
            EXPECT_TRUE(routes || !refusal_of("dragonfly", damaged).empty());
            cables_served += routes ? 1 : 0;
        }
        EXPECT_EQ(cables_served, (cables.size() - 1) / kSeriesStep + 1);
        for (std::uint32_t gone = 0; gone < whole.switches.size(); gone += kSeriesStep) {
            const Topology damaged = without_switch(whole, gone);
            EXPECT_TRUE(served("dragonfly", damaged) || !refusal_of("dragonfly", damaged).empty());
        }
    }
}

/// Takes every cable between two groups, named by their first nine letters.
Topology without_cables_between(Topology topology, const std::string& a, const std::string& b) {
    for (const SwitchCable& cable : switch_cables(topology)) {
        const std::string here = topology.switches[cable.at].name.substr(0, 9);
        const std::string there =
            topology.switches[topology.switches[cable.at].peers[cable.port].index].name.substr(0, 9);
        if ((here == a && there == b) || (here == b && there == a)) {
            topology = without_cable(topology, cable);
        }
    }
    return topology;
}

TEST(Dragonfly, GroupsThatLostEachOtherGoOverAThirdOnAThirdLane) {
    for (const char* spec :
         {"dragonfly:a=4,p=2,h=2", "dragonfly+:groups=5,leaves=4,spines=4,hosts=2,global=4"}) {
        SCOPED_TRACE(spec);
        const Topology cut = without_cables_between(generated(spec), "group-002", "group-004");
        const auto routes = served("dragonfly", cut);
        ASSERT_TRUE(routes) << refusal_of("dragonfly", cut);
        EXPECT_EQ(routes->vls, 3U);
        RouteOptions options;
        options.vls_max = 2;
        const auto refused = run_engine("dragonfly", cut, nullptr, options);
        ASSERT_FALSE(refused);
        EXPECT_NE(refused.error().message.find("needs 3 data lanes"), std::string::npos)
            << refused.error().message;
    }
}

TEST(Dragonfly, DamageHereAndThere) {
    unsigned count = 0;
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        for (const std::string spec : {"dragonfly:a=6,p=1,h=2,g=9", "dragonfly:a=8,p=1,h=2,g=5",
                                       "dragonfly+:groups=5,leaves=4,spines=4,hosts=1,global=4"}) {
            const std::string seeded =
                spec + ",missing-links=0.02,missing-switches=0.01,seed=" + std::to_string(seed);
            SCOPED_TRACE(seeded);
            const Topology topology = scrambled(seeded, seed);
            const auto routes = served("dragonfly", topology);
            count += routes ? 1 : 0;
            if (!routes) {
                RouteOptions options;
                options.engines = {"dragonfly"};
                const auto outcome = route(topology, nullptr, options);
                ASSERT_TRUE(outcome);
                EXPECT_EQ(outcome->routes.engine, "updn");
            }
        }
    }
    EXPECT_GE(count, 32U) << "of 36";
}

// A switch with one cable left into its group counts as a group of its own; not everybody finds a relay to
// it.
TEST(Dragonfly, PairsWithoutAPathAreNamed) {
    const std::string reason =
        refusal_of("dragonfly", generated("dragonfly:a=4,p=1,h=2,missing-links=0.05,seed=8"));
    EXPECT_NE(
        reason.find("too many cables are missing: no path that cannot deadlock leads from group-007-switch-"),
        std::string::npos)
        << reason;
}

TEST(Dragonfly, OthersAreRefused) {
    for (const char* spec :
         {"fat-tree:radix=8,levels=2", "fat-tree:radix=8,levels=3", "torus:5x5", "hyperx:4x4", "mesh:3x3",
          "random:switches=40,degree=4,hosts=1,seed=3", "ring:6"}) {
        EXPECT_NE(refusal_of("dragonfly", generated(spec)).find("no dragonfly"), std::string::npos) << spec;
    }
}

TEST(Dragonfly, SameAnswerForAnyThreadsAndTheSecondTime) {
    for (const char* spec : {"dragonfly:a=4,p=2,h=2", "dragonfly+"}) {
        const Topology topology = generated(spec);
        RouteOptions options;
        options.threads = 1;
        const auto one = run_engine("dragonfly", topology, nullptr, options);
        ASSERT_TRUE(one);
        for (const unsigned threads : {2U, 5U}) {
            options.threads = threads;
            EXPECT_EQ(run_engine("dragonfly", topology, nullptr, options)->hash(), one->hash()) << spec;
        }
        EXPECT_EQ(run_engine("dragonfly", topology, &*one, options)->hash(), one->hash()) << spec;
    }
}

TEST(Dragonfly, AdaptersOnSpinesDoNotHideTheGroups) {
    FabricMaker maker{.switches = 12, .links = {}, .hosts = {3, 3, 1, 1, 3, 3, 1, 1, 3, 3, 1, 1}};
    for (unsigned group = 0; group < 3; ++group) {  // two leaves, two spines
        for (unsigned leaf = 0; leaf < 2; ++leaf) {
            maker.links.emplace_back(4 * group + leaf, 4 * group + 2);
            maker.links.emplace_back(4 * group + leaf, 4 * group + 3);
        }
    }
    maker.links.insert(maker.links.end(), {{2, 6}, {3, 10}, {7, 11}, {2, 11}});
    const Topology topology = maker.make();
    EXPECT_TRUE(served("dragonfly", topology)) << refusal_of("dragonfly", topology);
}

}  // namespace
}  // namespace ibf::routing::test
