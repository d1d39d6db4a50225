#include "mad/codec.hpp"

#include <endian.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include <iba/ib_types.h>

#include "mad/speeds_beyond.hpp"

namespace ibf::mad {
namespace {

// The wire structs hold big-endian integers. They are copied in and out whole, which the compiler turns into
// plain loads and stores.

template <class Wire>
Wire wire_struct(const AttributeData& data) {
    static_assert(std::is_trivially_copyable_v<Wire>);
    Wire wire{};
    std::memcpy(&wire, data.data(), std::min(sizeof wire, data.size()));
    return wire;
}

template <class Wire>
void put_struct(const Wire& wire, AttributeData& data) {
    std::memcpy(data.data(), &wire, std::min(sizeof wire, data.size()));
}

template <class Wire>
AttributeData from_struct(const Wire& wire) {
    AttributeData data{};
    put_struct(wire, data);
    return data;
}

constexpr std::uint8_t high_nibble(std::uint8_t octet) {
    return static_cast<std::uint8_t>(octet >> 4U);
}
constexpr std::uint8_t low_nibble(std::uint8_t octet) {
    return static_cast<std::uint8_t>(octet & 0xFU);
}
constexpr std::uint8_t nibbles(unsigned high, unsigned low) {
    return static_cast<std::uint8_t>((high & 0xFU) << 4U | (low & 0xFU));
}
constexpr std::uint8_t bits(std::uint8_t octet, unsigned mask) {
    return static_cast<std::uint8_t>(octet & mask);
}
/// `octet` with the bits of `mask` taken from `value`.
constexpr std::uint8_t with_bits(std::uint8_t octet, unsigned mask, unsigned value) {
    return static_cast<std::uint8_t>((octet & ~mask) | (value & mask));
}
constexpr unsigned flag(bool on, unsigned mask) {
    return on ? mask : 0U;
}

constexpr std::uint8_t kSwitchStateChange = 0x04;
constexpr std::uint8_t kSwitchOptimizedSl2Vl = 0x01;
constexpr std::uint8_t kSwitchEnhancedPort0 = 0x08;

}  // namespace

NodeInfo decode_node_info(const AttributeData& data) {
    const auto wire = wire_struct<ib_node_info_t>(data);
    const std::uint32_t port_and_vendor = be32toh(wire.port_num_vendor_id);
    return {.base_version = wire.base_version,
            .class_version = wire.class_version,
            .type = static_cast<NodeType>(wire.node_type),
            .num_ports = wire.num_ports,
            .system_guid = Guid{be64toh(wire.sys_guid)},
            .node_guid = Guid{be64toh(wire.node_guid)},
            .port_guid = Guid{be64toh(wire.port_guid)},
            .partition_cap = be16toh(wire.partition_cap),
            .device_id = be16toh(wire.device_id),
            .revision = be32toh(wire.revision),
            .local_port = PortNum{static_cast<std::uint8_t>(port_and_vendor >> 24U)},
            .vendor_id = port_and_vendor & 0x00FFFFFFU};
}

AttributeData encode(const NodeInfo& value) {
    ib_node_info_t wire{};
    wire.base_version = value.base_version;
    wire.class_version = value.class_version;
    wire.node_type = static_cast<std::uint8_t>(value.type);
    wire.num_ports = value.num_ports;
    wire.sys_guid = htobe64(value.system_guid.value());
    wire.node_guid = htobe64(value.node_guid.value());
    wire.port_guid = htobe64(value.port_guid.value());
    wire.partition_cap = htobe16(value.partition_cap);
    wire.device_id = htobe16(value.device_id);
    wire.revision = htobe32(value.revision);
    wire.port_num_vendor_id = htobe32(static_cast<std::uint32_t>(value.local_port.value()) << 24U |
                                      (value.vendor_id & 0x00FFFFFFU));
    return from_struct(wire);
}

NodeDescription decode_node_description(const AttributeData& data) {
    return {.text = std::string(data.begin(), std::find(data.begin(), data.end(), std::uint8_t{0}))};
}

AttributeData encode(const NodeDescription& value) {
    AttributeData data{};
    std::memcpy(data.data(), value.text.data(), std::min(value.text.size(), data.size()));
    return data;
}

SwitchInfo decode_switch_info(const AttributeData& data) {
    const auto wire = wire_struct<ib_switch_info_t>(data);
    return {.linear_fdb_cap = be16toh(wire.lin_cap),
            .random_fdb_cap = be16toh(wire.rand_cap),
            .multicast_fdb_cap = be16toh(wire.mcast_cap),
            .linear_fdb_top = be16toh(wire.lin_top),
            .default_port = wire.def_port,
            .default_mcast_primary = wire.def_mcast_pri_port,
            .default_mcast_not_primary = wire.def_mcast_not_port,
            .life_time = static_cast<std::uint8_t>(wire.life_state >> 3U),
            .port_state_change = (wire.life_state & kSwitchStateChange) != 0,
            .optimized_sl2vl = (wire.life_state & kSwitchOptimizedSl2Vl) != 0,
            .lids_per_port = be16toh(wire.lids_per_port),
            .partition_enforcement_cap = be16toh(wire.enforce_cap),
            .enhanced_port0 = (wire.flags & kSwitchEnhancedPort0) != 0,
            .multicast_fdb_top = be16toh(wire.mcast_top),
            .wire = data};
}

AttributeData encode(const SwitchInfo& value) {
    auto wire = wire_struct<ib_switch_info_t>(value.wire);
    wire.lin_cap = htobe16(value.linear_fdb_cap);
    wire.rand_cap = htobe16(value.random_fdb_cap);
    wire.mcast_cap = htobe16(value.multicast_fdb_cap);
    wire.lin_top = htobe16(value.linear_fdb_top);
    wire.def_port = value.default_port;
    wire.def_mcast_pri_port = value.default_mcast_primary;
    wire.def_mcast_not_port = value.default_mcast_not_primary;
    wire.life_state = with_bits(wire.life_state, 0xF8U | kSwitchStateChange | kSwitchOptimizedSl2Vl,
                                static_cast<unsigned>(value.life_time) << 3U |
                                    flag(value.port_state_change, kSwitchStateChange) |
                                    flag(value.optimized_sl2vl, kSwitchOptimizedSl2Vl));
    wire.lids_per_port = htobe16(value.lids_per_port);
    wire.enforce_cap = htobe16(value.partition_enforcement_cap);
    wire.flags =
        with_bits(wire.flags, kSwitchEnhancedPort0, flag(value.enhanced_port0, kSwitchEnhancedPort0));
    wire.mcast_top = htobe16(value.multicast_fdb_top);
    AttributeData data = value.wire;
    put_struct(wire, data);
    return data;
}

PortInfo decode_port_info(const AttributeData& data) {
    const auto wire = wire_struct<ib_port_info_t>(data);
    const std::uint32_t latency = be32toh(wire.link_rt_latency);
    const SpeedExt2 ext2 = split_speed_ext2(static_cast<std::uint8_t>(latency >> 24U));
    return {.mkey = MKey{be64toh(wire.m_key)},
            .gid_prefix = be64toh(wire.subnet_prefix),
            .lid = Lid{be16toh(wire.base_lid)},
            .sm_lid = Lid{be16toh(wire.master_sm_base_lid)},
            .capability_mask = be32toh(wire.capability_mask),
            .diag_code = be16toh(wire.diag_code),
            .mkey_lease_period = be16toh(wire.m_key_lease_period),
            .local_port = PortNum{wire.local_port_num},
            .width_enabled = wire.link_width_enabled,
            .width_supported = wire.link_width_supported,
            .width_active = static_cast<LinkWidth>(wire.link_width_active),
            .speed_supported = high_nibble(wire.state_info1),
            .state = static_cast<PortState>(low_nibble(wire.state_info1)),
            .phys_state = static_cast<PhysState>(high_nibble(wire.state_info2)),
            .link_down_default = low_nibble(wire.state_info2),
            .mkey_protect = static_cast<std::uint8_t>(wire.mkey_lmc >> 6U),
            .lmc = bits(wire.mkey_lmc, 0x7U),
            .speed_active = high_nibble(wire.link_speed),
            .speed_enabled = low_nibble(wire.link_speed),
            .neighbor_mtu = static_cast<Mtu>(high_nibble(wire.mtu_smsl)),
            .sm_sl = low_nibble(wire.mtu_smsl),
            .vl_cap = high_nibble(wire.vl_cap),
            .init_type = low_nibble(wire.vl_cap),
            .vl_high_limit = wire.vl_high_limit,
            .vl_arb_high_cap = wire.vl_arb_high_cap,
            .vl_arb_low_cap = wire.vl_arb_low_cap,
            .init_type_reply = high_nibble(wire.mtu_cap),
            .mtu_cap = static_cast<Mtu>(low_nibble(wire.mtu_cap)),
            .vl_stall_count = static_cast<std::uint8_t>(wire.vl_stall_life >> 5U),
            .hoq_life = bits(wire.vl_stall_life, 0x1FU),
            .operational_vls = high_nibble(wire.vl_enforce),
            .partition_enforcement_inbound = (wire.vl_enforce & 0x8U) != 0,
            .partition_enforcement_outbound = (wire.vl_enforce & 0x4U) != 0,
            .filter_raw_inbound = (wire.vl_enforce & 0x2U) != 0,
            .filter_raw_outbound = (wire.vl_enforce & 0x1U) != 0,
            .mkey_violations = be16toh(wire.m_key_violations),
            .pkey_violations = be16toh(wire.p_key_violations),
            .qkey_violations = be16toh(wire.q_key_violations),
            .guid_cap = wire.guid_cap,
            .client_reregister = (wire.subnet_timeout & 0x80U) != 0,
            .subnet_timeout = bits(wire.subnet_timeout, 0x1FU),
            .resp_time_value = bits(wire.resp_time_value, 0x1FU),
            .local_phys_errors = high_nibble(wire.error_threshold),
            .overrun_errors = low_nibble(wire.error_threshold),
            .max_credit_hint = be16toh(wire.max_credit_hint),
            .link_round_trip = latency & 0x00FFFFFFU,
            .capability_mask2 = be16toh(wire.capability_mask2),
            .speed_ext_active = high_nibble(wire.link_speed_ext),
            .speed_ext_supported = low_nibble(wire.link_speed_ext),
            .speed_ext_enabled = bits(wire.link_speed_ext_enabled, 0x1FU),
            .speed_ext2_active = ext2.active,
            .speed_ext2_supported = ext2.supported,
            .speed_ext2_enabled = ext2.enabled,
            .wire = data};
}

namespace {

void put_port_identity(const PortInfo& value, ib_port_info_t& wire) {
    wire.m_key = htobe64(value.mkey.value());
    wire.subnet_prefix = htobe64(value.gid_prefix);
    wire.base_lid = htobe16(value.lid.value());
    wire.master_sm_base_lid = htobe16(value.sm_lid.value());
    wire.capability_mask = htobe32(value.capability_mask);
    wire.diag_code = htobe16(value.diag_code);
    wire.m_key_lease_period = htobe16(value.mkey_lease_period);
    wire.local_port_num = value.local_port.value();
    wire.mkey_lmc =
        with_bits(wire.mkey_lmc, 0xC7U, static_cast<unsigned>(value.mkey_protect) << 6U | (value.lmc & 0x7U));
    wire.m_key_violations = htobe16(value.mkey_violations);
    wire.p_key_violations = htobe16(value.pkey_violations);
    wire.q_key_violations = htobe16(value.qkey_violations);
    wire.guid_cap = value.guid_cap;
    wire.subnet_timeout = with_bits(wire.subnet_timeout, 0x9FU,
                                    flag(value.client_reregister, 0x80U) | (value.subnet_timeout & 0x1FU));
    wire.resp_time_value = with_bits(wire.resp_time_value, 0x1FU, value.resp_time_value);
    wire.capability_mask2 = htobe16(value.capability_mask2);
}

void put_port_link(const PortInfo& value, ib_port_info_t& wire) {
    wire.link_width_enabled = value.width_enabled;
    wire.link_width_supported = value.width_supported;
    wire.link_width_active = static_cast<std::uint8_t>(value.width_active);
    wire.state_info1 = nibbles(value.speed_supported, static_cast<unsigned>(value.state));
    wire.state_info2 = nibbles(static_cast<unsigned>(value.phys_state), value.link_down_default);
    wire.link_speed = nibbles(value.speed_active, value.speed_enabled);
    wire.error_threshold = nibbles(value.local_phys_errors, value.overrun_errors);
    wire.max_credit_hint = htobe16(value.max_credit_hint);
    const std::uint8_t ext2 = join_speed_ext2(static_cast<std::uint8_t>(be32toh(wire.link_rt_latency) >> 24U),
                                              {.active = value.speed_ext2_active,
                                               .supported = value.speed_ext2_supported,
                                               .enabled = value.speed_ext2_enabled});
    wire.link_rt_latency =
        htobe32(static_cast<std::uint32_t>(ext2) << 24U | (value.link_round_trip & 0x00FFFFFFU));
    wire.link_speed_ext = nibbles(value.speed_ext_active, value.speed_ext_supported);
    wire.link_speed_ext_enabled = with_bits(wire.link_speed_ext_enabled, 0x1FU, value.speed_ext_enabled);
}

void put_port_lanes(const PortInfo& value, ib_port_info_t& wire) {
    wire.mtu_smsl = nibbles(static_cast<unsigned>(value.neighbor_mtu), value.sm_sl);
    wire.vl_cap = nibbles(value.vl_cap, value.init_type);
    wire.vl_high_limit = value.vl_high_limit;
    wire.vl_arb_high_cap = value.vl_arb_high_cap;
    wire.vl_arb_low_cap = value.vl_arb_low_cap;
    wire.mtu_cap = nibbles(value.init_type_reply, static_cast<unsigned>(value.mtu_cap));
    wire.vl_stall_life =
        static_cast<std::uint8_t>((value.vl_stall_count & 0x7U) << 5U | (value.hoq_life & 0x1FU));
    wire.vl_enforce = nibbles(value.operational_vls, flag(value.partition_enforcement_inbound, 0x8U) |
                                                         flag(value.partition_enforcement_outbound, 0x4U) |
                                                         flag(value.filter_raw_inbound, 0x2U) |
                                                         flag(value.filter_raw_outbound, 0x1U));
}

}  // namespace

AttributeData encode(const PortInfo& value) {
    auto wire = wire_struct<ib_port_info_t>(value.wire);
    static_assert(sizeof wire == sizeof(AttributeData));
    put_port_identity(value, wire);
    put_port_link(value, wire);
    put_port_lanes(value, wire);
    return from_struct(wire);
}

GuidInfo decode_guid_info(const AttributeData& data) {
    const auto wire = wire_struct<ib_guid_info_t>(data);
    GuidInfo value;
    std::transform(std::begin(wire.guid), std::end(wire.guid), value.guids.begin(),
                   [](ib_net64_t guid) { return Guid{be64toh(guid)}; });
    return value;
}

AttributeData encode(const GuidInfo& value) {
    ib_guid_info_t wire{};
    std::transform(value.guids.begin(), value.guids.end(), std::begin(wire.guid),
                   [](Guid guid) { return htobe64(guid.value()); });
    return from_struct(wire);
}

PKeyBlock decode_pkey_block(const AttributeData& data) {
    const auto wire = wire_struct<ib_pkey_table_t>(data);
    PKeyBlock value;
    std::transform(std::begin(wire.pkey_entry), std::end(wire.pkey_entry), value.keys.begin(),
                   [](ib_net16_t key) { return PKey{be16toh(key)}; });
    return value;
}

AttributeData encode(const PKeyBlock& value) {
    ib_pkey_table_t wire{};
    std::transform(value.keys.begin(), value.keys.end(), std::begin(wire.pkey_entry),
                   [](PKey key) { return htobe16(key.value()); });
    return from_struct(wire);
}

Sl2VlTable decode_sl2vl(const AttributeData& data) {
    const auto wire = wire_struct<ib_slvl_table_t>(data);
    Sl2VlTable value;
    for (std::size_t pair = 0; pair < std::size(wire.raw_vl_by_sl); ++pair) {
        value.vls[2 * pair] = Vl{high_nibble(wire.raw_vl_by_sl[pair])};
        value.vls[2 * pair + 1] = Vl{low_nibble(wire.raw_vl_by_sl[pair])};
    }
    return value;
}

AttributeData encode(const Sl2VlTable& value) {
    ib_slvl_table_t wire{};
    for (std::size_t pair = 0; pair < std::size(wire.raw_vl_by_sl); ++pair) {
        wire.raw_vl_by_sl[pair] = nibbles(value.vls[2 * pair].value(), value.vls[2 * pair + 1].value());
    }
    return from_struct(wire);
}

VlArbBlock decode_vl_arb(const AttributeData& data) {
    const auto wire = wire_struct<ib_vl_arb_table_t>(data);
    VlArbBlock value;
    std::transform(std::begin(wire.vl_entry), std::end(wire.vl_entry), value.entries.begin(),
                   [](const ib_vl_arb_element_t& entry) {
                       return VlArbBlock::Entry{.vl = Vl{low_nibble(entry.vl)}, .weight = entry.weight};
                   });
    return value;
}

AttributeData encode(const VlArbBlock& value) {
    ib_vl_arb_table_t wire{};
    std::transform(value.entries.begin(), value.entries.end(), std::begin(wire.vl_entry),
                   [](const VlArbBlock::Entry& entry) {
                       return ib_vl_arb_element_t{.vl = low_nibble(entry.vl.value()), .weight = entry.weight};
                   });
    return from_struct(wire);
}

LftBlock decode_lft(const AttributeData& data) {
    return {.ports = data};
}

AttributeData encode(const LftBlock& value) {
    return value.ports;
}

MftBlock decode_mft(const AttributeData& data) {
    MftBlock value;
    std::memcpy(value.port_masks.data(), data.data(), data.size());
    std::ranges::for_each(value.port_masks, [](std::uint16_t& mask) { mask = be16toh(mask); });
    return value;
}

AttributeData encode(const MftBlock& value) {
    MftBlock wire = value;
    std::ranges::for_each(wire.port_masks, [](std::uint16_t& mask) { mask = htobe16(mask); });
    AttributeData data{};
    std::memcpy(data.data(), wire.port_masks.data(), data.size());
    return data;
}

SmInfo decode_sm_info(const AttributeData& data) {
    const auto wire = wire_struct<ib_sm_info_t>(data);
    return {.guid = Guid{be64toh(wire.guid)},
            .sm_key = SmKey{be64toh(wire.sm_key)},
            .act_count = be32toh(wire.act_count),
            .priority = high_nibble(wire.pri_state),
            .state = static_cast<SmState>(low_nibble(wire.pri_state))};
}

AttributeData encode(const SmInfo& value) {
    ib_sm_info_t wire{};
    wire.guid = htobe64(value.guid.value());
    wire.sm_key = htobe64(value.sm_key.value());
    wire.act_count = htobe32(value.act_count);
    wire.pri_state = nibbles(value.priority, static_cast<unsigned>(value.state));
    return from_struct(wire);
}

Notice decode_notice(const AttributeData& data) {
    const auto wire =
        wire_struct<ib_mad_notice_attr_t>(data);  // without issuer_gid, which only SA reports carry
    const auto& generic = wire.g_or_v.generic;
    const std::uint16_t toggle_count = be16toh(wire.toggle_count);
    Notice value{
        .generic = (wire.generic_type & 0x80U) != 0,
        .type = bits(wire.generic_type, 0x7FU),
        .producer = static_cast<std::uint32_t>(generic.prod_type_msb) << 16U | be16toh(generic.prod_type_lsb),
        .trap_number = be16toh(generic.trap_num),
        .issuer_lid = Lid{be16toh(wire.issuer_lid)},
        .toggle = (toggle_count & 0x8000U) != 0,
        .count = static_cast<std::uint16_t>(toggle_count & 0x7FFFU),
        .details = {}};
    std::ranges::copy(wire.data_details.raw_data.details, value.details.begin());
    return value;
}

AttributeData encode(const Notice& value) {
    ib_mad_notice_attr_t wire{};
    auto& generic = wire.g_or_v.generic;
    wire.generic_type = with_bits(value.type, 0x80U, flag(value.generic, 0x80U));
    generic.prod_type_msb = static_cast<std::uint8_t>(value.producer >> 16U);
    generic.prod_type_lsb = htobe16(static_cast<std::uint16_t>(value.producer & 0xFFFFU));
    generic.trap_num = htobe16(value.trap_number);
    wire.issuer_lid = htobe16(value.issuer_lid.value());
    wire.toggle_count =
        htobe16(static_cast<std::uint16_t>(flag(value.toggle, 0x8000U) | (value.count & 0x7FFFU)));
    std::ranges::copy(value.details, std::begin(wire.data_details.raw_data.details));
    return from_struct(wire);
}

PortCounters decode_port_counters(const AttributeData& data) {
    const auto wire = wire_struct<ib_port_counters_t>(data);
    return {.port = PortNum{wire.port_select},
            .counter_select = be16toh(wire.counter_select),
            .symbol_errors = be16toh(wire.symbol_err_cnt),
            .link_recoveries = wire.link_err_recover,
            .link_downed = wire.link_downed,
            .receive_errors = be16toh(wire.rcv_err),
            .remote_physical_errors = be16toh(wire.rcv_rem_phys_err),
            .switch_relay_errors = be16toh(wire.rcv_switch_relay_err),
            .transmit_discards = be16toh(wire.xmit_discards),
            .transmit_constraint_errors = wire.xmit_constraint_err,
            .receive_constraint_errors = wire.rcv_constraint_err,
            .local_integrity_errors = high_nibble(wire.link_int_buffer_overrun),
            .buffer_overruns = low_nibble(wire.link_int_buffer_overrun),
            .vl15_dropped = be16toh(wire.vl15_dropped),
            .transmit_words = be32toh(wire.xmit_data),
            .receive_words = be32toh(wire.rcv_data),
            .transmit_packets = be32toh(wire.xmit_pkts),
            .receive_packets = be32toh(wire.rcv_pkts),
            .transmit_wait = be32toh(wire.xmit_wait)};
}

AttributeData encode(const PortCounters& value) {
    ib_port_counters_t wire{};
    wire.port_select = value.port.value();
    wire.counter_select = htobe16(value.counter_select);
    wire.symbol_err_cnt = htobe16(value.symbol_errors);
    wire.link_err_recover = value.link_recoveries;
    wire.link_downed = value.link_downed;
    wire.rcv_err = htobe16(value.receive_errors);
    wire.rcv_rem_phys_err = htobe16(value.remote_physical_errors);
    wire.rcv_switch_relay_err = htobe16(value.switch_relay_errors);
    wire.xmit_discards = htobe16(value.transmit_discards);
    wire.xmit_constraint_err = value.transmit_constraint_errors;
    wire.rcv_constraint_err = value.receive_constraint_errors;
    wire.link_int_buffer_overrun = nibbles(value.local_integrity_errors, value.buffer_overruns);
    wire.vl15_dropped = htobe16(value.vl15_dropped);
    wire.xmit_data = htobe32(value.transmit_words);
    wire.rcv_data = htobe32(value.receive_words);
    wire.xmit_pkts = htobe32(value.transmit_packets);
    wire.rcv_pkts = htobe32(value.receive_packets);
    wire.xmit_wait = htobe32(value.transmit_wait);
    return from_struct(wire);
}

PortCountersExtended decode_port_counters_extended(const PerfData& data) {
    ib_port_counters_ext_t wire;
    static_assert(sizeof wire <= sizeof data);
    std::memcpy(&wire, data.data(), sizeof wire);
    return {.port = PortNum{wire.port_select},
            .counter_select = be16toh(wire.counter_select),
            .transmit_words = be64toh(wire.xmit_data),
            .receive_words = be64toh(wire.rcv_data),
            .transmit_packets = be64toh(wire.xmit_pkts),
            .receive_packets = be64toh(wire.rcv_pkts),
            .unicast_transmit_packets = be64toh(wire.unicast_xmit_pkts),
            .unicast_receive_packets = be64toh(wire.unicast_rcv_pkts),
            .multicast_transmit_packets = be64toh(wire.multicast_xmit_pkts),
            .multicast_receive_packets = be64toh(wire.multicast_rcv_pkts)};
}

PerfData encode(const PortCountersExtended& value) {
    ib_port_counters_ext_t wire{};
    wire.port_select = value.port.value();
    wire.counter_select = htobe16(value.counter_select);
    wire.xmit_data = htobe64(value.transmit_words);
    wire.rcv_data = htobe64(value.receive_words);
    wire.xmit_pkts = htobe64(value.transmit_packets);
    wire.rcv_pkts = htobe64(value.receive_packets);
    wire.unicast_xmit_pkts = htobe64(value.unicast_transmit_packets);
    wire.unicast_rcv_pkts = htobe64(value.unicast_receive_packets);
    wire.multicast_xmit_pkts = htobe64(value.multicast_transmit_packets);
    wire.multicast_rcv_pkts = htobe64(value.multicast_receive_packets);
    PerfData data{};
    std::memcpy(data.data(), &wire, sizeof wire);
    return data;
}

bool decode_mlnx_adaptive_routing(const AttributeData& data) {
    return (data[3] & 1U) != 0;
}

bool decode_mlnx_fdr10_active(const AttributeData& data) {
    return wire_struct<ib_mlnx_ext_port_info_t>(data).link_speed_active == FDR10;
}

unsigned vl_count(std::uint8_t code) {
    constexpr std::array<unsigned, 6> kVls{0, 1, 2, 4, 8, 15};
    return code < kVls.size() ? kVls[code] : 0U;
}

}  // namespace ibf::mad
