#include "routing/dragonfly_groups.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "routing/coordinates_find.hpp"

namespace ibf::routing {

namespace {

/// The groups of one connected component, by member.
struct Clusters {
    std::vector<std::uint32_t> of;
    std::vector<std::uint32_t> sizes;

    [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(sizes.size()); }
};

Clusters clusters_of(DisjointSets& sets, std::uint32_t members) {
    Clusters clusters;
    std::vector<std::uint32_t> number(members, kNoIndex);
    for (std::uint32_t at = 0; at < members; ++at) {
        std::uint32_t& mine = number[sets.find(at)];
        if (mine == kNoIndex) {
            mine = clusters.count();
            clusters.sizes.push_back(0);
        }
        ++clusters.sizes[mine];
        clusters.of.push_back(mine);
    }
    return clusters;
}

/// Cables between any two clusters, and inside each (a pair of equals).
using Meetings = std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t>;

Meetings meetings_of(const Piece& piece, const Clusters& clusters) {
    Meetings meetings;
    for (const Cable& cable : piece.cables) {
        const auto [low, high] = std::minmax(clusters.of[cable.a], clusters.of[cable.b]);
        ++meetings[{low, high}];
    }
    return meetings;
}

/// At least three quarters of the pairs of groups are joined.
bool joined_all_over(const Clusters& clusters, const Meetings& meetings) {
    std::uint64_t joined = 0;
    for (const auto& [pair, cables] : meetings) {
        joined += pair.first != pair.second ? 1 : 0;
    }
    const std::uint64_t pairs = std::uint64_t{clusters.count()} * (clusters.count() - 1) / 2;
    return 4 * joined >= 3 * pairs;
}

std::vector<std::uint32_t> triangles_of(const Piece& piece) {
    std::vector<std::uint32_t> triangles;
    std::vector<char> mine(piece.size(), 0);
    const auto mark = [&](std::uint32_t at, char value) {
        for (const Piece::Neighbour& peer : piece.beside[at]) {
            mine[peer.at] = value;
        }
    };
    std::uint32_t marked = kNoIndex;
    for (const Cable& cable : piece.cables) {  // sorted by a
        if (marked != cable.a) {
            if (marked != kNoIndex) {
                mark(marked, 0);
            }
            mark(cable.a, 1);
            marked = cable.a;
        }
        triangles.push_back(static_cast<std::uint32_t>(
            std::count_if(piece.beside[cable.b].begin(), piece.beside[cable.b].end(),
                          [&](const Piece::Neighbour& peer) { return mine[peer.at] != 0; })));
    }
    return triangles;
}

/// Joins the two clusters with the most cables between them that would make a dense one, as long as there are
/// any. One cable proves nothing: any two groups have one.
void join_dense(const Piece& piece, DisjointSets& sets, Clusters& clusters) {
    while (true) {
        std::pair<std::uint32_t, std::uint32_t> best{kNoIndex, kNoIndex};
        std::uint64_t most = 1;
        for (const auto& [pair, cables] : meetings_of(piece, clusters)) {
            const std::uint64_t room =
                std::uint64_t{clusters.sizes[pair.first]} * clusters.sizes[pair.second];
            if (pair.first != pair.second && 2 * cables >= room && cables > most) {
                best = pair;
                most = cables;
            }
        }
        if (best.first == kNoIndex) {
            return;
        }
        const auto member_of = [&](std::uint32_t cluster) {
            return static_cast<std::uint32_t>(std::find(clusters.of.begin(), clusters.of.end(), cluster) -
                                              clusters.of.begin());
        };
        sets.join(member_of(best.first), member_of(best.second));
        clusters = clusters_of(sets, piece.size());
    }
}

bool are_cliques(const Clusters& clusters, const Meetings& meetings) {
    for (std::uint32_t at = 0; at < clusters.count(); ++at) {
        const std::uint64_t pairs = std::uint64_t{clusters.sizes[at]} * (clusters.sizes[at] - 1) / 2;
        const auto inside = meetings.find({at, at});
        if (4 * (inside == meetings.end() ? 0 : inside->second) < 3 * pairs) {
            return false;
        }
    }
    return true;
}

std::optional<Clusters> clique_groups(const Piece& piece) {
    const std::vector<std::uint32_t> triangles = triangles_of(piece);
    const std::set<std::uint32_t, std::greater<>> steps(triangles.begin(), triangles.end());
    for (const std::uint32_t least : steps) {
        if (least == 0) {
            break;  // no triangle: nothing tells a cable inside from a global one
        }
        DisjointSets sets(piece.size());
        for (std::size_t i = 0; i < piece.cables.size(); ++i) {
            if (triangles[i] >= least) {
                sets.join(piece.cables[i].a, piece.cables[i].b);
            }
        }
        Clusters clusters = clusters_of(sets, piece.size());
        if (2 * clusters.count() > piece.size()) {
            continue;  // most switches are alone still
        }
        join_dense(piece, sets, clusters);
        const Meetings meetings = meetings_of(piece, clusters);
        if (are_cliques(clusters, meetings) && joined_all_over(clusters, meetings)) {
            return clusters;
        }
    }
    return std::nullopt;
}

/// Two-level trees of leaves, which have `hosts_least` hosts or more, and spines.
std::optional<Clusters> tree_groups(const Graph& graph, const Piece& piece, std::uint32_t hosts_least) {
    const auto is_leaf = [&](std::uint32_t at) { return graph.hosts[piece.members[at]] >= hosts_least; };
    DisjointSets sets(piece.size());
    for (const Cable& cable : piece.cables) {
        if (is_leaf(cable.a) && is_leaf(cable.b)) {
            return std::nullopt;
        }
        if (is_leaf(cable.a) || is_leaf(cable.b)) {
            sets.join(cable.a, cable.b);
        }
    }
    Clusters clusters = clusters_of(sets, piece.size());
    const Meetings meetings = meetings_of(piece, clusters);
    std::vector<std::uint64_t> leaves(clusters.count(), 0);
    std::vector<std::uint64_t> inside(clusters.count(), 0);
    for (std::uint32_t at = 0; at < piece.size(); ++at) {
        leaves[clusters.of[at]] += is_leaf(at) ? 1 : 0;
    }
    for (const Cable& cable : piece.cables) {
        inside[clusters.of[cable.a]] += is_leaf(cable.a) != is_leaf(cable.b) ? 1 : 0;
    }
    for (std::uint32_t at = 0; at < clusters.count(); ++at) {
        const std::uint64_t room = leaves[at] * (clusters.sizes[at] - leaves[at]);
        if (room == 0 || 4 * inside[at] < 3 * room) {
            return std::nullopt;
        }
    }
    return clusters.count() >= 2 && joined_all_over(clusters, meetings) ? std::optional(clusters)
                                                                        : std::nullopt;
}

/// Aggregation nodes make spines look like leaves with one host; a second try asks for more.
std::optional<Clusters> groups_of(const Graph& graph, const Piece& piece) {
    if (piece.size() == 1) {
        return Clusters{{0}, {1}};
    }
    std::optional<Clusters> clusters = clique_groups(piece);
    for (const std::uint32_t hosts_least : {1U, 2U}) {
        clusters = clusters ? clusters : tree_groups(graph, piece, hosts_least);
    }
    return clusters;
}

/// First comes a switch with hosts, of those one without global cables (a leaf, where there are any), of
/// those the one with the most cables inside; then the switches with global cables, then the others.
void order_group(const Graph& graph, const std::vector<std::uint32_t>& members, GroupMap& map) {
    struct Member {
        std::uint32_t at = 0;
        std::uint32_t inside = 0;
        bool global = false;
    };
    std::vector<Member> order;
    for (const std::uint32_t at : members) {
        Member member{at};
        for (const PortGroup& group : graph.groups_of(at)) {
            const bool inside = map.of[group.peer] == map.of[at];
            member.inside += inside ? 1 : 0;
            member.global = member.global || !inside;
        }
        order.push_back(member);
    }
    const auto first = std::min_element(order.begin(), order.end(), [&](const Member& a, const Member& b) {
        return std::tuple(graph.hosts[a.at] == 0, a.global, b.inside, a.at) <
               std::tuple(graph.hosts[b.at] == 0, b.global, a.inside, b.at);
    });
    std::iter_swap(order.begin(), first);
    std::sort(order.begin() + 1, order.end(), [](const Member& a, const Member& b) {
        return std::tuple(b.global, b.inside, a.at) < std::tuple(a.global, a.inside, b.at);
    });
    for (std::uint32_t place = 0; place < order.size(); ++place) {
        map.place[order[place].at] = place;
    }
}

/// Groups that are joined to the most others come first: they can relay for those behind them.
void order_groups(const Graph& graph, GroupMap& map) {
    std::vector<std::set<std::uint32_t>> partners(map.groups);
    for (std::uint32_t at = 0; at < graph.switch_count(); ++at) {
        for (const PortGroup& group : graph.groups_of(at)) {
            partners[map.of[at]].insert(map.of[group.peer]);
        }
    }
    std::vector<std::uint32_t> order(map.groups);
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return partners[a].size() > partners[b].size();
    });
    std::vector<std::uint32_t> number(map.groups);
    for (std::uint32_t i = 0; i < order.size(); ++i) {
        number[order[i]] = i;
    }
    for (std::uint32_t& group : map.of) {
        group = number[group];
    }
}

}  // namespace

base::Result<GroupMap> find_groups(const Graph& graph) {
    GroupMap map;
    map.of.assign(graph.switch_count(), 0);
    map.place.assign(graph.switch_count(), 0);
    for (const Piece& piece : pieces_of(graph)) {
        const std::optional<Clusters> clusters = groups_of(graph, piece);
        if (!clusters) {
            return base::fail(
                base::ErrorKind::unsupported,
                fmt::format("the fabric is no dragonfly: {} switches that form neither cliques nor "
                            "two-level trees of which most pairs are joined by cables",
                            piece.size()));
        }
        for (std::uint32_t at = 0; at < piece.size(); ++at) {
            map.of[piece.members[at]] = map.groups + clusters->of[at];
        }
        map.groups += clusters->count();
    }
    order_groups(graph, map);
    std::vector<std::vector<std::uint32_t>> members(map.groups);
    for (std::uint32_t at = 0; at < graph.switch_count(); ++at) {
        members[map.of[at]].push_back(at);
    }
    for (const std::vector<std::uint32_t>& group : members) {
        order_group(graph, group, map);
    }
    return map;
}

}  // namespace ibf::routing
