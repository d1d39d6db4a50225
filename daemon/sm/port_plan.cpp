#include "daemon/sm/port_plan.hpp"

#include <algorithm>

namespace ibf::sm {
namespace {

using fabric::kNoNode;
using fabric::Node;
using fabric::Port;
using fabric::PortRef;

constexpr std::uint8_t kPolling = 2;
constexpr std::uint16_t kCapMask2Width2x = 0x0010;  ///< CapabilityMask2.IsLinkWidth2xSupported

/// Sets a field and notes whether that changed it.
template <class Field, class Value>
void own(Field& field, Value value, PortTarget& target) {
    const auto wanted = static_cast<Field>(value);
    if (!(field == wanted)) {
        field = wanted;
        target.differs = true;
    }
}

void mix(std::uint64_t value, PortTarget& target) {
    target.fingerprint = (target.fingerprint ^ value) * 0x100000001b3ULL;
}

void plan_addresses(const PortPlanInput& input, PortRef ref, PortTarget& target) {
    const auto found = input.lids.find(fabric::lid_owner(input.fabric.nodes[ref.node], ref.port));
    const mad::LidRange lids = found == input.lids.end() ? mad::LidRange{} : found->second;
    mad::PortInfo& set = target.set;
    own(set.lid, lids.base, target);
    own(set.lmc, lids.lmc, target);
    own(set.sm_lid, input.sm_lid, target);
    own(set.sm_sl, 0, target);
    own(set.gid_prefix, input.config.subnet_prefix, target);
    own(set.subnet_timeout, input.config.subnet_timeout, target);
    mix(static_cast<std::uint64_t>(lids.base.value()) << 16U | input.sm_lid.value(), target);
    mix(static_cast<std::uint64_t>(lids.lmc) << 8U | input.config.subnet_timeout, target);
    mix(input.config.subnet_prefix, target);
}

void plan_link(const PortPlanInput& input, const Node& node, const Port& port, PortTarget& target) {
    const Port& peer = input.fabric.port(port.peer);
    const SmConfig& config = input.config;
    mad::PortInfo& set = target.set;
    const bool to_host = node.is_switch() && !input.fabric.nodes[port.peer.node].is_switch();

    const mad::Mtu mtu = std::min(port.info.mtu_cap, peer.info.mtu_cap);
    const std::uint8_t vls = link_vls(port, peer, config);
    target.needs_bounce = set.neighbor_mtu != mtu || set.operational_vls != vls;
    own(set.neighbor_mtu, mtu, target);
    own(set.operational_vls, vls, target);
    own(set.vl_stall_count, config.vl_stall_count, target);
    own(set.hoq_life, to_host ? config.hoq_life_hosts : config.hoq_life, target);
    own(set.local_phys_errors, config.error_threshold, target);
    own(set.overrun_errors, config.error_threshold, target);
    mix(static_cast<std::uint64_t>(mtu) << 8U | vls, target);
    mix(static_cast<std::uint64_t>(set.vl_stall_count) << 16U |
            static_cast<std::uint64_t>(set.hoq_life) << 8U | config.error_threshold,
        target);
}

/// Width and speed are left alone unless policy names them; then only what the port supports is asked for.
void plan_rate(const PortPlanInput& input, const Node& node, const mad::PortInfo& now, PortTarget& target) {
    mad::PortInfo& set = target.set;
    const SmConfig& config = input.config;
    // Whether a split port may be forced to 2x is told by port 0, as external ports have no CapabilityMask2
    // (C3).
    const mad::PortInfo& speaker = node.is_switch() ? node.ports[0].info : now;
    const bool offers_2x =
        speaker.has_capability_mask2() && (speaker.capability_mask2 & kCapMask2Width2x) != 0;
    const std::uint8_t widths = static_cast<std::uint8_t>(
        now.width_supported & (offers_2x ? 0xFFU : ~static_cast<unsigned>(mad::LinkWidth::x2)));
    if (config.width_enabled != 0 && (config.width_enabled & widths) == 0) {
        target.refused = (config.width_enabled & now.width_supported) != 0
                             ? "width 2x is not offered: CapabilityMask2 (of port 0, on a switch) lacks "
                               "IsLinkWidth2xSupported"
                             : "supports none of the widths that width_enabled names";
    }
    const auto ask = [&](std::uint8_t wanted, std::uint8_t supported, std::uint8_t enabled,
                         std::uint8_t& field) {
        const auto possible = static_cast<std::uint8_t>(wanted & supported);
        if (possible != 0 && possible != enabled) {
            field = possible;
            target.differs = true;
        }
        mix(possible, target);
    };
    ask(config.width_enabled, widths, now.width_enabled, set.width_enabled);
    ask(config.speed_enabled, now.speed_supported, now.speed_enabled, set.speed_enabled);
    ask(config.speed_ext_enabled, now.speed_ext_supported, now.speed_ext_enabled, set.speed_ext_enabled);
    ask(config.speed_ext2_enabled, now.speed_ext2_supported, now.speed_ext2_enabled, set.speed_ext2_enabled);
}

}  // namespace

std::uint8_t link_vls(const Port& a, const Port& b, const SmConfig& config) {
    return std::max<std::uint8_t>(1, std::min({a.info.vl_cap, b.info.vl_cap, config.operational_vls_max}));
}

PortTarget plan_port(const PortPlanInput& input, PortRef ref) {
    const Node& node = input.fabric.nodes[ref.node];
    const Port& port = node.ports[ref.port.value()];
    PortTarget target;
    target.fingerprint = 0xcbf29ce484222325ULL;
    target.set = port.info;
    target.set.state = mad::PortState::no_change;
    target.set.phys_state = mad::PhysState::no_change;
    target.set.link_down_default = kPolling;
    target.set.client_reregister = false;
    target.set.width_enabled = 0;
    target.set.speed_enabled = 0;
    target.set.speed_ext_enabled = 0;
    target.set.speed_ext2_enabled = 0;
    const bool external = node.is_switch() && ref.port.value() != 0;
    if (external || !node.is_switch()) {
        plan_rate(input, node, port.info, target);
    }
    if (!external) {
        plan_addresses(input, ref, target);
    } else {
        target.set.lid = mad::kLidNone;
        target.set.sm_lid = mad::kLidNone;
        target.set.lmc = 0;
    }
    if (port.peer.node != kNoNode) {
        plan_link(input, node, port, target);
    }
    return target;
}

std::vector<PKeyChange> plan_pkeys(const Node& node, const Port& port) {
    const std::size_t entries = std::min<std::size_t>(node.info.partition_cap, port.pkeys.size() * 32);
    std::size_t place = entries;
    for (std::size_t i = 0; i < entries; ++i) {
        const mad::PKey key = port.pkeys[i / 32].keys[i % 32];
        if (key == mad::kPKeyDefaultFull) {
            return {};
        }
        if (key == mad::kPKeyDefaultLimited) {
            place = i;
        } else if (key == mad::PKey{} && place == entries) {
            place = i;
        }
    }
    if (place == entries) {
        return {};
    }
    PKeyChange change{static_cast<std::uint16_t>(place / 32), port.pkeys[place / 32]};
    change.keys.keys[place % 32] = mad::kPKeyDefaultFull;
    return {change};
}

bool pkey_table_full(const Port& port) {
    return !port.pkeys.empty() &&
           std::all_of(port.pkeys.begin(), port.pkeys.end(), [](const mad::PKeyBlock& block) {
               return std::all_of(block.keys.begin(), block.keys.end(), [](mad::PKey key) {
                   return key != mad::PKey{} && key != mad::kPKeyDefaultFull &&
                          key != mad::kPKeyDefaultLimited;
               });
           });
}

}  // namespace ibf::sm
