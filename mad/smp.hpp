// DOC: MAD headers and subnet management packets.
//
// A MadBuffer is the 256 wire bytes. MadHeader and Smp are their decoded forms (IBA 13.4.2, 14.2.1). parse_*
// refuse what is no MAD of theirs; nothing from the wire can fail a check.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/result.hpp"
#include "mad/attributes.hpp"

namespace ibf::mad {

using MadBuffer = std::array<std::uint8_t, 256>;

enum class MgmtClass : std::uint8_t { subn_lid = 0x01, subn_adm = 0x03, perf = 0x04, subn_directed = 0x81 };
enum class Method : std::uint8_t {
    get = 0x01,
    set = 0x02,
    get_resp = 0x81,
    trap = 0x05,
    trap_repress = 0x07,
    report = 0x06,
    report_resp = 0x86
};

/// MAD status word without the directed-route direction bit; 0 = fine. Low bits: 0x0001 busy, 0x0002
/// redirect, bits 2-4 invalid-field codes: 0x0004 bad version, 0x0008 method, 0x000C method/attribute, 0x001C
/// value.
using MadStatus = std::uint16_t;
inline constexpr MadStatus kStatusBusy = 0x0001;  ///< to be asked again (IBA 13.4.7)

struct MadHeader {
    std::uint8_t base_version = 1;
    MgmtClass mgmt_class = MgmtClass::subn_directed;
    std::uint8_t class_version = 1;
    std::uint8_t method = 0;  ///< Method, or whatever came
    MadStatus status = 0;
    std::uint64_t tid = 0;  ///< all 64 bits; only the low half is ours
    Attribute attribute{};
    std::uint32_t modifier = 0;

    [[nodiscard]] bool is_response() const { return (method & 0x80U) != 0; }
};

/// Reads the common header. Errors: parse (base version not 1).
[[nodiscard]] base::Result<MadHeader> parse_header(std::span<const std::uint8_t> bytes);

struct Smp {
    MadHeader header;
    MKey mkey{};
    /// Directed route only (mgmt_class subn_directed). DrSLID and DrDLID are permissive: pure directed route.
    DrPath path;         ///< initial path
    DrPath return_path;  ///< as filled by the switches on the way (responses)
    std::uint8_t hop_pointer = 0;
    bool returning = false;  ///< direction bit
    AttributeData data{};
};

[[nodiscard]] base::Result<Smp> parse_smp(std::span<const std::uint8_t> bytes);
[[nodiscard]] MadBuffer encode_smp(const Smp& smp);

/// Where a MAD goes, or came from, below the MAD itself.
struct MadAddress {
    Lid lid{};               ///< kLidPermissive for directed route
    std::uint32_t qp = 0;    ///< 0 SMI, 1 GSI, or a client's own
    std::uint32_t qkey = 0;  ///< 0x80010000 on QP1
    std::uint16_t pkey_index = 0;
    Sl sl{};
    std::uint8_t path_bits = 0;
    std::optional<Gid> grh_gid;  ///< remote GID where the packet had a GRH
    std::uint8_t grh_hop_limit = 0;
    std::uint8_t grh_traffic_class = 0;
    std::uint32_t grh_flow_label = 0;
};

/// "Get PortInfo mod 0x3 tid 0x.. path 0,1,2": the one-line form of transcripts and logs.
[[nodiscard]] std::string to_line(const Smp& smp);
[[nodiscard]] std::string attribute_name(Attribute attribute);
[[nodiscard]] std::string status_text(MadStatus status);

}  // namespace ibf::mad
