// The dependency order against a plain search over all dependencies in use.
#include "routing/channel_order.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "engine_fixtures.hpp"

namespace ibf::routing::test {
namespace {

using Dependency = std::pair<std::uint32_t, std::uint32_t>;

/// True if `from` leads to `to`.
bool leads(const std::set<Dependency>& in_use, std::uint32_t from, std::uint32_t to) {
    std::set<std::uint32_t> seen{from};
    std::vector<std::uint32_t> open{from};
    while (!open.empty()) {
        const std::uint32_t at = open.back();
        open.pop_back();
        if (at == to) {
            return true;
        }
        for (auto it = in_use.lower_bound({at, 0}); it != in_use.end() && it->first == at; ++it) {
            if (seen.insert(it->second).second) {
                open.push_back(it->second);
            }
        }
    }
    return false;
}

struct Maze {
    explicit Maze(Topology of) : topology(std::move(of)) {}

    Topology topology;
    Graph graph = make_graph(topology, {});
    Channels channels{topology, graph};
    std::vector<Dependency> dependencies = {};  ///< all but reversals
};

Maze make_maze(unsigned switches, unsigned extra, std::uint64_t seed) {
    Maze maze(FabricMaker{.switches = switches, .links = random_links(switches, extra, seed)}.make());
    for (std::uint32_t c = 0; c < maze.channels.count(); ++c) {
        const std::uint32_t at = maze.channels.peer(c);
        for (std::uint32_t n = maze.channels.first(at); n < maze.channels.first(at + 1); ++n) {
            if (maze.channels.peer(n) != maze.channels.from(c)) {
                maze.dependencies.emplace_back(c, n);
            }
        }
    }
    return maze;
}

std::vector<std::uint32_t> by_number(const Channels& channels) {
    std::vector<std::uint32_t> order(channels.count());
    std::iota(order.begin(), order.end(), 0U);
    return order;
}

TEST(ChannelOrder, ChannelsAreTheLinksBothWays) {
    const Maze maze = make_maze(9, 12, 3);
    const Channels& channels = maze.channels;
    ASSERT_EQ(channels.count(), maze.graph.ports.size());
    for (std::uint32_t c = 0; c < channels.count(); ++c) {
        const std::uint32_t back = channels.reverse(c);
        EXPECT_EQ(channels.reverse(back), c);
        EXPECT_EQ(channels.from(back), channels.peer(c));
        const PortPeer& peer = maze.topology.switches[channels.from(c)].peers[maze.graph.ports[c]];
        EXPECT_EQ(peer.index, channels.peer(c));
        EXPECT_EQ(peer.port.value(), maze.graph.ports[back]) << "parallel links are told apart";
    }
}

TEST(ChannelOrder, TakesExactlyWhatClosesNoCycle) {
    unsigned refused = 0;
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        Maze maze = make_maze(8, 10, seed);
        base::Prng prng(seed);
        prng.shuffle(maze.dependencies);
        ChannelOrder order(maze.channels, by_number(maze.channels));
        std::set<Dependency> in_use;
        for (const Dependency& d : maze.dependencies) {
            const bool closes = leads(in_use, d.second, d.first);
            ASSERT_EQ(order.add(d.first, d.second), !closes) << "seed " << seed;
            refused += closes ? 1 : 0;
            if (!closes) {
                order.keep(d.first, d.second);
                in_use.insert(d);
                EXPECT_TRUE(order.agrees(d.first, d.second));
            } else {
                EXPECT_TRUE(order.blocked(d.first, d.second)) << "only kept ones are in use";
            }
        }
        for (const auto& [c, n] : in_use) {
            EXPECT_TRUE(order.agrees(c, n)) << "later ones must not upset earlier ones";
        }
    }
    EXPECT_GT(refused, 100U);
}

TEST(ChannelOrder, WhatIsDroppedLeavesNoTrace) {
    unsigned blocked_by_trial = 0;
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        const Maze maze = make_maze(8, 10, seed);
        base::Prng prng(seed);
        ChannelOrder order(maze.channels, by_number(maze.channels));
        std::set<Dependency> kept;
        for (unsigned round = 0; round < 40; ++round) {
            std::set<Dependency> in_use = kept;
            for (unsigned i = 0; i < 6; ++i) {
                const Dependency& d = maze.dependencies[prng.below(maze.dependencies.size())];
                const bool closes = leads(in_use, d.second, d.first);
                ASSERT_EQ(order.add(d.first, d.second), !closes) << "seed " << seed << " round " << round;
                if (!closes) {
                    in_use.insert(d);
                    if (prng.below(4) == 0) {
                        order.keep(d.first, d.second);
                        kept.insert(d);
                    }
                }
                EXPECT_TRUE(!order.blocked(d.first, d.second) || leads(kept, d.second, d.first));
                blocked_by_trial += closes && !leads(kept, d.second, d.first) ? 1 : 0;
            }
            order.drop_to(0);
            EXPECT_EQ(order.trials(), 0U);
        }
    }
    EXPECT_GT(blocked_by_trial, 10U) << "both kinds must occur";
}

TEST(ChannelOrder, DropsBackToAMark) {
    const Topology ring = FabricMaker{.switches = 3, .links = {{0, 1}, {1, 2}, {0, 2}}}.make();
    const Graph graph = make_graph(ring, {});
    const Channels channels(ring, graph);
    const auto channel = [&](std::uint32_t from, std::uint32_t to) {
        std::uint32_t link = channels.first(from);
        while (channels.peer(link) != to) {
            ++link;
        }
        return link;
    };
    ChannelOrder order(channels, by_number(channels));
    // Numbers: 0 to 1, 0 to 2; 1 to 0, 1 to 2; 2 to 0, 2 to 1.
    EXPECT_TRUE(order.ordained(channel(0, 1), channel(1, 2)));
    EXPECT_FALSE(order.ordained(channel(2, 0), channel(0, 1)));
    ASSERT_TRUE(order.add(channel(0, 1), channel(1, 2)));
    const std::size_t mark = order.trials();
    ASSERT_TRUE(order.add(channel(1, 2), channel(2, 0)));
    EXPECT_FALSE(order.add(channel(2, 0), channel(0, 1))) << "once round the ring";
    order.drop_to(mark);
    EXPECT_TRUE(order.add(channel(2, 0), channel(0, 1))) << "the ring is open again";
    EXPECT_TRUE(order.ordained(channel(2, 0), channel(0, 1))) << "in use, whatever the order was";
    EXPECT_FALSE(order.add(channel(1, 2), channel(2, 0))) << "what lies before the mark stayed";
}

}  // namespace
}  // namespace ibf::routing::test
