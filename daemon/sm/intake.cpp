// MADs that come in: answers go to the transaction table; traps, SMInfo questions and the rest are handled
// here.
#include <algorithm>

#include "daemon/sm/subnet_manager.hpp"
#include "mad/codec.hpp"

namespace ibf::sm {
namespace {

using fabric::kNoNode;
using fabric::PortRef;
using Severity = fabric::EventRecord::Severity;

constexpr mad::MadStatus kStatusUnsupported = 0x000C;  ///< method/attribute combination not supported
constexpr std::uint16_t kTrapLinkState = 128;
constexpr std::uint16_t kTrapCapability = 144;

/// The answer to a request, along the way it came.
mad::WireMad answer_to(const mad::WireMad& wire, const mad::Smp& request, mad::Method method,
                       mad::MadStatus status, const mad::AttributeData& data) {
    mad::Smp reply = request;
    reply.header.method = static_cast<std::uint8_t>(method);
    reply.header.status = status;
    reply.returning = request.header.mgmt_class == mad::MgmtClass::subn_directed;
    reply.mkey = {};
    reply.data = data;
    return {mad::encode_smp(reply), wire.address};
}

}  // namespace

void SubnetManager::on_mad(const mad::WireMad& mad, base::Instant now, Effects& out) {
    const auto header = mad::parse_header(mad.bytes);
    if (!header) {
        return;
    }
    const bool repress = header->method == static_cast<std::uint8_t>(mad::Method::trap_repress);
    if (!header->is_response() && !repress) {
        return on_request(mad, now, out);
    }
    if (repress) {
        return;
    }
    completions_.clear();
    mads_.on_receive(mad, now, completions_);
    for (const mad::Completion& completion : completions_) {
        dispatch(completion, now);
    }
    run(now, out);
}

void SubnetManager::on_send_error(const mad::WireMad& mad, base::Instant now, Effects& out) {
    completions_.clear();
    mads_.on_send_error(mad, now, completions_);
    for (const mad::Completion& completion : completions_) {
        dispatch(completion, now);
    }
    run(now, out);
}

void SubnetManager::on_request(const mad::WireMad& wire, base::Instant now, Effects& out) {
    const auto smp = mad::parse_smp(wire.bytes);
    if (!smp) {
        return;
    }
    const auto method = static_cast<mad::Method>(smp->header.method);
    if (method == mad::Method::trap && smp->header.attribute == mad::Attribute::notice) {
        return on_trap(wire, *smp, now, out);
    }
    if (smp->header.attribute == mad::Attribute::sm_info &&
        (method == mad::Method::get || method == mad::Method::set)) {
        return on_sm_info(wire, *smp, out);
    }
}

void SubnetManager::on_sm_info(const mad::WireMad& wire, const mad::Smp& smp, Effects& out) {
    mad::SmInfo info;
    info.guid = local_.port_guid;
    info.act_count = static_cast<std::uint32_t>(mads_.counters().sent);
    info.priority = config_->priority;
    if (other_master_) {
        info.state = mad::SmState::standby;
    } else if (guard_passed_) {  // from before the first Set on (IBA 14.4): who writes is master
        info.state = mad::SmState::master;
    } else {
        info.state = mad::SmState::discovering;
    }
    // A Set asks for a change of state, which this SM does not do yet: it says so and stays as it is.
    const bool set = smp.header.method == static_cast<std::uint8_t>(mad::Method::set);
    out.emplace_back(SendMad{answer_to(wire, smp, mad::Method::get_resp,
                                       set ? kStatusUnsupported : mad::MadStatus{0}, mad::encode(info))});
}

PortRef SubnetManager::port_of(mad::Lid lid) const {
    for (std::uint32_t n = 0; fabric_ && n < fabric_->nodes.size(); ++n) {
        const fabric::Node& node = fabric_->nodes[n];
        for (std::size_t p = 0; p < node.ports.size(); ++p) {
            const mad::PortInfo& info = node.ports[p].info;
            if (node.ports[p].known && mad::LidRange{info.lid, info.lmc}.contains(lid)) {
                return {n, mad::PortNum{static_cast<std::uint8_t>(p)}};
            }
        }
    }
    return {};
}

void SubnetManager::on_trap(const mad::WireMad& wire, const mad::Smp& smp, base::Instant now, Effects& out) {
    // TrapRepress carries the same TID and attribute (IBA 13.4.9); without it the sender repeats itself.
    mad::WireMad repress = answer_to(wire, smp, mad::Method::trap_repress, 0, smp.data);
    out.emplace_back(SendMad{std::move(repress)});
    ++traps_received_;
    ++version_;
    const mad::Notice notice = mad::decode_notice(smp.data);
    const mad::Lid subject = notice.subject_lid() == mad::kLidNone ? notice.issuer_lid : notice.subject_lid();
    const TrapGate::Verdict verdict = traps_.on_trap(subject, config_->trap_hold_down, now);
    const PortRef at = port_of(subject);
    const mad::Guid guid = at.node == kNoNode ? mad::Guid{} : fabric_->nodes[at.node].guid();
    if (verdict.flapping_now) {
        announce(Severity::warning, "flapping",
                 fmt::format("LID {} ({}) keeps sending trap {}: reactions to it are held down", subject,
                             at.node == kNoNode ? "unknown" : fabric_->nodes[at.node].description,
                             notice.trap_number),
                 guid, at.port, now, out);
    }
    SweepScope scope = SweepScope::light;
    if (notice.trap_number == kTrapCapability && subject != sm_lid_) {  // our own IsSM bit is no news to us
        scope = SweepScope::full;  // what it tells of (capabilities, names, SMs) no switch can tell
        if (guid != mad::Guid{}) {
            renamed_.insert(guid);
        }
    } else if (notice.trap_number != kTrapLinkState && notice.trap_number != kTrapCapability &&
               notice.generic) {
        announce(
            Severity::warning, "trap",
            fmt::format("trap {} from LID {} about LID {}", notice.trap_number, notice.issuer_lid, subject),
            guid, at.port, now, out);
        return run(now, out);
    }
    want_sweep(scope, fmt::format("trap {} about LID {}", notice.trap_number, subject), verdict.sweep_at);
    run(now, out);
}

}  // namespace ibf::sm
