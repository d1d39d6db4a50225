#include "routing/patterns.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <optional>

#include "base/prng.hpp"
#include "routing/coordinates.hpp"
#include "routing/graph.hpp"
#include "routing/parallel.hpp"
#include "routing/verify_tables.hpp"

namespace ibf::routing {

namespace {

/// Where an end port is, and by what LID it is reached.
struct Berth {
    std::uint32_t at = 0;
    std::uint32_t lid = 0;
    std::uint8_t port = 0;
};

std::vector<Berth> berths_of(const Topology& topology, std::span<const EndPortIndex> hosts) {
    std::vector<Berth> berths;
    berths.reserve(hosts.size());
    for (const EndPortIndex host : hosts) {
        const TopologyEndPort& end = topology.end_ports[host.value()];
        berths.push_back({end.switch_index, end.lids.base.value(), end.switch_port.value()});
    }
    return berths;
}

/// The flows of one pattern. Paths are kept: what a flow gets is known only when all are laid.
class FlowLoads {
public:
    explicit FlowLoads(const TableView& view) : view_(view), load_(view.channel_count(), 0) {}

    void clear() {
        for (const std::uint32_t channel : channels_) {
            load_[channel] = 0;
        }
        channels_.clear();
        path_ends_.clear();
        worst_ = 0;
        lost_ = 0;
    }

    void lay(const Berth& from, const Berth& to) {
        const std::size_t first = channels_.size();
        if (!follow(from, to)) {
            channels_.resize(first);
            ++lost_;
            return;
        }
        for (std::size_t i = first; i < channels_.size(); ++i) {
            worst_ = std::max(worst_, ++load_[channels_[i]]);
        }
        path_ends_.push_back(channels_.size());
    }

    /// By channel, where this pattern has more.
    void raise(std::vector<std::uint32_t>& most) const {
        for (const std::uint32_t channel : channels_) {
            most[channel] = std::max(most[channel], load_[channel]);
        }
    }

    [[nodiscard]] std::uint32_t worst() const { return worst_; }
    [[nodiscard]] std::uint32_t lost() const { return lost_; }

    [[nodiscard]] std::size_t flows() const { return path_ends_.size() + lost_; }

    /// What all flows together get, in links.
    [[nodiscard]] double bandwidth() const {
        double sum = 0;
        std::size_t i = 0;
        for (const std::size_t end : path_ends_) {
            std::uint32_t most = 1;  // on the links of the two end ports
            for (; i < end; ++i) {
                most = std::max(most, load_[channels_[i]]);
            }
            sum += 1.0 / most;
        }
        return sum;
    }

private:
    /// Appends the channels of the path; false if it does not arrive.
    bool follow(const Berth& from, const Berth& to) {
        std::uint32_t at = from.at;
        for (std::uint32_t hops = 0; at != to.at; ++hops) {
            const Exit& exit = view_.exit(at, view_.port(at, to.lid));
            if (exit.next == kNoNext || hops == view_.switch_count()) {
                return false;
            }
            channels_.push_back(view_.first_channel(at) + exit.slot);
            at = exit.next;
        }
        return view_.port(at, to.lid) == to.port;
    }

    const TableView& view_;
    std::vector<std::uint32_t> load_;      ///< by channel
    std::vector<std::uint32_t> channels_;  ///< of all paths, one after the other
    std::vector<std::size_t> path_ends_;   ///< one past the last channel of each path
    std::uint32_t worst_ = 0;
    std::uint32_t lost_ = 0;
};

/// The patterns of one kind, by number.
struct Series {
    std::size_t count = 0;
    std::function<void(std::size_t number, FlowLoads& out)> lay;
};

Series shifts(const std::vector<Berth>& berths, const PatternOptions& options) {
    std::vector<std::size_t> displacements(berths.size() - 1);
    std::iota(displacements.begin(), displacements.end(), std::size_t{1});
    if (displacements.size() > options.shifts_most) {
        base::Prng(options.seed).shuffle(displacements);
        displacements.resize(std::min<std::size_t>(displacements.size(), options.draws));
    }
    const std::size_t count = displacements.size();
    return {count, [&berths, displacements = std::move(displacements)](std::size_t number, FlowLoads& out) {
                for (std::size_t i = 0; i < berths.size(); ++i) {
                    out.lay(berths[i], berths[(i + displacements[number]) % berths.size()]);
                }
            }};
}

Series ring(const std::vector<Berth>& berths) {
    return {1, [&berths](std::size_t, FlowLoads& out) {
                for (std::size_t i = 0; i < berths.size(); ++i) {
                    out.lay(berths[i], berths[(i + 1) % berths.size()]);
                }
            }};
}

/// A seed for each pattern, so that it does not matter who lays it.
std::vector<std::uint64_t> seeds_of(std::uint64_t seed, std::uint32_t count) {
    base::Prng prng(seed);
    std::vector<std::uint64_t> seeds(count);
    std::generate(seeds.begin(), seeds.end(), [&prng] { return prng.next(); });
    return seeds;
}

/// Numbers 0 .. count-1 shuffled.
std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed) {
    std::vector<std::size_t> items(count);
    std::iota(items.begin(), items.end(), std::size_t{0});
    base::Prng(seed).shuffle(items);
    return items;
}

Series permutations(const std::vector<Berth>& berths, const PatternOptions& options) {
    return {options.draws,
            [&berths, seeds = seeds_of(options.seed, options.draws)](std::size_t number, FlowLoads& out) {
                const std::vector<std::size_t> partners = shuffled(berths.size(), seeds[number]);
                for (std::size_t i = 0; i < berths.size(); ++i) {
                    if (partners[i] != i) {
                        out.lay(berths[i], berths[partners[i]]);
                    }
                }
            }};
}

Series matchings(const std::vector<Berth>& berths, const PatternOptions& options) {
    return {options.draws,
            [&berths, seeds = seeds_of(options.seed, options.draws)](std::size_t number, FlowLoads& out) {
                const std::vector<std::size_t> pairs = shuffled(berths.size(), seeds[number]);
                for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
                    out.lay(berths[pairs[i]], berths[pairs[i + 1]]);
                    out.lay(berths[pairs[i + 1]], berths[pairs[i]]);
                }
            }};
}

Series series_of(Pattern pattern, const std::vector<Berth>& berths, const PatternOptions& options) {
    switch (pattern) {
        case Pattern::shift: return shifts(berths, options);
        case Pattern::ring: return ring(berths);
        case Pattern::permutation: return permutations(berths, options);
        case Pattern::matching: return matchings(berths, options);
    }
    return {};
}

struct Laid {
    std::uint32_t worst = 0;
    std::uint32_t lost = 0;
    std::size_t flows = 0;
    double bandwidth = 0;
};

/// What one thread lays.
struct Desk {
    FlowLoads loads;
    std::vector<std::uint32_t> most;  ///< by channel, over its patterns
};

PatternFigures sum_up(const std::vector<Laid>& laid) {
    PatternFigures figures;
    figures.patterns = laid.size();
    std::uint64_t worst = 0;
    std::uint64_t flows = 0;
    double bandwidth = 0;  // summed in the order of patterns: the same bits for any thread count
    for (const Laid& one : laid) {
        worst += one.worst;
        flows += one.flows;
        bandwidth += one.bandwidth;
        figures.worst = std::max<std::uint64_t>(figures.worst, one.worst);
        figures.lost_flows += one.lost;
    }
    figures.mean_worst = worst == 0 ? 0 : static_cast<double>(worst) / static_cast<double>(laid.size());
    figures.bandwidth = flows == 0 ? 0 : bandwidth / static_cast<double>(flows);
    return figures;
}

LaidPattern lay_series(const TableView& view, const Series& series, unsigned threads) {
    std::vector<Laid> laid(series.count);
    std::vector<std::optional<Desk>> desks(resolve_threads(threads));
    parallel_ranges(series.count, 1, threads, [&](const WorkRange& range) {
        std::optional<Desk>& mine = desks[range.slot];
        if (!mine) {
            mine.emplace(Desk{FlowLoads(view), std::vector<std::uint32_t>(view.channel_count(), 0)});
        }
        for (std::size_t number = range.begin; number < range.end; ++number) {
            FlowLoads& loads = mine->loads;
            loads.clear();
            series.lay(number, loads);
            laid[number] = {loads.worst(), loads.lost(), loads.flows(), loads.bandwidth()};
            loads.raise(mine->most);
        }
    });
    LaidPattern out{sum_up(laid), {}};
    for (std::uint32_t channel = 0; channel < view.channel_count(); ++channel) {
        LinkLoad& link = out.links.emplace_back();
        link.from = SwitchIndex{view.channel_switch(channel)};
        link.port = mad::PortNum{view.channel_port(channel)};
        for (const std::optional<Desk>& desk : desks) {
            link.flows = std::max<std::uint64_t>(link.flows, desk ? desk->most[channel] : 0);
        }
    }
    return out;
}

/// Switches by coordinates, the last dimension fastest; none if the fabric is no grid.
std::vector<std::uint32_t> grid_order(const Topology& topology, const Graph& graph) {
    std::vector<std::uint32_t> order;
    if (const auto found = find_grids(topology, graph)) {
        for (const Grid& grid : found->grids) {
            std::copy_if(grid.switches.begin(), grid.switches.end(), std::back_inserter(order),
                         [](std::uint32_t at) { return at != kNoIndex; });
        }
    }
    return order;
}

/// Switches leaf by leaf, pod by pod, as engines number them.
std::vector<std::uint32_t> tree_order(const Graph& graph, unsigned threads) {
    if (const auto distances = hop_distances(graph, threads)) {
        return switch_order(graph, *distances, heights_from_hosts(graph, *distances));
    }
    // Without distances (a fabric too wide for any engine) the order of indices has to do.
    std::vector<std::uint32_t> order(graph.switch_count());
    std::iota(order.begin(), order.end(), 0U);
    return order;
}

}  // namespace

std::vector<EndPortIndex> usual_order(const Topology& topology, unsigned threads) {
    const Graph graph = make_graph(topology, {});
    std::vector<std::uint32_t> switches = grid_order(topology, graph);
    if (switches.empty()) {
        switches = tree_order(graph, threads);
    }
    const std::vector<std::vector<std::uint32_t>> attached = attached_end_ports(topology);
    std::vector<EndPortIndex> order;
    for (const std::uint32_t at : switches) {
        for (const std::uint32_t end : attached[at]) {
            order.emplace_back(end);
        }
    }
    return order;
}

PatternFigures lay_pattern(Pattern pattern, const Topology& topology, const Routes& routes,
                           std::span<const EndPortIndex> hosts, const PatternOptions& options) {
    return lay_pattern_by_link(pattern, topology, routes, hosts, options).figures;
}

LaidPattern lay_pattern_by_link(Pattern pattern, const Topology& topology, const Routes& routes,
                                std::span<const EndPortIndex> hosts, const PatternOptions& options) {
    if (hosts.size() < 2) {
        return {};
    }
    const TableView view(topology, routes);
    const std::vector<Berth> berths = berths_of(topology, hosts);
    return lay_series(view, series_of(pattern, berths, options), options.threads);
}

}  // namespace ibf::routing
