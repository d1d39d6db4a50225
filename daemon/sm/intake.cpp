// MADs that come in: answers go to the transaction table, SMInfo questions to mastership.cpp; traps are read
// here. A trap is a hint: that a switch has changed starts a look at it, what else one says is told and
// counted.
#include <algorithm>

#include "base/overload.hpp"
#include "daemon/sm/answer.hpp"
#include "daemon/sm/subnet_manager.hpp"
#include "mad/codec.hpp"

namespace ibf::sm {
namespace {

using fabric::HealthRule;
using fabric::kNoNode;
using fabric::PortRef;
using Severity = fabric::EventRecord::Severity;

std::string_view method_text(std::uint8_t method) {
    switch (static_cast<mad::Method>(method)) {
        case mad::Method::get: return "Get";
        case mad::Method::set: return "Set";
        default: return "other method";
    }
}

std::string_view error_text(std::uint16_t trap_number) {
    switch (trap_number) {
        case mad::kTrapLinkIntegrity: return "has passed its threshold of local link errors";
        case mad::kTrapBufferOverrun: return "has passed its threshold of buffer overruns";
        default: return "gets no flow control updates";
    }
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

/// A storm asks for it with every trap: looked up in a table, made anew with each fabric.
PortRef SubnetManager::port_of(mad::Lid lid) {
    if (ports_by_lid_of_ != fabric_) {
        ports_by_lid_of_ = fabric_;
        ports_by_lid_.assign(mad::kLidUnicastMax + std::size_t{1}, PortRef{});
        for (std::uint32_t n = 0; fabric_ && n < fabric_->nodes.size(); ++n) {
            const fabric::Node& node = fabric_->nodes[n];
            for (std::size_t p = 0; p < node.ports.size(); ++p) {
                const mad::PortInfo& info = node.ports[p].info;
                const unsigned lids = node.ports[p].known && info.lid != mad::kLidNone ? 1U << info.lmc : 0U;
                for (std::size_t i = info.lid.value();
                     i < info.lid.value() + lids && i < ports_by_lid_.size(); ++i) {
                    ports_by_lid_[i] = {n, mad::PortNum{static_cast<std::uint8_t>(p)}};
                }
            }
        }
    }
    return lid.value() < ports_by_lid_.size() ? ports_by_lid_[lid.value()] : PortRef{};
}

void SubnetManager::on_trap(const mad::WireMad& wire, const mad::Smp& smp, base::Instant now, Effects& out) {
    // TrapRepress carries the same TID and attribute (IBA 13.4.9); without it the sender repeats itself.
    mad::WireMad repress = answer_to(wire, smp, mad::Method::trap_repress, 0, smp.data);
    out.emplace_back(SendMad{std::move(repress)});
    ++traps_received_;
    ++version_;
    const mad::Notice notice = mad::decode_notice(smp.data);
    std::visit(base::Overload{
                   [&](const mad::LinkStateTrap& trap) { on_link_state(trap, now); },
                   [&](const mad::PortErrorTrap& trap) { on_port_error(notice, trap, now, out); },
                   [&](const mad::LocalChangeTrap& trap) { on_local_change(notice, trap.lid, now); },
                   [&](const mad::SystemGuidTrap& trap) { on_local_change(notice, trap.lid, now); },
                   [&](const mad::MKeyTrap& trap) { on_mkey_violation(notice, trap, now, out); },
                   [&](const mad::KeyTrap& trap) { on_key_violation(notice, trap, now, out); },
                   [&](const mad::UnknownTrap&) { on_unknown_trap(notice, now, out); },
               },
               mad::decode_trap(notice));
    run(now, out);
}

void SubnetManager::on_link_state(const mad::LinkStateTrap& trap, base::Instant now) {
    const PortRef at = port_of(trap.switch_lid);
    if (at.node != kNoNode) {
        const mad::Guid guid = fabric_->nodes[at.node].guid();
        ++link_traps_[guid];
        link_holds_.on_echo(guid.value(), now);
        health_.note(HealthRule::storm, {guid, at.port}, 1, now);
    }
    on_news(at, trap.switch_lid, SweepScope::light, fmt::format("trap 128 about LID {}", trap.switch_lid),
            now);
}

/// Traps 144 and 145: capabilities, names and SMs, of which no switch can tell.
void SubnetManager::on_local_change(const mad::Notice& notice, mad::Lid lid, base::Instant now) {
    const PortRef at = port_of(lid);
    const bool own = lid == sm_lid_;  // our own IsSM bit is no news to us
    if (!own && at.node != kNoNode) {
        renamed_.insert(fabric_->nodes[at.node].guid());
    }
    on_news(at, lid, own ? SweepScope::light : SweepScope::full,
            fmt::format("trap {} about LID {}", notice.trap_number, lid), now);
}

/// News of a device that are worth a look: at once, but for what it has just told, and once a window for all.
void SubnetManager::on_news(PortRef at, mad::Lid lid, SweepScope scope, std::string reason,
                            base::Instant now) {
    const base::Duration window = config_->trap_hold_down;
    const HoldDown::Verdict own = news_holds_.on_news(teller_of(at, lid, at.port.value()), window, now);
    base::Instant look_at = own.act_at;
    if (last_news_look_) {
        look_at = std::max(look_at, *last_news_look_ + window);
    }
    want_sweep(scope, std::move(reason), look_at).by_news = true;
}

/// Who it is, if it is known; else what it is called.
HoldDown::Subject SubnetManager::teller_of(PortRef at, mad::Lid lid, std::uint32_t what) const {
    return {at.node == kNoNode ? std::uint64_t{lid.value()} : fabric_->nodes[at.node].guid().value(), what};
}

// --- what is told

std::string SubnetManager::lid_text(mad::Lid lid) {
    const PortRef at = port_of(lid);
    if (at.node == kNoNode) {
        return fmt::format("LID {} (unknown)", lid);
    }
    const fabric::Node& node = fabric_->nodes[at.node];
    return fmt::format("{} ({}) port {}, LID {}", node.description, node.guid(), at.port, lid);
}

/// Who tells the same again and again is told of less and less often, with how often it was.
void SubnetManager::tell_trap(const mad::Notice& notice, mad::Lid about, PortRef at, std::string text,
                              base::Instant now, Effects& out) {
    constexpr base::Duration kFirst = std::chrono::seconds{10};
    const auto held_back =
        told_holds_.on_news_to_tell(teller_of(port_of(about), about, notice.trap_number), kFirst, now);
    if (!held_back) {
        return;
    }
    if (*held_back > 0) {
        text += fmt::format("; {} more like it since the last", *held_back);
    }
    const mad::Guid guid = at.node == kNoNode ? mad::Guid{} : fabric_->nodes[at.node].guid();
    announce(Severity::warning, std::string(mad::trap_name(notice)), std::move(text), guid, at.port, now,
             out);
}

void SubnetManager::on_port_error(const mad::Notice& notice, const mad::PortErrorTrap& trap,
                                  base::Instant now, Effects& out) {
    PortRef at = port_of(trap.lid);
    std::string where = lid_text(trap.lid);
    if (at.node != kNoNode && trap.port.value() < fabric_->nodes[at.node].ports.size()) {
        at.port = fabric_->nodes[at.node].is_switch() ? trap.port : at.port;
        where = place_text(at);
        health_.note(HealthRule::babbling, {fabric_->nodes[at.node].guid(), at.port}, 1, now);
    }
    tell_trap(notice, trap.lid, at,
              fmt::format("trap {}: {} {}", notice.trap_number, where, error_text(notice.trap_number)), now,
              out);
}

void SubnetManager::on_mkey_violation(const mad::Notice& notice, const mad::MKeyTrap& trap, base::Instant now,
                                      Effects& out) {
    std::string from = lid_text(trap.from);
    if (trap.directed) {
        const auto hops = std::min<std::size_t>(trap.hops, mad::MKeyTrap::kPathMax);
        std::vector<unsigned> ports(trap.return_path.begin(),
                                    trap.return_path.begin() + static_cast<std::ptrdiff_t>(hops));
        from += fmt::format(", on a directed route (DrSLID {}; way back {}{})", trap.dr_from,
                            fmt::join(ports, ","), trap.truncated ? ",..." : "");
    }
    tell_trap(
        notice, trap.from, port_of(trap.from),
        fmt::format("wrong M_Key: {} was asked to {} {} (modifier 0x{:x}) by {}", lid_text(notice.issuer_lid),
                    method_text(trap.method),
                    mad::attribute_name(static_cast<mad::Attribute>(trap.attribute)), trap.modifier, from),
        now, out);
}

void SubnetManager::on_key_violation(const mad::Notice& notice, const mad::KeyTrap& trap, base::Instant now,
                                     Effects& out) {
    const auto end_text = [this](const mad::KeyTrap::End& end) {
        return fmt::format("{} (QP 0x{:x}, GID {:016x}:{:016x})", lid_text(end.lid), end.qp, end.gid.prefix,
                           end.gid.interface_id.value());
    };
    const bool qkey = notice.trap_number == mad::kTrapBadQKey;
    std::string where;
    if (notice.trap_number == mad::kTrapBadPKeyAtSwitch) {
        const PortRef at = port_of(trap.switch_lid);
        where = at.node == kNoNode
                    ? fmt::format(", at {} port {}", lid_text(trap.switch_lid), trap.switch_port)
                    : fmt::format(", at {}", place_text({at.node, trap.switch_port}));
    }
    tell_trap(notice, trap.from.lid, port_of(trap.from.lid),
              fmt::format("wrong {}_Key 0x{:x} on SL {}: from {} to {}{}", qkey ? 'Q' : 'P', trap.key,
                          trap.sl, end_text(trap.from), end_text(trap.to), where),
              now, out);
}

void SubnetManager::on_unknown_trap(const mad::Notice& notice, base::Instant now, Effects& out) {
    const mad::Lid issuer = notice.issuer_lid;
    if (!notice.generic) {  // a vendor's own word may well be that something has changed
        return on_news(port_of(issuer), issuer, SweepScope::light,
                       fmt::format("vendor's trap {} from LID {}", notice.trap_number, issuer), now);
    }
    tell_trap(notice, issuer, port_of(issuer),
              fmt::format("trap {} from {}", notice.trap_number, lid_text(issuer)), now, out);
}

}  // namespace ibf::sm
