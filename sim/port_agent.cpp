// The PortInfo part of the agent: reading it, and what a Set does to a port and its link.
#include "mad/codec.hpp"
#include "sim/agent.hpp"
#include "sim/link_speed.hpp"

namespace ibf::sim {
namespace {

using mad::PhysState;
using mad::PortInfo;
using mad::PortNum;
using mad::PortState;

constexpr std::uint32_t kExtendedSpeedsBit = 1U << 31U;

/// The port a PortInfo modifier selects; 0 at an adapter is the port that received the request.
std::optional<PortNum> selected_port(const Device& device, PortRef at, std::uint32_t modifier) {
    const std::uint32_t number = modifier & 0xFFU;
    if (!device.has_port(number)) {
        return std::nullopt;
    }
    const bool receiving = number == 0 && !device.is_switch();
    return receiving ? at.port : PortNum{static_cast<std::uint8_t>(number)};
}

/// A field in which one value means "leave as is" and another "all that is supported".
std::uint8_t enabled_after(std::uint8_t wanted, std::uint8_t now, std::uint8_t supported, std::uint8_t all) {
    if (wanted == 0) {
        return now;
    }
    return wanted == all ? supported : wanted;
}

void copy_addresses(const PortInfo& wanted, PortInfo& next) {
    next.mkey = wanted.mkey;
    next.gid_prefix = wanted.gid_prefix;
    next.lid = wanted.lid;
    next.sm_lid = wanted.sm_lid;
    next.sm_sl = wanted.sm_sl;
    next.lmc = wanted.lmc;
    next.mkey_lease_period = wanted.mkey_lease_period;
    next.mkey_protect = wanted.mkey_protect;
    next.subnet_timeout = wanted.subnet_timeout;
    next.mkey_violations = wanted.mkey_violations == 0 ? std::uint16_t{0} : next.mkey_violations;
    next.pkey_violations = wanted.pkey_violations == 0 ? std::uint16_t{0} : next.pkey_violations;
    next.qkey_violations = wanted.qkey_violations == 0 ? std::uint16_t{0} : next.qkey_violations;
}

void copy_link_settings(const PortInfo& wanted, PortInfo& next) {
    constexpr std::uint8_t kExtOff = 30;
    next.neighbor_mtu = wanted.neighbor_mtu;
    if (wanted.operational_vls != 0) {
        next.operational_vls = wanted.operational_vls;
    }
    if (wanted.link_down_default != 0) {
        next.link_down_default = wanted.link_down_default;
    }
    next.width_enabled = enabled_after(wanted.width_enabled, next.width_enabled, next.width_supported, 255);
    next.speed_enabled = enabled_after(wanted.speed_enabled, next.speed_enabled, next.speed_supported, 15);
    next.speed_ext_enabled =
        wanted.speed_ext_enabled == kExtOff
            ? std::uint8_t{0}
            : enabled_after(wanted.speed_ext_enabled, next.speed_ext_enabled, next.speed_ext_supported, 31);
    next.speed_ext2_enabled =
        enabled_after(wanted.speed_ext2_enabled, next.speed_ext2_enabled, next.speed_ext2_supported, 7);
    next.vl_high_limit = wanted.vl_high_limit;
    next.vl_stall_count = wanted.vl_stall_count;
    next.hoq_life = wanted.hoq_life;
    next.init_type = wanted.init_type;
    next.partition_enforcement_inbound = wanted.partition_enforcement_inbound;
    next.partition_enforcement_outbound = wanted.partition_enforcement_outbound;
    next.filter_raw_inbound = wanted.filter_raw_inbound;
    next.filter_raw_outbound = wanted.filter_raw_outbound;
    next.local_phys_errors = wanted.local_phys_errors;
    next.overrun_errors = wanted.overrun_errors;
}

PortInfo settings_after(const PortContext& at, const PortInfo& wanted) {
    PortInfo next = at.port().info;
    if (!at.external()) {
        copy_addresses(wanted, next);
    }
    if (!at.base_port0()) {
        copy_link_settings(wanted, next);
    }
    if (wanted.state == PortState::armed || wanted.state == PortState::active) {
        next.state = wanted.state;
    }
    return next;
}

}  // namespace

Answer Agent::get_port_info(PortRef at, const mad::Smp& request, KeyCheck key) {
    Device& device = world_.device(at.node);
    const std::optional<PortNum> number = selected_port(device, at, request.header.modifier);
    const bool bit31 = (request.header.modifier & kExtendedSpeedsBit) != 0;
    const SimOptions& options = world_.options();
    const bool port0 = device.is_switch() && number == PortNum{0};
    if (!number || (bit31 && port0 && options.port0_refuses_bit31)) {
        return Answer::failed(kStatusBadValue, request.data);
    }
    Port& port = device.ports[number->value()];
    if (port.info.local_port != at.port) {
        // LocalPortNum is the port that received the request; it hardly ever differs from one to the next.
        PortInfo info = port.info;
        info.local_port = at.port;
        port.store(info);
    }
    const bool hide_speeds = options.ext_speeds_need_bit31 && !bit31;
    if (!hide_speeds && key != KeyCheck::hide_key) {
        return Answer::with(port.info.wire);
    }
    PortInfo info = port.info;
    if (hide_speeds) {
        hide_extended_speeds(info);
    }
    if (key == KeyCheck::hide_key) {
        info.mkey = mad::MKey{};
    }
    return Answer::with(mad::encode(info));
}

Answer Agent::set_port_info(PortRef at, const mad::Smp& request, base::Instant now) {
    Device& device = world_.device(at.node);
    const std::optional<PortNum> number = selected_port(device, at, request.header.modifier);
    if (!number) {
        return Answer::refused(Rule::port_range, request.data);
    }
    const PortRef target{at.node, *number};
    const std::optional<PortRef> peer = world_.linked_peer(target);
    const PortContext context{device, *number, peer ? &world_.port(*peer) : nullptr};
    const PortInfo wanted = mad::decode_port_info(request.data);
    if (const std::optional<Rule> broken = check_port_info(context, wanted)) {
        return Answer::refused(*broken, request.data);
    }
    world_.port(target).store(settings_after(context, wanted));
    // A port that falls does so after the answer, which therefore shows the state before: a manager that
    // reads Down there takes nothing else from it (C14-24.2.1), and OpenSM would forget the LID that it has
    // just set.
    Answer answer = get_port_info(at, request, KeyCheck::open);
    if (wanted.client_reregister) {
        // The bit shows in the answer to the Set that asked for it and reads as 0 ever after.
        ++world_.port(target).events.client_reregister;
        PortInfo info = world_.port(target).info;
        info.client_reregister = true;
        answer.data = mad::encode(info);
    }
    move_link(target, wanted, now);
    return answer;
}

void Agent::move_link(PortRef target, const PortInfo& wanted, base::Instant now) {
    const PhysState phys = wanted.phys_state;
    if (wanted.state != PortState::down && phys == PhysState::no_change) {
        return;
    }
    world_.take_down(target);
    PortInfo info = world_.port(target).info;
    if (phys != PhysState::no_change) {
        info.phys_state = phys;
    } else if (info.phys_state != PhysState::disabled) {
        info.phys_state = info.link_down_default == 1 ? PhysState::sleep : PhysState::polling;
    }
    world_.port(target).store(info);
    world_.start_training(target, now);
}

}  // namespace ibf::sim
