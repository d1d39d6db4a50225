#include "routing/shortest_trees.hpp"

#include <algorithm>

#include "routing/column_trees.hpp"
#include "routing/links.hpp"
#include "routing/minhop.hpp"

namespace ibf::routing {

namespace {

class TreePlanter {
public:
    TreePlanter(const Graph& graph, const EnginePlan& plan, const LinkRanks& ranks, const DraftRows& rows)
        : graph_(graph),
          lengths_(*plan.lengths),
          ranks_(ranks),
          rows_(rows),
          links_(graph),
          weight_(links_.count(), 0),
          cost_(graph.switch_count(), 0),
          flow_(graph.switch_count(), 0),
          link_(graph.switch_count(), kNoIndex) {}

    /// Lists the switches by distance from a destination, and what each may send by.
    void aim(std::uint32_t to) {
        sort_by_distance(lengths_, graph_.switch_count(), to, order_);
        order_.erase(order_.begin());  // the destination itself
        const std::uint8_t* hops = lengths_.row(to);
        first_.assign(1, 0);
        candidates_.clear();
        for (const std::uint32_t at : order_) {
            std::uint8_t lowest = 255;
            for (std::uint32_t link = links_.first(at); link < links_.first(at + 1); ++link) {
                const std::uint32_t peer = links_.peer(link);
                if (hops[peer] + 1U != hops[at]) {
                    continue;
                }
                const std::uint8_t rank = ranks_.empty() ? 0 : ranks_[link];
                if (rank < lowest) {
                    candidates_.resize(first_.back());
                    lowest = rank;
                }
                if (rank == lowest) {
                    candidates_.push_back({link, peer});
                }
            }
            first_.push_back(static_cast<std::uint32_t>(candidates_.size()));
        }
    }

    /// The lightest tree; `flows`: LIDs that share it, whose sources weigh on its links.
    void plant(std::uint16_t lid, std::uint32_t to, std::uint32_t flows) {
        cost_[to] = 0;
        for (std::size_t place = 0; place < order_.size(); ++place) {
            const std::uint32_t at = order_[place];
            const Candidate* const begin = candidates_.data() + first_[place];
            const Candidate* const end = candidates_.data() + first_[place + 1];
            std::uint8_t& entry = (*rows_[at])[lid];
            const std::uint32_t stands = links_.at(at, entry);
            std::uint32_t best = kNoIndex;
            std::uint64_t least = ~std::uint64_t{0};
            for (const Candidate* candidate = begin; candidate != end; ++candidate) {
                // Twice the cost, and one more for a change: no branch that weights make unpredictable.
                const std::uint64_t key = (weight_[candidate->link] + cost_[candidate->peer]) * 2 +
                                          (candidate->link != stands ? 1U : 0U);
                best = key < least ? candidate->link : best;
                least = std::min(key, least);
            }
            entry = graph_.ports[best];
            link_[at] = best;
            cost_[at] = least / 2;
        }
        if (flows != 0) {
            weigh(flows);
        }
    }

    /// Gives a LID the tree of another one.
    void copy(std::uint16_t from, std::uint16_t to) {
        for (const std::uint32_t at : order_) {
            (*rows_[at])[to] = (*rows_[at])[from];
        }
    }

private:
    struct Candidate {
        std::uint32_t link = 0;
        std::uint32_t peer = 0;
    };

    void weigh(std::uint32_t flows) {
        for (const std::uint32_t at : order_) {
            flow_[at] = graph_.hosts[at] * flows;
        }
        for (auto at = order_.rbegin(); at != order_.rend(); ++at) {
            weight_[link_[*at]] += flow_[*at];
            flow_[links_.peer(link_[*at])] += flow_[*at];
        }
    }

    const Graph& graph_;
    const ByteMatrix& lengths_;
    const LinkRanks& ranks_;
    const DraftRows& rows_;
    Links links_;
    std::vector<std::uint32_t> weight_;  ///< by link: flows so far
    std::vector<std::uint64_t> cost_;    ///< by switch: weight of its path
    std::vector<std::uint32_t> flow_;    ///< by switch: sources behind it
    std::vector<std::uint32_t> link_;    ///< by switch: the link of its path
    std::vector<std::uint32_t> order_;
    std::vector<std::uint32_t> first_;  ///< by place in order_, one more: into candidates_
    std::vector<Candidate> candidates_;
};

}  // namespace

void lay_shortest_trees(const Graph& graph, const EnginePlan& plan, const std::vector<FlowTarget>& targets,
                        TreePer sharing, const LinkRanks& ranks, const DraftRows& rows) {
    TreePlanter planter(graph, plan, ranks, rows);
    for (auto begin = targets.begin(); begin != targets.end();) {
        const std::uint32_t to = begin->at;
        const auto end = std::find_if(begin, targets.end(), [&](const FlowTarget& t) { return t.at != to; });
        planter.aim(to);
        if (sharing == TreePer::switch_) {
            const auto flows = std::count_if(begin, end, [](const FlowTarget& t) { return t.end_port; });
            planter.plant(begin->lid, to, static_cast<std::uint32_t>(flows));
            std::for_each(begin + 1, end, [&](const FlowTarget& t) { planter.copy(begin->lid, t.lid); });
        } else {
            std::for_each(begin, end,
                          [&](const FlowTarget& t) { planter.plant(t.lid, to, t.end_port ? 1 : 0); });
        }
        begin = end;
    }
}

namespace {

/// Entries that came from earlier tables one by one are made one per destination switch again: what a LID had
/// before goes for all LIDs at its switch, a new or displaced LID's only where none had anything.
void share_entries(const Topology& topology, const Routes& previous, Routes& routes) {
    const Columns columns(topology, make_graph(topology, {}));
    const std::vector<std::shared_ptr<const LftRow>> old = old_rows(topology, &previous);
    for (std::uint32_t at = 0; at < routes.rows.size(); ++at) {
        auto row = std::make_shared<LftRow>(*routes.rows[at]);
        const auto stayed = [&](const ColumnLid& lid) {
            return old[at] != nullptr && lid.lid < old[at]->size() && (*old[at])[lid.lid] == (*row)[lid.lid];
        };
        for (std::uint32_t to = 0; to < routes.rows.size(); ++to) {
            const std::vector<ColumnLid>& lids = columns.at(to);
            const auto known = std::find_if(lids.begin(), lids.end(), stayed);
            for (const ColumnLid& lid : lids) {
                if (to != at) {
                    (*row)[lid.lid] = (*row)[(known != lids.end() ? *known : lids.front()).lid];
                }
            }
        }
        routes.rows[at] = std::move(row);
    }
}

}  // namespace

base::Result<Routes> shortest_tree_tables(const Topology& topology, const Routes* previous, TreePer sharing,
                                          const LinkRanks& ranks, unsigned threads) {
    const Planner planner = [&](const std::shared_ptr<const Graph>& graph,
                                const UpDown*) -> base::Result<EnginePlan> {
        base::Result<EnginePlan> plan = minhop_plan(*graph, threads);
        if (plan) {
            plan->placer = [&](const Graph& g, const EnginePlan& p, const std::vector<FlowTarget>& targets,
                               const DraftRows& rows) { lay_shortest_trees(g, p, targets, sharing, ranks, rows); };
        }
        return plan;
    };
    base::Result<Routes> routes = build_tables(topology, previous, threads, planner);
    if (routes && previous != nullptr && sharing == TreePer::switch_) {
        share_entries(topology, *previous, *routes);
    }
    return routes;
}

}  // namespace ibf::routing
