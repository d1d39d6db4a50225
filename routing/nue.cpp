#include "routing/nue.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "routing/engine_tables.hpp"
#include "routing/minhop.hpp"
#include "routing/nue_lane.hpp"
#include "routing/parallel.hpp"
#include "routing/updn.hpp"

namespace ibf::routing {

namespace {

// What is not worth another lane:
constexpr std::uint64_t kDetourParts = 100;  ///< detours up to one in so many hops
constexpr std::uint64_t kWorstTimes = 2;     ///< a worst link of up to so many times min-hop's
constexpr std::uint64_t kWorstParts = 10;    ///< the worst link relieved by less than one part in so many
/// Earlier routes are given up for more lanes when detours come to so many times that.
constexpr std::uint64_t kDriftTimes = 2;
/// Links looked at for all trees together; beyond it LIDs of a switch share trees.
constexpr std::uint64_t kTreeWork = std::uint64_t{1} << 33U;
constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};
constexpr std::uint32_t kTreesMost = 64;  ///< per destination switch

/// The LIDs delivered at each switch, by switch, in the order of their ports.
std::vector<std::vector<NueLid>> delivered_lids(const Topology& topology) {
    std::vector<std::vector<NueLid>> lids(topology.switches.size());
    const auto add = [&](std::uint32_t at, const mad::LidRange& range, std::uint8_t port) {
        for (std::uint32_t lid = range.base.value(); lid < range.end(); ++lid) {
            lids[at].push_back({static_cast<std::uint16_t>(lid), port});
        }
    };
    for (std::uint32_t at = 0; at < topology.switches.size(); ++at) {
        for (const PortPeer& peer : topology.switches[at].peers) {
            if (peer.kind == PortPeer::Kind::end_port) {
                const TopologyEndPort& end = topology.end_ports[peer.index];
                if (end.lids.count() != 0) {
                    add(at, end.lids, end.switch_port.value());
                }
            }
        }
        if (topology.switches[at].lids.count() != 0) {
            add(at, topology.switches[at].lids, 0);
        }
    }
    return lids;
}

/// LinearFDBCaps below the top LID, ascending: LIDs between the same two of them are held by the same
/// switches.
std::vector<std::uint32_t> small_tables(const Topology& topology) {
    std::vector<std::uint32_t> caps;
    for (const TopologySwitch& item : topology.switches) {
        if (item.lft_cap <= topology.max_lid) {
            caps.push_back(item.lft_cap);
        }
    }
    std::sort(caps.begin(), caps.end());
    return caps;
}

/// LIDs that the same switches hold share a tree if they are the same modulo `trees`: by LID, not by rank, so
/// that a host that comes or goes leaves the others where they are.
NueDestination plant(const Topology& topology, std::uint32_t at, const std::vector<NueLid>& lids,
                     const std::vector<std::uint32_t>& caps, std::uint32_t trees) {
    std::map<std::pair<std::ptrdiff_t, std::uint32_t>, std::size_t> tree_of;
    NueDestination destination{at, {}};
    for (const NueLid& lid : lids) {
        if (lid.lid >= topology.switches[at].lft_cap) {
            continue;  // its own switch cannot deliver it
        }
        const auto held_by =
            std::upper_bound(caps.begin(), caps.end(), std::uint32_t{lid.lid}) - caps.begin();
        const auto [found, fresh] = tree_of.try_emplace({held_by, lid.lid % trees}, destination.trees.size());
        if (fresh) {
            destination.trees.emplace_back();
        }
        NueTree& tree = destination.trees[found->second];
        tree.lids.push_back(lid);
        tree.end_ports += lid.local_port != 0 ? 1 : 0;
    }
    return destination;
}

std::uint64_t tree_count(const std::vector<NueDestination>& destinations) {
    std::uint64_t count = 0;
    for (const NueDestination& destination : destinations) {
        count += destination.trees.size();
    }
    return count;
}

/// All destinations, those with hosts first, with as many trees as kTreeWork allows.
std::vector<NueDestination> plant_all(const Topology& topology, const Graph& graph,
                                      std::vector<std::uint32_t> order) {
    std::stable_partition(order.begin(), order.end(), [&](std::uint32_t at) { return graph.hosts[at] != 0; });
    const std::vector<std::vector<NueLid>> lids = delivered_lids(topology);
    const std::vector<std::uint32_t> caps = small_tables(topology);
    std::vector<NueDestination> destinations;
    for (std::uint32_t trees = kTreesMost; trees != 0; trees /= 2) {
        destinations.clear();
        for (const std::uint32_t at : order) {
            NueDestination planted = plant(topology, at, lids[at], caps, trees);
            if (!planted.trees.empty()) {
                destinations.push_back(std::move(planted));
            }
        }
        if (tree_count(destinations) * graph.ports.size() <= kTreeWork) {
            break;
        }
    }
    return destinations;
}

/// Data lanes that may be used: as many as asked for, as all links between switches have, as have a use.
std::uint32_t lanes_most(const Topology& topology, std::uint8_t vls_max, std::size_t destinations) {
    std::uint32_t most = std::min<std::uint32_t>(vls_max, kDataLanesMax);
    for (const TopologySwitch& item : topology.switches) {
        for (const PortPeer& peer : item.peers) {
            if (peer.kind == PortPeer::Kind::switch_) {
                most = std::min<std::uint32_t>(most, peer.data_vls);
            }
        }
    }
    return std::max(1U, std::min(most, static_cast<std::uint32_t>(destinations)));
}

/// By destination: its lane.
using Sets = std::vector<std::uint8_t>;

/// Deals `begin`..`end` out in runs of about equal traffic: neighbours in the order are near each other, and
/// the paths to one part of the fabric have most of their dependencies in common.
void deal_out(const std::vector<NueDestination>& destinations, std::size_t begin, std::size_t end,
              std::uint32_t lanes, Sets& out) {
    std::uint64_t total = 0;
    for (std::size_t i = begin; i < end; ++i) {
        total += destinations[i].trees.size();
    }
    std::uint64_t before = 0;
    for (std::size_t i = begin; i < end; ++i) {
        out[i] = static_cast<std::uint8_t>(before * lanes / total);
        before += destinations[i].trees.size();
    }
}

Sets fresh_sets(const std::vector<NueDestination>& destinations, const Graph& graph, std::uint32_t lanes) {
    Sets sets(destinations.size(), 0);
    const auto hostless = std::find_if(destinations.begin(), destinations.end(),
                                       [&](const NueDestination& d) { return graph.hosts[d.at] == 0; });
    const auto hosts = static_cast<std::size_t>(hostless - destinations.begin());
    deal_out(destinations, 0, hosts, lanes, sets);
    deal_out(destinations, hosts, destinations.size(), lanes, sets);
    return sets;
}

/// The set that a switch was in: the SL of the LIDs that it delivered then as now.
std::optional<std::uint8_t> old_set(const NueDestination& destination, const LftRow* old,
                                    const Routes& previous) {
    for (const NueTree& tree : destination.trees) {
        for (const NueLid& lid : tree.lids) {
            if (old != nullptr && lid.lid < old->size() && (*old)[lid.lid] == lid.local_port) {
                return previous.sl(SwitchIndex{0}, mad::Lid{lid.lid});  // all switches have the same SLs
            }
        }
    }
    return std::nullopt;
}

/// Every switch stays in its set; new ones join the sets that have the fewest trees.
Sets kept_sets(const NueFabric& fabric, const std::vector<NueDestination>& destinations,
               const Routes& previous, std::uint32_t lanes) {
    Sets sets(destinations.size(), 0);
    std::vector<std::uint64_t> trees(lanes, 0);
    std::vector<std::size_t> strangers;
    for (std::size_t i = 0; i < sets.size(); ++i) {
        const std::optional<std::uint8_t> old =
            old_set(destinations[i], fabric.old[destinations[i].at].get(), previous);
        if (old && *old < lanes) {
            sets[i] = *old;
            trees[*old] += destinations[i].trees.size();
        } else {
            strangers.push_back(i);
        }
    }
    for (const std::size_t i : strangers) {
        const auto least = std::min_element(trees.begin(), trees.end());
        sets[i] = static_cast<std::uint8_t>(least - trees.begin());
        *least += destinations[i].trees.size();
    }
    return sets;
}

/// Hops of all flows if each took a shortest path.
std::uint64_t shortest_hops(const NueFabric& fabric, const std::vector<NueDestination>& destinations) {
    std::uint64_t total = 0;
    for (const NueDestination& destination : destinations) {
        std::uint64_t end_ports = 0;
        for (const NueTree& tree : destination.trees) {
            end_ports += tree.end_ports;
        }
        const std::uint8_t* hops = fabric.hops.row(destination.at);
        for (std::uint32_t at = 0; at < fabric.graph.switch_count(); ++at) {
            total +=
                hops[at] != kUnreached ? std::uint64_t{hops[at]} * fabric.graph.hosts[at] * end_ports : 0;
        }
    }
    return total;
}

/// Flows on the most loaded channel under min-hop.
std::uint64_t worst_of_minhop(const NueFabric& fabric, const std::vector<NueDestination>& destinations) {
    std::vector<std::uint64_t> load(fabric.channels.count(), 0);
    std::vector<std::uint64_t> flows;
    std::vector<std::uint32_t> farthest_first;
    const auto lay = [&](const NueLid& target) {
        flows.assign(fabric.graph.hosts.begin(), fabric.graph.hosts.end());
        for (const std::uint32_t at : farthest_first) {
            const std::uint32_t exit = fabric.channels.at(at, (*fabric.minhop[at])[target.lid]);
            if (exit != kNoIndex) {
                load[exit] += flows[at];
                flows[fabric.channels.peer(exit)] += flows[at];
            }
        }
    };
    for (const NueDestination& destination : destinations) {
        const std::uint8_t* hops = fabric.hops.row(destination.at);
        farthest_first.clear();
        for (std::uint32_t at = 0; at < fabric.graph.switch_count(); ++at) {
            if (hops[at] != kUnreached && at != destination.at) {
                farthest_first.push_back(at);
            }
        }
        std::sort(farthest_first.begin(), farthest_first.end(),
                  [&](std::uint32_t a, std::uint32_t b) { return hops[a] > hops[b]; });
        for (const NueTree& tree : destination.trees) {
            for (const NueLid& target : tree.lids) {
                if (target.local_port != 0) {
                    lay(target);
                }
            }
        }
    }
    return load.empty() ? 0 : *std::max_element(load.begin(), load.end());
}

/// One go with a given number of lanes. Lanes work side by side in rounds of one destination each, so a
/// result does not depend on which of them is faster: within a round none sees the flows of the others.
class NueRounds {
public:
    NueRounds(const NueFabric& fabric, const std::vector<NueDestination>& destinations, const Sets& sets,
              std::uint32_t lanes, NueAppetite appetite)
        : fabric_(fabric),
          destinations_(destinations),
          appetite_(appetite),
          queues_(lanes),
          lanes_(lanes),
          load_(fabric.channels.count(), 0) {
        for (std::uint32_t i = 0; i < destinations.size(); ++i) {
            queues_[sets[i]].push_back(i);
        }
        for (std::size_t at = 0; at < fabric.topology.switches.size(); ++at) {
            rows_.push_back(std::make_shared<LftRow>(lft_row_size(fabric.topology.max_lid), mad::kLftDrop));
        }
    }

    /// False if it stopped because detours came to more than `detours_most`.
    [[nodiscard]] bool run(std::uint64_t detours_most, unsigned threads) {
        parallel_ranges(lanes_.size(), 1, threads, [&](const WorkRange& range) { open(range.begin); });
        std::size_t rounds = 0;
        for (const std::vector<std::uint32_t>& queue : queues_) {
            rounds = std::max(rounds, queue.size());
        }
        for (std::size_t round = 0; round < rounds && detours_ <= detours_most; ++round) {
            parallel_ranges(lanes_.size(), 1, threads, [&](const WorkRange& range) {
                const std::size_t lane = range.begin;
                if (round < queues_[lane].size()) {
                    lanes_[lane]->route(destinations_[queues_[lane][round]], load_, rows_);
                }
            });
            add_up(round);
        }
        return detours_ <= detours_most;
    }

    /// Hops of all flows beyond the shortest.
    [[nodiscard]] std::uint64_t detours() const { return detours_; }
    /// Flows on the most loaded channel.
    [[nodiscard]] std::uint64_t worst() const {
        return load_.empty() ? 0 : *std::max_element(load_.begin(), load_.end());
    }
    [[nodiscard]] LftRows take_rows() { return std::move(rows_); }

private:
    /// The order of a lane's switches comes from the hosts of its own set: they are what its paths lead to.
    void open(std::size_t lane) {
        Graph graph = fabric_.graph;
        std::fill(graph.hosts.begin(), graph.hosts.end(), 0U);
        for (const std::uint32_t i : queues_[lane]) {
            graph.hosts[destinations_[i].at] = fabric_.graph.hosts[destinations_[i].at];
        }
        const Heights heights = heights_from_hosts(graph, fabric_.hops);
        lanes_[lane].emplace(fabric_, updn_order(graph, heights, scarce_switches(fabric_.topology)),
                             appetite_);
    }

    /// The flows that each lane added in this round, and the detours of all rounds.
    void add_up(std::size_t round) {
        const std::vector<std::uint64_t> before = load_;
        detours_ = 0;
        for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
            detours_ += lanes_[lane]->detours();
            for (std::size_t channel = 0; round < queues_[lane].size() && channel < load_.size(); ++channel) {
                load_[channel] += lanes_[lane]->load()[channel] - before[channel];
            }
        }
    }

    const NueFabric& fabric_;
    const std::vector<NueDestination>& destinations_;
    NueAppetite appetite_;
    std::vector<std::vector<std::uint32_t>> queues_;  ///< by lane
    std::vector<std::optional<NueLane>> lanes_;
    std::vector<std::uint64_t> load_;  ///< flows by channel, all lanes
    std::uint64_t detours_ = 0;
    LftRows rows_;
};

/// What a go is measured by. Less is better; detours below what does not matter count as that much.
struct NueScore {
    std::uint64_t detours = kNoLimit;
    std::uint64_t worst = kNoLimit;

    auto operator<=>(const NueScore&) const = default;
    [[nodiscard]] bool within(const NueScore& bound) const {
        return detours <= bound.detours && worst <= bound.worst;
    }
    [[nodiscard]] bool worth_more_lanes_than(const NueScore& other) const {
        return detours < other.detours ||
               (detours == other.detours && worst < other.worst - other.worst / kWorstParts);
    }
};

struct NueResult {
    LftRows rows;
    Sets sets;
    std::uint32_t lanes = 1;
    NueScore score;
};

/// One go; true if it is better than what `out` holds, and now in it. False too if it stopped early.
bool try_with(NueAppetite appetite, const NueFabric& fabric, const std::vector<NueDestination>& destinations,
              const NueScore& good, std::uint64_t detours_most, unsigned threads, NueResult& out) {
    NueRounds rounds(fabric, destinations, out.sets, out.lanes, appetite);
    if (!rounds.run(detours_most, threads)) {
        return false;
    }
    const NueScore score{std::max(rounds.detours(), good.detours), rounds.worst()};
    if (score >= out.score) {
        return false;
    }
    out.score = score;
    out.rows = rounds.take_rows();
    return true;
}

/// Lanes, sets and entries as they were. On the same fabric this reproduces the old tables, whichever
/// appetite they came from: destinations come in the same order; an old exit is tried first among those that
/// lead as far; what leads nearer was not taken then and fails now for the same reason, because all that
/// decides is which dependencies are in use.
std::optional<NueResult> hold_on(const NueFabric& fabric, const std::vector<NueDestination>& destinations,
                                 const NueScore& good, std::uint32_t most, const Routes& previous,
                                 unsigned threads) {
    NueResult result;
    result.lanes = std::max<std::uint32_t>(1, previous.vls);
    if (result.lanes > most) {
        return std::nullopt;
    }
    const std::uint64_t detours_most = result.lanes == most ? kNoLimit : good.detours * kDriftTimes;
    result.sets = kept_sets(fabric, destinations, previous, result.lanes);
    return try_with(NueAppetite::ordered, fabric, destinations, good, detours_most, threads, result)
               ? std::optional(std::move(result))
               : std::nullopt;
}

/// The first number of lanes that is good enough, else the one that was worth it.
NueResult start_anew(const NueFabric& fabric, const std::vector<NueDestination>& destinations,
                     const NueScore& good, std::uint32_t most, unsigned threads) {
    NueResult best;
    for (std::uint32_t lanes = 1;; lanes = std::min(most, lanes * 2)) {
        NueResult result;
        result.lanes = lanes;
        result.sets = fresh_sets(destinations, fabric.graph, lanes);
        std::uint64_t detours_most = lanes == most ? kNoLimit : good.detours;
        for (const NueAppetite appetite : {NueAppetite::ordered, NueAppetite::any}) {
            if (try_with(appetite, fabric, destinations, good, detours_most, threads, result)) {
                detours_most = result.score.detours;
            }
            if (result.score.within(good)) {
                return result;
            }
        }
        if (result.score.worth_more_lanes_than(best.score)) {
            best = std::move(result);
        }
        if (lanes == most) {
            return best;
        }
    }
}

NueResult lay_all(const NueFabric& fabric, const std::vector<NueDestination>& destinations,
                  const NueScore& good, const Routes* previous, const RouteOptions& options) {
    const std::uint32_t most = lanes_most(fabric.topology, options.vls_max, destinations.size());
    if (previous != nullptr) {
        std::optional<NueResult> held = hold_on(fabric, destinations, good, most, *previous, options.threads);
        if (held) {
            return std::move(*held);
        }
    }
    const std::vector<std::shared_ptr<const LftRow>> none(fabric.topology.switches.size());
    const NueFabric afresh{fabric.topology, fabric.graph, fabric.channels, fabric.hops, none, fabric.minhop};
    return start_anew(afresh, destinations, good, most, options.threads);
}

std::shared_ptr<const SlRow> service_levels(const Topology& topology,
                                            const std::vector<NueDestination>& destinations,
                                            const Sets& sets) {
    auto row = std::make_shared<SlRow>(topology.max_lid + std::size_t{1}, std::uint8_t{0});
    for (std::size_t i = 0; i < destinations.size(); ++i) {
        for (const NueTree& tree : destinations[i].trees) {
            for (const NueLid& lid : tree.lids) {
                (*row)[lid.lid] = sets[i];
            }
        }
    }
    return row;
}

}  // namespace

base::Result<Routes> route_nue(const Topology& topology, const Routes* previous,
                               const RouteOptions& options) {
    const Graph graph = make_graph(topology, {});
    const base::Result<ByteMatrix> hops = hop_distances(graph, options.threads);
    if (!hops) {
        return tl::unexpected<base::Error>(hops.error());
    }
    const base::Result<Routes> shortest = route_minhop(topology, nullptr, options);
    if (!shortest) {
        return tl::unexpected<base::Error>(shortest.error());
    }
    const Channels channels(topology, graph);
    const std::vector<std::shared_ptr<const LftRow>> old = old_rows(topology, previous);
    const std::vector<std::shared_ptr<const LftRow>> minhop = old_rows(topology, &*shortest);
    const NueFabric fabric{topology, graph, channels, *hops, old, minhop};
    const std::vector<NueDestination> destinations =
        plant_all(topology, graph, shape_of(graph, *hops, heights_from_hosts(graph, *hops)).order);
    const NueScore good{shortest_hops(fabric, destinations) / kDetourParts,
                        worst_of_minhop(fabric, destinations) * kWorstTimes};
    NueResult result = lay_all(fabric, destinations, good, previous, options);

    Routes routes;
    routes.engine = "nue";
    routes.vls = static_cast<std::uint8_t>(result.lanes);
    for (std::size_t at = 0; at < topology.switches.size(); ++at) {
        routes.switch_guids.push_back(topology.switches[at].guid);
        routes.rows.push_back(std::move(result.rows[at]));
    }
    if (result.lanes > 1) {
        routes.sls.assign(topology.switches.size(), service_levels(topology, destinations, result.sets));
    }
    return routes;
}

}  // namespace ibf::routing
