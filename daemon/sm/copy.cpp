// A standby's copy: what the master remembers is remembered here, too, and counts when this SM takes over.
//
// LIDs and tables in the fabric go before what is remembered of them (mastership.cpp, inherits()). What a
// copy alone can tell is what is not in the fabric: LIDs of ports that are away, and whether the SA here has
// all that clients left with the master's. If it has, nobody need register anew for that.
#include <algorithm>
#include <utility>

#include "daemon/sm/subnet_manager.hpp"

namespace ibf::sm {

/// A master's memory is its own, from the first Set on, also while another one has to hand over to it.
bool SubnetManager::takes_copies() const {
    switch (election_.role()) {
        case Role::discovering:
        case Role::standby:
        case Role::not_active: return true;
        case Role::master: return !election_.may_write();  // was handed over to, and looks
        case Role::contested:
        case Role::handing_over: return false;
    }
    return false;
}

void SubnetManager::take_copy(db::Batch&& batch, CopyExtent extent, std::string_view from, Effects& out) {
    if (extent == CopyExtent::whole) {
        forget_stored_tables(batch);
    }
    for (db::Record& record : batch) {
        if (const auto* lids = std::get_if<db::LidsRecord>(&record)) {
            remembered_ = lids->lids;
        } else if (const auto* table = std::get_if<db::TableRecord>(&record)) {
            stored_tables_.insert_or_assign(table->switch_guid, *table);
        } else if (const auto* forget = std::get_if<db::TableForgetRecord>(&record)) {
            stored_tables_.erase(forget->switch_guid);
        } else if (const auto* drains = std::get_if<db::DrainsRecord>(&record)) {
            drains_ = DrainBook(*drains);
            show_drains();
            renew_route_options();
        } else if (auto* sweep = std::get_if<db::SweepRecord>(&record)) {
            sweep->id = ++last_sweep_id_;
            sweep->reasons = fmt::format("[{}] {}", from, sweep->reasons);
        } else if (auto* event = std::get_if<db::EventRow>(&record)) {
            event->text = fmt::format("[{}] {}", from, event->text);
            event->id =
                events_.adopt({0, event->time, static_cast<fabric::EventRecord::Severity>(event->severity),
                               event->kind, event->text, event->guid, event->port});
            ++version_;
        }
    }
    stored_clean_ = false;
    if (!batch.empty()) {
        out.emplace_back(Persist{std::move(batch)});
    }
}

/// Tables that the master does not vouch for, of switches that we knew.
void SubnetManager::forget_stored_tables(db::Batch& whole) {
    std::set<mad::Guid> told;
    for (const db::Record& record : whole) {
        if (const auto* table = std::get_if<db::TableRecord>(&record)) {
            told.insert(table->switch_guid);
        }
    }
    for (const auto& [guid, table] : std::exchange(stored_tables_, {})) {
        if (!told.contains(guid)) {
            whole.emplace_back(db::TableForgetRecord{guid});
        }
    }
}

/// Another one is master from now on: clients leave with it what we do not hear of.
void SubnetManager::follow(mad::Guid master) {
    followed_ = master;
    followed_heard_.reset();
    clients_known_ = false;
    clients_heard_ = false;
    known_under_.reset();
    lacking_.clear();
    met_.clear();
}

/// Any answer of its.
void SubnetManager::note_followed(mad::Guid guid, base::Instant now) {
    if (guid == followed_) {
        followed_heard_ = now;
    }
}

/// Before the first Set of a take-over. A copy that ended while the master lived on may lack what clients
/// left with it since.
void SubnetManager::settle_clients_known() {
    if (followed_ == mad::Guid{}) {
        return;
    }
    const base::Duration at_once = config_->poll_interval / 4;  // an answer that was under way when it died
    const bool to_its_end = !followed_heard_ || *followed_heard_ <= clients_copy_.until + at_once;
    clients_known_ = clients_copy_.of == followed_ && clients_copy_.last && to_its_end;
    followed_ = {};
    if (clients_known_) {
        lacking_ = clients_copy_.lacking;
        clients_heard_ = lacking_.empty();
        const fabric::Node& own = working_->nodes[working_->local.node];
        known_under_ = own.ports[own.is_switch() ? 0 : working_->local.port.value()].info.sm_lid;
    }
}

/// Its clients asked at the LID of a master whose SA's memory we have; they need only learn that the LID is
/// another one.
bool SubnetManager::clients_are_ours(mad::Lid sm_lid) const {
    return sm_lid == sm_lid_ || (config_->reregister == Reregister::lost && known_under_ == sm_lid);
}

}  // namespace ibf::sm
