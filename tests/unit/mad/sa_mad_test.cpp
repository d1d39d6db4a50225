// The SA MAD against the IBA's octets, against ib_sa_mad_t of iba/ib_types.h and against libibmad's field
// table.

#include "mad/sa_mad.hpp"

#include <infiniband/mad.h>

#include <algorithm>

#include <gtest/gtest.h>

#include "base/prng.hpp"
#include "random_bytes.hpp"

namespace ibf::mad {
namespace {

MadBuffer random_sa_bytes(base::Prng& prng) {
    auto bytes = random_bytes<MadBuffer>(prng);
    bytes[0] = 1;
    bytes[1] = 3;
    return bytes;
}

SaMad sample() {
    SaMad mad;
    mad.header.method = static_cast<std::uint8_t>(SaMethod::get_table_resp);
    mad.header.status = kSaNoRecords;
    mad.header.tid = 0x1122334455667788;
    mad.header.attribute = static_cast<Attribute>(SaAttribute::path_record);
    mad.header.modifier = 0xFFFFFFFF;
    mad.rmpp = {.version = 1,
                .type = RmppType::data,
                .response_time = 0x1F,
                .active = true,
                .first = true,
                .last = false,
                .status = 0,
                .segment = 1,
                .payload_length = 0x01020304};
    mad.sm_key = 0xA1A2A3A4A5A6A7A8;
    mad.attribute_offset = 8;
    mad.component_mask = 0xC1C2C3C4C5C6C7C8;
    mad.data.front() = 0xD0;
    mad.data.back() = 0xDF;
    return mad;
}

TEST(SaMad, Layout) {
    const MadBuffer bytes = encode_sa_mad(sample());
    // IBA 15.2.1.1, octet by octet.
    EXPECT_EQ(bytes[0], 1);
    EXPECT_EQ(bytes[1], 3);  // class SubnAdm
    EXPECT_EQ(bytes[2], 2);  // class version
    EXPECT_EQ(bytes[3], 0x92);
    EXPECT_EQ(bytes[4], 0x03);  // status
    EXPECT_EQ(bytes[8], 0x11);  // TID
    EXPECT_EQ(bytes[15], 0x88);
    EXPECT_EQ(bytes[17], 0x35);  // attribute
    EXPECT_EQ(bytes[20], 0xFF);  // modifier
    EXPECT_EQ(bytes[24], 1);     // RMPPVersion
    EXPECT_EQ(bytes[25], 1);     // RMPPType
    EXPECT_EQ(bytes[26], 0xFB);  // RRespTime 0x1F, First and Active
    EXPECT_EQ(bytes[27], 0);     // RMPPStatus
    EXPECT_EQ(bytes[31], 1);     // SegmentNumber
    EXPECT_EQ(bytes[32], 0x01);  // PayloadLength
    EXPECT_EQ(bytes[35], 0x04);
    EXPECT_EQ(bytes[36], 0xA1);  // SM_Key
    EXPECT_EQ(bytes[45], 8);     // AttributeOffset
    EXPECT_EQ(bytes[48], 0xC1);  // ComponentMask
    EXPECT_EQ(bytes[55], 0xC8);
    EXPECT_EQ(bytes[56], 0xD0);  // data
    EXPECT_EQ(bytes[255], 0xDF);
}

TEST(SaMad, RoundTrip) {
    base::Prng prng{3};
    for (int round = 0; round < kRounds; ++round) {
        MadBuffer bytes = random_sa_bytes(prng);
        // What no field owns: the MAD header's and the SA header's reserved octets.
        bytes[6] = bytes[7] = bytes[18] = bytes[19] = bytes[46] = bytes[47] = 0;
        const auto mad = parse_sa_mad(bytes);
        ASSERT_TRUE(mad.has_value());
        EXPECT_EQ(encode_sa_mad(*mad), bytes);
    }
}

TEST(SaMad, AsLibibmadReadsIt) {
    base::Prng prng{5};
    for (int round = 0; round < kRounds; ++round) {
        MadBuffer bytes = random_sa_bytes(prng);
        const auto mad = parse_sa_mad(bytes);
        ASSERT_TRUE(mad.has_value());
        const auto field = [&bytes](MAD_FIELDS id) { return mad_get_field(bytes.data(), 0, id); };
        const auto wide = [&bytes](MAD_FIELDS id) { return mad_get_field64(bytes.data(), 0, id); };
        EXPECT_EQ(mad->header.class_version, field(IB_MAD_CLASSVER_F));
        EXPECT_EQ(mad->header.method, field(IB_MAD_METHOD_F) | field(IB_MAD_RESPONSE_F) << 7U);
        EXPECT_EQ(mad->header.status, field(IB_MAD_STATUS_F));
        EXPECT_EQ(mad->header.tid, wide(IB_MAD_TRID_F));
        EXPECT_EQ(static_cast<unsigned>(mad->attribute()), field(IB_MAD_ATTRID_F));
        EXPECT_EQ(mad->header.modifier, field(IB_MAD_ATTRMOD_F));
        EXPECT_EQ(mad->rmpp.version, field(IB_SA_RMPP_VERS_F));
        EXPECT_EQ(static_cast<unsigned>(mad->rmpp.type), field(IB_SA_RMPP_TYPE_F));
        EXPECT_EQ(mad->rmpp.response_time, field(IB_SA_RMPP_RESP_F));
        const unsigned flags = field(IB_SA_RMPP_FLAGS_F);
        EXPECT_EQ(mad->rmpp.active, (flags & IB_RMPP_FLAG_ACTIVE) != 0);
        EXPECT_EQ(mad->rmpp.first, (flags & IB_RMPP_FLAG_FIRST) != 0);
        EXPECT_EQ(mad->rmpp.last, (flags & IB_RMPP_FLAG_LAST) != 0);
        EXPECT_EQ(mad->rmpp.status, field(IB_SA_RMPP_STATUS_F));
        EXPECT_EQ(mad->rmpp.segment, field(IB_SA_RMPP_SEGNUM_F));
        EXPECT_EQ(mad->rmpp.payload_length, field(IB_SA_RMPP_LEN_F));
        EXPECT_EQ(mad->rmpp.payload_length, field(IB_SA_RMPP_NEWWIN_F));
        EXPECT_EQ(mad->sm_key, wide(IB_SA_MKEY_F));
        EXPECT_EQ(mad->attribute_offset, field(IB_SA_ATTROFFS_F));
        EXPECT_EQ(mad->component_mask, wide(IB_SA_COMPMASK_F));
        EXPECT_TRUE(std::equal(mad->data.begin(), mad->data.end(), bytes.begin() + IB_SA_DATA_OFFS));
    }
}

TEST(SaMad, ClassVersionIsKept) {
    MadBuffer bytes = encode_sa_mad(sample());
    bytes[2] = 1;
    const auto mad = parse_sa_mad(bytes);
    ASSERT_TRUE(mad.has_value());
    EXPECT_EQ(mad->header.class_version, 1) << "the answer is BadVersion, which is not the parser's";
}

TEST(SaMad, RefusesWhatIsNone) {
    const MadBuffer good = encode_sa_mad(sample());
    const auto refusal = [](std::span<const std::uint8_t> bytes) {
        const auto mad = parse_sa_mad(bytes);
        return mad ? std::string{} : mad.error().message;
    };
    EXPECT_EQ(refusal(good), "");
    EXPECT_EQ(refusal({good.data(), 20}), "MAD of 20 bytes is shorter than its header (24)");
    EXPECT_EQ(refusal({good.data(), 255}), "SA MAD of 255 bytes, not 256");
    MadBuffer bad = good;
    bad[0] = 2;
    EXPECT_EQ(refusal(bad), "MAD base version 2 is not 1");
    bad = good;
    bad[1] = 0x81;
    EXPECT_EQ(refusal(bad), "management class 0x81 is not subnet administration");
}

TEST(SaMad, NamesAreTheSpecificationsAndUnknownValuesHaveNone) {
    EXPECT_EQ(to_string(SaMethod::get_table), "GetTable");
    EXPECT_EQ(to_string(SaMethod::remove), "Delete");
    EXPECT_EQ(to_string(static_cast<SaMethod>(0x77)), "");
    EXPECT_EQ(to_string(SaAttribute::path_record), "PathRecord");
    EXPECT_EQ(to_string(SaAttribute::mc_member_record), "MCMemberRecord");
    EXPECT_EQ(to_string(static_cast<SaAttribute>(0x7777)), "");
}

}  // namespace
}  // namespace ibf::mad
