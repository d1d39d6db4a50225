// DOC: why a probe run is not fine although it has no finding.
//
// What was asked for and did not happen, what could not be read, and flows that arrived by another way than
// the tables say. A sentence for each; the exit code follows them. Pure.
#pragma once

#include <string>
#include <vector>

#include "probe/conduct/report.hpp"

namespace ibf::cli {

/// Of an interrupted run, not what it did not come to.
[[nodiscard]] std::vector<std::string> probe_shortfalls(const probe::Report& report);

}  // namespace ibf::cli
