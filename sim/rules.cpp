#include "sim/rules.hpp"

#include <algorithm>
#include <array>

#include "base/check.hpp"

namespace ibf::sim {
namespace {

using mad::Mtu;
using mad::PhysState;
using mad::PortInfo;
using mad::PortState;

constexpr std::size_t kRuleCount = static_cast<std::size_t>(Rule::count_);
constexpr std::array<std::string_view, kRuleCount> kRuleNames{
    "port-range",      "port-state",         "port0-state",       "peer-not-armed",     "neighbor-mtu",
    "operational-vls", "active-link-change", "phys-state",        "link-down-default",  "width-enabled",
    "speed-enabled",   "external-port-lid",  "port0-lmc",         "lid-range",          "lid-alignment",
    "sm-lid-range",    "reregister",         "linear-fdb-top",    "lft-block-range",    "lft-above-top",
    "lft-port",        "multicast-fdb-top",  "mft-block-range",   "pkey-block-range",   "guid-block-range",
    "sl2vl-vl",        "sl2vl-overlap",      "sl2vl-unsupported", "vl-arb-block-range", "vl-arb-vl"};

constexpr unsigned kWidthAll = 255;
constexpr unsigned kSpeedAll = 15;
constexpr unsigned kSpeedExtOff = 30;
constexpr unsigned kSpeedExtAll = 31;
constexpr unsigned kSpeedExt2All = 7;

bool subset(unsigned bits, unsigned of) {
    return (bits & ~of) == 0;
}

std::optional<Rule> check_addresses(const PortContext& at, const PortInfo& request) {
    const PortInfo& now = at.port().info;
    if (at.external()) {
        const bool none = request.lid == mad::kLidNone && request.sm_lid == mad::kLidNone && request.lmc == 0;
        return none ? std::nullopt : std::optional{Rule::external_port_lid};
    }
    if (at.base_port0() && request.lmc != 0) {
        return Rule::port0_lmc;
    }
    // A port that has no LID yet may be configured without one; a LID is never taken away again.
    const std::uint32_t last = request.lid.value() + (1U << request.lmc) - 1;
    const bool stays_without = request.lid == mad::kLidNone && now.lid == mad::kLidNone;
    if (!stays_without && (request.lid == mad::kLidNone || last > mad::kLidUnicastMax)) {
        return Rule::lid_range;
    }
    if (request.lid.value() % (1U << request.lmc) != 0) {
        return Rule::lid_alignment;
    }
    const bool sm_unset = request.sm_lid == mad::kLidNone && now.sm_lid == mad::kLidNone;
    if (!sm_unset && (request.sm_lid == mad::kLidNone || request.sm_lid.value() > mad::kLidUnicastMax)) {
        return Rule::sm_lid_range;
    }
    return std::nullopt;
}

std::optional<Rule> check_width_and_speed(const PortContext& at, const PortInfo& request) {
    const PortInfo& now = at.port().info;
    // Capability bits of a switch live in its port 0; external ports show none (C3).
    const PortInfo& capabilities = at.device.address_port(at.number).info;
    unsigned widths = now.width_supported;
    if ((capabilities.capability_mask2 & kCap2Width2x) == 0) {
        widths &= ~static_cast<unsigned>(mad::LinkWidth::x2);
    }
    if (request.width_enabled != kWidthAll && !subset(request.width_enabled, widths)) {
        return Rule::width_enabled;
    }
    const bool base_fits =
        request.speed_enabled == kSpeedAll || subset(request.speed_enabled, now.speed_supported);
    const bool ext_fits = request.speed_ext_enabled == kSpeedExtAll ||
                          request.speed_ext_enabled == kSpeedExtOff ||
                          subset(request.speed_ext_enabled, now.speed_ext_supported);
    const bool ext2_fits = request.speed_ext2_enabled == kSpeedExt2All ||
                           subset(request.speed_ext2_enabled, now.speed_ext2_supported);
    return base_fits && ext_fits && ext2_fits ? std::nullopt : std::optional{Rule::speed_enabled};
}

Mtu mtu_limit(const PortContext& at) {
    const Mtu own = at.port().info.mtu_cap;
    return at.peer == nullptr ? own : std::min(own, at.peer->info.mtu_cap);
}

std::uint8_t vls_limit(const PortContext& at) {
    const std::uint8_t own = at.port().info.vl_cap;
    return at.peer == nullptr ? own : std::min(own, at.peer->info.vl_cap);
}

std::uint8_t vls_after(const PortContext& at, const PortInfo& request) {
    return request.operational_vls == 0 ? at.port().info.operational_vls : request.operational_vls;
}

std::optional<Rule> check_mtu_and_vls(const PortContext& at, const PortInfo& request) {
    const PortInfo& now = at.port().info;
    if (at.base_port0()) {
        return std::nullopt;  // no link, no such fields
    }
    if (request.neighbor_mtu == Mtu::none || request.neighbor_mtu > mtu_limit(at)) {
        return Rule::neighbor_mtu;
    }
    const std::uint8_t vls = vls_after(at, request);
    if (vls != now.operational_vls && (mad::vl_count(vls) == 0 || vls > now.vl_cap)) {
        return Rule::operational_vls;
    }
    const bool changes = request.neighbor_mtu != now.neighbor_mtu || vls != now.operational_vls;
    if (changes && now.state == PortState::active && !at.port0() && request.state != PortState::down) {
        return Rule::active_link_change;
    }
    return std::nullopt;
}

/// What must hold of a link before one of its ends becomes Armed or Active.
std::optional<Rule> check_link_ready(const PortContext& at, const PortInfo& request) {
    if (request.neighbor_mtu != mtu_limit(at)) {
        return Rule::neighbor_mtu;
    }
    const std::uint8_t vls = vls_after(at, request);
    if (mad::vl_count(vls) == 0 || vls > vls_limit(at)) {
        return Rule::operational_vls;
    }
    const bool peer_configured = at.peer != nullptr && at.peer->info.state >= PortState::armed;
    if (peer_configured && at.peer->info.operational_vls != vls) {
        return Rule::operational_vls;
    }
    if (request.state == PortState::active && !peer_configured) {
        return Rule::peer_not_armed;
    }
    return std::nullopt;
}

std::optional<Rule> check_state(const PortContext& at, const PortInfo& request) {
    const PortState now = at.port().info.state;
    if (at.base_port0()) {
        return request.state == PortState::no_change ? std::nullopt : std::optional{Rule::port0_state};
    }
    if (request.state == PortState::no_change || request.state == PortState::down || request.state == now) {
        return request.state == PortState::init ? std::optional{Rule::port_state} : std::nullopt;
    }
    const bool legal = (request.state == PortState::armed && now == PortState::init) ||
                       (request.state == PortState::active && now == PortState::armed);
    if (!legal) {
        return Rule::port_state;
    }
    return at.port0() ? std::nullopt : check_link_ready(at, request);
}

std::optional<Rule> check_phys_state(const PortContext& at, const PortInfo& request) {
    if (request.link_down_default > 2) {
        return Rule::link_down_default;
    }
    if (request.phys_state == PhysState::no_change) {
        return std::nullopt;
    }
    const bool commandable = request.phys_state == PhysState::sleep ||
                             request.phys_state == PhysState::polling ||
                             request.phys_state == PhysState::disabled;
    const bool goes_up = request.state == PortState::armed || request.state == PortState::active;
    return commandable && !goes_up && !at.port0() ? std::nullopt : std::optional{Rule::phys_state};
}

}  // namespace

std::string_view to_string(Rule rule) {
    IBF_CHECK(rule < Rule::count_, "rule {}", static_cast<unsigned>(rule));
    return kRuleNames[static_cast<std::size_t>(rule)];
}

std::optional<Rule> check_port_info(const PortContext& at, const PortInfo& request) {
    using Check = std::optional<Rule> (*)(const PortContext&, const PortInfo&);
    constexpr std::array<Check, 5> kChecks{check_addresses, check_width_and_speed, check_phys_state,
                                           check_mtu_and_vls, check_state};
    for (const Check check : kChecks) {
        if (const std::optional<Rule> broken = check(at, request)) {
            return broken;
        }
    }
    const mad::PortInfo& capabilities = at.device.address_port(at.number).info;
    if (request.client_reregister && (at.external() || !capabilities.can_reregister())) {
        return Rule::reregister;
    }
    return std::nullopt;
}

std::optional<Rule> check_switch_info(const Device& device, const mad::SwitchInfo& request) {
    const mad::SwitchInfo& now = device.switch_info;
    if (request.linear_fdb_top >= now.linear_fdb_cap) {
        return Rule::linear_fdb_top;
    }
    const bool has_top = (device.ports[0].info.capability_mask & kCapMulticastTop) != 0;
    const bool changes = request.multicast_fdb_top != now.multicast_fdb_top;
    const bool legal = request.multicast_fdb_top == 0 ||
                       request.multicast_fdb_top == mad::kMulticastTopNone ||
                       (request.multicast_fdb_top >= kMlidBase &&
                        request.multicast_fdb_top < kMlidBase + now.multicast_fdb_cap);
    return changes && (!has_top || !legal) ? std::optional{Rule::multicast_fdb_top} : std::nullopt;
}

std::optional<Rule> check_lft(const Device& device, std::uint32_t block, const mad::LftBlock& request) {
    const std::uint64_t first = std::uint64_t{block} * mad::kLftBlockEntries;
    if (first >= device.switch_info.linear_fdb_cap) {
        return Rule::lft_block_range;
    }
    if (first > device.switch_info.linear_fdb_top) {
        return Rule::lft_above_top;
    }
    const auto illegal = [&](std::uint8_t port) { return port != mad::kLftDrop && !device.has_port(port); };
    return std::any_of(request.ports.begin(), request.ports.end(), illegal) ? std::optional{Rule::lft_port}
                                                                            : std::nullopt;
}

std::optional<Rule> check_mft(const Device& device, std::uint32_t block, std::uint32_t position) {
    const std::uint64_t first = std::uint64_t{block} * 32;
    const bool inside = first < device.switch_info.multicast_fdb_cap && position * 16 < device.ports.size();
    return inside ? std::nullopt : std::optional{Rule::mft_block_range};
}

std::optional<Rule> check_sl2vl(const Port& exit, const mad::Sl2VlTable& request) {
    const unsigned operational = mad::vl_count(exit.info.operational_vls);
    const auto illegal = [&](mad::Vl vl) { return vl.value() != 15 && vl.value() >= operational; };
    return std::any_of(request.vls.begin(), request.vls.end(), illegal) ? std::optional{Rule::sl2vl_vl}
                                                                        : std::nullopt;
}

std::optional<Rule> check_vl_arb(const Port& port, std::uint32_t block, const mad::VlArbBlock& request) {
    if (block < 1 || block > 4) {
        return Rule::vl_arb_block_range;
    }
    const unsigned capacity = block <= 2 ? port.info.vl_arb_low_cap : port.info.vl_arb_high_cap;
    const unsigned first = (block - 1) % 2 * 32;
    if (first >= capacity) {
        return Rule::vl_arb_block_range;
    }
    const auto illegal = [](const mad::VlArbBlock::Entry& entry) { return entry.vl.value() >= 15; };
    return std::any_of(request.entries.begin(), request.entries.end(), illegal)
               ? std::optional{Rule::vl_arb_vl}
               : std::nullopt;
}

}  // namespace ibf::sim
