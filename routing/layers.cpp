#include "routing/layers.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "routing/parallel.hpp"
#include "routing/turn_order.hpp"

namespace ibf::routing {

LaneLimit lane_limit(const Topology& topology, std::uint8_t vls_max) {
    LaneLimit limit{vls_max, "the configuration (vls_max)"};
    for (const TopologySwitch& from : topology.switches) {
        for (std::size_t port = 1; port < from.peers.size(); ++port) {
            const PortPeer& peer = from.peers[port];
            if (peer.kind == PortPeer::Kind::switch_ && peer.data_vls < limit.lanes) {
                const TopologySwitch& to = topology.switches[peer.index];
                limit = {peer.data_vls, fmt::format("the link {} ({}) port {} - {} ({}) port {}", from.name,
                                                    from.guid, port, to.name, to.guid, peer.port)};
            }
        }
    }
    return limit;
}

base::Error lanes_missing(std::string_view engine, unsigned needed, const LaneLimit& limit) {
    return {base::ErrorKind::unsupported,
            fmt::format(
                "{} needs {} lanes without deadlock, the fabric has {}, limited by {}", engine,
                needed > kDataLanesMax ? fmt::format("more than {}", kDataLanesMax) : std::to_string(needed),
                limit.lanes, limit.sits_at)};
}

OldLayers::OldLayers(const Topology& topology, const Routes* previous)
    : any_(previous != nullptr),
      rows_(previous != nullptr ? in_order_of(topology, *previous).sls : decltype(rows_){}) {
    rows_.resize(topology.switches.size());
}

std::uint8_t OldLayers::find(std::uint32_t at, std::uint16_t lid) const {
    if (!any_) {
        return kNoLayer;
    }
    return rows_[at] != nullptr && lid < rows_[at]->size() ? (*rows_[at])[lid] : std::uint8_t{0};
}

std::uint8_t LayerLoads::pick(LayerSet may, std::uint8_t before) const {
    if (before < kDataLanesMax && (may >> before & 1U) != 0) {
        return before;
    }
    auto best = static_cast<unsigned>(std::countr_zero(may));
    for (unsigned rest = may; rest != 0; rest &= rest - 1) {
        const auto layer = static_cast<unsigned>(std::countr_zero(rest));
        best = load_[layer] < load_[best] ? layer : best;
    }
    return static_cast<std::uint8_t>(best);
}

namespace {

class LayerMaker {
public:
    LayerMaker(const Paths& paths, const LiveTurns& live)
        : paths_(paths), links_(paths.links()), live_(live), pending_(paths.all_lids()) {}

    /// Layers until every path has a home, or there are too many.
    void run() {
        homes_.assign(paths_.switch_count(), SlRow(pending_.size(), kNoLayer));
        bool homeless = true;
        while (homeless && layers() <= kDataLanesMax) {
            allowed_.push_back(turns_for_homeless());
            settle();
            homeless = std::find(pending_.begin(), pending_.end(), 1) != pending_.end();
        }
    }

    [[nodiscard]] unsigned layers() const { return static_cast<unsigned>(allowed_.size()); }

    /// Among the layers that may carry a path: the one it had before, else the one with the fewest paths.
    std::vector<SlRow> spread(const OldLayers& before) {
        const std::vector<LayerSet> sets = layers_of_turns();
        const auto all = static_cast<LayerSet>((1U << layers()) - 1U);
        LayerLoads loads;
        std::vector<LayerSet> may(paths_.switch_count());
        const auto choose = [&](unsigned, const ColumnTree& tree, std::uint32_t root, const ColumnLid& to) {
            may[root] = all;
            for (const std::uint32_t at : tree.order()) {
                const std::uint32_t id = turn_at(tree, at, root);
                const LayerSet onward = may[links_.peer(tree.link(at))];
                may[at] = id == kNoIndex ? onward : static_cast<LayerSet>(onward & sets[id]);
                const std::uint32_t sources = paths_.columns().sources(at, to);
                std::uint8_t& home = homes_[at][to.lid];
                home = sources == 0 ? 0 : loads.pick(may[at], before.find(at, to.lid));
                loads.add(home, sources);
            }
            homes_[root][to.lid] = 0;
        };
        paths_.for_each_tree(paths_.all_lids(), 1, choose);
        for (SlRow& row : homes_) {
            std::replace(row.begin(), row.end(), kNoLayer, std::uint8_t{0});
        }
        return std::move(homes_);
    }

private:
    static constexpr unsigned kCountersMost = 8;  ///< threads; each has counters of its own, up to 40 MB

    /// Homeless paths, counted.
    struct Need {
        std::vector<std::uint32_t> turns;   ///< by live turn: paths; 49,151 LIDs squared are less than 2^32
        std::vector<std::uint64_t> passes;  ///< by vertex: paths
        std::vector<std::uint64_t> hops;    ///< by vertex: hops that those paths made before

        void resize(const LiveTurns& live) {
            turns.resize(live.count());
            passes.resize(live.vertex_count());
            hops.resize(live.vertex_count());
        }
        void add(const Need& other) {
            const auto into = [](auto& sums, const auto& parts) {
                std::transform(parts.begin(), parts.end(), sums.begin(), sums.begin(), std::plus<>());
            };
            into(turns, other.turns);
            into(passes, other.passes);
            into(hops, other.hops);
        }
    };
    /// Homeless paths that pass a switch on their way to one LID.
    struct Passing {
        std::uint32_t paths = 0;
        std::uint32_t hops = 0;  ///< made so far, all together
    };

    /// The live turn that paths through `at` make at the next switch; kNoIndex: none, or a harmless one.
    [[nodiscard]] std::uint32_t turn_at(const ColumnTree& tree, std::uint32_t at, std::uint32_t root) const {
        const std::uint32_t link = tree.link(at);
        const std::uint32_t next = links_.peer(link);
        return next == root ? kNoIndex : live_.find(links_.turn(link, tree.link(next)));
    }

    /// What the homeless paths ask for.
    Need count_homeless() {
        struct Scratch {
            Need need;
            std::vector<Passing> passing;  ///< by switch
        };
        const unsigned threads = std::min(kCountersMost, resolve_threads(paths_.threads()));
        std::vector<Scratch> scratch(threads);
        const auto count = [&](unsigned slot, const ColumnTree& tree, std::uint32_t root,
                               const ColumnLid& to) {
            Scratch& mine = scratch[slot];
            mine.need.resize(live_);
            mine.passing.resize(paths_.switch_count());
            for (const std::uint32_t at : tree.order()) {
                mine.passing[at] = {homes_[at][to.lid] == kNoLayer ? paths_.columns().sources(at, to) : 0, 0};
            }
            for (auto at = tree.order().rbegin(); at != tree.order().rend(); ++at) {
                const Passing& here = mine.passing[*at];
                if (const std::uint32_t id = turn_at(tree, *at, root); id != kNoIndex) {
                    mine.need.turns[id] += here.paths;
                }
                if (const std::uint32_t vertex = live_.vertex(tree.link(*at)); vertex != kNoIndex) {
                    mine.need.passes[vertex] += here.paths;
                    mine.need.hops[vertex] += here.hops;
                }
                Passing& next = mine.passing[links_.peer(tree.link(*at))];
                next = {next.paths + here.paths, next.hops + here.hops + here.paths};
            }
        };
        paths_.for_each_tree(pending_, threads, count);
        Need total;
        total.resize(live_);
        for (const Scratch& part : scratch) {
            total.add(part.need);
        }
        return total;
    }

    /// The turns of a new layer: those that most homeless paths make first, as long as no cycle closes.
    std::vector<char> turns_for_homeless() {
        const Need need = count_homeless();
        std::vector<std::uint32_t> wanted;
        for (std::uint32_t id = 0; id < live_.count(); ++id) {
            if (need.turns[id] != 0) {
                wanted.push_back(id);
            }
        }
        std::stable_sort(wanted.begin(), wanted.end(),
                         [&](std::uint32_t a, std::uint32_t b) { return need.turns[a] > need.turns[b]; });
        TurnOrder order(early_first(need));
        std::vector<char> allowed(live_.count(), 0);
        for (const std::uint32_t id : wanted) {
            allowed[id] = order.add(live_.from(id), live_.to(id)) ? 1 : 0;
        }
        return allowed;
    }

    /// Links by how far into their paths they lie, on average: up-links of a tree come before down-links.
    static std::vector<std::uint32_t> early_first(const Need& need) {
        std::vector<std::uint64_t> depth;
        for (std::size_t vertex = 0; vertex < need.passes.size(); ++vertex) {
            depth.push_back(need.hops[vertex] * 64 / std::max<std::uint64_t>(1, need.passes[vertex]));
        }
        std::vector<std::uint32_t> order(depth.size());
        std::iota(order.begin(), order.end(), 0U);
        std::stable_sort(order.begin(), order.end(),
                         [&](std::uint32_t a, std::uint32_t b) { return depth[a] < depth[b]; });
        return order;
    }

    /// Homeless paths whose turns are all in the last layer find their home in it.
    void settle() {
        const auto layer = static_cast<std::uint8_t>(allowed_.size() - 1);
        const std::vector<char>& allowed = allowed_.back();
        std::vector<std::vector<char>> fits(resolve_threads(paths_.threads()));
        std::vector<char> left(pending_.size(), 0);
        const auto place = [&](unsigned slot, const ColumnTree& tree, std::uint32_t root,
                               const ColumnLid& to) {
            std::vector<char>& fit = fits[slot];
            fit.resize(paths_.switch_count());
            fit[root] = 1;
            for (const std::uint32_t at : tree.order()) {
                const std::uint32_t id = turn_at(tree, at, root);
                fit[at] =
                    fit[links_.peer(tree.link(at))] != 0 && (id == kNoIndex || allowed[id] != 0) ? 1 : 0;
                std::uint8_t& home = homes_[at][to.lid];
                if (home == kNoLayer && fit[at] != 0) {
                    home = layer;
                }
                if (home == kNoLayer && paths_.columns().sources(at, to) != 0) {
                    left[to.lid] = 1;
                }
            }
        };
        paths_.for_each_tree(pending_, paths_.threads(), place);
        pending_ = std::move(left);
    }

    [[nodiscard]] std::vector<LayerSet> layers_of_turns() const {
        std::vector<LayerSet> sets(live_.count(), 0);
        for (unsigned layer = 0; layer < layers(); ++layer) {
            for (std::uint32_t id = 0; id < live_.count(); ++id) {
                sets[id] |= static_cast<LayerSet>(allowed_[layer][id] != 0 ? 1U << layer : 0U);
            }
        }
        return sets;
    }

    const Paths& paths_;
    const Links& links_;
    const LiveTurns& live_;
    std::vector<char> pending_;  ///< by LID: some path to it has no home yet
    std::vector<SlRow> homes_;
    std::vector<std::vector<char>> allowed_;  ///< by layer, by live turn
};

}  // namespace

Layers layer_paths(const Paths& paths, const LiveTurns& live, const OldLayers& before) {
    Layers layers;
    LayerMaker maker(paths, live);
    maker.run();
    layers.count = maker.layers();
    if (layers.count <= kDataLanesMax) {
        layers.of = maker.spread(before);
    }
    return layers;
}

void use_layers(Layers layers, Routes& routes) {
    routes.vls = static_cast<std::uint8_t>(layers.count);
    routes.sls.clear();
    std::map<std::size_t, std::shared_ptr<const SlRow>> known;  // by hash; a clash only costs a copy
    for (SlRow& row : layers.of) {
        routes.sls.push_back(nullptr);
        if (std::all_of(row.begin(), row.end(), [](std::uint8_t sl) { return sl == 0; })) {
            continue;
        }
        std::shared_ptr<const SlRow>& same =
            known[std::hash<std::string_view>()({reinterpret_cast<const char*>(row.data()), row.size()})];
        if (same == nullptr || *same != row) {
            same = std::make_shared<const SlRow>(std::move(row));
        }
        routes.sls.back() = same;
    }
}

}  // namespace ibf::routing
