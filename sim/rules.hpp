// DOC: the wire rules: what a Set may ask of a device.
//
// Real agents differ in what they forgive; a subnet manager that keeps these rules works on all of them. Each
// rule has a name. A Set that breaks one is refused with status 0x1C, nothing of it is applied, and the
// simulator counts it under the rule's name, so that a test can demand zero. The checks are pure: state and
// request in, the first broken rule out. Setting a port to the state that it is in already is no transition
// (a Set whose answer was lost is sent again). IBA 7.2.7, 14.2.4, 14.2.5.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/device.hpp"

namespace ibf::sim {

enum class Rule : std::uint8_t {
    port_range,          ///< the modifier names a port that the device does not have
    port_state,          ///< Init to Armed, Armed to Active, anything to Down; nothing else
    port0_state,         ///< a base switch port 0 has no state machine: write 0
    peer_not_armed,      ///< Active only where the other end is Armed or Active
    neighbor_mtu,        ///< a legal code, not above either MTUCap; before Armed equal to the smaller one
    operational_vls,     ///< a legal code, not above VLCap; before Armed legal and equal at both ends
    active_link_change,  ///< MTU and VLs of an Active link change only by way of Down
    phys_state,          ///< 0, Sleep, Polling or Disabled, and only as or after Down
    link_down_default,   ///< 0, Sleep or Polling
    width_enabled,       ///< 0, 255, or a subset of what is supported
    speed_enabled,       ///< 0, all-ones, or a subset of what is supported
    external_port_lid,   ///< LID, SMLID and LMC of an external switch port are 0
    port0_lmc,           ///< LMC is 0 on a base switch port 0
    lid_range,           ///< LIDs, the whole LMC range, lie in 1..0xBFFF
    lid_alignment,       ///< the base LID is a multiple of 2^LMC
    sm_lid_range,        ///< MasterSMLID lies in 1..0xBFFF
    reregister,          ///< ClientReregister only where the capability bit is
    linear_fdb_top,      ///< below LinearFDBCap
    lft_block_range,     ///< the block lies below LinearFDBCap
    lft_above_top,       ///< LinearFDBTop is raised before the block is written
    lft_port,            ///< an entry names a port of the switch, or 255
    multicast_fdb_top,   ///< within the multicast table, 0 (not in use) or 0xBFFF (no entry)
    mft_block_range,     ///< block and position lie within the table
    pkey_block_range,    ///< the block lies within the port's table
    guid_block_range,    ///< the block lies within GUIDCap
    sl2vl_vl,            ///< a data VL that is operational at the exit port, or 15
    sl2vl_overlap,       ///< one optimised SLtoVL Set at a time per device
    sl2vl_unsupported,   ///< optimised SLtoVL Set on a switch that does not offer it
    vl_arb_block_range,  ///< blocks 1..4, within the port's arbitration capacity
    vl_arb_vl,           ///< VL 15 is not arbitrated
    count_
};
[[nodiscard]] std::string_view to_string(Rule rule);

/// The port a PortInfo Set is about, with what the rules need to know around it.
struct PortContext {
    const Device& device;
    mad::PortNum number{};
    const Port* peer = nullptr;  ///< the other end of the link, where it is up

    [[nodiscard]] const Port& port() const { return device.ports[number.value()]; }
    [[nodiscard]] bool external() const { return device.is_switch() && number.value() != 0; }
    [[nodiscard]] bool port0() const { return device.is_switch() && number.value() == 0; }
    [[nodiscard]] bool base_port0() const { return port0() && !device.switch_info.enhanced_port0; }
};
[[nodiscard]] std::optional<Rule> check_port_info(const PortContext& at, const mad::PortInfo& request);
[[nodiscard]] std::optional<Rule> check_switch_info(const Device& device, const mad::SwitchInfo& request);
[[nodiscard]] std::optional<Rule> check_lft(const Device& device, std::uint32_t block,
                                            const mad::LftBlock& request);
[[nodiscard]] std::optional<Rule> check_mft(const Device& device, std::uint32_t block,
                                            std::uint32_t position);
[[nodiscard]] std::optional<Rule> check_sl2vl(const Port& exit, const mad::Sl2VlTable& request);
[[nodiscard]] std::optional<Rule> check_vl_arb(const Port& port, std::uint32_t block,
                                               const mad::VlArbBlock& request);

}  // namespace ibf::sim
