#include "routing/column_trees.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "routing/parallel.hpp"

namespace ibf::routing {

ColumnTree::ColumnTree(const Links& links, const Rows& rows)
    : links_(links), rows_(rows), link_(rows.size()), settled_(rows.size(), 0), tried_(rows.size(), 0) {}

void ColumnTree::read(std::uint32_t lid, std::uint32_t root, std::span<const std::uint32_t> nearest_first) {
    ++reading_;
    order_.clear();
    settled_[root] = reading_;
    tried_[root] = reading_;
    for (const std::uint32_t at : nearest_first) {
        if (tried_[at] != reading_) {
            follow(at, lid);
        }
    }
}

/// Goes on from a switch until something known comes up; if that arrives, all on the way do.
void ColumnTree::follow(std::uint32_t from, std::uint32_t lid) {
    trail_.clear();
    std::uint32_t at = from;
    while (tried_[at] != reading_) {
        tried_[at] = reading_;
        const LftRow& row = *rows_[at];
        link_[at] = links_.at(at, lid < row.size() ? row[lid] : mad::kLftDrop);
        if (link_[at] == kNoIndex) {
            return;
        }
        trail_.push_back(at);
        at = links_.peer(link_[at]);
    }
    if (settled_[at] != reading_) {
        return;  // lost further on, or a loop
    }
    for (auto it = trail_.rbegin(); it != trail_.rend(); ++it) {
        settled_[*it] = reading_;
        order_.push_back(*it);
    }
}

Columns::Columns(const Topology& topology, const Graph& graph)
    : lids_(topology.switches.size()), end_ports_(graph.hosts) {
    const auto add = [&](std::uint32_t at, const mad::LidRange& lids, bool end_port) {
        for (std::uint32_t lid = lids.base.value(); lid < lids.end(); ++lid) {
            lids_[at].push_back({static_cast<std::uint16_t>(lid), end_port});
        }
    };
    for (const TopologyEndPort& end : topology.end_ports) {
        if (end.switch_index != kNoIndex && end.lids.count() != 0) {
            add(end.switch_index, end.lids, true);
        }
    }
    for (std::uint32_t at = 0; at < lids_.size(); ++at) {
        std::sort(lids_[at].begin(), lids_[at].end(),
                  [](const ColumnLid& a, const ColumnLid& b) { return a.lid < b.lid; });
        const mad::LidRange& own = topology.switches[at].lids;
        addressable_.push_back(own.count() != 0 ? 1 : 0);
        if (own.count() != 0) {
            add(at, own, false);
        }
    }
}

Paths::Paths(const Topology& topology, const Rows& rows, const Graph& graph, ByteMatrix distances,
             unsigned threads)
    : links_(graph),
      columns_(topology, graph),
      distances_(std::move(distances)),
      rows_(&rows),
      lid_end_(topology.max_lid + std::size_t{1}),
      threads_(threads) {}

base::Result<Paths> Paths::of(const Topology& topology, const Rows& rows, unsigned threads) {
    const Graph graph = make_graph(topology, {});
    base::Result<ByteMatrix> distances = hop_distances(graph, threads);
    if (!distances) {
        return tl::unexpected<base::Error>(distances.error());
    }
    return Paths(topology, rows, graph, std::move(*distances), threads);
}

void Paths::for_each_tree(const std::vector<char>& wanted, unsigned threads, const Visit& visit) const {
    struct Scratch {
        ColumnTree tree;
        std::vector<std::uint32_t> nearest_first;
    };
    std::vector<std::optional<Scratch>> scratch(resolve_threads(threads));
    parallel_ranges(switch_count(), 4, threads, [&](const WorkRange& range) {
        std::optional<Scratch>& mine = scratch[range.slot];
        if (!mine) {
            mine.emplace(Scratch{ColumnTree(links_, *rows_), {}});
        }
        for (auto root = static_cast<std::uint32_t>(range.begin); root < range.end; ++root) {
            sort_by_distance({distances_.row(root), switch_count()}, mine->nearest_first);
            for (const ColumnLid& to : columns_.at(root)) {
                if (wanted[to.lid] != 0) {
                    mine->tree.read(to.lid, root, mine->nearest_first);
                    visit(range.slot, mine->tree, root, to);
                }
            }
        }
    });
}

void sort_by_distance(std::span<const std::uint8_t> hops, std::vector<std::uint32_t>& out) {
    std::array<std::uint32_t, 257> first{};
    for (std::uint32_t at = 0; at < hops.size(); ++at) {
        ++first[hops[at] + 1U];
    }
    for (unsigned hop = 1; hop < first.size(); ++hop) {
        first[hop] += first[hop - 1];
    }
    out.resize(first[kUnreached]);
    for (std::uint32_t at = 0; at < hops.size(); ++at) {
        if (hops[at] != kUnreached) {
            out[first[hops[at]]++] = at;
        }
    }
}

}  // namespace ibf::routing
