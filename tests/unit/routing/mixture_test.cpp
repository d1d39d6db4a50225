// Old and new tables together: a ring is found where a slow count finds one, and nowhere else.
#include "routing/mixture.hpp"

#include <fmt/format.h>

#include "base/prng.hpp"
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

/// Holds mixed_ring() against the slow count, and counts both answers.
class Count {
public:
    void compare(const Topology& topology, const Routes& old, const Routes& fresh, std::uint64_t seed) {
        const auto ring = mixed_ring(topology, old, fresh, seed % 2 == 0 ? 1U : 2U);
        const bool cyclic = SlowMix(topology, old, fresh).cyclic();
        EXPECT_EQ(!ring.empty(), cyclic) << "seed " << seed;
        expect_ring(ring);
        (cyclic ? rings_ : none_) += 1;
    }
    void expect_both(unsigned least) const {
        EXPECT_GT(rings_, least);
        EXPECT_GT(none_, least);
    }

private:
    unsigned rings_ = 0;
    unsigned none_ = 0;
};

// Each of two tables is free of credit loops, and both together need not be.
TEST(Mixture, OfOneLaneHasARingWhereASlowCountHasOne) {
    Count count;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        const Topology topology = some_fabric(seed);
        count.compare(topology, rooted(topology, seed), rooted(topology, seed / 7 + seed), seed);
    }
    count.expect_both(3);
}

TEST(Mixture, OfSeveralLanesHasARingWhereASlowCountHasOne) {
    Count count;
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
        count.compare(topology, back ? plain : *layered, back ? *layered : plain, seed);
    }
    count.expect_both(3);
}

/// Entries that lead anywhere, at owners of LIDs too: hosts that moved, and whatever another SM had written.
Routes disturbed(const Topology& topology, const Routes& routes, std::uint64_t seed, std::uint64_t entries) {
    base::Prng prng(seed);
    Routes out = routes;
    for (std::uint64_t i = 0; i < entries; ++i) {
        const auto at = static_cast<std::uint32_t>(prng.below(topology.switches.size()));
        const std::uint64_t lid = 1 + prng.below(topology.max_lid);
        const std::uint64_t port = 1 + prng.below(topology.switches[at].num_ports);
        LftRow row = *out.rows[at];
        row[lid] = static_cast<std::uint8_t>(port);
        out.rows[at] = std::make_shared<const LftRow>(std::move(row));
    }
    return out;
}

TEST(Mixture, WithAnyTablesHasARingWhereASlowCountHasOne) {
    Count count;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        const Topology topology = some_fabric(seed);
        const Routes fresh = rooted(topology, seed);
        count.compare(topology, disturbed(topology, fresh, seed, 1 + seed % 12), fresh, seed);
    }
    count.expect_both(10);
}

// Tables of another SM: nobody knows the SLs. They are not taken for SL 0, on which layered tables loop.
TEST(Mixture, OfTheSameEntriesWithUnknownLanesIsNoChange) {
    unsigned layered = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const Topology topology = some_fabric(seed);
        RouteOptions options;
        options.engines = {"dfsssp"};
        const auto first = route(topology, nullptr, options);
        ASSERT_TRUE(first);
        layered += first->routes.vls > 1 ? 1 : 0;
        Routes found = first->routes;
        found.engine.clear();
        found.sls.clear();
        found.proof = nullptr;
        EXPECT_FALSE(knows_lanes(found));
        const auto again = route(topology, &found, options, &found);
        ASSERT_TRUE(again);
        EXPECT_TRUE(again->verdict.transit_loop.empty()) << seed;
        EXPECT_TRUE(same_lanes(first->routes, first->routes));
        EXPECT_EQ(same_lanes(found, first->routes), first->routes.sls.empty()) << seed;
    }
    EXPECT_GT(layered, 3U);
}

TEST(Mixture, TakesMapsOfASwitchThatHadFewerPorts) {
    const Topology topology = some_fabric(2);
    const Routes fresh = rooted(topology, 2);
    Routes old = rooted(topology, 4);
    LaneMap small;
    small.input_class = {0, 0};
    small.exit_class = {0, 0};
    small.tables.resize(1);
    small.tables[0].fill(1);
    old.lane_maps.assign(topology.switches.size(), std::make_shared<const LaneMap>(small));
    static_cast<void>(mixed_ring(topology, old, fresh, 1));  // reads nothing that is not there
    EXPECT_FALSE(same_lanes(old, fresh));
}

TEST(Mixture, RowsThatEndEarlierAreTheSame) {
    const Topology topology = some_fabric(1);
    const Routes routes = rooted(topology, 1);
    Routes longer = routes;
    for (auto& row : longer.rows) {
        LftRow copy = *row;
        copy.resize(copy.size() + 640, mad::kLftDrop);
        row = std::make_shared<const LftRow>(std::move(copy));
    }
    EXPECT_TRUE(same_entries(longer, routes));
    EXPECT_TRUE(same_entries(routes, longer));
    longer = disturbed(topology, longer, 1, 20);
    EXPECT_FALSE(same_entries(longer, routes));
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
