#include "routing/engine_tables.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "routing/byte_lines.hpp"
#include "routing/engine_balance.hpp"
#include "routing/engine_targets.hpp"
#include "routing/parallel.hpp"

namespace ibf::routing {

void CandidatePlanes::reset(std::size_t groups) {
    planes_ = (groups + 7) / 8;
    bytes_.assign(lines_ * planes_ * 64, 0);
}

void CandidatePlanes::add(std::size_t group, std::uint32_t destination) {
    std::uint8_t& byte = bytes_[(destination / 64 * planes_ + group / 8) * 64 + destination % 64];
    byte = static_cast<std::uint8_t>(byte | 1U << (group % 8));
}

void CandidatePlanes::load(const Graph& graph, const CandidateRule& rule, std::uint32_t at) {
    const std::span<const PortGroup> groups = graph.groups_of(at);
    reset(groups.size());
    for (std::size_t group = 0; group < groups.size(); ++group) {
        add(group, rule(at, groups[group]));
    }
}

void CandidatePlanes::add(std::size_t group, const HopRows& rows) {
    const ByteLine bit(static_cast<std::uint8_t>(1U << (group % 8)));
    for (std::size_t line = 0; line < lines_; ++line) {
        std::uint8_t* into = bytes_.data() + (line * planes_ + group / 8) * 64;
        ByteLine next(rows.nearer + line * 64);
        next.add(1);
        ByteLine plane = next.equals(ByteLine(rows.goal + line * 64));
        plane.mask(bit);
        plane.merge(ByteLine(into));
        plane.store(into);
    }
}

GroupSet CandidatePlanes::at(std::uint32_t destination) const {
    GroupSet set{};
    const std::uint8_t* column = bytes_.data() + destination / 64 * (planes_ * 64) + destination % 64;
    for (std::size_t plane = 0; plane < planes_; ++plane) {
        set[plane / 8] |= std::uint64_t{column[plane * 64]} << (plane % 8 * 8);
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

base::Result<std::vector<std::uint32_t>> configured_roots(const Topology& topology,
                                                          const RouteOptions& options) {
    std::vector<std::uint32_t> roots;
    const std::vector<mad::Guid>& guids = options.root_guids;
    for (std::uint32_t at = 0; at < topology.switches.size(); ++at) {
        if (std::find(guids.begin(), guids.end(), topology.switches[at].guid) != guids.end()) {
            roots.push_back(at);
        }
    }
    if (roots.empty()) {
        return base::fail(base::ErrorKind::unsupported,
                          "none of the configured up/down roots is a switch of this fabric; "
                          "correct root_guids or leave them out to have roots found");
    }
    return roots;
}

namespace {

std::size_t row_size(const Topology& topology) {
    return (topology.max_lid + std::size_t{mad::kLftBlockEntries}) / mad::kLftBlockEntries *
           mad::kLftBlockEntries;
}

/// The row of one switch while it is filled: the previous one until something differs.
class RowDraft {
public:
    RowDraft() = default;
    RowDraft(std::shared_ptr<const LftRow> old, std::size_t size) : old_(std::move(old)), size_(size) {
        if (old_ == nullptr || old_->size() != size) {
            write();
        }
    }

    [[nodiscard]] bool is_fresh() const { return old_ == nullptr; }
    [[nodiscard]] const std::uint8_t* read() const { return own_ != nullptr ? own_->data() : old_->data(); }
    std::uint8_t* write() {
        if (own_ == nullptr) {
            own_ = std::make_shared<LftRow>();
            own_->reserve(size_);
            if (old_ != nullptr) {
                const auto kept = static_cast<std::ptrdiff_t>(std::min(size_, old_->size()));
                own_->assign(old_->begin(), old_->begin() + kept);
            }
            own_->resize(size_, mad::kLftDrop);
        }
        return own_->data();
    }
    void set(std::size_t lid, std::uint8_t port) {
        if (read()[lid] != port) {
            write()[lid] = port;
        }
    }
    void drop(std::size_t first, std::size_t end) {
        for (std::size_t lid = first; lid < end; ++lid) {
            set(lid, mad::kLftDrop);
        }
    }
    /// Only where the row is not the previous one.
    [[nodiscard]] LftRow* own() { return own_.get(); }
    [[nodiscard]] std::shared_ptr<const LftRow> take() {
        return own_ != nullptr ? std::shared_ptr<const LftRow>(std::move(own_)) : std::move(old_);
    }

private:
    std::shared_ptr<const LftRow> old_;
    std::shared_ptr<LftRow> own_;
    std::size_t size_ = 0;
};

/// Everything the rows of one LID class are filled from. Shared by all threads, read only.
struct FillJob {
    const Graph& graph;
    const EnginePlan& plan;
    const Targets& targets;
    const SlotTables& tables;
};

/// Fills rows for one class of LIDs; one per thread.
class RowFiller {
public:
    explicit RowFiller(const FillJob& job)
        : job_(job), planes_(job.graph.switch_count()), chooser_(job.graph, job.plan.shape, job.tables) {}

    void fill(std::uint32_t at, RowDraft& draft) {
        if (job_.plan.sets) {
            planes_.reset(job_.graph.groups_of(at).size());
            job_.plan.sets(at, planes_);
        } else {
            planes_.load(job_.graph, job_.plan.rule, at);
        }
        chooser_.start(at);
        const std::vector<std::uint32_t>& order = job_.plan.shape.order;
        for (std::size_t place = 0; place < order.size(); ++place) {
            if (order[place] == at) {
                for (const Target& target : job_.targets.at(place)) {
                    draft.set(target.lid, target.local_port);
                }
                continue;
            }
            chooser_.use(planes_.at(order[place]));
            if (draft.is_fresh()) {
                fill_fresh(place, draft.write());
            } else {
                fill_kept(place, draft);
            }
        }
        for (const std::uint16_t lid : job_.targets.vacant()) {
            draft.set(lid, mad::kLftDrop);
        }
    }

private:
    void fill_fresh(std::size_t place, std::uint8_t* row) const {
        if (chooser_.any()) {
            for (const TargetRun& run : job_.targets.runs(place)) {
                chooser_.fill(run, row + run.lid);
            }
        }
    }

    void fill_kept(std::size_t place, RowDraft& draft) {
        for (const TargetRun& run : job_.targets.runs(place)) {
            if (!chooser_.any()) {
                draft.drop(run.lid, std::size_t{run.lid} + run.count);
            } else if (!chooser_.allows_all(draft.read() + run.lid, run.count)) {
                repair(place, draft.write());
                return;
            }
        }
    }

    /// What is a candidate stays; what is new gets its ideal port; then the displaced, each to the candidate
    /// that carries the fewest.
    void repair(std::size_t place, std::uint8_t* row) {
        const std::span<const Target> targets = job_.targets.at(place);
        load_.fill(0);
        displaced_.clear();
        for (const Target& target : targets) {
            std::uint8_t& port = row[target.lid];
            if (port == mad::kLftDrop) {
                port = chooser_.ideal(target.number);
            } else if (!chooser_.allows(port)) {
                displaced_.push_back(target);
                continue;
            }
            ++load_[port];
        }
        for (const Target& target : displaced_) {
            row[target.lid] = least_loaded(chooser_.turn(target.number));
            ++load_[row[target.lid]];
        }
    }

    [[nodiscard]] std::uint8_t least_loaded(std::size_t first) const {
        const std::vector<std::uint8_t>& ports = chooser_.candidates();
        std::uint8_t best = ports[first];
        for (std::size_t step = 1; step < ports.size(); ++step) {
            const std::uint8_t port = ports[(first + step) % ports.size()];
            best = load_[port] < load_[best] ? port : best;
        }
        return best;
    }

    const FillJob& job_;
    CandidatePlanes planes_;
    PortChooser chooser_;
    std::array<std::uint32_t, 256> load_{};
    std::vector<Target> displaced_;
};

/// The previous row of each switch, matched by GUID; null where there is none.
std::vector<std::shared_ptr<const LftRow>> old_rows(const Topology& topology, const Routes* previous) {
    std::vector<std::shared_ptr<const LftRow>> rows(topology.switches.size());
    if (previous == nullptr) {
        return rows;
    }
    std::map<mad::Guid, std::size_t> by_guid;
    for (std::size_t i = 0; i < previous->rows.size() && i < previous->switch_guids.size(); ++i) {
        by_guid.emplace(previous->switch_guids[i], i);
    }
    for (std::size_t at = 0; at < rows.size(); ++at) {
        const auto found = by_guid.find(topology.switches[at].guid);
        rows[at] = found == by_guid.end() ? nullptr : previous->rows[found->second];
    }
    return rows;
}

void fill_rows(const FillJob& job, const LidClass& of, const std::vector<char>& excluded, unsigned threads,
               std::vector<RowDraft>& drafts) {
    std::vector<std::optional<RowFiller>> fillers(resolve_threads(threads));
    parallel_ranges(drafts.size(), 8, threads, [&](const WorkRange& range) {
        std::optional<RowFiller>& mine = fillers[range.slot];
        if (!mine) {
            mine.emplace(job);
        }
        for (auto at = static_cast<std::uint32_t>(range.begin); at < range.end; ++at) {
            if (excluded[at] != 0) {
                drafts[at].drop(of.low, of.high);
            } else {
                mine->fill(at, drafts[at]);
            }
        }
    });
}

/// The end-port LIDs, in the spreading order.
std::vector<FlowTarget> flow_targets(const Targets& targets, const Shape& shape) {
    std::vector<FlowTarget> flows;
    for (std::size_t place = 0; place < shape.order.size(); ++place) {
        for (const Target& target : targets.at(place)) {
            if (target.local_port != 0) {
                flows.push_back({target.lid, shape.order[place]});
            }
        }
    }
    return flows;
}

bool wants_evening(const EnginePlan& plan, const Targets& targets, const std::vector<RowDraft>& drafts) {
    return plan.evening == Evening::by_flows &&
           std::uint64_t{drafts.size()} * targets.size() <= kBalanceLimit &&
           std::all_of(drafts.begin(), drafts.end(), [](const RowDraft& draft) { return draft.is_fresh(); });
}

base::Result<void> fill_class(const Topology& topology, const LidClass& of, const Planner& planner,
                              unsigned threads, std::vector<RowDraft>& drafts) {
    std::vector<char> excluded(topology.switches.size(), 0);
    for (std::size_t at = 0; at < excluded.size(); ++at) {
        excluded[at] = topology.switches[at].lft_cap <= of.low ? 1 : 0;
    }
    const Graph graph = make_graph(topology, excluded);
    const base::Result<EnginePlan> plan = planner(graph);
    if (!plan) {
        return tl::unexpected<base::Error>(plan.error());
    }
    const Targets targets(topology, plan->shape, of);
    const SlotTables tables(plan->shape, targets.numbers());
    const FillJob job{graph, *plan, targets, tables};
    fill_rows(job, of, excluded, threads, drafts);
    if (wants_evening(*plan, targets, drafts)) {
        std::vector<LftRow*> rows;
        for (std::size_t at = 0; at < drafts.size(); ++at) {
            rows.push_back(excluded[at] != 0 ? nullptr : drafts[at].own());
        }
        balance_flows(graph, *plan, flow_targets(targets, plan->shape), rows);
    }
    return {};
}

}  // namespace

base::Result<Routes> build_tables(const Topology& topology, const Routes* previous, unsigned threads,
                                  const Planner& planner) {
    const std::size_t size = row_size(topology);
    std::vector<RowDraft> drafts(topology.switches.size());
    const std::vector<std::shared_ptr<const LftRow>> old = old_rows(topology, previous);
    parallel_ranges(drafts.size(), 8, threads, [&](const WorkRange& range) {
        for (std::size_t at = range.begin; at < range.end; ++at) {
            drafts[at] = RowDraft(old[at], size);
            drafts[at].drop(topology.max_lid + std::size_t{1}, size);
        }
    });
    for (const LidClass& of : lid_classes(topology)) {
        const base::Result<void> filled = fill_class(topology, of, planner, threads, drafts);
        if (!filled) {
            return tl::unexpected<base::Error>(filled.error());
        }
    }
    Routes routes;
    for (std::size_t at = 0; at < drafts.size(); ++at) {
        routes.switch_guids.push_back(topology.switches[at].guid);
        routes.rows.push_back(drafts[at].take());
    }
    return routes;
}

}  // namespace ibf::routing
