// What must hold before anything is written: our own port works, and every SM that claims to be there has
// been heard. Who is master then is the election's to say (mastership.cpp).
#include <algorithm>
#include <utility>

#include "daemon/sm/subnet_manager.hpp"

namespace ibf::sm {
namespace {

using fabric::Fabric;
using fabric::kNoNode;
using fabric::Node;
using fabric::SmMode;
using Severity = fabric::EventRecord::Severity;

constexpr base::Duration kLookAgain = std::chrono::milliseconds{100};
constexpr std::uint32_t kGuardWaits = 3;  ///< sweeps that wait for a silent SM's word before the first Set

}  // namespace

bool SubnetManager::local_port_ready(base::Instant now, Effects& out) {
    const auto wait = [&](SmMode mode, std::string text) {
        set_mode(mode, text);
        fabric_ = working_;
        retry_later(text, now);
        finish_sweep(std::move(text), now, out);
        return false;
    };
    if (working_->nodes.empty()) {
        return wait(SmMode::waiting, fmt::format("{} port {} does not answer: no management agent behind it",
                                                 local_.device, local_.port));
    }
    const Node& node = working_->nodes[0];
    const fabric::Port& port = node.ports[working_->local.port.value()];
    if (!node.is_switch() && port.known && !port.info.linked()) {
        return wait(SmMode::port_down,
                    fmt::format("port down: {} port {} has no link ({}); waiting for a cable", local_.device,
                                local_.port, mad::to_string(port.info.phys_state)));
    }
    const auto cut_off = std::find_if(working_->isolations.begin(), working_->isolations.end(),
                                      [&](const fabric::Isolation& item) {
                                          return item.at == working_->local && port.peer.node == kNoNode;
                                      });
    if (!node.is_switch() && cut_off != working_->isolations.end()) {
        // The whole subnet lies behind it. What was known stays: it is not gone, we do not see it.
        const std::string text = fmt::format("the other end of our cable: {}", cut_off->text);
        set_mode(SmMode::waiting, text);
        if (!fabric_) {
            fabric_ = working_;
        }
        retry_later(text, now);
        finish_sweep(text, now, out);
        return false;
    }
    return true;
}

/// An SM that is there but does not answer may be the master: nothing is written before it was asked a few
/// times over.
bool SubnetManager::waits_for_silent_sm(base::Instant now, Effects& out) {
    const auto silent =
        std::find_if(working_->sms.begin(), working_->sms.end(),
                     [&](const fabric::OtherSm& sm) { return !sm.answered && !election_.given_up(sm.guid); });
    if (election_.role() != Role::discovering || silent == working_->sms.end()) {
        return false;
    }
    const Node& node = working_->nodes[silent->at.node];
    const std::string who = fmt::format("the subnet manager on {} ({}) port {} does not answer",
                                        node.description, node.guid(), silent->at.port);
    if (++guard_waits_ > kGuardWaits) {
        announce(Severity::warning, "sm-silent",
                 fmt::format("{}, asked in {} sweeps: it is taken for dead", who, kGuardWaits + 1),
                 node.guid(), silent->at.port, now, out);
        return false;
    }
    const std::string text = who + ": it is asked again before anything is written";
    retry_later(text, now);
    look_again_first(text, now, out);
    return true;
}

/// Something fell silent in the middle of the look, and a master may be behind it: one more look before this
/// SM takes itself for the only one.
bool SubnetManager::looks_past_silence(base::Instant now, Effects& out) {
    if (election_.role() != Role::discovering || !discovery_incomplete_) {
        silence_met_ = false;
        return false;
    }
    if (std::exchange(silence_met_, true)) {
        silence_met_ = false;
        return false;  // it is silent for good
    }
    const std::string text =
        "a device fell silent while it was looked at: the fabric is looked at again before "
        "anything is written";
    want_sweep(SweepScope::full, text, now + kLookAgain);
    look_again_first(text, now, out);
    return true;
}

/// A standby has a master. Where a look shows the one and not the other, and nobody is known to have died,
/// mastership was handed on under the look: to an SM that was asked before it had it, by one that was asked
/// after. The next look finds the heir.
bool SubnetManager::looks_past_hand_over(base::Instant now, Effects& out) {
    const auto shows = [&](mad::SmState state) {
        return std::any_of(working_->sms.begin(), working_->sms.end(),
                           [&](const fabric::OtherSm& sm) { return sm.answered && sm.state == state; });
    };
    const bool orphans = election_.role() == Role::discovering && election_.given_up() == mad::Guid{} &&
                         shows(mad::SmState::standby) && !shows(mad::SmState::master);
    if (!orphans || std::exchange(orphans_met_, true)) {
        orphans_met_ = false;
        return false;
    }
    const std::string text =
        "a subnet manager stands by, and nobody is master: the fabric is looked at again before anything is "
        "written";
    want_sweep(SweepScope::full, text, now);
    look_again_first(text, now, out);
    return true;
}

/// Whoever has asked us is an SM that began after we had passed its port: two that start at once would both
/// find themselves alone. One more look for each.
bool SubnetManager::looks_for_who_asked(base::Instant now, Effects& out) {
    constexpr std::size_t kLookedForMax = 64;
    bool news = false;
    for (const mad::Guid guid : std::exchange(heard_, {})) {
        const bool seen = std::any_of(working_->sms.begin(), working_->sms.end(),
                                      [&](const auto& sm) { return sm.guid == guid || guid == mad::Guid{}; });
        news = news || (!seen && looked_for_.size() < kLookedForMax && looked_for_.insert(guid).second);
    }
    if (!news || election_.role() != Role::discovering) {
        return false;
    }
    const std::string text = "another subnet manager has begun: it is looked for before anything is written";
    want_sweep(SweepScope::full, text, now);
    look_again_first(text, now, out);
    return true;
}

void SubnetManager::look_again_first(const std::string& text, base::Instant now, Effects& out) {
    set_mode(SmMode::sweeping, text);
    fabric_ = working_;
    finish_sweep(text, now, out);
}

}  // namespace ibf::sm
