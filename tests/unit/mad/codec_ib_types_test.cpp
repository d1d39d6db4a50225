// Holds mad/codec against the structs and accessors of iba/ib_types.h, where it has one for the field.

#include <iba/ib_types.h>

#include <cstring>

#include <gtest/gtest.h>

#include "base/prng.hpp"
#include "mad/codec.hpp"
#include "mad/trap.hpp"
#include "random_bytes.hpp"

namespace ibf::mad {
namespace {

template <class Wire>
Wire as(const AttributeData& bytes) {
    Wire wire{};
    std::memcpy(&wire, bytes.data(), std::min(sizeof wire, bytes.size()));
    return wire;
}

TEST(CodecIbTypes, PortInfo) {
    base::Prng prng{11};
    for (int round = 0; round < kRounds; ++round) {
        const AttributeData bytes = random_bytes<AttributeData>(prng);
        const auto wire = as<ib_port_info_t>(bytes);
        const PortInfo port = decode_port_info(bytes);
        EXPECT_EQ(port.lid.value(), cl_ntoh16(wire.base_lid));
        EXPECT_EQ(port.capability_mask, cl_ntoh32(wire.capability_mask));
        EXPECT_EQ(number(port.state), ib_port_info_get_port_state(&wire));
        EXPECT_EQ(number(port.phys_state), ib_port_info_get_port_phys_state(&wire));
        EXPECT_EQ(port.link_down_default, ib_port_info_get_link_down_def_state(&wire));
        EXPECT_EQ(port.vl_cap, ib_port_info_get_vl_cap(&wire));
        EXPECT_EQ(port.init_type, ib_port_info_get_init_type(&wire));
        EXPECT_EQ(port.operational_vls, ib_port_info_get_op_vls(&wire));
        EXPECT_EQ(port.speed_supported, ib_port_info_get_link_speed_sup(&wire));
        EXPECT_EQ(port.speed_active, ib_port_info_get_link_speed_active(&wire));
        EXPECT_EQ(port.speed_enabled, ib_port_info_get_link_speed_enabled(&wire));
        EXPECT_EQ(port.speed_ext_active, ib_port_info_get_link_speed_ext_active(&wire));
        EXPECT_EQ(port.speed_ext_supported, ib_port_info_get_link_speed_ext_sup(&wire));
        EXPECT_EQ(port.speed_ext_enabled, ib_port_info_get_link_speed_ext_enabled(&wire));
        EXPECT_EQ(number(port.mtu_cap), ib_port_info_get_mtu_cap(&wire));
        EXPECT_EQ(number(port.neighbor_mtu), ib_port_info_get_neighbor_mtu(&wire));
        EXPECT_EQ(port.sm_sl, ib_port_info_get_master_smsl(&wire));
        EXPECT_EQ(port.subnet_timeout, ib_port_info_get_timeout(&wire));
        EXPECT_EQ(number(port.client_reregister), ib_port_info_get_client_rereg(&wire));
        EXPECT_EQ(port.resp_time_value, ib_port_info_get_resp_time_value(&wire));
        EXPECT_EQ(port.hoq_life, ib_port_info_get_hoq_lifetime(&wire));
        EXPECT_EQ(port.vl_stall_count, ib_port_info_get_vl_stall_count(&wire));
        EXPECT_EQ(port.lmc, ib_port_info_get_lmc(&wire));
        EXPECT_EQ(port.mkey_protect, ib_port_info_get_mpb(&wire));
        EXPECT_EQ(port.local_phys_errors, ib_port_info_get_local_phy_err_thd(&wire));
        EXPECT_EQ(port.overrun_errors, ib_port_info_get_overrun_err_thd(&wire));
        EXPECT_EQ(port.mkey.value(), cl_ntoh64(ib_port_info_get_m_key(&wire)));
    }
}

TEST(CodecIbTypes, SwitchInfo) {
    base::Prng prng{12};
    for (int round = 0; round < kRounds; ++round) {
        const AttributeData bytes = random_bytes<AttributeData>(prng);
        const auto wire = as<ib_switch_info_t>(bytes);
        const SwitchInfo info = decode_switch_info(bytes);
        EXPECT_EQ(info.port_state_change, ib_switch_info_get_state_change(&wire) != 0);
        EXPECT_EQ(info.optimized_sl2vl, ib_switch_info_get_opt_sl2vlmapping(&wire) != 0);
        EXPECT_EQ(info.enhanced_port0, ib_switch_info_is_enhanced_port0(&wire) != 0);
        EXPECT_EQ(info.linear_fdb_top, cl_ntoh16(wire.lin_top));
        EXPECT_EQ(info.multicast_fdb_top, cl_ntoh16(wire.mcast_top));
    }
}

TEST(CodecIbTypes, NodeInfo) {
    base::Prng prng{13};
    for (int round = 0; round < kRounds; ++round) {
        const AttributeData bytes = random_bytes<AttributeData>(prng);
        const auto wire = as<ib_node_info_t>(bytes);
        const NodeInfo node = decode_node_info(bytes);
        EXPECT_EQ(node.local_port.value(), ib_node_info_get_local_port_num(&wire));
        EXPECT_EQ(node.vendor_id, cl_ntoh32(ib_node_info_get_vendor_id(&wire)));
        EXPECT_EQ(node.node_guid.value(), cl_ntoh64(wire.node_guid));
    }
}

TEST(CodecIbTypes, TablesOfEntries) {
    base::Prng prng{14};
    for (int round = 0; round < kRounds; ++round) {
        const AttributeData bytes = random_bytes<AttributeData>(prng);
        const auto slvl = as<ib_slvl_table_t>(bytes);
        const Sl2VlTable lanes = decode_sl2vl(bytes);
        for (std::uint8_t sl = 0; sl < 16; ++sl) {
            EXPECT_EQ(lanes.vls[sl].value(), ib_slvl_table_get(&slvl, sl));
        }
        AttributeData slvl_again{};
        std::memcpy(slvl_again.data(), &slvl, sizeof slvl);
        EXPECT_EQ(encode(lanes), slvl_again);

        const auto arb = as<ib_vl_arb_table_t>(bytes);
        const auto pkeys = as<ib_pkey_table_t>(bytes);
        const VlArbBlock weights = decode_vl_arb(bytes);
        const PKeyBlock keys = decode_pkey_block(bytes);
        const MftBlock masks = decode_mft(bytes);
        for (std::size_t i = 0; i < 32; ++i) {
            EXPECT_EQ(weights.entries[i].vl.value(), arb.vl_entry[i].vl & 0x0F);
            EXPECT_EQ(weights.entries[i].weight, arb.vl_entry[i].weight);
            EXPECT_EQ(keys.keys[i].value(), cl_ntoh16(pkeys.pkey_entry[i]));
            EXPECT_EQ(masks.port_masks[i], cl_ntoh16(pkeys.pkey_entry[i]));
        }
        EXPECT_EQ(encode(keys), bytes);
        EXPECT_EQ(encode(masks), bytes);
        EXPECT_EQ(decode_vl_arb(encode(weights)), weights);
    }
}

TEST(CodecIbTypes, SmInfoAndNotice) {
    base::Prng prng{15};
    for (int round = 0; round < kRounds; ++round) {
        const AttributeData bytes = random_bytes<AttributeData>(prng);
        const auto sm_wire = as<ib_sm_info_t>(bytes);
        const SmInfo sm = decode_sm_info(bytes);
        EXPECT_EQ(sm.priority, ib_sminfo_get_priority(&sm_wire));
        EXPECT_EQ(number(sm.state), ib_sminfo_get_state(&sm_wire));

        const auto wire = as<ib_mad_notice_attr_t>(bytes);
        Notice notice = decode_notice(bytes);
        EXPECT_EQ(notice.generic, ib_notice_is_generic(&wire) != 0);
        EXPECT_EQ(notice.type, ib_notice_get_type(&wire));
        EXPECT_EQ(notice.producer, cl_ntoh32(ib_notice_get_prod_type(&wire)));
        notice.generic = true;
        for (const std::uint16_t trap : std::array<std::uint16_t, 3>{129, 130, 131}) {
            notice.trap_number = trap;
            EXPECT_EQ(std::get<PortErrorTrap>(decode_trap(notice)).lid.value(),
                      cl_ntoh16(wire.data_details.ntc_129_131.lid));
        }
        notice.trap_number = 128;
        EXPECT_EQ(std::get<LinkStateTrap>(decode_trap(notice)).switch_lid.value(),
                  cl_ntoh16(wire.data_details.ntc_128.sw_lid));
        notice.trap_number = 144;
        EXPECT_EQ(std::get<LocalChangeTrap>(decode_trap(notice)).lid.value(),
                  cl_ntoh16(wire.data_details.ntc_144.lid));
    }
}

}  // namespace
}  // namespace ibf::mad
