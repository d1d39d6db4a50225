// What the SM tells: events, phase figures, progress, the snapshot.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "daemon/fabric/delta.hpp"
#include "daemon/fabric/slow_links.hpp"
#include "daemon/sm/subnet_manager.hpp"
#include "mad/codec.hpp"

namespace ibf::sm {
namespace {

using fabric::EventRecord;
using fabric::kNoNode;
using fabric::Node;
using Severity = EventRecord::Severity;

constexpr base::Duration kProgressEvery = std::chrono::milliseconds{500};

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
    return fmt::format("{}", fmt::join(parts, separator));
}

}  // namespace

std::string SubnetManager::name_of(mad::Guid node) const {
    const std::uint32_t index = fabric_->find(node);
    return fmt::format("{} ({})",
                       index == kNoNode ? std::string("a device") : fabric_->nodes[index].description, node);
}

base::WallTime SubnetManager::wall(base::Instant now) const {
    return begun_wall_ + std::chrono::duration_cast<std::chrono::milliseconds>(now - begun_);
}

// --- events
// -----------------------------------------------------------------------------------------------------

void SubnetManager::announce(Severity severity, std::string kind, std::string text, mad::Guid guid,
                             mad::PortNum port, base::Instant now, Effects& out) {
    EventRecord event;
    event.time = wall(now);
    event.severity = severity;
    event.kind = std::move(kind);
    event.text = std::move(text);
    event.guid = guid;
    event.port = port;
    ++version_;
    if (!events_.add(event)) {
        return;
    }
    db::EventRow row{event.id,   event.time, static_cast<std::uint8_t>(event.severity),
                     event.kind, event.text, event.guid,
                     event.port};
    out.emplace_back(Persist{{std::move(row)}});
    out.emplace_back(Announce{std::move(event)});
}

void SubnetManager::add_event(const fabric::EventRecord& event, base::Instant now, Effects& out) {
    announce(event.severity, event.kind, event.text, event.guid, event.port, now, out);
}

void SubnetManager::announce_changes(const fabric::Fabric* before, base::Instant now, Effects& out) {
    if (before == nullptr || before->nodes.empty()) {
        return;  // at first sight everything is new: the summary of the sweep says it
    }
    for (const fabric::Change& change :
         extent_ ? fabric::diff(*before, *working_, extent_->nodes) : fabric::diff(*before, *working_)) {
        const bool loss = change.kind == fabric::Change::Kind::node_removed ||
                          change.kind == fabric::Change::Kind::link_down;
        announce(loss ? Severity::warning : Severity::info, std::string(fabric::to_string(change.kind)),
                 change.text, change.guid, change.port, now, out);
    }
}

/// Each isolation is told once, not in every sweep that sees it again.
void SubnetManager::announce_isolations(base::Instant now, Effects& out) {
    const auto known = [&](const fabric::Isolation& item) {
        if (!fabric_ || item.at.node == kNoNode) {
            return false;
        }
        const mad::Guid at = working_->nodes[item.at.node].guid();
        return std::any_of(fabric_->isolations.begin(), fabric_->isolations.end(),
                           [&](const fabric::Isolation& old) {
                               return old.reason == item.reason && old.at.port == item.at.port &&
                                      old.at.node != kNoNode && fabric_->nodes[old.at.node].guid() == at;
                           });
    };
    for (const fabric::Isolation& item : working_->isolations) {
        if (!known(item)) {
            const mad::Guid guid = item.guid != mad::Guid{} || item.at.node == kNoNode
                                       ? item.guid
                                       : working_->nodes[item.at.node].guid();
            announce(Severity::warning, std::string(fabric::to_string(item.reason)), item.text, guid,
                     item.at.port, now, out);
        }
    }
}

/// Each link is told once, and again if it comes to run at another rate. Of nodes that were not looked at,
/// what was told stands.
void SubnetManager::announce_slow_links(base::Instant now, Effects& out) {
    std::map<std::pair<mad::Guid, mad::PortNum>, std::uint32_t> told;
    if (extent_) {
        std::set<mad::Guid> looked_at(extent_->gone.begin(), extent_->gone.end());
        for (const std::uint32_t n : extent_->nodes) {
            looked_at.insert(working_->nodes[n].guid());
        }
        std::copy_if(slow_links_told_.begin(), slow_links_told_.end(), std::inserter(told, told.end()),
                     [&](const auto& link) { return !looked_at.contains(link.first.first); });
    }
    for (fabric::SlowLink& link :
         extent_ ? fabric::slow_links(*working_, extent_->nodes) : fabric::slow_links(*working_)) {
        const mad::Guid guid = working_->nodes[link.at.node].guid();
        const std::uint32_t mbps = link.rates.running.mbps();
        told.insert_or_assign(std::pair(guid, link.at.port), mbps);
        const auto before = slow_links_told_.find({guid, link.at.port});
        if (before == slow_links_told_.end() || before->second != mbps) {
            announce(Severity::warning, "link-below-capability", std::move(link.text), guid, link.at.port,
                     now, out);
        }
    }
    slow_links_told_ = std::move(told);
}

void SubnetManager::announce_routes(base::Instant now, Effects& out) {
    for (const routing::EngineAttempt& attempt : routes_->attempts) {
        if (!attempt.refused_because.empty()) {
            announce(Severity::warning, "engine-refused",
                     fmt::format("engine {} does not serve: {}", attempt.engine, attempt.refused_because), {},
                     {}, now, out);
        }
    }
    if (!routes_->routes.remark.empty()) {
        announce(Severity::info, "engine-remark",
                 fmt::format("engine {}: {}", routes_->routes.engine, routes_->routes.remark), {}, {}, now,
                 out);
    }
    for (std::size_t s = 0; s < view_->topology.switches.size(); ++s) {
        const routing::TopologySwitch& item = view_->topology.switches[s];
        if (item.lft_cap <= view_->topology.max_lid &&
            refusals_told_.insert({item.guid, mad::PortNum{0}}).second) {
            announce(
                Severity::warning, "small-table",
                fmt::format(
                    "switch {} ({}) can forward LIDs below {} only: those up to {} are not served through it",
                    item.name, item.guid, item.lft_cap, view_->topology.max_lid),
                item.guid, {}, now, out);
        }
    }
    const routing::Verdict& verdict = routes_->verdict;
    if (!verdict.transit_loop.empty()) {
        announce_ring(verdict, now, out);
    }
    if (verdict.unreachable_pairs > 0) {
        announce(
            Severity::error, "unreachable",
            fmt::format("{} pairs cannot be reached: {}", verdict.unreachable_pairs, verdict.first_failure),
            {}, {}, now, out);
    }
}

void SubnetManager::announce_ring(const routing::Verdict& verdict, base::Instant now, Effects& out) {
    const routing::ChannelStep& step = verdict.transit_loop.front();
    announce(
        Severity::warning, "credit-cycle-in-transit",
        fmt::format("until the new tables are written, packets that meet old and new ones may wait for each "
                    "other in a ring of {} links, e.g. over {} port {}",
                    verdict.transit_loop.size(), step.node, step.port),
        {}, {}, now, out);
}

// --- phases
// -----------------------------------------------------------------------------------------------------

void SubnetManager::begin_phase(std::string name, base::Instant now) {
    Effects none;
    end_phase(now, none);
    report_.phases.push_back({std::move(name), {}, 0, 0});
    phase_begun_ = now;
    phase_mads_ = mads_.counters().sent;
    phase_sets_ = sets_sent_;
    next_progress_ = now + kProgressEvery;
    ++version_;
}

void SubnetManager::end_phase(base::Instant now, Effects& out) {
    static_cast<void>(out);
    if (report_.phases.empty() || report_.phases.back().time != base::Duration{}) {
        return;
    }
    fabric::PhaseReport& phase = report_.phases.back();
    phase.time = std::max<base::Duration>(now - phase_begun_, base::Duration{1});
    phase.mads = mads_.counters().sent - phase_mads_;
    phase.sets = sets_sent_ - phase_sets_;
}

std::string SubnetManager::progress_text() const {
    const std::uint64_t sent = mads_.counters().sent - sweep_mads_;
    if (const auto* discovery = std::get_if<Discovery>(&phase_)) {
        return fmt::format("discover: {} nodes, {} MADs", discovery->nodes_seen(), sent);
    }
    if (const auto* programmer = std::get_if<Programmer>(&phase_)) {
        if (programmer->stage() == Programmer::Stage::lft) {
            return fmt::format("program: {} of {} table blocks, {} MADs", programmer->lft_blocks(),
                               programmer->lft_blocks_planned(), sent);
        }
        return fmt::format("{}: {} ports set, {} MADs", Programmer::name(programmer->stage()),
                           programmer->port_sets(), sent);
    }
    if (std::holds_alternative<Routing>(phase_)) {
        return fmt::format("route: computing over {} switches, {} end ports", view_->topology.switches.size(),
                           view_->topology.end_ports.size());
    }
    return report_.phases.empty() ? std::string("idle")
                                  : fmt::format("{}: {} MADs", report_.phases.back().name, sent);
}

void SubnetManager::progress(base::Instant now, Effects& out) {
    if (!sweeping_ || now < next_progress_) {
        return;
    }
    next_progress_ = now + kProgressEvery;
    std::string text = progress_text();
    if (mode_ == fabric::SmMode::sweeping) {
        mode_text_ = text;
    }
    ++version_;
    out.emplace_back(Progress{std::move(text)});
}

/// The bring-up, phase by phase, for whoever watched it.
void SubnetManager::tell_phases(Effects& out) const {
    for (const fabric::PhaseReport& phase : report_.phases) {
        out.emplace_back(Progress{fmt::format("  {:<12} {:>9} {:>10} MADs, {} of them Sets", phase.name,
                                              base::format_duration(phase.time), phase.mads, phase.sets)});
    }
}

// --- records and snapshot
// ---------------------------------------------------------------------------------------

namespace {

void add_rows(const fabric::Fabric& fabric, std::uint32_t n, db::FabricRecord& record) {
    const Node& node = fabric.nodes[n];
    record.nodes.push_back({node.guid(), node.info.type, node.description, node.info.num_ports,
                            node.info.vendor_id, node.info.device_id});
    for (std::size_t p = 0; p < node.ports.size(); ++p) {
        const fabric::Port& port = node.ports[p];
        const auto number = mad::PortNum{static_cast<std::uint8_t>(p)};
        if (!port.known) {
            continue;
        }
        record.ports.push_back(
            {node.guid(), number, port.guid, static_cast<std::uint8_t>(port.info.state),
             static_cast<std::uint8_t>(port.info.phys_state), mad::width_lanes(port.info.width_active),
             std::string(mad::to_string(port.info.speed())), mad::mtu_bytes(port.info.neighbor_mtu)});
        if (port.peer.node == kNoNode) {
            continue;
        }
        const db::LinkRow link{node.guid(), number, fabric.nodes[port.peer.node].guid(), port.peer.port};
        if (std::pair(link.a_guid, link.a_port) <= std::pair(link.b_guid, link.b_port)) {
            record.links.push_back(link);
        } else if (record.of) {  // its other end may not be among the nodes of a part
            record.links.push_back({link.b_guid, link.b_port, link.a_guid, link.a_port});
        }
    }
}

}  // namespace

db::FabricRecord SubnetManager::fabric_record() const {
    db::FabricRecord record;
    if (ports_kept_) {
        record.of = extent_->gone;
        for (const std::uint32_t n : extent_->nodes) {
            record.of->push_back(fabric_->nodes[n].guid());
        }
        for (const std::uint32_t n : extent_->nodes) {
            add_rows(*fabric_, n, record);
        }
        return record;
    }
    for (std::uint32_t n = 0; n < fabric_->nodes.size(); ++n) {
        add_rows(*fabric_, n, record);
    }
    return record;
}

db::SweepRecord SubnetManager::sweep_record() const {
    db::SweepRecord record;
    record.id = report_.id;
    record.scope = report_.scope;
    record.reasons = join(report_.reasons, "; ");
    record.started = report_.started;
    record.time = report_.time;
    record.mads = report_.mads;
    record.outcome = report_.outcome;
    std::vector<std::string> phases;
    for (const fabric::PhaseReport& phase : report_.phases) {
        phases.push_back(fmt::format(R"({{"name":"{}","seconds":{:.6f},"mads":{},"sets":{}}})", phase.name,
                                     std::chrono::duration<double>(phase.time).count(), phase.mads,
                                     phase.sets));
    }
    record.phases_json = "[" + join(phases, ",") + "]";
    return record;
}

void SubnetManager::fill(fabric::Snapshot& snapshot) const {
    snapshot.mode = mode_;
    snapshot.mode_text = mode_text_;
    snapshot.sm_guid = local_.port_guid;
    snapshot.sm_lid = sm_lid_;
    snapshot.sm_priority = config_->priority;
    snapshot.mastership = mastership();
    snapshot.started = begun_wall_;
    snapshot.mads = mads_.counters();
    snapshot.traps_received = traps_received_;
    snapshot.sweeps = sweeps_;
    snapshot.events = events_.newest_first();
    snapshot.lanes = lanes_;
    snapshot.route_options = route_options_;
    snapshot.drains = drains_shown_;
    snapshot.health = health_rows_;
    // View and fabric go together: the one indexes the other. While a sweep works on newer ones, and also
    // where the next sweep began before anybody looked, readers keep the pair they have.
    if (view_ && view_fabric_ != fabric_) {
        return;
    }
    snapshot.fabric = fabric_;
    snapshot.view = view_;
    snapshot.routes = routes_;
    snapshot.held = held_;
    snapshot.routes_for = routes_for_;
    snapshot.multicast = multicast_;
    snapshot.drift = rebalance_.report;
    snapshot.programmed.clear();
    for (std::size_t s = 0; view_ && s < view_->topology.switches.size(); ++s) {
        const auto known = programmed_.find(view_->topology.switches[s].guid);
        snapshot.programmed.push_back(known == programmed_.end() ? nullptr : known->second.row);
    }
}

}  // namespace ibf::sm
