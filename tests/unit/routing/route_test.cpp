// The chain: who serves, and what the operator is told.
#include "engine_fixtures.hpp"

namespace ibf::routing::test {
namespace {

TEST(Route, TreeIsServedByTheFirstEngine) {
    const Topology topology = generated("fat-tree:radix=4,levels=3");
    const auto outcome = route(topology, nullptr, RouteOptions{});
    ASSERT_TRUE(outcome);
    ASSERT_EQ(outcome->attempts.size(), 1U);
    EXPECT_EQ(outcome->routes.engine, "minhop");
    EXPECT_TRUE(outcome->attempts[0].refused_because.empty());
    EXPECT_TRUE(outcome->verdict.reachable());
}

TEST(Route, RingFallsToUpDownAndSaysWhy) {
    const Topology topology = generated("ring:4");
    const auto outcome = route(topology, nullptr, RouteOptions{});
    ASSERT_TRUE(outcome);
    ASSERT_EQ(outcome->attempts.size(), 2U);
    EXPECT_NE(outcome->attempts[0].refused_because.find("could deadlock: credit loop over 4 links"),
              std::string::npos)
        << outcome->attempts[0].refused_because;
    EXPECT_EQ(outcome->routes.engine, "updn");
    EXPECT_TRUE(outcome->verdict.credit_loop_free);
}

TEST(Route, OperatorMayAllowCreditLoops) {
    RouteOptions options;
    options.allow_credit_loops = true;
    const auto outcome = route(generated("ring:4"), nullptr, options);
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->routes.engine, "minhop");
    EXPECT_FALSE(outcome->verdict.credit_loop_free);
}

TEST(Route, UpDownIsAddedWhenTheChainFails) {
    RouteOptions options;
    options.engines = {"no-such-engine", "minhop"};
    const auto outcome = route(generated("ring:4"), nullptr, options);
    ASSERT_TRUE(outcome);
    ASSERT_EQ(outcome->attempts.size(), 3U);
    EXPECT_NE(outcome->attempts[0].refused_because.find("no routing engine"), std::string::npos);
    EXPECT_EQ(outcome->attempts[2].engine, "updn");
}

TEST(Route, SmallTableServesTheRest) {
    FabricMaker maker{.switches = 4, .links = {{0, 2}, {0, 3}, {1, 2}, {1, 3}}, .hosts = {60, 40, 0, 0}};
    maker.lft_caps = {0xC000, 0xC000, 64, 0xC000};
    const auto outcome = route(maker.make(), nullptr, RouteOptions{});
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->routes.engine, "updn");
    EXPECT_GT(outcome->verdict.unreachable_pairs, 0U);
    EXPECT_TRUE(outcome->verdict.credit_loop_free);
}

TEST(Route, DamagedTreesAreAlwaysServed) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        Topology topology = generated("fat-tree:radix=8,levels=3");
        base::Prng prng(seed);
        for (std::uint32_t at = 0; at < topology.switches.size(); ++at) {
            for (PortPeer& peer : topology.switches[at].peers) {
                if (peer.kind == PortPeer::Kind::switch_ && prng.below(100) < 5) {
                    topology.switches[peer.index].peers[peer.port.value()] = {};
                    peer = {};
                }
            }
        }
        const auto outcome = route(topology, nullptr, RouteOptions{});
        ASSERT_TRUE(outcome) << seed;
        EXPECT_TRUE(outcome->verdict.reachable() && outcome->verdict.credit_loop_free) << seed;
        EXPECT_EQ(judge_slowly(topology, outcome->routes).unreachable, 0U);
    }
}

// A restart asks the same question with the last answer at hand. On the seven switches minhop was refused,
// updn served, and minhop then passed with updn's entries kept.
TEST(Route, TheSameQuestionWithItsAnswerAtHandGetsTheSameAnswer) {
    for (const char* spec :
         {"torus:4x4", "ring:6", "fat-tree:radix=8,levels=3,missing-links=0.05,seed=2",
          "random:switches=7,degree=4,hosts=1,seed=1", "random:switches=20,degree=4,hosts=1,seed=5"}) {
        const Topology topology = generated(spec);
        const auto first = route(topology, nullptr, RouteOptions{});
        ASSERT_TRUE(first) << spec;
        const auto second = route(topology, &first->routes, RouteOptions{});
        ASSERT_TRUE(second) << spec;
        EXPECT_EQ(first->routes.engine, second->routes.engine) << spec;
        EXPECT_EQ(first->routes.hash(), second->routes.hash()) << spec;
    }
}

TEST(Route, AnEngineTriedByItselfIsJudgedAsInTheChain) {
    const Topology ring = generated("ring:6");
    const EngineTrial minhop = try_engine("minhop", ring, nullptr, RouteOptions{});
    EXPECT_TRUE(minhop.computed) << "refused tables can be looked at";
    EXPECT_FALSE(minhop.verdict.credit_loop_free);
    EXPECT_NE(minhop.attempt.refused_because.find("credit loop"), std::string::npos);
    const EngineTrial updn = try_engine("updn", ring, nullptr, RouteOptions{});
    EXPECT_EQ(updn.attempt.refused_because, "");
    EXPECT_EQ(updn.routes.hash(), route(ring, nullptr, RouteOptions{})->routes.hash());
    const EngineTrial nobody = try_engine("magic", ring, nullptr, RouteOptions{});
    EXPECT_FALSE(nobody.computed);
    EXPECT_NE(nobody.attempt.refused_because.find("magic"), std::string::npos);
}

/// The engine that serves, of "auto", and the reasons of those before it.
std::string served_by_auto(const Topology& topology, std::vector<EngineAttempt>& attempts) {
    RouteOptions options;
    options.engines = {"auto"};
    const auto outcome = route(topology, nullptr, options);
    EXPECT_TRUE(outcome);
    attempts = outcome->attempts;
    for (std::size_t i = 0; i + 1 < attempts.size(); ++i) {
        EXPECT_FALSE(attempts[i].refused_because.empty()) << attempts[i].engine;
    }
    return outcome->routes.engine;
}

TEST(Route, AutoFindsTheEngineOfTheFamilyAndTellsWhyNotTheOthers) {
    std::vector<EngineAttempt> attempts;
    EXPECT_EQ(served_by_auto(generated("fat-tree:radix=8,levels=3"), attempts), "ftree");
    EXPECT_EQ(served_by_auto(generated("mesh:4x5,hosts=1"), attempts), "torus-2qos") << "no tree";
    EXPECT_EQ(served_by_auto(generated("torus:5x5,hosts=1"), attempts), "torus-2qos");
    EXPECT_EQ(served_by_auto(generated("hyperx:4x4,hosts=2"), attempts), "dor");
    EXPECT_EQ(served_by_auto(generated("dragonfly:a=4,p=2,h=2"), attempts), "dragonfly");
    EXPECT_EQ(served_by_auto(generated("random:switches=24,degree=5,hosts=2,seed=7"), attempts), "dfsssp");
    EXPECT_GE(attempts.size(), 5U) << "each with its reason";
    FabricMaker one_lane{.switches = 24, .links = random_links(24, 40, 7)};
    one_lane.lanes = 1;
    EXPECT_EQ(served_by_auto(one_lane.make(), attempts), "nue") << "any graph, on the one lane that there is";
}

TEST(Route, TracedPathNamesWhereItBreaks) {
    const Topology topology = FabricMaker{.switches = 2, .links = {{0, 1}}}.make();
    const Routes routes = routes_of("minhop", topology);
    const auto path = trace_path(topology, routes, EndPortIndex{0}, topology.end_ports[1].lids.base);
    ASSERT_TRUE(path);
    ASSERT_EQ(path->size(), 2U);
    EXPECT_EQ((*path)[0].in, topology.end_ports[0].switch_port);
    EXPECT_EQ((*path)[1].out, topology.end_ports[1].switch_port);
    const auto to_switch = trace_path(topology, routes, EndPortIndex{0}, topology.switches[1].lids.base);
    ASSERT_TRUE(to_switch);
    EXPECT_EQ(to_switch->back().out.value(), 0);
    const auto broken = trace_path(topology, routes, EndPortIndex{0}, mad::Lid{999});
    ASSERT_FALSE(broken);
    EXPECT_NE(broken.error().message.find("switch-0"), std::string::npos);
}

}  // namespace
}  // namespace ibf::routing::test
