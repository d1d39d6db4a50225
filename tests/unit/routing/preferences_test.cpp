// Preferences: slow links, hop weights, ignored ports, roles and order, and what engines make of them.
#include "routing/preferences.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "engine_fixtures.hpp"
#include "routing/engine_chooser.hpp"
#include "routing/engine_targets.hpp"
#include "routing/patterns.hpp"

namespace ibf::routing::test {
namespace {

const std::vector<std::string> kChoosing{"minhop", "updn", "dnup", "ftree", "sssp", "dfsssp"};

RouteOptions with(SlowLinks slow_links) {
    RouteOptions options;
    options.preferences.slow_links = slow_links;
    return options;
}

Routes routed(const std::string& engine, const Topology& topology, const Routes* previous,
              const RouteOptions& options) {
    auto routes = run_engine(engine, topology, previous, options);
    EXPECT_TRUE(routes) << engine << ": " << (routes ? "" : routes.error().message);
    return routes ? std::move(*routes) : Routes{};
}

/// All is reached; no lane can deadlock, where the engine says so.
void expect_sound(const std::string& engine, const Topology& topology, const Routes& routes) {
    const Verdict verdict = verify(topology, routes, 1);
    EXPECT_TRUE(verdict.reachable()) << verdict.first_failure;
    EXPECT_EQ(verdict.lane_faults, 0U);
    EXPECT_TRUE(verdict.credit_loop_free || engine == "minhop" || engine == "sssp");
}

/// A cable between two switches runs at so small a part of what it could.
void throttle(Topology& topology, std::uint32_t at, std::size_t port, std::uint32_t part) {
    PortPeer& peer = topology.switches[at].peers[port];
    ASSERT_EQ(peer.kind, PortPeer::Kind::switch_);
    for (PortPeer* end : {&peer, &topology.switches[peer.index].peers[peer.port.value()]}) {
        end->throttled = true;
        end->mbps /= part;
    }
}

std::vector<std::uint8_t> ports_to_switches(const Topology& topology, std::uint32_t at) {
    std::vector<std::uint8_t> ports;
    for (std::size_t port = 1; port < topology.switches[at].peers.size(); ++port) {
        if (topology.switches[at].peers[port].kind == PortPeer::Kind::switch_) {
            ports.push_back(static_cast<std::uint8_t>(port));
        }
    }
    return ports;
}

/// How many of these end ports' LIDs a switch sends by each port.
std::map<std::uint8_t, unsigned> counts(const Topology& topology, const Routes& routes, std::uint32_t at,
                                        const std::vector<EndPortIndex>& ends) {
    std::map<std::uint8_t, unsigned> found;
    for (const EndPortIndex index : ends) {
        const TopologyEndPort& end = topology.end_ports[index.value()];
        if (end.switch_index != at) {
            ++found[routes.port(SwitchIndex{at}, end.lids.base)];
        }
    }
    return found;
}

unsigned count_by(const Topology& topology, const Routes& routes, std::uint32_t at, std::uint8_t port) {
    return counts(topology, routes, at, usual_order(topology, 1))[port];
}

/// Two leaves of four hosts, two spines; leaf 0 is switch 0, its first uplink port 5.
Topology t2() {
    Topology topology =
        FabricMaker{.switches = 4, .links = {{0, 2}, {0, 3}, {1, 2}, {1, 3}}, .hosts = {4, 4, 0, 0}}.make();
    for (TopologySwitch& item : topology.switches) {
        for (PortPeer& peer : item.peers) {
            peer.mbps = 10'000;
        }
    }
    return topology;
}

TEST(SlowLinks, C72_a_link_at_half_rate_gets_half_the_weight) {
    for (const std::string& engine : kChoosing) {
        SCOPED_TRACE(engine);
        Topology topology = t2();
        throttle(topology, 0, 5, 2);
        const Routes used = routed(engine, topology, nullptr, with(SlowLinks::use));
        EXPECT_EQ(count_by(topology, used, 0, 5), 2U);
        EXPECT_EQ(count_by(topology, used, 0, 6), 2U);
        const Routes weighed = routed(engine, topology, nullptr, with(SlowLinks::weigh));
        EXPECT_EQ(count_by(topology, weighed, 0, 5), 1U) << "a third of four";
        EXPECT_EQ(count_by(topology, weighed, 0, 6), 3U);
        EXPECT_EQ(count_by(topology, weighed, 1, 5), 1U) << "the way down the slow link is chosen here";
        expect_sound(engine, topology, weighed);
    }
}

/// Of 35 shares of a leaf with 18 uplinks the slow one has one: 17.5 full links' worth of traffic.
TEST(SlowLinks, SharesAreInProportionBeyondWhatIsEvenedOut) {
    Topology topology = generated("fat-tree:radix=36,levels=2");
    const auto ports = ports_to_switches(topology, 0);
    ASSERT_EQ(ports.size(), 18U);
    throttle(topology, 0, ports[3], 2);
    const Routes routes = routed("ftree", topology, nullptr, with(SlowLinks::weigh));
    const double all = 35 * 18;  // LIDs at other leaves
    for (const std::uint8_t port : ports) {
        const double share = port == ports[3] ? 1 / 35.0 : 2 / 35.0;
        // What comes down the slow link has its say too: some LIDs have left for other spines.
        const double leeway = port == ports[3] ? 4.0 : 1.0;
        EXPECT_NEAR(count_by(topology, routes, 0, port), all * share, leeway) << unsigned{port};
    }
    expect_safe(topology, routes);
}

/// What the closed form alone makes of rates: over whole cycles the counts are exact.
std::map<std::uint8_t, unsigned> chosen(const Graph& graph, const Shape& shape, std::uint32_t numbers) {
    const SlotTables tables(shape, numbers);
    PortChooser chooser(graph, shape, tables);
    chooser.start(0);
    GroupSet all{};
    all[0] = (std::uint64_t{1} << graph.groups_of(0).size()) - 1;
    chooser.use(all);
    std::map<std::uint8_t, unsigned> counts;
    for (std::uint32_t number = 0; number < numbers; ++number) {
        ++counts[chooser.ideal(number)];
    }
    return counts;
}

TEST(SlowLinks, SlotsAreSharedOutInProportion) {
    Topology topology = generated("fat-tree:radix=8,levels=2");
    const auto ports = ports_to_switches(topology, 0);
    ASSERT_EQ(ports.size(), 4U);
    throttle(topology, 0, ports[2], 2);
    const Graph graph = make_graph(topology, {}, with(SlowLinks::weigh).preferences);
    const auto hops = hop_distances(graph, 1);
    ASSERT_TRUE(hops);
    const Shape shape = shape_of(graph, *hops, heights_from_hosts(graph, *hops));
    EXPECT_EQ(shape.rounds[0], 2U);
    EXPECT_EQ(shape.rounds[1], 1U) << "all of its links are equal";
    for (const auto& [port, count] : chosen(graph, shape, 8 * 7)) {
        EXPECT_EQ(count, port == ports[2] ? 8U : 16U) << unsigned{port};
    }
}

/// All spines look alike to a leaf but one, by whose links it sends half as much.
Topology rails_with_a_slow_spine() {
    Topology topology = two_rails(Rails::on_two_leaves, 8);
    for (TopologySwitch& item : topology.switches) {
        for (PortPeer& peer : item.peers) {
            peer.mbps = 10'000;
        }
    }
    for (std::uint32_t leaf = 0; leaf < 4; ++leaf) {
        throttle(topology, leaf, 9, 2);
    }
    return topology;
}

// Two rounds of slots lead to the same spines: numbers that are apart in eight slots of two rounds may be the
// same in the four ports.
TEST(SlowLinks, RailsAreApartWithinOneRoundOfSlots) {
    const Topology topology = rails_with_a_slow_spine();
    const Preferences preferences = with(SlowLinks::weigh).preferences;
    const Graph graph = make_graph(topology, {}, preferences);
    const auto hops = hop_distances(graph, 1);
    ASSERT_TRUE(hops);
    const Shape shape = shape_of(graph, *hops, heights_from_hosts(graph, *hops));
    ASSERT_EQ(shape.rounds[0], 2U);
    ASSERT_EQ(shape.slots[0].size(), 8U);
    const Targets targets(topology, shape, {0, topology.max_lid + 1U}, roles_of(topology, preferences));
    std::map<std::uint32_t, std::uint32_t> number_of;
    for (std::size_t place = 0; place < shape.order.size(); ++place) {
        for (const Target& target : targets.at(place)) {
            number_of[target.lid] = target.number;
        }
    }
    unsigned pairs = 0;
    for (std::size_t end = 0; end + 1 < topology.end_ports.size(); ++end) {
        const TopologyEndPort& first = topology.end_ports[end];
        const TopologyEndPort& second = topology.end_ports[end + 1];
        if (first.node_guid == second.node_guid) {
            ++pairs;
            EXPECT_NE(number_of[first.lids.base.value()] % 4, number_of[second.lids.base.value()] % 4) << end;
        }
    }
    EXPECT_EQ(pairs, 16U);
}

TEST(SlowLinks, CablesToOneNeighbourAreSharedOutInProportion) {
    Topology topology = FabricMaker{.switches = 2, .links = {{0, 1}, {0, 1}, {0, 1}}, .hosts = {0, 0}}.make();
    for (const std::size_t port : {1, 2, 3}) {
        topology.switches[0].peers[port].mbps = port == 2 ? 25'000 : 100'000;
    }
    const Graph graph = make_graph(topology, {}, with(SlowLinks::weigh).preferences);
    Shape shape;
    shape.slots.resize(2);
    shape.divider.assign(2, 1);
    EXPECT_EQ(chosen(graph, shape, 90), (std::map<std::uint8_t, unsigned>{{1, 40}, {2, 10}, {3, 40}}));
    EXPECT_EQ(shares_of({100, 100, 100}), (std::vector<std::uint8_t>{1, 1, 1}));
    EXPECT_EQ(shares_of({1, 400, 100}), (std::vector<std::uint8_t>{1, 8, 2})) << "never none";
}

TEST(SlowLinks, WhereRatesAreEqualNothingChanges) {
    for (const char* spec : {"fat-tree:radix=8,levels=3",
                             "fat-tree:radix=8,levels=3,missing-links=0.05,seed=2", "torus:4x4,hosts=2"}) {
        const Topology topology = generated(spec);
        for (const std::string& engine : kChoosing) {
            const auto plain = run_engine(engine, topology, nullptr, RouteOptions{});
            for (const SlowLinks how : {SlowLinks::weigh, SlowLinks::avoid}) {
                const auto other = run_engine(engine, topology, nullptr, with(how));
                ASSERT_EQ(plain.has_value(), other.has_value()) << spec << engine;
                if (plain) {
                    EXPECT_EQ(plain->hash(), other->hash()) << spec << " " << engine;
                }
            }
        }
    }
}

bool crosses_slow_link(const Topology& topology, const Routes& routes) {
    for (std::uint32_t at = 0; at < topology.switches.size(); ++at) {
        for (std::uint32_t lid = 1; lid <= topology.max_lid; ++lid) {
            const std::uint8_t port = routes.port(SwitchIndex{at}, mad::Lid{static_cast<std::uint16_t>(lid)});
            if (port != mad::kLftDrop && topology.switches[at].peers[port].kind == PortPeer::Kind::switch_ &&
                topology.switches[at].peers[port].throttled) {
                return true;
            }
        }
    }
    return false;
}

TEST(SlowLinks, AvoidedLinksCarryNothingWhileThereIsAnotherWay) {
    for (const std::string& engine : kChoosing) {
        SCOPED_TRACE(engine);
        Topology topology = generated("fat-tree:radix=8,levels=3");
        const auto ports = ports_to_switches(topology, 0);
        throttle(topology, 0, ports[1], 4);
        EXPECT_TRUE(crosses_slow_link(topology, routed(engine, topology, nullptr, with(SlowLinks::use))));
        const Routes routes = routed(engine, topology, nullptr, with(SlowLinks::avoid));
        EXPECT_FALSE(crosses_slow_link(topology, routes));
        expect_sound(engine, topology, routes);
    }
}

TEST(SlowLinks, ALeafThatHasNoOtherLinksKeepsThem) {
    for (const std::string& engine : kChoosing) {
        SCOPED_TRACE(engine);
        Topology topology = generated("fat-tree:radix=8,levels=2");
        for (const std::uint8_t port : ports_to_switches(topology, 0)) {
            throttle(topology, 0, port, 4);
        }
        const auto other = ports_to_switches(topology, 1).front();
        throttle(topology, 1, other, 4);
        const Routes routes = routed(engine, topology, nullptr, with(SlowLinks::avoid));
        expect_sound(engine, topology, routes);
        EXPECT_EQ(count_by(topology, routes, 1, other), 0U) << "leaf 1 has others";
        const auto found = counts(topology, routes, 0, usual_order(topology, 1));
        EXPECT_EQ(found.size(), ports_to_switches(topology, 0).size()) << "leaf 0 spreads over all it has";
    }
}

/// A link that is throttled while tables are in force is relieved, and loaded again once it is mended.
TEST(SlowLinks, TablesInForceFollowARateThatChanges) {
    for (const std::string& engine : kChoosing) {
        for (const SlowLinks how : {SlowLinks::weigh, SlowLinks::avoid}) {
            SCOPED_TRACE(fmt::format("{} {}", engine, static_cast<int>(how)));
            const Topology whole = generated("fat-tree:radix=8,levels=2");
            const auto port = ports_to_switches(whole, 0).front();
            const Routes before = routed(engine, whole, nullptr, with(how));
            Topology slow = whole;
            throttle(slow, 0, port, 4);
            const Routes relieved = routed(engine, slow, &before, with(how));
            EXPECT_LT(count_by(slow, relieved, 0, port), count_by(whole, before, 0, port));
            if (how == SlowLinks::weigh) {
                EXPECT_EQ(routed(engine, whole, &relieved, with(how)).hash(), before.hash());
            }
        }
    }
}

/// Cables are lost, slow down, recover: with and without what the last evaluation knew the bytes are equal,
/// and so they are for any number of threads.
TEST(SlowLinks, WhatChangedIsEnoughToKnow) {
    for (const std::string engine : {"ftree", "updn"}) {
        for (const SlowLinks how : {SlowLinks::weigh, SlowLinks::avoid}) {
            const Topology whole = generated("fat-tree:radix=8,levels=3");
            Topology topology = whole;
            RouteOptions options = with(how);
            Routes last = routed(engine, topology, nullptr, options);
            base::Prng prng(5);
            for (int event = 0; event < 30 && !::testing::Test::HasFailure(); ++event) {
                SCOPED_TRACE(fmt::format("{} {} event {}", engine, static_cast<int>(how), event));
                const auto at = static_cast<std::uint32_t>(prng.below(topology.switches.size()));
                const auto ports = ports_to_switches(topology, at);
                const std::uint64_t kind = prng.below(10);
                if (kind < 5 && !ports.empty()) {
                    throttle(topology, at, ports[prng.below(ports.size())],
                             2 + static_cast<std::uint32_t>(prng.below(3)));
                } else if (kind < 9) {
                    topology = without_links(topology, 1, prng);
                } else {
                    topology = whole;
                }
                Routes bare = last;
                bare.memo = nullptr;
                options.threads = 2;
                const Routes built_on = routed(engine, topology, &last, options);
                options.threads = 1;
                const Routes anew = routed(engine, topology, &bare, options);
                EXPECT_EQ(built_on.hash(), anew.hash());
                const Verdict verdict = verify(topology, built_on, 1);
                EXPECT_EQ(verdict.loops, 0U);
                EXPECT_TRUE(verdict.credit_loop_free);
                last = built_on;
            }
        }
    }
}

std::uint8_t weight_of(const Preferences& preferences, const Topology& topology, std::uint32_t at,
                       std::uint8_t port) {
    for (const HopWeight& entry : preferences.hop_weights) {
        if (entry.at == SwitchPort{topology.switches[at].guid, mad::PortNum{port}}) {
            return entry.hops;
        }
    }
    return 1;
}

/// Weights of some links of a fabric, each way by itself.
Preferences random_weights(const Topology& topology, base::Prng& prng) {
    Preferences preferences;
    for (std::uint32_t at = 0; at < topology.switches.size(); ++at) {
        for (const std::uint8_t port : ports_to_switches(topology, at)) {
            if (prng.below(2) == 0) {
                preferences.hop_weights.push_back({{topology.switches[at].guid, mad::PortNum{port}},
                                                   static_cast<std::uint8_t>(1 + prng.below(6))});
            }
        }
    }
    return preferences;
}

/// Least sums of weights between all switches, by the plainest means there are.
std::vector<std::vector<unsigned>> plain_sums(const Topology& topology, const Preferences& preferences) {
    const std::size_t count = topology.switches.size();
    std::vector<std::vector<unsigned>> sums(count, std::vector<unsigned>(count, 100'000));
    for (std::uint32_t at = 0; at < count; ++at) {
        sums[at][at] = 0;
        for (const std::uint8_t port : ports_to_switches(topology, at)) {
            unsigned& sum = sums[at][topology.switches[at].peers[port].index];
            sum = std::min(sum, unsigned{weight_of(preferences, topology, at, port)});
        }
    }
    for (std::size_t over = 0; over < count; ++over) {
        for (std::size_t from = 0; from < count; ++from) {
            for (std::size_t to = 0; to < count; ++to) {
                sums[from][to] = std::min(sums[from][to], sums[from][over] + sums[over][to]);
            }
        }
    }
    return sums;
}

TEST(HopWeights, PathsAreOfTheLeastSumWhateverTheWeights) {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        const Topology topology = random_fabric(seed, 6, 8).make();
        base::Prng prng(seed);
        RouteOptions options;
        options.preferences = random_weights(topology, prng);
        const auto sums = plain_sums(topology, options.preferences);
        for (const std::string engine : {"minhop", "sssp", "dfsssp"}) {
            SCOPED_TRACE(fmt::format("{} seed {}", engine, seed));
            const Routes routes = routed(engine, topology, nullptr, options);
            for (const TopologyEndPort& end : topology.end_ports) {
                for (std::uint32_t from = 0; from < topology.switches.size(); ++from) {
                    const auto path = walk(topology, routes, from, end.lids.base.value());
                    ASSERT_FALSE(path.empty());
                    unsigned sum = 0;
                    for (std::size_t i = 0; i + 1 < path.size(); ++i) {
                        const std::uint8_t port = routes.port(SwitchIndex{path[i]}, end.lids.base);
                        sum += weight_of(options.preferences, topology, path[i], port);
                    }
                    EXPECT_EQ(sum, sums[from][end.switch_index]) << from;
                }
            }
            options.threads = 1;
            EXPECT_EQ(routed(engine, topology, nullptr, options).hash(), routes.hash());
            EXPECT_EQ(routed(engine, topology, &routes, options).hash(), routes.hash()) << "the same again";
            options.threads = 0;
        }
    }
}

TEST(HopWeights, AreOfOneDirection) {
    const Topology triangle = FabricMaker{.switches = 3, .links = {{0, 1}, {1, 2}, {2, 0}}}.make();
    RouteOptions options;
    options.preferences.hop_weights = {{{triangle.switches[0].guid, mad::PortNum{2}}, 3}};
    const Routes routes = routed("minhop", triangle, nullptr, options);
    EXPECT_EQ(walk(triangle, routes, 0, 2), (std::vector<std::uint32_t>{0, 2, 1})) << "round the heavy link";
    EXPECT_EQ(walk(triangle, routes, 1, 1), (std::vector<std::uint32_t>{1, 0})) << "over it the other way";
}

TEST(HopWeights, SumsThatDoNotFitAreRefusedWithTheRemedy) {
    const Topology line = FabricMaker{.switches = 3, .links = {{0, 1}, {1, 2}}}.make();
    RouteOptions options;
    options.preferences.hop_weights = {{{line.switches[0].guid, mad::PortNum{2}}, 250}};
    const auto routes = run_engine("minhop", line, nullptr, options);
    ASSERT_FALSE(routes);
    EXPECT_EQ(
        routes.error().message,
        "hop weights make two switches more than 250 hops apart; use smaller weights, or none for links "
        "that are the only way");
    options.preferences.hop_weights[0].hops = 249;
    EXPECT_TRUE(run_engine("minhop", line, nullptr, options));
}

/// 250 hops from the one side and 10 to get there are 4 in a byte, as many as the other side has.
TEST(HopWeights, ASumThatGoesRoundIsNoShortWay) {
    const Topology line = FabricMaker{.switches = 3, .links = {{0, 1}, {1, 2}}, .hosts = {1, 1, 8}}.make();
    RouteOptions options;
    options.preferences.hop_weights = {{{line.switches[0].guid, mad::PortNum{2}}, 246},
                                       {{line.switches[1].guid, mad::PortNum{2}}, 10},
                                       {{line.switches[1].guid, mad::PortNum{3}}, 4}};
    const Routes routes = routed("minhop", line, nullptr, options);
    EXPECT_EQ(verify(line, routes, 1).loops, 0U);
    EXPECT_TRUE(verify(line, routes, 1).reachable());
}

TEST(HopWeights, EnginesWithoutAUseForThemSaySo) {
    const Topology topology = generated("fat-tree:radix=8,levels=2");
    base::Prng prng(1);
    RouteOptions options;
    options.preferences = random_weights(topology, prng);
    options.preferences.slow_links = SlowLinks::avoid;
    const Routes tree = routed("ftree", topology, nullptr, options);
    EXPECT_EQ(tree.remark, "has no use for hop_weights_file");
    EXPECT_EQ(tree.hash(), routes_of("ftree", topology).hash());
    const Routes nue = routed("nue", topology, nullptr, options);
    EXPECT_EQ(nue.remark, "has no use for hop_weights_file, slow_links");
    EXPECT_EQ(nue.preferred, 0U);
    EXPECT_EQ(routed("minhop", topology, nullptr, options).remark, "");
}

/// A fabric in which one host of each leaf, drawn by seed, is set apart from the others.
struct Mixed {
    Topology topology;
    std::vector<EndPortIndex> apart;
    std::vector<EndPortIndex> rest;
};
Mixed mixed(const std::string& spec, std::uint64_t seed) {
    Mixed out;
    out.topology = generated(spec);
    base::Prng prng(seed);
    std::vector<std::vector<EndPortIndex>> by_leaf(out.topology.switches.size());
    for (const EndPortIndex end : usual_order(out.topology, 1)) {
        by_leaf[out.topology.end_ports[end.value()].switch_index].push_back(end);
    }
    std::vector<char> is_apart(out.topology.end_ports.size(), 0);
    for (const auto& ends : by_leaf) {
        if (!ends.empty()) {
            is_apart[ends[prng.below(ends.size())].value()] = 1;
        }
    }
    for (const EndPortIndex end : usual_order(out.topology, 1)) {
        (is_apart[end.value()] != 0 ? out.apart : out.rest).push_back(end);
    }
    return out;
}

std::vector<mad::Guid> guids_of(const Topology& topology, const std::vector<EndPortIndex>& ends) {
    std::vector<mad::Guid> guids;
    for (const EndPortIndex end : ends) {
        guids.push_back(topology.end_ports[end.value()].port_guid);
    }
    std::sort(guids.begin(), guids.end());
    return guids;
}

/// The switch ports of the hosts that are set apart are ignored.
RouteOptions ignoring(const Mixed& fabric) {
    RouteOptions options;
    for (const EndPortIndex end : fabric.apart) {
        const TopologyEndPort& port = fabric.topology.end_ports[end.value()];
        options.preferences.ignored_ports.push_back(
            {fabric.topology.switches[port.switch_index].guid, port.switch_port});
    }
    std::sort(options.preferences.ignored_ports.begin(), options.preferences.ignored_ports.end());
    return options;
}

double shift_of(const Mixed& fabric, const Routes& routes) {
    return lay_pattern(Pattern::shift, fabric.topology, routes, fabric.rest, PatternOptions{}).mean_worst;
}

/// How far the most loaded of the uplinks of a level is above their mean, at worst. (Three hosts of a leaf
/// cannot come down four links evenly.)
double worst_uplink(const Mixed& fabric, const Routes& routes) {
    double worst = 0;
    for (const LevelLoad& level : measure_quality(fabric.topology, routes, fabric.rest, 1).levels) {
        if (level.level.ends_with("up")) {
            worst = std::max(worst, static_cast<double>(level.max) / level.mean);
        }
    }
    return worst;
}

TEST(Roles, ComputeNodesAloneAreFreeOfContention) {
    for (const char* spec : {"fat-tree:radix=8,levels=2", "fat-tree:radix=8,levels=3"}) {
        for (const std::string engine : {"minhop", "updn", "dnup", "ftree"}) {
            SCOPED_TRACE(fmt::format("{} {}", spec, engine));
            const Mixed fabric = mixed(spec, 3);
            const Routes plain = routed(engine, fabric.topology, nullptr, RouteOptions{});
            EXPECT_GT(shift_of(fabric, plain), 1.2);
            EXPECT_GT(worst_uplink(fabric, plain), 1.2);
            RouteOptions options;
            options.preferences.compute_nodes = guids_of(fabric.topology, fabric.rest);
            options.preferences.io_nodes = guids_of(fabric.topology, fabric.apart);
            const Routes apart = routed(engine, fabric.topology, nullptr, options);
            EXPECT_DOUBLE_EQ(shift_of(fabric, apart), 1.0);
            EXPECT_LT(worst_uplink(fabric, apart), 1.15) << "21 LIDs over four uplinks";
            EXPECT_TRUE(verify(fabric.topology, apart, 1).reachable());

            options.preferences.compute_nodes.clear();
            EXPECT_EQ(routed(engine, fabric.topology, nullptr, options).hash(), apart.hash())
                << "with I/O nodes alone the others compute";
        }
    }
}

/// On graphs that are evened out, compute nodes are so among themselves, by flows from their like, and first.
TEST(Roles, ComputeNodesAreEvenedOutByThemselves) {
    std::uint64_t worst[2] = {0, 0};  // of the links between compute nodes, all seeds together
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        Mixed fabric;
        fabric.topology = generated("torus:4x4,hosts=4");
        base::Prng prng(seed);
        for (const EndPortIndex end : usual_order(fabric.topology, 1)) {
            // Servers crowd on some switches.
            const std::uint32_t at = fabric.topology.end_ports[end.value()].switch_index;
            (prng.below(8) < at % 8 ? fabric.apart : fabric.rest).push_back(end);
        }
        RouteOptions options;
        for (const bool told : {false, true}) {
            if (told) {
                options.preferences.io_nodes = guids_of(fabric.topology, fabric.apart);
            }
            const Routes routes = routed("minhop", fabric.topology, nullptr, options);
            worst[told ? 1 : 0] += measure_quality(fabric.topology, routes, fabric.rest, 1).max_link_load;
        }
    }
    EXPECT_LT(worst[1] * 10, worst[0] * 7);
}

TEST(Roles, WhatAnIgnoredPortLeadsToIsNotCounted) {
    for (const std::string engine : {"minhop", "updn", "dnup", "ftree"}) {
        SCOPED_TRACE(engine);
        const Mixed fabric = mixed("fat-tree:radix=8,levels=3", 4);
        const Routes routes = routed(engine, fabric.topology, nullptr, ignoring(fabric));
        EXPECT_DOUBLE_EQ(shift_of(fabric, routes), 1.0);
        expect_safe(fabric.topology, routes);
    }
}

/// Ignored hosts, on half of the leaves, move nobody: the others are routed as in a fabric in which those
/// have no LID.
TEST(Roles, IgnoredHostsMoveNobody) {
    for (const std::string& engine : kChoosing) {
        SCOPED_TRACE(engine);
        Mixed fabric = mixed("fat-tree:radix=8,levels=3", 4);
        const auto half = fabric.apart.begin() + static_cast<std::ptrdiff_t>(fabric.apart.size() / 2);
        fabric.rest.insert(fabric.rest.end(), half, fabric.apart.end());
        fabric.apart.erase(half, fabric.apart.end());
        Topology without = fabric.topology;
        for (const EndPortIndex end : fabric.apart) {
            without.end_ports[end.value()].lids = {};
        }
        const Routes routes = routed(engine, fabric.topology, nullptr, ignoring(fabric));
        const Routes lone = routed(engine, without, nullptr, RouteOptions{});
        unsigned moved = 0;
        for (std::uint32_t at = 0; at < without.switches.size(); ++at) {
            for (const EndPortIndex end : fabric.rest) {
                const mad::Lid lid = without.end_ports[end.value()].lids.base;
                moved += routes.port(SwitchIndex{at}, lid) != lone.port(SwitchIndex{at}, lid) ? 1U : 0U;
            }
        }
        EXPECT_EQ(moved, 0U);
    }
}

TEST(Roles, OrderSaysWhoGetsTheBetterSpread) {
    for (const std::string engine : {"minhop", "updn", "ftree", "sssp"}) {
        SCOPED_TRACE(engine);
        const Mixed fabric = mixed("fat-tree:radix=16,levels=2", 9);  // 16 leaves, 8 uplinks each
        const auto spread = [&](const Routes& routes) {  // over all leaves: the most of one uplink
            unsigned most = 0;
            for (const EndPortIndex end : fabric.apart) {
                const std::uint32_t leaf = fabric.topology.end_ports[end.value()].switch_index;
                for (const auto& [port, count] : counts(fabric.topology, routes, leaf, fabric.apart)) {
                    most = std::max(most, count);
                }
            }
            return most;
        };
        const Routes plain = routed(engine, fabric.topology, nullptr, RouteOptions{});
        EXPECT_GT(spread(plain), 3U) << "16 servers, drawn by lot, crowd on some uplink";
        RouteOptions options;
        for (const EndPortIndex end : fabric.apart) {
            options.preferences.order.push_back(fabric.topology.end_ports[end.value()].node_guid);
        }
        const Routes ordered = routed(engine, fabric.topology, nullptr, options);
        EXPECT_EQ(spread(ordered), 2U) << "two for each of eight uplinks";
        expect_safe(fabric.topology, ordered);
    }
}

TEST(Preferences, TablesMadeByOthersAreNoEarlierTables) {
    const Mixed fabric = mixed("fat-tree:radix=8,levels=2", 3);
    const Routes plain = routes_of("ftree", fabric.topology);
    EXPECT_EQ(plain.preferred, 0U);
    RouteOptions options;
    options.preferences.io_nodes = guids_of(fabric.topology, fabric.apart);
    const Routes fresh = routed("ftree", fabric.topology, nullptr, options);
    EXPECT_NE(fresh.preferred, 0U);
    EXPECT_NE(fresh.hash(), plain.hash());
    EXPECT_EQ(routed("ftree", fabric.topology, &plain, options).hash(), fresh.hash());
    EXPECT_EQ(routed("ftree", fabric.topology, &fresh, options).rows, fresh.rows) << "their own they keep";
    EXPECT_EQ(routed("ftree", fabric.topology, &fresh, RouteOptions{}).hash(), plain.hash());
}

TEST(Preferences, AFileOfWhichNothingIsHereIsRemarkedOn) {
    const Topology topology = t2();
    RouteOptions options;
    options.preferences.hop_weights = {{{topology.switches[0].guid, mad::PortNum{1}}, 2}};  // leads to a host
    options.preferences.ignored_ports = {{topology.switches[0].guid, mad::PortNum{5}}};  // leads to a spine
    options.preferences.compute_nodes = {topology.switches[0].guid, topology.switches[1].guid};
    const Routes routes = routed("minhop", topology, nullptr, options);
    EXPECT_EQ(routes.remark,
              "hop_weights_file: none of the 1 that it names is a port between switches here; "
              "port_prof_ignore_file: none of the 1 that it names is a switch port toward an end port here; "
              "cn_guid_file: none of the 2 that it names is an end port here");
    options.preferences.hop_weights[0].at.port = mad::PortNum{5};
    options.preferences.ignored_ports[0].port = mad::PortNum{1};
    options.preferences.compute_nodes.push_back(topology.end_ports[0].port_guid);
    std::sort(options.preferences.compute_nodes.begin(), options.preferences.compute_nodes.end());
    EXPECT_EQ(routed("minhop", topology, nullptr, options).remark, "");
}

TEST(Preferences, EachOneShowsInTheFingerprint) {
    const Topology topology = t2();
    std::vector<Preferences> all(7);
    all[1].slow_links = SlowLinks::avoid;
    all[2].hop_weights = {{{mad::Guid{1}, mad::PortNum{1}}, 2}};
    all[3].ignored_ports = {{mad::Guid{1}, mad::PortNum{1}}};
    all[4].compute_nodes = {mad::Guid{1}};
    all[5].io_nodes = {mad::Guid{1}};
    all[6].order = {mad::Guid{1}};
    std::set<std::uint64_t> prints;
    for (const Preferences& one : all) {
        prints.insert(fingerprint(one, topology));
    }
    EXPECT_EQ(prints.size(), all.size());
    EXPECT_EQ(fingerprint(all[0], topology), 0U);
}

}  // namespace
}  // namespace ibf::routing::test
