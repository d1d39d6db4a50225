#include "routing/graph.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <numeric>

#include <fmt/format.h>

#include "routing/parallel.hpp"

namespace ibf::routing {

std::span<const PortGroup> Graph::groups_of(std::uint32_t at) const {
    return {groups.data() + first_group[at], groups.data() + first_group[at + 1]};
}

std::span<const std::uint8_t> Graph::ports_of(const PortGroup& group) const {
    return {ports.data() + group.first_port, group.port_count};
}

namespace {

/// Which of a fabric's links a graph has, and what it knows of them.
class LinkChooser {
public:
    LinkChooser(const Topology& topology, const std::vector<char>& excluded, const Preferences& preferences)
        : topology_(topology), excluded_(excluded), preferences_(preferences) {
        if (preferences.slow_links == SlowLinks::avoid) {
            find_fast_parts();
        }
    }

    [[nodiscard]] bool is_taken(std::uint32_t at, const PortPeer& peer) const {
        return joins(at, peer) && !(peer.throttled && !parts_.empty() && parts_[at] == parts_[peer.index]);
    }

    [[nodiscard]] std::uint8_t weight(std::uint32_t at, std::uint8_t port) const {
        const SwitchPort key{topology_.switches[at].guid, mad::PortNum{port}};
        const auto& weights = preferences_.hop_weights;
        const auto found = std::lower_bound(weights.begin(), weights.end(), key,
                                            [](const HopWeight& a, const SwitchPort& b) { return a.at < b; });
        return found != weights.end() && found->at == key ? found->hops : std::uint8_t{1};
    }

private:
    [[nodiscard]] bool joins(std::uint32_t at, const PortPeer& peer) const {
        const auto left_out = [&](std::uint32_t s) { return !excluded_.empty() && excluded_[s] != 0; };
        return peer.kind == PortPeer::Kind::switch_ && peer.index != at && !left_out(at) &&
               !left_out(peer.index);
    }

    /// Flows from each switch that is in no part yet over all links that are not slow.
    void find_fast_parts() {
        parts_.assign(topology_.switches.size(), kNoIndex);
        std::vector<std::uint32_t> open;
        for (std::uint32_t start = 0; start < parts_.size(); ++start) {
            const auto enter = [&](std::uint32_t at) {
                if (parts_[at] == kNoIndex) {
                    parts_[at] = start;
                    open.push_back(at);
                }
            };
            enter(start);
            while (!open.empty()) {
                const std::uint32_t at = open.back();
                open.pop_back();
                for (const PortPeer& peer : topology_.switches[at].peers) {
                    if (joins(at, peer) && !peer.throttled) {
                        enter(peer.index);
                    }
                }
            }
        }
    }

    const Topology& topology_;
    const std::vector<char>& excluded_;
    const Preferences& preferences_;
    /// By switch, the lowest of those that hold together without slow links; empty: these are not looked at.
    std::vector<std::uint32_t> parts_;
};

/// A link while the links of its switch are gathered.
struct DraftLink {
    std::uint32_t peer = 0;
    std::uint8_t weight = 1;
    std::uint8_t port = 0;
    std::uint32_t mbps = 0;
    auto operator<=>(const DraftLink&) const = default;
};

void add_link(const DraftLink& link, Graph& graph) {
    const bool same = graph.groups.size() > graph.first_group.back() && graph.groups.back().peer == link.peer;
    if (same && link.weight != graph.weights.back()) {
        return;  // counts as more hops than another one to the same neighbour
    }
    if (!same) {
        graph.groups.push_back({link.peer, static_cast<std::uint32_t>(graph.ports.size()), 0});
        graph.weights.push_back(link.weight);
    }
    graph.ports.push_back(link.port);
    graph.rates.push_back(link.mbps);
    ++graph.groups.back().port_count;
}

/// A link of unknown rate is taken for as fast as the fastest.
void settle_rates(std::vector<std::uint32_t>& rates) {
    const std::uint32_t fastest = rates.empty() ? 0 : *std::max_element(rates.begin(), rates.end());
    std::replace(rates.begin(), rates.end(), 0U, fastest);
    if (std::all_of(rates.begin(), rates.end(), [&](std::uint32_t rate) { return rate == fastest; })) {
        rates.clear();
    }
}

}  // namespace

Graph make_graph(const Topology& topology, const std::vector<char>& excluded) {
    return make_graph(topology, excluded, Preferences{});
}

Graph make_graph(const Topology& topology, const std::vector<char>& excluded,
                 const Preferences& preferences) {
    const auto count = static_cast<std::uint32_t>(topology.switches.size());
    const LinkChooser chooser(topology, excluded, preferences);
    const bool weighs = preferences.slow_links == SlowLinks::weigh;
    Graph graph;
    graph.hosts.assign(count, 0);
    for (const TopologyEndPort& end : topology.end_ports) {
        if (end.switch_index != kNoIndex && end.lids.count() != 0) {
            ++graph.hosts[end.switch_index];
        }
    }
    graph.first_group.push_back(0);
    std::vector<DraftLink> links;
    for (std::uint32_t at = 0; at < count; ++at) {
        links.clear();
        const std::vector<PortPeer>& peers = topology.switches[at].peers;
        for (std::size_t port = 1; port < peers.size(); ++port) {
            const auto number = static_cast<std::uint8_t>(port);
            if (chooser.is_taken(at, peers[port])) {
                links.push_back(
                    {peers[port].index, chooser.weight(at, number), number, weighs ? peers[port].mbps : 0});
            }
        }
        std::sort(links.begin(), links.end());
        for (const DraftLink& link : links) {
            add_link(link, graph);
        }
        graph.first_group.push_back(static_cast<std::uint32_t>(graph.groups.size()));
    }
    settle_rates(graph.rates);
    if (std::all_of(graph.weights.begin(), graph.weights.end(), [](std::uint8_t w) { return w == 1; })) {
        graph.weights.clear();
    }
    return graph;
}

Burden::Burden(const Graph& graph)
    : rates_(graph.rates), fastest_(rates_.empty() ? 1 : *std::max_element(rates_.begin(), rates_.end())) {}

std::vector<std::uint8_t> shares_of(const std::vector<std::uint32_t>& rates) {
    const std::uint64_t fastest = rates.empty() ? 1 : *std::max_element(rates.begin(), rates.end());
    std::vector<std::uint8_t> shares;
    unsigned common = 0;
    for (const std::uint64_t rate : rates) {
        const std::uint64_t share = (rate * kSharesMost + fastest / 2) / std::max<std::uint64_t>(1, fastest);
        shares.push_back(static_cast<std::uint8_t>(std::max<std::uint64_t>(1, share)));
        common = std::gcd(common, unsigned{shares.back()});
    }
    for (std::uint8_t& share : shares) {
        share = static_cast<std::uint8_t>(share / common);
    }
    return shares;
}

namespace {

constexpr std::uint32_t kLine = 64;  // bytes, or bits, that one inner loop handles

std::uint32_t padded(std::uint32_t count) {
    return (count + kLine - 1) / kLine * kLine;
}

/// Sets of switches, one row per switch, in 512-bit lines.
class BitRows {
public:
    explicit BitRows(std::uint32_t rows)
        : words_((rows + 511) / 512 * 8), bits_(std::size_t{rows} * words_) {}
    [[nodiscard]] std::uint64_t* row(std::uint32_t at) { return bits_.data() + std::size_t{at} * words_; }
    [[nodiscard]] std::uint32_t words() const { return words_; }

private:
    std::uint32_t words_;
    std::vector<std::uint64_t> bits_;
};

void merge_line(std::uint64_t* __restrict into, const std::uint64_t* __restrict from, std::uint32_t words) {
    for (std::uint32_t line = 0; line < words; line += 8) {
        for (std::uint32_t word = 0; word < 8; ++word) {
            into[line + word] |= from[line + word];
        }
    }
}

/// One round of the search for one switch: what its neighbours had reached, it reaches now.
bool advance(const Graph& graph, std::uint32_t at, BitRows& now, BitRows& next, std::uint8_t hops,
             std::uint8_t* distances) {
    std::uint64_t* mine = next.row(at);
    const std::uint64_t* before = now.row(at);
    std::copy_n(before, now.words(), mine);
    for (const PortGroup& group : graph.groups_of(at)) {
        merge_line(mine, now.row(group.peer), now.words());
    }
    bool grown = false;
    for (std::uint32_t word = 0; word < now.words(); ++word) {
        for (std::uint64_t fresh = mine[word] & ~before[word]; fresh != 0; fresh &= fresh - 1) {
            distances[word * 64 + static_cast<std::uint32_t>(std::countr_zero(fresh))] = hops;
            grown = true;
        }
    }
    return grown;
}

}  // namespace

ByteMatrix::ByteMatrix(std::uint32_t rows) : stride_((padded(rows) / kLine | 1U) * kLine) {
    const auto whole = std::make_shared_for_overwrite<std::uint8_t[]>(std::size_t{rows} * stride_);
    rows_.reserve(rows);
    for (std::uint32_t at = 0; at < rows; ++at) {
        rows_.emplace_back(whole, whole.get() + std::size_t{at} * stride_);
    }
}

ByteMatrix::ByteMatrix(std::uint32_t rows, std::uint8_t fill) : ByteMatrix(rows) {
    for (std::uint32_t at = 0; at < rows; ++at) {
        std::fill_n(row(at), stride_, fill);
    }
}

std::uint8_t* ByteMatrix::own_row(std::uint32_t at) {
    auto copy = std::make_shared_for_overwrite<std::uint8_t[]>(stride_);
    std::copy_n(rows_[at].get(), stride_, copy.get());
    rows_[at] = std::move(copy);
    return rows_[at].get();
}

base::Result<ByteMatrix> hop_distances(const Graph& graph, unsigned threads) {
    const std::uint32_t count = graph.switch_count();
    ByteMatrix distances(count, kUnreached);
    BitRows now(count);
    BitRows next(count);
    for (std::uint32_t at = 0; at < count; ++at) {
        now.row(at)[at / 64] |= std::uint64_t{1} << (at % 64);
        next.row(at)[at / 64] |= std::uint64_t{1} << (at % 64);
        distances.row(at)[at] = 0;
    }
    // A row can only grow in a round if it or a neighbour grew in the round before; both buffers agree
    // otherwise.
    std::vector<char> grew(count, 1);
    std::vector<char> grows(count, 0);
    bool any = count > 0;
    for (unsigned hops = 1; any; ++hops) {
        if (hops > kDistanceMax + 1) {
            return base::fail(base::ErrorKind::unsupported,
                              fmt::format("two switches are more than {} hops apart", kDistanceMax));
        }
        std::atomic<bool> grown{false};
        parallel_ranges(count, 64, threads, [&](const WorkRange& range) {
            for (auto at = static_cast<std::uint32_t>(range.begin); at < range.end; ++at) {
                bool due = grew[at] != 0;
                for (const PortGroup& group : graph.groups_of(at)) {
                    due = due || grew[group.peer] != 0;
                }
                grows[at] = 0;
                if (due &&
                    advance(graph, at, now, next, static_cast<std::uint8_t>(hops), distances.row(at))) {
                    grows[at] = 1;
                    grown.store(true, std::memory_order_relaxed);
                }
            }
        });
        std::swap(now, next);
        std::swap(grew, grows);
        any = grown.load();
    }
    return distances;
}

Heights heights_from_hosts(const Graph& graph, const ByteMatrix& distances) {
    const std::uint32_t count = graph.switch_count();
    Heights heights(count, 0);
    for (std::uint32_t at = 0; at < count; ++at) {
        const std::uint8_t* row = distances.row(at);
        std::uint32_t by_host = 0;  // 250 hops to 49,151 hosts fit
        std::uint32_t by_switch = 0;
        std::uint32_t hosts = 0;
        for (std::uint32_t to = 0; to < count; ++to) {
            const std::uint32_t reached = row[to] != kUnreached ? ~0U : 0U;
            by_host += (reached & row[to]) * graph.hosts[to];
            by_switch += reached & row[to];
            hosts += reached & graph.hosts[to];
        }
        heights[at] = hosts != 0 ? by_host : by_switch;
    }
    return heights;
}

bool is_bottom(const Graph& graph, const Heights& heights, std::uint32_t at) {
    const auto groups = graph.groups_of(at);
    return std::none_of(groups.begin(), groups.end(),
                        [&](const PortGroup& group) { return heights[group.peer] > heights[at]; });
}

namespace {

/// Numbers leaves pod by pod: from the first one left, all within `radius` of it, cut finer inside.
void number_pods(const ByteMatrix& distances, std::vector<std::uint32_t> leaves, unsigned radius,
                 std::vector<std::uint32_t>& out) {
    if (radius < 2 || leaves.size() <= 2) {
        out.insert(out.end(), leaves.begin(), leaves.end());
        return;
    }
    while (!leaves.empty()) {
        const std::uint8_t* near = distances.row(leaves.front());
        const auto rest = std::stable_partition(
            leaves.begin(), leaves.end(), [&](std::uint32_t leaf) { return near[leaf] + 2U <= radius; });
        number_pods(distances, {leaves.begin(), rest}, radius - 2, out);
        leaves.erase(leaves.begin(), rest);
    }
}

}  // namespace

std::vector<std::uint32_t> switch_order(const Graph& graph, const ByteMatrix& distances,
                                        const Heights& heights) {
    std::vector<std::uint32_t> leaves;
    std::vector<std::uint32_t> others;
    unsigned widest = 0;
    for (std::uint32_t at = 0; at < graph.switch_count(); ++at) {
        (graph.hosts[at] != 0 && is_bottom(graph, heights, at) ? leaves : others).push_back(at);
    }
    for (const std::uint32_t a : leaves) {
        const std::uint8_t* row = distances.row(a);
        for (const std::uint32_t b : leaves) {
            widest = row[b] == kUnreached ? widest : std::max<unsigned>(widest, row[b]);
        }
    }
    std::vector<std::uint32_t> order;
    order.reserve(graph.switch_count());
    number_pods(distances, std::move(leaves), widest + 2, order);  // + 2: components come apart first
    order.insert(order.end(), others.begin(), others.end());
    return order;
}

std::vector<std::vector<std::uint32_t>> attached_end_ports(const Topology& topology) {
    std::vector<std::vector<std::uint32_t>> attached(topology.switches.size());
    for (std::size_t at = 0; at < attached.size(); ++at) {
        for (const PortPeer& peer : topology.switches[at].peers) {
            if (peer.kind == PortPeer::Kind::end_port && topology.end_ports[peer.index].lids.count() != 0) {
                attached[at].push_back(peer.index);
            }
        }
    }
    return attached;
}

namespace {

constexpr std::size_t kSlotsMax = 256;  ///< a slot's number is a byte

/// Up-going groups of one switch, in the order that its siblings use too.
struct UpGroups {
    std::vector<const PortGroup*> by_colour;  // nullptr: hole
};

std::vector<const PortGroup*> up_groups(const Graph& graph, const Heights& heights, std::uint32_t at) {
    std::vector<const PortGroup*> ups;
    for (const PortGroup& group : graph.groups_of(at)) {
        if (heights[group.peer] < heights[at]) {
            ups.push_back(&group);
        }
    }
    return ups;
}

/// The colour of a switch is the place that it has among the uppers of a complete child; a child that lost a
/// cable would count its uppers differently from its siblings, and so scatter what should meet.
std::vector<std::uint32_t> colours_of(const Graph& graph, const Heights& heights) {
    std::vector<std::uint32_t> colours(graph.switch_count(), 0);
    for (std::uint32_t at = 0; at < graph.switch_count(); ++at) {
        std::uint32_t place = 0;
        for (const PortGroup* group : up_groups(graph, heights, at)) {
            colours[group->peer] = std::max(colours[group->peer], place++);
        }
    }
    return colours;
}

UpGroups colour_groups(std::vector<const PortGroup*> ups, const std::vector<std::uint32_t>& colours) {
    std::stable_sort(ups.begin(), ups.end(), [&](const PortGroup* a, const PortGroup* b) {
        return colours[a->peer] < colours[b->peer];
    });
    const std::size_t span =
        ups.empty() ? 0 : std::max<std::size_t>(ups.size(), colours[ups.back()->peer] + 1U);
    const std::size_t holes = span - ups.size();
    const auto count_ports = [](std::size_t sum, const PortGroup* group) { return sum + group->port_count; };
    const std::size_t ports = std::accumulate(ups.begin(), ups.end(), std::size_t{0}, count_ports);
    if (holes > ups.size() / 4 + 1 || ports + holes > kSlotsMax) {  // the colours do not fit here
        return {std::move(ups)};
    }
    UpGroups result;
    result.by_colour.assign(span, nullptr);
    std::vector<const PortGroup*> homeless;
    for (const PortGroup* group : ups) {
        const PortGroup*& place = result.by_colour[colours[group->peer]];
        if (place == nullptr) {
            place = group;
        } else {
            homeless.push_back(group);
        }
    }
    auto next = homeless.begin();
    for (auto place = result.by_colour.begin(); next != homeless.end(); ++place) {
        if (*place == nullptr) {
            *place = *next++;
        }
    }
    return result;
}

/// First links of all neighbours, then second links, ...: parallel cables share one neighbour's load.
std::vector<std::uint8_t> slots_of(const Graph& graph, const UpGroups& ups) {
    std::vector<std::uint8_t> slots;
    bool more = !ups.by_colour.empty();
    for (std::uint32_t layer = 0; more; ++layer) {
        more = false;
        for (const PortGroup* group : ups.by_colour) {
            if (group != nullptr && layer < group->port_count) {
                slots.push_back(graph.ports_of(*group)[layer]);
            } else if (layer == 0) {
                slots.push_back(0);
            }
            more = more || (group != nullptr && layer + 1 < group->port_count);
        }
    }
    return slots;
}

/// Where rates differ the cycle goes round as often as the fastest link has shares, and each link lets pass
/// the rounds that it has no share for. Rounds of equal length keep a switch in step with its siblings.
std::vector<std::uint8_t> slots_by_rate(const Graph& graph, const UpGroups& ups,
                                        const std::vector<std::uint8_t>& cycle) {
    std::vector<std::uint32_t> rates;
    std::array<std::uint8_t, 256> share{};
    std::vector<std::uint8_t> ports;
    for (const PortGroup* group : ups.by_colour) {
        for (std::uint32_t i = 0; group != nullptr && i < group->port_count; ++i) {
            ports.push_back(graph.ports[group->first_port + i]);
            rates.push_back(graph.rates[group->first_port + i]);
        }
    }
    const std::vector<std::uint8_t> shares = shares_of(rates);
    for (std::size_t i = 0; i < ports.size(); ++i) {
        share[ports[i]] = shares[i];
    }
    const unsigned most = *std::max_element(shares.begin(), shares.end());
    // Too many slots for a byte: fewer rounds, so coarser shares.
    const auto fits = static_cast<unsigned>(kSlotsMax / cycle.size());
    const unsigned rounds = std::clamp(std::min(most, fits), 1U, most);
    std::vector<std::uint8_t> slots;
    for (unsigned round = 0; round < rounds; ++round) {
        for (const std::uint8_t port : cycle) {
            const bool serves = (round + 1) * share[port] / most != round * share[port] / most;
            slots.push_back(serves ? port : std::uint8_t{0});
        }
    }
    return slots;
}

}  // namespace

Shape shape_of(const Graph& graph, const ByteMatrix& distances, const Heights& heights) {
    const std::uint32_t count = graph.switch_count();
    Shape shape;
    shape.order = switch_order(graph, distances, heights);
    shape.slots.resize(count);
    shape.rounds.assign(graph.rates.empty() ? 0 : count, 1);
    shape.divider.assign(count, 1);
    const std::vector<std::uint32_t> colours = colours_of(graph, heights);
    const std::uint64_t most = std::accumulate(graph.hosts.begin(), graph.hosts.end(), std::uint64_t{1});
    std::vector<std::uint32_t> upward(count);
    std::iota(upward.begin(), upward.end(), 0U);
    std::stable_sort(upward.begin(), upward.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return heights[a] > heights[b]; });
    for (const std::uint32_t at : upward) {
        const UpGroups ups = colour_groups(up_groups(graph, heights, at), colours);
        shape.slots[at] = slots_of(graph, ups);
        if (!graph.rates.empty() && !shape.slots[at].empty()) {
            std::vector<std::uint8_t> slots = slots_by_rate(graph, ups, shape.slots[at]);
            shape.rounds[at] = static_cast<std::uint32_t>(slots.size() / shape.slots[at].size());
            shape.slots[at] = std::move(slots);
        }
        const std::uint64_t next = std::min<std::uint64_t>(most, shape.divider[at] * ups.by_colour.size());
        for (const PortGroup* group : ups.by_colour) {
            if (group != nullptr) {
                shape.divider[group->peer] =
                    std::max(shape.divider[group->peer], static_cast<std::uint32_t>(next));
            }
        }
    }
    return shape;
}

}  // namespace ibf::routing
