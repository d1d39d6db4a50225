// Holds mad/sa_mad against ib_sa_mad_t and the constants of iba/ib_types.h. (A file of its own: that header
// and libibmad's define the same names.)

#include <iba/ib_types.h>

#include <algorithm>
#include <cstring>

#include <gtest/gtest.h>

#include "base/prng.hpp"
#include "mad/sa_mad.hpp"
#include "random_bytes.hpp"

namespace ibf::mad {
namespace {

/// Constants of ib_types.h are in network order.
unsigned host16(unsigned wire) {
    return cl_ntoh16(static_cast<ib_net16_t>(wire));
}

TEST(SaMadIbTypes, Struct) {
    base::Prng prng{7};
    for (int round = 0; round < kRounds; ++round) {
        auto bytes = random_bytes<MadBuffer>(prng);
        bytes[0] = 1;
        bytes[1] = IB_MCLASS_SUBN_ADM;
        ib_sa_mad_t wire;
        std::memcpy(&wire, bytes.data(), sizeof wire);
        const auto mad = parse_sa_mad(bytes);
        ASSERT_TRUE(mad.has_value());
        EXPECT_EQ(mad->header.class_version, wire.class_ver);
        EXPECT_EQ(mad->header.method, wire.method);
        EXPECT_EQ(mad->header.status, cl_ntoh16(wire.status));
        EXPECT_EQ(mad->header.tid, cl_ntoh64(wire.trans_id));
        EXPECT_EQ(number(mad->attribute()), cl_ntoh16(wire.attr_id));
        EXPECT_EQ(mad->header.modifier, cl_ntoh32(wire.attr_mod));
        EXPECT_EQ(mad->rmpp.version, wire.rmpp_version);
        EXPECT_EQ(number(mad->rmpp.type), wire.rmpp_type);
        EXPECT_EQ(mad->rmpp.response_time, wire.rmpp_flags >> 3);
        EXPECT_EQ(mad->rmpp.active, (wire.rmpp_flags & IB_RMPP_FLAG_ACTIVE) != 0);
        EXPECT_EQ(mad->rmpp.first, (wire.rmpp_flags & IB_RMPP_FLAG_FIRST) != 0);
        EXPECT_EQ(mad->rmpp.last, (wire.rmpp_flags & IB_RMPP_FLAG_LAST) != 0);
        EXPECT_EQ(mad->rmpp.status, wire.rmpp_status);
        EXPECT_EQ(mad->rmpp.segment, cl_ntoh32(wire.seg_num));
        EXPECT_EQ(mad->rmpp.payload_length, cl_ntoh32(wire.paylen_newwin));
        EXPECT_EQ(mad->sm_key, cl_ntoh64(wire.sm_key));
        EXPECT_EQ(mad->attribute_offset, cl_ntoh16(wire.attr_offset));
        EXPECT_EQ(mad->component_mask, cl_ntoh64(wire.comp_mask));
        EXPECT_TRUE(std::equal(mad->data.begin(), mad->data.end(), wire.data));
    }
}

TEST(SaMadIbTypes, Methods) {
    EXPECT_EQ(number(SaMethod::get), IB_MAD_METHOD_GET);
    EXPECT_EQ(number(SaMethod::set), IB_MAD_METHOD_SET);
    EXPECT_EQ(number(SaMethod::report), IB_MAD_METHOD_REPORT);
    EXPECT_EQ(number(SaMethod::get_table), IB_MAD_METHOD_GETTABLE);
    EXPECT_EQ(number(SaMethod::get_trace_table), IB_MAD_METHOD_GETTRACETABLE);
    EXPECT_EQ(number(SaMethod::get_multi), IB_MAD_METHOD_GETMULTI);
    EXPECT_EQ(number(SaMethod::remove), IB_MAD_METHOD_DELETE);
    EXPECT_EQ(number(SaMethod::get_resp), IB_MAD_METHOD_GET_RESP);
    EXPECT_EQ(number(SaMethod::report_resp), IB_MAD_METHOD_REPORT_RESP);
    EXPECT_EQ(number(SaMethod::get_table_resp), IB_MAD_METHOD_GETTABLE_RESP);
    EXPECT_EQ(number(SaMethod::get_multi_resp), IB_MAD_METHOD_GETMULTI_RESP);
    EXPECT_EQ(number(SaMethod::remove_resp), IB_MAD_METHOD_DELETE | IB_MAD_METHOD_RESP_MASK);
}

TEST(SaMadIbTypes, Attributes) {
    const auto is = [](SaAttribute ours, unsigned theirs) { EXPECT_EQ(number(ours), host16(theirs)); };
    is(SaAttribute::class_port_info, IB_MAD_ATTR_CLASS_PORT_INFO);
    is(SaAttribute::notice, IB_MAD_ATTR_NOTICE);
    is(SaAttribute::inform_info, IB_MAD_ATTR_INFORM_INFO);
    is(SaAttribute::node_record, IB_MAD_ATTR_NODE_RECORD);
    is(SaAttribute::port_info_record, IB_MAD_ATTR_PORTINFO_RECORD);
    is(SaAttribute::sl_to_vl_table_record, IB_MAD_ATTR_SLVL_RECORD);
    is(SaAttribute::switch_info_record, IB_MAD_ATTR_SWITCH_INFO_RECORD);
    is(SaAttribute::lft_record, IB_MAD_ATTR_LFT_RECORD);
    is(SaAttribute::mft_record, IB_MAD_ATTR_MFT_RECORD);
    is(SaAttribute::sm_info_record, IB_MAD_ATTR_SMINFO_RECORD);
    is(SaAttribute::link_record, IB_MAD_ATTR_LINK_RECORD);
    is(SaAttribute::guid_info_record, IB_MAD_ATTR_GUIDINFO_RECORD);
    is(SaAttribute::service_record, IB_MAD_ATTR_SERVICE_RECORD);
    is(SaAttribute::pkey_table_record, IB_MAD_ATTR_PKEY_TBL_RECORD);
    is(SaAttribute::path_record, IB_MAD_ATTR_PATH_RECORD);
    is(SaAttribute::vl_arb_record, IB_MAD_ATTR_VLARB_RECORD);
    is(SaAttribute::mc_member_record, IB_MAD_ATTR_MCMEMBER_RECORD);
    is(SaAttribute::trace_record, IB_MAD_ATTR_TRACE_RECORD);
    is(SaAttribute::multi_path_record, IB_MAD_ATTR_MULTIPATH_RECORD);
    is(SaAttribute::service_association_record, IB_MAD_ATTR_SVC_ASSOCIATION_RECORD);
    is(SaAttribute::inform_info_record, IB_MAD_ATTR_INFORM_INFO_RECORD);
}

TEST(SaMadIbTypes, StatusAndRmppTypes) {
    EXPECT_EQ(kSaNoResources, host16(IB_SA_MAD_STATUS_NO_RESOURCES));
    EXPECT_EQ(kSaRequestInvalid, host16(IB_SA_MAD_STATUS_REQ_INVALID));
    EXPECT_EQ(kSaNoRecords, host16(IB_SA_MAD_STATUS_NO_RECORDS));
    EXPECT_EQ(kSaTooManyRecords, host16(IB_SA_MAD_STATUS_TOO_MANY_RECORDS));
    EXPECT_EQ(kSaInvalidGid, host16(IB_SA_MAD_STATUS_INVALID_GID));
    EXPECT_EQ(kSaInsufficientComponents, host16(IB_SA_MAD_STATUS_INSUF_COMPS));
    EXPECT_EQ(kSaRequestDenied, host16(IB_SA_MAD_STATUS_DENIED));
    EXPECT_EQ(number(RmppType::data), IB_RMPP_TYPE_DATA);
    EXPECT_EQ(number(RmppType::ack), IB_RMPP_TYPE_ACK);
    EXPECT_EQ(number(RmppType::stop), IB_RMPP_TYPE_STOP);
    EXPECT_EQ(number(RmppType::abort), IB_RMPP_TYPE_ABORT);
    EXPECT_EQ(RmppHeader{}.response_time, IB_RMPP_NO_RESP_TIME);
}

}  // namespace
}  // namespace ibf::mad
