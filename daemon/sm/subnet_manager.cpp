// The control flow of a sweep. How it looks at the fabric is in look.cpp, what must hold before anything is
// written in guard.cpp, which tables are known in known_tables.cpp, who is master in mastership.cpp, the
// audit in audit.cpp, multicast in groups.cpp, MAD intake in intake.cpp, reports in report.cpp.
#include "daemon/sm/subnet_manager.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "base/overload.hpp"
#include "daemon/sm/routed.hpp"
#include "daemon/sm/stored_routes.hpp"
#include "mad/codec.hpp"

namespace ibf::sm {
namespace {

using fabric::EventRecord;
using fabric::Fabric;
using fabric::kNoNode;
using fabric::Node;
using fabric::PortRef;
using fabric::SmMode;
using mad::Completion;
using Severity = fabric::EventRecord::Severity;

/// Requests kept waiting in the transaction table: enough that every device with a free window finds work.
constexpr std::size_t kQueueAhead = 4096;
constexpr base::Duration kRetryFirst = std::chrono::seconds{1};
/// From a fabric set up to the survey of its lanes: what follows at once (joins, the last traps) has the
/// wire.
constexpr base::Duration kRest = std::chrono::milliseconds{500};
constexpr std::uint8_t kSetMethod = 2;

/// Most are shared.
bool same_row(const std::shared_ptr<const std::vector<std::uint8_t>>& a,
              const std::shared_ptr<const std::vector<std::uint8_t>>& b) {
    return a == b || (a && b && *a == *b);
}

}  // namespace

SubnetManager::SubnetManager(SmStart start)
    : config_(std::move(start.config)),
      local_(std::move(start.local)),
      begun_(start.now),
      begun_wall_(start.wall),
      mads_(config_->mads, mad::Tid{static_cast<std::uint32_t>(start.wall.time_since_epoch().count())}),
      remembered_(std::move(start.stored.lids)),
      stored_tables_(std::move(start.stored.tables)),
      stored_clean_(start.stored.clean_stop),
      stored_sm_lid_(start.stored.sm_lid),
      drains_(start.stored.drains),
      clients_known_(start.clients_known),
      clients_heard_(start.clients_known),
      election_(local_.port_guid, election_policy(*config_)),
      health_(config_->health),
      events_(start.stored.last_event_id),
      hold_because_(std::move(start.hold_because)),
      last_sweep_id_(start.stored.last_sweep_id) {
    for (const db::LaneRow& row : start.stored.lanes) {
        stored_lanes_[row.owner][row.exit.value()] = row.print;
    }
    renew_route_options();
    show_drains();
}

void SubnetManager::begin(base::Instant now, Effects& out) {
    if (holding()) {
        return begin_hold(now, out);
    }
    set_mode(SmMode::sweeping, "starting");
    request_sweep(SweepScope::full, "start", now, out);
}

// --- the pump
// ---------------------------------------------------------------------------------------------------

void SubnetManager::run(base::Instant now, Effects& out) {
    hear_sms(now, out);
    tell_audit(now, out);
    tell_lanes(now, out);
    tell_orders(now, out);
    tell_health(now, out);
    bool again = true;
    while (again) {
        again = feed();
        flush_sends(now, out);
        again = step(now, out) || again;
    }
    progress(now, out);
}

std::optional<mad::Request> SubnetManager::next_request() {
    return std::visit(base::Overload{
                          [](Idle&) -> std::optional<mad::Request> { return std::nullopt; },
                          [](Routing&) -> std::optional<mad::Request> { return std::nullopt; },
                          [](auto& phase) { return phase.next(); },
                      },
                      phase_);
}

bool SubnetManager::feed() {
    bool fed = false;
    while (mads_.queued() < kQueueAhead && mads_.room() > 0) {
        auto request = next_request();
        if (!request) {
            break;
        }
        const bool taken = mads_.submit(std::move(*request));
        IBF_CHECK(taken, "the transaction table refused a request although it had room");
        fed = true;
    }
    return fed;
}

void SubnetManager::flush_sends(base::Instant now, Effects& out) {
    wire_.clear();
    mads_.poll_send(now, wire_);
    for (mad::WireMad& mad : wire_) {
        sets_sent_ += mad.bytes[3] == kSetMethod ? 1U : 0U;
        out.emplace_back(SendMad{std::move(mad)});
    }
}

void SubnetManager::dispatch(const Completion& completion, base::Instant now) {
    const Tag tag = Tag::unpack(completion.tag);
    if (tag.ask == Ask::audit_lft) {
        return on_audit(completion, now);
    }
    if (tag.ask == Ask::lanes) {
        return on_lanes(completion);
    }
    if (tag.ask == Ask::order_port) {
        return order_answers_.push_back(completion);
    }
    if ((tag.ask == Ask::poll_sm || tag.ask == Ask::sm_info) && completion.kind == Completion::Kind::reply) {
        note_followed(mad::decode_sm_info(completion.data).guid, now);
    }
    if (tag.ask == Ask::poll_sm || tag.ask == Ask::hand_over || tag.ask == Ask::acknowledge) {
        return sm_answers_.push_back(completion);
    }
    if (tag.ask == Ask::sm_info && completion.kind == Completion::Kind::reply) {
        election_.on_sign_of_life(mad::decode_sm_info(completion.data), now);
    }
    sweep_timeouts_ += completion.kind == Completion::Kind::timeout ? 1U : 0U;
    if (tag.epoch != epoch_) {
        return dispatch_stale(completion, now);
    }
    std::visit(base::Overload{
                   [&](Idle&) { dispatch_stale(completion, now); },
                   [&](Routing&) { dispatch_stale(completion, now); },
                   [&](LightSweep& light) { light.on(completion, now); },
                   [&](Discovery& discovery) { discovery.on(completion, now); },
                   [&](TableReader& reader) {
                       tag.ask == Ask::lft_get ? reader.on(completion) : dispatch_stale(completion, now);
                   },
                   [&](Programmer& programmer) {
                       tag.ask == Ask::node_info || tag.ask == Ask::probe_silent
                           ? dispatch_stale(completion, now)
                           : programmer.on(completion);
                   },
               },
               phase_);
}

/// Answers whose question belongs to an ended phase. Only "I am here after all" matters.
void SubnetManager::dispatch_stale(const Completion& completion, base::Instant now) {
    const Tag tag = Tag::unpack(completion.tag);
    if (completion.kind != Completion::Kind::reply) {
        return;
    }
    if (tag.ask == Ask::node_info || tag.ask == Ask::probe_silent) {
        ask_silent_ = true;
        want_sweep(
            SweepScope::full,
            fmt::format("a silent device answered on directed route {}", completion.request.path.to_string()),
            now);
    }
}

bool SubnetManager::step(base::Instant now, Effects& out) {
    if (std::holds_alternative<Idle>(phase_)) {
        // A short run: before the next sweep, or sweeps that follow each other would put it off for ever.
        if (reregister_due_ && now >= *reregister_due_ && may_touch_settled()) {
            start_reregister(now);
            return true;
        }
        if (election_.role() == Role::not_active) {
            pending_.clear();
            return false;
        }
        if (may_order()) {
            ask_ports(now, out);
            return true;
        }
        if (const auto due = sweep_due(); due && now >= *due) {
            start_sweep(now, out);
            return true;
        }
        if (!may_touch_settled()) {
            return false;
        }
        if (groups_due_ && now >= *groups_due_) {
            start_groups(now);
            return true;
        }
        return go_on_balancing(now, out);
    }
    if (auto* light = std::get_if<LightSweep>(&phase_); light != nullptr && light->done(now)) {
        end_light(now, out);
        return true;
    }
    if (auto* discovery = std::get_if<Discovery>(&phase_); discovery != nullptr && discovery->done(now)) {
        end_discovery(now, out);
        return true;
    }
    if (auto* reader = std::get_if<TableReader>(&phase_); reader != nullptr && reader->done()) {
        end_reading(now, out);
        return true;
    }
    if (auto* programmer = std::get_if<Programmer>(&phase_)) {
        const auto before = programmer->stage();
        if (!programmer->advance()) {
            end_programming(now, out);
            return true;
        }
        if (before != Programmer::Stage::arm && programmer->stage() == Programmer::Stage::arm) {
            begin_phase("activate", now);
        }
        return programmer->stage() != before;
    }
    return false;
}

void SubnetManager::on_time(base::Instant now, Effects& out) {
    completions_.clear();
    mads_.on_time(now, completions_);
    for (const Completion& completion : completions_) {
        dispatch(completion, now);
    }
    if (std::holds_alternative<Idle>(phase_) && config_->sweep_interval > base::Duration{} &&
        election_.role() != Role::not_active &&
        now >= next_light_) {  // whatever else waits for the end of its hold-down
        next_light_ = now + config_->sweep_interval;
        want_sweep(SweepScope::light, "interval", now);
    }
    ask_audit(now);
    ask_lanes(now);
    poll_sms(now, out);
    run(now, out);
}

std::optional<base::Instant> SubnetManager::next_deadline() const {
    std::optional<base::Instant> at = mads_.next_deadline();
    const auto sooner = [&](base::Instant candidate) { at = at ? std::min(*at, candidate) : candidate; };
    const auto look_ends = std::visit(base::Overload{
                                          [](const LightSweep& light) { return light.deadline(); },
                                          [](const Discovery& discovery) { return discovery.deadline(); },
                                          [](const auto&) { return std::optional<base::Instant>{}; },
                                      },
                                      phase_);
    if (look_ends) {
        sooner(*look_ends);
    }
    for (const auto& due : {election_.due(), health_due_}) {
        if (due) {
            sooner(*due);
        }
    }
    if (std::holds_alternative<Idle>(phase_) && election_.role() != Role::not_active) {
        if (const auto audit = audit_.due(); audit && may_audit()) {
            sooner(*audit);
        }
        if (const auto survey = survey_due()) {
            sooner(*survey);
        }
        if (const auto due = sweep_due()) {
            sooner(*due);
        }
        for (const auto& due : {groups_due_, reregister_due_}) {
            if (due && may_touch_settled()) {
                sooner(*due);
            }
        }
        if (const auto due = rebalance_due()) {
            sooner(*due);
        }
        if (config_->sweep_interval > base::Duration{}) {
            sooner(next_light_);
        }
    }
    return at;
}

bool SubnetManager::at_rest() const {
    return std::holds_alternative<Idle>(phase_) && pending_.empty() && !reregister_due_;
}

bool SubnetManager::only_retries_left() const {
    return std::holds_alternative<Idle>(phase_) && !reregister_due_ &&
           std::all_of(pending_.begin(), pending_.end(), [](const auto& item) { return item.second.retry; });
}

// --- sweeps
// -----------------------------------------------------------------------------------------------------

void SubnetManager::request_sweep(SweepScope scope, std::string reason, base::Instant now, Effects& out) {
    want_sweep(scope, std::move(reason), now);
    run(now, out);
}

/// Of each scope there is one request: as soon as the soonest, for all their reasons. What waits for a look
/// at everything neither delays one at what was touched nor makes it one of its kind.
SubnetManager::PendingSweep& SubnetManager::want_sweep(SweepScope scope, std::string reason,
                                                       base::Instant not_before) {
    const auto full = pending_.find(SweepScope::full);
    const bool joins = scope == SweepScope::light && full != pending_.end() && !may_look_lightly();
    PendingSweep& pending =
        joins ? full->second : pending_.try_emplace(scope, PendingSweep{{}, not_before}).first->second;
    add_reasons(pending.reasons, {std::move(reason)});
    if (!joins) {
        pending.retry = false;
        pending.not_before = std::min(pending.not_before, not_before);
    }
    return pending;
}

std::optional<base::Instant> SubnetManager::sweep_due() const {
    std::optional<base::Instant> due;
    for (const auto& [scope, pending] : pending_) {
        due = due ? std::min(*due, pending.not_before) : pending.not_before;
    }
    return due;
}

/// Requests that a sweep of this scope answers: those of narrower ones, whenever they are due, as well.
SubnetManager::PendingSweep SubnetManager::take_pending(SweepScope scope) {
    PendingSweep taken;
    for (auto item = pending_.begin(); item != pending_.end() && item->first <= scope;
         item = pending_.erase(item)) {
        add_reasons(taken.reasons, std::move(item->second.reasons));
        taken.by_news = taken.by_news || item->second.by_news;
    }
    return taken;
}

void SubnetManager::retry_later(std::string reason, base::Instant now) {
    const base::Duration most = std::max(config_->sweep_interval, kRetryFirst);
    const base::Duration wait = std::min(kRetryFirst * (1 << std::min(failed_in_a_row_, 6U)), most);
    ++failed_in_a_row_;
    const auto full = pending_.find(SweepScope::full);
    const bool only_retries = full == pending_.end() || full->second.retry;
    want_sweep(SweepScope::full, std::move(reason), now + wait).retry = only_retries;
}

void SubnetManager::assign(base::Instant now, Effects& out) {
    begin_phase("assign", now);
    ports_kept_ =
        extent_ && extent_->same_owners && lids_by_ == config_ && ports_by_ == config_ && !inherits();
    if (!ports_kept_) {
        assign_lids(now, out);
        settle_clients_known();
        note_lost_clients();
    }
    renew_view();
    believe_stored_lanes();
    const std::vector<std::uint32_t> unknown = unknown_tables();
    if (unknown.empty()) {
        return start_routing(now, out);
    }
    begin_phase("read tables", now);
    phase_.emplace<TableReader>(working_, unknown, epoch_);
}

/// What a look at touched places found is written into the view of before, where that tells all.
void SubnetManager::renew_view() {
    const bool like_before = ports_kept_ && view_by_plan_ && view_fabric_ == fabric_ &&
                             extent_->gone.empty() && extent_->all_usable &&
                             working_->nodes.size() == fabric_->nodes.size() &&
                             std::none_of(working_->isolations.begin(), working_->isolations.end(),
                                          [](const fabric::Isolation& item) {
                                              return item.reason == fabric::IsolationReason::quarantined;
                                          });
    auto patched = like_before ? fabric::topology_after(*view_, *working_, extent_->nodes) : std::nullopt;
    view_ = std::make_shared<fabric::TopologyView>(patched ? std::move(*patched)
                                                           : fabric::topology_of(*working_, lids_));
    view_fabric_ = working_;
    view_by_plan_ = true;
}

void SubnetManager::assign_lids(base::Instant now, Effects& out) {
    const LidPolicy policy{config_->lmc, config_->lmc_on_enhanced_port0};
    LidPlan plan =
        plan_lids(*working_, inherits() ? adopt_lids(*working_, remembered_) : remembered_, policy);
    for (const PortRef ref : plan.unserved) {
        fabric::Isolation item{
            fabric::IsolationReason::no_lid, ref, fabric::lid_owner(working_->nodes[ref.node], ref.port),
            working_->nodes[ref.node].path, "no LID is free for it: the unicast space is full"};
        working_->isolations.push_back(std::move(item));
    }
    for (const std::string& move : plan.moves) {
        announce(Severity::warning, "lid-moved", move, {}, {}, now, out);
    }
    const auto local =
        plan.lids.find(fabric::lid_owner(working_->nodes[working_->local.node], working_->local.port));
    sm_lid_ = local == plan.lids.end() ? mad::kLidNone : local->second.base;
    fresh_lids_.clear();
    for (const auto& [guid, range] : plan.lids) {
        const auto before = remembered_.find(guid);
        if (before == remembered_.end() || before->second != range) {
            fresh_lids_.push_back(guid);
        }
    }
    if (plan.remembered != remembered_) {
        remembered_ = plan.remembered;
        out.emplace_back(Persist{{db::LidsRecord{remembered_}}});
    }
    lids_ = std::move(plan.lids);
    lids_by_ = plan.unserved.empty() ? config_ : nullptr;
}

/// A LID that was to be a port's and that it has not taken is nobody's: it may well be another port's that
/// was not seen, or the port has one that could not be read. Remembered, it would move either.
void SubnetManager::forget_untaken_lids(Effects& out) {
    std::set<mad::Guid> untaken(fresh_lids_.begin(), fresh_lids_.end());
    fresh_lids_.clear();
    if (untaken.empty()) {
        return;
    }
    for (const Node& node : working_->nodes) {
        for (auto [p, end] = fabric::addressed_ports(node); p < end; ++p) {
            const mad::PortNum port{static_cast<std::uint8_t>(p)};
            const auto planned = lids_.find(fabric::lid_owner(node, port));
            if (planned != lids_.end() && fabric::lids_of(node, port) == planned->second) {
                untaken.erase(planned->first);
            }
        }
    }
    for (const mad::Guid guid : untaken) {
        remembered_.erase(guid);
    }
    if (!untaken.empty()) {
        lids_by_ = nullptr;
        out.emplace_back(Persist{{db::LidsRecord{remembered_}}});
    }
}

void SubnetManager::end_reading(base::Instant now, Effects& out) {
    if (holding()) {
        return end_hold_reading(now, out);
    }
    for (TableReader::Target& target : std::get<TableReader>(phase_).take()) {
        const Node& node = working_->nodes[target.node];
        if (target.failed) {
            unreadable_.insert(node.guid());
            announce(Severity::warning, "table-unread",
                     fmt::format(
                         "the forwarding table of {} ({}) cannot be read: it is emptied before it is written",
                         node.description, node.guid()),
                     node.guid(), {}, now, out);
        } else {
            programmed_.insert_or_assign(
                node.guid(), Programmed{std::make_shared<const routing::LftRow>(std::move(target.row)),
                                        node.switch_info->linear_fdb_top});
        }
    }
    start_routing(now, out);
}

void SubnetManager::start_routing(base::Instant now, Effects& out) {
    auto on = with_absent(view_, *working_, routed_.get());
    renew_route_options();
    if (routes_ && routed_by_ == route_options_ && routes_alike(routed_->topology, on->topology)) {
        routes_for_ = view_;
        return start_programming(now, out);
    }
    begin_phase("route", now);
    std::shared_ptr<const routing::Routes> previous;
    if (routes_) {
        previous = std::shared_ptr<const routing::Routes>(routes_, &routes_->routes);
    } else if (inherits()) {
        previous = tables_in_force();
    } else if (!stored_tables_.empty()) {
        // The tables of the last completed run, in force or not: the same question gets the same answer
        // again.
        previous = stored_routes(stored_tables_);
    }
    out.emplace_back(ComputeRoutes{epoch_, on, std::move(previous), *route_options_,
                                   tables_held(routes_ ? &routes_->routes : nullptr)});
    phase_.emplace<Routing>(Routing{std::move(on), route_options_});
}

void SubnetManager::on_routes(std::uint16_t epoch, RoutesResult result, base::Instant now, Effects& out) {
    auto* routing = std::get_if<Routing>(&phase_);
    if (epoch != epoch_ || routing == nullptr) {
        return;
    }
    if (!result) {
        announce(Severity::error, "no-routes", result.error().message, {}, {}, now, out);
        set_mode(SmMode::failed, fmt::format("no routes: {}", result.error().message));
        fabric_ = working_;
        retry_later("no routes", now);
        finish_sweep("no routes", now, out);
        return run(now, out);
    }
    routes_ = std::make_shared<const routing::RouteOutcome>(std::move(*result));
    routes_for_ = view_;
    routed_ = std::move(routing->on);
    routed_by_ = std::move(routing->by);
    announce_routes(now, out);
    start_programming(now, out);
    run(now, out);
}

/// What every programming run is given.
ProgramInput SubnetManager::program_input() {
    ProgramInput input;
    input.fabric = working_;
    input.view = view_;
    input.lids = lids_;
    input.sm_lid = sm_lid_;
    input.config = config_;
    input.acknowledged = &acknowledged_;
    input.epoch = epoch_;
    input.max_lid = routed_ ? routed_->topology.max_lid : view_->topology.max_lid;
    return input;
}

/// Tables as wanted and as known to be in force, and the lanes that they need.
void SubnetManager::add_tables(ProgramInput& input) const {
    input.routes = std::shared_ptr<const routing::Routes>(routes_, &routes_->routes);
    input.in_force.resize(view_->switch_nodes.size());
    for (std::size_t s = 0; s < view_->switch_nodes.size(); ++s) {
        const mad::Guid guid = view_->topology.switches[s].guid;
        const auto known = programmed_.find(guid);
        if (known != programmed_.end()) {
            input.in_force[s] = known->second.row;
        } else if (unreadable_.contains(guid)) {
            input.unreadable.insert(static_cast<std::uint32_t>(s));
        }
    }
    input.lanes = plan_lane_setup(
        {*working_, *view_, routes_->routes, *config_, lanes_acknowledged_, survey_.row_by_row()});
}

void SubnetManager::start_programming(base::Instant now, Effects& out) {
    begin_phase("program", now);
    in_force_known_ = false;
    ProgramInput input = program_input();
    add_tables(input);
    for (const std::uint32_t index : change_unread_) {
        input.clear_change.insert(working_->nodes[index].guid());
    }
    if (ports_kept_) {
        input.nodes = extent_->nodes;
    }
    input.strange_mft = strange_mft_;
    add_groups(input);
    groups_due_.reset();  // who joins from here on is due a run of its own
    input.reregister = ports_of_lost_clients();
    phase_.emplace<Programmer>(std::move(input));
    static_cast<void>(out);
}

void SubnetManager::end_programming(base::Instant now, Effects& out) {
    const Programmer done = std::move(std::get<Programmer>(phase_));
    switch (done.scope()) {
        case RunScope::whole: break;
        case RunScope::groups: return end_groups(done, now, out);
        case RunScope::reregister: return end_reregister(done, now, out);
        case RunScope::tables: return end_rebalance(done, now, out);
    }
    begin_phase("settle", now);
    settle(done, now, out);
}

void SubnetManager::keep_tables(const RowsInForce& rows, Effects& out) {
    db::Batch batch;
    in_force_known_ = true;
    const routing::Routes routes = routing::in_order_of(view_->topology, routes_->routes);
    const std::string engine = table_origin(routes);
    for (std::size_t s = 0; s < rows.size(); ++s) {
        const mad::Guid guid = view_->topology.switches[s].guid;
        const std::uint32_t node = view_->switch_nodes[s];
        written_.insert(guid);
        if (!rows[s]) {
            programmed_.erase(guid);
            in_force_known_ = false;
            if (stored_tables_.erase(guid) > 0) {  // what it holds now is neither the old nor the new
                batch.emplace_back(db::TableForgetRecord{guid});
            }
            continue;
        }
        const std::uint16_t top = working_->nodes[node].switch_info
                                      ? working_->nodes[node].switch_info->linear_fdb_top
                                      : std::uint16_t{0};
        programmed_.insert_or_assign(guid, Programmed{rows[s], top});
        db::TableRecord& stored = stored_tables_[guid];
        const auto sls = s < routes.sls.size() ? routes.sls[s] : nullptr;
        const bool same = stored.lft && stored.linear_fdb_top == top && stored.engine == engine &&
                          same_row(stored.lft, rows[s]) && same_row(stored.sls, sls);
        stored = {guid, top, rows[s], engine, sls};
        if (!same) {
            batch.emplace_back(stored);
        }
    }
    if (in_force_known_ && drained_in_force_ != routed_by_->drained.elements) {
        drained_in_force_ = routed_by_->drained.elements;
        show_drains();
    }
    if (!batch.empty()) {
        out.emplace_back(Persist{std::move(batch)});
    }
}

void SubnetManager::settle(const Programmer& done, base::Instant now, Effects& out) {
    forget_untaken_lids(out);
    keep_tables(done.rows_in_force(), out);
    keep_groups(done);
    keep_lanes(done, now, out);
    report_.lft_blocks_written = done.lft_blocks();
    report_.lft_blocks_dropped = done.lft_drops();
    report_.port_sets = done.port_sets();
    report_.pkey_sets = done.pkey_sets();
    for (const ProgramFailure& failure : done.failures()) {
        fabric::Isolation item{fabric::IsolationReason::setup_failed, failure.at,
                               working_->nodes[failure.at.node].guid(), working_->nodes[failure.at.node].path,
                               failure.text};
        working_->isolations.push_back(std::move(item));
        announce(Severity::error, "setup-failed", failure.text, working_->nodes[failure.at.node].guid(),
                 failure.at.port, now, out);
    }
    for (const mad::Guid guid : done.mft_emptied()) {
        strange_mft_.erase(guid);
    }
    for (const ProgramFailure& refusal : done.refusals()) {
        const mad::Guid guid = working_->nodes[refusal.at.node].guid();
        if (refusals_told_.insert({guid, refusal.at.port}).second) {
            announce(Severity::warning, "width-refused", refusal.text, guid, refusal.at.port, now, out);
        }
    }
    judge_sweep(done, now);
    fabric_ = working_;
    const bool as_planned = done.failures().empty() && done.surprises().empty() && done.bounces() == 0;
    ports_by_ = as_planned && !discovery_incomplete_ ? config_ : nullptr;
    settled_ = fabric_;
    ++settled_sweeps_;
    survey_from_ = now + kRest;
    plan_reregister(now);
    await_quiet(now, out);
    out.emplace_back(Persist{{fabric_record()}});
    const bool first = mode_ != SmMode::up;
    set_mode(SmMode::up, done.failures().empty()
                             ? std::string("subnet up")
                             : fmt::format("subnet up, {} device(s) with trouble", done.failures().size()));
    plan_next_look(done, now);
    end_phase(now, out);
    if (first) {
        tell_phases(out);
        announce(Severity::info, "subnet-up",
                 fmt::format("SUBNET UP: {} switches, {} end ports, {} links; {} engine; {} in {}, {} MADs",
                             view_->topology.switches.size(), view_->topology.end_ports.size(),
                             fabric_->link_count(), routes_->routes.engine, report_.scope,
                             base::format_duration(now - sweep_begun_), mads_.counters().sent - sweep_mads_),
                 {}, {}, now, out);
    }
    finish_sweep("subnet up", now, out);
}

void SubnetManager::finish_sweep(std::string outcome, base::Instant now, Effects& out) {
    end_phase(now, out);
    report_.outcome = std::move(outcome);
    report_.time = now - sweep_begun_;
    report_.mads = mads_.counters().sent - sweep_mads_;
    report_.timeouts = sweep_timeouts_;
    for (const std::string& line : events_.end_sweep()) {
        out.emplace_back(Progress{line});
    }
    if (report_.scope != "light") {
        out.emplace_back(Persist{{sweep_record()}});
    }
    constexpr std::size_t kSweepsKept = 100;
    sweeps_.insert(sweeps_.begin(), report_);
    if (sweeps_.size() > kSweepsKept) {
        // The newest full sweep stays, however many light ones came after it: it tells how the fabric came
        // up.
        const auto full = std::find_if(sweeps_.begin(), sweeps_.end(),
                                       [](const auto& sweep) { return sweep.scope == "full"; });
        sweeps_.erase(full == std::prev(sweeps_.end()) ? std::prev(full) : std::prev(sweeps_.end()));
    }
    sweeping_ = false;
    working_.reset();
    change_unread_.clear();
    phase_.emplace<Idle>();
    next_light_ = now + config_->sweep_interval;
    ++version_;
}

void SubnetManager::replace_config(std::shared_ptr<const SmConfig> config, base::Instant now, Effects& out) {
    const bool rank_changed = config->priority != config_->priority;
    config_ = std::move(config);
    election_.set_policy(election_policy(*config_));
    health_.set_policy(config_->health);
    left_out_ = health_.to_leave_out();
    untrusted_told_.clear();
    if (rank_changed && election_.role() == Role::standby) {
        want_priority_trap(out);  // a master must know (IBA 14.4.1)
    }
    acknowledged_.clear();
    refusals_told_.clear();
    renew_route_options();
    request_sweep(SweepScope::full, "configuration", now, out);
}

void SubnetManager::stop(base::Instant now, Effects& out) {
    const bool clean = in_force_known_ && std::holds_alternative<Idle>(phase_) && election_.may_write();
    mads_.abandon_all();
    out.emplace_back(Persist{{db::CleanStopRecord{clean, sm_lid_}}});
    static_cast<void>(now);
}

void SubnetManager::set_mode(SmMode mode, std::string text) {
    mode_ = holding() ? SmMode::hold : mode;
    mode_text_ =
        holding() ? fmt::format("{}; nothing is written; 'ibfabric resume' ends it; {}", hold_because_, text)
                  : std::move(text);
    ++version_;
}

}  // namespace ibf::sm
