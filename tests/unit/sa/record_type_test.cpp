#include "daemon/sa/record_type.hpp"

#include <endian.h>
#include <gtest/gtest.h>
#include <iba/ib_types.h>

#include "base/prng.hpp"

namespace ibf::sa {
namespace {

using mad::SaAttribute;

/// The component that a mask of ib_types.h names.
unsigned component_of(std::uint64_t network_mask) {
    return static_cast<unsigned>(__builtin_ctzll(be64toh(network_mask)));
}

// The order of our fields against OpenSM's masks.
TEST(RecordType, ComponentsAreThoseOfIbTypes) {
    const struct {
        SaAttribute attribute;
        const char* field;
        std::uint64_t mask;
    } kCases[] = {
        {SaAttribute::node_record, "LID", IB_NR_COMPMASK_LID},
        {SaAttribute::node_record, "NodeGUID", IB_NR_COMPMASK_NODEGUID},
        {SaAttribute::node_record, "NodeDescription", IB_NR_COMPMASK_NODEDESC},
        {SaAttribute::port_info_record, "EndportLID", IB_PIR_COMPMASK_LID},
        {SaAttribute::port_info_record, "CapabilityMask", IB_PIR_COMPMASK_CAPMASK},
        {SaAttribute::port_info_record, "PortState", IB_PIR_COMPMASK_PORTSTATE},
        {SaAttribute::port_info_record, "MTUCap", IB_PIR_COMPMASK_MTUCAP},
        {SaAttribute::port_info_record, "GUIDCap", IB_PIR_COMPMASK_GUIDCAP},
        {SaAttribute::port_info_record, "SubnetTimeOut", IB_PIR_COMPMASK_SUBNTO},
        {SaAttribute::port_info_record, "LinkRoundTripLatency", IB_PIR_COMPMASK_LINKRTLAT},
        {SaAttribute::port_info_record, "LinkSpeedExtEnabled", IB_PIR_COMPMASK_LINKSPDEXTENAB},
        {SaAttribute::path_record, "DGID", IB_PR_COMPMASK_DGID},
        {SaAttribute::path_record, "SLID", IB_PR_COMPMASK_SLID},
        {SaAttribute::path_record, "Reversible", IB_PR_COMPMASK_REVERSIBLE},
        {SaAttribute::path_record, "NumbPath", IB_PR_COMPMASK_NUMBPATH},
        {SaAttribute::path_record, "SL", IB_PR_COMPMASK_SL},
        {SaAttribute::path_record, "PacketLifeTime", IB_PR_COMPMASK_PKTLIFETIME},
        {SaAttribute::mc_member_record, "MGID", IB_MCR_COMPMASK_MGID},
        {SaAttribute::mc_member_record, "P_Key", IB_MCR_COMPMASK_PKEY},
        {SaAttribute::mc_member_record, "JoinState", IB_MCR_COMPMASK_JOIN_STATE},
        {SaAttribute::mc_member_record, "ProxyJoin", IB_MCR_COMPMASK_PROXY},
        {SaAttribute::service_record, "ServiceLease", IB_SR_COMPMASK_SLEASE},
        {SaAttribute::service_record, "ServiceName", IB_SR_COMPMASK_SNAME},
        {SaAttribute::service_record, "ServiceData64.2", IB_SR_COMPMASK_SDATA64_1},
        {SaAttribute::link_record, "ToLID", IB_LR_COMPMASK_TO_LID},
        {SaAttribute::lft_record, "BlockNum", IB_LFTR_COMPMASK_BLOCK},
        {SaAttribute::mft_record, "BlockNum", IB_MFTR_COMPMASK_BLOCK},
        {SaAttribute::pkey_table_record, "PortNum", IB_PKEY_COMPMASK_PORT},
        {SaAttribute::guid_info_record, "GUID7", IB_GIR_COMPMASK_GID7},
        {SaAttribute::sm_info_record, "SMState", IB_SMIR_COMPMASK_SMSTATE},
        {SaAttribute::inform_info_record, "Enum", IB_IIR_COMPMASK_ENUM},
        {SaAttribute::inform_info_record, "QPN", IB_IIR_COMPMASK_QPN},
    };
    for (const auto& item : kCases) {
        EXPECT_EQ(record_type_of(item.attribute).component(item.field), component_of(item.mask))
            << item.field;
    }
}

TEST(RecordType, SizesAreThoseOfIbTypesInWholeWords) {
    const auto words = [](std::size_t bytes) { return (bytes + 7) / 8 * 8; };
    EXPECT_EQ(record_type_of(SaAttribute::node_record).size(), words(sizeof(ib_node_record_t)));
    EXPECT_EQ(record_type_of(SaAttribute::port_info_record).size(), words(sizeof(ib_portinfo_record_t)));
    EXPECT_EQ(record_type_of(SaAttribute::switch_info_record).size(), words(sizeof(ib_switch_info_record_t)));
    EXPECT_EQ(record_type_of(SaAttribute::lft_record).size(), words(sizeof(ib_lft_record_t)));
    EXPECT_EQ(record_type_of(SaAttribute::mft_record).size(), words(sizeof(ib_mft_record_t)));
    EXPECT_EQ(record_type_of(SaAttribute::link_record).size(), words(sizeof(ib_link_record_t)));
    EXPECT_EQ(record_type_of(SaAttribute::pkey_table_record).size(), words(sizeof(ib_pkey_table_record_t)));
    EXPECT_EQ(record_type_of(SaAttribute::guid_info_record).size(), words(sizeof(ib_guidinfo_record_t)));
    EXPECT_EQ(record_type_of(SaAttribute::path_record).size(), words(sizeof(ib_path_rec_t)));
    EXPECT_EQ(record_type_of(SaAttribute::mc_member_record).size(), words(sizeof(ib_member_rec_t)));
    EXPECT_EQ(record_type_of(SaAttribute::service_record).size(), words(sizeof(ib_service_record_t)));
    EXPECT_EQ(record_type_of(SaAttribute::inform_info_record).size(), words(sizeof(ib_inform_info_record_t)));
    EXPECT_EQ(record_type_of(SaAttribute::sm_info_record).size(), words(sizeof(ib_sminfo_record_t)));
    EXPECT_EQ(record_type_of(SaAttribute::class_port_info).size(), words(sizeof(ib_class_port_info_t)));
}

TEST(RecordType, FieldsAreWhereIbTypesHasThem) {
    ib_member_rec_t member{};
    member.qkey = htobe32(0x11223344);
    member.mlid = htobe16(0xC00A);
    member.pkey = htobe16(0x8001);
    member.sl_flow_hop = ib_member_set_sl_flow_hop(5, 0xABCDE, 7);
    member.scope_state = ib_member_set_scope_state(2, 1);
    member.mtu = 2U << 6U | 4U;
    const RecordType& type = record_type_of(SaAttribute::mc_member_record);
    const std::span<const std::uint8_t> bytes{reinterpret_cast<const std::uint8_t*>(&member), sizeof member};
    EXPECT_EQ(type.get(bytes, "Q_Key"), 0x11223344U);
    EXPECT_EQ(type.get(bytes, "MLID"), 0xC00AU);
    EXPECT_EQ(type.get(bytes, "MtuSelector"), 2U);
    EXPECT_EQ(type.get(bytes, "Mtu"), 4U);
    EXPECT_EQ(type.get(bytes, "P_Key"), 0x8001U);
    EXPECT_EQ(type.get(bytes, "SL"), 5U);
    EXPECT_EQ(type.get(bytes, "FlowLabel"), 0xABCDEU);
    EXPECT_EQ(type.get(bytes, "HopLimit"), 7U);
    EXPECT_EQ(type.get(bytes, "Scope"), 2U);
    EXPECT_EQ(type.get(bytes, "JoinState"), 1U);
}

TEST(RecordType, SetIsWhatGetReadsAndTouchesNothingElse) {
    base::Prng prng(3);
    for (const char* field : {"FlowLabel", "NumbPath", "Reversible", "SL", "Rate", "DLID", "QoSClass"}) {
        const RecordType& type = record_type_of(SaAttribute::path_record);
        std::vector<std::uint8_t> record(type.size());
        for (std::uint8_t& byte : record) {
            byte = static_cast<std::uint8_t>(prng.below(256));
        }
        std::vector<std::uint8_t> changed = record;
        type.set(changed, field, 1);
        EXPECT_EQ(type.get(changed, field), 1U);
        type.set(changed, field, type.get(record, field));
        EXPECT_EQ(changed, record) << field;
    }
}

TEST(RecordType, OnlyTheComponentsAskedForAreCompared) {
    const RecordType& type = record_type_of(SaAttribute::path_record);
    std::vector<std::uint8_t> query(type.size());
    std::vector<std::uint8_t> record(type.size());
    type.set(record, "SL", 3);
    type.set(record, "DLID", 7);
    EXPECT_TRUE(type.matches(0, query, record));
    const std::uint64_t sl = std::uint64_t{1} << type.component("SL");
    const std::uint64_t dlid = std::uint64_t{1} << type.component("DLID");
    EXPECT_FALSE(type.matches(sl, query, record));
    type.set(query, "SL", 3);
    EXPECT_TRUE(type.matches(sl, query, record));
    EXPECT_FALSE(type.matches(sl | dlid, query, record));
    EXPECT_TRUE(type.matches(~std::uint64_t{0} << 30U, query, record)) << "no such components";
}

}  // namespace
}  // namespace ibf::sa
