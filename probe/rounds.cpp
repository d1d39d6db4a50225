#include "probe/rounds.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace ibf::probe {

namespace {

/// The rounds in which a link is taken, a bit each.
using Taken = std::vector<std::uint64_t>;

constexpr std::uint32_t kBits = 64;

/// The first round in which none of the links is taken.
std::uint32_t first_free(const std::vector<Taken>& taken, const std::vector<std::uint32_t>& links) {
    for (std::uint32_t word = 0;; ++word) {
        std::uint64_t any = 0;
        for (const std::uint32_t link : links) {
            any |= word < taken[link].size() ? taken[link][word] : 0;
        }
        if (any != ~std::uint64_t{0}) {
            return word * kBits + static_cast<std::uint32_t>(std::countr_one(any));
        }
    }
}

void take(Taken& taken, std::uint32_t round) {
    taken.resize(std::max<std::size_t>(taken.size(), round / kBits + 1), 0);
    taken[round / kBits] |= std::uint64_t{1} << (round % kBits);
}

std::uint32_t count(const Taken& taken) {
    return std::accumulate(taken.begin(), taken.end(), 0U, [](std::uint32_t sum, std::uint64_t word) {
        return sum + static_cast<std::uint32_t>(std::popcount(word));
    });
}

}  // namespace

Rounds in_rounds(const routing::Topology& topology, const routing::Routes& routes,
                 std::span<const Flow> flows) {
    const routing::TableView view(topology, routes);
    const auto ends = static_cast<std::uint32_t>(topology.end_ports.size());
    std::vector<std::vector<std::uint32_t>> links;  // by flow: channels, then the links of both end ports
    for (const Flow& flow : flows) {
        links.push_back(channels_of(topology, view, flow));
        links.back().push_back(view.channel_count() + flow.from.value());
        links.back().push_back(view.channel_count() + ends + flow.to.value());
    }
    // Long paths first: where much has to be free, it is found while little is taken.
    std::vector<std::size_t> order(flows.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return links[a].size() > links[b].size(); });
    std::vector<Taken> taken(view.channel_count() + 2 * std::size_t{ends});
    Rounds rounds;
    rounds.of_flow.resize(flows.size());
    for (const std::size_t flow : order) {
        const std::uint32_t round = first_free(taken, links[flow]);
        for (const std::uint32_t link : links[flow]) {
            take(taken[link], round);
        }
        rounds.of_flow[flow] = round;
        rounds.count = std::max(rounds.count, round + 1);
    }
    for (const Taken& link : taken) {
        rounds.least = std::max(rounds.least, count(link));
    }
    return rounds;
}

}  // namespace ibf::probe
