#include "probe/cover.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "routing/parallel.hpp"

namespace ibf::probe {

namespace {

using routing::ColumnWalker;
using routing::EndPortIndex;
using routing::Fate;
using routing::TableView;
using routing::Topology;

constexpr std::uint32_t kBlock = 64;  ///< LIDs that a ColumnWalker reads at a time

/// Who takes part, whatever the order in which they were named.
struct Party {
    std::vector<std::vector<EndPortIndex>> on_switch;  ///< by SwitchIndex, sorted
    std::vector<char> takes_part;                      ///< by EndPortIndex

    Party(const Topology& topology, std::span<const EndPortIndex> hosts)
        : on_switch(topology.switches.size()), takes_part(topology.end_ports.size(), 0) {
        for (const EndPortIndex host : hosts) {
            takes_part[host.value()] = 1;
        }
        for (std::uint32_t end = 0; end < takes_part.size(); ++end) {
            if (takes_part[end] != 0) {
                on_switch[topology.end_ports[end].switch_index].emplace_back(end);
            }
        }
    }
    /// The end port that a LID leads to, if it takes part.
    [[nodiscard]] std::optional<EndPortIndex> owner(const TableView& view, std::uint32_t lid) const {
        const std::uint32_t end = view.owner(lid).end_port;
        return end != routing::kNoIndex && takes_part[end] != 0 ? std::optional(EndPortIndex{end})
                                                                : std::nullopt;
    }
};

// ---- where links are on the paths of pairs, and what follows for any cover --------------------------------

struct Range {
    std::uint16_t least = std::numeric_limits<std::uint16_t>::max();
    std::uint16_t most = 0;

    [[nodiscard]] bool empty() const { return least > most; }
    void add(const Range& other) {
        least = std::min(least, other.least);
        most = std::max(most, other.most);
    }
    [[nodiscard]] Range one_further() const {
        return {static_cast<std::uint16_t>(least + 1), static_cast<std::uint16_t>(most + 1)};
    }
};

/// Of a link, over all pairs whose path crosses it.
struct HostPlace {
    Range before;               ///< links that are crossed before it
    Range after;                ///< and after it
    std::uint16_t longest = 0;  ///< links on the longest of these paths

    [[nodiscard]] bool crossed() const { return longest > 0; }
    void add(const HostPlace& other) {
        before.add(other.before);
        after.add(other.after);
        longest = std::max(longest, other.longest);
    }
};

class PlaceFinder {
public:
    PlaceFinder(const TableView& view, const Party& party)
        : view_(view),
          party_(party),
          walker_(view),
          depth_(view.switch_count()),
          before_(view.switch_count()),
          places_(view.channel_count()) {}

    void look_at_block(std::uint32_t first) {
        walker_.load_block(first);
        for (std::uint32_t lid = first; lid < std::min(view_.lid_end(), first + kBlock); ++lid) {
            if (party_.owner(view_, lid)) {
                look_at(lid);
            }
        }
    }
    [[nodiscard]] const std::vector<HostPlace>& places() const { return places_; }

private:
    void look_at(std::uint32_t lid) {
        const std::uint32_t target = view_.owner(lid).switch_index;
        walker_.walk(lid);
        for (const std::uint16_t at : walker_.order()) {
            before_[at] = party_.on_switch[at].empty() ? Range{} : Range{0, 0};
            if (walker_.fate(at) == Fate::arrives) {
                depth_[at] = at == target ? std::uint16_t{0}
                                          : static_cast<std::uint16_t>(depth_[walker_.next(at)] + 1);
            }
        }
        for (auto it = walker_.order().rbegin(); it != walker_.order().rend(); ++it) {
            const std::uint16_t at = *it;
            if (walker_.fate(at) != Fate::arrives || at == target || before_[at].empty()) {
                continue;
            }
            const auto after = static_cast<std::uint16_t>(depth_[at] - 1);
            places_[view_.first_channel(at) + walker_.slot(at)].add(
                {before_[at], {after, after}, static_cast<std::uint16_t>(before_[at].most + depth_[at])});
            before_[walker_.next(at)].add(before_[at].one_further());
        }
    }

    const TableView& view_;
    const Party& party_;
    ColumnWalker walker_;
    std::vector<std::uint16_t> depth_;  ///< links to the target
    std::vector<Range> before_;         ///< links from where paths begin
    std::vector<HostPlace> places_;
};

std::vector<HostPlace> find_places(const TableView& view, const Party& party, unsigned threads) {
    std::vector<std::optional<PlaceFinder>> finders(routing::resolve_threads(threads));
    routing::parallel_ranges((view.lid_end() + std::size_t{kBlock} - 1) / kBlock, 4, threads,
                             [&](const routing::WorkRange& range) {
                                 std::optional<PlaceFinder>& mine = finders[range.slot];
                                 if (!mine) {
                                     mine.emplace(view, party);
                                 }
                                 for (std::size_t block = range.begin; block < range.end; ++block) {
                                     mine->look_at_block(static_cast<std::uint32_t>(block * kBlock));
                                 }
                             });
    std::vector<HostPlace> all(view.channel_count());
    for (const std::optional<PlaceFinder>& finder : finders) {
        for (std::size_t channel = 0; finder && channel < all.size(); ++channel) {
            all[channel].add(finder->places()[channel]);
        }
    }
    return all;
}

/// Two arguments. A path crosses one link at most of those that are always crossed as the n-th, counted from
/// its begin or from its end: such links need a path each. And a link whose longest path has l links is at
/// least 1/l of the path that it needs.
std::uint64_t least_flows(const std::vector<HostPlace>& places) {
    std::map<std::uint16_t, std::uint64_t> from_begin;
    std::map<std::uint16_t, std::uint64_t> from_end;
    std::map<std::uint16_t, std::uint64_t> by_longest;
    for (const HostPlace& place : places) {
        if (!place.crossed()) {
            continue;
        }
        ++by_longest[place.longest];
        if (place.before.least == place.before.most) {
            ++from_begin[place.before.least];
        }
        if (place.after.least == place.after.most) {
            ++from_end[place.after.least];
        }
    }
    std::uint64_t least = 0;
    for (const auto& counts : {from_begin, from_end}) {
        for (const auto& [position, count] : counts) {
            least = std::max(least, count);
        }
    }
    double shares = 0;
    for (const auto& [longest, count] : by_longest) {
        shares += static_cast<double>(count) / longest;
    }
    constexpr double kRounding = 1e-6;
    return std::max(least, static_cast<std::uint64_t>(std::ceil(shares - kRounding)));
}

// ---- the choice
// ---------------------------------------------------------------------------------------------

class Chooser {
public:
    Chooser(const TableView& view, const Party& party, const std::vector<HostPlace>& places)
        : view_(view),
          party_(party),
          walker_(view),
          gain_(view.switch_count()),
          open_(view.channel_count()),
          sent_(party.takes_part.size(), 0) {
        for (std::size_t channel = 0; channel < places.size(); ++channel) {
            open_[channel] = places[channel].crossed() ? 1 : 0;
            left_ += open_[channel];
            longest_ = std::max(longest_, places[channel].longest);
        }
        bounds_.assign(view.lid_end(), longest_);
    }

    std::vector<Flow> choose() {
        for (std::uint16_t wanted = longest_; wanted > 0 && left_ > 0; --wanted) {
            for (std::uint32_t first = 0; first < view_.lid_end() && left_ > 0; first += kBlock) {
                take_from_block(first, wanted);
            }
        }
        return std::move(flows_);
    }

private:
    void take_from_block(std::uint32_t first, std::uint16_t wanted) {
        bool loaded = false;
        for (std::uint32_t lid = first; lid < std::min(view_.lid_end(), first + kBlock); ++lid) {
            const auto to = party_.owner(view_, lid);
            if (!to || bounds_[lid] < wanted) {
                continue;
            }
            if (!std::exchange(loaded, true)) {
                walker_.load_block(first);
            }
            walker_.walk(lid);
            bounds_[lid] = take_from_column(*to, lid, wanted);
        }
    }

    /// Every path of the column that gives so much. Says what the best of the others would give.
    std::uint16_t take_from_column(EndPortIndex to, std::uint32_t lid, std::uint16_t wanted) {
        while (true) {
            const auto [at, gain] = best_source(view_.owner(lid).switch_index);
            if (gain < wanted) {
                return gain;
            }
            flows_.push_back({next_sender(at), to, mad::Lid{static_cast<std::uint16_t>(lid)}});
            for (std::uint32_t on = at; on != view_.owner(lid).switch_index; on = walker_.next(on)) {
                left_ -=
                    std::exchange(open_[view_.first_channel(on) + walker_.slot(on)], char{0}) != 0 ? 1 : 0;
            }
        }
    }

    std::pair<std::uint32_t, std::uint16_t> best_source(std::uint32_t target) {
        std::pair<std::uint32_t, std::uint16_t> best{0, 0};
        for (const std::uint16_t at : walker_.order()) {
            if (walker_.fate(at) != Fate::arrives) {
                continue;
            }
            const char open = at == target ? char{0} : open_[view_.first_channel(at) + walker_.slot(at)];
            gain_[at] =
                at == target ? std::uint16_t{0} : static_cast<std::uint16_t>(gain_[walker_.next(at)] + open);
            const bool better = gain_[at] > best.second || (gain_[at] == best.second && at < best.first);
            if (better && gain_[at] > 0 && !party_.on_switch[at].empty()) {
                best = {at, gain_[at]};
            }
        }
        return best;
    }

    /// Of those on a switch the one that sends least: flows of one sender wait for each other.
    EndPortIndex next_sender(std::uint32_t at) {
        const auto& there = party_.on_switch[at];
        const EndPortIndex sender =
            *std::min_element(there.begin(), there.end(), [&](EndPortIndex a, EndPortIndex b) {
                return std::pair(sent_[a.value()], a) < std::pair(sent_[b.value()], b);
            });
        ++sent_[sender.value()];
        return sender;
    }

    const TableView& view_;
    const Party& party_;
    ColumnWalker walker_;
    std::vector<std::uint16_t> gain_;    ///< by switch: open links on the way to the target
    std::vector<char> open_;             ///< by channel: 1 if it is still to be crossed
    std::vector<std::uint32_t> sent_;    ///< flows by EndPortIndex
    std::vector<std::uint16_t> bounds_;  ///< by LID: no path of the column gives more
    std::uint64_t left_ = 0;
    std::uint16_t longest_ = 0;
    std::vector<Flow> flows_;
};

/// Without flows whose links others cross as well.
std::vector<Flow> needed(const Topology& topology, const TableView& view, const std::vector<Flow>& flows) {
    std::vector<std::uint32_t> crossings(view.channel_count(), 0);
    for (const Flow& flow : flows) {
        for (const std::uint32_t channel : channels_of(topology, view, flow)) {
            ++crossings[channel];
        }
    }
    std::vector<Flow> kept;
    for (const Flow& flow : flows) {
        const std::vector<std::uint32_t> channels = channels_of(topology, view, flow);
        const bool superfluous = std::all_of(channels.begin(), channels.end(),
                                             [&](std::uint32_t channel) { return crossings[channel] > 1; });
        if (!superfluous) {
            kept.push_back(flow);
            continue;
        }
        for (const std::uint32_t channel : channels) {
            --crossings[channel];
        }
    }
    return kept;
}

}  // namespace

Cover cover_links(const Topology& topology, const routing::Routes& routes,
                  std::span<const EndPortIndex> hosts, unsigned threads) {
    const TableView view(topology, routes);
    const Party party(topology, hosts);
    const std::vector<HostPlace> places = find_places(view, party, threads);
    Cover cover;
    cover.links = view.channel_count();
    cover.lower_bound = least_flows(places);
    cover.flows = needed(topology, view, Chooser(view, party, places).choose());
    for (std::uint32_t channel = 0; channel < view.channel_count(); ++channel) {
        if (!places[channel].crossed()) {
            cover.uncrossed.push_back({routing::SwitchIndex{view.channel_switch(channel)},
                                       mad::PortNum{view.channel_port(channel)}});
        }
    }
    cover.crossed = cover.links - cover.uncrossed.size();
    return cover;
}

}  // namespace ibf::probe
