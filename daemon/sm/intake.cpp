// MADs that come in: answers go to the transaction table, SMInfo questions to mastership.cpp; traps are handled
// here.
#include <algorithm>

#include "daemon/sm/answer.hpp"
#include "daemon/sm/subnet_manager.hpp"
#include "mad/codec.hpp"

namespace ibf::sm {
namespace {

using fabric::kNoNode;
using fabric::PortRef;
using Severity = fabric::EventRecord::Severity;

constexpr std::uint16_t kTrapLinkState = 128;
constexpr std::uint16_t kTrapCapability = 144;

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
        if (static_cast<std::uint32_t>(header->tid) == trap_tid_) {
            trap_sends_left_ = 0;
        }
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
        return on_sm_info(wire, *smp, now, out);
    }
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
