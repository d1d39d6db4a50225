// DOC: why a probe run is not fine although it has no finding.
//
// What was asked for and did not happen, what could not be read, and flows that arrived by another way than
// the tables say. A sentence for each; the exit code follows them. Pure.
#pragma once

#include <string>
#include <vector>

#include "probe/conduct/report.hpp"

namespace ibf::cli {

/// What a run of a fabric looks at.
struct ProbeExtent {
    std::uint64_t switches = 0;       ///< all of them
    std::uint64_t table_entries = 0;  ///< in all of their blocks
    bool audit = true;                ///< all of that; else only what is on paths
};
[[nodiscard]] ProbeExtent probe_extent(const routing::Topology& topology, bool audit);

/// Of an interrupted run, not what it did not come to.
[[nodiscard]] std::vector<std::string> probe_shortfalls(const probe::Report& report,
                                                        const ProbeExtent& extent);

}  // namespace ibf::cli
