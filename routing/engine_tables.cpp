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

void CandidatePlanes::clear(std::size_t groups, const LineSet& lines) {
    planes_ = (groups + 7) / 8;
    bytes_.resize(lines_ * planes_ * 64);
    loaded_.clear();
    lines.for_each([&](std::uint32_t line) {
        loaded_.push_back(line);
        std::fill_n(bytes_.begin() + static_cast<std::ptrdiff_t>(line * planes_ * 64), planes_ * 64,
                    std::uint8_t{0});
    });
}

void CandidatePlanes::load(const Graph& graph, const EnginePlan& plan, std::uint32_t at,
                           const LineSet& lines) {
    const std::span<const PortGroup> groups = graph.groups_of(at);
    clear(groups.size(), lines);
    if (plan.sets) {
        plan.sets(at, *this);
        return;
    }
    find_goals(plan, at);
    for (std::size_t group = 0; group < groups.size(); ++group) {
        const std::uint32_t peer = groups[group].peer;
        const UpDownLink link =
            plan.links.empty() ? UpDownLink::up : plan.links[graph.first_group[at] + group];
        if (link == UpDownLink::up) {
            add_closer(group, plan.lengths->row(peer), goals_.data());
            continue;
        }
        add_closer(group, plan.down->row(peer), plan.down->row(at));
        if (link == UpDownLink::spare) {
            add_closer(group, plan.down->row(peer), goals_.data());
        }
    }
}

void CandidatePlanes::add(std::size_t group, std::uint32_t destination) {
    std::uint8_t& byte = bytes_[(destination / 64 * planes_ + group / 8) * 64 + destination % 64];
    byte = static_cast<std::uint8_t>(byte | 1U << (group % 8));
}

void CandidatePlanes::find_goals(const EnginePlan& plan, std::uint32_t at) {
    constexpr std::uint8_t kNoGoal = 254;  // length + 1 never gets here: kDistanceMax is lower
    goals_.resize(lines_ * std::size_t{64});
    for (const std::uint32_t line : loaded_) {
        ByteLine goal(plan.lengths->row(at) + line * 64);
        if (plan.down != nullptr) {
            const ByteLine climbs = ByteLine(plan.down->row(at) + line * 64).equals(ByteLine(kUnreached));
            ByteLine none(kNoGoal);
            none.take(goal, climbs);
            goal = none;
        }
        goal.store(goals_.data() + line * std::size_t{64});
    }
}

void CandidatePlanes::add_closer(std::size_t group, const std::uint8_t* nearer, const std::uint8_t* goal) {
    const ByteLine bit(static_cast<std::uint8_t>(1U << (group % 8)));
    for (const std::uint32_t line : loaded_) {
        std::uint8_t* into = bytes_.data() + (line * planes_ + group / 8) * 64;
        ByteLine next(nearer + line * std::size_t{64});
        next.add(1);
        ByteLine plane = next.equals(ByteLine(goal + line * std::size_t{64}));
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

std::vector<mad::Guid> switches_with_none_above(
    const Topology& topology, const Graph& graph,
    const std::function<bool(std::uint32_t peer, std::uint32_t at)>& is_above) {
    std::vector<mad::Guid> tops;
    for (std::uint32_t at = 0; at < graph.switch_count(); ++at) {
        const std::span<const PortGroup> groups = graph.groups_of(at);
        if (!groups.empty() && std::none_of(groups.begin(), groups.end(), [&](const PortGroup& group) {
                return is_above(group.peer, at);
            })) {
            tops.push_back(topology.switches[at].guid);
        }
    }
    return tops;
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

std::size_t lft_row_size(std::uint32_t max_lid) {
    return (max_lid + std::size_t{mad::kLftBlockEntries}) / mad::kLftBlockEntries * mad::kLftBlockEntries;
}

std::vector<std::shared_ptr<const LftRow>> old_rows(const Topology& topology, const Routes* previous) {
    if (previous == nullptr) {
        return std::vector<std::shared_ptr<const LftRow>>(topology.switches.size());
    }
    return in_order_of(topology, *previous).rows;
}

namespace {

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
    /// True while it is exactly this previous row.
    [[nodiscard]] bool is_old(const std::shared_ptr<const LftRow>& row) const {
        return old_ != nullptr && old_ == row && old_->size() == size_;
    }
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

/// What an evaluation can leave as it is, because the one before had the same to go by.
struct Known {
    const EngineMemo* memo = nullptr;
    LineSet moved;                    ///< lines of switches whose LIDs are not those of the memo
    std::vector<char> ports_changed;  ///< by switch: other ports toward its neighbours
};

/// Everything the rows of one LID class are filled from. Shared by all threads, read only.
struct FillJob {
    const Graph& graph;
    const EnginePlan& plan;
    const Targets& targets;
    const SlotTables& tables;
    std::vector<std::uint32_t> places;  ///< by switch, its place in the shape's order; kNoIndex: none
    std::optional<Known> known;
};

/// Fills rows for one class of LIDs; one per thread.
class RowFiller {
public:
    explicit RowFiller(const FillJob& job)
        : job_(job),
          planes_(job.graph.switch_count()),
          chooser_(job.graph, job.plan.shape, job.tables),
          due_(planes_.lines()) {}

    void fill(std::uint32_t at, RowDraft& draft) {
        find_due(at, draft);
        planes_.load(job_.graph, job_.plan, at, due_);
        chooser_.start(at);
        if (job_.places[at] != kNoIndex) {
            for (const Target& target : job_.targets.at(job_.places[at])) {
                draft.set(target.lid, target.local_port);
            }
        }
        due_.for_each([&](std::uint32_t line) {
            const std::uint32_t end = std::min(job_.graph.switch_count(), (line + 1) * 64);
            for (std::uint32_t to = line * 64; to < end; ++to) {
                if (to != at && job_.places[to] != kNoIndex) {
                    chooser_.use(planes_.at(to));
                    route_to(job_.places[to], draft);
                }
            }
        });
        for (const std::uint16_t lid : job_.targets.vacant()) {
            draft.set(lid, mad::kLftDrop);
        }
    }

private:
    /// The lines of destinations that candidates may have changed toward.
    void find_due(std::uint32_t at, const RowDraft& draft) {
        due_.clear();
        if (!job_.known || !draft.is_old(job_.known->memo->rows[at]) || job_.known->ports_changed[at] != 0) {
            due_.set_all();
            return;
        }
        const UpDownChanges& changes = *job_.plan.changes;
        due_.merge(job_.known->moved);
        due_.merge(changes.down.row(at));
        due_.merge(changes.whole.row(at));
        const std::uint32_t first = job_.graph.first_group[at];
        for (std::uint32_t group = first; group < job_.graph.first_group[at + 1]; ++group) {
            const LineBits& nearer = job_.plan.links[group] == UpDownLink::up ? changes.whole : changes.down;
            due_.merge(nearer.row(job_.graph.groups[group].peer));
        }
    }

    void route_to(std::size_t place, RowDraft& draft) {
        if (draft.is_fresh()) {
            fill_fresh(place, draft.write());
        } else {
            fill_kept(place, draft);
        }
    }

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
    LineSet due_;
    std::array<std::uint32_t, 256> load_{};
    std::vector<Target> displaced_;
};

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

/// All LIDs, in the spreading order.
std::vector<FlowTarget> flow_targets(const Targets& targets, const Shape& shape) {
    std::vector<FlowTarget> flows;
    for (std::size_t place = 0; place < shape.order.size(); ++place) {
        for (const Target& target : targets.at(place)) {
            flows.push_back({target.lid, target.local_port != 0, shape.order[place]});
        }
    }
    return flows;
}

bool wants_placing(const EnginePlan& plan, const Targets& targets, const std::vector<RowDraft>& drafts) {
    const bool small = std::uint64_t{drafts.size()} * targets.size() <= kBalanceLimit;
    return (plan.placer || (plan.evening == Evening::by_flows && small)) &&
           std::all_of(drafts.begin(), drafts.end(), [](const RowDraft& draft) { return draft.is_fresh(); });
}

std::vector<LidHome> homes_of(const Topology& topology, const Targets& targets, const Shape& shape) {
    std::vector<LidHome> homes(topology.max_lid + std::size_t{1});
    for (std::size_t place = 0; place < shape.order.size(); ++place) {
        for (const Target& target : targets.at(place)) {
            homes[target.lid] = {shape.order[place], target.local_port};
        }
    }
    return homes;
}

/// Holds what the memo knows against this evaluation; nothing where that was not built on it.
std::optional<Known> known_of(const Graph& graph, const EnginePlan& plan, const EngineMemo* memo,
                              const std::vector<LidHome>& homes) {
    if (memo == nullptr || !plan.changes) {
        return std::nullopt;
    }
    const std::uint32_t count = graph.switch_count();
    Known known{memo, LineSet((count + 63) / 64), plan.changes->relinked};
    for (std::size_t lid = 0; lid < homes.size(); ++lid) {
        const LidHome old = lid < memo->homes.size() ? memo->homes[lid] : LidHome{};
        if (homes[lid].at != kNoIndex && homes[lid] != old) {
            known.moved.set(homes[lid].at / 64);
        }
    }
    const Graph& before = *memo->basis->graph;
    for (std::uint32_t at = 0; at < count; ++at) {
        const auto ports = [at](const Graph& of) {
            const std::span<const PortGroup> groups = of.groups_of(at);
            return groups.empty() ? std::span<const std::uint8_t>{}
                                  : std::span<const std::uint8_t>{of.ports.data() + groups.front().first_port,
                                                                  of.ports.data() + groups.back().first_port +
                                                                      groups.back().port_count};
        };
        const auto mine = ports(graph);
        const auto old = ports(before);
        if (!std::equal(mine.begin(), mine.end(), old.begin(), old.end())) {
            known.ports_changed[at] = 1;
        }
    }
    return known;
}

/// What all classes share.
struct Build {
    const Topology& topology;
    const Planner& planner;
    unsigned threads = 0;
    std::shared_ptr<const EngineMemo> memo;  ///< of the same switches; null: none
    std::vector<RowDraft> drafts;
    std::shared_ptr<EngineMemo> next_memo;
};

base::Result<void> fill_class(const LidClass& of, Build& build) {
    const Topology& topology = build.topology;
    std::vector<char> excluded(topology.switches.size(), 0);
    for (std::size_t at = 0; at < excluded.size(); ++at) {
        excluded[at] = topology.switches[at].lft_cap <= of.low ? 1 : 0;
    }
    const auto graph = std::make_shared<const Graph>(make_graph(topology, excluded));
    const base::Result<EnginePlan> plan =
        build.planner(graph, build.memo != nullptr ? build.memo->basis.get() : nullptr);
    if (!plan) {
        return tl::unexpected<base::Error>(plan.error());
    }
    const Targets targets(topology, plan->shape, of);
    const SlotTables tables(plan->shape, targets.numbers());
    std::vector<LidHome> homes = homes_of(topology, targets, plan->shape);
    FillJob job{*graph,
                *plan,
                targets,
                tables,
                std::vector<std::uint32_t>(topology.switches.size(), kNoIndex),
                known_of(*graph, *plan, build.memo.get(), homes)};
    for (std::uint32_t place = 0; place < plan->shape.order.size(); ++place) {
        job.places[plan->shape.order[place]] = place;
    }
    fill_rows(job, of, excluded, build.threads, build.drafts);
    if (wants_placing(*plan, targets, build.drafts)) {
        DraftRows rows;
        for (std::size_t at = 0; at < build.drafts.size(); ++at) {
            rows.push_back(excluded[at] != 0 ? nullptr : build.drafts[at].own());
        }
        (plan->placer ? plan->placer : FlowPlacer(balance_flows))(*graph, *plan,
                                                                  flow_targets(targets, plan->shape), rows);
    }
    if (plan->basis != nullptr) {
        build.next_memo = std::make_shared<EngineMemo>(EngineMemo{plan->basis, std::move(homes), {}});
    }
    return {};
}

/// The former number of every switch; empty if some were not there.
std::vector<std::uint32_t> former_numbers(const Topology& topology, const Routes& previous) {
    std::vector<std::uint32_t> old_of;
    old_of.reserve(topology.switches.size());
    std::uint32_t old = 0;
    for (const TopologySwitch& item : topology.switches) {
        while (old < previous.switch_guids.size() && previous.switch_guids[old] < item.guid) {
            ++old;
        }
        if (old == previous.switch_guids.size() || previous.switch_guids[old] != item.guid) {
            return {};
        }
        old_of.push_back(old++);
    }
    return old_of;
}

/// The memo of the previous tables in terms of this topology: of the same switches, or of some more that are
/// gone.
std::shared_ptr<const EngineMemo> memo_of(const Topology& topology, const Routes* previous,
                                          unsigned threads) {
    if (previous == nullptr || previous->memo == nullptr) {
        return nullptr;
    }
    const std::vector<std::uint32_t> old_of = former_numbers(topology, *previous);
    if (old_of.size() == previous->switch_guids.size() || old_of.empty()) {
        return old_of.empty() ? nullptr : previous->memo;
    }
    auto memo = std::make_shared<EngineMemo>();
    memo->basis = renumbered(*previous->memo->basis, old_of, threads);
    std::vector<std::uint32_t> new_of(previous->switch_guids.size(), kNoIndex);
    for (std::uint32_t at = 0; at < old_of.size(); ++at) {
        new_of[old_of[at]] = at;
        memo->rows.push_back(previous->memo->rows[old_of[at]]);
    }
    memo->homes = previous->memo->homes;
    for (LidHome& home : memo->homes) {
        home.at = home.at == kNoIndex ? kNoIndex : new_of[home.at];
    }
    return memo;
}

}  // namespace

base::Result<Routes> build_tables(const Topology& topology, const Routes* previous, unsigned threads,
                                  const Planner& planner) {
    const std::vector<LidClass> classes = lid_classes(topology);
    Build build{topology,
                planner,
                threads,
                classes.size() == 1 ? memo_of(topology, previous, threads) : nullptr,
                std::vector<RowDraft>(topology.switches.size()),
                nullptr};
    const std::size_t size = lft_row_size(topology.max_lid);
    const std::vector<std::shared_ptr<const LftRow>> old = old_rows(topology, previous);
    parallel_ranges(build.drafts.size(), 8, threads, [&](const WorkRange& range) {
        for (std::size_t at = range.begin; at < range.end; ++at) {
            build.drafts[at] = RowDraft(old[at], size);
            build.drafts[at].drop(topology.max_lid + std::size_t{1}, size);
        }
    });
    for (const LidClass& of : classes) {
        const base::Result<void> filled = fill_class(of, build);
        if (!filled) {
            return tl::unexpected<base::Error>(filled.error());
        }
    }
    Routes routes;
    for (std::size_t at = 0; at < build.drafts.size(); ++at) {
        routes.switch_guids.push_back(topology.switches[at].guid);
        routes.rows.push_back(build.drafts[at].take());
    }
    if (classes.size() == 1 && build.next_memo != nullptr) {
        build.next_memo->rows = routes.rows;
        routes.memo = std::move(build.next_memo);
    }
    return routes;
}

namespace {

EnginePlan plan_of(UpDownStep step) {
    EnginePlan plan;
    plan.lengths = std::shared_ptr<const ByteMatrix>(step.now, &step.now->whole);
    plan.down = std::shared_ptr<const ByteMatrix>(step.now, &step.now->down);
    plan.links = step.now->links;
    plan.basis = std::move(step.now);
    plan.changes = std::move(step.changes);
    return plan;
}

}  // namespace

base::Result<Routes> build_up_down_tables(const Topology& topology, const Routes* previous, unsigned threads,
                                          const Orienter& orient) {
    const std::vector<char> scarce = scarce_switches(topology);
    const bool one_graph = std::find(scarce.begin(), scarce.end(), 1) == scarce.end();
    std::optional<Orientation> orientation;
    const Planner planner = [&](const std::shared_ptr<const Graph>& graph,
                                const UpDown* before) -> base::Result<EnginePlan> {
        if (!orientation) {
            base::Result<Orientation> found = orient(one_graph ? *graph : make_graph(topology, {}));
            if (!found) {
                return tl::unexpected<base::Error>(found.error());
            }
            orientation = std::move(*found);
        }
        base::Result<UpDownStep> step = up_down_step(graph, orientation->order, before, threads);
        if (!step) {
            return tl::unexpected<base::Error>(step.error());
        }
        EnginePlan plan = plan_of(std::move(*step));
        plan.shape = shape_of(*graph, *plan.lengths, orientation->heights);
        return plan;
    };
    base::Result<Routes> routes = build_tables(topology, previous, threads, planner);
    if (routes) {
        routes->roots = std::move(orientation->roots);
    }
    return routes;
}

}  // namespace ibf::routing
