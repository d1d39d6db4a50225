#include "routing/dragonfly.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "routing/coordinates_find.hpp"
#include "routing/dragonfly_groups.hpp"
#include "routing/engine_limits.hpp"
#include "routing/engine_tables.hpp"
#include "routing/parallel.hpp"

namespace ibf::routing {

namespace {

constexpr const char* kDragonflyName = "dragonfly";
constexpr std::uint8_t kLevelPlain = 0;   ///< one hop at most behind the global cable
constexpr std::uint8_t kLevelBehind = 1;  ///< several hops behind it, one at most before it
constexpr std::uint8_t kLevelThird = 2;   ///< over a third group
constexpr std::uint8_t kLevelApart = 3;   ///< all others

enum PathShape : unsigned {
    kInside,     ///< in one group
    kDirect,     ///< one global cable; several local hops on one side of it at most
    kOverThird,  ///< two global cables, the first after one local hop at most
    kOdd,        ///< any other
};

/// How far it is to a destination, the better the smaller. Equal distances mean equal shapes, so equal
/// service levels.
struct Distance {
    static constexpr unsigned kHopsMax = 31;  ///< longer paths are not looked for
    static constexpr unsigned kCount = 4U << 10U;

    unsigned shape = kInside;
    unsigned hops = 0;
    unsigned local = 0;  ///< direct: hops in the last group; over a third: hops in the first one

    [[nodiscard]] unsigned packed() const { return shape << 10U | hops << 5U | local; }
    static Distance unpacked(unsigned value) { return {value >> 10U, value >> 5U & 31U, value & 31U}; }

    /// One local hop more at the beginning. Several hops in both groups, or before a detour, are odd.
    [[nodiscard]] Distance farther() const {
        const bool second =
            shape == kDirect ? local > 1 && hops - 1 - local > 0 : shape == kOverThird && local > 0;
        if (shape == kOdd || second) {
            return {kOdd, hops + 1, 0};
        }
        return {shape, hops + 1, local + (shape == kOverThird ? 1 : 0)};
    }
    /// A global cable more at the beginning.
    [[nodiscard]] Distance across() const {
        switch (shape) {
            case kInside: return {kDirect, hops + 1, hops};
            case kDirect: return {kOverThird, hops + 1, 0};
            default: return {kOdd, hops + 1, 0};
        }
    }
    [[nodiscard]] std::uint8_t level() const {
        switch (shape) {
            case kInside: return kLevelPlain;
            case kDirect: return local > 1 ? kLevelBehind : kLevelPlain;
            case kOverThird: return kLevelThird;
            default: return kLevelApart;
        }
    }
};

/// The fabric, and of every port group the one that leads back.
struct Fabric {
    const Graph& graph;
    const GroupMap& map;
    std::vector<std::uint8_t> back;  ///< by port group: index among the groups of its peer

    [[nodiscard]] bool local(std::uint32_t a, std::uint32_t b) const { return map.of[a] == map.of[b]; }
};

std::vector<std::uint8_t> groups_back(const Graph& graph) {
    std::vector<std::uint8_t> back;
    for (std::uint32_t at = 0; at < graph.switch_count(); ++at) {
        for (const PortGroup& group : graph.groups_of(at)) {
            const auto there = graph.groups_of(group.peer);
            const auto found = std::find_if(there.begin(), there.end(),
                                            [&](const PortGroup& item) { return item.peer == at; });
            back.push_back(static_cast<std::uint8_t>(found - there.begin()));
        }
    }
    return back;
}

/// Next hops of all switches toward all others.
struct Hops {
    Hops(const Graph& graph, std::uint32_t group_words)
        : count(graph.switch_count()),
          words(group_words),
          candidates(std::size_t{count} * count * words, 0),
          levels(std::size_t{count} * count, kLevelPlain),
          lengths(std::make_shared<ByteMatrix>(count, kUnreached)) {}

    std::uint32_t count;
    std::uint32_t words;                    ///< of a set of port groups
    std::vector<std::uint64_t> candidates;  ///< by destination, then switch: sets of port groups
    std::vector<std::uint8_t> levels;       ///< by destination, then switch
    std::shared_ptr<ByteMatrix> lengths;    ///< by switch, then destination

    [[nodiscard]] std::uint64_t* set(std::uint32_t to, std::uint32_t from) {
        return candidates.data() + (std::size_t{to} * count + from) * words;
    }
    [[nodiscard]] const std::uint64_t* set(std::uint32_t to, std::uint32_t from) const {
        return candidates.data() + (std::size_t{to} * count + from) * words;
    }
};

/// Settles switches one destination at a time, the nearest first; one per thread.
class Settler {
public:
    Settler(const Fabric& fabric, Hops& out)
        : fabric_(fabric),
          out_(out),
          distance_(fabric.graph.switch_count()),
          descends_(fabric.graph.switch_count()),
          waiting_(Distance::kCount) {}

    void settle(std::uint32_t to) {
        to_ = to;
        std::fill(distance_.begin(), distance_.end(), kFar);
        std::fill(descends_.begin(), descends_.end(), 1);
        distance_[to] = 0;
        waiting_[0].push_back(to);
        for (unsigned value = 0; value < Distance::kCount; ++value) {
            for (std::size_t i = 0; i < waiting_[value].size(); ++i) {  // grows farther on only
                if (distance_[waiting_[value][i]] == value) {
                    spread(waiting_[value][i], Distance::unpacked(value));
                }
            }
            waiting_[value].clear();
        }
        for (std::uint32_t from = 0; from < out_.count; ++from) {
            if (distance_[from] != kFar) {
                const Distance distance = Distance::unpacked(distance_[from]);
                out_.lengths->row(from)[to] = static_cast<std::uint8_t>(distance.hops);
                out_.levels[std::size_t{to} * out_.count + from] = distance.level();
            }
        }
    }

private:
    static constexpr unsigned kFar = ~0U;

    /// Offers a settled switch to its neighbours as their next hop.
    void spread(std::uint32_t next, const Distance& distance) {
        if (distance.hops == Distance::kHopsMax) {
            return;
        }
        const Graph& graph = fabric_.graph;
        for (std::uint32_t i = graph.first_group[next]; i < graph.first_group[next + 1]; ++i) {
            const std::uint32_t from = graph.groups[i].peer;
            if (fabric_.local(from, next)) {
                const bool down = fabric_.map.place[from] < fabric_.map.place[next];
                if (!down || descends_[next] != 0) {
                    offer(from, distance.farther(), fabric_.back[i], down);
                }
            } else if (may_cross(from, next, distance)) {
                offer(from, distance.across(), fabric_.back[i], true);
            }
        }
    }

    /// Behind a third group comes a later one: so no packets in third groups wait for each other in a ring.
    [[nodiscard]] bool may_cross(std::uint32_t from, std::uint32_t next, const Distance& distance) const {
        const std::uint32_t last = fabric_.map.of[to_];
        return fabric_.map.of[from] != last && (distance.shape == kInside || fabric_.map.of[next] < last);
    }

    /// `down`: the hop is no obstacle to packets that came down to `from`.
    void offer(std::uint32_t from, const Distance& distance, std::uint8_t group, bool down) {
        const unsigned value = distance.packed();
        if (value > distance_[from]) {
            return;
        }
        std::uint64_t* set = out_.set(to_, from);
        if (value < distance_[from]) {
            distance_[from] = value;
            descends_[from] = 1;
            std::fill_n(set, out_.words, std::uint64_t{0});
            waiting_[value].push_back(from);
        }
        set[group / 64] |= std::uint64_t{1} << (group % 64);
        descends_[from] = down ? descends_[from] : 0;
    }

    const Fabric& fabric_;
    Hops& out_;
    std::uint32_t to_ = 0;
    std::vector<unsigned> distance_;
    std::vector<char> descends_;  ///< by switch: all its next hops go down or out of the group
    std::vector<std::vector<std::uint32_t>> waiting_;
};

Hops find_hops(const Fabric& fabric, unsigned threads) {
    std::size_t most = 1;
    for (std::uint32_t at = 0; at < fabric.graph.switch_count(); ++at) {
        most = std::max(most, fabric.graph.groups_of(at).size());
    }
    Hops hops(fabric.graph, static_cast<std::uint32_t>((most + 63) / 64));
    std::vector<std::unique_ptr<Settler>> settlers(resolve_threads(threads));
    parallel_ranges(fabric.graph.switch_count(), 16, threads, [&](const WorkRange& range) {
        std::unique_ptr<Settler>& mine = settlers[range.slot];
        if (mine == nullptr) {
            mine = std::make_unique<Settler>(fabric, hops);
        }
        for (std::size_t to = range.begin; to < range.end; ++to) {
            mine->settle(static_cast<std::uint32_t>(to));
        }
    });
    return hops;
}

EnginePlan group_plan(const Fabric& fabric, const Hops& hops) {
    EnginePlan plan;
    const std::uint32_t count = fabric.graph.switch_count();
    for (std::uint32_t at = 0; at < count; ++at) {
        plan.shape.order.push_back(at);
    }
    std::stable_sort(plan.shape.order.begin(), plan.shape.order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return fabric.map.of[a] < fabric.map.of[b]; });
    plan.shape.slots.resize(count);
    plan.shape.divider.assign(count, 1);
    plan.lengths = hops.lengths;
    plan.sets = [&hops](std::uint32_t at, CandidatePlanes& out) {
        for (std::uint32_t to = 0; to < hops.count; ++to) {
            const std::uint64_t* set = hops.set(to, at);
            for (std::uint32_t word = 0; word < hops.words; ++word) {
                for (std::uint64_t bits = set[word]; bits != 0; bits &= bits - 1) {
                    out.add(word * 64 + static_cast<unsigned>(std::countr_zero(bits)), to);
                }
            }
        }
    };
    return plan;
}

/// Service levels of the traffic that there is: from end ports to all, from switches to end ports.
std::vector<std::shared_ptr<const SlRow>> group_levels(const Topology& topology, const Graph& graph,
                                                       const Hops& hops) {
    std::vector<std::shared_ptr<const SlRow>> rows;
    for (std::uint32_t from = 0; from < hops.count; ++from) {
        auto row = std::make_shared<SlRow>(topology.max_lid + std::size_t{1}, kLevelPlain);
        const auto fill = [&](const mad::LidRange& lids, std::uint32_t to) {
            std::fill_n(row->begin() + lids.base.value(), lids.count(),
                        hops.levels[std::size_t{to} * hops.count + from]);
        };
        for (const TopologyEndPort& end : topology.end_ports) {
            if (end.switch_index != kNoIndex) {
                fill(end.lids, end.switch_index);
            }
        }
        for (std::uint32_t to = 0; to < hops.count && graph.hosts[from] != 0; ++to) {
            fill(topology.switches[to].lids, to);
        }
        rows.push_back(std::move(row));
    }
    return rows;
}

enum PortClass : std::uint8_t { kEnd, kLocal, kGlobal, kPortClasses };

/// Lanes by where a packet comes from and goes to.
std::vector<LaneMap::Lanes> lane_tables(std::uint8_t lanes) {
    std::vector<LaneMap::Lanes> tables;
    for (std::uint8_t input = kEnd; input < kPortClasses; ++input) {
        for (std::uint8_t exit = kEnd; exit < kPortClasses; ++exit) {
            LaneMap::Lanes table{};
            if (exit != kEnd) {
                table.fill(input == kGlobal ? 1 : 0);
                table[kLevelBehind] = input == kGlobal || (input == kLocal && exit == kLocal) ? 1 : 0;
                for (std::uint8_t level = kLevelThird; level < lanes; ++level) {
                    table[level] = input == kEnd && exit == kLocal ? 0 : level;
                }
            }
            tables.push_back(table);
        }
    }
    return tables;
}

/// Switches whose ports lead alike share one map.
std::vector<std::shared_ptr<const LaneMap>> group_lane_maps(const Topology& topology, const Fabric& fabric,
                                                            std::uint8_t lanes) {
    std::map<std::vector<std::uint8_t>, std::shared_ptr<const LaneMap>> known;
    std::vector<std::shared_ptr<const LaneMap>> maps;
    for (std::uint32_t at = 0; at < topology.switches.size(); ++at) {
        std::vector<std::uint8_t> classes;
        for (const PortPeer& peer : topology.switches[at].peers) {
            const bool between = peer.kind == PortPeer::Kind::switch_;
            classes.push_back(!between ? kEnd : fabric.local(at, peer.index) ? kLocal : kGlobal);
        }
        std::shared_ptr<const LaneMap>& map = known[classes];
        if (map == nullptr) {
            map =
                std::make_shared<const LaneMap>(LaneMap{classes, classes, kPortClasses, lane_tables(lanes)});
        }
        maps.push_back(map);
    }
    return maps;
}

/// A pair of connected switches, one with end ports, that no path was found for, in words; empty if there is
/// none.
std::string unserved(const Topology& topology, const Graph& graph, const Hops& hops) {
    for (const Piece& piece : pieces_of(graph)) {
        for (const std::uint32_t from : piece.members) {
            for (const std::uint32_t to : piece.members) {
                if (hops.lengths->row(from)[to] == kUnreached && graph.hosts[from] + graph.hosts[to] != 0) {
                    return fmt::format(
                        "too many cables are missing: no path that cannot deadlock leads from {} ({}) to {} "
                        "({})",
                        topology.switches[from].name, topology.switches[from].guid,
                        topology.switches[to].name, topology.switches[to].guid);
                }
            }
        }
    }
    return {};
}

std::uint8_t lanes_needed(const std::vector<std::shared_ptr<const SlRow>>& levels, const GroupMap& map) {
    std::uint8_t highest = kLevelPlain;
    for (const std::shared_ptr<const SlRow>& row : levels) {
        highest = std::max(highest, *std::max_element(row->begin(), row->end()));
    }
    return static_cast<std::uint8_t>(highest >= kLevelThird ? highest + 1 : map.groups > 1 ? 2 : 1);
}

}  // namespace

base::Result<Routes> route_dragonfly(const Topology& topology, const Routes* previous,
                                     const RouteOptions& options) {
    const Graph graph = make_graph(topology, {});
    std::string reason = table_shortage(kDragonflyName, topology);
    base::Result<GroupMap> map = reason.empty() ? find_groups(graph) : GroupMap{};
    if (!reason.empty() || !map) {
        return base::fail(base::ErrorKind::unsupported, reason.empty() ? map.error().message : reason);
    }
    const Fabric fabric{graph, *map, groups_back(graph)};
    const Hops hops = find_hops(fabric, options.threads);
    std::vector<std::shared_ptr<const SlRow>> levels = group_levels(topology, graph, hops);
    const std::uint8_t lanes = lanes_needed(levels, *map);
    reason = unserved(topology, graph, hops);
    reason = reason.empty() ? lane_shortage(kDragonflyName, topology, options, lanes) : reason;
    if (!reason.empty()) {
        return base::fail(base::ErrorKind::unsupported, reason);
    }
    const Planner planner = [&](const std::shared_ptr<const Graph>&,
                                const UpDown*) -> base::Result<EnginePlan> {
        return group_plan(fabric, hops);
    };
    base::Result<Routes> routes = build_tables(topology, previous, options, planner);
    if (routes) {
        routes->engine = kDragonflyName;
        routes->vls = lanes;
        if (lanes > 1) {
            routes->sls = std::move(levels);
            routes->lane_maps = group_lane_maps(topology, fabric, lanes);
        }
    }
    return routes;
}

}  // namespace ibf::routing
