// The proof of a change says what the full proof says, or nothing.
#include "routing/proof.hpp"

#include <array>
#include <functional>
#include <map>
#include <set>

#include <fmt/format.h>

#include "engine_fixtures.hpp"
#include "grid_fixtures.hpp"

namespace ibf::routing::test {
namespace {

Routes proven(Routes routes, const Topology& topology) {
    routes.proof = prove(topology, routes, nullptr, 1).proof;
    return routes;
}

void expect_same(const Verdict& a, const Verdict& b, const std::string& where) {
    EXPECT_EQ(a.pairs_checked, b.pairs_checked) << where;
    EXPECT_EQ(a.unreachable_pairs, b.unreachable_pairs) << where;
    EXPECT_EQ(a.switch_pairs_unreachable, b.switch_pairs_unreachable) << where;
    EXPECT_EQ(a.loops, b.loops) << where;
    EXPECT_EQ(a.credit_loop_free, b.credit_loop_free) << where;
}

/// The fabric with one end port away, its LID nobody's.
Topology without_host(const Topology& topology, std::uint32_t gone) {
    TopologyBuilder builder;
    for (TopologySwitch item : topology.switches) {
        for (std::size_t port = 1; port < item.peers.size(); ++port) {
            const PortPeer& peer = item.peers[port];
            if (peer.kind == PortPeer::Kind::switch_ && item.guid <= topology.switches[peer.index].guid) {
                builder.add_link(item.guid, mad::PortNum{static_cast<std::uint8_t>(port)},
                                 topology.switches[peer.index].guid, peer.port,
                                 {peer.data_vls, peer.throttled, peer.mbps});
            }
        }
        item.peers.clear();
        builder.add_switch(item);
    }
    for (std::uint32_t i = 0; i < topology.end_ports.size(); ++i) {
        TopologyEndPort end = topology.end_ports[i];
        if (i != gone) {
            builder.add_link(topology.switches[end.switch_index].guid, end.switch_port, end.node_guid,
                             end.port, {});
            builder.add_end_port(end);
        }
    }
    return builder.build();
}

TEST(ProofOfAChange, SaysWhatTheFullProofSays) {
    unsigned told = 0;
    unsigned asked = 0;
    for (const char* spec : {"fat-tree:radix=8,levels=3", "fat-tree:radix=12,levels=2"}) {
        for (const char* engine : {"updn", "ftree", "minhop"}) {
            const Topology whole = generated(spec);
            base::Prng prng(11);
            Topology now = whole;
            Routes routes = proven(routes_of(engine, whole), whole);
            ASSERT_TRUE(routes.proof) << spec << " " << engine;
            for (unsigned step = 0; step < 60; ++step) {
                switch (prng.below(8)) {
                    case 0: now = whole; break;
                    case 1:
                        now = test::without_switch(
                            now, static_cast<std::uint32_t>(prng.below(now.switches.size())));
                        break;
                    case 2:
                        now = without_host(now, static_cast<std::uint32_t>(prng.below(now.end_ports.size())));
                        break;
                    default: now = without_links(now, 1 + prng.below(2), prng); break;
                }
                auto next = run_engine(engine, now, &routes, {});
                if (!next) {
                    now = whole;
                    continue;
                }
                const std::string where = fmt::format("{} {} step {}", spec, engine, step);
                const Verdict full = verify(now, *next, 1);
                ++asked;
                if (const auto change = prove_change(now, *next, *routes.proof)) {
                    ++told;
                    expect_same(change->verdict, full, where);
                    EXPECT_TRUE(change->proof);
                }
                const Proven either = prove(now, *next, routes.proof.get(), 1);
                expect_same(either.verdict, full, where);
                if (!either.proof) {
                    now = whole;
                    continue;
                }
                next->proof = either.proof;
                routes = std::move(*next);
            }
        }
    }
    EXPECT_GT(told, asked / 2) << "the test shows little";
}

/// Ports of a switch that lead to switches.
std::vector<std::uint8_t> uplinks(const TopologySwitch& at) {
    std::vector<std::uint8_t> ports;
    for (std::size_t port = 1; port < at.peers.size(); ++port) {
        if (at.peers[port].kind == PortPeer::Kind::switch_) {
            ports.push_back(static_cast<std::uint8_t>(port));
        }
    }
    return ports;
}

// Any one entry set to anything: whatever the full proof refuses, the proof of the change does not pass.
TEST(ProofOfAChange, PassesNothingThatTheFullProofRefuses) {
    unsigned refused = 0;
    unsigned passed = 0;
    for (const char* spec : {"fat-tree:radix=6,levels=3", "ring:6,hosts=2", "torus:4x4"}) {
        const Topology topology = generated(spec);
        const Routes routes = proven(routes_of("updn", topology), topology);
        ASSERT_TRUE(routes.proof);
        base::Prng prng(5);
        for (unsigned i = 0; i < 400; ++i) {
            Routes bad = routes;
            for (unsigned entry = 0; entry <= i % 3; ++entry) {
                const auto at = prng.below(topology.switches.size());
                const auto lid = 1 + prng.below(topology.max_lid);
                LftRow row = *bad.rows[at];
                const auto ports = uplinks(topology.switches[at]);
                row[lid] = prng.below(4) == 0 ? mad::kLftDrop : ports[prng.below(ports.size())];
                bad.rows[at] = std::make_shared<const LftRow>(std::move(row));
            }
            const Verdict full = verify(topology, bad, 1);
            const bool good = full.reachable() && full.credit_loop_free;
            const auto change = prove_change(topology, bad, *routes.proof);
            refused += good ? 0U : 1U;
            passed += good && change ? 1U : 0U;
            EXPECT_TRUE(good || !change) << spec << " " << i << ": " << full.first_failure;
            if (good && change) {
                expect_same(change->verdict, full, spec);
            }
        }
    }
    EXPECT_GT(refused, 300U);
    EXPECT_GT(passed, 20U);
}

}  // namespace
}  // namespace ibf::routing::test
