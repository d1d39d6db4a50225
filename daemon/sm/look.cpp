// How a sweep looks at the fabric: the light sweep asks whether anything has changed, discovery reads what
// was touched, or everything.
#include <algorithm>
#include <utility>

#include "daemon/sm/subnet_manager.hpp"

namespace ibf::sm {
namespace {

using fabric::Fabric;
using fabric::kNoNode;

/// Beside another master, that clears the bits which tell of changes when it pleases: from one look at the
/// whole fabric to the next.
constexpr std::uint32_t kLightsBeside = 6;

/// Why a device is left out is told by another place, which need not be touched when this one is well again.
bool lies_elsewhere(const fabric::Isolation& item) {
    return item.reason == fabric::IsolationReason::duplicate_guid ||
           item.reason == fabric::IsolationReason::one_way;
}

}  // namespace

/// There is something to compare with; and for whoever does not know yet who is master, every port is to be
/// asked.
bool SubnetManager::may_look_lightly() const {
    return fabric_ && !fabric_->nodes.empty() && election_.role() != Role::discovering;
}

void SubnetManager::start_sweep(base::Instant now, Effects& out) {
    const auto full = pending_.find(SweepScope::full);
    const bool light = may_look_lightly() && (full == pending_.end() || now < full->second.not_before);
    PendingSweep request = take_pending(light ? SweepScope::light : SweepScope::full);
    ++epoch_;
    sweeping_ = true;
    sweep_begun_ = now;
    last_news_look_ = request.by_news ? now : last_news_look_;
    sweep_mads_ = mads_.counters().sent;
    sweep_timeouts_ = 0;
    report_ = {};
    report_.id = ++last_sweep_id_;
    report_.reasons = std::move(request.reasons);
    report_.started = wall(now);
    report_.scope = light ? "light" : "full";
    ++version_;
    if (!light) {
        return start_discovery(std::nullopt, now);
    }
    ++light_count_;
    full_count_ = 0;
    begin_phase("light", now);
    // Soon after they fell silent (light sweeps 1, 2, 4), then every so many.
    const std::uint32_t rhythm = config_->silent_probe_sweeps;
    const bool soon = light_count_ < rhythm && (light_count_ & (light_count_ - 1)) == 0;
    const bool ask_silent = rhythm > 0 && (soon || light_count_ % rhythm == 0);
    phase_.emplace<LightSweep>(fabric_, epoch_, ask_silent, SmQuestion{own_sm_info(), config_->sm_key},
                               held_ports(now));
    static_cast<void>(out);
}

void SubnetManager::end_light(base::Instant now, Effects& out) {
    LightSweep::Result result = std::get<LightSweep>(phase_).take();
    note_held(result, now);
    if (result.changes.empty()) {
        const bool serves = settle_light(result.sms, now, out);
        if (!serves) {
            return finish_sweep(election_.may_write() ? std::string("no change") : role_text_, now, out);
        }
    } else if (!election_.may_write() && light_count_ < kLightsBeside) {
        return finish_sweep(role_text_, now, out);
    }
    if (!election_.may_write() ||
        result.changes.empty()) {  // bits that another SM clears; a role that begins
        result.touched.reset();
    }
    add_reasons(report_.reasons, std::move(result.changes));
    begin_next_look(std::move(result.touched), now);
}

/// What the look so far still waits for is asked another way, or is not there. Strangers and those that were
/// silent may answer when they like.
void SubnetManager::begin_next_look(std::optional<TouchedPlaces> touched, base::Instant now) {
    mads_.abandon_if([epoch = epoch_](const mad::Request& request) {
        const Tag tag = Tag::unpack(request.tag);
        return tag.epoch == epoch && tag.ask != Ask::node_info &&
               (tag.ask <= Ask::light_switch_info || tag.ask == Ask::recheck_port);
    });
    ++epoch_;
    start_discovery(std::move(touched), now);
}

void SubnetManager::add_reasons(std::vector<std::string>& to, std::vector<std::string> reasons) {
    constexpr std::size_t kReasonsMax = 16;
    for (std::string& reason : reasons) {
        if (to.size() < kReasonsMax && std::find(to.begin(), to.end(), reason) == to.end()) {
            to.push_back(std::move(reason));
        }
    }
}

/// `touched`: where to look; nullopt: everywhere. Looks everywhere that follow each other, without a light
/// sweep in between, ask the silent now and then.
void SubnetManager::start_discovery(std::optional<TouchedPlaces> touched, base::Instant now) {
    begin_phase("discover", now);
    const std::uint32_t rhythm = config_->silent_probe_sweeps;
    const bool due = !touched && rhythm > 0 && ++full_count_ % rhythm == 0;
    const bool in_doubt = std::exchange(in_doubt_, false);
    // Behind who was silent a moment ago a master may live.
    const bool asks_silent =
        std::exchange(ask_silent_, false) || due || election_.role() == Role::discovering;
    if (asks_silent ||
        (fabric_ && std::any_of(fabric_->isolations.begin(), fabric_->isolations.end(), lies_elsewhere))) {
        touched.reset();
    }
    report_.scope = touched ? "touched" : "full";
    DiscoveryInput input;
    input.previous = fabric_;
    input.silent = asks_silent ? SilentPlaces{} : silent_;
    if (!touched) {
        input.renamed = std::exchange(renamed_, {});
    }
    input.touched = std::move(touched);
    input.leave = election_.may_write() && !in_doubt ? WriteLeave::granted : WriteLeave::reading_only;
    input.epoch = epoch_;
    input.timeout = config_->mads.timeout;
    input.own_port_guid = local_.port_guid;
    input.sm_key = config_->sm_key;
    input.shown = own_sm_info();
    input.dead_sm = election_.given_up();
    input.dead_sm_timeout = election_.last_timeout();
    phase_.emplace<Discovery>(std::move(input), now);
}

void SubnetManager::end_discovery(base::Instant now, Effects& out) {
    Discovery::Result result = std::get<Discovery>(phase_).take();
    if (!result.contradiction.empty()) {  // what was touched does not fit what was known
        add_reasons(report_.reasons, {std::move(result.contradiction)});
        return begin_next_look(std::nullopt, now);
    }
    working_ = std::make_shared<Fabric>(std::move(result.fabric));
    change_unread_ = std::move(result.change_unread);
    extent_ = std::move(result.extent);
    for (const mad::Guid owner : result.reset) {
        survey_.forget(owner);
        lanes_acknowledged_.erase(owner);
    }
    discovery_incomplete_ = result.incomplete;
    light_count_ = 0;
    if (!local_port_ready(now, out)) {
        return;
    }
    silent_.clear();
    for (const fabric::Isolation& item : working_->isolations) {
        if (item.reason != fabric::IsolationReason::silent || item.at.node == kNoNode) {
            continue;
        }
        if (item.at == working_->local) {
            discovery_incomplete_ = true;  // all of the fabric lies behind it: asked again soon, and in full
        } else {
            silent_.insert({working_->nodes[item.at.node].guid(), item.at.port});
        }
    }
    if (holding()) {
        return end_hold_look(now, out);
    }
    note_changes(result.previous, now);
    leave_out_ill(now, out);
    announce_changes(fabric_.get(), now, out);
    announce_isolations(now, out);
    announce_slow_links(now, out);
    look_at_drains(now, out);
    if (waits_for_silent_sm(now, out) || looks_for_who_asked(now, out) || looks_past_silence(now, out) ||
        looks_past_hand_over(now, out)) {
        return;
    }
    if (!settle_mastership(working_->sms, now, out)) {
        fabric_ = working_;
        view_ = std::make_shared<fabric::TopologyView>(fabric::topology_of(*fabric_, {}));
        view_fabric_ = fabric_;
        view_by_plan_ = false;
        return finish_sweep(role_text_, now, out);
    }
    assign(now, out);
}

}  // namespace ibf::sm
