#include "mad/perf_mad.hpp"

#include <algorithm>

#include "mad/octets.hpp"

namespace ibf::mad {
namespace {

constexpr std::size_t kPerfDataAt = 64;
constexpr std::size_t kPerfMadBytes = kPerfDataAt + std::tuple_size_v<PerfData>;

// ClassPortInfo, octets from its beginning (IBA 13.4.8.1).
constexpr std::size_t kCpiCapabilityAt = 2;
constexpr std::size_t kCpiRedirectGidAt = 8;
constexpr std::size_t kCpiRedirectSlAt = 25;  // upper half of the octet
constexpr std::size_t kCpiRedirectLidAt = 28;
constexpr std::size_t kCpiRedirectPKeyAt = 30;
constexpr std::size_t kCpiRedirectQpAt = 33;  // 24 bits
constexpr std::size_t kCpiRedirectQKeyAt = 36;

}  // namespace

ClassPortInfo decode_class_port_info(const PerfData& data) {
    const Octets octets(data);
    ClassPortInfo info;
    info.capability_mask = load16(octets, kCpiCapabilityAt);
    info.redirect_gid = load_gid(octets, kCpiRedirectGidAt);
    info.redirect_sl = Sl{static_cast<std::uint8_t>(data[kCpiRedirectSlAt] >> 4U)};
    info.redirect_lid = Lid{load16(octets, kCpiRedirectLidAt)};
    info.redirect_pkey = PKey{load16(octets, kCpiRedirectPKeyAt)};
    info.redirect_qp =
        static_cast<std::uint32_t>(data[kCpiRedirectQpAt]) << 16U | load16(octets, kCpiRedirectQpAt + 1);
    info.redirect_qkey = static_cast<std::uint32_t>(load16(octets, kCpiRedirectQKeyAt)) << 16U |
                         load16(octets, kCpiRedirectQKeyAt + 2);
    return info;
}

PerfData encode(const ClassPortInfo& value) {
    PerfData data{};
    const MutableOctets octets(data);
    data[0] = data[1] = 1;  // base and class version
    store16(octets, kCpiCapabilityAt, value.capability_mask);
    store_gid(octets, kCpiRedirectGidAt, value.redirect_gid);
    data[kCpiRedirectSlAt] = static_cast<std::uint8_t>(value.redirect_sl.value() << 4U);
    store16(octets, kCpiRedirectLidAt, value.redirect_lid.value());
    store16(octets, kCpiRedirectPKeyAt, value.redirect_pkey.value());
    data[kCpiRedirectQpAt] = static_cast<std::uint8_t>(value.redirect_qp >> 16U);
    store16(octets, kCpiRedirectQpAt + 1, static_cast<std::uint16_t>(value.redirect_qp));
    store16(octets, kCpiRedirectQKeyAt, static_cast<std::uint16_t>(value.redirect_qkey >> 16U));
    store16(octets, kCpiRedirectQKeyAt + 2, static_cast<std::uint16_t>(value.redirect_qkey));
    return data;
}

MadBuffer encode_perf_get(PerfAttribute attribute, PortNum port, Tid tid) {
    MadBuffer bytes{};
    const MutableOctets octets(bytes);
    bytes[0] = 1;
    bytes[1] = static_cast<std::uint8_t>(MgmtClass::perf);
    bytes[2] = 1;
    bytes[3] = static_cast<std::uint8_t>(Method::get);
    store64(octets, 8, tid.value());
    store16(octets, 16, static_cast<std::uint16_t>(attribute));
    if (attribute != PerfAttribute::class_port_info) {
        bytes[kPerfDataAt + 1] = port.value();
    }
    return bytes;
}

base::Result<PerfReply> parse_perf_reply(std::span<const std::uint8_t> bytes) {
    const base::Result<MadHeader> header = parse_header(bytes);
    if (!header) {
        return tl::unexpected<base::Error>(header.error());
    }
    if (bytes.size() < kPerfMadBytes || header->mgmt_class != MgmtClass::perf ||
        header->method != static_cast<std::uint8_t>(Method::get_resp)) {
        return base::fail(base::ErrorKind::parse, "no answer of the performance class");
    }
    PerfReply reply;
    reply.tid = Tid{static_cast<std::uint32_t>(header->tid)};
    reply.attribute = static_cast<PerfAttribute>(header->attribute);
    reply.status = header->status;
    std::copy_n(bytes.begin() + kPerfDataAt, reply.data.size(), reply.data.begin());
    return reply;
}

AttributeData front_of(const PerfData& data) {
    AttributeData front{};
    std::copy_n(data.begin(), front.size(), front.begin());
    return front;
}

}  // namespace ibf::mad
