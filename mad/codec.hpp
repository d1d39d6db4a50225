// DOC: attribute codecs: 64 wire bytes <-> values.
//
// Written over iba/ib_types.h and libibmad's field tables (tests/unit/mad hold one against the other).
// decode_* never fails: any 64 bytes are some value; whether the value makes sense is judged by its user
// (valid(), ranges). encode() of a struct that carries `wire` starts from it. Reserved bits that we do not
// know stay as they came.
#pragma once

#include "mad/attributes.hpp"

namespace ibf::mad {

[[nodiscard]] NodeInfo decode_node_info(const AttributeData& data);
[[nodiscard]] AttributeData encode(const NodeInfo& value);
[[nodiscard]] NodeDescription decode_node_description(const AttributeData& data);
[[nodiscard]] AttributeData encode(const NodeDescription& value);
[[nodiscard]] SwitchInfo decode_switch_info(const AttributeData& data);
[[nodiscard]] AttributeData encode(const SwitchInfo& value);
[[nodiscard]] PortInfo decode_port_info(const AttributeData& data);
[[nodiscard]] AttributeData encode(const PortInfo& value);
[[nodiscard]] GuidInfo decode_guid_info(const AttributeData& data);
[[nodiscard]] AttributeData encode(const GuidInfo& value);
[[nodiscard]] PKeyBlock decode_pkey_block(const AttributeData& data);
[[nodiscard]] AttributeData encode(const PKeyBlock& value);
[[nodiscard]] Sl2VlTable decode_sl2vl(const AttributeData& data);
[[nodiscard]] AttributeData encode(const Sl2VlTable& value);
[[nodiscard]] VlArbBlock decode_vl_arb(const AttributeData& data);
[[nodiscard]] AttributeData encode(const VlArbBlock& value);
[[nodiscard]] LftBlock decode_lft(const AttributeData& data);
[[nodiscard]] AttributeData encode(const LftBlock& value);
[[nodiscard]] MftBlock decode_mft(const AttributeData& data);
[[nodiscard]] AttributeData encode(const MftBlock& value);
[[nodiscard]] SmInfo decode_sm_info(const AttributeData& data);
[[nodiscard]] AttributeData encode(const SmInfo& value);
[[nodiscard]] Notice decode_notice(const AttributeData& data);
[[nodiscard]] AttributeData encode(const Notice& value);
[[nodiscard]] PortCounters decode_port_counters(const AttributeData& data);
[[nodiscard]] AttributeData encode(const PortCounters& value);
/// 72 bytes: more than an SMP carries.
[[nodiscard]] PortCountersExtended decode_port_counters_extended(const PerfData& data);
[[nodiscard]] PerfData encode(const PortCountersExtended& value);
/// The vendor's ExtendedPortInfo (attribute 0xFF90): is FDR10 active on the port?
[[nodiscard]] bool decode_mlnx_fdr10_active(const AttributeData& data);

/// The vendor's AdaptiveRoutingInfo (attribute 0xFF20): bit 0 of its first 32 bits, as ibutils2 reads it.
[[nodiscard]] bool decode_mlnx_adaptive_routing(const AttributeData& data);

/// VLs of a VLCap / OperationalVLs code: 1 -> 1, 2 -> 2, 3 -> 4, 4 -> 8, 5 -> 15; 0 for anything else.
[[nodiscard]] unsigned vl_count(std::uint8_t code);

}  // namespace ibf::mad
