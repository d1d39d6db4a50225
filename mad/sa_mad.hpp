// DOC: the MAD of subnet administration (IBA 15.2.1.1) and its RMPP header (IBA 13.6.2).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.hpp"
#include "mad/smp.hpp"

namespace ibf::mad {

enum class SaMethod : std::uint8_t {
    get = 0x01,
    set = 0x02,
    report = 0x06,
    get_table = 0x12,
    get_trace_table = 0x13,
    get_multi = 0x14,
    remove = 0x15,  ///< Delete
    get_resp = 0x81,
    report_resp = 0x86,
    get_table_resp = 0x92,
    get_multi_resp = 0x94,
    remove_resp = 0x95,
};

enum class SaAttribute : std::uint16_t {
    class_port_info = 0x0001,
    notice = 0x0002,
    inform_info = 0x0003,
    node_record = 0x0011,
    port_info_record = 0x0012,
    sl_to_vl_table_record = 0x0013,
    switch_info_record = 0x0014,
    lft_record = 0x0015,
    random_forwarding_table_record = 0x0016,
    mft_record = 0x0017,
    sm_info_record = 0x0018,
    link_speed_width_pairs_table_record = 0x0019,
    link_record = 0x0020,
    guid_info_record = 0x0030,
    service_record = 0x0031,
    pkey_table_record = 0x0033,
    path_record = 0x0035,
    vl_arb_record = 0x0036,
    mc_member_record = 0x0038,
    trace_record = 0x0039,
    multi_path_record = 0x003A,
    service_association_record = 0x003B,
    inform_info_record = 0x00F3,
};

/// "GetTable", "PathRecord": as the specification calls them; empty for what it does not know.
[[nodiscard]] std::string_view to_string(SaMethod method);
[[nodiscard]] std::string_view to_string(SaAttribute attribute);

/// SA status codes: the class-specific half of the MAD status (IBA table 188).
inline constexpr MadStatus kSaNoResources = 0x0100;
inline constexpr MadStatus kSaRequestInvalid = 0x0200;
inline constexpr MadStatus kSaNoRecords = 0x0300;
inline constexpr MadStatus kSaTooManyRecords = 0x0400;
inline constexpr MadStatus kSaInvalidGid = 0x0500;
inline constexpr MadStatus kSaInsufficientComponents = 0x0600;
inline constexpr MadStatus kSaRequestDenied = 0x0700;

enum class RmppType : std::uint8_t { none = 0, data = 1, ack = 2, stop = 3, abort = 4 };

inline constexpr std::uint8_t kRmppVersion = 1;

/// RMPPStatus: why a transfer was stopped (resources alone) or aborted (the others; IBA 13.6.2.1).
enum class RmppStatus : std::uint8_t {
    normal = 0,
    resources = 1,      ///< ResX
    too_long = 118,     ///< T2L: the transfer took too long
    bad_length = 119,   ///< Last flag and PayloadLength do not fit
    bad_segment = 120,  ///< First flag and SegmentNumber do not fit
    bad_type = 121,
    window_too_small = 122,  ///< W2S: NewWindowLast before the SegmentNumber acknowledged
    segment_too_big = 123,   ///< S2B: acknowledged what was not sent
    bad_status = 124,        ///< a status that this type of packet may not carry
    bad_version = 125,       ///< UnV
    too_many_retries = 126,  ///< TMR
    unspecified = 127,
};

struct RmppHeader {
    std::uint8_t version = 0;  ///< 1 where RMPP is in use
    RmppType type = RmppType::none;
    std::uint8_t response_time = 0x1F;  ///< 0x1F: none given
    bool active = false;
    bool first = false;
    bool last = false;
    std::uint8_t status = 0;
    std::uint32_t segment = 0;         ///< data1: SegmentNumber of data and ACK
    std::uint32_t payload_length = 0;  ///< data2: PayloadLength of data, NewWindowLast of ACK
};

struct SaMad {
    MadHeader header{.mgmt_class = MgmtClass::subn_adm, .class_version = 2};
    RmppHeader rmpp;
    std::uint64_t sm_key = 0;
    std::uint16_t attribute_offset = 0;  ///< record size in units of 8 bytes; GetTable answers
    std::uint64_t component_mask = 0;
    std::array<std::uint8_t, 200> data{};

    [[nodiscard]] SaAttribute attribute() const { return static_cast<SaAttribute>(header.attribute); }
    [[nodiscard]] SaMethod method() const { return static_cast<SaMethod>(header.method); }
};

/// The RMPP header alone, of any MAD whose class has one.
[[nodiscard]] RmppHeader parse_rmpp_header(const MadBuffer& bytes);
void write_rmpp_header(const RmppHeader& rmpp, MadBuffer& out);

/// Errors: parse where the class is not SubnAdm or the base version not 1. The class version is kept as it
/// came.
[[nodiscard]] base::Result<SaMad> parse_sa_mad(std::span<const std::uint8_t> bytes);
[[nodiscard]] MadBuffer encode_sa_mad(const SaMad& mad);

}  // namespace ibf::mad
