#include "daemon/sm/election.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.hpp"

namespace ibf::sm {
namespace {

using fabric::OtherSm;
using fabric::SmTrust;
using mad::SmState;

constexpr std::size_t kPastMax = 256;                        ///< SMs remembered that are away
constexpr base::Duration kForgiven = std::chrono::hours{1};  ///< present for so long: nothing is held
constexpr base::Duration kStuck = std::chrono::minutes{1};   ///< an ActCount that stands still
constexpr std::uint32_t kHoldDoublings = 5;

constexpr std::array<Input, 5> kRequests{Input::handover, Input::acknowledge, Input::disable, Input::standby,
                                         Input::discover};

/// Rank (IBA 14.4.1).
bool outranks(std::uint8_t priority, mad::Guid guid, std::uint8_t other_priority, mad::Guid other) {
    return priority != other_priority ? priority > other_priority : guid < other;
}

bool waits(const OtherSm& other) {
    return other.state == SmState::standby || other.state == SmState::discovering;
}

/// Only a master may ask for a change, only a standby acknowledges one (IBA 14.4.1).
bool may_ask(Input input, const mad::SmInfo& shown) {
    return shown.state == (input == Input::acknowledge ? SmState::standby : SmState::master);
}

}  // namespace

std::string_view to_string(Role role) {
    switch (role) {
        case Role::discovering: return "discovering";
        case Role::standby: return "standby";
        case Role::not_active: return "not active";
        case Role::master: return "master";
        case Role::contested: return "contested";
        case Role::handing_over: return "handing over";
    }
    return "unknown";
}

std::string_view to_string(Input input) {
    switch (input) {
        case Input::higher_master: return "a master of higher rank is there";
        case Input::foreign_master: return "a master of higher rank without our SM_Key is there";
        case Input::lower_master: return "a master of lower rank is there";
        case Input::heir: return "a standby of higher priority is there";
        case Input::higher_waiting: return "one of higher rank is there";
        case Input::alone: return "nobody else is master";
        case Input::polled_master: return "it says that it is master";
        case Input::polled_waiting: return "it waits";
        case Input::polled_gone: return "it is gone";
        case Input::handover: return "HANDOVER";
        case Input::acknowledge: return "ACKNOWLEDGE";
        case Input::disable: return "DISABLE";
        case Input::standby: return "STANDBY";
        case Input::discover: return "DISCOVER";
    }
    return "unknown";
}

std::string_view to_string(Act act) {
    switch (act) {
        case Act::none: return "nothing";
        case Act::refuse: return "refuse";
        case Act::serve: return "serve";
        case Act::look: return "look";
        case Act::watch: return "watch";
        case Act::hand_over: return "hand over";
        case Act::call: return "call";
        case Act::step_down: return "step down";
        case Act::acknowledge: return "acknowledge";
        case Act::sleep: return "sleep";
    }
    return "unknown";
}

SmState sm_state(Role role) {
    switch (role) {
        case Role::discovering: return SmState::discovering;
        case Role::standby: return SmState::standby;
        case Role::not_active: return SmState::not_active;
        case Role::master:
        case Role::contested:
        case Role::handing_over: return SmState::master;
    }
    return SmState::not_active;
}

// IBA 14.4.1, read as OpenSM reads it where it leaves room: a HANDOVER is also taken by one that is
// discovering or is master already; ACKNOWLEDGE may be left out, so "I am master" serves as well.
//
// Two rows go beyond: a master that meets one of higher rank that it cannot trust steps down without handing
// over, since two that write are worse than either; and a standby's own look at the fabric never makes it
// anything else, since only polling knows whether its master is dead.
Rule rule_of(Role role, Input input) {
    using enum Act;
    constexpr Role D = Role::discovering;
    constexpr Role S = Role::standby;
    constexpr Role N = Role::not_active;
    constexpr Role M = Role::master;
    constexpr Role C = Role::contested;
    constexpr Role H = Role::handing_over;
    using Row = std::array<Rule, kRoles>;
    // clang-format off
    static constexpr std::array<Row, kInputs> kRules{{
    //                   discovering  standby           not active   master          contested       handing over
    /*higher_master */ {{{S, watch},  {S, watch},       {N, none},   {H, hand_over}, {H, hand_over}, {S, step_down}}},
    /*foreign_master*/ {{{S, watch},  {S, watch},       {N, none},   {S, step_down}, {S, step_down}, {S, step_down}}},
    /*lower_master  */ {{{S, watch},  {S, watch},       {N, none},   {C, call},      {C, call},      {C, call}}},
    /*heir          */ {{{S, watch},  {S, none},        {N, none},   {H, hand_over}, {H, hand_over}, {H, none}}},
    /*higher_waiting*/ {{{S, watch},  {S, none},        {N, none},   {M, serve},     {M, serve},     {M, serve}}},
    /*alone         */ {{{M, serve},  {S, none},        {N, none},   {M, serve},     {M, serve},     {M, serve}}},

    /*polled_master */ {{{D, none},   {S, none},        {N, none},   {M, none},      {C, call},      {S, step_down}}},
    /*polled_waiting*/ {{{D, none},   {S, none},        {N, none},   {M, none},      {M, look},      {H, hand_over}}},
    /*polled_gone   */ {{{D, none},   {D, look},        {N, none},   {M, none},      {M, look},      {M, look}}},

    /*HANDOVER      */ {{{D, look},   {M, acknowledge}, {N, refuse}, {M, look},      {M, look},      {M, look}}},
    /*ACKNOWLEDGE   */ {{{D, refuse}, {S, none},        {N, refuse}, {M, refuse},    {C, refuse},    {S, step_down}}},
    /*DISABLE       */ {{{D, refuse}, {N, sleep},       {N, refuse}, {M, refuse},    {C, refuse},    {H, refuse}}},
    /*STANDBY       */ {{{D, refuse}, {S, refuse},      {S, watch},  {M, refuse},    {C, refuse},    {H, refuse}}},
    /*DISCOVER      */ {{{D, refuse}, {D, look},        {N, refuse}, {M, refuse},    {C, refuse},    {H, refuse}}},
    }};
    // clang-format on
    return kRules[static_cast<std::size_t>(input)][static_cast<std::size_t>(role)];
}

std::uint32_t modifier_of(Input input) {
    const auto* const found = std::find(kRequests.begin(), kRequests.end(), input);
    IBF_CHECK(found != kRequests.end(), "no SubnSet(SMInfo) asks for that");
    return static_cast<std::uint32_t>(found - kRequests.begin()) + 1;
}

std::optional<Input> request_of(std::uint32_t modifier) {
    if (modifier == 0 || modifier > kRequests.size()) {
        return std::nullopt;
    }
    return kRequests[modifier - 1];
}

ElectionPolicy election_policy(const SmConfig& config) {
    return {config.priority,    config.sm_key,    config.poll_interval,
            config.poll_misses, config.hand_over, config.hand_over_hold};
}

Election::Election(mad::Guid self, const ElectionPolicy& policy) : self_(self), policy_(policy) {}

SmTrust trust_of(mad::SmKey shown, mad::SmKey ours) {
    if (shown == ours) {
        return SmTrust::ours;
    }
    return shown == mad::SmKey{} ? SmTrust::unknown : SmTrust::foreign;
}

void note_sm_info(OtherSm& sm, const mad::SmInfo& info, mad::SmKey ours) {
    const SmTrust shown = trust_of(info.sm_key, ours);
    if (sm.guid != info.guid || shown != SmTrust::unknown) {
        sm.trust = shown;
    }
    sm.guid = info.guid;
    sm.priority = info.priority;
    sm.state = info.state;
    sm.act_count = info.act_count;
    sm.answered = true;
}

// --- who is who

bool Election::outranks_us(const OtherSm& other) const {
    return outranks(other.priority, other.guid, policy_.priority, self_);
}

/// Whether mastership is to move to a standby: for its priority, never for its GUID alone, and if it has
/// vanished before, only when it has stayed (C54).
bool Election::may_inherit(const OtherSm& other, base::Instant now) const {
    // Who has our HANDOVER, and was discovering, looks before it takes mastership: it inherits all the same.
    const bool looks_first =
        role_ == Role::handing_over && other.guid == polled_.guid && other.state == SmState::discovering;
    if (policy_.hand_over == HandOver::never || (other.state != SmState::standby && !looks_first) ||
        other.trust != SmTrust::ours || other.priority <= policy_.priority) {
        return false;
    }
    const auto known = past_.find(other.guid);
    if (known == past_.end() || known->second.vanished == 0) {
        return true;
    }
    const std::uint32_t doublings = std::min(known->second.vanished - 1, kHoldDoublings);
    return now - known->second.since >= policy_.hold * (1U << doublings);
}

/// To a master, a lower one that shows another SM_Key is none: it would never hand over, and waiting for that
/// would leave the fabric to it.
bool Election::counts_as_master(const OtherSm& other, base::Instant now) const {
    if (!other.answered || other.state != SmState::master) {
        return false;
    }
    if (other.guid == predecessor_ && now < predecessor_until_) {
        return false;
    }
    return !is_master_like() || outranks_us(other) || other.trust != SmTrust::foreign;
}

Election::Sight Election::sight_of(const std::vector<OtherSm>& others, base::Instant now) const {
    Sight sight;
    const auto take_highest = [&](Input input, const auto& fits) {
        for (const OtherSm& other : others) {
            if (fits(other) && (sight.input != input ||
                                outranks(other.priority, other.guid, sight.whom.priority, sight.whom.guid))) {
                sight = {input, other};
            }
        }
        return sight.input == input;
    };
    if (take_highest(Input::lower_master, [&](const OtherSm& o) { return counts_as_master(o, now); })) {
        if (outranks_us(sight.whom)) {
            sight.input = sight.whom.trust == SmTrust::ours ? Input::higher_master : Input::foreign_master;
        }
        return sight;
    }
    if (!take_highest(Input::heir, [&](const OtherSm& o) { return o.answered && may_inherit(o, now); })) {
        static_cast<void>(take_highest(Input::higher_waiting, [&](const OtherSm& o) {
            return o.answered && waits(o) && outranks_us(o);
        }));
    }
    return sight;
}

void Election::note_vanished(mad::Guid guid, base::Instant now) {
    Past& past = past_[guid];
    if (past.present) {
        past.present = false;
        past.since = now;
        ++past.vanished;
    }
}

/// One that claims to be there and has not answered is neither: its answer may have been lost.
void Election::note_present(const std::vector<OtherSm>& others, base::Instant now) {
    for (auto& [guid, past] : past_) {
        const bool here = std::any_of(others.begin(), others.end(),
                                      [&, at = guid](const OtherSm& other) { return other.guid == at; });
        if (!here) {
            note_vanished(guid, now);
        }
    }
    for (const OtherSm& other : others) {
        if (!other.answered) {
            continue;
        }
        Past& past = past_[other.guid];
        if (!past.present) {
            past.present = true;
            past.since = now;
        } else if (now - past.since >= kForgiven) {
            past.vanished = 0;
        }
    }
    std::erase_if(past_, [&](const auto& entry) {
        return !entry.second.present && (now - entry.second.since >= kForgiven || past_.size() > kPastMax);
    });
}

// --- what comes

Election::Step Election::apply(Input input, const OtherSm& whom, base::Instant now) {
    const Rule rule = rule_of(role_, input);
    const Step step{role_, rule.next, rule.act, input, whom};
    looked_ = rule.act == Act::serve || (looked_ && role_ == rule.next);
    role_ = rule.next;
    switch (rule.act) {
        case Act::watch:
        case Act::step_down:
        case Act::call:
        case Act::hand_over: poll_from(whom, now); break;
        case Act::serve:
        case Act::look:
        case Act::sleep:
        case Act::acknowledge: polled_ = {}; break;
        case Act::none:
        case Act::refuse: break;
    }
    if (role_ == Role::master || role_ == Role::standby) {
        given_up_ = {};
    }
    return step;
}

/// Polls that run go on at their pace.
void Election::poll_from(const OtherSm& whom, base::Instant now) {
    if (polled_.guid == whom.guid) {
        return;
    }
    polled_ = whom;
    missed_ = 0;
    hastened_ = false;
    next_poll_ = now + policy_.interval;
    heard_at_ = now;
    count_moved_ = now;
}

Election::Step Election::on_fabric(const std::vector<OtherSm>& others, base::Instant now) {
    note_present(others, now);
    const Sight sight = sight_of(others, now);
    return apply(sight.input, sight.whom, now);
}

Election::Step Election::on_request(Input input, const mad::SmInfo& shown, base::Instant now) {
    OtherSm whom;
    whom.guid = shown.guid;
    whom.priority = shown.priority;
    whom.state = shown.state;
    whom.trust = trust_of(shown.sm_key, policy_.sm_key);
    const bool takes = input == Input::handover || input == Input::acknowledge;
    const bool trusted = whom.trust == SmTrust::ours || (takes && whom.trust == SmTrust::unknown);
    const bool expected =
        input != Input::acknowledge || role_ != Role::handing_over || shown.guid == polled_.guid;
    if (!trusted || !expected || !may_ask(input, shown) || shown.guid == self_) {
        return {role_, role_, Act::refuse, input, whom};
    }
    if (input == Input::handover && rule_of(role_, input).act != Act::refuse) {
        predecessor_ = shown.guid;
        predecessor_until_ = now + policy_.interval * policy_.misses;
    }
    return apply(input, whom, now);
}

// --- polling

std::optional<base::Instant> Election::due() const {
    return polled_.guid == mad::Guid{} ? std::nullopt : std::optional(next_poll_);
}

std::optional<mad::Guid> Election::poll(base::Instant now) {
    if (polled_.guid == mad::Guid{} || now < next_poll_) {
        return std::nullopt;
    }
    next_poll_ = now + policy_.interval;
    asked_at_ = now;
    return polled_.guid;
}

void Election::on_sign_of_life(const mad::SmInfo& info, base::Instant now) {
    if (info.guid == polled_.guid && info.state == polled_.state) {
        missed_ = 0;
        heard_at_ = now;
    }
}

Election::Step Election::on_poll_answer(const mad::SmInfo& info, base::Instant now) {
    if (info.guid != polled_.guid) {  // another device is where it was
        return on_poll_lost(now);
    }
    missed_ = 0;
    if (info.act_count != polled_.act_count) {
        count_moved_ = now;
    }
    note_sm_info(polled_, info, policy_.sm_key);
    const OtherSm whom = polled_;
    if (whom.state == SmState::master) {
        return apply(Input::polled_master, whom, now);
    }
    return apply(waits(whom) && outranks_us(whom) ? Input::polled_waiting : Input::polled_gone, whom, now);
}

Election::Step Election::on_poll_lost(base::Instant now) {
    const OtherSm whom = polled_;
    const bool overtaken = asked_at_ < heard_at_;  // it has answered something else since
    if (whom.guid == mad::Guid{} || overtaken || ++missed_ < policy_.misses) {
        return {role_, role_, Act::none, Input::polled_gone, whom};
    }
    const Step step = apply(Input::polled_gone, whom, now);
    given_up_ = whom.guid;
    return step;
}

void Election::on_handover_taken(base::Instant now) {
    if (role_ == Role::handing_over && !std::exchange(hastened_, true)) {
        next_poll_ = now;
    }
}

Election::Step Election::on_handover_refused(base::Instant now) {
    if (role_ != Role::handing_over) {
        return {role_, role_, Act::none, Input::polled_gone, polled_};
    }
    const OtherSm whom = polled_;
    note_vanished(whom.guid, now);  // not asked again before it has stayed as it is
    return apply(Input::polled_gone, whom, now);
}

bool Election::polled_is_stuck(base::Instant now) const {
    return polled_.guid != mad::Guid{} && missed_ == 0 && now - count_moved_ >= kStuck;
}

}  // namespace ibf::sm
