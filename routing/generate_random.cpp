// A random regular graph of switches that is always connected: a Hamiltonian cycle through the switches in
// random order stays, the other edges start as chords of that cycle and are exchanged in pairs, ends swapped,
// until nothing of the start is left. Exchanges keep every degree and are refused where they would double an
// edge.
#include <algorithm>
#include <numeric>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/prng.hpp"
#include "routing/generate_draft.hpp"
#include "routing/generate_families.hpp"

namespace ibf::routing {
namespace {

constexpr std::size_t kExchangesPerEdge = 5;

using Pair = std::pair<std::uint32_t, std::uint32_t>;

Pair ordered(std::uint32_t a, std::uint32_t b) {
    return std::minmax(a, b);
}

class RegularGraph {
public:
    RegularGraph(std::uint32_t switches, std::uint32_t degree, std::uint64_t seed) : prng_(seed) {
        std::vector<std::uint32_t> order(switches);
        std::iota(order.begin(), order.end(), 0U);
        prng_.shuffle(order);
        for (std::uint32_t i = 0; i < switches; ++i) {
            add(cycle_, order[i], order[(i + 1) % switches]);
        }
        for (std::uint32_t chord = 2; chord <= degree / 2; ++chord) {
            for (std::uint32_t i = 0; i < switches; ++i) {
                add(chords_, order[i], order[(i + chord) % switches]);
            }
        }
        for (std::uint32_t i = 0; degree % 2 == 1 && i < switches / 2; ++i) {
            add(chords_, order[i], order[i + switches / 2]);
        }
        for (std::size_t i = 0; i < chords_.size() * kExchangesPerEdge; ++i) {
            exchange();
        }
    }

    [[nodiscard]] std::vector<Pair> sorted_edges() const {
        std::vector<Pair> edges = cycle_;
        edges.insert(edges.end(), chords_.begin(), chords_.end());
        std::ranges::sort(edges);
        return edges;
    }

private:
    static std::uint64_t key(const Pair& edge) { return std::uint64_t{edge.first} << 32U | edge.second; }

    void add(std::vector<Pair>& edges, std::uint32_t a, std::uint32_t b) {
        edges.push_back(ordered(a, b));
        present_.insert(key(edges.back()));
    }

    /// a-b and c-d become a-c and b-d, if neither is there.
    void exchange() {
        Pair& first = chords_[prng_.below(chords_.size())];
        Pair& second = chords_[prng_.below(chords_.size())];
        auto [c, d] = second;
        if (prng_.below(2) == 1) {
            std::swap(c, d);
        }
        const Pair one = ordered(first.first, c);
        const Pair two = ordered(first.second, d);
        if (one.first == one.second || two.first == two.second || one == two || present_.contains(key(one)) ||
            present_.contains(key(two))) {
            return;
        }
        present_.erase(key(first));
        present_.erase(key(second));
        present_.insert(key(one));
        present_.insert(key(two));
        first = one;
        second = two;
    }

    base::Prng prng_;
    std::vector<Pair> cycle_;
    std::vector<Pair> chords_;
    std::unordered_set<std::uint64_t> present_;  ///< asked, never walked
};

/// Ports 1..degree lead to other switches in order of their number, hosts follow.
base::Result<Netlist> draw_random(const Parameters& parameters) {
    const std::uint32_t switches = parameters.number("switches");
    const std::uint32_t degree = parameters.number("degree");
    const std::uint32_t hosts = parameters.number("hosts");
    if (degree >= switches || switches * degree % 2 != 0) {
        return base::fail(
            base::ErrorKind::usage,
            fmt::format("random: degree={} with switches={}: a regular graph needs more switches than "
                        "the degree, and one of the two even",
                        degree, switches));
    }
    if (auto fits = check_size("random", switches, std::uint64_t{switches} * hosts, degree + hosts); !fits) {
        return tl::unexpected(fits.error());
    }
    FabricDraft draft(parameters);
    for (std::uint32_t i = 1; i <= switches; ++i) {
        draft.add_switch(fmt::format("switch-{:03}", i), degree + hosts);
    }
    std::vector<std::uint32_t> next_port(switches, 1);
    for (const auto& [a, b] : RegularGraph(switches, degree, parameters.number("seed")).sorted_edges()) {
        draft.connect(a, next_port[a]++, b, next_port[b]++);
    }
    for (std::uint32_t i = 0; i < switches; ++i) {
        draft.add_hosts_to(i, degree + 1, hosts);
    }
    return draft.take();
}

}  // namespace

Family random_family() {
    return {
        "random",
        "random:switches=32,degree=4,hosts=2,seed=7",
        "a connected random regular graph of switches",
        "switches",
        {{"switches", KeyKind::number, 3, kGeneratedNodesMax, "32", "switches"},
         {"degree", KeyKind::number, 2, kSwitchPortsMax, "4", "cables from each switch to other switches"},
         {"hosts", KeyKind::number, 0, kSwitchPortsMax, "1", "hosts per switch"}},
        draw_random};
}

}  // namespace ibf::routing
