// Hold mode: a daemon that keeps dying does not go on writing into the fabric. It looks, so that the SA can
// answer with the LIDs that ports have and the tables that switches hold, and it writes nothing at all: no
// PortStateChange is cleared, no route is computed, no mastership taken. To other SMs it is NOT ACTIVE. An
// operator ends it.
#include <algorithm>
#include <utility>

#include "daemon/sm/subnet_manager.hpp"

namespace ibf::sm {

using fabric::Fabric;
using fabric::Node;
using Severity = fabric::EventRecord::Severity;

void SubnetManager::begin_hold(base::Instant now, Effects& out) {
    set_mode(fabric::SmMode::hold, "starting");
    announce(Severity::error, "hold",
             hold_because_ + ": hold mode, nothing is written. 'ibfabric resume' ends it", {}, {}, now, out);
    request_sweep(SweepScope::full, "start", now, out);
}

void SubnetManager::resume(base::Instant now, Effects& out) {
    if (hold_because_.empty()) {
        return;
    }
    hold_because_.clear();
    held_.reset();
    sls_unknown_ = 0;
    if (!std::holds_alternative<Idle>(phase_)) {
        finish_sweep("abandoned: resumed", now, out);
    }
    forget_mastership();
    groups_due_.reset();
    set_mode(fabric::SmMode::sweeping, "resumed");
    announce(Severity::warning, "resumed", "hold mode was ended by an operator", {}, {}, now, out);
    request_sweep(SweepScope::full, "resumed", now, out);
}

/// The fabric is as it is: LIDs as ports have them, tables as they were stored or else as they are read now.
void SubnetManager::end_hold_look(base::Instant now, Effects& out) {
    announce_changes(fabric_.get(), now, out);
    announce_isolations(now, out);
    lids_.clear();
    sm_lid_ = fabric::lids_of(working_->nodes[working_->local.node], working_->local.port).base;
    std::vector<std::uint32_t> unknown;
    for (std::uint32_t n = 0; n < working_->nodes.size(); ++n) {
        const Node& node = working_->nodes[n];
        for (auto [p, end] = fabric::addressed_ports(node); p < end; ++p) {
            const mad::PortNum port{static_cast<std::uint8_t>(p)};
            if (const mad::LidRange lids = fabric::lids_of(node, port); lids.base != mad::kLidNone) {
                lids_.emplace(fabric::lid_owner(node, port), lids);
            }
        }
        if (node.is_switch() && node.switch_info && !holds_as_stored(node)) {
            unknown.push_back(n);
        }
    }
    if (unknown.empty()) {
        return end_hold_reading(now, out);
    }
    begin_phase("read tables", now);
    phase_.emplace<TableReader>(working_, unknown, epoch_);
}

/// A table that is known already, or was stored and to all appearances is still there: the switch is ours,
/// and its top is as it was.
bool SubnetManager::holds_as_stored(const Node& node) {
    const std::uint16_t top = node.switch_info->linear_fdb_top;
    if (sm_lid_ == mad::kLidNone || node.ports[0].info.sm_lid != sm_lid_) {
        return false;  // another one writes, while we hold
    }
    const auto known = programmed_.find(node.guid());
    if (known != programmed_.end()) {
        return known->second.top == top;
    }
    const auto stored = stored_tables_.find(node.guid());
    if (stored == stored_tables_.end() || !stored->second.lft || stored->second.linear_fdb_top != top) {
        return false;
    }
    programmed_.insert_or_assign(node.guid(), Programmed{stored->second.lft, top});
    return true;
}

void SubnetManager::end_hold_reading(base::Instant now, Effects& out) {
    if (auto* reader = std::get_if<TableReader>(&phase_)) {
        for (TableReader::Target& target : reader->take()) {
            const Node& node = working_->nodes[target.node];
            programmed_.erase(node.guid());
            if (!target.failed) {
                programmed_.emplace(node.guid(),
                                    Programmed{std::make_shared<const routing::LftRow>(std::move(target.row)),
                                               node.switch_info->linear_fdb_top});
            }
        }
    }
    view_ = std::make_shared<fabric::TopologyView>(fabric::topology_of(*working_, lids_));
    view_fabric_ = working_;
    view_by_plan_ = false;
    fabric_ = working_;
    ++settled_sweeps_;  // the SA is to know who is there
    const std::size_t unknown_before = sls_unknown_;
    find_held_sls();
    std::string text = fmt::format("{} switches and {} ports are looked at", view_->topology.switches.size(),
                                   view_->topology.end_ports.size());
    if (sls_unknown_ > 0) {
        const std::string lost = fmt::format(
            "the tables in force need lanes, and of {} switch(es) it is not known which SL their paths have: "
            "the SA says SL 0",
            sls_unknown_);
        text += "; " + lost;
        if (unknown_before == 0) {
            announce(Severity::warning, "hold-lanes", lost, {}, {}, now, out);
        }
    }
    set_mode(fabric::SmMode::hold, std::move(text));
    finish_sweep("hold: nothing was written", now, out);
}

/// SLs are stored with the table that they were proved with, and hold where that one is in force.
void SubnetManager::find_held_sls() {
    auto held = std::make_shared<routing::Routes>();
    const bool any_stored = std::any_of(stored_tables_.begin(), stored_tables_.end(),
                                        [](const auto& item) { return item.second.sls != nullptr; });
    sls_unknown_ = 0;
    for (const routing::TopologySwitch& item : view_->topology.switches) {
        const auto known = programmed_.find(item.guid);
        const auto stored = stored_tables_.find(item.guid);
        const bool as_stored = known != programmed_.end() && stored != stored_tables_.end() &&
                               known->second.row && stored->second.lft &&
                               *known->second.row == *stored->second.lft;
        held->switch_guids.push_back(item.guid);
        held->rows.push_back(known == programmed_.end() ? nullptr : known->second.row);
        held->sls.push_back(as_stored ? stored->second.sls : nullptr);
        sls_unknown_ += (as_stored && any_stored) || stored_lanes_.empty() ? 0U : 1U;
    }
    held_ = std::move(held);
}

}  // namespace ibf::sm
