// One thing is made wrong in good routes, by seed: the proof finds each error that does harm, finds nothing
// where none is done, and what it shows for it is so. What is harm says the slow judge, who walks every pair.
#include <array>
#include <optional>
#include <regex>

#include <fmt/format.h>

#include "engine_fixtures.hpp"

namespace ibf::routing::test {
namespace {

/// Fabrics small enough for the slow judge, and engines that serve them.
struct PlantingGround {
    const char* spec;
    const char* engine;
};

constexpr std::array kOneLaneGrounds{PlantingGround{"fat-tree:radix=4,levels=3", "minhop"},
                                     PlantingGround{"torus:4x4,hosts=1", "updn"},
                                     PlantingGround{"dragonfly:a=4,p=1,h=1", "dnup"},
                                     PlantingGround{"random:switches=16,degree=4,hosts=1,seed=3", "updn"},
                                     PlantingGround{"fat-tree:radix=6,levels=2", "ftree"},
                                     PlantingGround{"mesh:4x4", "dor"}};
constexpr std::array kManyLanesGrounds{
    PlantingGround{"torus:5x4,hosts=1", "torus-2qos"}, PlantingGround{"torus:5x4,hosts=1", "dfsssp"},
    PlantingGround{"dragonfly:a=4,p=1,h=1", "dragonfly"}, PlantingGround{"torus:5x4,hosts=1", "lash"},
    PlantingGround{"random:switches=16,degree=4,hosts=1,seed=5", "nue"}};

struct Planting {
    Topology topology;
    Routes routes;
};

/// Good routes of a ground that lost a cable or two, where the engine bears it; they leave dead ports behind.
Planting good_routes(const PlantingGround& ground, base::Prng& prng) {
    const Topology whole = generated(ground.spec);
    for (const Topology& topology : {without_links(whole, 1 + prng.below(2), prng), whole}) {
        auto routes = run_engine(ground.engine, topology, nullptr, RouteOptions{});
        if (routes && judge_slowly(topology, *routes).harmless()) {
            return {topology, std::move(*routes)};
        }
    }
    ADD_FAILURE() << ground.engine << " does not serve " << ground.spec;
    return {whole, {}};
}

std::string with_guid(const TopologySwitch& item) {
    return fmt::format("{} ({})", item.name, item.guid);
}

std::uint32_t switch_with(const Topology& topology, const std::string& name) {
    for (std::uint32_t at = 0; at < topology.switches.size(); ++at) {
        if (with_guid(topology.switches[at]) == name) {
            return at;
        }
    }
    ADD_FAILURE() << "the proof names a switch that is not there: " << name;
    return 0;
}

/// The sentence of Verdict::first_failure about a LID and a switch, found on foot; empty if it arrives.
std::string failure_on_foot(const Topology& topology, const Routes& routes, std::uint32_t from,
                            unsigned lid_value) {
    const mad::Lid lid{static_cast<std::uint16_t>(lid_value)};
    std::string owner;
    std::pair<std::uint32_t, unsigned> home{kNoIndex, 0};
    for (const TopologyEndPort& end : topology.end_ports) {
        if (end.lids.contains(lid)) {
            owner = end.name;
            home = {end.switch_index, end.switch_port.value()};
        }
    }
    for (std::uint32_t at = 0; at < topology.switches.size(); ++at) {
        if (topology.switches[at].lids.contains(lid)) {
            owner = topology.switches[at].name;
            home = {at, 0U};
        }
    }
    std::string text =
        fmt::format("LID {} ({}) from switch {}:", lid_value, owner, with_guid(topology.switches[from]));
    std::set<std::uint32_t> passed;
    for (std::uint32_t at = from;;) {
        const unsigned port = routes.port(SwitchIndex{at}, lid);
        text += fmt::format(" {}[{}]", topology.switches[at].name, port);
        if (!passed.insert(at).second) {
            return text + " loops";
        }
        const std::vector<PortPeer>& peers = topology.switches[at].peers;
        if (port == 0 || port >= peers.size() || peers[port].kind != PortPeer::Kind::switch_) {
            const bool arrives = std::pair{at, port} == home;
            return arrives ? std::string()
                           : text + (port == mad::kLftDrop ? " has no entry" : " leads elsewhere");
        }
        text += " ->";
        at = peers[port].index;
    }
}

void expect_real_failure(const Topology& topology, const Routes& routes, const std::string& shown) {
    std::smatch said;
    ASSERT_TRUE(
        std::regex_search(shown, said, std::regex(R"(^LID (\d+) \(.*?\) from switch (.*? \(\w+\)):)")))
        << shown;
    const std::uint32_t from = switch_with(topology, said[2]);
    EXPECT_EQ(shown, failure_on_foot(topology, routes, from, static_cast<unsigned>(std::stoul(said[1]))));
}

/// A closed chain of cables, each two of which some walk takes one after the other, on the lanes that are
/// named.
void expect_real_cycle(const Topology& topology, const SlowVerdict& slow,
                       const std::vector<ChannelStep>& cycle) {
    ASSERT_FALSE(cycle.empty());
    const auto channel = [&](const ChannelStep& step) {
        return SlowChannel{switch_with(topology, step.node), step.port.value(), step.vl};
    };
    for (std::size_t i = 0; i < cycle.size(); ++i) {
        const ChannelStep& step = cycle[i];
        const ChannelStep& next = cycle[(i + 1) % cycle.size()];
        const SlowChannel here = channel(step);
        const PortPeer& peer = topology.switches[here.at].peers.at(here.port);
        ASSERT_EQ(peer.kind, PortPeer::Kind::switch_);
        EXPECT_EQ(with_guid(topology.switches[peer.index]), step.peer);
        EXPECT_EQ(peer.port, step.peer_port);
        EXPECT_EQ(step.peer, next.node);
        const auto waits = slow.waits.find(here);
        EXPECT_TRUE(waits != slow.waits.end() && waits->second.contains(channel(next)))
            << fmt::format("nothing waits at {} port {} VL {}", step.node, step.port, step.vl);
    }
}

void expect_real_lane_fault(const Topology& topology, const SlowVerdict& slow, const std::string& shown) {
    std::smatch said;
    ASSERT_TRUE(std::regex_search(
        shown, said,
        std::regex(R"(^packets would leave (.*) port (\d+) on VL (\d+), .* has (\d+) data lanes?$)")))
        << shown;
    const SlowChannel fault{switch_with(topology, said[1]), static_cast<unsigned>(std::stoul(said[2])),
                            static_cast<unsigned>(std::stoul(said[3]))};
    EXPECT_TRUE(slow.lane_faults.contains(fault)) << shown;
    EXPECT_EQ(std::stoul(said[4]), topology.switches[fault.at].peers[fault.port].data_vls);
}

/// Holds the proof against the slow judge, and what it shows against the tables. The judge's word.
SlowVerdict judge_both(const Topology& topology, const Routes& routes) {
    SlowVerdict slow = judge_slowly(topology, routes);
    const Verdict verdict = verify(topology, routes, 2);
    EXPECT_EQ(verdict.pairs_checked, slow.pairs);
    EXPECT_EQ(verdict.unreachable_pairs, slow.unreachable);
    EXPECT_EQ(verdict.reachable(), slow.unreachable == 0);
    EXPECT_EQ(verdict.first_failure.empty(), slow.unreachable == 0);
    EXPECT_EQ(verdict.credit_loop_free, !slow.cyclic);
    EXPECT_EQ(verdict.credit_loop.empty(), !slow.cyclic);
    EXPECT_EQ(verdict.lane_faults, slow.lane_faults.size());
    EXPECT_EQ(verdict.first_lane_fault.empty(), slow.lane_faults.empty());
    if (!verdict.first_failure.empty()) {
        expect_real_failure(topology, routes, verdict.first_failure);
    }
    if (!verdict.credit_loop.empty()) {
        expect_real_cycle(topology, slow, verdict.credit_loop);
    }
    if (!verdict.first_lane_fault.empty()) {
        expect_real_lane_fault(topology, slow, verdict.first_lane_fault);
    }
    return slow;
}

/// A switch that packets pass: where they came in, where they go out, and their destination.
struct Passage {
    std::uint32_t at = 0;
    mad::PortNum input{};
    mad::PortNum exit{};
    mad::Lid lid{};
    std::uint8_t sl = 0;
};

/// All passages of the path from an end port to another or to a switch, both drawn.
std::vector<Passage> random_path(const Planting& given, base::Prng& prng) {
    const std::vector<TopologyEndPort>& ends = given.topology.end_ports;
    const std::vector<TopologySwitch>& switches = given.topology.switches;
    const TopologyEndPort& from = ends[prng.below(ends.size())];
    const std::uint64_t to = prng.below(ends.size() + switches.size());
    const mad::Lid lid = to < ends.size() ? ends[to].lids.base : switches[to - ends.size()].lids.base;
    const std::uint8_t sl = given.routes.sl(SwitchIndex{from.switch_index}, lid);
    std::vector<Passage> path;
    mad::PortNum input = from.switch_port;
    for (const std::uint32_t at : walk(given.topology, given.routes, from.switch_index, lid.value())) {
        const mad::PortNum exit{given.routes.port(SwitchIndex{at}, lid)};
        path.push_back({at, input, exit, lid, sl});
        input = switches[at].peers[exit.value()].port;
    }
    return path;
}

void plant_entry(Routes& routes, std::uint32_t at, mad::Lid lid, std::uint8_t port) {
    auto row = std::make_shared<LftRow>(*routes.rows[at]);
    row->at(lid.value()) = port;
    routes.rows[at] = std::move(row);
}

enum class WrongExit : std::uint8_t { other_cable, dead_port, none };

/// A port of the kind that the switch has beside the right one; nullopt: it has none.
std::optional<std::uint8_t> draw_exit(const TopologySwitch& item, mad::PortNum right, WrongExit kind,
                                      base::Prng& prng) {
    std::vector<std::uint8_t> ports;
    for (std::size_t port = 1; port < item.peers.size(); ++port) {
        const bool cabled = item.peers[port].kind != PortPeer::Kind::none;
        if (port != right.value() && cabled == (kind == WrongExit::other_cable)) {
            ports.push_back(static_cast<std::uint8_t>(port));
        }
    }
    if (kind == WrongExit::none) {
        ports = {mad::kLftDrop};
    }
    return ports.empty() ? std::nullopt : std::optional(ports[prng.below(ports.size())]);
}

/// What was planted, by what came of it.
struct Harvest {
    unsigned lost = 0;
    unsigned cyclic = 0;
    unsigned off_lane = 0;
    unsigned harmful = 0;
    unsigned harmless = 0;

    void add(const SlowVerdict& slow) {
        lost += slow.unreachable != 0 ? 1 : 0;
        cyclic += slow.cyclic ? 1 : 0;
        off_lane += slow.lane_faults.empty() ? 0 : 1;
        ++(slow.harmless() ? harmless : harmful);
    }
};

template <std::size_t N>
const PlantingGround& ground_of(const std::array<PlantingGround, N>& grounds, std::uint64_t seed) {
    return grounds[seed % N];
}

const PlantingGround& any_ground(std::uint64_t seed) {
    return seed % 2 == 0 ? ground_of(kOneLaneGrounds, seed / 2) : ground_of(kManyLanesGrounds, seed / 2);
}

TEST(PlantedErrors, TwoHundredWrongEntries) {
    Harvest harvest;
    for (std::uint64_t seed = 1; harvest.harmful < 200 && !HasFailure(); ++seed) {
        ASSERT_LT(seed, 2000U) << "too few errors do harm";
        base::Prng prng(seed);
        Planting given = good_routes(any_ground(seed), prng);
        const std::vector<Passage> path = random_path(given, prng);
        const Passage& passage = path.at(prng.below(path.size()));
        const auto exit = draw_exit(given.topology.switches[passage.at], passage.exit,
                                    static_cast<WrongExit>(prng.below(3)), prng);
        if (exit) {
            SCOPED_TRACE(fmt::format("seed {} {} {}: {} LID {} port {} becomes {}", seed,
                                     any_ground(seed).spec, any_ground(seed).engine,
                                     given.topology.switches[passage.at].name, passage.lid, passage.exit,
                                     *exit));
            plant_entry(given.routes, passage.at, passage.lid, *exit);
            harvest.add(judge_both(given.topology, given.routes));
        }
    }
    EXPECT_EQ(harvest.harmful, 200U);
    EXPECT_GT(harvest.lost, 100U);
    EXPECT_GT(harvest.cyclic, 5U) << "detours that arrive and could lock up";
    EXPECT_GT(harvest.harmless, 5U) << "detours that do no harm";
}

/// A ring of three switches or more, each of which has an end port; empty: this walk did not close one.
std::vector<std::uint32_t> random_ring(const Topology& topology, base::Prng& prng) {
    std::vector<std::uint32_t> trail{static_cast<std::uint32_t>(prng.below(topology.switches.size()))};
    while (trail.size() < 12) {
        std::vector<std::uint32_t> onward;
        for (const PortPeer& peer : topology.switches[trail.back()].peers) {
            const bool back = trail.size() > 1 && peer.index == trail[trail.size() - 2];
            if (peer.kind == PortPeer::Kind::switch_ && !back) {
                onward.push_back(peer.index);
            }
        }
        if (onward.empty()) {
            return {};
        }
        const std::uint32_t next = onward[prng.below(onward.size())];
        const auto seen = std::find(trail.begin(), trail.end(), next);
        if (seen != trail.end()) {
            return {seen, trail.end()};
        }
        trail.push_back(next);
    }
    return {};
}

std::uint8_t port_toward(const Topology& topology, std::uint32_t at, std::uint32_t next) {
    const std::vector<PortPeer>& peers = topology.switches[at].peers;
    const auto found = std::find_if(peers.begin(), peers.end(), [&](const PortPeer& peer) {
        return peer.kind == PortPeer::Kind::switch_ && peer.index == next;
    });
    return static_cast<std::uint8_t>(found - peers.begin());
}

const TopologyEndPort& end_port_at(const Topology& topology, std::uint32_t at) {
    const auto found = std::find_if(topology.end_ports.begin(), topology.end_ports.end(),
                                    [&](const TopologyEndPort& end) { return end.switch_index == at; });
    EXPECT_NE(found, topology.end_ports.end());
    return *found;
}

/// Packets from each switch of the ring to the end port two switches on go round it, all on one SL.
void plant_ring(Planting& given, const std::vector<std::uint32_t>& ring, std::uint8_t sl) {
    Routes& routes = given.routes;
    for (std::size_t i = 0; i < ring.size(); ++i) {
        const std::uint32_t at = ring[i];
        const std::uint32_t next = ring[(i + 1) % ring.size()];
        const std::uint32_t last = ring[(i + 2) % ring.size()];
        const mad::Lid lid = end_port_at(given.topology, last).lids.base;
        plant_entry(routes, at, lid, port_toward(given.topology, at, next));
        plant_entry(routes, next, lid, port_toward(given.topology, next, last));
        if (routes.vls > 1) {
            auto row = std::make_shared<SlRow>(given.topology.max_lid + std::size_t{1});
            for (std::uint16_t to = 1; to <= given.topology.max_lid; ++to) {
                (*row)[to] = mad::Lid{to} == lid ? sl : routes.sl(SwitchIndex{at}, mad::Lid{to});
            }
            routes.sls[at] = std::move(row);
        }
    }
}

TEST(PlantedErrors, FiftyCreditLoops) {
    constexpr std::array kGrounds{PlantingGround{"torus:4x4,hosts=1", "updn"},
                                  PlantingGround{"random:switches=16,degree=4,hosts=1,seed=3", "updn"},
                                  PlantingGround{"dragonfly:a=4,p=1,h=1", "dnup"},
                                  PlantingGround{"torus:5x4,hosts=1", "dfsssp"},
                                  PlantingGround{"torus:5x5,hosts=1", "lash"}};
    Harvest harvest;
    for (std::uint64_t seed = 1; harvest.harmful < 50 && !HasFailure(); ++seed) {
        ASSERT_LT(seed, 1000U) << "too few walks close a ring";
        base::Prng prng(seed);
        Planting given = good_routes(ground_of(kGrounds, seed), prng);
        const std::vector<std::uint32_t> ring = random_ring(given.topology, prng);
        if (ring.size() < 3) {
            continue;
        }
        SCOPED_TRACE(fmt::format("seed {} {} {} ring of {}", seed, ground_of(kGrounds, seed).spec,
                                 ground_of(kGrounds, seed).engine, ring.size()));
        plant_ring(given, ring, static_cast<std::uint8_t>(prng.below(given.routes.vls)));
        harvest.add(judge_both(given.topology, given.routes));
    }
    EXPECT_EQ(harvest.cyclic, 50U);
    EXPECT_EQ(harvest.lost, 0U) << "every packet arrives, as long as none has to wait";
    EXPECT_EQ(harvest.harmless, 0U);
}

/// A map of which each pair of ports has a table of its own: what the switches hold.
LaneMap spread_out(const Routes& routes, const TopologySwitch& item, std::uint32_t at) {
    LaneMap map;
    map.exit_classes = static_cast<std::uint8_t>(item.peers.size());
    for (std::size_t port = 0; port < item.peers.size(); ++port) {
        map.input_class.push_back(static_cast<std::uint8_t>(port));
        map.exit_class.push_back(static_cast<std::uint8_t>(port));
    }
    for (std::size_t input = 0; input < item.peers.size(); ++input) {
        for (std::size_t exit = 0; exit < item.peers.size(); ++exit) {
            LaneMap::Lanes& lanes = map.tables.emplace_back();
            for (std::uint8_t sl = 0; sl < kServiceLevels; ++sl) {
                lanes[sl] = routes.lane(SwitchIndex{at}, mad::PortNum{static_cast<std::uint8_t>(input)},
                                        mad::PortNum{static_cast<std::uint8_t>(exit)}, sl);
            }
        }
    }
    return map;
}

/// How far the error goes: one pair of ports, all pairs of a switch (as one that is written by masks), or all
/// switches. The lanes of our engines bear one switch that takes another lane of theirs; not so all of them.
enum class Extent : std::uint8_t { pair, whole_switch, everywhere };

void plant_mapping(Planting& given, const Passage& passage, Extent extent, std::uint8_t lane) {
    const std::vector<TopologySwitch>& switches = given.topology.switches;
    given.routes.lane_maps.resize(switches.size());
    for (std::uint32_t at = 0; at < switches.size(); ++at) {
        if (at != passage.at && extent != Extent::everywhere) {
            continue;
        }
        LaneMap map = spread_out(given.routes, switches[at], at);
        const std::size_t passed =
            std::size_t{passage.input.value()} * map.exit_classes + passage.exit.value();
        for (std::size_t pair = 0; pair < map.tables.size(); ++pair) {
            if (pair == passed || extent != Extent::pair) {
                map.tables[pair][passage.sl] = lane;
            }
        }
        given.routes.lane_maps[at] = std::make_shared<LaneMap>(std::move(map));
    }
}

enum class WrongLane : std::uint8_t { beyond_the_link, management, another };

std::uint8_t draw_lane(WrongLane kind, std::uint8_t lanes_there, std::uint8_t vls, base::Prng& prng) {
    switch (kind) {
        case WrongLane::beyond_the_link:
            return prng.below(2) == 0
                       ? lanes_there
                       : static_cast<std::uint8_t>(lanes_there + prng.below(kDataLanesMax - lanes_there));
        case WrongLane::management: return 15;
        case WrongLane::another: break;
    }
    return static_cast<std::uint8_t>(prng.below(vls));
}

/// A wrong mapping at a drawn passage of a drawn path, the last hop left out: what the link to an end port
/// carries blocks nobody. Nullopt: the path has one hop.
std::optional<SlowVerdict> plant_and_judge(const PlantingGround& ground, WrongLane kind, std::uint64_t seed) {
    base::Prng prng(seed);
    Planting given = good_routes(ground, prng);
    const std::vector<Passage> path = random_path(given, prng);
    if (path.size() < 2) {
        return std::nullopt;
    }
    const Passage& passage = path[prng.below(path.size() - 1)];
    const auto extent = static_cast<Extent>(prng.below(3));
    const std::uint8_t there = given.topology.switches[passage.at].peers[passage.exit.value()].data_vls;
    const std::uint8_t lane = draw_lane(kind, there, given.routes.vls, prng);
    SCOPED_TRACE(fmt::format("seed {} {} {}: {} input {} exit {} SL {} to VL {}, extent {}", seed,
                             ground.spec, ground.engine, given.topology.switches[passage.at].name,
                             passage.input, passage.exit, passage.sl, lane, static_cast<unsigned>(extent)));
    plant_mapping(given, passage, extent, lane);
    return judge_both(given.topology, given.routes);
}

/// Plants until so many errors did harm, on all engines in turn.
Harvest plant_mappings(WrongLane kind, unsigned wanted) {
    Harvest harvest;
    for (std::uint64_t seed = 1; harvest.harmful < wanted && !::testing::Test::HasFailure(); ++seed) {
        if (seed == 2000) {
            ADD_FAILURE() << "too few errors do harm";
        } else if (const auto slow = plant_and_judge(ground_of(kManyLanesGrounds, seed), kind, seed)) {
            harvest.add(*slow);
        }
    }
    return harvest;
}

TEST(PlantedErrors, FiftyWrongMappings) {
    for (const WrongLane kind : {WrongLane::beyond_the_link, WrongLane::management}) {
        const Harvest harvest = plant_mappings(kind, 15);
        EXPECT_EQ(harvest.off_lane, 15U);
        EXPECT_EQ(harvest.harmless, 0U);
    }
    const Harvest harvest = plant_mappings(WrongLane::another, 20);
    EXPECT_EQ(harvest.cyclic, 20U) << "lanes that together close a ring";
    EXPECT_EQ(harvest.off_lane, 0U);
    EXPECT_GT(harvest.harmless, 20U);
}

}  // namespace
}  // namespace ibf::routing::test
