#include "sim/device.hpp"

#include <algorithm>

#include "mad/speeds_beyond.hpp"
#include "sim/link_speed.hpp"
#include "sim/simulator.hpp"

namespace ibf::sim {
namespace {

using mad::LinkSpeed;
using mad::LinkWidth;
using mad::Mtu;
using mad::PhysState;
using mad::PortState;

constexpr std::uint8_t kEightVls = 4;      // VLCap code
constexpr std::uint8_t kVlArbEntries = 8;  // as today's switches and adapters report
constexpr std::uint8_t kVlArbWeight = 64;  // of each lane after power-on
constexpr std::uint16_t kLinearFdbCap = 0xC000;
constexpr std::uint16_t kMulticastFdbCap = 0x2000;
constexpr std::uint16_t kPKeysSwitch = 32;
constexpr std::uint16_t kPKeysAdapter = 128;
constexpr std::uint64_t kLinkLocalPrefix = 0xFE80000000000000ULL;
constexpr std::uint8_t kErrorThreshold = 8;  // LocalPhyErrors, OverrunErrors

LinkSpeed fastest(const routing::NetlistNode& node) {
    LinkSpeed best = LinkSpeed::sdr;
    for (const routing::NetlistPort& port : node.ports) {
        best = std::max(best, port.peer_node ? port.speed : LinkSpeed::sdr);
    }
    return best;
}

std::uint8_t widths_of(const routing::NetlistNode& node) {
    unsigned bits = static_cast<unsigned>(LinkWidth::x1) | static_cast<unsigned>(LinkWidth::x4);
    for (const routing::NetlistPort& port : node.ports) {
        bits |= port.peer_node ? static_cast<unsigned>(port.width) : 0U;
    }
    return static_cast<std::uint8_t>(bits);
}

/// CapabilityMask of the ports that carry addresses; real switches report 0 on external ports.
void set_capabilities(mad::PortInfo& info, const routing::NetlistNode& node) {
    const LinkSpeed speed = fastest(node);
    info.capability_mask = kCapTrap | kCapSlMap | kCapSystemGuid | kCapCapabilityNotice | kCapMask2;
    if (speed >= LinkSpeed::fdr) {
        info.capability_mask |= kCapExtendedSpeeds;
    }
    if (node.type == mad::NodeType::switch_) {
        info.capability_mask |= kCapMulticastTop | (node.enhanced_port0 ? kCapReregister : 0U);
    } else {
        info.capability_mask |= kCapReregister;
    }
    const bool split = (widths_of(node) & static_cast<unsigned>(LinkWidth::x2)) != 0;
    info.capability_mask2 = static_cast<std::uint16_t>(
        (split ? kCap2Width2x : 0U) | (speed >= LinkSpeed::hdr ? kCap2Hdr : 0U) |
        (speed >= LinkSpeed::ndr ? kCap2Ndr : 0U) | (speed >= LinkSpeed::xdr ? kCap2Xdr : 0U));
}

/// What a device without a known PortInfo has burnt in.
mad::PortInfo factory_port_info(const routing::NetlistNode& node, bool external) {
    mad::PortInfo info;
    info.width_supported = widths_of(node);
    set_supported_speeds(info, fastest(node));
    info.mtu_cap = Mtu::b4096;
    info.vl_cap = kEightVls;
    info.vl_arb_high_cap = kVlArbEntries;
    info.vl_arb_low_cap = kVlArbEntries;
    info.guid_cap = external ? 0 : 8;
    info.resp_time_value = external ? 0 : 16;
    info.local_phys_errors = kErrorThreshold;
    info.overrun_errors = kErrorThreshold;
    if (!external) {
        info.gid_prefix = kLinkLocalPrefix;
        set_capabilities(info, node);
    }
    return info;
}

/// Power-on wipes what a subnet manager writes, and only that.
void forget_configuration(mad::PortInfo& info) {
    info.mkey = mad::MKey{};
    info.mkey_lease_period = 0;
    info.mkey_protect = 0;
    info.lid = mad::kLidNone;
    info.sm_lid = mad::kLidNone;
    info.sm_sl = 0;
    info.lmc = 0;
    info.capability_mask &= ~kCapIsSm;
    info.client_reregister = false;
    info.subnet_timeout = 0;
    info.hoq_life = 0;
    info.vl_stall_count = 0;
    info.mkey_violations = info.pkey_violations = info.qkey_violations = 0;
    info.partition_enforcement_inbound = info.partition_enforcement_outbound = false;
    info.link_down_default = 2;
    info.width_enabled = info.width_supported;
    info.speed_enabled = info.speed_supported;
    info.speed_ext_enabled = info.speed_ext_supported;
    info.speed_ext2_enabled = info.speed_ext2_supported;
    info.neighbor_mtu = Mtu::b256;
    info.operational_vls = info.vl_cap;
}

void power_up_port(Device& device, const routing::NetlistNode& node, std::size_t number) {
    const routing::NetlistPort& source = node.ports[number];
    Port& port = device.ports[number];
    const bool is_port0 = device.is_switch() && number == 0;
    const bool external = device.is_switch() && number != 0;
    mad::PortInfo info =
        source.port_info ? mad::decode_port_info(*source.port_info) : factory_port_info(node, external);
    forget_configuration(info);
    info.local_port = mad::PortNum{static_cast<std::uint8_t>(number)};
    info.state = is_port0 ? PortState::active : PortState::down;
    info.phys_state = is_port0 ? PhysState::link_up : PhysState::polling;
    if (is_port0) {
        info.neighbor_mtu = info.mtu_cap;
        set_active(info, LinkWidth::x4, LinkSpeed::sdr);
    } else {
        set_inactive(info);
    }
    port.store(info);
    port.pkeys.clear();
    port.extra.reset();
    port.traffic = Traffic{};
}

mad::SwitchInfo factory_switch_info(const routing::NetlistNode& node, const SimOptions& options) {
    mad::SwitchInfo info;
    info.linear_fdb_cap = kLinearFdbCap;
    info.multicast_fdb_cap = kMulticastFdbCap;
    info.partition_enforcement_cap = kPKeysSwitch;
    info.optimized_sl2vl = options.optimized_sl2vl;
    info.enhanced_port0 = node.enhanced_port0;
    return info;
}

/// What a port that nobody set up arbitrates by: the lanes that it can run take turns.
mad::VlArbBlock power_up_arbitration(const mad::PortInfo& info) {
    mad::VlArbBlock block;
    const std::size_t lanes = std::min<std::size_t>({mad::vl_count(info.vl_cap), info.vl_arb_low_cap, 32U});
    for (std::size_t i = 0; i < lanes; ++i) {
        block.entries[i] = {mad::Vl{static_cast<std::uint8_t>(i)}, kVlArbWeight};
    }
    return block;
}

mad::Guid port_guid_of(const routing::NetlistNode& node, std::size_t number) {
    if (node.type == mad::NodeType::switch_) {
        return node.guid;
    }
    const mad::Guid given = node.ports[number].guid;
    return given.value() != 0 ? given : mad::Guid{node.guid.value() + number};
}

}  // namespace

PortTables& Port::tables() {
    if (!extra) {
        extra = std::make_unique<PortTables>();
        extra->guids.guids[0] = guid;
        extra->vl_arb[0] = power_up_arbitration(info);
    }
    return *extra;
}

mad::VlArbBlock Port::vl_arb_block(std::size_t block) const {
    if (extra) {
        return extra->vl_arb[block - 1];
    }
    return block == 1 ? power_up_arbitration(info) : mad::VlArbBlock{};
}

void Port::store(const mad::PortInfo& value) {
    const bool was_active = info.state == mad::PortState::active;
    const bool is_active = value.state == mad::PortState::active;
    events.active += !was_active && is_active ? 1U : 0U;
    events.error += was_active && !is_active ? 1U : 0U;
    events.lid_change += value.lid != info.lid ? 1U : 0U;
    events.sm_change += value.sm_lid != info.sm_lid || value.sm_sl != info.sm_sl ? 1U : 0U;
    info = value;
    info.wire = mad::encode(value);
}

mad::PKey Port::pkey(std::size_t index) const {
    if (pkeys.empty()) {
        return index == 0 ? mad::kPKeyDefaultFull : mad::PKey{};
    }
    return index < pkeys.size() ? pkeys[index] : mad::PKey{};
}

void Device::set_lft_entry(mad::Lid lid, std::uint8_t port) {
    if (lft.size() <= lid.value()) {
        lft.resize((std::size_t{lid.value()} / mad::kLftBlockEntries + 1) * mad::kLftBlockEntries,
                   mad::kLftDrop);
    }
    lft[lid.value()] = port;
}

mad::Sl2VlTable Device::sl2vl_table(mad::PortNum in, mad::PortNum out) const {
    if (!sl2vl.empty()) {
        return is_switch() ? sl2vl[in.value() * ports.size() + out.value()] : sl2vl[out.value()];
    }
    const mad::PortInfo& exit = ports[out.value()].info;
    const unsigned vls = std::max(1U, mad::vl_count(exit.operational_vls));
    mad::Sl2VlTable table;
    for (unsigned sl = 0; sl < table.vls.size(); ++sl) {
        table.vls[sl] = mad::Vl{static_cast<std::uint8_t>(sl % vls)};
    }
    return table;
}

void Device::write_out_sl2vl() {
    if (!sl2vl.empty()) {
        return;
    }
    std::vector<mad::Sl2VlTable> tables(is_switch() ? ports.size() * ports.size() : ports.size());
    for (std::size_t i = 0; i < tables.size(); ++i) {
        tables[i] = sl2vl_table(mad::PortNum{static_cast<std::uint8_t>(i / ports.size())},
                                mad::PortNum{static_cast<std::uint8_t>(i % ports.size())});
    }
    sl2vl = std::move(tables);
}

mad::Sl2VlTable& Device::sl2vl_entry(mad::PortNum in, mad::PortNum out) {
    write_out_sl2vl();
    return sl2vl[is_switch() ? in.value() * ports.size() + out.value() : out.value()];
}

std::size_t Device::pkey_capacity(mad::PortNum port) const {
    const bool external = is_switch() && port.value() != 0;
    return external ? switch_info.partition_enforcement_cap : info.partition_cap;
}

Device make_device(const routing::NetlistNode& node, const SimOptions& options) {
    Device device;
    const bool is_switch = node.type == mad::NodeType::switch_;
    device.info = mad::NodeInfo{.type = node.type,
                                .num_ports = node.num_ports(),
                                .system_guid = node.system_guid.value() != 0 ? node.system_guid : node.guid,
                                .node_guid = node.guid,
                                .partition_cap = is_switch ? kPKeysSwitch : kPKeysAdapter,
                                .device_id = node.device_id,
                                .revision = 1,
                                .vendor_id = node.vendor_id};
    device.description = node.description;
    device.ports = std::vector<Port>(node.ports.size());
    for (std::size_t number = 0; number < node.ports.size(); ++number) {
        const routing::NetlistPort& source = node.ports[number];
        Port& port = device.ports[number];
        port.guid = port_guid_of(node, number);
        port.peer_node = source.peer_node.value_or(kNoNode);
        port.peer_port = source.peer_port;
        port.cable_width = source.width;
        port.cable_speed = source.speed;
    }
    power_up(device, node, options);
    return device;
}

void power_up(Device& device, const routing::NetlistNode& node, const SimOptions& options) {
    for (std::size_t number = 0; number < device.ports.size(); ++number) {
        power_up_port(device, node, number);
    }
    device.lft.clear();
    device.lft.shrink_to_fit();
    device.mft.clear();
    device.sl2vl.clear();
    if (!device.is_switch()) {
        return;
    }
    mad::SwitchInfo info =
        node.switch_info ? mad::decode_switch_info(*node.switch_info) : factory_switch_info(node, options);
    info.linear_fdb_top = 0;
    info.multicast_fdb_top = mad::kMulticastTopNone;
    info.default_port = 0;
    info.life_time = 0;
    info.port_state_change = true;
    device.switch_info = info;
}

}  // namespace ibf::sim
