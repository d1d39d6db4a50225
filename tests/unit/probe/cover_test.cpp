#include "probe/cover.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "probe_fixtures.hpp"

namespace ibf::probe::test {
namespace {

using routing::test::FabricMaker;
using routing::test::generated;
using routing::test::routes_of;

struct Case {
    const char* spec;
    const char* engine;
};

/// What the flows of a cover cross, hop by hop.
Links crossed_by(const Cover& cover, const Topology& topology, const Routes& routes) {
    Links crossed;
    for (const Flow& flow : cover.flows) {
        crossed.merge(links_of(topology, routes, flow.from, flow.to, flow.lid));
    }
    return crossed;
}

Links as_set(const std::vector<DirectedLink>& links) {
    Links out;
    for (const DirectedLink& link : links) {
        out.insert({link.from.value(), link.port.value()});
    }
    return out;
}

/// Judged by walking every pair.
void expect_whole(const Cover& cover, const Topology& topology, const Routes& routes,
                  const std::vector<EndPortIndex>& hosts) {
    const Links possible = all_of(paths_among(topology, routes, hosts));
    const Links links = switch_links(topology);
    EXPECT_EQ(crossed_by(cover, topology, routes), possible);
    EXPECT_EQ(cover.crossed, possible.size());
    EXPECT_EQ(cover.links, links.size());
    Links expected_uncrossed;
    std::set_difference(links.begin(), links.end(), possible.begin(), possible.end(),
                        std::inserter(expected_uncrossed, expected_uncrossed.end()));
    EXPECT_EQ(as_set(cover.uncrossed), expected_uncrossed);
    EXPECT_LE(cover.lower_bound, cover.flows.size());
    EXPECT_EQ(cover.lower_bound == 0, possible.empty());
    std::map<Link, unsigned> crossings;
    for (const Flow& flow : cover.flows) {
        for (const Link& link : links_of(topology, routes, flow.from, flow.to, flow.lid)) {
            ++crossings[link];
        }
    }
    for (const Flow& flow : cover.flows) {
        const Links own = links_of(topology, routes, flow.from, flow.to, flow.lid);
        EXPECT_TRUE(std::any_of(own.begin(), own.end(), [&](const Link& link) {
            return crossings[link] == 1;
        })) << "superfluous";
        EXPECT_NE(std::find(hosts.begin(), hosts.end(), flow.from), hosts.end());
        EXPECT_NE(std::find(hosts.begin(), hosts.end(), flow.to), hosts.end());
    }
}

/// The fewest paths that cross all that any crosses: by trying all.
class Fewest {
public:
    explicit Fewest(const std::set<Links>& paths) {
        std::map<Link, unsigned> numbers;
        for (const Link& link : all_of(paths)) {
            const auto number = static_cast<unsigned>(numbers.size());
            numbers[link] = number;
        }
        for (const Links& path : paths) {
            std::uint32_t mask = 0;
            for (const Link& link : path) {
                mask |= 1U << numbers[link];
            }
            masks_.push_back(mask);
        }
        known_.assign(std::size_t{1} << numbers.size(), kUnknown);
    }
    [[nodiscard]] unsigned count() { return left(static_cast<std::uint32_t>(known_.size()) - 1); }

private:
    static constexpr unsigned kUnknown = ~0U;

    /// For the links of that mask. Some path has to cross the lowest of them.
    unsigned left(std::uint32_t open) {
        if (open == 0) {
            return 0;
        }
        if (known_[open] == kUnknown) {
            const std::uint32_t lowest = open & (~open + 1);
            unsigned best = kUnknown;
            for (const std::uint32_t mask : masks_) {
                best = (mask & lowest) != 0 ? std::min(best, 1 + left(open & ~mask)) : best;
            }
            known_[open] = best;
        }
        return known_[open];
    }

    std::vector<std::uint32_t> masks_;
    std::vector<unsigned> known_;
};

class Covers : public ::testing::TestWithParam<Case> {};

TEST_P(Covers, CrossWhateverAnyPairCrosses) {
    const Topology topology = generated(GetParam().spec);
    const Routes routes = routes_of(GetParam().engine, topology);
    const auto hosts = all_hosts(topology);
    const Cover cover = cover_links(topology, routes, hosts, 2);
    expect_whole(cover, topology, routes, hosts);
    EXPECT_LT(cover.flows.size(), hosts.size() * hosts.size() / 2);

    const std::vector<EndPortIndex> some(hosts.begin(), hosts.begin() + static_cast<long>(hosts.size() / 3));
    expect_whole(cover_links(topology, routes, some, 2), topology, routes, some);
}

TEST_P(Covers, AreTheSameWhoeverComputesThemAndInWhateverOrderHostsAreNamed) {
    const Topology topology = generated(GetParam().spec);
    const Routes routes = routes_of(GetParam().engine, topology);
    std::vector<EndPortIndex> hosts = all_hosts(topology);
    const Cover cover = cover_links(topology, routes, hosts, 1);
    base::Prng prng(5);
    for (const unsigned threads : {2U, 5U}) {
        prng.shuffle(hosts);
        hosts.push_back(hosts.front());  // named twice
        const Cover again = cover_links(topology, routes, hosts, threads);
        EXPECT_EQ(again.flows, cover.flows);
        EXPECT_EQ(again.lower_bound, cover.lower_bound);
        EXPECT_EQ(again.uncrossed, cover.uncrossed);
    }
}

INSTANTIATE_TEST_SUITE_P(
    Fabrics, Covers,
    ::testing::Values(Case{"fat-tree:radix=8,levels=2", "ftree"}, Case{"fat-tree:radix=4,levels=3", "minhop"},
                      Case{"fat-tree:radix=4,levels=3", "updn"}, Case{"torus:4x4,hosts=2", "dor"},
                      Case{"torus:3x3x3,hosts=1", "nue"}, Case{"dragonfly:a=4,p=2,h=2,g=9", "minhop"}));

// Leaves 0 and 1 with two hosts each, spines 2 and 3: eight link directions, two a path. Each spine carries
// one host of each leaf, so four flows do, and no three can.
TEST(Cover, OfTwoLeavesAndTwoSpinesIsFourFlows) {
    const Topology topology =
        FabricMaker{.switches = 4, .links = {{0, 2}, {0, 3}, {1, 2}, {1, 3}}, .hosts = {2, 2, 0, 0}}.make();
    const Routes routes = routes_of("minhop", topology);
    const Cover cover = cover_links(topology, routes, all_hosts(topology), 1);
    EXPECT_EQ(cover.links, 8U);
    EXPECT_EQ(cover.crossed, 8U);
    EXPECT_EQ(cover.flows.size(), 4U);
    EXPECT_EQ(cover.lower_bound, 4U);
    std::map<EndPortIndex, unsigned> sent;
    for (const Flow& flow : cover.flows) {
        ++sent[flow.from];
    }
    EXPECT_EQ(sent.size(), 4U) << "each host of a leaf sends once";
}

// The cable between the spines is in no path.
TEST(Cover, LinksThatNoPairCrossesAreNamed) {
    const Topology topology = FabricMaker{
        .switches = 4,
        .links = {{0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}},
        .hosts = {2, 2, 0, 0}}.make();
    const Cover cover = cover_links(topology, routes_of("minhop", topology), all_hosts(topology), 1);
    EXPECT_EQ(cover.links, 10U);
    EXPECT_EQ(cover.crossed, 8U);
    EXPECT_EQ(as_set(cover.uncrossed), (Links{{2, 3}, {3, 3}}));
}

TEST(Cover, WhereThereIsNothingToCrossThereIsNoFlow) {
    const Topology star = FabricMaker{.switches = 1, .links = {}, .hosts = {4}}.make();
    EXPECT_TRUE(cover_links(star, routes_of("minhop", star), all_hosts(star), 1).flows.empty());
    const Topology pair = FabricMaker{.switches = 2, .links = {{0, 1}}, .hosts = {1, 1}}.make();
    const Cover nobody = cover_links(pair, routes_of("minhop", pair), {}, 1);
    EXPECT_TRUE(nobody.flows.empty());
    EXPECT_EQ(nobody.lower_bound, 0U);
    EXPECT_EQ(nobody.uncrossed.size(), 2U);
}

// With two LIDs a port, the second leads another way: both are candidates.
TEST(Cover, EveryLidOfAPortIsTried) {
    const Topology topology =
        FabricMaker{.switches = 4, .links = {{0, 2}, {0, 3}, {1, 2}, {1, 3}}, .hosts = {1, 1, 0, 0}, .lmc = 1}
            .make();
    const Routes routes = routes_of("minhop", topology);
    const auto hosts = all_hosts(topology);
    const Cover cover = cover_links(topology, routes, hosts, 1);
    expect_whole(cover, topology, routes, hosts);
    EXPECT_EQ(cover.crossed, 8U);
    EXPECT_EQ(cover.flows.size(), 4U);
}

// Paths that do not arrive are no candidates, and break nothing.
TEST(Cover, BrokenTablesAreNoTrouble) {
    const Topology topology = generated("fat-tree:radix=4,levels=3");
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        Routes routes = routes_of("minhop", topology);
        base::Prng prng(seed);
        for (auto& row : routes.rows) {
            auto spoilt = std::make_shared<routing::LftRow>(*row);
            for (int i = 0; i < 3; ++i) {
                (*spoilt)[prng.below(spoilt->size())] = static_cast<std::uint8_t>(prng.below(6));
            }
            row = spoilt;
        }
        routes.rows[prng.below(routes.rows.size())] = nullptr;
        const auto hosts = all_hosts(topology);
        expect_whole(cover_links(topology, routes, hosts, 1), topology, routes, hosts);
    }
}

// Greed costs at most the harmonic number of the longest path (Chvatal 1979); here it is near nothing. And no
// lower bound is above what is possible.
TEST(Cover, IsHardlyMoreThanTheFewestFlows) {
    unsigned fewest_of_all = 0;
    std::size_t flows_of_all = 0;
    unsigned tried = 0;
    for (std::uint64_t seed = 1; tried < 60 && seed < 2'000; ++seed) {
        base::Prng prng(seed);
        FabricMaker maker;
        maker.switches = static_cast<unsigned>(4 + prng.below(3));
        maker.links = routing::test::random_links(maker.switches, static_cast<unsigned>(prng.below(3)), seed);
        for (unsigned at = 0; at < maker.switches; ++at) {
            maker.hosts.push_back(static_cast<unsigned>(prng.below(3)));
        }
        const Topology topology = maker.make();
        const Routes routes = routes_of("updn", topology);
        const auto hosts = all_hosts(topology);
        const std::set<Links> paths = paths_among(topology, routes, hosts);
        const std::size_t links = all_of(paths).size();
        if (links == 0 || links > 16) {
            continue;
        }
        ++tried;
        const Cover cover = cover_links(topology, routes, hosts, 1);
        expect_whole(cover, topology, routes, hosts);
        const unsigned fewest = Fewest(paths).count();
        std::size_t longest = 0;
        for (const Links& path : paths) {
            longest = std::max(longest, path.size());
        }
        double harmonic = 0;
        for (std::size_t i = 1; i <= longest; ++i) {
            harmonic += 1.0 / static_cast<double>(i);
        }
        EXPECT_LE(cover.lower_bound, fewest) << seed;
        EXPECT_GE(cover.flows.size(), fewest) << seed;
        EXPECT_LE(static_cast<double>(cover.flows.size()), harmonic * fewest + 1e-9) << seed;
        fewest_of_all += fewest;
        flows_of_all += cover.flows.size();
    }
    EXPECT_EQ(tried, 60U);
    EXPECT_LE(static_cast<double>(flows_of_all), 1.1 * fewest_of_all);
}

}  // namespace
}  // namespace ibf::probe::test
