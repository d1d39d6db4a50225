#include "routing/engine_balance.hpp"

#include <algorithm>
#include <bit>

#include "routing/links.hpp"

namespace ibf::routing {

namespace {

/// Candidate sets of all switches toward all destinations; only for graphs within kBalanceLimit.
class CandidateSets {
public:
    CandidateSets(const Graph& graph, const EnginePlan& plan) : count_(graph.switch_count()) {
        for (std::uint32_t at = 0; at < count_; ++at) {
            words_ = std::max(words_, static_cast<std::uint32_t>(graph.groups_of(at).size() + 63) / 64);
        }
        bits_.resize(std::size_t{count_} * count_ * words_);
        CandidatePlanes planes(count_);
        LineSet lines(planes.lines());
        lines.set_all();
        for (std::uint32_t at = 0; at < count_; ++at) {
            planes.load(graph, plan, at, lines);
            for (std::uint32_t to = 0; to < count_; ++to) {
                const GroupSet set = planes.at(to);
                std::copy_n(set.begin(), words_, bits_.begin() + static_cast<std::ptrdiff_t>(index(at, to)));
            }
        }
    }

    template <class Each>
    void for_each(std::uint32_t at, std::uint32_t to, const Each& each) const {
        for (std::uint32_t word = 0; word < words_; ++word) {
            for (std::uint64_t bits = bits_[index(at, to) + word]; bits != 0; bits &= bits - 1) {
                each(word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits)));
            }
        }
    }

private:
    // Destination first: one destination is worked on for all switches.
    [[nodiscard]] std::size_t index(std::uint32_t at, std::uint32_t to) const {
        return (std::size_t{to} * count_ + at) * words_;
    }
    std::uint32_t count_;
    std::uint32_t words_ = 0;
    std::vector<std::uint64_t> bits_;
};

class Balancer {
public:
    Balancer(const Graph& graph, const EnginePlan& plan, const Flows& flows, const DraftRows& rows)
        : graph_(graph),
          flows_(flows),
          burden_(graph),
          advance_(graph.rates.empty() ? 0 : most_senders(flows)),
          lengths_(*plan.lengths),
          rows_(rows),
          sets_(graph, plan),
          links_(graph),
          load_(graph.ports.size(), 0),
          cost_(graph.ports.size(), 0),
          flow_(graph.switch_count()),
          path_cost_(graph.switch_count()) {}

    void run(Role role) {
        std::uint32_t sorted_for = kNoIndex;
        const auto each_target = [&](const auto& work) {
            for (const FlowTarget& target : flows_.targets) {
                if (target.role != role) {
                    continue;
                }
                if (sorted_for != target.at) {
                    sort_by_length(target.at);
                    sorted_for = target.at;
                }
                work(target);
            }
        };
        each_target([&](const FlowTarget& target) { lay(target, +1); });
        std::uint64_t total = 0;
        std::uint64_t worst = 0;
        for (std::uint32_t link = 0; link < load_.size(); ++link) {
            const std::uint64_t burden = burden_.of(link, load_[link]);
            total += burden;
            worst = std::max(worst, burden);
        }
        mean_ = std::max<std::uint64_t>(1, total / std::max<std::size_t>(1, load_.size()));
        for (std::uint32_t link = 0; link < load_.size(); ++link) {
            set_cost(link);
        }
        // Even already (a regular tree), or hardly anything moved in a round: enough.
        bool uneven = worst * kEvenParts > mean_ * (kEvenParts + 1);
        for (int round = 0; round < kRoundsMax && uneven; ++round) {
            moved_ = 0;
            each_target([&](const FlowTarget& target) {
                lay(target, -1);
                choose(target);
                lay(target, +1);
            });
            uneven = moved_ * 1000 > flows_.targets.size() * order_.size();
        }
    }

private:
    static constexpr int kRoundsMax = 3;
    static constexpr std::uint64_t kEvenParts = 10;  ///< worst link within a tenth of the mean

    void set_cost(std::uint32_t link) {
        const std::uint64_t burden = burden_.of(link, load_[link] + advance_);
        const std::uint64_t level = std::min<std::uint64_t>(burden * 32 / mean_, 1U << 16U);
        cost_[link] = level * level * level + 1;
    }

    /// Switches that reach the destination, nearest first, the destination itself left out.
    void sort_by_length(std::uint32_t to) {
        order_.clear();
        for (std::uint32_t at = 0; at < graph_.switch_count(); ++at) {
            if (at != to && rows_[at] != nullptr && lengths_.row(at)[to] != kUnreached) {
                order_.push_back(at);
            }
        }
        std::stable_sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
            return lengths_.row(a)[to] < lengths_.row(b)[to];
        });
    }

    [[nodiscard]] std::uint32_t link_of(std::uint32_t at, std::uint16_t lid) const {
        return links_.at(at, (*rows_[at])[lid]);
    }

    /// Adds the flows toward one LID to the links of its in-tree, or takes them off.
    void lay(const FlowTarget& target, int sign) {
        const std::vector<std::uint32_t>& sources = flows_.sources[static_cast<std::size_t>(target.role)];
        std::copy(sources.begin(), sources.end(), flow_.begin());
        for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
            const std::uint32_t link = link_of(*it, target.lid);
            if (link == kNoIndex || flow_[*it] == 0) {
                continue;
            }
            load_[link] += sign > 0 ? flow_[*it] : 0 - flow_[*it];
            flow_[links_.peer(link)] += flow_[*it];
            set_cost(link);
        }
    }

    /// The cheapest way from every switch, nearest first, so the way on from a neighbour is known.
    void choose(const FlowTarget& target) {
        path_cost_[target.at] = 0;
        for (const std::uint32_t at : order_) {
            std::uint32_t best = kNoIndex;
            std::uint64_t best_cost = ~std::uint64_t{0};
            const auto groups = graph_.groups_of(at);
            sets_.for_each(at, target.at, [&](std::uint32_t index) {
                const PortGroup& group = groups[index];
                const std::uint64_t onward = path_cost_[group.peer];
                for (std::uint32_t link = group.first_port; link < group.first_port + group.port_count;
                     ++link) {
                    if (cost_[link] + onward < best_cost) {
                        best = link;
                        best_cost = cost_[link] + onward;
                    }
                }
            });
            const std::uint32_t now = link_of(at, target.lid);
            if (best == kNoIndex || now == kNoIndex) {
                continue;
            }
            const std::uint64_t now_cost = cost_[now] + path_cost_[links_.peer(now)];
            if (best_cost + now_cost / 16 < now_cost) {
                (*rows_[at])[target.lid] = graph_.ports[best];
                path_cost_[at] = best_cost;
                ++moved_;
            } else {
                path_cost_[at] = now_cost;
            }
        }
    }

    const Graph& graph_;
    const Flows& flows_;
    Burden burden_;
    /// Where rates differ, so does what a LID that comes would add: what one brings a busy leaf is counted.
    std::uint64_t advance_;
    const ByteMatrix& lengths_;
    const DraftRows& rows_;
    CandidateSets sets_;
    Links links_;
    std::vector<std::uint64_t> load_;
    std::vector<std::uint64_t> cost_;
    std::vector<std::uint64_t> flow_;
    std::vector<std::uint64_t> path_cost_;
    std::vector<std::uint32_t> order_;
    std::uint64_t mean_ = 1;
    std::uint64_t moved_ = 0;  ///< entries changed in this round
};

}  // namespace

void balance_flows(const Graph& graph, const EnginePlan& plan, const Flows& flows, const DraftRows& rows) {
    Balancer balancer(graph, plan, flows, rows);
    for (const Role role : {Role::compute, Role::io, Role::other}) {
        if (std::any_of(flows.targets.begin(), flows.targets.end(),
                        [&](const FlowTarget& target) { return target.role == role; })) {
            balancer.run(role);
        }
    }
}

}  // namespace ibf::routing
