#include "daemon/sa/reader.hpp"

namespace ibf::sa {
namespace {

// ClassPortInfo.CapabilityMask (IBA 13.4.8.1, 15.2.1.2) and CapabilityMask2.
constexpr std::uint16_t kNotices = 0x0002;          ///< InformInfo and reports (Get, Set of Notice)
constexpr std::uint16_t kOptionalRecords = 0x0100;  ///< GUIDInfo, MFT, SL2VL, VL arbitration records and such
constexpr std::uint16_t kUdMulticast = 0x0200;
constexpr std::uint16_t kMultiPath = 0x0400;
constexpr std::uint16_t kCapabilityBitsMatch = 0x2000;  ///< PortInfoRecord with modifier bit 31
// CapabilityMask2.
constexpr std::uint32_t kMulticastTop = 1U << 3U;
constexpr std::uint32_t kExtendedSpeeds = 1U << 7U;
constexpr std::uint32_t kSendOnlyFullMemberBit = 1U << 12U;
constexpr std::uint32_t kWidth2x = 1U << 13U;

/// Which records a table query may see at all.
bool needs_trust(mad::SaAttribute attribute) {
    return attribute == mad::SaAttribute::pkey_table_record;
}

}  // namespace

bool trusted(const Query& query) {
    return query.request.sm_key != 0 && query.request.sm_key == query.config.sa_key;
}

bool reads(mad::SaMethod method, mad::SaAttribute attribute) {
    using A = mad::SaAttribute;
    if (method == mad::SaMethod::get_multi) {
        return attribute == A::multi_path_record;
    }
    if (method == mad::SaMethod::get_trace_table) {
        return attribute == A::trace_record;
    }
    switch (attribute) {
        case A::class_port_info:
        case A::node_record:
        case A::port_info_record:
        case A::switch_info_record:
        case A::lft_record:
        case A::mft_record:
        case A::sm_info_record:
        case A::link_record:
        case A::guid_info_record:
        case A::pkey_table_record:
        case A::sl_to_vl_table_record:
        case A::vl_arb_record:
        case A::path_record:
        case A::mc_member_record:
        case A::service_record:
        case A::inform_info_record: return true;
        default: return false;
    }
}

std::vector<std::uint8_t> class_port_info(const SaConfig& config) {
    const RecordType& type = record_type_of(mad::SaAttribute::class_port_info);
    std::vector<std::uint8_t> record(type.size());
    type.set(record, "BaseVersion", 1);
    type.set(record, "ClassVersion", 2);
    type.set(record, "CapabilityMask",
             kNotices | kOptionalRecords | kUdMulticast | kMultiPath | kCapabilityBitsMatch);
    type.set(record, "CapabilityMask2", kMulticastTop | kExtendedSpeeds | kSendOnlyFullMemberBit | kWidth2x);
    type.set(record, "RespTimeValue", config.response_time);
    return record;
}

Answer read(const Query& query, std::span<const std::uint8_t> data) {
    const mad::SaAttribute attribute = query.request.attribute();
    if (attribute == mad::SaAttribute::path_record) {
        return read_paths(query);
    }
    if (attribute == mad::SaAttribute::multi_path_record) {
        return read_multipath(query, data);
    }
    if (attribute == mad::SaAttribute::trace_record) {
        return read_trace(query);
    }
    Answer answer{0, record_type(attribute), {}};
    if (attribute == mad::SaAttribute::class_port_info) {
        answer.records = class_port_info(query.config);
        return answer;
    }
    if (needs_trust(attribute) && !trusted(query)) {
        answer.status = mad::kSaRequestInvalid;
        return answer;
    }
    collect_records(query, *answer.type, answer.records);
    return answer;
}

}  // namespace ibf::sa
