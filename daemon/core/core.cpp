#include "daemon/core/core.hpp"

#include <algorithm>
#include <utility>

#include "base/overload.hpp"
#include "mad/codec.hpp"

namespace ibf::core {
namespace {

/// What is stored is the last that clients were told, or they have to register anew.
sm::SmStart sm_start(sm::SmStart start, const sa::StoredState& state) {
    start.clients_known = state.edition != 0 && state.edition == start.stored.sa_edition;
    return start;
}

/// Counted on from whatever was there, and never below the moment: no two histories share an edition.
std::uint64_t edition_after(const sa::StoredState& state, const sm::SmStart& start) {
    const auto moment = std::max<std::int64_t>(start.wall.time_since_epoch().count(), 0);
    const std::uint64_t marked = start.stored.sa_edition.value_or(0);
    return std::max(
        {state.edition, marked == kEditionUnknown ? 0 : marked, static_cast<std::uint64_t>(moment)});
}

/// Whose port a request came from; 0: nobody knows.
mad::Guid port_of(const SaRequested& request) {
    const std::uint32_t end = request.view->by_lid(request.mad.address.lid);
    return end == sa::kNoEnd ? mad::Guid{} : request.view->ends()[end].guid;
}

}  // namespace

std::string to_line(const Event& event) {
    return std::visit(
        base::Overload{
            [](const MadReceived& e) {
                const auto smp = mad::parse_smp(e.mad.bytes);
                return smp ? fmt::format("received {}", mad::to_line(*smp))
                           : std::string("received (no SMP)");
            },
            [](const SendFailed&) { return std::string("send failed"); },
            [](const Deadline&) { return std::string("deadline"); },
            [](const RoutesReady& e) {
                return e.result
                           ? fmt::format("routes ready epoch {} engine {}", e.epoch, e.result->routes.engine)
                           : fmt::format("routes failed epoch {}: {}", e.epoch, e.result.error().message);
            },
            [](const RebalanceReady& e) { return fmt::format("re-balance answer {}", e.question); },
            [](const AdminRequested&) { return std::string("admin command"); },
            [](const ConfigReplaced& e) {
                return e.error.empty() ? std::string("configuration replaced")
                                       : fmt::format("configuration kept: {}", e.error);
            },
            [](const DatabaseState& e) { return fmt::format("database {}", e.text); },
            [](const SaRequested& e) { return fmt::format("SA request from LID {}", e.mad.address.lid); },
            [](const CopyReceived& e) {
                return fmt::format("copy of {}: {} records{}", e.from.name, e.batch.size(),
                                   e.extent == sm::CopyExtent::whole ? ", the whole" : "");
            },
            [](const CopyTold& e) { return fmt::format("{} has told edition {}", e.from.name, e.edition); },
            [](const CopyEnded& e) { return fmt::format("copy of {} ended: {}", e.from.name, e.why); },
            [](const PeerCompared& e) {
                return fmt::format("{} differs in [{}]", e.peer.name, fmt::join(e.differences, ", "));
            },
            [](const CopyTrouble& e) { return fmt::format("copies: {}", e.text); },
        },
        event);
}

sa::SaConfig sa_config(const sm::SmConfig& config) {
    sa::SaConfig sa;
    sa.sa_key = config.sa_key;
    sa.subnet_prefix = config.subnet_prefix;
    sa.packet_life_time = config.packet_life_time;
    sa.when_full = config.sa_when_full;
    sa.groups = config.multicast_groups;
    return sa;
}

Core::Core(CoreStart start)
    : Core(start, sa::state_of(start.sm.stored.sa_state, start.sm.now, start.sm.wall)) {}

Core::Core(const CoreStart& start, sa::StoredState&& state)
    : sm_(sm_start(start.sm, state)),
      sa_config_(sa_config(*start.sm.config)),
      registry_(sa_config_, sa::RegistryLimits{}),
      clients_heard_(sm_.clients_heard()),
      edition_(edition_after(state, start.sm)),
      begun_(start.sm.now),
      begun_wall_(start.sm.wall),
      copies_(start.copies) {
    registry_.restore(std::move(state.tables));
    auto first = std::make_shared<fabric::Snapshot>();
    first->transport = start.transport;
    first->config_path = start.config_path;
    first->state_dir = start.state_dir;
    snapshot_ = std::move(first);
}

void Core::begin(base::Instant now, Effects& out) {
    hand_groups(now, out);
    sm_.begin(now, out);
}

void Core::handle(Event event, base::Instant now, Effects& out) {
    const std::size_t first = out.size();
    if (!std::holds_alternative<CopyTold>(event)) {
        pass_on_clients();
    }
    std::visit(base::Overload{
                   [&](MadReceived& e) {
                       recorder_.note(FlightRecorder::Way::in, e.mad, now);
                       forward_trap(e.mad, now, out);
                       sm_.on_mad(e.mad, now, out);
                   },
                   [&](SendFailed& e) { sm_.on_send_error(e.mad, now, out); },
                   [&](Deadline&) {
                       sm_.on_time(now, out);
                       if (!sm_.takes_copies()) {  // else leases are the master's to end
                           sa::RegistryOutputs outputs;
                           registry_.on_time(now, outputs);
                           settle(std::move(outputs), {}, now, out);
                       }
                   },
                   [&](SaRequested& e) {
                       sa::RegistryOutputs outputs;
                       const auto mad = mad::parse_sa_mad(e.mad.bytes);
                       if (mad && mad->header.is_response()) {
                           registry_.on_response(*mad);
                       }
                       registry_.on_request(e.mad, *e.view, now, outputs);
                       settle(std::move(outputs), port_of(e), now, out);
                   },
                   [&](RoutesReady& e) { sm_.on_routes(e.epoch, std::move(e.result), now, out); },
                   [&](RebalanceReady& e) { sm_.on_rebalance(e.question, std::move(e.result), now, out); },
                   [&](AdminRequested& e) { command(e.command, now, out); },
                   [&](ConfigReplaced& e) {
                       config_error_ = e.error;
                       ++own_version_;
                       if (e.config) {
                           sa_config_ = sa_config(*e.config);
                           registry_.replace_config(sa_config_);
                           sm_.replace_config(std::move(e.config), now, out);
                       }
                   },
                   [&](DatabaseState& e) {
                       database_text_ = std::move(e.text);
                       ++own_version_;
                   },
                   [&](auto& e) { on_peer(std::move(e), now, out); },
               },
               event);
    follow_fabric(now, out);
    note_clients_heard(now, out);
    if (refusals_due_ && now >= *refusals_due_) {
        refusals_due_.reset();
        ++own_version_;
    }
    if (groups_due_ && now >= *groups_due_) {
        hand_groups(now, out);
    }
    const bool heir_waits = sm_.role() == sm::Role::handing_over;
    if (registry_due_ && (now >= *registry_due_ || heir_waits)) {
        persist_registry(now, out);
    }
    for (std::size_t i = first; i < out.size(); ++i) {
        if (const auto* send = std::get_if<sm::SendMad>(&out[i])) {
            recorder_.note(FlightRecorder::Way::out, send->mad, now);
        }
    }
}

void Core::command(api::AdminCommand& command, base::Instant now, Effects& out) {
    using Kind = api::AdminCommand::Kind;
    switch (command.kind) {
        case Kind::sweep_light: return sm_.request_sweep(sm::SweepScope::light, "operator", now, out);
        case Kind::sweep_full: return sm_.request_sweep(sm::SweepScope::full, "operator", now, out);
        case Kind::drain: return sm_.drain(std::move(command.element), now, out);
        case Kind::undrain: return sm_.undrain(command.element.node, command.element.port, now, out);
        case Kind::health_set: return sm_.set_health(command.port, now, out);
        case Kind::health_clear: return sm_.clear_health(command.port, now, out);
        case Kind::resume: return sm_.resume(now, out);
        case Kind::reload: return;  // the shell's: it reads the file
    }
}

/// What the registry wants done: answers sent, events told, trees that follow the members.
void Core::settle(sa::RegistryOutputs&& from, mad::Guid client, base::Instant now, Effects& out) {
    if (from.changed) {
        ++own_version_;
        registry_changed(client, now, out);  // before the answers
    }
    for (mad::WireMad& mad : from.wire) {
        out.emplace_back(sm::SendMad{std::move(mad)});
    }
    for (const fabric::EventRecord& event : from.events) {
        sm_.add_event(event, now, out);
    }
    if (!from.refusals.empty()) {
        note_refusals(std::move(from.refusals), now);
    }
    if (from.groups_changed && !groups_due_) {
        constexpr base::Duration kGather = std::chrono::milliseconds{10};  // a swarm of joins is one walk
        groups_due_ = now + kGather;
    }
}

void Core::forward_trap(const mad::WireMad& wire, base::Instant now, Effects& out) {
    const auto smp = mad::parse_smp(wire.bytes);
    if (sm_.takes_copies() || !smp || smp->header.method != static_cast<std::uint8_t>(mad::Method::trap) ||
        smp->header.attribute != mad::Attribute::notice) {
        return;
    }
    sa::RegistryOutputs outputs;
    registry_.on_trap(mad::decode_notice(smp->data), now, outputs);
    settle(std::move(outputs), {}, now, out);
}

/// Hosts try a join again for ever: one entry, with how often and when last. Readers see it a little later,
/// so that refusals cost no snapshot each.
void Core::note_refusals(std::vector<fabric::JoinRefusal>&& refusals, base::Instant now) {
    constexpr std::size_t kKept = 64;
    for (fabric::JoinRefusal& refusal : refusals) {
        const auto same = std::find_if(refusals_.begin(), refusals_.end(), [&](const auto& other) {
            return other.mgid == refusal.mgid && other.port == refusal.port && other.reason == refusal.reason;
        });
        if (same != refusals_.end()) {
            refusal.times = same->times + 1;
            refusals_.erase(same);
        } else if (refusals_.size() >= kKept) {
            refusals_.pop_back();
        }
        refusal.when = wall(now);
        refusals_.insert(refusals_.begin(), std::move(refusal));
    }
    constexpr base::Duration kGather = std::chrono::milliseconds{100};
    refusals_due_ = refusals_due_.value_or(now + kGather);
}

base::WallTime Core::wall(base::Instant now) const {
    return begun_wall_ + std::chrono::duration_cast<std::chrono::milliseconds>(now - begun_);
}

/// Where another one has become master, what is stored here is not the last that clients were told.
void Core::note_clients_heard(base::Instant now, Effects& out) {
    const bool before = std::exchange(clients_heard_, sm_.clients_heard());
    if (!before && clients_heard_) {
        registry_changed({}, now, out);
    } else if (before && !clients_heard_) {
        out.emplace_back(sm::MarkEdition{kEditionUnknown});
    }
    // Nor is it when this one follows that master without knowing what those had left with it.
    const bool took_copies = std::exchange(took_copies_, sm_.takes_copies());
    if (took_copies && !took_copies_ && !clients_heard_) {
        out.emplace_back(sm::MarkEdition{kEditionUnknown});
    }
}

/// What comes until the write is of the same edition: one mark will do for all that a port is told.
void Core::registry_changed(mad::Guid client, base::Instant now, Effects& out) {
    const bool first = !registry_due_;
    if (first) {
        constexpr base::Duration kGather = std::chrono::milliseconds{200};  // a swarm of joins is one write
        registry_due_ = now + kGather;
        ++edition_;
        told_.clear();
    }
    if ((client != mad::Guid{} && told_.insert(client).second) || first) {
        out.emplace_back(sm::MarkEdition{edition_, client});
    }
}

void Core::persist_registry(base::Instant now, Effects& out) {
    registry_due_.reset();
    const std::uint64_t edition = clients_heard_ ? edition_ : 0;
    out.emplace_back(
        sm::Persist{{db::SaStateRecord{sa::state_text(*registry_.tables(), edition, now, wall(now))}}});
}

/// The SM's part of the registry: who is in which tree. Groups that share an MLID are one tree, and who is in
/// several of them receives if in one of them.
void Core::hand_groups(base::Instant now, Effects& out) {
    groups_due_.reset();
    pass_on_clients();
    std::map<mad::Mlid, std::map<mad::Guid, bool>> trees;
    for (const auto& [mgid, group] : registry_.tables()->groups) {
        for (const auto& [guid, member] : group->members) {
            constexpr unsigned kReceives = fabric::kFullMember | fabric::kNonMember;
            bool& receives = trees[group->mlid][guid];
            receives = receives || (member.join_state & kReceives) != 0;
        }
    }
    sm::MulticastGroups groups;
    for (const auto& [mlid, ports] : trees) {
        auto& members = groups[mlid];
        members.reserve(ports.size());
        for (const auto& [guid, receives] : ports) {
            members.push_back({guid, receives});
        }
    }
    sm_.set_groups(std::move(groups), now, out);
}

/// A fabric that was set up anew: the groups that configuration makes follow it.
void Core::follow_fabric(base::Instant now, Effects& out) {
    if (sm_.settled_sweeps() == registry_sweeps_) {
        return;
    }
    registry_sweeps_ = sm_.settled_sweeps();
    auto seen = std::make_shared<fabric::Snapshot>();
    sm_.fill(*seen);
    sa::RegistryOutputs outputs;
    registry_.on_fabric(std::make_shared<const sa::View>(std::move(seen)), now, outputs);
    settle(std::move(outputs), {}, now, out);
}

std::optional<base::Instant> Core::next_deadline() const {
    std::optional<base::Instant> at = sm_.next_deadline();
    const auto registry = sm_.takes_copies() ? std::nullopt : registry_.next_deadline();
    for (const auto& other : {registry, registry_due_, groups_due_, refusals_due_}) {
        at = at && other ? std::min(*at, *other) : (at ? at : other);
    }
    return at;
}

void Core::stop(base::Instant now, Effects& out) {
    if (registry_due_) {
        persist_registry(now, out);
    }
    sm_.stop(now, out);
}

std::shared_ptr<const fabric::Snapshot> Core::snapshot(base::Instant now) {
    if (shown_ == sm_.version() && own_shown_ == own_version_) {
        return snapshot_;
    }
    auto fresh = std::make_shared<fabric::Snapshot>(*snapshot_);
    sm_.fill(*fresh);
    fresh->version = snapshot_->version + 1;
    fresh->published = wall(now);
    fresh->database_text = database_text_;
    fresh->sa = registry_.tables();
    fresh->join_refusals = refusals_;
    show_copy(*fresh);
    fresh->last_config_error = config_error_;
    shown_ = sm_.version();
    own_shown_ = own_version_;
    refusals_due_.reset();
    snapshot_ = std::move(fresh);
    return snapshot_;
}

}  // namespace ibf::core
