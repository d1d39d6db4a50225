#include "routing/directions.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace ibf::routing {

namespace {

/// Cables are numbered by the lower of their two port groups.
std::uint32_t group_to(const Graph& graph, std::uint32_t from, std::uint32_t to) {
    const auto groups = graph.groups_of(from);
    const auto found =
        std::lower_bound(groups.begin(), groups.end(), to,
                         [](const PortGroup& group, std::uint32_t peer) { return group.peer < peer; });
    return found == groups.end() || found->peer != to
               ? kNoIndex
               : static_cast<std::uint32_t>(&*found - graph.groups.data());
}

/// Sets of cables that run the same way.
class Parallels {
public:
    explicit Parallels(std::size_t cables) : parent_(cables) {
        std::iota(parent_.begin(), parent_.end(), 0U);
    }

    std::uint32_t find(std::uint32_t cable) {
        while (parent_[cable] != cable) {
            parent_[cable] = parent_[parent_[cable]];
            cable = parent_[cable];
        }
        return cable;
    }
    void unite(std::uint32_t a, std::uint32_t b) {
        a = find(a);
        b = find(b);
        parent_[std::max(a, b)] = std::min(a, b);
    }

private:
    std::vector<std::uint32_t> parent_;
};

class DirectionSquares {
public:
    explicit DirectionSquares(const Graph& graph)
        : graph_(graph),
          parallels_(graph.groups.size()),
          ways_(graph.switch_count()),
          near_(graph.switch_count(), 0) {
        for (std::uint32_t corner = 0; corner < graph.switch_count(); ++corner) {
            look_from(corner);
        }
    }

    Parallels& parallels() { return parallels_; }
    [[nodiscard]] const std::vector<std::pair<std::uint32_t, std::uint32_t>>& crossings() const {
        return crossings_;
    }
    [[nodiscard]] std::uint32_t cable(std::uint32_t from, std::uint32_t to) const {
        return std::min(group_to(graph_, from, to), group_to(graph_, to, from));
    }

private:
    /// How many switches lie between a corner and the opposite one, and the first two of them.
    struct Ways {
        std::uint32_t count = 0;
        std::uint32_t by[2] = {0, 0};
    };

    void look_from(std::uint32_t corner) {
        opposite_.clear();
        near_[corner] = corner + 1;
        for (const PortGroup& group : graph_.groups_of(corner)) {
            near_[group.peer] = corner + 1;
        }
        for (const PortGroup& group : graph_.groups_of(corner)) {
            for (const PortGroup& onward : graph_.groups_of(group.peer)) {
                if (near_[onward.peer] != corner + 1) {
                    add_way(onward.peer, group.peer);
                }
            }
        }
        for (const std::uint32_t other : opposite_) {
            const Ways& ways = ways_[other];
            if (other > corner && ways.count == 2 && group_to(graph_, ways.by[0], ways.by[1]) == kNoIndex) {
                add_square(corner, ways.by[0], ways.by[1], other);
            }
            ways_[other] = {};
        }
    }

    void add_way(std::uint32_t other, std::uint32_t by) {
        Ways& ways = ways_[other];
        if (ways.count == 0) {
            opposite_.push_back(other);
        }
        if (ways.count < 2) {
            ways.by[ways.count] = by;
        }
        ++ways.count;
    }

    void add_square(std::uint32_t corner, std::uint32_t left, std::uint32_t right, std::uint32_t other) {
        parallels_.unite(cable(corner, left), cable(right, other));
        parallels_.unite(cable(corner, right), cable(left, other));
        crossings_.emplace_back(cable(corner, left), cable(corner, right));
    }

    const Graph& graph_;
    Parallels parallels_;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> crossings_;
    std::vector<Ways> ways_;           ///< by opposite corner
    std::vector<std::uint32_t> near_;  ///< by switch: the corner that it is next to, plus one
    std::vector<std::uint32_t> opposite_;
};

/// By set of parallels: the sets that it crosses.
using Crossings = std::vector<std::set<std::uint32_t>>;

/// Each set gets the lowest rank that none of those that it crosses has; large sets choose first.
std::vector<std::uint8_t> rank_sets(const Crossings& crossings, const std::vector<std::uint32_t>& sizes) {
    std::vector<std::uint32_t> order(sizes.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return sizes[a] > sizes[b]; });
    constexpr std::uint8_t kUnranked = 255;
    std::vector<std::uint8_t> ranks(sizes.size(), kUnranked);
    for (const std::uint32_t set : order) {
        std::set<std::uint8_t> taken;
        for (const std::uint32_t other : crossings[set]) {
            taken.insert(ranks[other]);
        }
        std::uint8_t rank = 0;
        while (rank < kUnranked - 1 && taken.count(rank) != 0) {
            ++rank;
        }
        ranks[set] = rank;
    }
    return ranks;
}

}  // namespace

LinkRanks direction_ranks(const Graph& graph) {
    DirectionSquares squares(graph);
    Parallels& parallels = squares.parallels();
    Crossings crossings(graph.groups.size());
    for (const auto& [a, b] : squares.crossings()) {
        const std::uint32_t left = parallels.find(a);
        const std::uint32_t right = parallels.find(b);
        if (left != right) {
            crossings[left].insert(right);
            crossings[right].insert(left);
        }
    }
    std::vector<std::uint32_t> sizes(graph.groups.size(), 0);
    for (std::uint32_t group = 0; group < graph.groups.size(); ++group) {
        ++sizes[parallels.find(group)];
    }
    const std::vector<std::uint8_t> ranks = rank_sets(crossings, sizes);
    LinkRanks by_link;
    for (std::uint32_t at = 0; at < graph.switch_count(); ++at) {
        for (const PortGroup& group : graph.groups_of(at)) {
            by_link.insert(by_link.end(), group.port_count,
                           ranks[parallels.find(squares.cable(at, group.peer))]);
        }
    }
    const bool equal =
        std::all_of(by_link.begin(), by_link.end(), [](std::uint8_t rank) { return rank == 0; });
    return equal ? LinkRanks{} : by_link;
}

}  // namespace ibf::routing
