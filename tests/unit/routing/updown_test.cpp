// Up/down hops against their definition, and evaluations that build on earlier ones.
#include "routing/updown.hpp"

#include <algorithm>
#include <numeric>

#include "engine_fixtures.hpp"

namespace ibf::routing::test {
namespace {

UpDownOrder random_order(std::uint32_t switches, base::Prng& prng) {
    UpDownOrder order;
    order.position.resize(switches);
    std::iota(order.position.begin(), order.position.end(), 0U);
    prng.shuffle(order.position);
    return order;
}

/// The shortest path that goes up, then down; whoever can go down does. -1: none.
struct PlainHops {
    std::vector<std::vector<int>> down;
    std::vector<std::vector<int>> whole;
};

PlainHops plain_hops(const Graph& graph, const UpDownOrder& order) {
    const std::uint32_t count = graph.switch_count();
    std::vector<std::uint32_t> by_position(count);
    for (std::uint32_t at = 0; at < count; ++at) {
        by_position[order.position[at]] = at;
    }
    PlainHops hops{std::vector(count, std::vector<int>(count, -1)),
                   std::vector(count, std::vector<int>(count, -1))};
    const auto shorten = [](int& mine, int peer) {
        mine = peer >= 0 && (mine < 0 || peer + 1 < mine) ? peer + 1 : mine;
    };
    for (std::uint32_t to = 0; to < count; ++to) {
        hops.down[to][to] = 0;
        for (auto at = by_position.rbegin(); at != by_position.rend(); ++at) {
            for (const PortGroup& group : graph.groups_of(*at)) {
                if (!order.is_up(*at, group.peer)) {
                    shorten(hops.down[*at][to], hops.down[group.peer][to]);
                }
            }
        }
        for (const std::uint32_t at : by_position) {
            for (const PortGroup& group : graph.groups_of(at)) {
                if (order.is_up(at, group.peer)) {
                    shorten(hops.whole[at][to], hops.whole[group.peer][to]);
                }
            }
            hops.whole[at][to] = hops.down[at][to] >= 0 ? hops.down[at][to] : hops.whole[at][to];
        }
    }
    return hops;
}

void expect_equal(const ByteMatrix& bytes, const std::vector<std::vector<int>>& plain) {
    for (std::uint32_t at = 0; at < plain.size(); ++at) {
        for (std::uint32_t to = 0; to < plain.size(); ++to) {
            const int hops = bytes.row(at)[to] == kUnreached ? -1 : int{bytes.row(at)[to]};
            ASSERT_EQ(hops, plain[at][to]) << at << " to " << to;
        }
    }
}

TEST(UpDown, HopsEqualTheirDefinition) {
    for (const std::uint32_t switches : {1U, 5U, 63U, 64U, 65U, 200U}) {
        base::Prng prng(switches);
        const Topology topology =
            FabricMaker{.switches = switches, .links = random_links(switches, switches / 2, switches)}.make();
        const auto graph = std::make_shared<const Graph>(make_graph(topology, {}));
        const UpDownOrder order = random_order(switches, prng);
        const auto step = up_down_step(graph, order, nullptr, 2);
        ASSERT_TRUE(step);
        EXPECT_FALSE(step->changes);
        const PlainHops plain = plain_hops(*graph, order);
        expect_equal(step->now->down, plain.down);
        expect_equal(step->now->whole, plain.whole);
    }
}

void expect_same_rows(const ByteMatrix& a, const ByteMatrix& b, std::uint32_t count) {
    for (std::uint32_t at = 0; at < count; ++at) {
        ASSERT_TRUE(std::equal(a.row(at), a.row(at) + count, b.row(at))) << at;
    }
}

/// Every line that differs is told; what is told may be more.
void expect_changes_told(const UpDown& before, const UpDownStep& step, std::uint32_t count) {
    for (std::uint32_t at = 0; at < count; ++at) {
        for (std::uint32_t to = 0; to < count; ++to) {
            const auto told = [&](const LineBits& bits) {
                return (bits.row(at)[to / 64 / 64] >> (to / 64) & 1U) != 0;
            };
            EXPECT_TRUE(before.down.row(at)[to] == step.now->down.row(at)[to] || told(step.changes->down));
            EXPECT_TRUE(before.whole.row(at)[to] == step.now->whole.row(at)[to] || told(step.changes->whole));
        }
    }
}

TEST(UpDown, AStepGivesWhatAFullEvaluationGives) {
    constexpr std::uint32_t kSwitches = 150;
    unsigned steps = 0;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        base::Prng prng(seed);
        Topology topology =
            FabricMaker{.switches = kSwitches, .links = random_links(kSwitches, 200, seed)}.make();
        UpDownOrder order = random_order(kSwitches, prng);
        order.rank.assign(kSwitches, 0);
        order.reach.assign(kSwitches, 2);
        for (std::uint32_t& rank : order.rank) {
            rank = static_cast<std::uint32_t>(prng.below(4));  // a quarter of the links down is spare
        }
        auto last = up_down_step(std::make_shared<const Graph>(make_graph(topology, {})), order, nullptr, 1);
        ASSERT_TRUE(last);
        for (int event = 0; event < 8 && !::testing::Test::HasFailure(); ++event) {
            topology = without_links(std::move(topology), 1, prng);
            std::swap(order.position[prng.below(kSwitches)], order.position[prng.below(kSwitches)]);
            const auto graph = std::make_shared<const Graph>(make_graph(topology, {}));
            const auto anew = up_down_step(graph, order, nullptr, 1);
            auto step = up_down_step(graph, order, last->now.get(), 1);
            ASSERT_TRUE(anew && step);
            expect_same_rows(step->now->down, anew->now->down, kSwitches);
            expect_same_rows(step->now->whole, anew->now->whole, kSwitches);
            EXPECT_EQ(step->now->needs_spares, anew->now->needs_spares);
            if (step->changes) {
                ++steps;
                expect_changes_told(*last->now, *step, kSwitches);
            }
            last = std::move(step);
        }
    }
    EXPECT_GT(steps, 20U);  // where a link was a bridge the components differ: worked out anew
}

}  // namespace
}  // namespace ibf::routing::test
