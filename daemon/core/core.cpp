#include "daemon/core/core.hpp"

#include <algorithm>

#include "daemon/sa/registry_state.hpp"
#include "mad/codec.hpp"

namespace ibf::core {
namespace {

template <class... Ts>
struct Overload : Ts... {
    using Ts::operator()...;
};

}  // namespace

std::string to_line(const Event& event) {
    return std::visit(
        Overload{
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
            [](const AdminRequested&) { return std::string("admin command"); },
            [](const ConfigReplaced& e) {
                return e.error.empty() ? std::string("configuration replaced")
                                       : fmt::format("configuration kept: {}", e.error);
            },
            [](const DatabaseState& e) { return fmt::format("database {}", e.text); },
            [](const SaRequested& e) { return fmt::format("SA request from LID {}", e.mad.address.lid); },
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
    : sm_(start.sm),
      registry_(sa_config(*start.sm.config), sa::RegistryLimits{}),
      begun_(start.sm.now),
      begun_wall_(start.sm.wall) {
    registry_.restore(sa::tables_of(start.sm.stored.sa_state, start.sm.now, start.sm.wall));
    auto first = std::make_shared<fabric::Snapshot>();
    first->transport = std::move(start.transport);
    first->config_path = std::move(start.config_path);
    first->state_dir = std::move(start.state_dir);
    snapshot_ = std::move(first);
}

void Core::begin(base::Instant now, Effects& out) {
    hand_groups(now, out);
    sm_.begin(now, out);
}

void Core::handle(Event event, base::Instant now, Effects& out) {
    const std::size_t first = out.size();
    std::visit(Overload{
                   [&](MadReceived& e) {
                       recorder_.note(FlightRecorder::Way::in, e.mad, now);
                       forward_trap(e.mad, now, out);
                       sm_.on_mad(e.mad, now, out);
                   },
                   [&](SendFailed& e) { sm_.on_send_error(e.mad, now, out); },
                   [&](Deadline&) {
                       sm_.on_time(now, out);
                       sa::RegistryOutputs outputs;
                       registry_.on_time(now, outputs);
                       settle(std::move(outputs), now, out);
                   },
                   [&](SaRequested& e) {
                       sa::RegistryOutputs outputs;
                       const auto mad = mad::parse_sa_mad(e.mad.bytes);
                       if (mad && mad->header.is_response()) {
                           registry_.on_response(*mad);
                       }
                       registry_.on_request(e.mad, *e.view, now, outputs);
                       settle(std::move(outputs), now, out);
                   },
                   [&](RoutesReady& e) { sm_.on_routes(e.epoch, std::move(e.result), now, out); },
                   [&](AdminRequested& e) {
                       if (e.command.kind != api::AdminCommand::Kind::reload) {
                           const bool full = e.command.kind == api::AdminCommand::Kind::sweep_full;
                           sm_.request_sweep(full ? sm::SweepScope::full : sm::SweepScope::light, "operator",
                                             now, out);
                       }
                   },
                   [&](ConfigReplaced& e) {
                       config_error_ = e.error;
                       ++own_version_;
                       if (e.config) {
                           registry_.replace_config(sa_config(*e.config));
                           sm_.replace_config(std::move(e.config), now, out);
                       }
                   },
                   [&](DatabaseState& e) {
                       database_text_ = std::move(e.text);
                       ++own_version_;
                   },
               },
               event);
    follow_fabric(now, out);
    if (groups_due_ && now >= *groups_due_) {
        hand_groups(now, out);
    }
    if (registry_due_ && now >= *registry_due_) {
        persist_registry(now, out);
    }
    for (std::size_t i = first; i < out.size(); ++i) {
        if (const auto* send = std::get_if<sm::SendMad>(&out[i])) {
            recorder_.note(FlightRecorder::Way::out, send->mad, now);
        }
    }
}

/// What the registry wants done: answers sent, events told, trees that follow the members.
void Core::settle(sa::RegistryOutputs&& from, base::Instant now, Effects& out) {
    for (mad::WireMad& mad : from.wire) {
        out.emplace_back(sm::SendMad{std::move(mad)});
    }
    for (const fabric::EventRecord& event : from.events) {
        sm_.add_event(event, now, out);
    }
    if (!from.refusals.empty()) {
        note_refusals(std::move(from.refusals), now);
    }
    if (from.changed) {
        ++own_version_;
    }
    if (from.changed && !registry_due_) {
        constexpr base::Duration kGather = std::chrono::milliseconds{200};  // a swarm of joins is one write
        registry_due_ = now + kGather;
    }
    if (from.groups_changed && !groups_due_) {
        constexpr base::Duration kGather = std::chrono::milliseconds{10};  // a swarm of joins is one walk
        groups_due_ = now + kGather;
    }
}

void Core::forward_trap(const mad::WireMad& wire, base::Instant now, Effects& out) {
    const auto smp = mad::parse_smp(wire.bytes);
    if (!smp || smp->header.method != static_cast<std::uint8_t>(mad::Method::trap) ||
        smp->header.attribute != mad::Attribute::notice) {
        return;
    }
    sa::RegistryOutputs outputs;
    registry_.on_trap(mad::decode_notice(smp->data), now, outputs);
    settle(std::move(outputs), now, out);
}

/// Hosts try a join again for ever: one entry, with how often and when last.
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
    ++own_version_;
}

base::WallTime Core::wall(base::Instant now) const {
    return begun_wall_ + std::chrono::duration_cast<std::chrono::milliseconds>(now - begun_);
}

void Core::persist_registry(base::Instant now, Effects& out) {
    registry_due_.reset();
    out.emplace_back(sm::Persist{{db::SaStateRecord{sa::state_text(*registry_.tables(), now, wall(now))}}});
}

/// The SM's part of the registry: who is in which tree. Groups that share an MLID are one tree, and who is in
/// several of them receives if in one of them.
void Core::hand_groups(base::Instant now, Effects& out) {
    groups_due_.reset();
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
    settle(std::move(outputs), now, out);
}

std::optional<base::Instant> Core::next_deadline() const {
    std::optional<base::Instant> at = sm_.next_deadline();
    for (const auto& other : {registry_.next_deadline(), registry_due_, groups_due_}) {
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
    fresh->last_config_error = config_error_;
    shown_ = sm_.version();
    own_shown_ = own_version_;
    snapshot_ = std::move(fresh);
    return snapshot_;
}

}  // namespace ibf::core
