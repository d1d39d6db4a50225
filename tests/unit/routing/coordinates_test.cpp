// Grids found from the switch graph alone, whole, scrambled and damaged; and what is none.
#include <algorithm>
#include <map>

#include "grid_fixtures.hpp"
#include "routing/coordinates.hpp"

namespace ibf::routing::test {
namespace {

base::Result<Grids> grids_of(const Topology& topology) {
    return find_grids(topology, make_graph(topology, {}));
}

Grid only_grid(const Topology& topology) {
    const auto grids = grids_of(topology);
    EXPECT_TRUE(grids) << (grids ? "" : grids.error().message);
    EXPECT_EQ(grids ? grids->grids.size() : 0, 1U);
    return grids ? grids->grids.front() : Grid{{}, {kNoIndex}};
}

std::string reason(const Topology& topology) {
    const auto grids = grids_of(topology);
    return grids ? std::string("is a grid") : grids.error().message;
}

/// Kinds and sizes, sorted: the order of dimensions is a matter of GUIDs.
std::multiset<std::pair<LineKind, std::uint32_t>> dimensions_of(const Grid& grid) {
    std::multiset<std::pair<LineKind, std::uint32_t>> all;
    for (const Dimension& dimension : grid.dimensions) {
        all.emplace(dimension.kind, dimension.size);
    }
    return all;
}

/// Every switch has its place, and coordinates tell cables from strangers: exactly neighbours are cabled.
void expect_coordinates(const Topology& topology, const Grid& grid) {
    std::vector<std::uint32_t> position(topology.switches.size(), kNoIndex);
    for (std::uint32_t at = 0; at < grid.switches.size(); ++at) {
        if (grid.switches[at] != kNoIndex) {
            position[grid.switches[at]] = at;
        }
    }
    for (std::uint32_t at = 0; at < topology.switches.size(); ++at) {
        ASSERT_NE(position[at], kNoIndex);
        for (const PortPeer& peer : topology.switches[at].peers) {
            if (peer.kind != PortPeer::Kind::switch_) {
                continue;
            }
            unsigned differ = 0;
            for (std::size_t i = 0; i < grid.dimensions.size(); ++i) {
                const std::uint32_t a = grid.coordinate(position[at], i);
                const std::uint32_t b = grid.coordinate(position[peer.index], i);
                const std::uint32_t apart = std::max(a, b) - std::min(a, b);
                const bool wraps =
                    grid.dimensions[i].kind == LineKind::ring && apart + 1 == grid.dimensions[i].size;
                differ += a != b ? 1 : 0;
                EXPECT_TRUE(apart <= 1 || wraps || grid.dimensions[i].kind == LineKind::clique);
            }
            EXPECT_EQ(differ, 1U);
        }
    }
}

struct Case {
    const char* spec;
    std::multiset<std::pair<LineKind, std::uint32_t>> dimensions;
};

constexpr auto kOpen = LineKind::open;
constexpr auto kRing = LineKind::ring;
constexpr auto kClique = LineKind::clique;

const std::vector<Case>& cases() {
    static const std::vector<Case> all{
        {"torus:6x6x6", {{kRing, 6}, {kRing, 6}, {kRing, 6}}},
        {"torus:5x7", {{kRing, 5}, {kRing, 7}}},
        {"torus:3x5x2", {{kOpen, 2}, {kRing, 3}, {kRing, 5}}},
        {"torus:5x4", {{kOpen, 2}, {kOpen, 2}, {kRing, 5}}},
        {"torus:4x4x4", {{kOpen, 2}, {kOpen, 2}, {kOpen, 2}, {kOpen, 2}, {kOpen, 2}, {kOpen, 2}}},
        {"torus:3x3x3", {{kRing, 3}, {kRing, 3}, {kRing, 3}}},
        {"torus:5x3x5x3", {{kRing, 3}, {kRing, 3}, {kRing, 5}, {kRing, 5}}},
        {"ring:9", {{kRing, 9}}},
        {"torus:1x6", {{kRing, 6}}},
        {"mesh:6", {{kOpen, 6}}},
        {"mesh:4x3", {{kOpen, 3}, {kOpen, 4}}},
        {"mesh:5x4x3", {{kOpen, 3}, {kOpen, 4}, {kOpen, 5}}},
        {"hypercube:dim=5", {{kOpen, 2}, {kOpen, 2}, {kOpen, 2}, {kOpen, 2}, {kOpen, 2}}},
        {"hyperx:4x5", {{kClique, 4}, {kClique, 5}}},
        {"hyperx:6x6,parallel=2", {{kClique, 6}, {kClique, 6}}},
        {"hyperx:4x2x3", {{kOpen, 2}, {kRing, 3}, {kClique, 4}}},
        {"hyperx:7", {{kClique, 7}}},
    };
    return all;
}

TEST(Coordinates, WholeGridsInAnyOrderOfGuidsAndPorts) {
    for (const Case& item : cases()) {
        SCOPED_TRACE(item.spec);
        for (std::uint64_t seed = 0; seed <= 3; ++seed) {
            const Topology topology = seed == 0 ? generated(item.spec) : scrambled(item.spec, seed);
            const Grid grid = only_grid(topology);
            EXPECT_EQ(dimensions_of(grid), item.dimensions);
            EXPECT_TRUE(grid.complete());
            expect_coordinates(topology, grid);
        }
    }
}

// GUIDs that follow the shape give its own coordinates back.
TEST(Coordinates, NumberingFollowsGuids) {
    const Topology topology = generated("torus:6x5x7");
    const Grid grid = only_grid(topology);
    for (std::uint32_t at = 0; at < grid.switches.size(); ++at) {
        EXPECT_EQ(grid.switches[at], at);
    }
    EXPECT_EQ(grid.text(35 + 7 + 1), "(1,1,1)");
    EXPECT_EQ(describe(grid), "6x5x7 torus");
}

TEST(Coordinates, NoSwitchMissedRenumbersTheOthers) {
    const Topology whole = generated("torus:6x5x7");
    for (std::uint32_t gone = 0; gone < whole.switches.size(); gone += gone < 8 ? 1 : 17) {
        const Grid grid = only_grid(without_switch(whole, gone));
        ASSERT_EQ(grid.switches.size(), whole.switches.size());
        for (std::uint32_t at = 0; at < grid.switches.size(); ++at) {
            EXPECT_EQ(grid.switches[at], at == gone  ? kNoIndex
                                         : at < gone ? at
                                                     : at - 1)
                << "without " << gone;
        }
    }
}

TEST(Coordinates, AnyCableOrSwitchMayBeMissing) {
    for (const char* spec : {"torus:6x6", "torus:5x5x5", "mesh:5x5", "mesh:4x4x3", "hyperx:5x4",
                             "hypercube:dim=4", "torus:4x4"}) {
        SCOPED_TRACE(spec);
        const Topology whole = scrambled(spec, 7);
        const auto dimensions = dimensions_of(only_grid(whole));
        for (const SwitchCable& cable : switch_cables(whole)) {
            const Topology damaged = without_cable(whole, cable);
            const Grid grid = only_grid(damaged);
            EXPECT_EQ(dimensions_of(grid), dimensions);
            expect_coordinates(damaged, grid);
        }
        // A small mesh of two dimensions lost most of its squares with a switch beside the edge.
        const std::size_t most = std::string(spec) == "mesh:5x5" ? 0 : whole.switches.size();
        for (std::uint32_t gone = 0; gone < most; ++gone) {
            const Topology damaged = without_switch(whole, gone);
            const Grid grid = only_grid(damaged);
            EXPECT_EQ(dimensions_of(grid), dimensions);
            expect_coordinates(damaged, grid);
        }
    }
}

TEST(Coordinates, DamageHereAndThere) {
    unsigned found = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        for (const std::string spec : {"torus:6x6x6", "torus:8x8", "mesh:6x6x4", "hyperx:6x6"}) {
            const Topology topology = scrambled(
                spec + ",missing-links=0.02,missing-switches=0.02,seed=" + std::to_string(seed), seed);
            const auto grids = grids_of(topology);
            if (grids && grids->grids.size() == 1) {
                ++found;
                expect_coordinates(topology, grids->grids.front());
            }
        }
    }
    EXPECT_GE(found, 78U) << "of 80";
}

TEST(Coordinates, OtherShapesAreNone) {
    for (const char* spec :
         {"fat-tree:radix=8,levels=2", "fat-tree:radix=8,levels=3", "dragonfly:a=4,p=2,h=2", "dragonfly+",
          "random:switches=40,degree=4,hosts=1,seed=3"}) {
        EXPECT_NE(reason(generated(spec)).find("no grid"), std::string::npos)
            << spec << ": " << reason(generated(spec));
    }
    Topology twisted = generated("torus:6x6");  // two cables change places
    const auto plug = [&](std::uint32_t a, std::uint8_t a_port, std::uint32_t b, std::uint8_t b_port) {
        twisted.switches[a].peers[a_port] = {PortPeer::Kind::switch_, mad::PortNum{b_port}, b, 8};
        twisted.switches[b].peers[b_port] = {PortPeer::Kind::switch_, mad::PortNum{a_port}, a, 8};
    };
    const PortPeer first = twisted.switches[0].peers[1];
    const PortPeer second = twisted.switches[14].peers[3];
    plug(0, 1, second.index, second.port.value());
    plug(14, 3, first.index, first.port.value());
    EXPECT_NE(reason(twisted).find("no grid"), std::string::npos) << reason(twisted);
}

TEST(Coordinates, PiecesAreGridsOfTheirOwn) {
    FabricMaker maker{.switches = 9, .links = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 0}, {5, 6}, {6, 7}}};
    const auto grids = grids_of(maker.make());
    ASSERT_TRUE(grids);
    ASSERT_EQ(grids->grids.size(), 3U);
    EXPECT_EQ(describe(grids->grids[0]), "5 torus");
    EXPECT_EQ(describe(grids->grids[1]), "3 mesh");
    EXPECT_EQ(describe(grids->grids[2]), "single switch");
    EXPECT_EQ(grids->grid_of[8], 2U);
}

TEST(Coordinates, RingsOfFourAreJoinedAgain) {
    const Topology topology = generated("torus:4x4x4");
    const Grid grid = with_rings_of_four(only_grid(topology));
    EXPECT_EQ(describe(grid), "4x4x4 torus");
    expect_coordinates(topology, grid);
    EXPECT_EQ(describe(with_rings_of_four(only_grid(generated("torus:4x2x5")))), "4x2x5 torus");
}

}  // namespace
}  // namespace ibf::routing::test
