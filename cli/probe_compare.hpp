// DOC: two stored probe runs, held against each other.
//
// Flows are the same where both ends and the LID are; findings where kind, port and LID are. What got slower
// by more than a threshold, whose errors rose, what is proved no longer, what is new and what is gone. Pure.
#pragma once

#include <string>

#include "cli/client.hpp"

namespace ibf::cli {

/// `before` and `after`: a run with "flow_rows" and "finding_rows", as the daemon gives it. `percent`: what a
/// rate must have fallen or a median latency risen by.
[[nodiscard]] Json compare_probe_runs(const Json& before, const Json& after, double percent);

/// Whether anything is worse.
[[nodiscard]] bool is_worse(const Json& comparison);

/// For people; `listed` rows of a kind.
[[nodiscard]] std::string comparison_text(const Json& comparison, std::size_t listed);

/// "3.20 us", "1.4 ms"; "-" for 0.
[[nodiscard]] std::string nanoseconds_text(std::uint64_t nanoseconds);
/// "98.1" of Gb/s; "-" for 0.
[[nodiscard]] std::string gigabits_text(std::uint64_t bits_per_second);
/// "host-01/1", the GUID where there is no name.
[[nodiscard]] std::string probe_end_text(const Json& end);

}  // namespace ibf::cli
