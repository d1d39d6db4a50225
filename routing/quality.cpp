// DOC: how well tables spread traffic.
//
// One flow from every end port to every LID of the others (the all-to-all of collective operations) is laid
// over the tables; every directed switch-to-switch link counts the flows that cross it. The worst link over
// the mean is what an operator loses; the mean counts unused links too, because they were paid for.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "routing/graph.hpp"
#include "routing/parallel.hpp"
#include "routing/verify_tables.hpp"

namespace ibf::routing {

namespace {

/// Sums of one thread; integers, so the order of adding does not matter.
struct Sums {
    std::vector<std::uint64_t> load;       ///< by channel
    std::vector<std::uint64_t> by_length;  ///< flows by (switches crossed by the path, by a shortest path)
    static constexpr std::size_t kLengths = 512;

    explicit Sums(std::uint32_t channels) : load(channels, 0), by_length(kLengths * kLengths, 0) {}
    void count(std::size_t taken, std::size_t shortest, std::uint64_t flows) {
        by_length[std::min(taken, kLengths - 1) * kLengths + std::min(shortest, kLengths - 1)] += flows;
    }
    void add(const Sums& other) {
        std::transform(load.begin(), load.end(), other.load.begin(), load.begin(), std::plus<>{});
        std::transform(by_length.begin(), by_length.end(), other.by_length.begin(), by_length.begin(),
                       std::plus<>{});
    }
};

/// Who takes part in the all-to-all.
struct Party {
    std::vector<char> end_ports;         ///< by EndPortIndex: 1 if it does
    std::vector<std::uint32_t> sources;  ///< how many do, by switch

    Party(const Topology& topology, std::span<const EndPortIndex> among)
        : end_ports(topology.end_ports.size(), 0), sources(topology.switches.size(), 0) {
        for (const EndPortIndex end : among) {
            const std::uint32_t at = topology.end_ports[end.value()].switch_index;
            if (at != kNoIndex && std::exchange(end_ports[end.value()], char{1}) == 0) {
                ++sources[at];
            }
        }
    }
};

class Surveyor {
public:
    Surveyor(const TableView& view, const Party& party, const ByteMatrix* distances)
        : view_(view),
          party_(party),
          distances_(distances),
          walker_(view),
          flows_(view.switch_count()),
          crossed_(view.switch_count()),
          sums_(view.channel_count()) {}

    void survey_block(std::uint32_t first) {
        walker_.load_block(first);
        for (std::uint32_t lid = first; lid < std::min(view_.lid_end(), first + 64); ++lid) {
            const std::uint32_t owner = view_.owner(lid).end_port;
            if (owner != kNoIndex && party_.end_ports[owner] != 0) {
                survey(lid);
            }
        }
    }
    [[nodiscard]] const Sums& sums() const { return sums_; }

private:
    void survey(std::uint32_t lid) {
        const std::uint32_t target = view_.owner(lid).switch_index;
        walker_.walk(lid);
        std::copy(party_.sources.begin(), party_.sources.end(), flows_.begin());
        --flows_[target];  // no flow to oneself
        for (const std::uint16_t at : walker_.order()) {
            if (walker_.fate(at) == Fate::arrives) {
                const std::uint32_t crossed = at == target ? 1 : crossed_[walker_.next(at)] + 1;
                crossed_[at] = crossed;
                const std::size_t shortest =
                    distances_ != nullptr ? distances_->row(target)[at] + 1U : crossed;
                if (flows_[at] != 0) {
                    sums_.count(crossed, shortest, flows_[at]);
                }
            }
        }
        for (auto it = walker_.order().rbegin(); it != walker_.order().rend(); ++it) {
            if (walker_.fate(*it) == Fate::arrives && *it != target) {
                sums_.load[view_.first_channel(*it) + walker_.slot(*it)] += flows_[*it];
                flows_[walker_.next(*it)] += flows_[*it];
            }
        }
    }

    const TableView& view_;
    const Party& party_;
    const ByteMatrix* distances_;
    ColumnWalker walker_;
    std::vector<std::uint64_t> flows_;
    std::vector<std::uint32_t> crossed_;
    Sums sums_;
};

/// All columns, by all threads.
Sums survey_all(const TableView& view, const Party& party, const ByteMatrix* distances, unsigned threads) {
    std::vector<std::optional<Surveyor>> surveyors(resolve_threads(threads));
    parallel_ranges((view.lid_end() + std::size_t{63}) / 64, 4, threads, [&](const WorkRange& range) {
        std::optional<Surveyor>& mine = surveyors[range.slot];
        if (!mine) {
            mine.emplace(view, party, distances);
        }
        for (std::size_t block = range.begin; block < range.end; ++block) {
            mine->survey_block(static_cast<std::uint32_t>(block * 64));
        }
    });
    Sums total(view.channel_count());
    for (const std::optional<Surveyor>& surveyor : surveyors) {
        if (surveyor) {
            total.add(surveyor->sums());
        }
    }
    return total;
}

struct Spread {
    std::uint64_t links = 0;
    std::uint64_t max = 0;
    double sum = 0;
    double squares = 0;

    void add(std::uint64_t load) {
        ++links;
        max = std::max(max, load);
        sum += static_cast<double>(load);
        squares += static_cast<double>(load) * static_cast<double>(load);
    }
    [[nodiscard]] double mean() const { return links == 0 ? 0 : sum / static_cast<double>(links); }
    [[nodiscard]] double sigma() const {
        return links == 0 ? 0
                          : std::sqrt(std::max(0.0, squares / static_cast<double>(links) - mean() * mean()));
    }
};

/// Levels from the hosts upward: 0 for a switch with hosts and nothing below it, else one above its nearest.
std::vector<std::uint32_t> levels_of(const Graph& graph, const Heights& heights) {
    std::vector<std::uint32_t> level(graph.switch_count(), kNoIndex);
    std::vector<std::uint32_t> queue;
    for (std::uint32_t at = 0; at < graph.switch_count(); ++at) {
        if (graph.hosts[at] != 0 && is_bottom(graph, heights, at)) {
            level[at] = 0;
            queue.push_back(at);
        }
    }
    for (std::size_t head = 0; head < queue.size(); ++head) {
        for (const PortGroup& group : graph.groups_of(queue[head])) {
            if (level[group.peer] == kNoIndex) {
                level[group.peer] = level[queue[head]] + 1;
                queue.push_back(group.peer);
            }
        }
    }
    return level;
}

std::string level_name(std::uint32_t from, std::uint32_t to) {
    if (from == to) {
        return "same";
    }
    return fmt::format("{}->{} {}", from, to, from < to ? "up" : "down");
}

void sum_up_links(const TableView& view, const std::vector<std::uint32_t>& level, const Sums& sums,
                  Quality& out) {
    Spread all;
    std::map<std::pair<std::uint32_t, std::uint32_t>, Spread> by_level;
    for (std::uint32_t channel = 0; channel < view.channel_count(); ++channel) {
        const std::uint32_t from = view.channel_switch(channel);
        const std::uint32_t to = view.exit(from, view.channel_port(channel)).next;
        all.add(sums.load[channel]);
        const bool same = level[from] == level[to];
        by_level[same ? std::pair{kNoIndex, kNoIndex} : std::pair{level[from], level[to]}].add(
            sums.load[channel]);
        out.unused_links += sums.load[channel] == 0 ? 1 : 0;
    }
    out.max_link_load = all.max;
    out.mean_link_load = all.mean();
    out.sigma_link_load = all.sigma();
    for (const auto& [ends, spread] : by_level) {
        out.levels.push_back(
            {level_name(ends.first, ends.second), spread.links, spread.max, spread.mean(), spread.sigma()});
    }
}

void sum_up_lengths(const Sums& sums, Quality& out) {
    double flows = 0;
    double hops = 0;
    double dilation = 0;
    for (std::size_t taken = 1; taken < Sums::kLengths; ++taken) {
        for (std::size_t shortest = 1; shortest < Sums::kLengths; ++shortest) {
            const auto count = static_cast<double>(sums.by_length[taken * Sums::kLengths + shortest]);
            if (count > 0) {
                const double ratio = static_cast<double>(taken) / static_cast<double>(shortest);
                flows += count;
                hops += count * static_cast<double>(taken);
                dilation += count * ratio;
                out.max_hops = std::max(out.max_hops, static_cast<std::uint32_t>(taken));
                out.max_dilation = std::max(out.max_dilation, ratio);
            }
        }
    }
    out.mean_hops = flows > 0 ? hops / flows : 0;
    out.mean_dilation = flows > 0 ? dilation / flows : 1;
}

}  // namespace

Quality measure_quality(const Topology& topology, const Routes& routes, unsigned threads) {
    std::vector<EndPortIndex> everybody;
    for (const std::vector<std::uint32_t>& ends : attached_end_ports(topology)) {
        for (const std::uint32_t end : ends) {
            everybody.emplace_back(end);
        }
    }
    return measure_quality(topology, routes, everybody, threads);
}

Quality measure_quality(const Topology& topology, const Routes& routes, std::span<const EndPortIndex> among,
                        unsigned threads) {
    const TableView view(topology, routes);
    const Graph graph = make_graph(topology, {});
    const base::Result<ByteMatrix> distances = hop_distances(graph, threads);
    const Sums total = survey_all(view, Party(topology, among), distances ? &*distances : nullptr, threads);
    Quality quality;
    const std::vector<std::uint32_t> level = distances
                                                 ? levels_of(graph, heights_from_hosts(graph, *distances))
                                                 : std::vector<std::uint32_t>(graph.switch_count(), 0);
    sum_up_links(view, level, total, quality);
    sum_up_lengths(total, quality);
    return quality;
}

std::vector<LinkLoad> link_loads(const Topology& topology, const Routes& routes,
                                 std::span<const EndPortIndex> among, unsigned threads) {
    const TableView view(topology, routes);
    const Sums total = survey_all(view, Party(topology, among), nullptr, threads);
    std::vector<LinkLoad> loads;
    loads.reserve(view.channel_count());
    for (std::uint32_t channel = 0; channel < view.channel_count(); ++channel) {
        loads.push_back({SwitchIndex{view.channel_switch(channel)}, mad::PortNum{view.channel_port(channel)},
                         total.load[channel]});
    }
    return loads;
}

}  // namespace ibf::routing
