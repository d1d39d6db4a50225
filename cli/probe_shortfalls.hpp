// DOC: why a probe run is not fine although it has no finding, and what makes its evidence weaker.
//
// Shortfalls: what was asked for and did not happen, what could not be read, and flows that arrived by
// another way than the tables say. The exit code follows them. Notes: hops that one end alone proves, and
// counters of hosts that cannot be trusted. A sentence for each. Pure.
#pragma once

#include <string>
#include <vector>

#include "probe/conduct/report.hpp"

namespace ibf::cli {

/// Of an interrupted run, not what it did not come to.
[[nodiscard]] std::vector<std::string> probe_shortfalls(const probe::Report& report);
/// Each doubt once for each host; of many, the first few and how many there are (the report's JSON has all).
[[nodiscard]] std::vector<std::string> probe_notes(const routing::Topology& topology,
                                                   const probe::Report& report);

}  // namespace ibf::cli
