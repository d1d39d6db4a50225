// Old and new tables together: a ring is found where a slow count finds one, and nowhere else.
#include "routing/mixture.hpp"

#include <fmt/format.h>

#include "engine_fixtures.hpp"
#include "routing/proof.hpp"
#include "slow_mix.hpp"

namespace ibf::routing::test {
namespace {

/// Seven switches with hosts, and some links more than a tree.
Topology some_fabric(std::uint64_t seed) {
    FabricMaker maker;
    maker.switches = 7;
    maker.links = random_links(7, static_cast<unsigned>(2 + seed % 4), seed);
    return maker.make();
}

Routes rooted(const Topology& topology, std::uint64_t root) {
    RouteOptions options;
    options.root_guids = {topology.switches[root % topology.switches.size()].guid};
    return *run_engine("updn", topology, nullptr, options);
}

void expect_ring(const std::vector<ChannelStep>& ring) {
    for (std::size_t i = 0; i < ring.size(); ++i) {
        EXPECT_EQ(ring[i].peer, ring[(i + 1) % ring.size()].node);
    }
}

// Each of two tables is free of credit loops, and both together need not be.
TEST(Mixture, OfOneLaneHasARingWhereASlowCountHasOne) {
    unsigned rings = 0;
    unsigned none = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        const Topology topology = some_fabric(seed);
        const Routes old = rooted(topology, seed);
        const Routes fresh = rooted(topology, seed / 7 + seed);
        const auto ring = mixed_ring(topology, old, fresh, 1);
        const bool cyclic = SlowMix(topology, old, fresh).cyclic();
        EXPECT_EQ(!ring.empty(), cyclic) << "seed " << seed;
        expect_ring(ring);
        (cyclic ? rings : none) += 1;
    }
    EXPECT_GT(rings, 3U);
    EXPECT_GT(none, 3U);
}

TEST(Mixture, OfSeveralLanesHasARingWhereASlowCountHasOne) {
    unsigned rings = 0;
    unsigned none = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        const Topology topology = some_fabric(seed);
        RouteOptions options;
        options.vls_max = 4;
        const auto layered = run_engine(seed % 3 == 0 ? "nue" : "dfsssp", topology, nullptr, options);
        if (!layered) {
            continue;
        }
        const Routes plain = rooted(topology, seed);
        const bool back = seed % 2 == 0;
        const Routes& old = back ? plain : *layered;
        const Routes& fresh = back ? *layered : plain;
        const auto ring = mixed_ring(topology, old, fresh, 2);
        const bool cyclic = SlowMix(topology, old, fresh).cyclic();
        EXPECT_EQ(!ring.empty(), cyclic) << "seed " << seed;
        expect_ring(ring);
        (cyclic ? rings : none) += 1;
    }
    EXPECT_GT(rings, 3U);
    EXPECT_GT(none, 3U);
}

TEST(Mixture, OfEqualTablesIsTheTables) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        const Topology topology = some_fabric(seed);
        const Routes routes = rooted(topology, seed);
        EXPECT_TRUE(mixed_ring(topology, routes, routes, 1).empty());
        EXPECT_TRUE(same_entries(routes, routes));
    }
}

TEST(Mixture, OfAChangeIsNoMoreThanItsProofLooksAt) {
    unsigned seen = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        const Topology topology = some_fabric(seed);
        Routes old = rooted(topology, seed);
        old.proof = prove(topology, old, nullptr, 1).proof;
        const Routes fresh = rooted(topology, seed + 1);
        const Proven change = prove(topology, fresh, old.proof.get(), 1);
        if (change.mixture_seen) {
            ++seen;
            EXPECT_EQ(change.verdict.transit_loop.empty(), mixed_ring(topology, old, fresh, 1).empty())
                << "seed " << seed;
        }
    }
    EXPECT_GT(seen, 3U);
}

// Rows that are not known forward nothing; SLs that nobody said are 0.
TEST(Mixture, TakesTablesThatAreKnownInPart) {
    const Topology topology = some_fabric(3);
    const Routes fresh = rooted(topology, 3);
    for (std::uint64_t other = 0; other < 7; ++other) {
        Routes old = rooted(topology, other);
        std::fill(old.rows.begin(), old.rows.end(), nullptr);
        EXPECT_TRUE(mixed_ring(topology, old, fresh, 1).empty());
        EXPECT_TRUE(same_entries(old, fresh));
    }
    EXPECT_FALSE(same_entries(rooted(topology, 0), rooted(topology, 5)));
}

// The one routing function tells of the ring whether or not the old tables had a proof, and says nothing
// where what switches hold is what is wanted.
TEST(Mixture, IsToldByTheRoutingFunction) {
    unsigned told = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        const Topology topology = some_fabric(seed);
        const Routes old = rooted(topology, seed);
        RouteOptions options;
        options.engines = {"updn"};
        options.root_guids = {topology.switches[(seed / 7 + seed) % 7].guid};
        const auto outcome = route(topology, nullptr, options, &old);
        ASSERT_TRUE(outcome);
        EXPECT_EQ(outcome->verdict.transit_loop.empty(), !SlowMix(topology, old, outcome->routes).cyclic());
        told += outcome->verdict.transit_loop.empty() ? 0 : 1;
        const auto again = route(topology, &outcome->routes, options, &outcome->routes);
        EXPECT_TRUE(again->verdict.transit_loop.empty());
    }
    EXPECT_GT(told, 3U);
}

}  // namespace
}  // namespace ibf::routing::test
