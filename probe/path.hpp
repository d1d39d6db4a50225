// DOC: by which path a side sends: what the flags say, and the subnet administration's record for the rest.
//
// Flags win: with an SL given, nobody is asked. Else, on InfiniBand, the SA is asked for the path from our
// LID to the one that is sent to, in the partition of the P_Key index. SL, MTU and rate are then the
// record's. Where there is none, it is SL 0, and PathTaken::trouble says so: on many fabrics that is the
// right one. From a port to itself there is no path to ask for, and a connection of librdmacm asks by itself.
// Pure but for the question.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "base/result.hpp"
#include "mad/sa_path.hpp"
#include "probe/spec.hpp"

namespace ibf::probe {

struct PathWanted {
    std::string device{};  ///< empty: the first port that can be used
    std::uint8_t port = 0;
    mad::Lid slid{};  ///< none: the port's first
    mad::Lid dlid{};  ///< none: by `dgid`
    std::optional<mad::Gid> dgid{};
    std::optional<std::uint16_t> pkey_index{};  ///< none: any partition
};

/// Errors: unavailable (no access to umad, no subnet manager, no answer or none but "busy", stopped),
/// not_found (the SA has no such path), refused (it does not say), usage (the P_Key index is empty), parse
/// (the answer is none to the question).
using AskPath = std::function<base::Result<mad::PathRecord>(const PathWanted&, const std::stop_token&)>;

/// The port that sends.
struct PathFrom {
    std::string device{};
    std::uint8_t port = 0;
    LinkLayer layer = LinkLayer::infiniband;
    mad::LidRange lids{};
    std::uint32_t mtu_bytes = 0;
};

/// The record's MTU is mtu_bytes where the spec has none; else it is the spec's, or both ports'. Errors:
/// usage (an MTU that a port cannot, a ud message of more than one packet), unavailable (stopped).
[[nodiscard]] base::Result<PathTaken> take_path(const TestSpec& spec, const Way& way, const PathFrom& from,
                                                const EndpointAddress& peer, const AskPath& ask,
                                                const std::stop_token& stop);

/// The rate to keep to, as verbs and records code it; 0 where the port is no faster than the path.
[[nodiscard]] std::uint8_t rate_limit(const PathTaken& path, std::uint64_t port_bits_per_second);

}  // namespace ibf::probe
