// Mastership: the I/O of the election (election.hpp). What is asked of other SMs and answered to them, what a
// change of role does to a sweep and to what is known of the fabric, and what is said of it.
#include <algorithm>

#include "base/check.hpp"
#include "daemon/sm/answer.hpp"
#include "daemon/sm/subnet_manager.hpp"
#include "mad/codec.hpp"

namespace ibf::sm {
namespace {

using fabric::Fabric;
using fabric::kNoNode;
using fabric::Node;
using fabric::OtherSm;
using fabric::PortRef;
using fabric::SmMode;
using fabric::SmTrust;
using mad::Completion;
using Severity = fabric::EventRecord::Severity;

constexpr mad::MadStatus kStatusInvalid = 0x001C;  ///< a field of attribute or modifier is not valid (13.4.7)
constexpr std::size_t kHeardMax = 64;              ///< SMs that made themselves heard, and no sweep shows
constexpr std::uint32_t kTrapSends = 3;            ///< without a TrapRepress

/// The port that an SM's GUID names.
PortRef port_of_sm(const Fabric& fabric, mad::Guid guid) {
    const auto known = std::find_if(fabric.sms.begin(), fabric.sms.end(),
                                    [&](const OtherSm& sm) { return sm.guid == guid; });
    if (known != fabric.sms.end()) {
        return known->at;
    }
    for (std::uint32_t n = 0; n < fabric.nodes.size(); ++n) {
        const Node& node = fabric.nodes[n];
        for (auto [p, end] = fabric::addressed_ports(node); p < end; ++p) {
            const PortRef ref{n, mad::PortNum{static_cast<std::uint8_t>(p)}};
            if (node.ports[p].known && fabric::lid_owner(node, ref.port) == guid) {
                return ref;
            }
        }
    }
    return {};
}

/// This one stays master, and another one may have written meanwhile. Who stands by has not.
bool has_shared(const Election::Step& step) {
    const bool takes_back = step.from == Role::handing_over && step.input != Input::higher_waiting;
    const bool was_handed = step.act == Act::look && step.input == Input::handover;
    return step.to == Role::master && (step.from == Role::contested || takes_back || was_handed);
}

/// Trap 144 that tells of a changed SM priority (IBA 14.2.5.1: OtherLocalChanges, SMPriorityChange).
mad::Notice priority_notice(mad::NodeType producer, const mad::PortInfo& own) {
    constexpr std::uint8_t kTypeInformational = 4;
    constexpr std::uint16_t kTrapCapability = 144;
    mad::Notice notice;
    notice.type = kTypeInformational;
    notice.producer = static_cast<std::uint32_t>(producer);
    notice.trap_number = kTrapCapability;
    notice.issuer_lid = own.lid;
    const auto put = [&](std::size_t at, std::size_t bytes, std::uint32_t value) {
        for (std::size_t i = 0; i < bytes; ++i) {
            notice.details[at + i] = static_cast<std::uint8_t>(value >> (8 * (bytes - 1 - i)));
        }
    };
    put(2, 2, own.lid.value());
    put(5, 1, 1);  // OtherLocalChanges
    put(6, 4, own.capability_mask);
    put(10, 2, 0x0008);  // SMPriorityChange
    return notice;
}

}  // namespace

// --- what we say of ourselves

const Fabric* SubnetManager::latest_fabric() const {
    return working_ ? working_.get() : fabric_.get();
}

/// A master proves itself by its SM_Key to whom it asks (IBA 14.2.5.13).
mad::SmInfo SubnetManager::own_sm_info() const {
    mad::SmInfo info;
    info.guid = local_.port_guid;
    info.priority = config_->priority;
    info.state = holding() ? mad::SmState::not_active : sm_state(election_.role());
    info.act_count = static_cast<std::uint32_t>(mads_.counters().sent + sm_answers_sent_);
    if (info.state == mad::SmState::master) {
        info.sm_key = config_->sm_key;
    }
    return info;
}

std::string SubnetManager::sm_name(mad::Guid guid) const {
    const Fabric* fabric = latest_fabric();
    const PortRef at = fabric == nullptr ? PortRef{} : port_of_sm(*fabric, guid);
    if (at.node == kNoNode) {
        return fmt::format("the SM with GUID {}", guid);
    }
    return fmt::format("{} ({}) port {}", fabric->nodes[at.node].description, fabric->nodes[at.node].guid(),
                       at.port);
}

// --- what others ask

void SubnetManager::on_sm_info(const mad::WireMad& wire, const mad::Smp& smp, base::Instant now,
                               Effects& out) {
    const mad::SmInfo shown = mad::decode_sm_info(smp.data);
    mad::MadStatus status = 0;
    std::optional<Election::Step> step;
    if (smp.header.method == static_cast<std::uint8_t>(mad::Method::set)) {
        const auto input = holding() ? std::nullopt : request_of(smp.header.modifier);
        step = input ? std::optional(election_.on_request(*input, shown, now)) : std::nullopt;
        status = !step || step->act == Act::refuse ? kStatusInvalid : mad::MadStatus{0};
    }
    mad::SmInfo info = own_sm_info();
    const bool stranger = trust_of(shown.sm_key, config_->sm_key) == SmTrust::foreign;
    info.sm_key = stranger ? mad::SmKey{} : config_->sm_key;  // OpenSM ignores an SM that does not show it
    ++sm_answers_sent_;
    out.emplace_back(SendMad{answer_to(wire, smp, mad::Method::get_resp, status, mad::encode(info))});
    if (stranger && shown.guid != mad::Guid{} && shown.guid != local_.port_guid) {
        tell_untrusted(shown.guid, "shows an SM_Key that is not ours: what it asks for is refused", now, out);
    }
    if (step && status == 0) {
        act_on(*step, now, out);
        return run(now, out);
    }
    if (election_.role() == Role::discovering && shown.guid != local_.port_guid &&
        heard_.size() < kHeardMax) {
        heard_.insert(shown.guid);
    }
    if (!step && election_.role() == Role::master && shown.state == mad::SmState::master &&
        meets_master(shown.guid)) {  // two subnets were joined, and it has seen us first (C46)
        ask_silent_ = true;          // it may live behind one of those
        in_doubt_ = true;
        shared_mastership_ = true;
        const std::string why = fmt::format("{} asks as a master", sm_name(shown.guid));
        abandon_look(why, now, out);  // what it has read so far, that one may have overwritten
        want_sweep(SweepScope::full, why, now);
        run(now, out);
    }
}

/// A master that no sweep has shown yet. Once for each: one that does not set IsSM asks for ever.
bool SubnetManager::meets_master(mad::Guid guid) {
    const Fabric* fabric = latest_fabric();
    return fabric != nullptr && guid != local_.port_guid && guid != mad::Guid{} &&
           looked_for_.size() < kHeardMax && looked_for_.insert(guid).second &&
           std::none_of(fabric->sms.begin(), fabric->sms.end(), [&](const OtherSm& sm) {
               return sm.guid == guid && sm.state == mad::SmState::master;
           });
}

void SubnetManager::tell_untrusted(mad::Guid guid, std::string_view what, base::Instant now, Effects& out) {
    constexpr std::size_t kToldMax = 1024;
    if (untrusted_told_.size() < kToldMax && untrusted_told_.insert(guid).second) {
        announce(Severity::warning, "sm-untrusted", fmt::format("{} {}", sm_name(guid), what), guid, {}, now,
                 out);
    }
}

// --- what we ask

bool SubnetManager::ask_sm(mad::Guid guid, Ask what, std::uint32_t modifier, const mad::SmInfo& shown) {
    const Fabric* fabric = latest_fabric();
    const PortRef at = fabric == nullptr ? PortRef{} : port_of_sm(*fabric, guid);
    if (at.node == kNoNode || mads_.room() == 0) {
        return false;
    }
    const Node& node = fabric->nodes[at.node];
    mad::Request request;
    request.tag = Tag{what, at.port.value(), epoch_, at.node}.pack();
    request.target = device_target(at.node);
    request.method = what == Ask::poll_sm ? mad::Method::get : mad::Method::set;
    request.attribute = mad::Attribute::sm_info;
    request.modifier = modifier;
    request.path = node.is_switch() ? node.path : node.ports[at.port.value()].path;
    request.data = mad::encode(shown);
    request.timeout = election_.poll_timeout();
    request.retries = 0;
    const bool taken = mads_.submit(std::move(request));
    IBF_CHECK(taken, "the transaction table refused a request although it had room");
    return true;
}

void SubnetManager::poll_sms(base::Instant now, Effects& out) {
    const auto whom = election_.poll(now);
    if (!whom) {
        return;
    }
    if (trap_sends_left_ > 0) {
        send_priority_trap(out);
    }
    poll_asked_ = *whom;
    if (!ask_sm(*whom, Ask::poll_sm, 0, own_sm_info())) {  // no way there is known
        act_on(election_.on_poll_lost(now), now, out);
    }
}

/// What SMs answered, or did not. HANDOVER that went unanswered is sent again with the next poll.
void SubnetManager::hear_sms(base::Instant now, Effects& out) {
    const std::uint32_t missed = election_.missed();
    for (const Completion& completion : std::exchange(sm_answers_, {})) {
        const Ask what = Tag::unpack(completion.tag).ask;
        const bool replied = completion.kind == Completion::Kind::reply;
        const mad::SmInfo info = replied ? mad::decode_sm_info(completion.data) : mad::SmInfo{};
        if (what == Ask::poll_sm && poll_asked_ == election_.polled()) {
            act_on(replied ? election_.on_poll_answer(info, now) : election_.on_poll_lost(now), now, out);
            tell_stuck(now, out);
        } else if (what == Ask::hand_over && replied && info.state == mad::SmState::master &&
                   info.guid == election_.polled()) {
            act_on(election_.on_poll_answer(info, now), now, out);
        } else if (what == Ask::hand_over && replied) {
            election_.on_handover_taken(now);
        } else if (what == Ask::hand_over && completion.kind == Completion::Kind::error_status) {
            const bool shared = shared_mastership_;  // who stands by, and refuses, has written nothing
            const Election::Step step = election_.on_handover_refused(now);
            act_on(step, now, out);
            shared_mastership_ = step.whom.state == mad::SmState::master ? shared_mastership_ : shared;
        }
    }
    version_ += election_.missed() == missed ? 0U : 1U;
}

/// To the master's LID: an SM elsewhere must look at us, and nothing else would tell it (IBA 14.4.1).
void SubnetManager::send_priority_trap(Effects& out) {
    const Fabric* fabric = latest_fabric();
    const PortRef to = fabric == nullptr ? PortRef{} : port_of_sm(*fabric, election_.polled());
    if (to.node == kNoNode || fabric->nodes.empty()) {
        return;
    }
    const Node& own = fabric->nodes[fabric->local.node];
    const mad::PortInfo& port = own.ports[own.is_switch() ? 0 : fabric->local.port.value()].info;
    mad::Smp smp;
    smp.header.mgmt_class = mad::MgmtClass::subn_lid;
    smp.header.method = static_cast<std::uint8_t>(mad::Method::trap);
    smp.header.attribute = mad::Attribute::notice;
    smp.header.tid = trap_tid_;
    smp.data = mad::encode(priority_notice(own.info.type, port));
    mad::WireMad wire{mad::encode_smp(smp), {}, {}};
    wire.address.lid = fabric::lids_of(fabric->nodes[to.node], to.port).base;
    if (wire.address.lid != mad::kLidNone) {
        --trap_sends_left_;
        out.emplace_back(SendMad{std::move(wire)});
    }
}

void SubnetManager::want_priority_trap(Effects& out) {
    ++trap_tid_;
    trap_sends_left_ = kTrapSends;
    send_priority_trap(out);
}

// --- what follows

/// A look at the fabric has ended. False: nothing may be written.
bool SubnetManager::settle_mastership(const std::vector<OtherSm>& others, base::Instant now, Effects& out) {
    const Role before = election_.role();
    const Election::Step step = election_.on_fabric(others, now);
    act_on(step, now, out);
    if (before == Role::master) {
        for (const OtherSm& sm : others) {
            if (sm.answered && sm.trust != SmTrust::ours && sm.priority > config_->priority) {
                tell_untrusted(sm.guid,
                               "is of higher priority and does not show our SM_Key: it is not handed over to",
                               now, out);
            }
        }
    }
    if (!election_.may_write()) {
        const Fabric& fabric = *latest_fabric();
        sm_lid_ = fabric::lids_of(fabric.nodes[fabric.local.node], fabric.local.port).base;
        set_mode(SmMode::standby, role_text_);
    }
    return election_.may_write();
}

/// The same of a light sweep, that asked the SMs that are known. True: a role begins that needs a full one.
bool SubnetManager::settle_light(const std::vector<OtherSm>& others, base::Instant now, Effects& out) {
    const auto alike = [](const OtherSm& a, OtherSm b) {
        b.act_count = a.act_count;
        return a == b;
    };
    if (!std::equal(others.begin(), others.end(), fabric_->sms.begin(), fabric_->sms.end(), alike)) {
        show_sms(others);  // a copy of all of it, so not for nothing
    }
    const Role before = election_.role();
    return settle_mastership(others, now, out) && before != Role::master;
}

/// The fabric with other SMs: the same nodes in the same places.
void SubnetManager::show_sms(const std::vector<OtherSm>& others) {
    auto fresh = std::make_shared<Fabric>(*fabric_);
    fresh->sms = others;
    settled_ = settled_ == fabric_ ? fresh : settled_;
    view_fabric_ = view_fabric_ == fabric_ ? fresh : view_fabric_;
    disabled_in_ = disabled_in_ == fabric_ ? fresh : disabled_in_;
    fabric_ = std::move(fresh);
    ++version_;
}

/// Our own port says whose the fabric was.
bool SubnetManager::inherits() const {
    const Node& own = working_->nodes[working_->local.node];
    const mad::PortInfo& info = own.ports[own.is_switch() ? 0 : working_->local.port.value()].info;
    return info.sm_lid != mad::kLidNone && info.lid != mad::kLidNone && info.sm_lid != info.lid;
}

void SubnetManager::act_on(const Election::Step& step, base::Instant now, Effects& out) {
    shared_mastership_ = shared_mastership_ || has_shared(step);
    if (step.from != step.to) {
        heard_.clear();
        looked_for_.clear();
        tell_role(step, now, out);
        if (step.to == Role::standby) {
            follow(step.whom.guid);
        }
    } else if (step.act == Act::watch &&
               (step.whom.guid != role_whom_.guid || step.whom.state != role_whom_.state)) {
        if (step.whom.guid != role_whom_.guid) {
            follow(step.whom.guid);
        }
        tell_role(step, now, out);  // a standby, of another master now
    }
    switch (step.act) {
        case Act::none:
        case Act::refuse:
        case Act::serve: return;
        case Act::watch:
            if (step.from != step.to && config_->priority > step.whom.priority) {
                want_priority_trap(out);  // the one that told of our IsSM bit may be lost (C47)
            }
            return;
        case Act::look: return look_anew(step, now, out);
        case Act::hand_over:
            static_cast<void>(
                ask_sm(step.whom.guid, Ask::hand_over, modifier_of(Input::handover), own_sm_info()));
            return;
        case Act::call:
            if (step.from != step.to || trap_sends_left_ == 0) {  // again and again, while it does not react
                want_priority_trap(out);
            }
            return;
        case Act::step_down: return forget_mastership();
        case Act::acknowledge: {
            mad::SmInfo shown = own_sm_info();
            shown.state = mad::SmState::standby;  // as one that takes over: only a standby acknowledges
            static_cast<void>(
                ask_sm(step.whom.guid, Ask::acknowledge, modifier_of(Input::acknowledge), shown));
            return look_anew(step, now, out);
        }
        case Act::sleep: pending_.clear(); return abandon_look("disabled", now, out);
    }
}

/// Reading and reckoning can begin anew at any time; what is being written is written to its end.
void SubnetManager::abandon_look(const std::string& why, base::Instant now, Effects& out) {
    const bool reckons =
        std::holds_alternative<TableReader>(phase_) || std::holds_alternative<Routing>(phase_);
    if (reckons) {
        fabric_ = working_;  // the plans were made for it
    }
    if (reckons || std::holds_alternative<LightSweep>(phase_) || std::holds_alternative<Discovery>(phase_)) {
        finish_sweep("abandoned: " + why, now, out);
    }
}

/// Who is asked again and again and stays what it is finishes its look in between.
void SubnetManager::look_anew(const Election::Step& step, base::Instant now, Effects& out) {
    const std::string why = fmt::format("{}: {}", sm_name(step.whom.guid), to_string(step.input));
    if (step.from == step.to) {
        want_sweep(SweepScope::full, why, now + config_->trap_hold_down);
        return;
    }
    abandon_look(why, now, out);
    failed_in_a_row_ = 0;
    want_sweep(SweepScope::full, why, now);
}

/// What devices acknowledged may have been overwritten since.
void SubnetManager::forget_acknowledged() {
    programmed_.clear();
    groups_programmed_.clear();
    acknowledged_.clear();
    lanes_acknowledged_.clear();
    survey_ = LaneSurvey{};
    in_force_known_ = false;
}

/// Another one is master: what was known of the devices is theirs to change from now on.
void SubnetManager::forget_mastership() {
    forget_acknowledged();
    shared_mastership_ = false;
    stored_lanes_.clear();
    stored_clean_ = false;
    routes_.reset();
    routes_for_.reset();
    routed_.reset();
    ports_by_.reset();
    lids_by_.reset();
    settled_.reset();
    drained_in_force_ = {};
    show_drains();
    rebalance_ = rebalance_.anew();
    port_orders_.clear();
    not_set_up_until_.reset();
    link_traps_.clear();
    lost_clients_.clear();
    reregister_due_.reset();
    reregister_refused_.clear();
}

fabric::Mastership SubnetManager::mastership() const {
    fabric::Mastership shown;
    shown.state = holding() ? mad::SmState::not_active : sm_state(election_.role());
    shown.role = holding() ? std::string_view("hold") : to_string(election_.role());
    shown.why = holding() ? hold_because_ : role_text_;
    shown.since = role_since_;
    shown.polled = election_.polled();
    shown.missed = election_.missed();
    shown.stuck = stuck_told_;
    shown.poll_interval = config_->poll_interval;
    shown.poll_misses = config_->poll_misses;
    return shown;
}

/// An SM that answers and does nothing else. It is master all the same: two would be worse.
void SubnetManager::tell_stuck(base::Instant now, Effects& out) {
    const bool stuck = election_.polled_is_stuck(now);
    if (stuck && !stuck_told_) {
        announce(Severity::warning, "sm-stuck",
                 fmt::format("{} answers, but its ActCount has not moved for a minute: it may hang",
                             sm_name(election_.polled())),
                 election_.polled(), {}, now, out);
    }
    version_ += stuck == stuck_told_ ? 0U : 1U;
    stuck_told_ = stuck;
}

void SubnetManager::tell_role(const Election::Step& step, base::Instant now, Effects& out) {
    const std::string whom = step.whom.guid == mad::Guid{} ? std::string{} : sm_name(step.whom.guid);
    const std::string rank = fmt::format("{}, LID {}, priority {}", whom, step.whom.lid, step.whom.priority);
    Severity severity = Severity::info;
    std::string kind = "mastership";
    std::string text;
    switch (step.to) {
        case Role::discovering:
            severity = Severity::warning;
            text = fmt::format("{}: {}; looking who is master now", whom, to_string(step.input));
            break;
        case Role::standby:
            kind = "other-master";
            severity = step.from == Role::discovering ? Severity::info : Severity::warning;
            text = fmt::format("standby: {} is {}; nothing is written as long as it lives", rank,
                               step.whom.state == mad::SmState::master ? "master" : "of higher rank");
            break;
        case Role::not_active:
            severity = Severity::warning;
            text =
                fmt::format("disabled by {}: nothing is done until it, or a restart, says otherwise", whom);
            break;
        case Role::master:
            text = whom.empty() ? fmt::format("master: {}", to_string(step.input))
                                : fmt::format("master: {}: {}", whom, to_string(step.input));
            break;
        case Role::contested:
            kind = "other-master";
            severity = Severity::warning;
            text = fmt::format(
                "two masters: {} has to hand over to us; nothing is written until it has, or is gone", rank);
            break;
        case Role::handing_over:
            kind = "other-master";
            text = fmt::format("mastership is handed over to {}; nothing is written meanwhile", rank);
            break;
    }
    role_text_ = text;
    role_whom_ = step.whom;
    role_since_ = wall(now);
    announce(severity, std::move(kind), text, step.whom.guid, {}, now, out);
    const bool idle = step.to == Role::master || step.to == Role::discovering;
    set_mode(idle ? SmMode::sweeping : SmMode::standby, std::move(text));
}

}  // namespace ibf::sm
