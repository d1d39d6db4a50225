#include "routing/mixture.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <set>
#include <utility>

#include "routing/parallel.hpp"
#include "routing/rings.hpp"
#include "routing/verify_cycle.hpp"
#include "routing/verify_lanes.hpp"

namespace ibf::routing {
namespace {

constexpr std::uint32_t kWays = 2;  // the old one and the new one
constexpr std::uint32_t kBlock = 64;

using LaneSet = std::uint16_t;  // bit v: lane v

/// One of the two tables, with its lanes.
struct Tables {
    Tables(const Topology& topology, const Routes& given)
        : routes(in_order_of(topology, given)), view(topology, routes) {}
    Routes routes;
    TableView view;
};

/// Where a switch sends packets for the LID at hand.
struct Hop {
    std::uint16_t next = kNoNext;
    std::uint8_t slot = 0;
    std::uint8_t port = mad::kLftDrop;
    friend bool operator==(const Hop&, const Hop&) = default;
};

/// Draws the dependencies of LIDs; one per thread.
class Mixer {
public:
    Mixer(const Topology& topology, const Tables& before, const Tables& after, std::uint32_t lanes)
        : topology_(topology),
          tables_{&before, &after},
          one_lane_(lanes == 1),
          rings_(topology.switches.size()),
          columns_{Column(size() * kBlock), Column(size() * kBlock)},
          hops_(size() * kWays),
          reached_(size(), 0),
          held_(one_lane_ ? 0 : size() * kWays * kServiceLevels, 0),
          dependencies_(after.view, lanes) {
        for (std::uint32_t at = 0; !one_lane_ && at < size(); ++at) {
            inputs_.push_back(inputs_of(at));
        }
    }

    void mix_block(std::uint32_t first) {
        for (std::uint32_t which = 0; which < kWays; ++which) {
            read(tables_[which]->view, first, columns_[which]);
        }
        for (std::uint32_t lid = first; lid < first + kBlock; ++lid) {
            mix(lid, lid - first);
        }
    }

    [[nodiscard]] const Dependencies& dependencies() const { return dependencies_; }

private:
    using Column = std::vector<std::uint8_t>;  // [switch * 64 + LID of the block]

    [[nodiscard]] std::size_t size() const { return topology_.switches.size(); }

    /// The lane map of a switch, where it says something of a port.
    [[nodiscard]] static const LaneMap* map_of(const Tables& tables, std::uint32_t at, std::uint8_t port) {
        const auto& maps = tables.routes.lane_maps;
        const LaneMap* map = at < maps.size() ? maps[at].get() : nullptr;
        return map != nullptr && port < map->input_class.size() && port < map->exit_class.size() ? map
                                                                                                 : nullptr;
    }

    /// Ports of a switch that end ports' packets come in by, one of each pair of classes.
    [[nodiscard]] std::vector<std::uint8_t> inputs_of(std::uint32_t at) const {
        const auto& peers = topology_.switches[at].peers;
        std::set<std::pair<int, int>> classes;
        std::vector<std::uint8_t> inputs;
        for (std::size_t i = 1; i < peers.size(); ++i) {
            const auto port = static_cast<std::uint8_t>(i);
            const auto class_in = [&](const Tables* tables) {
                const LaneMap* map = map_of(*tables, at, port);
                return map == nullptr ? -1 : int{map->input_class[port]};
            };
            if (peers[i].kind == PortPeer::Kind::end_port &&
                classes.emplace(class_in(tables_[0]), class_in(tables_[1])).second) {
                inputs.push_back(port);
            }
        }
        return inputs;
    }

    void read(const TableView& view, std::uint32_t first, Column& column) const {
        for (std::uint32_t at = 0; at < size(); ++at) {
            for (std::uint32_t lid = 0; lid < kBlock; ++lid) {
                column[at * std::size_t{kBlock} + lid] = view.port(at, first + lid);
            }
        }
    }

    void mix(std::uint32_t lid, std::uint32_t column) {
        // A LID that nobody has any more may still be sent to.
        const TableView& view = tables_[1]->view;
        const LidOwner owner = lid < view.lid_end() ? view.owner(lid) : LidOwner{};
        const bool to_end_port = owner.end_port != kNoIndex || owner.switch_index == kNoIndex;
        read_hops(owner, column);
        if (find_circling()) {
            fresh_hops_ = hops_;
            leave_old_ones_only();
            draw_all(lid, to_end_port);  // they are there until they are dropped
            hops_ = fresh_hops_;
            for (const std::uint32_t at : circling_) {
                hops_[at * kWays] = Hop{};
            }
        }
        draw_all(lid, to_end_port);
    }

    void draw_all(std::uint32_t lid, bool to_end_port) {
        reach(to_end_port);
        if (one_lane_) {
            std::for_each(order_.begin(), order_.end(), [this](std::uint32_t at) { draw(at); });
        } else {
            follow_lanes(lid, to_end_port);
        }
    }

    void read_hops(const LidOwner& owner, std::uint32_t column) {
        changed_.clear();
        differing_.clear();
        for (std::uint32_t at = 0; at < size(); ++at) {
            for (std::uint32_t which = 0; which < kWays; ++which) {
                const std::uint8_t port = columns_[which][at * std::size_t{kBlock} + column];
                const Exit& exit = tables_[1]->view.exit(at, port);
                // The old entry of a switch that a host has come to may still lead on to where it was.
                const bool arrives = which == 1 && at == owner.switch_index;
                hops_[at * kWays + which] = arrives ? Hop{} : Hop{exit.next, exit.slot, port};
            }
            if (hops_[at * kWays] == hops_[at * kWays + 1]) {
                hops_[at * kWays] = Hop{};
            } else {
                differing_.push_back(at);
                if (hops_[at * kWays].next != kNoNext) {
                    changed_.push_back(at);
                }
            }
        }
    }

    /// Switches whose old hop lies on a ring of old and new ones.
    bool find_circling() {
        circling_.clear();
        if (changed_.empty()) {
            return false;
        }
        rings_.find(changed_, [&](std::uint32_t at, int which) -> std::uint32_t {
            const std::uint16_t next = hops_[at * kWays + static_cast<std::uint32_t>(which)].next;
            return next == kNoNext ? kNoIndex : next;
        });
        for (const std::uint32_t at : changed_) {
            if (rings_.any() && rings_.on_ring(at, hops_[at * kWays].next)) {
                circling_.push_back(at);
            }
        }
        return !circling_.empty();
    }

    void leave_old_ones_only() {
        for (const std::uint32_t at : differing_) {
            hops_[at * kWays + 1] = Hop{};
        }
    }

    [[nodiscard]] bool sends(std::uint32_t at, bool to_end_port) const {
        return tables_[1]->view.sources(at) != 0 || (to_end_port && topology_.switches[at].lids.count() != 0);
    }

    /// The switches that packets may come to.
    void reach(bool to_end_port) {
        std::fill(reached_.begin(), reached_.end(), char{0});
        order_.clear();
        const auto add = [this](std::uint32_t at) {
            if (reached_[at] == 0) {
                reached_[at] = 1;
                order_.push_back(at);
            }
        };
        for (std::uint32_t at = 0; at < size(); ++at) {
            if (sends(at, to_end_port)) {
                add(at);
            }
        }
        for (std::size_t i = 0; i < order_.size(); ++i) {
            for (std::uint32_t which = 0; which < kWays; ++which) {
                if (const Hop& hop = hops_[order_[i] * kWays + which]; hop.next != kNoNext) {
                    add(hop.next);
                }
            }
        }
    }

    [[nodiscard]] std::uint32_t channel(std::uint32_t at, const Hop& hop) const {
        return tables_[1]->view.first_channel(at) + hop.slot;
    }

    template <class Work>
    void for_each_hop(std::uint32_t at, const Work& work) const {
        for (std::uint32_t which = 0; which < kWays; ++which) {
            if (const Hop& hop = hops_[at * kWays + which]; hop.next != kNoNext) {
                work(which, hop);
            }
        }
    }

    void draw(std::uint32_t at) {
        for_each_hop(at, [&](std::uint32_t, const Hop& hop) {
            for_each_hop(hop.next, [&](std::uint32_t, const Hop& further) {
                dependencies_.add(channel(at, hop), 0, further.slot, 0);
            });
        });
    }

    // --- several lanes: which of them packets of an SL hold on a link, until nothing is added

    [[nodiscard]] LaneSet& held(std::uint32_t at, std::uint32_t which, unsigned sl) {
        return held_[(std::size_t{at} * kWays + which) * kServiceLevels + sl];
    }

    /// By the old map or the new.
    [[nodiscard]] LaneSet lanes_of(std::uint32_t at, std::uint8_t input, std::uint8_t exit,
                                   unsigned sl) const {
        LaneSet lanes = 0;
        for (const Tables* tables : tables_) {
            const bool mapped = map_of(*tables, at, input) != nullptr && map_of(*tables, at, exit) != nullptr;
            const unsigned lane = mapped
                                      ? tables->routes.lane(SwitchIndex{at}, mad::PortNum{input},
                                                            mad::PortNum{exit}, static_cast<std::uint8_t>(sl))
                                      : sl;
            lanes = static_cast<LaneSet>(lanes | (1U << (lane & 15U)));
        }
        return lanes;
    }

    void hold(std::uint32_t at, std::uint32_t which, unsigned sl, LaneSet lanes) {
        LaneSet& mine = held(at, which, sl);
        if ((lanes & ~mine) != 0) {
            mine = static_cast<LaneSet>(mine | lanes);
            pending_.push_back({at, which, sl});
        }
    }

    void follow_lanes(std::uint32_t lid, bool to_end_port) {
        for (const std::uint32_t at : order_) {
            std::fill_n(held_.begin() + static_cast<std::ptrdiff_t>(std::size_t{at} * kWays * kServiceLevels),
                        kWays * kServiceLevels, LaneSet{0});
        }
        for (const std::uint32_t at : order_) {
            if (sends(at, to_end_port)) {
                start(at, lid, to_end_port);
            }
        }
        while (!pending_.empty()) {
            const Pending item = pending_.back();
            pending_.pop_back();
            advance(item);
        }
    }

    void start(std::uint32_t at, std::uint32_t lid, bool to_end_port) {
        for_each_hop(at, [&](std::uint32_t which, const Hop& hop) {
            for (const Tables* tables : tables_) {
                const std::uint8_t sl =
                    tables->routes.sl(SwitchIndex{at}, mad::Lid{static_cast<std::uint16_t>(lid)}) & 15U;
                for (const std::uint8_t input : inputs_[at]) {
                    hold(at, which, sl, lanes_of(at, input, hop.port, sl));
                }
                if (to_end_port && topology_.switches[at].lids.count() != 0) {
                    hold(at, which, sl, lanes_of(at, 0, hop.port, sl));
                }
            }
        });
    }

    struct Pending {
        std::uint32_t at;
        std::uint32_t which;
        unsigned sl;
    };

    void advance(const Pending& item) {
        const Hop& hop = hops_[item.at * kWays + item.which];
        const std::uint8_t input = topology_.switches[item.at].peers[hop.port].port.value();
        const LaneSet lanes = held(item.at, item.which, item.sl);
        for_each_hop(hop.next, [&](std::uint32_t which, const Hop& further) {
            const LaneSet wanted = lanes_of(hop.next, input, further.port, item.sl);
            for (unsigned have = lanes; have != 0; have &= have - 1) {
                for (unsigned want = wanted; want != 0; want &= want - 1) {
                    dependencies_.add(channel(item.at, hop),
                                      static_cast<std::uint32_t>(std::countr_zero(have)), further.slot,
                                      static_cast<std::uint32_t>(std::countr_zero(want)));
                }
            }
            hold(hop.next, which, item.sl, wanted);
        });
    }

    const Topology& topology_;
    const std::array<const Tables*, kWays> tables_;
    const bool one_lane_;
    RingFinder rings_;
    std::array<Column, kWays> columns_;
    std::vector<Hop> hops_;        ///< [switch * 2 + way]; an old one that equals the new is left out
    std::vector<Hop> fresh_hops_;  ///< both, kept while the old ones are drawn by themselves
    std::vector<std::uint32_t> differing_;  ///< switches whose hops differ
    std::vector<std::uint32_t> changed_;    ///< those of them whose old hop leads on
    std::vector<std::uint32_t> circling_;
    std::vector<std::vector<std::uint8_t>> inputs_;  ///< by switch; where there are lanes
    std::vector<char> reached_;
    std::vector<std::uint32_t> order_;
    std::vector<LaneSet> held_;  ///< [(switch * 2 + way) * 16 + SL]: lanes on which packets leave by that hop
    std::vector<Pending> pending_;
    Dependencies dependencies_;
};

}  // namespace

std::vector<ChannelStep> mixed_ring(const Topology& topology, const Routes& before, const Routes& after,
                                    unsigned threads) {
    Tables old_tables(topology, before);
    const Tables new_tables(topology, after);
    if (!knows_lanes(before)) {
        old_tables.routes.sls = new_tables.routes.sls;
        old_tables.routes.lane_maps = new_tables.routes.lane_maps;
    }
    const std::uint32_t lanes =
        std::max(lanes_told_apart(old_tables.routes), lanes_told_apart(new_tables.routes));
    std::vector<std::optional<Mixer>> mixers(resolve_threads(threads));
    const TableView& view = new_tables.view;
    std::size_t lid_end = view.lid_end();
    for (const auto& row : old_tables.routes.rows) {
        lid_end = std::max(lid_end, row ? std::min<std::size_t>(row->size(), mad::kLidUnicastMax + 1U) : 0U);
    }
    parallel_ranges((lid_end + kBlock - 1) / kBlock, 4, threads, [&](const WorkRange& range) {
        std::optional<Mixer>& mine = mixers[range.slot];
        if (!mine) {
            mine.emplace(topology, old_tables, new_tables, lanes);
        }
        for (std::size_t block = range.begin; block < range.end; ++block) {
            mine->mix_block(static_cast<std::uint32_t>(block * kBlock));
        }
    });
    Dependencies all(view, lanes);
    for (const std::optional<Mixer>& mixer : mixers) {
        if (mixer) {
            all.merge(mixer->dependencies());
        }
    }
    std::vector<ChannelStep> ring;
    for (const std::uint32_t vertex : find_cycle(view, all)) {
        ring.push_back(channel_step(topology, view, vertex / lanes, vertex % lanes));
    }
    return ring;
}

namespace {

/// Calls `differ` with what both have for a switch, until it says true.
template <class Items, class Differ>
bool any_differs(const Routes& before, const Items& from, const Routes& after, const Items& to,
                 const Differ& differ) {
    for (std::size_t i = 0; i < before.switch_guids.size() && i < from.size(); ++i) {
        const auto found =
            std::lower_bound(after.switch_guids.begin(), after.switch_guids.end(), before.switch_guids[i]);
        if (found == after.switch_guids.end() || *found != before.switch_guids[i]) {
            continue;
        }
        const auto place = static_cast<std::size_t>(found - after.switch_guids.begin());
        if (const auto& wanted = place < to.size() ? to[place] : nullptr;
            from[i] != wanted && differ(from[i].get(), wanted.get())) {
            return true;
        }
    }
    return false;
}

}  // namespace

bool knows_lanes(const Routes& routes) {
    return !routes.engine.empty() || !single_lane(routes);
}

bool same_entries(const Routes& before, const Routes& after) {
    const auto differ = [](const LftRow* was, const LftRow* is) {
        if (was == nullptr) {
            return false;
        }
        static const LftRow kNone;
        const LftRow& wanted = is == nullptr ? kNone : *is;
        const auto both = static_cast<std::ptrdiff_t>(std::min(was->size(), wanted.size()));
        const auto leads = [](std::uint8_t port) { return port != mad::kLftDrop; };
        return !std::equal(was->begin(), was->begin() + both, wanted.begin()) ||
               std::any_of(was->begin() + both, was->end(), leads) ||
               std::any_of(wanted.begin() + both, wanted.end(), leads);
    };
    return !any_differs(before, before.rows, after, after.rows, differ);
}

bool same_lanes(const Routes& before, const Routes& after) {
    const auto differ = [](const auto* was, const auto* is) {
        return was == nullptr || is == nullptr || !(*was == *is);
    };
    const auto same = [&](const auto& from, const auto& to) {
        const auto unsaid = [](const auto& item) { return item == nullptr; };
        const bool none = std::all_of(from.begin(), from.end(), unsaid);
        const bool nor_there = std::all_of(to.begin(), to.end(), unsaid);
        return none || nor_there ? none == nor_there : !any_differs(before, from, after, to, differ);
    };
    return same(before.sls, after.sls) && same(before.lane_maps, after.lane_maps);
}

}  // namespace ibf::routing
