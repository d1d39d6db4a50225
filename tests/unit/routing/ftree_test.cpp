// Trees whole and damaged, what is no tree, and how little moves when something breaks.
#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>

#include "engine_fixtures.hpp"
#include "forced_blocks.hpp"
#include "grid_fixtures.hpp"
#include "routing/ftree.hpp"

namespace ibf::routing::test {
namespace {

void expect_served(const Topology& topology, const Routes& routes) {
    const Verdict verdict = verify(topology, routes, 2);
    EXPECT_EQ(verdict.unreachable_pairs, 0U) << verdict.first_failure;
    EXPECT_EQ(verdict.switch_pairs_unreachable, 0U);
    EXPECT_EQ(verdict.loops, 0U);
    EXPECT_TRUE(verdict.credit_loop_free);
    EXPECT_EQ(routes.vls, 1U);
}

const std::array<const char*, 7> kTrees{"fat-tree:radix=8,levels=2",
                                        "fat-tree:radix=8,levels=3",
                                        "fat-tree:radix=4,levels=4",
                                        "fat-tree:radix=12,levels=3,pods=5",
                                        "fat-tree:radix=12,levels=3,taper=2",
                                        "fat-tree:radix=8,levels=3,parallel=2",
                                        "fat-tree:radix=8,levels=3,pods=2,hosts=3"};

TEST(Ftree, IntactTreesAreEvenAndShortest) {
    for (const char* spec : kTrees) {
        SCOPED_TRACE(spec);
        const Topology topology = generated(spec);
        const Routes routes = routes_of("ftree", topology);
        expect_served(topology, routes);
        const Quality quality = measure_quality(topology, routes, 2);
        EXPECT_EQ(quality.mean_dilation, 1.0);
        for (const LevelLoad& level : quality.levels) {
            EXPECT_LE(static_cast<double>(level.max), level.mean * 1.35 + 1) << level.level;
        }
    }
}

/// Every displacement of the hosts, in the order of their LIDs (leaf by leaf): the worst link carries one
/// flow.
TEST(Ftree, ShiftsMeetNowhereOnFullTrees) {
    for (const char* spec :
         {"fat-tree:radix=8,levels=2", "fat-tree:radix=8,levels=3", "fat-tree:radix=4,levels=4"}) {
        const Topology topology = generated(spec);
        const Routes routes = routes_of("ftree", topology);
        const std::size_t hosts = topology.end_ports.size();
        std::vector<std::uint32_t> by_lid(hosts);
        std::iota(by_lid.begin(), by_lid.end(), 0U);
        std::sort(by_lid.begin(), by_lid.end(), [&](std::uint32_t a, std::uint32_t b) {
            return topology.end_ports[a].lids.base < topology.end_ports[b].lids.base;
        });
        for (std::size_t shift = 1; shift < hosts; ++shift) {
            std::set<std::pair<std::uint32_t, std::uint8_t>> used;
            for (std::size_t from = 0; from < hosts; ++from) {
                const mad::Lid to = topology.end_ports[by_lid[(from + shift) % hosts]].lids.base;
                const auto path = trace_path(topology, routes, EndPortIndex{by_lid[from]}, to);
                ASSERT_TRUE(path);
                for (std::size_t hop = 0; hop + 1 < path->size(); ++hop) {
                    EXPECT_TRUE(used.emplace((*path)[hop].at.value(), (*path)[hop].out.value()).second)
                        << spec << " shift " << shift;
                }
            }
        }
    }
}

TEST(Ftree, WhatIsNoTreeIsRefusedPlainly) {
    for (const char* spec :
         {"torus:4x4x4", "torus:5x5,hosts=2", "ring:5", "ring:12", "hypercube:4",
          "random:switches=30,degree=5,hosts=2,seed=1", "random:switches=60,degree=4,hosts=1,seed=9"}) {
        const auto netlist = generate_netlist(spec);
        ASSERT_TRUE(netlist) << spec << " " << netlist.error().message;
        const auto topology = topology_of(*netlist, 0);
        ASSERT_TRUE(topology);
        const auto routes = run_engine("ftree", *topology, nullptr, RouteOptions{});
        ASSERT_FALSE(routes) << spec;
        EXPECT_NE(routes.error().message.find("form no tree"), std::string::npos) << routes.error().message;
    }
}

TEST(Ftree, NoDamageMakesItRefuseOrLoseAPair) {
    for (const char* spec : kTrees) {
        for (const char* damage : {"missing-links=0.01", "missing-links=0.02", "missing-links=0.05",
                                   "missing-links=0.2", "missing-switches=0.1"}) {
            for (int seed = 1; seed <= 6; ++seed) {
                const std::string damaged = fmt::format("{},{},seed={}", spec, damage, seed);
                SCOPED_TRACE(damaged);
                const Topology topology = generated(damaged);
                const auto routes = run_engine("ftree", topology, nullptr, RouteOptions{});
                ASSERT_TRUE(routes) << routes.error().message;
                expect_served(topology, *routes);
            }
        }
    }
}

TEST(Ftree, AnyOneSwitchMayGo) {
    for (const char* spec :
         {"fat-tree:radix=8,levels=2", "fat-tree:radix=6,levels=3", "fat-tree:radix=4,levels=4"}) {
        const Topology whole = generated(spec);
        const Routes before = routes_of("ftree", whole);
        for (std::uint32_t gone = 0; gone < whole.switches.size(); ++gone) {
            SCOPED_TRACE(std::string(spec) + " without " + whole.switches[gone].name);
            const Topology cut = without_switch(whole, gone);
            expect_served(cut, routes_of("ftree", cut));
            const auto kept = run_engine("ftree", cut, &before, RouteOptions{});
            ASSERT_TRUE(kept);
            expect_served(cut, *kept);
        }
    }
}

TEST(Ftree, ConfiguredRoots) {
    const Topology topology = generated("fat-tree:radix=8,levels=3,missing-links=0.05,seed=4");
    RouteOptions options;
    for (const TopologySwitch& item : topology.switches) {
        if (item.name.starts_with("core")) {
            options.root_guids.push_back(item.guid);
        }
    }
    const auto all = run_engine("ftree", topology, nullptr, options);
    ASSERT_TRUE(all);
    expect_served(topology, *all);
    EXPECT_EQ(all->roots, options.root_guids);
    options.root_guids.resize(options.root_guids.size() / 2);  // the file is old: some roots are not in it
    const auto some = run_engine("ftree", topology, nullptr, options);
    ASSERT_TRUE(some);
    expect_served(topology, *some);
    options.root_guids = {mad::Guid{0xdead}};
    const auto none = run_engine("ftree", topology, nullptr, options);
    ASSERT_FALSE(none);
    EXPECT_NE(none.error().message.find("root_guids"), std::string::npos);
}

/// Paths between leaves are as short as they can be, though thousands of pairs need the spare links.
TEST(Ftree, DamageCostsHostsNoDetour) {
    for (int seed = 1; seed <= 8; ++seed) {
        const Topology topology =
            generated(fmt::format("fat-tree:radix=8,levels=3,missing-links=0.02,seed={}", seed));
        const Quality quality = measure_quality(topology, routes_of("ftree", topology), 2);
        EXPECT_LT(quality.mean_dilation, 1.0005) << seed;
    }
}

TEST(Ftree, HostsOnSpinesRankSkippingAndSameRankLinks) {
    // Leaves 0..3, spines 4..7 each with a host; a cable between two leaves, one between two spines, and a
    // switch of a level below that skips a rank: 8 hangs off leaf 0 and spine 7.
    FabricMaker maker{.switches = 9, .links = {}, .hosts = {4, 4, 4, 4, 1, 1, 1, 1, 4}};
    for (unsigned leaf = 0; leaf < 4; ++leaf) {
        for (unsigned spine = 4; spine < 8; ++spine) {
            maker.links.emplace_back(leaf, spine);
        }
    }
    maker.links.insert(maker.links.end(), {{0, 1}, {4, 5}, {0, 8}, {7, 8}});
    const Topology topology = maker.make();
    const auto routes = run_engine("ftree", topology, nullptr, RouteOptions{});
    ASSERT_TRUE(routes) << routes.error().message;
    expect_served(topology, *routes);
    EXPECT_EQ(judge_slowly(topology, *routes).unreachable, 0U);
    const Graph graph = make_graph(topology, {});
    const Levels levels = levels_from_hosts(graph, *sample_hosts(graph));
    EXPECT_EQ(std::vector<std::uint32_t>(levels.begin() + 4, levels.begin() + 8),
              (std::vector<std::uint32_t>{1, 1, 1, 1}));
}

TEST(Ftree, EveryGraphOfUpToFiveSwitchesIsServedOrRefused) {
    unsigned served = 0;
    for (unsigned switches = 1; switches <= 5; ++switches) {
        const unsigned possible = switches * (switches - 1) / 2;
        for (std::uint32_t bits = 0; bits < 1U << possible && !::testing::Test::HasFailure(); ++bits) {
            FabricMaker maker{.switches = switches, .links = {}, .hosts = {2, 0, 1, 0, 3}};
            maker.hosts.resize(switches);
            std::uint32_t left = bits;
            for (unsigned a = 0; a < switches; ++a) {
                for (unsigned b = a + 1; b < switches; ++b, left >>= 1U) {
                    if ((left & 1U) != 0) {
                        maker.links.emplace_back(a, b);
                    }
                }
            }
            const Topology topology = maker.make();
            const auto routes = run_engine("ftree", topology, nullptr, RouteOptions{});
            if (routes) {
                ++served;
                const SlowVerdict slow = judge_slowly(topology, *routes);
                EXPECT_EQ(slow.unreachable, 0U) << switches << " " << bits;
                EXPECT_FALSE(slow.cyclic) << switches << " " << bits;
            } else {
                EXPECT_NE(routes.error().message.find("form no tree"), std::string::npos);
            }
        }
    }
    EXPECT_GT(served, 300U);
}

// The trees of ibdm's own tests, each odd in its way, and other people's.
TEST(Ftree, FieldTreesAreServed) {
    for (const char* name : {"ibdm/merge-roots-4-ary-2-tree.net",
                             "ibdm/half-4-ary-3-tree.net",
                             "ibdm/4-ary-2-tree.net",
                             "ibdm/4-ary-2-tree-links-at-same-rank-1.net",
                             "ibdm/4-ary-2-tree-missing-sw-link.net",
                             "ibdm/4-ary-3-tree.net",
                             "ibdm/partial-gnu-based-32.net",
                             "ibdm/gnu-stallion-64.net",
                             "ibdm/12-node-spaced.net",
                             "ibdm/32nodes-3lvl-is1.net",
                             "ibdm/32nodes-3lvl-is1-cbb2-2st.net",
                             "ibdm/demo-network-128.net",
                             "ibdm/RhinoDDR.net",
                             "ibdm/RhinoReindeer1100.net",
                             "ibdm/IS1-16.net",
                             "ibdm/Buffalo8.net",
                             "ibdm/SingleGazelle.net",
                             "synthetic/kary-4-n-3-80sw.topo",
                             "netlist/qnib-clos3.net",
                             "netlist/qnib-clos3_multilink.net",
                             "netlist/qnibng-256nodes.net",
                             "real/ndr-2tier-40sw.topo",
                             "real/hdr-3tier-206sw-console-paste.topo.gz",
                             "real/qdr-ddr-11sw.topo"}) {
        const std::string file = shared_file(name);
        if (file.empty()) {
            GTEST_SKIP() << "the shared fabrics are not here";
        }
        SCOPED_TRACE(name);
        const auto netlist = load_netlist(file);
        ASSERT_TRUE(netlist) << netlist.error().message;
        const auto topology = topology_of(*netlist, 0);
        ASSERT_TRUE(topology) << topology.error().message;
        const auto routes = run_engine("ftree", *topology, nullptr, RouteOptions{});
        ASSERT_TRUE(routes) << routes.error().message;
        expect_served(*topology, *routes);
    }
}

TEST(Ftree, RailsOfAHostComeOverDifferentSpines) {
    for (const Rails rails : {Rails::on_two_leaves, Rails::on_one_leaf}) {
        const Topology topology = two_rails(rails, 4);
        const Routes routes = routes_of("ftree", topology);
        expect_served(topology, routes);
        for (std::size_t end = 0; end + 1 < topology.end_ports.size(); ++end) {
            const TopologyEndPort& first = topology.end_ports[end];
            const TopologyEndPort& second = topology.end_ports[end + 1];
            if (first.node_guid != second.node_guid) {
                continue;
            }
            for (std::uint32_t leaf = 0; leaf < 4; ++leaf) {
                if (leaf != first.switch_index && leaf != second.switch_index) {
                    const auto a = walk(topology, routes, leaf, first.lids.base.value());
                    const auto b = walk(topology, routes, leaf, second.lids.base.value());
                    ASSERT_EQ(a.size(), 3U);
                    ASSERT_EQ(b.size(), 3U);
                    EXPECT_NE(a[1], b[1]) << "end " << end << " from leaf " << leaf;
                }
            }
        }
    }
}

TEST(Ftree, ThreadsAndOrderOfDiscoveryDoNotMatter) {
    for (const char* spec :
         {"fat-tree:radix=12,levels=3", "fat-tree:radix=8,levels=3,missing-links=0.05,seed=2"}) {
        const Topology topology = generated(spec);
        RouteOptions options;
        options.threads = 1;
        const auto one = run_engine("ftree", topology, nullptr, options);
        ASSERT_TRUE(one);
        for (const unsigned threads : {2U, 3U, 8U}) {
            options.threads = threads;
            EXPECT_EQ(run_engine("ftree", topology, nullptr, options)->hash(), one->hash()) << spec;
        }
    }
    FabricMaker maker{.switches = 7, .links = {}, .hosts = {3, 3, 3, 3, 0, 0, 0}};
    for (unsigned leaf = 0; leaf < 4; ++leaf) {
        for (unsigned spine = 4; spine < 7; ++spine) {
            maker.links.emplace_back(leaf, spine);
        }
    }
    const Routes plain = routes_of("ftree", maker.make());
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        maker.shuffle_seed = seed;
        EXPECT_EQ(routes_of("ftree", maker.make()).hash(), plain.hash());
    }
}

/// The same cables under other GUIDs, in other sockets: other tables, the same quality.
TEST(Ftree, NamesDoNotMatter) {
    const Topology plain = generated("fat-tree:radix=8,levels=3");
    const Quality was = measure_quality(plain, routes_of("ftree", plain), 2);
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        const Topology renamed = scrambled("fat-tree:radix=8,levels=3", seed);
        const Routes routes = routes_of("ftree", renamed);
        expect_served(renamed, routes);
        const Quality quality = measure_quality(renamed, routes, 2);
        EXPECT_EQ(quality.max_link_load, was.max_link_load);
        EXPECT_EQ(quality.mean_dilation, 1.0);
    }
}

/// Blocks of 64 entries in which two rows of tables differ, by switch GUID.
std::map<mad::Guid, std::set<std::size_t>> changed_blocks(const Routes& before, const Routes& after) {
    std::map<mad::Guid, std::set<std::size_t>> changed;
    for (std::size_t i = 0; i < after.rows.size(); ++i) {
        const auto old =
            std::find(before.switch_guids.begin(), before.switch_guids.end(), after.switch_guids[i]);
        const LftRow& was = *before.rows[static_cast<std::size_t>(old - before.switch_guids.begin())];
        const LftRow& now = *after.rows[i];
        for (std::size_t lid = 0; lid < now.size(); ++lid) {
            if (lid >= was.size() || was[lid] != now[lid]) {
                changed[after.switch_guids[i]].insert(lid / mad::kLftBlockEntries);
            }
        }
    }
    return changed;
}

// C74: a spine fails. Only what went over it moves.
TEST(Ftree, C74SpineFailsAndOtherFlowsKeepTheirPort) {
    const Topology whole = generated("fat-tree:radix=8,levels=3");
    const Routes before = routes_of("ftree", whole);
    const std::uint32_t spine = switch_named(whole, "core-001");
    const std::uint32_t spine_lid = whole.switches[spine].lids.base.value();
    const Topology cut = without_switch(whole, spine);
    const auto after = run_engine("ftree", cut, &before, RouteOptions{});
    ASSERT_TRUE(after);
    expect_served(cut, *after);
    for (std::uint32_t at = 0; at < cut.switches.size(); ++at) {
        const std::uint32_t was_at = at < spine ? at : at + 1;
        for (const TopologyEndPort& end : cut.end_ports) {
            const std::uint8_t was = before.port(SwitchIndex{was_at}, end.lids.base);
            const PortPeer& peer = whole.switches[was_at].peers[was];
            const bool over_spine = peer.kind == PortPeer::Kind::switch_ && peer.index == spine;
            const std::uint8_t now = after->port(SwitchIndex{at}, end.lids.base);
            EXPECT_TRUE(over_spine ? now != was : now == was) << cut.switches[at].name << " to " << end.name;
        }
    }
    // The LID of the dead spine is dropped everywhere; beyond that only neighbours of the spine change.
    for (const auto& [guid, blocks] : changed_blocks(before, *after)) {
        const bool neighbour = std::any_of(whole.switches[spine].peers.begin(),
                                           whole.switches[spine].peers.end(), [&](const PortPeer& peer) {
                                               return peer.kind == PortPeer::Kind::switch_ &&
                                                      whole.switches[peer.index].guid == guid;
                                           });
        if (!neighbour) {
            EXPECT_EQ(blocks, (std::set<std::size_t>{spine_lid / mad::kLftBlockEntries}));
        }
    }
}

/// Blocks that are written after a loss against those that anybody would have to write. Small fabrics have
/// few blocks a switch, so what is written from switch to switch only is set apart; reroute_bench shows it in
/// proportion.
void expect_few_blocks(const std::string& engine, const Routes& before, const Topology& cut,
                       const std::string& what) {
    const auto after = run_engine(engine, cut, &before, RouteOptions{});
    ASSERT_TRUE(after);
    const BlockCount blocks = ForcedBlocks(before, cut, *after).count();
    EXPECT_GT(blocks.forced, 0U) << engine << " " << what;
    EXPECT_LE(5 * (blocks.moved - blocks.idle), 6 * blocks.forced)
        << engine << " " << what << ": moved " << blocks.moved << ", of them idle " << blocks.idle
        << ", forced " << blocks.forced;
}

void expect_few_blocks_for_every_loss(const std::string& engine, const Topology& whole) {
    const Routes before = routes_of(engine, whole);
    for (std::uint32_t at = 0; at < whole.switches.size(); ++at) {
        const std::string& name = whole.switches[at].name;
        for (std::size_t port = 1; port < whole.switches[at].peers.size(); ++port) {
            const PortPeer& peer = whole.switches[at].peers[port];
            if (peer.kind == PortPeer::Kind::switch_ && at < peer.index) {
                Topology cut = whole;
                cut_link(cut, at, port);
                expect_few_blocks(engine, before, cut, name + " port " + std::to_string(port));
            }
        }
        if (name.starts_with("core")) {
            expect_few_blocks(engine, before, without_switch(whole, at), name);
        }
    }
}

TEST(Ftree, NoLossMovesManyMoreBlocksThanItMust) {
    for (const char* engine : {"ftree", "updn"}) {
        expect_few_blocks_for_every_loss(engine, generated("fat-tree:radix=16,levels=3,pods=6"));
    }
}

TEST(Ftree, AMemoOfOtherRowsIsNotBelieved) {
    const Topology topology = generated("fat-tree:radix=8,levels=3");
    Routes tampered = routes_of("ftree", topology);
    auto row = std::make_shared<LftRow>(*tampered.rows[0]);
    std::fill(row->begin(), row->end(), std::uint8_t{1});
    tampered.rows[0] = row;
    const auto mended = run_engine("ftree", topology, &tampered, RouteOptions{});
    ASSERT_TRUE(mended);
    expect_served(topology, *mended);
}

/// Rows in which nothing changes are the previous rows themselves.
TEST(Ftree, UnchangedRowsAreShared) {
    const Topology whole = generated("fat-tree:radix=8,levels=3");
    const Routes before = routes_of("ftree", whole);
    const auto again = run_engine("ftree", whole, &before, RouteOptions{});
    ASSERT_TRUE(again);
    EXPECT_EQ(again->rows, before.rows);
}

}  // namespace
}  // namespace ibf::routing::test
