// Multicast: who is in which group becomes tables in the switches, in each programming run and between
// sweeps.
#include "daemon/sm/subnet_manager.hpp"

namespace ibf::sm {

using fabric::Fabric;
using Severity = fabric::EventRecord::Severity;

void SubnetManager::add_groups(ProgramInput& input) const {
    // Trees keep off what is drained as paths do.
    const routing::Elements& drained = route_options_->drained.elements;
    input.groups = drained.empty()
                       ? plan_trees(view_->topology, groups_)
                       : plan_trees(routing::mask_drained(view_->topology, drained).topology, groups_);
    // A switch with a smaller table than there was room for when a group was made: it drops the group's
    // packets, as it would whatever it was told.
    for (std::uint32_t s = 0; s < input.groups.size(); ++s) {
        const fabric::Node& node = input.fabric->nodes[view_->switch_nodes[s]];
        const std::uint32_t room = node.switch_info ? node.switch_info->multicast_fdb_cap : 0;
        limit_row(input.groups[s], room);
    }
    input.groups_in_force.resize(input.groups.size());
    for (std::uint32_t s = 0; s < input.groups.size(); ++s) {
        const auto known = groups_programmed_.find(view_->topology.switches[s].guid);
        if (known != groups_programmed_.end()) {
            input.groups_in_force[s] = known->second;
        } else {
            input.groups_unknown.insert(s);
        }
    }
}

void SubnetManager::set_groups(MulticastGroups groups, base::Instant now, Effects& out) {
    if (groups == groups_) {
        return;
    }
    groups_ = std::move(groups);
    constexpr base::Duration kGather = std::chrono::milliseconds{20};  // joins come in swarms
    groups_due_ = groups_due_.value_or(now + kGather);
    run(now, out);
}

/// Members came or went: the switches' multicast tables follow, nothing else is looked at.
void SubnetManager::start_groups(base::Instant now) {
    groups_due_.reset();
    ProgramInput input = begin_short_run(RunScope::groups, now);
    add_groups(input);
    phase_.emplace<Programmer>(std::move(input));
}

void SubnetManager::keep_groups(const Programmer& done) {
    const auto rows = done.groups_in_force();
    for (std::size_t s = 0; s < rows.size(); ++s) {
        const mad::Guid guid = view_->topology.switches[s].guid;
        if (rows[s]) {
            groups_programmed_.insert_or_assign(guid, *rows[s]);
        } else {
            groups_programmed_.erase(guid);
        }
    }
    multicast_ = std::make_shared<const fabric::MulticastTables>(groups_programmed_);
}

void SubnetManager::end_groups(const Programmer& done, base::Instant now, Effects& out) {
    keep_groups(done);
    tell_failures(done, now, out);
    end_short_run();
    if (!done.failures().empty()) {
        retry_later("multicast tables were not taken", now);
    }
}

// --- runs between sweeps

bool SubnetManager::may_touch_settled() const {
    return std::holds_alternative<Idle>(phase_) && settled_ && settled_ == fabric_ && election_.may_write() &&
           !in_doubt_;
}

ProgramInput SubnetManager::begin_short_run(RunScope scope, base::Instant now) {
    ++epoch_;
    working_ = std::make_shared<Fabric>(*fabric_);
    phase_begun_ = now;
    ProgramInput input = program_input();
    input.scope = scope;
    return input;
}

void SubnetManager::tell_failures(const Programmer& done, base::Instant now, Effects& out) {
    for (const ProgramFailure& failure : done.failures()) {
        announce(Severity::error, "setup-failed", failure.text, working_->nodes[failure.at.node].guid(),
                 failure.at.port, now, out);
    }
}

void SubnetManager::end_short_run() {
    fabric_ = working_;
    view_fabric_ = working_;  // the same nodes in the same places
    settled_ = working_;
    working_.reset();
    phase_.emplace<Idle>();
    ++version_;
}

}  // namespace ibf::sm
