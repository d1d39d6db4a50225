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

/// What packets wait for while both tables are on the switches, the slow way: every mix from every source,
/// but for LIDs whose mix would go round (those are dropped first).
class SlowMix {
public:
    SlowMix(const Topology& topology, const Routes& old, const Routes& fresh) : topology_(topology) {
        for (std::uint32_t lid = 1; lid <= topology.max_lid; ++lid) {
            old_hops_.clear();
            for (std::uint32_t at = 0; at < topology.switches.size(); ++at) {
                const std::uint32_t to = next(at, entry(&old, at, lid));
                const bool ring = to != kNoIndex && entry(&old, at, lid) != entry(&fresh, at, lid) &&
                                  reaches({&old, &fresh}, to, at, lid);
                if (!ring) {
                    old_hops_.insert(at);
                }
            }
            for (std::uint32_t at = 0; at < topology.switches.size(); ++at) {
                follow({&old, &old}, at, lid, true);
                follow({&fresh, &old}, at, lid, false);
            }
        }
    }
    [[nodiscard]] bool cyclic() const {
        std::map<Channel, int> colour;
        return std::any_of(waits_.begin(), waits_.end(), [&](const auto& item) {
            return colour[item.first] == 0 && visit(item.first, colour);
        });
    }

private:
    using Channel = std::pair<std::uint32_t, std::uint8_t>;
    using Both = std::array<const Routes*, 2>;

    [[nodiscard]] std::uint32_t next(std::uint32_t at, std::uint8_t port) const {
        const auto& peers = topology_.switches[at].peers;
        const bool leads = port < peers.size() && peers[port].kind == PortPeer::Kind::switch_;
        return leads ? peers[port].index : kNoIndex;
    }
    static std::uint8_t entry(const Routes* routes, std::uint32_t at, std::uint32_t lid) {
        return (*routes->rows[at])[lid];
    }
    [[nodiscard]] bool reaches(const Both& both, std::uint32_t from, std::uint32_t to,
                               std::uint32_t lid) const {
        std::set<std::uint32_t> seen{from};
        std::vector<std::uint32_t> reached{from};
        for (std::size_t i = 0; i < reached.size(); ++i) {
            for (const Routes* routes : both) {
                const std::uint32_t on = next(reached[i], entry(routes, reached[i], lid));
                if (on != kNoIndex && seen.insert(on).second) {
                    reached.push_back(on);
                }
            }
        }
        return seen.contains(to);
    }
    /// Hops by the first tables, and by the second where those on a ring are not dropped (or `whole`).
    void follow(const Both& both, std::uint32_t start, std::uint32_t lid, bool whole) {
        std::set<std::uint32_t> seen{start};
        std::vector<std::uint32_t> reached{start};
        const auto exits = [&](std::uint32_t at) {
            std::vector<std::uint8_t> out{entry(both[0], at, lid)};
            if (whole || old_hops_.contains(at)) {
                out.push_back(entry(both[1], at, lid));
            }
            return out;
        };
        for (std::size_t i = 0; i < reached.size(); ++i) {
            for (const std::uint8_t out : exits(reached[i])) {
                const std::uint32_t to = next(reached[i], out);
                if (to == kNoIndex) {
                    continue;
                }
                for (const std::uint8_t further : exits(to)) {
                    if (next(to, further) != kNoIndex) {
                        waits_[{reached[i], out}].insert({to, further});
                    }
                }
                if (seen.insert(to).second) {
                    reached.push_back(to);
                }
            }
        }
    }
    bool visit(const Channel& at, std::map<Channel, int>& colour) const {
        colour[at] = 1;
        const auto found = waits_.find(at);
        for (const Channel& to : found == waits_.end() ? std::set<Channel>{} : found->second) {
            if (colour[to] == 1 || (colour[to] == 0 && visit(to, colour))) {
                return true;
            }
        }
        colour[at] = 2;
        return false;
    }

    const Topology& topology_;
    std::set<std::uint32_t> old_hops_;  ///< switches whose old hop is not dropped, for one LID
    std::map<Channel, std::set<Channel>> waits_;
};

// Each of two tables is free of credit loops, and both together need not be. Every switch has hosts here.
TEST(ProofOfAChange, NamesTheRingThatOldAndNewTablesCloseTogether) {
    unsigned rings = 0;
    unsigned none = 0;
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        FabricMaker maker;
        maker.switches = 7;
        maker.links = random_links(7, static_cast<unsigned>(2 + seed % 4), seed);
        const Topology topology = maker.make();
        RouteOptions options;
        options.root_guids = {topology.switches[seed % 7].guid};
        const Routes old = proven(*run_engine("updn", topology, nullptr, options), topology);
        ASSERT_TRUE(old.proof);
        options.root_guids = {topology.switches[(seed / 7 + seed) % 7].guid};
        const Routes fresh = *run_engine("updn", topology, nullptr, options);
        const Proven change = prove(topology, fresh, old.proof.get(), 1);
        const bool cyclic = SlowMix(topology, old, fresh).cyclic();
        EXPECT_EQ(!change.verdict.transit_loop.empty(), cyclic) << "seed " << seed;
        (cyclic ? rings : none) += 1;
        for (std::size_t i = 0; i < change.verdict.transit_loop.size(); ++i) {
            const auto& loop = change.verdict.transit_loop;
            EXPECT_EQ(loop[i].peer, loop[(i + 1) % loop.size()].node);
        }
    }
    EXPECT_GT(rings, 3U);
    EXPECT_GT(none, 3U);
}

}  // namespace
}  // namespace ibf::routing::test
