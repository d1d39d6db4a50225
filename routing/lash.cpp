#include "routing/lash.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "routing/engine_tables.hpp"
#include "routing/layered_engine.hpp"
#include "routing/turn_order.hpp"

namespace ibf::routing {

namespace {

/// One lane: the live turns in it, without a cycle.
class PairLayer {
public:
    PairLayer(const LiveTurns& live, const std::vector<std::uint32_t>& vertices)
        : live_(live), order_(vertices), holds_(live.count(), 0), refuses_(live.count(), 0) {}

    [[nodiscard]] bool holds_all(const std::vector<std::uint32_t>& turns) const {
        return std::all_of(turns.begin(), turns.end(), [&](std::uint32_t id) { return holds_[id] != 0; });
    }

    /// All of the turns, or none of them.
    bool add_all(const std::vector<std::uint32_t>& turns) {
        if (std::any_of(turns.begin(), turns.end(), [&](std::uint32_t id) { return refuses_[id] != 0; })) {
            return false;
        }
        added_.clear();
        for (const std::uint32_t id : turns) {
            if (holds_[id] != 0) {
                continue;
            }
            if (!order_.add(live_.from(id), live_.to(id))) {
                refuses_[id] = added_.empty() ? 1 : 0;  // for good only if what closed the cycle stays
                take_back();
                return false;
            }
            holds_[id] = 1;
            added_.push_back(id);
        }
        return true;
    }

private:
    void take_back() {
        for (auto id = added_.rbegin(); id != added_.rend(); ++id) {
            order_.take_back(live_.from(*id), live_.to(*id));
            holds_[*id] = 0;
        }
    }

    const LiveTurns& live_;
    TurnOrder order_;
    std::vector<char> holds_;
    std::vector<char> refuses_;
    std::vector<std::uint32_t> added_;
};

class PairLayering {
public:
    PairLayering(const Paths& paths, const LiveTurns& live)
        : paths_(paths), live_(live), vertices_(live.vertex_count()) {
        std::iota(vertices_.begin(), vertices_.end(), 0U);
    }

    Layers run(const OldLayers& before) {
        Layers result;
        for (const Pair& pair : hardest_first()) {
            find_turns(pair.a, pair.b);
            place(layer_before(pair.a, pair.b, before));
        }
        result.count = static_cast<unsigned>(layers_.size());
        if (result.count <= kDataLanesMax) {
            const std::size_t lids = paths_.all_lids().size();
            result.of.assign(paths_.switch_count(), SlRow(lids, 0));
            LayerLoads loads;
            for_each_pair([&](std::uint32_t a, std::uint32_t b) {
                const std::uint8_t layer = loads.pick(layers_that_hold(), layer_before(a, b, before));
                loads.add(layer, 1);
                tell(b, layer, result.of[a]);
                tell(a, layer, result.of[b]);
            });
        }
        return result;
    }

private:
    struct Pair {
        std::uint32_t a = 0;
        std::uint32_t b = 0;
        std::uint32_t turns = 0;
    };

    [[nodiscard]] std::uint16_t first_lid(std::uint32_t at) const {
        return paths_.columns().at(at).front().lid;
    }

    [[nodiscard]] bool talks(std::uint32_t from, std::uint32_t to) const {
        return !paths_.columns().at(to).empty() &&
               paths_.columns().sources(from, paths_.columns().at(to).front()) != 0;
    }

    /// Calls with every pair that traffic flows between, its turns in turns_.
    template <class Each>
    void for_each_pair(const Each& each) {
        for (std::uint32_t a = 0; a < paths_.switch_count(); ++a) {
            for (std::uint32_t b = a + 1; b < paths_.switch_count(); ++b) {
                if (talks(a, b) || talks(b, a)) {
                    find_turns(a, b);
                    each(a, b);
                }
            }
        }
    }

    /// Pairs that make live turns, those with the most first: what is hard to fit finds the layers still
    /// empty.
    std::vector<Pair> hardest_first() {
        std::vector<Pair> pairs;
        for_each_pair([&](std::uint32_t a, std::uint32_t b) {
            if (!turns_.empty()) {
                pairs.push_back({a, b, static_cast<std::uint32_t>(turns_.size())});
            }
        });
        std::stable_sort(pairs.begin(), pairs.end(),
                         [](const Pair& left, const Pair& right) { return left.turns > right.turns; });
        return pairs;
    }

    /// Both ways' turns into turns_.
    void find_turns(std::uint32_t a, std::uint32_t b) {
        turns_.clear();
        list_turns(a, b);
        list_turns(b, a);
    }

    void list_turns(std::uint32_t from, std::uint32_t to) {
        if (paths_.columns().at(to).empty()) {
            return;
        }
        const std::uint16_t lid = first_lid(to);
        const Links& links = paths_.links();
        std::uint32_t link = links.at(from, (*paths_.rows()[from])[lid]);
        while (link != kNoIndex && links.peer(link) != to) {
            const std::uint32_t at = links.peer(link);
            const std::uint32_t next = links.at(at, (*paths_.rows()[at])[lid]);
            const std::uint32_t id = next == kNoIndex ? kNoIndex : live_.find(links.turn(link, next));
            if (id != kNoIndex) {
                turns_.push_back(id);
            }
            link = next;
        }
    }

    [[nodiscard]] std::uint8_t layer_before(std::uint32_t a, std::uint32_t b, const OldLayers& before) const {
        return talks(a, b) ? before.find(a, first_lid(b)) : before.find(b, first_lid(a));
    }

    /// Into the layer that the pair had before, else the first that takes it; a new one is opened as long as
    /// there can be more.
    void place(std::uint8_t before) {
        while (before < kDataLanesMax && layers_.size() <= before) {
            layers_.emplace_back(live_, vertices_);
        }
        if (before < kDataLanesMax && layers_[before].add_all(turns_)) {
            return;
        }
        for (PairLayer& layer : layers_) {
            if (layer.add_all(turns_)) {
                return;
            }
        }
        if (layers_.size() <= kDataLanesMax) {
            layers_.emplace_back(live_, vertices_).add_all(turns_);
        }
    }

    [[nodiscard]] LayerSet layers_that_hold() const {
        LayerSet set = 0;
        for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
            set |= static_cast<LayerSet>(layers_[layer].holds_all(turns_) ? 1U << layer : 0U);
        }
        return set;
    }

    void tell(std::uint32_t to, std::uint8_t layer, SlRow& out) const {
        for (const ColumnLid& lid : paths_.columns().at(to)) {
            out[lid.lid] = layer;
        }
    }

    const Paths& paths_;
    const LiveTurns& live_;
    std::vector<std::uint32_t> vertices_;
    std::vector<PairLayer> layers_;
    std::vector<std::uint32_t> turns_;
};

Layers layer_pairs(const Paths& paths, const LiveTurns& live, const OldLayers& before) {
    return PairLayering(paths, live).run(before);
}

}  // namespace

base::Result<Routes> route_lash(const Topology& topology, const Routes* previous,
                                const RouteOptions& options) {
    for (const TopologySwitch& item : topology.switches) {
        if (item.lft_cap <= topology.max_lid) {
            return base::fail(
                base::ErrorKind::unsupported,
                fmt::format("lash gives all LIDs at a switch one path, but the table of {} ({}) ends "
                            "below LID {}; take another engine, or give out lower LIDs",
                            item.name, item.guid, topology.max_lid));
        }
    }
    return route_in_layers({"lash", TreePer::switch_, layer_pairs}, topology, previous, options);
}

}  // namespace ibf::routing
