#include "routing/tree_levels.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include <fmt/format.h>

namespace ibf::routing {

namespace {

/// Mean distances that differ by less are taken for equal: neighbouring levels differ by nearly a hop,
/// switches of one level by what is missing around them.
constexpr std::uint32_t kClearly = 64;
constexpr std::uint32_t kHop = 256;

std::vector<std::uint32_t> pick_hosts(const Graph& graph) {
    const std::uint64_t total = std::accumulate(graph.hosts.begin(), graph.hosts.end(), std::uint64_t{0});
    const std::uint64_t wanted = std::min<std::uint64_t>(total, kHostSamples);
    std::vector<std::uint32_t> picked;
    std::uint64_t passed = 0;
    for (std::uint32_t at = 0; at < graph.switch_count(); ++at) {
        passed += graph.hosts[at];
        while (picked.size() < wanted && (2 * picked.size() + 1) * total / (2 * wanted) < passed) {
            picked.push_back(at);
        }
    }
    return picked;
}

}  // namespace

base::Result<HostSample> sample_hosts(const Graph& graph) {
    const std::uint32_t count = graph.switch_count();
    HostSample sample;
    sample.at = pick_hosts(graph);
    sample.mean.assign(count, 0);
    sample.hops.resize(count);
    std::vector<std::uint64_t> now(count, 0);
    for (std::size_t k = 0; k < sample.at.size(); ++k) {
        now[sample.at[k]] |= std::uint64_t{1} << k;
    }
    for (std::uint32_t at = 0; at < count; ++at) {
        sample.hops[at].fill(kUnreached);
    }
    const auto reach = [&](std::uint32_t at, std::uint64_t fresh, unsigned hops) {
        sample.mean[at] += hops * static_cast<std::uint32_t>(std::popcount(fresh));
        for (; fresh != 0; fresh &= fresh - 1) {
            sample.hops[at][static_cast<unsigned>(std::countr_zero(fresh))] = static_cast<std::uint8_t>(hops);
        }
    };
    for (std::uint32_t at = 0; at < count; ++at) {
        reach(at, now[at], 0);
    }
    std::vector<std::uint64_t> next = now;
    bool grown = count != 0;
    for (unsigned hops = 1; grown; ++hops) {
        grown = false;
        for (std::uint32_t at = 0; at < count; ++at) {
            for (const PortGroup& group : graph.groups_of(at)) {
                next[at] |= now[group.peer];
            }
            if (const std::uint64_t fresh = next[at] & ~now[at]; fresh != 0) {
                if (hops > kDistanceMax) {
                    return base::fail(base::ErrorKind::unsupported,
                                      fmt::format("two switches are more than {} hops apart", kDistanceMax));
                }
                reach(at, fresh, hops);
                grown = true;
            }
        }
        now = next;
    }
    for (std::uint32_t at = 0; at < count; ++at) {
        const auto reached = static_cast<std::uint32_t>(std::popcount(now[at]));
        sample.mean[at] = reached == 0 ? 0 : sample.mean[at] * kHop / reached;
    }
    return sample;
}

namespace {

/// How many hosts hang off the switch of the host in the middle, if hosts are lined up by the fullness of
/// their switches. Switches with less than a quarter of that are not leaves for their hosts' sake alone.
std::uint32_t usual_hosts(const Graph& graph) {
    std::vector<std::uint32_t> counts;
    std::copy_if(graph.hosts.begin(), graph.hosts.end(), std::back_inserter(counts),
                 [](std::uint32_t hosts) { return hosts != 0; });
    std::sort(counts.begin(), counts.end());
    const std::uint64_t total = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
    std::uint64_t passed = 0;
    for (const std::uint32_t hosts : counts) {
        passed += hosts;
        if (2 * passed >= total) {
            return hosts;
        }
    }
    return 0;
}

/// A leaf has hosts and no neighbour that is clearly farther from the hosts than itself, or all neighbours
/// are clearly nearer to them.
bool is_leaf(const Graph& graph, const HostSample& sample, std::uint32_t usual, std::uint32_t at) {
    const std::span<const PortGroup> groups = graph.groups_of(at);
    const std::uint32_t mine = sample.mean[at];
    const bool none_below = std::none_of(groups.begin(), groups.end(), [&](const PortGroup& group) {
        return sample.mean[group.peer] >= mine + kClearly;
    });
    const bool all_above = std::all_of(groups.begin(), groups.end(), [&](const PortGroup& group) {
        return sample.mean[group.peer] + kClearly <= mine;
    });
    return (graph.hosts[at] != 0 && 4 * graph.hosts[at] >= usual && none_below) ||
           (!groups.empty() && all_above);
}

}  // namespace

std::vector<std::uint32_t> hops_from(const Graph& graph, std::vector<std::uint32_t> reached) {
    std::vector<std::uint32_t> hops(graph.switch_count(), kNoIndex);
    for (const std::uint32_t at : reached) {
        hops[at] = 0;
    }
    for (std::size_t head = 0; head < reached.size(); ++head) {
        const std::uint32_t at = reached[head];
        for (const PortGroup& group : graph.groups_of(at)) {
            if (hops[group.peer] == kNoIndex) {
                hops[group.peer] = hops[at] + 1;
                reached.push_back(group.peer);
            }
        }
    }
    return hops;
}

Levels levels_from_hosts(const Graph& graph, const HostSample& sample) {
    const std::uint32_t usual = usual_hosts(graph);
    std::vector<std::uint32_t> leaves;
    for (std::uint32_t at = 0; at < graph.switch_count(); ++at) {
        if (is_leaf(graph, sample, usual, at)) {
            leaves.push_back(at);
        }
    }
    Levels levels = hops_from(graph, std::move(leaves));
    std::replace(levels.begin(), levels.end(), kNoIndex, 0U);
    return levels;
}

Levels levels_from_roots(const Graph& graph, const std::vector<std::uint32_t>& roots) {
    Levels levels = hops_from(graph, roots);
    std::uint32_t farthest = 0;
    for (const std::uint32_t hops : levels) {
        farthest = hops == kNoIndex ? farthest : std::max(farthest, hops);
    }
    for (std::uint32_t& level : levels) {
        level = level == kNoIndex ? 0 : farthest - level;
    }
    return levels;
}

std::string why_no_tree(const Graph& graph, const Levels& levels) {
    std::uint64_t links = 0;  // each from both ends
    std::uint64_t level_links = 0;
    std::vector<std::uint32_t> lead(graph.switch_count());  // union-find, to tell a graph without a circle
    std::iota(lead.begin(), lead.end(), 0U);
    const auto leader = [&](std::uint32_t at) {
        while (lead[at] != at) {
            at = lead[at] = lead[lead[at]];
        }
        return at;
    };
    bool circle = false;
    for (std::uint32_t at = 0; at < graph.switch_count(); ++at) {
        for (const PortGroup& group : graph.groups_of(at)) {
            links += group.port_count;
            level_links += levels[group.peer] == levels[at] ? group.port_count : 0;
            if (group.peer > at) {
                const std::uint32_t a = leader(at);
                const std::uint32_t b = leader(group.peer);
                circle = circle || a == b;
                lead[a] = b;
            }
        }
    }
    if (!circle || level_links * 4 <= links) {
        return {};
    }
    return fmt::format("the switches form no tree: {} of {} links between them join two of the same level",
                       level_links / 2, links / 2);
}

}  // namespace ibf::routing
