// Drained elements: no path between others crosses them, nobody loses a path, and few entries move.
#include "routing/drained.hpp"

#include <gtest/gtest.h>

#include "tests/unit/routing/engine_fixtures.hpp"

namespace ibf::routing::test {
namespace {

Routes drained_routes(const std::string& engine, const Topology& topology, const Routes* previous,
                      const Drained& drained) {
    RouteOptions options;
    options.threads = 2;
    options.drained = drained;
    const auto trial = try_engine(engine, topology, previous, options);
    EXPECT_EQ(trial.attempt.refused_because, "") << engine;
    return trial.routes;
}

/// Ways between hosts over cables of the elements, hop by hop; the hosts' own cables are no transit.
std::uint64_t ways_across(const Topology& topology, const Routes& routes, const Elements& elements) {
    std::uint64_t count = 0;
    for (const TopologyEndPort& from : topology.end_ports) {
        for (const TopologyEndPort& to : topology.end_ports) {
            std::uint32_t at = from.switch_index;
            bool crossed = false;
            for (std::size_t hops = 0; at != to.switch_index && hops < topology.switches.size(); ++hops) {
                const std::uint8_t port = routes.port(SwitchIndex{at}, to.lids.base);
                EXPECT_LT(port, topology.switches[at].peers.size());
                crossed = crossed || is_gone(topology, elements, at, port);
                at = topology.switches[at].peers[port].index;
            }
            EXPECT_EQ(at, to.switch_index) << "it arrives";
            count += crossed ? 1U : 0U;
        }
    }
    return count;
}

Elements one_switch(const Topology& topology, std::uint32_t at) {
    Elements elements;
    elements.add(topology.switches[at].guid);
    return elements;
}

/// A switch that no host needs; kNoIndex: none.
std::uint32_t spare_switch(const Topology& topology, std::uint64_t seed) {
    for (std::uint32_t i = 0; i < topology.switches.size(); ++i) {
        const auto at = static_cast<std::uint32_t>((seed * 7 + i) % topology.switches.size());
        if (losses(topology, one_switch(topology, at)).cut_off.empty()) {
            return at;
        }
    }
    return kNoIndex;
}

unsigned degree(const Topology& topology, std::uint32_t at) {
    return static_cast<unsigned>(
        std::count_if(topology.switches[at].peers.begin(), topology.switches[at].peers.end(),
                      [](const PortPeer& peer) { return peer.kind == PortPeer::Kind::switch_; }));
}

TEST(Drained, ASwitchBecomesTheEndOfABranch) {
    const Topology topology = generated("fat-tree:radix=8,levels=2");
    const std::uint32_t spine = spare_switch(topology, 1);
    ASSERT_NE(spine, kNoIndex);
    ASSERT_EQ(degree(topology, spine), 8U);
    const MaskedTopology masked = mask_drained(topology, one_switch(topology, spine));
    EXPECT_EQ(degree(masked.topology, spine), 1U);
    EXPECT_EQ(masked.spared.size(), 2U) << "both ends of the cable that is left";
    EXPECT_EQ(masked.topology.link_count(), topology.link_count() - 7);
    EXPECT_EQ(masked.topology.switches.size(), topology.switches.size());
}

TEST(Drained, ParallelCablesToTheOneNeighbourStay) {
    // Switch 2 has two cables to 0 and one to 1.
    const Topology topology =
        FabricMaker{.switches = 3, .links = {{0, 1}, {0, 2}, {0, 2}, {1, 2}}, .hosts = {1, 1, 0}}.make();
    EXPECT_EQ(degree(mask_drained(topology, one_switch(topology, 2)).topology, 2), 2U);
}

TEST(Drained, WhatHoldsTheFabricTogetherStays) {
    const Topology line = FabricMaker{.switches = 3, .links = {{0, 1}, {1, 2}}, .hosts = {1, 0, 1}}.make();
    const MaskedTopology masked = mask_drained(line, one_switch(line, 1));
    EXPECT_EQ(masked.topology.link_count(), line.link_count());
    Elements cable;
    cable.add(SwitchPort{line.switches[0].guid, mad::PortNum{2}});
    EXPECT_EQ(mask_drained(line, cable).topology.link_count(), line.link_count());
    expect_safe(line, drained_routes("updn", line, nullptr, {cable, {}}));
}

TEST(Drained, ADrainedNeighbourIsNotTheWayWhereThereIsAnother) {
    // A square: 2 and 3 are drained, neighbours of each other, and each of one of the others.
    const Topology square =
        FabricMaker{.switches = 4, .links = {{0, 1}, {0, 2}, {1, 3}, {2, 3}}, .hosts = {1, 1, 0, 0}}.make();
    const MaskedTopology masked = mask_drained(square, united(one_switch(square, 2), one_switch(square, 3)));
    EXPECT_EQ(degree(masked.topology, 2), 1U);
    EXPECT_EQ(degree(masked.topology, 3), 1U);
    EXPECT_EQ(masked.topology.switches[2].peers[1].index, 0U);
    EXPECT_EQ(masked.topology.switches[3].peers[1].index, 1U);
}

/// Each engine where it is at home.
TEST(Drained, NoEngineCrossesAndEachStillServes) {
    const std::vector<std::pair<std::string, std::string>> homes{
        {"minhop", "fat-tree:radix=8,levels=2"}, {"updn", "fat-tree:radix=8,levels=3"},
        {"dnup", "fat-tree:radix=4,levels=3"},   {"ftree", "fat-tree:radix=8,levels=3"},
        {"dfsssp", "fat-tree:radix=8,levels=2"}, {"nue", "fat-tree:radix=8,levels=2"},
        {"lash", "fat-tree:radix=4,levels=2"}};
    for (const auto& [engine, spec] : homes) {
        SCOPED_TRACE(engine + " on " + spec);
        const Topology topology = generated(spec);
        const Elements spine = one_switch(topology, spare_switch(topology, 3));
        const Routes before = routes_of(engine, topology);
        EXPECT_NE(ways_across(topology, before, spine), 0U) << "or there is nothing to be drained";
        const Routes after = drained_routes(engine, topology, &before, {spine, {}});
        EXPECT_EQ(ways_across(topology, after, spine), 0U);
        expect_safe(topology, after);
    }
}

/// A switch with hosts, by force: its hosts are reached, and nobody else's traffic crosses it.
TEST(Drained, ByForceOnlyItsOwnHostsCross) {
    for (const auto& [engine, spec] :
         std::vector<std::pair<std::string, std::string>>{{"torus-2qos", "torus:4x4,hosts=1"},
                                                          {"dfsssp", "torus:4x4,hosts=1"},
                                                          {"nue", "torus:4x4,hosts=1"},
                                                          {"updn", "torus:4x4,hosts=1"},
                                                          {"dor", "mesh:4x4,hosts=1"}}) {
        SCOPED_TRACE(engine + " on " + spec);
        const Topology topology = generated(spec);
        const Elements one = one_switch(topology, 5);
        RouteOptions options;
        options.engines = {engine, "nue"};
        options.drained = {one, {}};
        const auto outcome = route(topology, nullptr, options);
        ASSERT_TRUE(outcome) << outcome.error().message;
        EXPECT_EQ(outcome->verdict.unreachable_pairs, 0U);
        EXPECT_EQ(ways_across(topology, outcome->routes, one), 2U * 15U) << "to its host and back";
    }
}

TEST(Drained, RandomFabricsKeepEveryPair) {
    unsigned drained_some = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        SCOPED_TRACE(seed);
        const Topology topology = random_fabric(seed, 8, 8).make();
        const Routes before = routes_of("updn", topology);
        Elements elements;
        if (const std::uint32_t at = spare_switch(topology, seed); at != kNoIndex) {
            elements = one_switch(topology, at);
        }
        // And a cable that nobody needs then.
        for (std::uint32_t at = 0; at < topology.switches.size(); ++at) {
            Elements cable;
            cable.add(SwitchPort{topology.switches[at].guid, mad::PortNum{1}});
            if (losses(topology, united(elements, cable)).cut_off.empty()) {
                elements = united(elements, cable);
                break;
            }
        }
        drained_some += elements.empty() ? 0U : 1U;
        const Routes after = drained_routes("updn", topology, &before, {elements, {}});
        EXPECT_EQ(ways_across(topology, after, elements), 0U);
        expect_safe(topology, after);
    }
    EXPECT_GT(drained_some, 20U);
}

/// Of earlier entries only those move that lead onto what is drained.
TEST(Drained, OtherEntriesStay) {
    for (const char* engine : {"minhop", "updn", "ftree"}) {
        SCOPED_TRACE(engine);
        const Topology topology = generated("fat-tree:radix=8,levels=2");
        const std::uint32_t spine = spare_switch(topology, 1);
        const Routes before = routes_of(engine, topology);
        const Routes after = drained_routes(engine, topology, &before, {one_switch(topology, spine), {}});
        unsigned moved = 0;
        for (std::uint32_t at = 0; at < topology.switches.size(); ++at) {
            const auto& peers = topology.switches[at].peers;
            for (const TopologyEndPort& end : topology.end_ports) {
                const std::uint8_t was = before.port(SwitchIndex{at}, end.lids.base);
                const bool onto = was < peers.size() && peers[was].kind == PortPeer::Kind::switch_ &&
                                  peers[was].index == spine;
                moved += onto ? 1U : 0U;
                if (at != spine) {  // its own way is another matter
                    EXPECT_EQ(after.port(SwitchIndex{at}, end.lids.base) == was, !onto)
                        << at << ": " << end.name;
                }
            }
        }
        EXPECT_GT(moved, 0U);
    }
}

/// Out of service and back: the others' tables do not change by a byte.
TEST(Drained, TakingItAwayCostsTheOthersNothing) {
    for (const char* engine : {"minhop", "updn", "ftree", "dfsssp", "nue", "lash"}) {
        SCOPED_TRACE(engine);
        const Topology topology = generated("fat-tree:radix=4,levels=2");
        const std::uint32_t spine = spare_switch(topology, 1);
        ASSERT_NE(topology.switches[spine].lids.base.value(), topology.max_lid) << "else rows get shorter";
        const Drained drained{one_switch(topology, spine), {}};
        const Routes before = routes_of(engine, topology);
        const Routes out = drained_routes(engine, topology, &before, drained);
        const Topology left = without(topology, drained.elements);
        const Drained away{drained.elements, {topology.switches[spine].lids}};
        const Routes gone = drained_routes(engine, left, &out, away);
        const Routes expected = in_order_of(left, out);
        for (std::size_t at = 0; at < left.switches.size(); ++at) {
            EXPECT_EQ(*gone.rows[at], *expected.rows[at]) << left.switches[at].name;
        }
        const Routes back = drained_routes(engine, topology, &gone, drained);
        for (std::size_t at = 0; at < topology.switches.size(); ++at) {
            if (at != spine) {
                EXPECT_EQ(*back.rows[at], *out.rows[at]) << topology.switches[at].name;
            }
        }
    }
}

TEST(Drained, TablesFromAFileAreSaidToCross) {
    const Topology topology = generated("fat-tree:radix=4,levels=2");
    const Elements spine = one_switch(topology, spare_switch(topology, 1));
    const Routes plain = routes_of("updn", topology);
    const MaskedTopology masked = mask_drained(topology, spine);
    EXPECT_NE(crossings(topology, masked.topology, plain).find("takes no heed of what is drained"),
              std::string::npos);
    const Routes heeding = drained_routes("updn", topology, nullptr, {spine, {}});
    EXPECT_EQ(crossings(topology, masked.topology, heeding), "");
}

TEST(Drained, TheResultDoesNotDependOnThreads) {
    const Topology topology = generated("fat-tree:radix=8,levels=3");
    const Elements spine = one_switch(topology, spare_switch(topology, 2));
    std::set<std::uint64_t> hashes;
    for (const unsigned threads : {1U, 2U, 5U}) {
        RouteOptions options;
        options.engines = {"ftree"};
        options.threads = threads;
        options.drained = {spine, {}};
        hashes.insert(route(topology, nullptr, options)->routes.hash());
    }
    EXPECT_EQ(hashes.size(), 1U);
}

TEST(Quality, LinkLoadsAreThoseOfTheFigures) {
    const Topology topology = generated("fat-tree:radix=8,levels=2");
    const Routes routes = routes_of("minhop", topology);
    const auto hosts = hosts_of(topology);
    const auto loads = link_loads(topology, routes, hosts, 2);
    const Quality quality = measure_quality(topology, routes, hosts, 2);
    std::uint64_t worst = 0;
    double sum = 0;
    for (const LinkLoad& load : loads) {
        worst = std::max(worst, load.flows);
        sum += static_cast<double>(load.flows);
        EXPECT_EQ(topology.switches[load.from.value()].peers[load.port.value()].kind,
                  PortPeer::Kind::switch_);
    }
    EXPECT_EQ(worst, quality.max_link_load);
    EXPECT_DOUBLE_EQ(sum / static_cast<double>(loads.size()), quality.mean_link_load);
}

}  // namespace
}  // namespace ibf::routing::test
