// The proof must find what is broken, and say where.
#include "engine_fixtures.hpp"

namespace ibf::routing::test {
namespace {

FabricMaker ring_of_four() {
    return {.switches = 4, .links = {{0, 1}, {1, 2}, {2, 3}, {3, 0}}};
}

void set_entry(Routes& routes, std::uint32_t at, std::uint32_t lid, std::uint8_t port) {
    auto row = std::make_shared<LftRow>(*routes.rows[at]);
    (*row)[lid] = port;
    routes.rows[at] = row;
}

TEST(Verify, RingUnderMinhopHasACycleListedLinkByLink) {
    for (const Topology& topology : {ring_of_four().make(), generated("ring:4"), generated("torus:4x4")}) {
        const Verdict verdict = verify(topology, routes_of("minhop", topology), 1);
        EXPECT_TRUE(verdict.reachable());
        EXPECT_FALSE(verdict.credit_loop_free);
        ASSERT_GE(verdict.credit_loop.size(), 4U);
        for (std::size_t i = 0; i < verdict.credit_loop.size(); ++i) {
            const ChannelStep& next = verdict.credit_loop[(i + 1) % verdict.credit_loop.size()];
            EXPECT_EQ(verdict.credit_loop[i].peer, next.node);
        }
        const Verdict safe = verify(topology, routes_of("updn", topology), 1);
        EXPECT_TRUE(safe.reachable() && safe.credit_loop_free);
        EXPECT_TRUE(safe.credit_loop.empty());
    }
}

TEST(Verify, DroppedEntryIsFoundHopByHop) {
    const Topology topology = ring_of_four().make();
    Routes routes = routes_of("updn", topology);
    const TopologyEndPort& target = topology.end_ports[2];
    set_entry(routes, target.switch_index, target.lids.base.value(), mad::kLftDrop);
    const Verdict verdict = verify(topology, routes, 2);
    EXPECT_EQ(verdict.unreachable_pairs, judge_slowly(topology, routes).unreachable);
    EXPECT_EQ(verdict.unreachable_pairs, 7U);  // three end ports and four switches
    EXPECT_NE(verdict.first_failure.find("has no entry"), std::string::npos) << verdict.first_failure;
    EXPECT_NE(verdict.first_failure.find(target.name), std::string::npos);
}

TEST(Verify, LoopIsCountedAndShown) {
    const Topology topology = ring_of_four().make();
    Routes routes = routes_of("updn", topology);
    const std::uint32_t lid = topology.end_ports[2].lids.base.value();
    const auto port_to = [&](std::uint32_t at, std::uint32_t peer) {
        for (std::size_t port = 1; port < topology.switches[at].peers.size(); ++port) {
            const PortPeer& item = topology.switches[at].peers[port];
            if (item.kind == PortPeer::Kind::switch_ && item.index == peer) {
                return static_cast<std::uint8_t>(port);
            }
        }
        return mad::kLftDrop;
    };
    set_entry(routes, 0, lid, port_to(0, 1));
    set_entry(routes, 1, lid, port_to(1, 0));
    const Verdict verdict = verify(topology, routes, 1);
    EXPECT_EQ(verdict.loops, 2U);
    EXPECT_EQ(verdict.unreachable_pairs, judge_slowly(topology, routes).unreachable);
    EXPECT_NE(verdict.first_failure.find("loops"), std::string::npos) << verdict.first_failure;
}

TEST(Verify, HandedToAStrangerIsNotArrival) {
    const Topology topology = FabricMaker{.switches = 1, .links = {}, .hosts = {3}}.make();
    Routes routes = routes_of("minhop", topology);
    set_entry(routes, 0, topology.end_ports[0].lids.base.value(), topology.end_ports[1].switch_port.value());
    const Verdict verdict = verify(topology, routes, 1);
    EXPECT_EQ(verdict.unreachable_pairs, 3U);  // two end ports, one switch
    EXPECT_NE(verdict.first_failure.find("leads elsewhere"), std::string::npos);
}

TEST(Verify, TablesOfStrangersAreMatchedByGuid) {
    const Topology topology = ring_of_four().make();
    Routes routes = routes_of("updn", topology);
    std::swap(routes.rows[0], routes.rows[3]);
    std::swap(routes.switch_guids[0], routes.switch_guids[3]);
    EXPECT_TRUE(verify(topology, routes, 1).reachable());
    routes.rows.pop_back();
    routes.switch_guids.pop_back();
    EXPECT_FALSE(verify(topology, routes, 1).reachable());
    EXPECT_FALSE(verify(topology, Routes{}, 1).reachable());
}

TEST(Verify, AgreesWithTheSlowJudgeOnBrokenTables) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        base::Prng prng(seed);
        const auto switches = static_cast<unsigned>(2 + prng.below(9));
        FabricMaker maker{.switches = switches, .links = random_links(switches, 8, seed)};
        const Topology topology = maker.make();
        Routes routes = routes_of(seed % 2 == 0 ? "minhop" : "updn", topology);
        for (int i = 0; i < 12; ++i) {
            const auto at = static_cast<std::uint32_t>(prng.below(switches));
            set_entry(routes, at, static_cast<std::uint32_t>(prng.below(topology.max_lid + 1U)),
                      static_cast<std::uint8_t>(prng.below(topology.switches[at].peers.size() + 1)));
        }
        const SlowVerdict slow = judge_slowly(topology, routes);
        const Verdict verdict = verify(topology, routes, 2);
        EXPECT_EQ(verdict.pairs_checked, slow.pairs) << seed;
        EXPECT_EQ(verdict.unreachable_pairs, slow.unreachable) << seed;
        EXPECT_EQ(verdict.credit_loop_free, !slow.cyclic) << seed;
    }
}

}  // namespace
}  // namespace ibf::routing::test
