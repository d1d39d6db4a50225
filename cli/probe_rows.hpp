// DOC: a probe's report as the rows that the daemon keeps, and their way there.
//
// From the report's JSON form (probe/conduct/report.hpp) to the run that `probe list`, `show` and `compare`
// read: one form for what has just been measured and for what is stored.
#pragma once

#include <string>

#include "cli/client.hpp"

namespace ibf::cli {

/// What is known of a run beside its report.
struct ProbeRunHead {
    std::string asked_by;
    std::string command;
    std::string tables;
    std::int64_t begun_ms = 0;
    std::int64_t ended_ms = 0;
};

/// As GET /v1/probe/run gives it, with "flow_rows" and "finding_rows"; "run" and "uid" are null.
[[nodiscard]] Json probe_run_json(const ProbeRunHead& head, const Json& report);

/// Tells the daemon in pieces. The run's number.
[[nodiscard]] base::Result<std::uint64_t> store_probe_run(const Client& client, const ProbeRunHead& head,
                                                          const Json& run);

/// For people. `findings` and `flows`: how many rows are listed.
[[nodiscard]] std::string probe_run_text(const Json& run, std::size_t findings, std::size_t flows);

}  // namespace ibf::cli
