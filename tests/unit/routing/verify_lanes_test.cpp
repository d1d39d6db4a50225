// Lanes: what several of them make safe, what they do not, and lanes that links do not have.
#include "engine_fixtures.hpp"

namespace ibf::routing::test {
namespace {

constexpr unsigned kRing = 6;

/// Switches 0..5 in a ring; port 2 leads onward and port 3 back (switch 0: port 2 to 1, port 3 to 5).
FabricMaker ring_of_six() {
    FabricMaker maker{.switches = kRing};
    for (unsigned at = 0; at < kRing; ++at) {
        maker.links.emplace_back(at, (at + 1) % kRing);
    }
    return maker;
}

std::uint32_t switch_of(const Topology& topology, std::uint32_t lid) {
    for (const TopologyEndPort& end : topology.end_ports) {
        if (end.lids.contains(mad::Lid{static_cast<std::uint16_t>(lid)})) {
            return end.switch_index;
        }
    }
    for (std::uint32_t at = 0; at < topology.switches.size(); ++at) {
        if (topology.switches[at].lids.contains(mad::Lid{static_cast<std::uint16_t>(lid)})) {
            return at;
        }
    }
    return kNoIndex;
}

/// True if the path crosses the cable between the last switch and the first.
bool crosses_dateline(const Topology& topology, const Routes& routes, std::uint32_t from, std::uint32_t lid) {
    const std::vector<std::uint32_t> way = walk(topology, routes, from, lid);
    for (std::size_t i = 0; i + 1 < way.size(); ++i) {
        if (std::set<std::uint32_t>{way[i], way[i + 1]} == std::set<std::uint32_t>{0, kRing - 1}) {
            return true;
        }
    }
    return false;
}

/// Paths over the dateline on SL 1.
void split_by_dateline(const Topology& topology, Routes& routes) {
    for (std::uint32_t from = 0; from < kRing; ++from) {
        auto row = std::make_shared<SlRow>(topology.max_lid + std::size_t{1}, std::uint8_t{0});
        for (std::uint32_t lid = 1; lid <= topology.max_lid; ++lid) {
            (*row)[lid] =
                switch_of(topology, lid) != kNoIndex && crosses_dateline(topology, routes, from, lid);
        }
        routes.sls.push_back(std::move(row));
    }
    routes.vls = 2;
}

TEST(VerifyLanes, ADatelineBySlMakesARingSafe) {
    const Topology topology = ring_of_six().make();
    Routes routes = routes_of("minhop", topology);
    ASSERT_FALSE(verify(topology, routes, 1).credit_loop_free);
    split_by_dateline(topology, routes);
    // Half a ring over the dateline never comes back to it: neither lane's channels close the ring.
    const Verdict verdict = verify(topology, routes, 2);
    EXPECT_TRUE(verdict.reachable());
    EXPECT_TRUE(verdict.credit_loop_free);
    EXPECT_EQ(verdict.lane_faults, 0U);
    EXPECT_FALSE(judge_slowly(topology, routes).cyclic);
}

TEST(VerifyLanes, AllPathsOnOneOtherLaneAreAsUnsafeAsBefore) {
    const Topology topology = ring_of_six().make();
    Routes routes = routes_of("minhop", topology);
    routes.sls.assign(kRing, std::make_shared<SlRow>(topology.max_lid + std::size_t{1}, std::uint8_t{3}));
    const Verdict verdict = verify(topology, routes, 1);
    EXPECT_FALSE(verdict.credit_loop_free);
    ASSERT_FALSE(verdict.credit_loop.empty());
    for (const ChannelStep& step : verdict.credit_loop) {
        EXPECT_EQ(step.vl, 3U) << "the cycle names its lane";
    }
}

TEST(VerifyLanes, ASwitchThatMergesTheLanesUndoesThem) {
    const Topology topology = ring_of_six().make();
    Routes routes = routes_of("minhop", topology);
    split_by_dateline(topology, routes);
    auto merging = std::make_shared<LaneMap>();
    merging->input_class.assign(topology.switches[0].peers.size(), 0);
    merging->exit_class = merging->input_class;
    merging->tables.push_back(LaneMap::Lanes{});
    routes.lane_maps.assign(kRing, merging);
    EXPECT_FALSE(verify(topology, routes, 1).credit_loop_free);
    EXPECT_TRUE(judge_slowly(topology, routes).cyclic);
}

TEST(VerifyLanes, ALinkWithoutTheLaneIsNamed) {
    FabricMaker maker = ring_of_six();
    maker.lanes = 1;
    const Topology topology = maker.make();
    Routes routes = routes_of("minhop", topology);
    split_by_dateline(topology, routes);
    const Verdict verdict = verify(topology, routes, 2);
    EXPECT_GT(verdict.lane_faults, 0U);
    EXPECT_NE(verdict.first_lane_fault.find("VL 1"), std::string::npos) << verdict.first_lane_fault;
    EXPECT_NE(verdict.first_lane_fault.find("1 data lane"), std::string::npos) << verdict.first_lane_fault;
}

TEST(VerifyLanes, ManagementLaneIsNoLane) {
    FabricMaker maker = ring_of_six();
    maker.lanes = 15;
    const Topology topology = maker.make();
    Routes routes = routes_of("updn", topology);
    routes.sls.assign(kRing, std::make_shared<SlRow>(topology.max_lid + std::size_t{1}, std::uint8_t{15}));
    EXPECT_GT(verify(topology, routes, 1).lane_faults, 0U);
}

LaneMap random_map(std::size_t ports, base::Prng& prng) {
    LaneMap map;
    map.exit_classes = static_cast<std::uint8_t>(1 + prng.below(3));
    const auto input_classes = static_cast<std::uint8_t>(1 + prng.below(3));
    for (std::size_t port = 0; port < ports; ++port) {
        map.input_class.push_back(static_cast<std::uint8_t>(prng.below(input_classes)));
        map.exit_class.push_back(static_cast<std::uint8_t>(prng.below(map.exit_classes)));
    }
    for (unsigned i = 0; i < unsigned{input_classes} * map.exit_classes; ++i) {
        LaneMap::Lanes lanes{};
        for (std::uint8_t& lane : lanes) {
            lane = static_cast<std::uint8_t>(prng.below(4));
        }
        map.tables.push_back(lanes);
    }
    return map;
}

TEST(VerifyLanes, LanesAreMatchedByGuidAsTablesAre) {
    const Topology topology = ring_of_six().make();
    Routes routes = routes_of("minhop", topology);
    split_by_dateline(topology, routes);
    for (std::uint32_t at = 0; at < kRing;
         ++at) {  // all alike, but the map of the first switch merges the lanes
        auto map = std::make_shared<LaneMap>();
        map->input_class.assign(topology.switches[at].peers.size(), 0);
        map->exit_class = map->input_class;
        map->tables.push_back({0, static_cast<std::uint8_t>(at == 0 ? 0 : 1)});
        routes.lane_maps.push_back(std::move(map));
    }
    const Verdict verdict = verify(topology, routes, 1);
    std::reverse(routes.switch_guids.begin(), routes.switch_guids.end());
    std::reverse(routes.rows.begin(), routes.rows.end());
    std::reverse(routes.sls.begin(), routes.sls.end());
    std::reverse(routes.lane_maps.begin(), routes.lane_maps.end());
    const Verdict same = verify(topology, routes, 1);
    EXPECT_TRUE(same.reachable());
    EXPECT_EQ(same.credit_loop_free, verdict.credit_loop_free);
    EXPECT_EQ(same.credit_loop.size(), verdict.credit_loop.size());
    routes.sls.assign(1, routes.sls.front());  // too short: what is not said is SL 0
    EXPECT_TRUE(verify(topology, routes, 1).reachable());
}

/// Fifty wrong SL to VL entries and more: whatever the maps say, the two judges agree.
TEST(VerifyLanes, AgreesWithTheSlowJudgeOnRandomLanes) {
    unsigned cyclic = 0;
    for (std::uint64_t seed = 1; seed <= 80; ++seed) {
        base::Prng prng(seed);
        const auto switches = static_cast<unsigned>(3 + prng.below(7));
        FabricMaker maker{.switches = switches, .links = random_links(switches, 6, seed)};
        maker.hosts.assign(switches, 2);
        const Topology topology = maker.make();
        Routes routes = routes_of("minhop", topology);
        for (std::uint32_t at = 0; at < switches; ++at) {
            SlRow row(topology.max_lid + std::size_t{1});
            for (std::uint8_t& sl : row) {
                sl = static_cast<std::uint8_t>(prng.below(3));
            }
            routes.sls.push_back(prng.below(4) == 0 ? nullptr : std::make_shared<SlRow>(std::move(row)));
            routes.lane_maps.push_back(prng.below(3) == 0 ? nullptr
                                                          : std::make_shared<LaneMap>(random_map(
                                                                topology.switches[at].peers.size(), prng)));
        }
        const SlowVerdict slow = judge_slowly(topology, routes);
        const Verdict verdict = verify(topology, routes, 2);
        EXPECT_TRUE(verdict.reachable()) << seed;
        EXPECT_EQ(verdict.credit_loop_free, !slow.cyclic) << seed;
        cyclic += slow.cyclic ? 1 : 0;
    }
    EXPECT_GT(cyclic, 5U) << "both kinds must occur";
    EXPECT_LT(cyclic, 75U);
}

/// Multicast: what comes in by any port of the tree goes out by all others.
TEST(VerifyLanes, TreesAreBuffersThatOthersWaitFor) {
    const Topology topology = ring_of_six().make();
    const Routes routes = routes_of("updn", topology);
    ASSERT_TRUE(verify(topology, routes, 1).credit_loop_free);
    // Ports 2 and 3 of each switch lead round the ring (the last hop closes it from 5 to 0).
    const auto tree_over = [](std::initializer_list<std::uint32_t> switches) {
        MulticastTree tree;
        for (const std::uint32_t at : switches) {
            tree.ports[at] = {mad::PortNum{2}, mad::PortNum{3}};
        }
        return tree;
    };
    EXPECT_FALSE(verify(topology, routes, {tree_over({0, 1, 2, 3, 4, 5})}, 1).credit_loop_free)
        << "a ring is no tree";
    // Two trees, neither a ring: together, and with nobody else, they close it.
    const std::vector<MulticastTree> halves{tree_over({0, 1, 2}), tree_over({3, 4, 5})};
    EXPECT_FALSE(verify(topology, routes, halves, 2).credit_loop_free);
}

}  // namespace
}  // namespace ibf::routing::test
