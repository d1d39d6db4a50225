// An edge is refused exactly if it would close a cycle; edges taken back leave no trace.
#include "routing/turn_order.hpp"

#include <numeric>
#include <set>
#include <utility>

#include <gtest/gtest.h>

#include "base/prng.hpp"

namespace ibf::routing::test {
namespace {

using Edges = std::set<std::pair<std::uint32_t, std::uint32_t>>;

std::vector<std::uint32_t> shuffled(std::uint32_t count, base::Prng& prng) {
    std::vector<std::uint32_t> vertices(count);
    std::iota(vertices.begin(), vertices.end(), 0U);
    prng.shuffle(vertices);
    return vertices;
}

bool leads_to(const Edges& edges, std::uint32_t from, std::uint32_t to) {
    std::set<std::uint32_t> seen{from};
    std::vector<std::uint32_t> open{from};
    while (!open.empty()) {
        const std::uint32_t at = open.back();
        open.pop_back();
        for (const auto& [a, b] : edges) {
            if (a == at && seen.insert(b).second) {
                open.push_back(b);
            }
        }
    }
    return seen.count(to) != 0;
}

TEST(TurnOrder, RefusesExactlyWhatClosesACycle) {
    unsigned refused = 0;
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        base::Prng prng(seed);
        constexpr std::uint32_t kVertices = 25;
        TurnOrder order(shuffled(kVertices, prng));
        Edges edges;
        for (int i = 0; i < 200; ++i) {
            const auto from = static_cast<std::uint32_t>(prng.below(kVertices));
            const auto to = static_cast<std::uint32_t>(prng.below(kVertices));
            if (edges.count({from, to}) != 0) {
                continue;
            }
            const bool closes = leads_to(edges, to, from);
            EXPECT_EQ(order.add(from, to), !closes) << seed;
            if (!closes) {
                edges.emplace(from, to);
            }
            refused += closes ? 1 : 0;
        }
    }
    EXPECT_GT(refused, 100U);
}

TEST(TurnOrder, WhatIsTakenBackMayBeTurnedRound) {
    TurnOrder order({0, 1, 2});
    ASSERT_TRUE(order.add(0, 1));
    ASSERT_TRUE(order.add(1, 2));
    ASSERT_FALSE(order.add(2, 0));
    order.take_back(1, 2);
    EXPECT_TRUE(order.add(2, 0));
    EXPECT_FALSE(order.add(1, 2));
    EXPECT_FALSE(order.add(1, 1));
}

}  // namespace
}  // namespace ibf::routing::test
