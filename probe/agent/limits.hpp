// DOC: what an agent may be asked for, so that it cannot become a traffic cannon. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "probe/messages.hpp"

namespace ibf::probe {

/// What the agent stops late by: the target begins before the initiator and ends after it.
inline constexpr std::chrono::seconds kLimitGrace{1};

/// The way that is taken: the first of `devices` where none is named. Errors: refused: what is above which
/// limit. An empty list allows every device.
[[nodiscard]] base::Result<Way> allowed_way(const AgentLimits& limits,
                                            const std::vector<std::string>& devices, const Prepare& asked);

/// Without librdmacm each queue pair of the peer has a number; the rest, address_from() has judged. Errors:
/// refused.
[[nodiscard]] base::Result<void> allowed_peer(const TestSpec& spec, const EndpointAddress& peer);

/// The outcome of a run that the agent ended.
[[nodiscard]] Outcome ended_by_limit(Outcome outcome, const AgentLimits& limits, const std::string& host);

}  // namespace ibf::probe
