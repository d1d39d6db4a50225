#include "mad/smp.hpp"

#include <endian.h>

#include <cstring>

#include <fmt/format.h>
#include <iba/ib_types.h>

namespace ibf::mad {
namespace {

static_assert(sizeof(ib_smp_t) == sizeof(MadBuffer));
static_assert(sizeof(ib_mad_t) == 24);

/// ports[0] is no hop and stays 0, whatever the wire holds there, so that paths compare.
DrPath read_path(const std::uint8_t* wire, std::uint8_t hops) {
    DrPath path;
    path.hops = hops;
    std::memcpy(&path.ports[1], wire + 1, hops);
    return path;
}

void write_path(const DrPath& path, std::uint8_t* wire) {
    std::memcpy(wire + 1, &path.ports[1], std::min(path.hops, kHopsMax));
}

MadHeader read_header(const ib_mad_t& wire) {
    MadHeader header{.base_version = wire.base_ver,
                     .mgmt_class = static_cast<MgmtClass>(wire.mgmt_class),
                     .class_version = wire.class_ver,
                     .method = wire.method,
                     .status = be16toh(wire.status),
                     .tid = be64toh(wire.trans_id),
                     .attribute = static_cast<Attribute>(be16toh(wire.attr_id)),
                     .modifier = be32toh(wire.attr_mod)};
    if (header.mgmt_class == MgmtClass::subn_directed) {
        header.status &= IB_SMP_STATUS_MASK_HO;
    }
    return header;
}

std::string method_name(std::uint8_t method) {
    switch (static_cast<Method>(method)) {
        case Method::get: return "Get";
        case Method::set: return "Set";
        case Method::get_resp: return "GetResp";
        case Method::trap: return "Trap";
        case Method::trap_repress: return "TrapRepress";
        case Method::report: return "Report";
        case Method::report_resp: return "ReportResp";
    }
    return fmt::format("method-0x{:02x}", method);
}

}  // namespace

base::Result<MadHeader> parse_header(std::span<const std::uint8_t> bytes) {
    ib_mad_t wire;
    if (bytes.size() < sizeof wire) {
        return base::fail(
            base::ErrorKind::parse,
            fmt::format("MAD of {} bytes is shorter than its header ({})", bytes.size(), sizeof wire));
    }
    std::memcpy(&wire, bytes.data(), sizeof wire);
    if (wire.base_ver != 1) {
        return base::fail(base::ErrorKind::parse, fmt::format("MAD base version {} is not 1", wire.base_ver));
    }
    return read_header(wire);
}

base::Result<Smp> parse_smp(std::span<const std::uint8_t> bytes) {
    const base::Result<MadHeader> header = parse_header(bytes);
    if (!header) {
        return tl::unexpected<base::Error>(header.error());
    }
    if (bytes.size() != sizeof(MadBuffer)) {
        return base::fail(base::ErrorKind::parse,
                          fmt::format("SMP of {} bytes, not {}", bytes.size(), sizeof(MadBuffer)));
    }
    const bool directed = header->mgmt_class == MgmtClass::subn_directed;
    if (!directed && header->mgmt_class != MgmtClass::subn_lid) {
        return base::fail(base::ErrorKind::parse,
                          fmt::format("management class 0x{:02x} is not subnet management",
                                      static_cast<unsigned>(header->mgmt_class)));
    }
    if (header->class_version != 1) {
        return base::fail(base::ErrorKind::parse,
                          fmt::format("SMP class version {} is not 1", header->class_version));
    }
    ib_smp_t wire;
    std::memcpy(&wire, bytes.data(), sizeof wire);
    Smp smp;
    smp.header = *header;
    smp.mkey = MKey{be64toh(wire.m_key)};
    std::memcpy(smp.data.data(), wire.data, sizeof wire.data);
    if (!directed) {
        return smp;
    }
    // The pointer runs from 0 (not sent yet) to one past the last hop (IBA 14.2.2).
    if (wire.hop_count > kHopsMax || wire.hop_ptr > wire.hop_count + 1) {
        return base::fail(base::ErrorKind::parse,
                          fmt::format("SMP at hop {} of {}: at most {} hops are legal", wire.hop_ptr,
                                      wire.hop_count, kHopsMax));
    }
    smp.path = read_path(wire.initial_path, wire.hop_count);
    smp.return_path = read_path(wire.return_path, wire.hop_count);
    smp.hop_pointer = wire.hop_ptr;
    smp.returning = (be16toh(wire.status) & IB_SMP_DIRECTION_HO) != 0;
    return smp;
}

MadBuffer encode_smp(const Smp& smp) {
    ib_smp_t wire{};
    wire.base_ver = smp.header.base_version;
    wire.mgmt_class = static_cast<std::uint8_t>(smp.header.mgmt_class);
    wire.class_ver = smp.header.class_version;
    wire.method = smp.header.method;
    wire.status = htobe16(smp.header.status);
    wire.trans_id = htobe64(smp.header.tid);
    wire.attr_id = htobe16(static_cast<std::uint16_t>(smp.header.attribute));
    wire.attr_mod = htobe32(smp.header.modifier);
    wire.m_key = htobe64(smp.mkey.value());
    std::memcpy(wire.data, smp.data.data(), sizeof wire.data);
    if (smp.header.mgmt_class == MgmtClass::subn_directed) {
        const unsigned direction = smp.returning ? IB_SMP_DIRECTION_HO : 0U;
        wire.status =
            htobe16(static_cast<std::uint16_t>((smp.header.status & IB_SMP_STATUS_MASK_HO) | direction));
        wire.hop_ptr = smp.hop_pointer;
        wire.hop_count = std::min(smp.path.hops, kHopsMax);
        wire.dr_slid = IB_LID_PERMISSIVE;
        wire.dr_dlid = IB_LID_PERMISSIVE;
        write_path(smp.path, wire.initial_path);
        write_path(smp.return_path, wire.return_path);
    }
    MadBuffer bytes{};
    std::memcpy(bytes.data(), &wire, sizeof wire);
    return bytes;
}

std::string to_line(const Smp& smp) {
    std::string line =
        fmt::format("{} {}", method_name(smp.header.method), attribute_name(smp.header.attribute));
    if (smp.header.modifier != 0) {
        line += fmt::format(" mod 0x{:x}", smp.header.modifier);
    }
    line += fmt::format(" tid 0x{:x}", smp.header.tid);
    if (smp.header.mgmt_class == MgmtClass::subn_directed) {
        line += " path " + smp.path.to_string();
    }
    if (smp.header.status != 0) {
        line += fmt::format(" status 0x{:04x} ({})", smp.header.status, status_text(smp.header.status));
    }
    return line;
}

std::string attribute_name(Attribute attribute) {
    switch (attribute) {
        case Attribute::class_port_info: return "ClassPortInfo";
        case Attribute::notice: return "Notice";
        case Attribute::node_description: return "NodeDescription";
        case Attribute::node_info: return "NodeInfo";
        case Attribute::switch_info: return "SwitchInfo";
        case Attribute::guid_info: return "GUIDInfo";
        case Attribute::port_info: return "PortInfo";
        case Attribute::pkey_table: return "P_KeyTable";
        case Attribute::sl2vl_table: return "SLtoVLMappingTable";
        case Attribute::vl_arbitration: return "VLArbitrationTable";
        case Attribute::linear_forwarding_table: return "LinearForwardingTable";
        case Attribute::multicast_forwarding_table: return "MulticastForwardingTable";
        case Attribute::sm_info: return "SMInfo";
        case Attribute::mlnx_adaptive_routing_info: return "MlnxAdaptiveRoutingInfo";
        case Attribute::mlnx_extended_port_info: return "MlnxExtendedPortInfo";
    }
    return fmt::format("attribute-0x{:04x}", static_cast<unsigned>(attribute));
}

std::string status_text(MadStatus status) {
    if (status == 0) {
        return "ok";
    }
    constexpr std::array<std::string_view, 8> kInvalidField{"",
                                                            "bad version",
                                                            "method not supported",
                                                            "method and attribute not supported together",
                                                            "reserved code 4",
                                                            "reserved code 5",
                                                            "reserved code 6",
                                                            "invalid attribute value or modifier"};
    std::string text;
    const auto add = [&text](std::string_view part) {
        text += text.empty() ? "" : ", ";
        text += part;
    };
    if ((status & 0x0001U) != 0) {
        add("busy");
    }
    if ((status & 0x0002U) != 0) {
        add("redirect");
    }
    if (const unsigned code = (status >> 2U) & 0x7U; code != 0) {
        add(kInvalidField[code]);
    }
    if (const unsigned rest = status & 0xFFE0U; rest != 0) {
        add(fmt::format("class status 0x{:04x}", rest));
    }
    return text;
}

}  // namespace ibf::mad
