#include "mad/trap.hpp"

#include <endian.h>

#include <algorithm>
#include <cstring>

#include <iba/ib_types.h>

namespace ibf::mad {
namespace {

using Details = decltype(ib_mad_notice_attr_t::data_details);

constexpr std::uint32_t kQpMask = 0x00FFFFFF;
constexpr unsigned kSlShift = 28;

Details details_of(const Notice& notice) {
    Details wire{};
    std::memcpy(&wire, notice.details.data(), notice.details.size());
    return wire;
}

Gid gid_of(const ib_gid_t& wire) {
    return {be64toh(wire.unicast.prefix), Guid{be64toh(wire.unicast.interface_id)}};
}

LocalChangeTrap local_change(const Details& wire) {
    const auto& from = wire.ntc_144;
    const auto says = [&](std::uint16_t flag) { return (from.change_flgs & flag) != 0; };
    return {.lid = Lid{be16toh(from.lid)},
            .other_local_changes = (from.local_changes & TRAP_144_MASK_OTHER_LOCAL_CHANGES) != 0,
            .capability_mask = be32toh(from.new_cap_mask),
            .node_description = says(TRAP_144_MASK_NODE_DESCRIPTION_CHANGE),
            .width_enabled = says(TRAP_144_MASK_LINK_WIDTH_ENABLE_CHANGE),
            .speed_enabled = says(TRAP_144_MASK_LINK_SPEED_ENABLE_CHANGE),
            .sm_priority = says(TRAP_144_MASK_SM_PRIORITY_CHANGE),
            .hierarchy_info = says(TRAP_144_MASK_HIERARCHY_INFO_CHANGE),
            .capability_mask2_changed = says(TRAP_144_MASK_CAPABILITY_MASK2_CHANGE),
            .capability_mask2 = be16toh(from.cap_mask2)};
}

MKeyTrap mkey_violation(const Details& wire) {
    constexpr unsigned kDirected = 0x80;
    constexpr unsigned kTruncated = 0x40;
    constexpr unsigned kHops = 0x3F;
    const auto& from = wire.ntc_256;
    MKeyTrap trap{.from = Lid{be16toh(from.lid)},
                  .dr_from = Lid{be16toh(from.dr_slid)},
                  .method = from.method,
                  .attribute = be16toh(from.attr_id),
                  .modifier = be32toh(from.attr_mod),
                  .mkey = MKey{be64toh(from.mkey)},
                  .directed = (from.dr_trunc_hop & kDirected) != 0,
                  .truncated = (from.dr_trunc_hop & kTruncated) != 0,
                  .hops = static_cast<std::uint8_t>(from.dr_trunc_hop & kHops),
                  .return_path = {}};
    std::ranges::copy(from.dr_rtn_path, trap.return_path.begin());
    return trap;
}

/// What 257, 258 and 259 have in common stands under the same names, at other offsets.
template <class Wire>
KeyTrap key_violation(const Wire& wire, std::uint32_t key, std::uint32_t sl_and_qp) {
    KeyTrap trap;
    trap.from = {Lid{be16toh(wire.lid1)}, sl_and_qp & kQpMask, gid_of(wire.gid1)};
    trap.to = {Lid{be16toh(wire.lid2)}, be32toh(wire.qp2) & kQpMask, gid_of(wire.gid2)};
    trap.key = key;
    trap.sl = static_cast<std::uint8_t>(sl_and_qp >> kSlShift);
    return trap;
}

KeyTrap key_violation_at_switch(const Details& wire) {
    const auto& from = wire.ntc_259;
    KeyTrap trap = key_violation(from, be16toh(from.pkey), be32toh(from.sl_qp1));
    trap.data_valid = be16toh(from.data_valid);
    trap.switch_lid = Lid{be16toh(from.sw_lid)};
    trap.switch_port = PortNum{from.port_no};
    return trap;
}

}  // namespace

Trap decode_trap(const Notice& notice) {
    if (!notice.generic) {
        return UnknownTrap{};
    }
    const Details wire = details_of(notice);
    switch (notice.trap_number) {
        case kTrapLinkState: return LinkStateTrap{Lid{be16toh(wire.ntc_128.sw_lid)}};
        case kTrapLinkIntegrity:
        case kTrapBufferOverrun:
        case kTrapFlowControl:
            return PortErrorTrap{Lid{be16toh(wire.ntc_129_131.lid)}, PortNum{wire.ntc_129_131.port_num}};
        case kTrapLocalChange: return local_change(wire);
        case kTrapSystemGuid:
            return SystemGuidTrap{Lid{be16toh(wire.ntc_145.lid)}, Guid{be64toh(wire.ntc_145.new_sys_guid)}};
        case kTrapBadMKey: return mkey_violation(wire);
        case kTrapBadPKey:
        case kTrapBadQKey:
            return key_violation(wire.ntc_257_258, be32toh(wire.ntc_257_258.key),
                                 be32toh(wire.ntc_257_258.qp1));
        case kTrapBadPKeyAtSwitch: return key_violation_at_switch(wire);
        default: return UnknownTrap{};
    }
}

std::string_view trap_name(const Notice& notice) {
    if (!notice.generic) {
        return "vendor-trap";
    }
    switch (notice.trap_number) {
        case kTrapLinkState: return "link-state";
        case kTrapLinkIntegrity: return "link-integrity";
        case kTrapBufferOverrun: return "buffer-overrun";
        case kTrapFlowControl: return "flow-control";
        case kTrapLocalChange: return "local-change";
        case kTrapSystemGuid: return "system-guid";
        case kTrapBadMKey: return "mkey-violation";
        case kTrapBadPKey:
        case kTrapBadPKeyAtSwitch: return "pkey-violation";
        case kTrapBadQKey: return "qkey-violation";
        default: return "trap";
    }
}

}  // namespace ibf::mad
