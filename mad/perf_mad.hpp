// DOC: performance management MADs: what a prober asks a port's counters with.
//
// Class 0x04 on QP1 (IBA 16.1): the common header, 40 reserved octets, 192 of data. Only Gets are made here.
// A device may answer that somebody else speaks for it: status 0x0002, the data a ClassPortInfo with the
// address to ask instead (IBA 13.4.8.1, 13.5.2). Codecs of the counters themselves are in codec.hpp.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.hpp"
#include "mad/smp.hpp"

namespace ibf::mad {

enum class PerfAttribute : std::uint16_t {
    class_port_info = 0x0001,
    port_counters = 0x0012,
    port_counters_extended = 0x001D,
};

inline constexpr std::uint32_t kPerfQp = 1;
inline constexpr std::uint32_t kPerfQKey = 0x80010000;  ///< of QP1 (IBA 10.2.5)
inline constexpr MadStatus kStatusRedirect = 0x0002;    ///< to be asked elsewhere (IBA 13.4.7)

/// ClassPortInfo (IBA 13.4.8.1): the part that says what a class can do and whom to ask instead.
struct ClassPortInfo {
    std::uint16_t capability_mask = 0;
    Gid redirect_gid{};
    Sl redirect_sl{};
    Lid redirect_lid{};  ///< none: only the GID says where
    PKey redirect_pkey{};
    std::uint32_t redirect_qp = 0;
    std::uint32_t redirect_qkey = 0;

    /// PortCountersExtended is there, with or without the counters of unicast and multicast (IBA 16.1.2).
    [[nodiscard]] bool has_extended_counters() const { return (capability_mask & 0x0600U) != 0; }
    [[nodiscard]] bool has_transmit_wait() const { return (capability_mask & 0x1000U) != 0; }
    friend bool operator==(const ClassPortInfo&, const ClassPortInfo&) = default;
};
[[nodiscard]] ClassPortInfo decode_class_port_info(const PerfData& data);
[[nodiscard]] PerfData encode(const ClassPortInfo& value);

/// A Get. `port`: PortSelect; nothing to ClassPortInfo.
[[nodiscard]] MadBuffer encode_perf_get(PerfAttribute attribute, PortNum port, Tid tid);

struct PerfReply {
    Tid tid{};  ///< the low half
    PerfAttribute attribute{};
    MadStatus status = 0;
    PerfData data{};
};
/// Errors: parse for what is no answer of the performance class.
[[nodiscard]] base::Result<PerfReply> parse_perf_reply(std::span<const std::uint8_t> bytes);

/// The front of the data, as codecs of 64 octets take it.
[[nodiscard]] AttributeData front_of(const PerfData& data);

}  // namespace ibf::mad
