#include "mad/sa_mad.hpp"

#include <endian.h>

#include <cstring>

#include <fmt/format.h>
#include <iba/ib_types.h>

namespace ibf::mad {
namespace {

static_assert(sizeof(ib_sa_mad_t) == sizeof(MadBuffer));
static_assert(sizeof(SaMad::data) == IB_SA_DATA_SIZE);

/// The flags octet: RRespTime in the five high bits, RMPPFlags in the three low ones (IBA 13.6.2.1).
constexpr unsigned kRespTimeShift = 3;
constexpr unsigned kRespTimeMax = 0x1F;

std::uint8_t flags_octet(const RmppHeader& rmpp) {
    unsigned octet = (rmpp.response_time & kRespTimeMax) << kRespTimeShift;
    octet |= rmpp.active ? IB_RMPP_FLAG_ACTIVE : 0U;
    octet |= rmpp.first ? IB_RMPP_FLAG_FIRST : 0U;
    octet |= rmpp.last ? IB_RMPP_FLAG_LAST : 0U;
    return static_cast<std::uint8_t>(octet);
}

}  // namespace

std::string_view to_string(SaMethod method) {
    switch (method) {
        case SaMethod::get: return "Get";
        case SaMethod::set: return "Set";
        case SaMethod::report: return "Report";
        case SaMethod::get_table: return "GetTable";
        case SaMethod::get_trace_table: return "GetTraceTable";
        case SaMethod::get_multi: return "GetMulti";
        case SaMethod::remove: return "Delete";
        case SaMethod::get_resp: return "GetResp";
        case SaMethod::report_resp: return "ReportResp";
        case SaMethod::get_table_resp: return "GetTableResp";
        case SaMethod::get_multi_resp: return "GetMultiResp";
        case SaMethod::remove_resp: return "DeleteResp";
    }
    return {};
}

std::string_view to_string(SaAttribute attribute) {
    switch (attribute) {
        case SaAttribute::class_port_info: return "ClassPortInfo";
        case SaAttribute::notice: return "Notice";
        case SaAttribute::inform_info: return "InformInfo";
        case SaAttribute::node_record: return "NodeRecord";
        case SaAttribute::port_info_record: return "PortInfoRecord";
        case SaAttribute::sl_to_vl_table_record: return "SLtoVLMappingTableRecord";
        case SaAttribute::switch_info_record: return "SwitchInfoRecord";
        case SaAttribute::lft_record: return "LinearForwardingTableRecord";
        case SaAttribute::random_forwarding_table_record: return "RandomForwardingTableRecord";
        case SaAttribute::mft_record: return "MulticastForwardingTableRecord";
        case SaAttribute::sm_info_record: return "SMInfoRecord";
        case SaAttribute::link_speed_width_pairs_table_record: return "LinkSpeedWidthPairsTableRecord";
        case SaAttribute::link_record: return "LinkRecord";
        case SaAttribute::guid_info_record: return "GuidInfoRecord";
        case SaAttribute::service_record: return "ServiceRecord";
        case SaAttribute::pkey_table_record: return "P_KeyTableRecord";
        case SaAttribute::path_record: return "PathRecord";
        case SaAttribute::vl_arb_record: return "VLArbitrationTableRecord";
        case SaAttribute::mc_member_record: return "MCMemberRecord";
        case SaAttribute::trace_record: return "TraceRecord";
        case SaAttribute::multi_path_record: return "MultiPathRecord";
        case SaAttribute::service_association_record: return "ServiceAssociationRecord";
        case SaAttribute::inform_info_record: return "InformInfoRecord";
    }
    return {};
}

RmppHeader parse_rmpp_header(const MadBuffer& bytes) {
    ib_rmpp_mad_t wire;
    std::memcpy(&wire, bytes.data(), sizeof wire);
    return {.version = wire.rmpp_version,
            .type = static_cast<RmppType>(wire.rmpp_type),
            .response_time = static_cast<std::uint8_t>(wire.rmpp_flags >> kRespTimeShift),
            .active = (wire.rmpp_flags & IB_RMPP_FLAG_ACTIVE) != 0,
            .first = (wire.rmpp_flags & IB_RMPP_FLAG_FIRST) != 0,
            .last = (wire.rmpp_flags & IB_RMPP_FLAG_LAST) != 0,
            .status = wire.rmpp_status,
            .segment = be32toh(wire.seg_num),
            .payload_length = be32toh(wire.paylen_newwin)};
}

void write_rmpp_header(const RmppHeader& rmpp, MadBuffer& out) {
    ib_rmpp_mad_t wire;
    std::memcpy(&wire, out.data(), sizeof wire);
    wire.rmpp_version = rmpp.version;
    wire.rmpp_type = static_cast<std::uint8_t>(rmpp.type);
    wire.rmpp_flags = flags_octet(rmpp);
    wire.rmpp_status = rmpp.status;
    wire.seg_num = htobe32(rmpp.segment);
    wire.paylen_newwin = htobe32(rmpp.payload_length);
    std::memcpy(out.data(), &wire, sizeof wire);
}

base::Result<SaMad> parse_sa_mad(std::span<const std::uint8_t> bytes) {
    const base::Result<MadHeader> header = parse_header(bytes);
    if (!header) {
        return tl::unexpected<base::Error>(header.error());
    }
    if (bytes.size() != sizeof(MadBuffer)) {
        return base::fail(base::ErrorKind::parse,
                          fmt::format("SA MAD of {} bytes, not {}", bytes.size(), sizeof(MadBuffer)));
    }
    if (header->mgmt_class != MgmtClass::subn_adm) {
        return base::fail(base::ErrorKind::parse,
                          fmt::format("management class 0x{:02x} is not subnet administration",
                                      static_cast<unsigned>(header->mgmt_class)));
    }
    MadBuffer whole;
    std::memcpy(whole.data(), bytes.data(), sizeof whole);
    ib_sa_mad_t wire;
    std::memcpy(&wire, bytes.data(), sizeof wire);
    SaMad mad{.header = *header,
              .rmpp = parse_rmpp_header(whole),
              .sm_key = be64toh(wire.sm_key),
              .attribute_offset = be16toh(wire.attr_offset),
              .component_mask = be64toh(wire.comp_mask)};
    std::memcpy(mad.data.data(), wire.data, sizeof wire.data);
    return mad;
}

MadBuffer encode_sa_mad(const SaMad& mad) {
    ib_sa_mad_t wire{};
    wire.base_ver = mad.header.base_version;
    wire.mgmt_class = static_cast<std::uint8_t>(mad.header.mgmt_class);
    wire.class_ver = mad.header.class_version;
    wire.method = mad.header.method;
    wire.status = htobe16(mad.header.status);
    wire.trans_id = htobe64(mad.header.tid);
    wire.attr_id = htobe16(static_cast<std::uint16_t>(mad.header.attribute));
    wire.attr_mod = htobe32(mad.header.modifier);
    wire.sm_key = htobe64(mad.sm_key);
    wire.attr_offset = htobe16(mad.attribute_offset);
    wire.comp_mask = htobe64(mad.component_mask);
    std::memcpy(wire.data, mad.data.data(), sizeof wire.data);
    MadBuffer bytes{};
    std::memcpy(bytes.data(), &wire, sizeof wire);
    write_rmpp_header(mad.rmpp, bytes);
    return bytes;
}

}  // namespace ibf::mad
