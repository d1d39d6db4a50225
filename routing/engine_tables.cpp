#include "routing/engine_tables.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <memory>

#include "routing/engine_balance.hpp"
#include "routing/parallel.hpp"

namespace ibf::routing {

void CandidatePlanes::reset(std::size_t groups) {
    planes_ = (groups + 7) / 8;
    bytes_.assign(planes_ * stride_, 0);
}

void CandidatePlanes::add_where_closer(std::size_t group, const std::uint8_t* nearer,
                                       const std::uint8_t* goal) {
    std::uint8_t* plane = bytes_.data() + group / 8 * stride_;
    const auto bit = static_cast<std::uint8_t>(1U << (group % 8));
    for (std::uint32_t line = 0; line < stride_; line += 64) {
        std::uint8_t* __restrict into = plane + line;
        const std::uint8_t* __restrict from = nearer + line;
        const std::uint8_t* __restrict want = goal + line;
        for (unsigned i = 0; i < 64; ++i) {
            const auto next = static_cast<std::uint8_t>(from[i] + 1U);
            into[i] = static_cast<std::uint8_t>(into[i] | (next == want[i] ? bit : 0));
        }
    }
}

GroupSet CandidatePlanes::at(std::uint32_t destination) const {
    GroupSet set{};
    for (std::size_t plane = 0; plane < planes_; ++plane) {
        const std::uint64_t byte = bytes_[plane * stride_ + destination];
        set[plane / 8] |= byte << (plane % 8 * 8);
    }
    return set;
}

std::vector<char> scarce_switches(const Topology& topology) {
    std::vector<char> scarce(topology.switches.size(), 0);
    for (std::size_t at = 0; at < scarce.size(); ++at) {
        scarce[at] = topology.switches[at].lft_cap <= topology.max_lid ? 1 : 0;
    }
    return scarce;
}

std::size_t row_size(const Topology& topology) {
    return (topology.max_lid + std::size_t{mad::kLftBlockEntries}) / mad::kLftBlockEntries * mad::kLftBlockEntries;
}

std::vector<const LftRow*> old_rows(const Topology& topology, const Routes* previous) {
    std::vector<const LftRow*> rows(topology.switches.size(), nullptr);
    if (previous == nullptr) {
        return rows;
    }
    std::map<mad::Guid, const LftRow*> by_guid;
    for (std::size_t i = 0; i < previous->rows.size() && i < previous->switch_guids.size(); ++i) {
        by_guid.emplace(previous->switch_guids[i], previous->rows[i].get());
    }
    for (std::size_t at = 0; at < rows.size(); ++at) {
        const auto found = by_guid.find(topology.switches[at].guid);
        rows[at] = found == by_guid.end() ? nullptr : found->second;
    }
    return rows;
}

namespace {

/// One LID to be routed to: its switch's local exit port, and its number in the spreading order.
struct Target {
    std::uint16_t lid = 0;
    std::uint8_t local_port = 0;
    std::uint32_t number = 0;
};

struct Targets {
    std::vector<Target> all;           ///< by destination switch in the shape's order
    std::vector<std::uint32_t> first;  ///< order.size() + 1 offsets into all
    std::uint32_t numbers = 0;         ///< one past the highest number
};

/// LIDs [low, high) of one class.
struct LidClass {
    std::uint32_t low = 0;
    std::uint32_t high = 0;
};

void add_targets(const mad::LidRange& lids, const LidClass& of, std::uint8_t port, std::uint32_t number,
                 Targets& out) {
    for (std::uint32_t lid = lids.base.value(); lid < lids.end(); ++lid) {
        if (lid >= of.low && lid < of.high) {
            // The LIDs of one port (LMC) are numbered in a row, so they leave by different ports.
            const std::uint32_t mine = number + (lid - lids.base.value());
            out.all.push_back({static_cast<std::uint16_t>(lid), port, mine});
            out.numbers = std::max(out.numbers, mine + 1);
        }
    }
}

Targets targets_of(const Topology& topology, const Shape& shape, const LidClass& of) {
    std::vector<std::vector<std::uint32_t>> attached(topology.switches.size());
    for (std::uint32_t end = 0; end < topology.end_ports.size(); ++end) {
        const TopologyEndPort& port = topology.end_ports[end];
        if (port.switch_index != kNoIndex && port.lids.count() != 0) {
            attached[port.switch_index].push_back(end);
        }
    }
    Targets targets;
    std::uint32_t number = 0;
    for (std::uint32_t place = 0; place < shape.order.size(); ++place) {
        const std::uint32_t at = shape.order[place];
        targets.first.push_back(static_cast<std::uint32_t>(targets.all.size()));
        auto& ends = attached[at];
        std::sort(ends.begin(), ends.end(), [&](std::uint32_t a, std::uint32_t b) {
            return topology.end_ports[a].switch_port < topology.end_ports[b].switch_port;
        });
        for (const std::uint32_t end : ends) {
            const TopologyEndPort& port = topology.end_ports[end];
            add_targets(port.lids, of, port.switch_port.value(), number++, targets);
        }
        // Switches are numbered apart from hosts, one on: where every switch has one host, the two part ways.
        add_targets(topology.switches[at].lids, of, 0, place + 1, targets);
    }
    targets.first.push_back(static_cast<std::uint32_t>(targets.all.size()));
    return targets;
}

/// (number / divider) mod slots for every number; few distinct tables serve all switches of a fabric.
class SlotTables {
public:
    SlotTables(const Shape& shape, std::uint32_t numbers) {
        for (std::size_t at = 0; at < shape.slots.size(); ++at) {
            const auto slots = static_cast<std::uint32_t>(shape.slots[at].size());
            if (slots > 1) {
                std::vector<std::uint16_t>& table = tables_[{shape.divider[at], slots}];
                if (table.empty()) {
                    fill(shape.divider[at], slots, numbers, table);
                }
            }
        }
    }
    [[nodiscard]] const std::uint16_t* find(std::uint32_t divider, std::size_t slots) const {
        const auto found = tables_.find({divider, static_cast<std::uint32_t>(slots)});
        return found == tables_.end() ? nullptr : found->second.data();
    }

private:
    static void fill(std::uint32_t divider, std::uint32_t slots, std::uint32_t numbers,
                     std::vector<std::uint16_t>& out) {
        out.resize(numbers);
        for (std::uint32_t number = 0; number < numbers; ++number) {
            out[number] = static_cast<std::uint16_t>(number / divider % slots);
        }
    }
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint16_t>> tables_;
};

/// Everything the rows of one LID class are filled from. Shared by all threads, read only.
struct FillJob {
    const Graph& graph;
    const EnginePlan& plan;
    const Targets& targets;
    const SlotTables& tables;
};

/// Chooses exit ports at one switch. Candidate sets repeat from one destination to the next, so what a set
/// means is worked out once and kept until it changes.
class PortChooser {
public:
    PortChooser(const FillJob& job, std::uint32_t at)
        : graph_(job.graph),
          at_(at),
          groups_(job.graph.groups_of(at)),
          slots_(job.plan.shape.slots[at]),
          divider_(job.plan.shape.divider[at]),
          slot_of_(job.tables.find(divider_, slots_.size())) {
        group_of_port_.fill(-1);
        for (std::size_t group = 0; group < groups_.size(); ++group) {
            for (const std::uint8_t port : graph_.ports_of(groups_[group])) {
                group_of_port_[port] = static_cast<std::int16_t>(group);
            }
        }
        for (const std::uint8_t port : slots_) {
            if (port != 0) {
                add(up_, group_of_port_[port]);
            }
        }
    }

    void use(const GroupSet& set) {
        if (set == set_) {
            return;
        }
        set_ = set;
        list_candidates();
        bool upward = slot_of_ != nullptr && candidates_.size() > 1;
        for (unsigned word = 0; word < kGroupWords; ++word) {
            upward = upward && (set_[word] & ~up_[word]) == 0;
        }
        upward_ = upward;
        find_onward();
        if (upward_) {
            pick_.assign(slots_.begin(), slots_.end());
            std::replace_if(
                pick_.begin(), pick_.end(), [&](std::uint8_t port) { return !allows(port); }, kHole);
        }
    }

    [[nodiscard]] const std::vector<std::uint8_t>& candidates() const { return candidates_; }

    [[nodiscard]] bool allows(std::uint8_t port) const {
        const int group = group_of_port_[port];
        return group >= 0 &&
               (set_[static_cast<unsigned>(group) / 64] >> (static_cast<unsigned>(group) % 64) & 1U) != 0;
    }

    /// The port that a fresh start gives this number. REQUIRES: candidates() is not empty.
    [[nodiscard]] std::uint8_t ideal(std::uint32_t number) const {
        if (candidates_.size() == 1) {
            return candidates_.front();
        }
        if (!upward_) {
            return candidates_[(number / divider_ + onward_) % candidates_.size()];
        }
        const std::uint16_t slot = slot_of_[number];
        return pick_[slot] != kHole ? pick_[slot] : deal_out(number, slot);
    }

private:
    static constexpr std::uint8_t kHole = 0;

    static void add(GroupSet& set, int group) {
        set[static_cast<unsigned>(group) / 64] |= std::uint64_t{1} << (static_cast<unsigned>(group) % 64);
    }

    /// The numbers of a slot that cannot serve go round the candidates, each slot starting at another one.
    [[nodiscard]] std::uint8_t deal_out(std::uint32_t number, std::uint16_t slot) const {
        const std::size_t round = number / divider_ / slots_.size();
        return candidates_[(round + slot) % candidates_.size()];
    }

    /// Candidates that are not all above are counted from the first neighbour with a higher index than our
    /// own: if everybody counted from the lowest, the lowest would draw most of the traffic.
    void find_onward() {
        const auto higher = std::find_if(candidates_.begin(), candidates_.end(), [&](std::uint8_t port) {
            return groups_[static_cast<unsigned>(group_of_port_[port])].peer > at_;
        });
        onward_ = higher == candidates_.end() ? 0 : static_cast<std::uint32_t>(higher - candidates_.begin());
    }

    /// First links of all candidate groups, then second links, ...
    void list_candidates() {
        candidates_.clear();
        bool more = true;
        for (std::uint32_t layer = 0; more; ++layer) {
            more = false;
            for (unsigned word = 0; word < kGroupWords; ++word) {
                for (std::uint64_t bits = set_[word]; bits != 0; bits &= bits - 1) {
                    const PortGroup& group =
                        groups_[word * 64 + static_cast<unsigned>(std::countr_zero(bits))];
                    if (layer < group.port_count) {
                        candidates_.push_back(graph_.ports_of(group)[layer]);
                    }
                    more = more || layer + 1 < group.port_count;
                }
            }
        }
    }

    const Graph& graph_;
    std::uint32_t at_;
    std::span<const PortGroup> groups_;
    const std::vector<std::uint8_t>& slots_;
    std::uint32_t divider_;
    const std::uint16_t* slot_of_;
    std::array<std::int16_t, 256> group_of_port_{};
    GroupSet up_{};
    GroupSet set_{};
    bool upward_ = false;
    std::uint32_t onward_ = 0;
    std::vector<std::uint8_t> candidates_;
    std::vector<std::uint8_t> pick_;
};

/// Calls each(target, chooser) for every target of the class that has candidates at the switch.
template <class Each>
void for_each_target(const FillJob& job, const CandidatePlanes& planes, std::uint32_t at,
                     PortChooser& chooser, LftRow& row, const Each& each) {
    const std::vector<std::uint32_t>& order = job.plan.shape.order;
    for (std::size_t place = 0; place < order.size(); ++place) {
        const Target* target = job.targets.all.data() + job.targets.first[place];
        const Target* const end = job.targets.all.data() + job.targets.first[place + 1];
        if (order[place] == at) {
            for (; target != end; ++target) {
                row[target->lid] = target->local_port;
            }
            continue;
        }
        if (target == end) {
            continue;
        }
        chooser.use(planes.at(order[place]));
        if (!chooser.candidates().empty()) {
            for (; target != end; ++target) {
                each(*target);
            }
        }
    }
}

void fill_fresh(const FillJob& job, const CandidatePlanes& planes, std::uint32_t at, LftRow& row) {
    PortChooser chooser(job, at);
    for_each_target(job, planes, at, chooser, row,
                    [&](const Target& target) { row[target.lid] = chooser.ideal(target.number); });
}

/// Entries of the old row that are still candidates stay; what lost its port goes to the candidate that
/// carries the fewest, so nobody else has to move. LIDs that the old row did not know get their ideal port.
void fill_sticky(const FillJob& job, const CandidatePlanes& planes, std::uint32_t at, const LftRow& old,
                 LftRow& row) {
    PortChooser chooser(job, at);
    std::array<std::uint32_t, 256> load{};
    const auto old_port = [&](const Target& target) {
        return target.lid < old.size() ? old[target.lid] : mad::kLftDrop;
    };
    bool displaced = false;
    for_each_target(job, planes, at, chooser, row, [&](const Target& target) {
        const std::uint8_t was = old_port(target);
        if (was != mad::kLftDrop && !chooser.allows(was)) {
            displaced = true;
            return;
        }
        row[target.lid] = was != mad::kLftDrop ? was : chooser.ideal(target.number);
        ++load[row[target.lid]];
    });
    if (!displaced) {
        return;
    }
    for_each_target(job, planes, at, chooser, row, [&](const Target& target) {
        if (row[target.lid] != mad::kLftDrop) {
            return;
        }
        const std::vector<std::uint8_t>& ports = chooser.candidates();
        const std::uint8_t best = *std::min_element(
            ports.begin(), ports.end(), [&](std::uint8_t a, std::uint8_t b) { return load[a] < load[b]; });
        row[target.lid] = best;
        ++load[best];
    });
}

/// The LID space cut at every LinearFDBCap that lies inside it.
std::vector<LidClass> lid_classes(const Topology& topology) {
    std::vector<std::uint32_t> cuts{0, topology.max_lid + 1U};
    for (const TopologySwitch& item : topology.switches) {
        if (item.lft_cap <= topology.max_lid) {
            cuts.push_back(item.lft_cap);
        }
    }
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    std::vector<LidClass> classes;
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
        classes.push_back({cuts[i], cuts[i + 1]});
    }
    return classes;
}

void fill_rows(const FillJob& job, std::size_t size, const std::vector<char>& excluded, unsigned threads,
               const std::vector<const LftRow*>& old, std::vector<std::shared_ptr<LftRow>>& rows) {
    std::vector<CandidatePlanes> planes(resolve_threads(threads), CandidatePlanes(job.graph.switch_count()));
    parallel_ranges(rows.size(), 8, threads, [&](const WorkRange& range) {
        CandidatePlanes& mine = planes[range.slot];
        for (auto at = static_cast<std::uint32_t>(range.begin); at < range.end; ++at) {
            if (excluded[at] != 0) {
                continue;
            }
            if (rows[at] == nullptr) {
                rows[at] = std::make_shared<LftRow>(size, mad::kLftDrop);
            }
            mine.reset(job.graph.groups_of(at).size());
            job.plan.rule(at, mine);
            if (old[at] != nullptr) {
                fill_sticky(job, mine, at, *old[at], *rows[at]);
            } else {
                fill_fresh(job, mine, at, *rows[at]);
            }
        }
    });
}

/// The end-port LIDs, in the spreading order.
std::vector<FlowTarget> flow_targets(const Targets& targets, const Shape& shape) {
    std::vector<FlowTarget> flows;
    for (std::size_t place = 0; place < shape.order.size(); ++place) {
        for (std::uint32_t i = targets.first[place]; i < targets.first[place + 1]; ++i) {
            if (targets.all[i].local_port != 0) {
                flows.push_back({targets.all[i].lid, shape.order[place]});
            }
        }
    }
    return flows;
}

base::Result<void> fill_class(const Topology& topology, const LidClass& of, const Planner& planner,
                              unsigned threads, const std::vector<const LftRow*>& old,
                              std::vector<std::shared_ptr<LftRow>>& rows) {
    std::vector<char> excluded(topology.switches.size(), 0);
    for (std::size_t at = 0; at < excluded.size(); ++at) {
        excluded[at] = topology.switches[at].lft_cap <= of.low ? 1 : 0;
    }
    const Graph graph = make_graph(topology, excluded);
    const base::Result<EnginePlan> plan = planner(graph);
    if (!plan) {
        return tl::unexpected<base::Error>(plan.error());
    }
    const Targets targets = targets_of(topology, plan->shape, of);
    const SlotTables tables(plan->shape, targets.numbers);
    const FillJob job{graph, *plan, targets, tables};
    fill_rows(job, row_size(topology), excluded, threads, old, rows);
    const bool fresh = std::all_of(old.begin(), old.end(), [](const LftRow* row) { return row == nullptr; });
    if (fresh && std::uint64_t{rows.size()} * targets.all.size() <= kBalanceLimit) {
        balance_flows(graph, *plan, flow_targets(targets, plan->shape), rows);
    }
    return {};
}
}  // namespace

base::Result<Routes> build_tables(const Topology& topology, const Routes* previous, unsigned threads,
                                  const Planner& planner) {
    const std::vector<const LftRow*> old = old_rows(topology, previous);
    std::vector<std::shared_ptr<LftRow>> rows(topology.switches.size());
    for (const LidClass& of : lid_classes(topology)) {
        const base::Result<void> filled = fill_class(topology, of, planner, threads, old, rows);
        if (!filled) {
            return tl::unexpected<base::Error>(filled.error());
        }
    }
    Routes routes;
    for (std::size_t at = 0; at < rows.size(); ++at) {
        routes.switch_guids.push_back(topology.switches[at].guid);
        if (rows[at] == nullptr) {  // a switch whose LinearFDBCap is 0 holds no entry
            rows[at] = std::make_shared<LftRow>(mad::kLftBlockEntries, mad::kLftDrop);
        }
        routes.rows.push_back(std::move(rows[at]));
    }
    return routes;
}

}  // namespace ibf::routing
