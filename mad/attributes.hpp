// DOC: SMP and PMA attributes as values.
//
// One struct per attribute (IBA 14.2.5, 16.1.3), typed and in host order. Where a device owns bits that we do
// not model, the struct keeps the wire image it was decoded from (`wire`) and encode() starts from it, so
// that a Set is the last Get, changed: unknown bits survive. Codecs are in codec.hpp.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <string>

#include "mad/ids.hpp"

namespace ibf::mad {

using AttributeData = std::array<std::uint8_t, 64>;  ///< SMP payload
using PerfData = std::array<std::uint8_t, 192>;      ///< payload of the performance class

enum class Attribute : std::uint16_t {
    class_port_info = 0x0001,
    notice = 0x0002,
    node_description = 0x0010,
    node_info = 0x0011,
    switch_info = 0x0012,
    guid_info = 0x0014,
    port_info = 0x0015,
    pkey_table = 0x0016,
    sl2vl_table = 0x0017,
    vl_arbitration = 0x0018,
    linear_forwarding_table = 0x0019,
    multicast_forwarding_table = 0x001B,
    sm_info = 0x0020,
    mlnx_adaptive_routing_info = 0xFF20,  ///< of NVIDIA's switches (ibutils2: IBIS_IB_ATTR_SMP_AR_INFO)
    mlnx_extended_port_info = 0xFF90,
};

struct NodeInfo {
    std::uint8_t base_version = 1;
    std::uint8_t class_version = 1;
    NodeType type = NodeType::ca;  ///< may hold an illegal number from the wire: check valid()
    std::uint8_t num_ports = 0;
    Guid system_guid{};
    Guid node_guid{};
    Guid port_guid{};
    std::uint16_t partition_cap = 0;
    std::uint16_t device_id = 0;
    std::uint32_t revision = 0;
    PortNum local_port{};
    std::uint32_t vendor_id = 0;  ///< 24 bits

    /// Known type, GUIDs not 0, num_ports >= 1, local_port <= num_ports (and >= 1 unless a switch).
    [[nodiscard]] bool valid() const;
    auto operator<=>(const NodeInfo&) const = default;
};

struct NodeDescription {
    std::string text;  ///< up to 64 bytes, cut at the first NUL, trailing blanks kept
    auto operator<=>(const NodeDescription&) const = default;
};

/// MulticastFDBTop where no entry is valid (IBA 14.2.5.4).
inline constexpr std::uint16_t kMulticastTopNone = 0xBFFF;

struct SwitchInfo {
    std::uint16_t linear_fdb_cap = 0;
    std::uint16_t random_fdb_cap = 0;
    std::uint16_t multicast_fdb_cap = 0;
    std::uint16_t linear_fdb_top = 0;
    std::uint8_t default_port = 0;
    std::uint8_t default_mcast_primary = 0;
    std::uint8_t default_mcast_not_primary = 0;
    std::uint8_t life_time = 0;      ///< 5 bits: 4.096 us * 2^n
    bool port_state_change = false;  ///< write-one-to-clear
    bool optimized_sl2vl = false;    ///< OptimizedSLtoVLMappingProgramming, 2 bits folded
    std::uint16_t lids_per_port = 0;
    std::uint16_t partition_enforcement_cap = 0;
    bool enhanced_port0 = false;
    std::uint16_t multicast_fdb_top = 0;
    AttributeData wire{};
};

/// PortInfo (IBA 14.2.5.6). Zero in state, phys_state, width_enabled, speed_enabled means "no change" in a
/// Set.
struct PortInfo {
    MKey mkey{};
    std::uint64_t gid_prefix = 0;
    Lid lid{};
    Lid sm_lid{};
    std::uint32_t capability_mask = 0;
    std::uint16_t diag_code = 0;
    std::uint16_t mkey_lease_period = 0;  ///< seconds
    PortNum local_port{};
    std::uint8_t width_enabled = 0;  ///< bits as LinkWidth; 255 = all supported
    std::uint8_t width_supported = 0;
    LinkWidth width_active = LinkWidth::none;
    std::uint8_t speed_supported = 0;  ///< bits: 1 SDR, 2 DDR, 4 QDR
    PortState state = PortState::no_change;
    PhysState phys_state = PhysState::no_change;
    std::uint8_t link_down_default = 0;  ///< 0 no change, 1 sleep, 2 polling
    std::uint8_t mkey_protect = 0;       ///< 2 bits
    std::uint8_t lmc = 0;                ///< 0..7
    std::uint8_t speed_active = 0;       ///< bits as speed_supported
    std::uint8_t speed_enabled = 0;
    Mtu neighbor_mtu = Mtu::none;
    std::uint8_t sm_sl = 0;
    std::uint8_t vl_cap = 0;  ///< code 1..5: VL0, 0-1, 0-3, 0-7, 0-14
    std::uint8_t init_type = 0;
    std::uint8_t vl_high_limit = 0;
    std::uint8_t vl_arb_high_cap = 0;
    std::uint8_t vl_arb_low_cap = 0;
    std::uint8_t init_type_reply = 0;
    Mtu mtu_cap = Mtu::none;
    std::uint8_t vl_stall_count = 0;   ///< 3 bits
    std::uint8_t hoq_life = 0;         ///< 5 bits: 4.096 us * 2^n
    std::uint8_t operational_vls = 0;  ///< code as vl_cap
    bool partition_enforcement_inbound = false;
    bool partition_enforcement_outbound = false;
    bool filter_raw_inbound = false;
    bool filter_raw_outbound = false;
    std::uint16_t mkey_violations = 0;
    std::uint16_t pkey_violations = 0;
    std::uint16_t qkey_violations = 0;
    std::uint8_t guid_cap = 0;  ///< entries of the GUIDInfo table
    bool client_reregister = false;
    std::uint8_t subnet_timeout = 0;  ///< 5 bits: 4.096 us * 2^n
    std::uint8_t resp_time_value = 0;
    std::uint8_t local_phys_errors = 0;  ///< threshold, 4 bits
    std::uint8_t overrun_errors = 0;     ///< threshold, 4 bits
    std::uint16_t max_credit_hint = 0;
    std::uint32_t link_round_trip = 0;
    std::uint16_t capability_mask2 = 0;
    std::uint8_t speed_ext_active = 0;  ///< code 1 FDR, 2 EDR, 4 HDR, 8 NDR
    std::uint8_t speed_ext_supported = 0;
    std::uint8_t speed_ext_enabled = 0;
    std::uint8_t speed_ext2_active = 0;     ///< code 1 XDR (bit 449, 2 wide)
    std::uint8_t speed_ext2_supported = 0;  ///< (bit 451, 2 wide)
    std::uint8_t speed_ext2_enabled = 0;    ///< (bit 453, 3 wide)
    bool fdr10_active = false;              ///< not on the wire: from the vendor's ExtendedPortInfo
    AttributeData wire{};

    /// The lane speed, folded over all speed fields that the capability bits vouch for; none when the link is
    /// down.
    [[nodiscard]] LinkSpeed speed() const;
    [[nodiscard]] bool linked() const { return phys_state == PhysState::link_up; }
    [[nodiscard]] bool is_sm() const { return (capability_mask & 0x00000002U) != 0; }        ///< IsSM
    [[nodiscard]] bool sm_disabled() const { return (capability_mask & 0x00000400U) != 0; }  ///< IsSMdisabled
    [[nodiscard]] bool has_sl_mapping() const { return (capability_mask & 0x00000040U) != 0; }
    [[nodiscard]] bool has_extended_speeds() const { return (capability_mask & 0x00004000U) != 0; }
    [[nodiscard]] bool has_capability_mask2() const { return (capability_mask & 0x00008000U) != 0; }
    [[nodiscard]] bool can_reregister() const { return (capability_mask & 0x02000000U) != 0; }
};

struct GuidInfo {
    std::array<Guid, 8> guids{};
    auto operator<=>(const GuidInfo&) const = default;
};
struct PKeyBlock {
    std::array<PKey, 32> keys{};
    auto operator<=>(const PKeyBlock&) const = default;
};
struct Sl2VlTable {
    std::array<Vl, 16> vls{};  ///< by SL
    auto operator<=>(const Sl2VlTable&) const = default;
};
struct VlArbBlock {
    struct Entry {
        Vl vl{};
        std::uint8_t weight = 0;
        auto operator<=>(const Entry&) const = default;
    };
    std::array<Entry, 32> entries{};
    auto operator<=>(const VlArbBlock&) const = default;
};
struct LftBlock {
    std::array<std::uint8_t, kLftBlockEntries> ports{};
    auto operator<=>(const LftBlock&) const = default;
};
struct MftBlock {
    std::array<std::uint16_t, 32>
        port_masks{};  ///< 16 ports at the block's position, bit n = port 16*position+n
    auto operator<=>(const MftBlock&) const = default;
};
struct SmInfo {
    Guid guid{};
    SmKey sm_key{};
    std::uint32_t act_count = 0;
    std::uint8_t priority = 0;  ///< 0..15
    SmState state = SmState::not_active;
    auto operator<=>(const SmInfo&) const = default;
};

/// Notice (IBA 13.4.8.2), generic traps; `details` is the 54-byte DataDetails, see the trap helpers.
struct Notice {
    bool generic = true;
    std::uint8_t type = 0;          ///< 0 fatal, 1 urgent, 2 security, 3 SM, 4 info, 0x7F empty
    std::uint32_t producer = 0;     ///< node type of the sender (or vendor id), 24 bits
    std::uint16_t trap_number = 0;  ///< or device id
    Lid issuer_lid{};
    bool toggle = false;
    std::uint16_t count = 0;                 ///< 15 bits
    std::array<std::uint8_t, 54> details{};  ///< what they say: trap.hpp
    auto operator<=>(const Notice&) const = default;
};

/// PortCounters (IBA 16.1.3.5); counters saturate at the width of their field.
struct PortCounters {
    PortNum port{};
    std::uint16_t counter_select = 0;
    std::uint16_t symbol_errors = 0;
    std::uint8_t link_recoveries = 0;
    std::uint8_t link_downed = 0;
    std::uint16_t receive_errors = 0;
    std::uint16_t remote_physical_errors = 0;
    std::uint16_t switch_relay_errors = 0;
    std::uint16_t transmit_discards = 0;
    std::uint8_t transmit_constraint_errors = 0;
    std::uint8_t receive_constraint_errors = 0;
    std::uint8_t local_integrity_errors = 0;
    std::uint8_t buffer_overruns = 0;
    std::uint16_t vl15_dropped = 0;
    std::uint32_t transmit_words = 0;  ///< 32-bit words
    std::uint32_t receive_words = 0;
    std::uint32_t transmit_packets = 0;
    std::uint32_t receive_packets = 0;
    std::uint32_t transmit_wait = 0;
    auto operator<=>(const PortCounters&) const = default;
};
struct PortCountersExtended {
    PortNum port{};
    std::uint16_t counter_select = 0;
    std::uint64_t transmit_words = 0;
    std::uint64_t receive_words = 0;
    std::uint64_t transmit_packets = 0;
    std::uint64_t receive_packets = 0;
    std::uint64_t unicast_transmit_packets = 0;
    std::uint64_t unicast_receive_packets = 0;
    std::uint64_t multicast_transmit_packets = 0;
    std::uint64_t multicast_receive_packets = 0;
    auto operator<=>(const PortCountersExtended&) const = default;
};

}  // namespace ibf::mad
