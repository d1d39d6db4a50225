#include "routing/shortest_trees.hpp"

#include <algorithm>

#include "routing/column_trees.hpp"
#include "routing/links.hpp"
#include "routing/minhop.hpp"

namespace ibf::routing {

namespace {

class TreePlanter {
public:
    TreePlanter(const Graph& graph, const EnginePlan& plan, const Flows& flows, const LinkRanks& ranks,
                const DraftRows& rows)
        : graph_(graph),
          flows_(flows),
          lengths_(*plan.lengths),
          ranks_(ranks),
          rows_(rows),
          links_(graph),
          burden_(graph),
          weight_(links_.count(), 0),
          hops_(graph.switch_count(), 0),
          cost_(graph.switch_count(), 0),
          flow_(graph.switch_count(), 0),
          link_(graph.switch_count(), kNoIndex) {
        for (std::size_t index = 0; index < graph.groups.size(); ++index) {
            link_hops_.insert(link_hops_.end(), graph.groups[index].port_count,
                              graph.weights.empty() ? std::uint8_t{1} : graph.weights[index]);
        }
        if (!graph.rates.empty()) {
            weigh_in_advance();
        }
    }

    /// Lists the switches by distance from a destination, and what each may send by.
    void aim(std::uint32_t to) {
        for (std::uint32_t at = 0; at < hops_.size(); ++at) {
            hops_[at] = lengths_.row(at)[to];
        }
        sort_by_distance(hops_, order_);
        order_.erase(order_.begin());  // the destination itself
        first_.assign(1, 0);
        candidates_.clear();
        for (const std::uint32_t at : order_) {
            std::uint8_t lowest = 255;
            for (std::uint32_t link = links_.first(at); link < links_.first(at + 1); ++link) {
                const std::uint32_t peer = links_.peer(link);
                if (hops_[peer] + link_hops_[link] != hops_[at]) {
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

    /// The lightest tree; `counted`: LIDs that share it, whose sources weigh on its links.
    void plant(const FlowTarget& target, std::uint32_t counted) {
        const std::uint16_t lid = target.lid;
        cost_[target.at] = 0;
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
        if (counted != 0) {
            weigh(flows_.sources[static_cast<std::size_t>(target.role)], counted);
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

    /// Where rates differ, so does what the next LID will add. Each link begins with as much as one LID
    /// brings a busy leaf, so that what is compared is what there will be.
    void weigh_in_advance() {
        for (std::uint32_t link = 0; link < weight_.size(); ++link) {
            weight_[link] = burden_.of(link, most_senders(flows_));
        }
    }

    void weigh(const std::vector<std::uint32_t>& sources, std::uint32_t counted) {
        for (const std::uint32_t at : order_) {
            flow_[at] = sources[at] * counted;
        }
        for (auto at = order_.rbegin(); at != order_.rend(); ++at) {
            const std::uint32_t link = link_[*at];
            weight_[link] += burden_.of(link, flow_[*at]);
            flow_[links_.peer(link)] += flow_[*at];
        }
    }

    const Graph& graph_;
    const Flows& flows_;
    const ByteMatrix& lengths_;
    const LinkRanks& ranks_;
    const DraftRows& rows_;
    Links links_;
    Burden burden_;
    std::vector<std::uint64_t> weight_;    ///< by link: flows so far, as if it ran at the top rate
    std::vector<std::uint8_t> link_hops_;  ///< by link: what it counts as
    std::vector<std::uint8_t> hops_;       ///< by switch: to the destination
    std::vector<std::uint64_t> cost_;      ///< by switch: weight of its path
    std::vector<std::uint32_t> flow_;      ///< by switch: sources behind it
    std::vector<std::uint32_t> link_;      ///< by switch: the link of its path
    std::vector<std::uint32_t> order_;
    std::vector<std::uint32_t> first_;  ///< by place in order_, one more: into candidates_
    std::vector<Candidate> candidates_;
};

bool is_counted(const FlowTarget& target) {
    return target.role != Role::uncounted;
}

}  // namespace

void lay_shortest_trees(const Graph& graph, const EnginePlan& plan, const Flows& flows, TreePer sharing,
                        const LinkRanks& ranks, const DraftRows& rows) {
    const std::vector<FlowTarget>& targets = flows.targets;
    TreePlanter planter(graph, plan, flows, ranks, rows);
    for (auto begin = targets.begin(); begin != targets.end();) {
        const std::uint32_t to = begin->at;
        const auto end = std::find_if(begin, targets.end(), [&](const FlowTarget& t) { return t.at != to; });
        planter.aim(to);
        if (sharing == TreePer::switch_) {
            const auto counted = std::count_if(begin, end, is_counted);
            planter.plant(*begin, static_cast<std::uint32_t>(counted));
            std::for_each(begin + 1, end, [&](const FlowTarget& t) { planter.copy(begin->lid, t.lid); });
        } else {
            std::for_each(begin, end, [&](const FlowTarget& t) { planter.plant(t, is_counted(t) ? 1 : 0); });
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
                                          const LinkRanks& ranks, const RouteOptions& options) {
    const Planner planner = [&](const std::shared_ptr<const Graph>& graph,
                                const UpDown*) -> base::Result<EnginePlan> {
        base::Result<EnginePlan> plan = minhop_plan(*graph, options.threads);
        if (plan) {
            plan->placer = [&](const Graph& g, const EnginePlan& p, const Flows& flows,
                               const DraftRows& rows) {
                lay_shortest_trees(g, p, flows, sharing, ranks, rows);
            };
        }
        return plan;
    };
    base::Result<Routes> routes = build_tables(topology, previous, options, planner);
    if (routes && previous != nullptr && sharing == TreePer::switch_) {
        share_entries(topology, *previous, *routes);
    }
    return routes;
}

}  // namespace ibf::routing
