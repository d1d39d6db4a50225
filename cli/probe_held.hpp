// DOC: the fabric and the tables that a probe run holds the world against.
//
// Those of files, or those that the daemon has in force. The daemon goes on meanwhile: a DaemonMark says how
// its tables stood, and two of them whether it wrote others. What a run found in tables that were replaced
// under it is no wrong entry. Marks and their comparison are pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "cli/client.hpp"
#include "cli/plan_subject.hpp"
#include "probe/conduct/report.hpp"
#include "routing/routes.hpp"

namespace ibf::cli {

/// How the daemon's tables stand, by its status.
struct DaemonMark {
    std::string hash;              ///< of its routes; empty: it holds stored ones, or has none
    std::uint64_t last_sweep = 0;  ///< the newest that has ended
    friend bool operator==(const DaemonMark&, const DaemonMark&) = default;
};
[[nodiscard]] DaemonMark mark_of(const Json& status);

/// What became of the daemon's tables during a run.
struct TablesChange {
    bool replaced = false;  ///< they are others
    std::string text;       ///< for people; empty: none was written
};
/// `sweeps`: as GET /v1/sweeps tells them.
[[nodiscard]] TablesChange change_between(const DaemonMark& before, const DaemonMark& after,
                                          const Json& sweeps);

struct Held {
    Subject subject;
    routing::Routes routes;
    std::optional<DaemonMark> mark;  ///< none: they are of files
};

/// Says on the way what it does. Errors: unavailable (nobody there; tables that change all the time), io.
[[nodiscard]] base::Result<Held> held_by_daemon(const SubjectOptions& options, const Client& client);
[[nodiscard]] base::Result<Held> held_by_files(SubjectOptions options);

/// After a run: asks the daemon how its tables stand now, and takes back what tables that were replaced
/// explain (wrong entries, hops that were not seen). What to say of it; empty: they are the same.
[[nodiscard]] std::string settle_tables(const DaemonMark& before, probe::Report& report,
                                        const Client& client);

}  // namespace ibf::cli
