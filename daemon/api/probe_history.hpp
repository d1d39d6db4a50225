// DOC: stored probe runs, as the API's endpoints see them.
//
// The only thing that is not in the snapshot: flows of a hundred runs are on the disk, not in memory. What an
// endpoint wants of it comes back in the reply as a function (HttpReply::complete), which the server calls on
// its own thread; may take as long as the disk does. Errors of all: unavailable, io, not_found, refused.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "db/probe_records.hpp"

namespace ibf::api {

class ProbeHistory {
public:
    ProbeHistory() = default;
    ProbeHistory(const ProbeHistory&) = delete;
    ProbeHistory& operator=(const ProbeHistory&) = delete;
    virtual ~ProbeHistory() = default;

    /// Stored when it comes back. The run's id.
    [[nodiscard]] virtual base::Result<std::uint64_t> put(const db::ProbePut& put) = 0;
    /// Newest first.
    [[nodiscard]] virtual base::Result<std::vector<db::ProbeRun>> runs(std::uint64_t limit) = 0;
    [[nodiscard]] virtual base::Result<db::ProbeRun> run(std::uint64_t id) = 0;
    /// Those with numbers above `after`.
    [[nodiscard]] virtual base::Result<std::vector<db::ProbeFlow>> flows(std::uint64_t run,
                                                                         std::uint64_t after,
                                                                         std::uint64_t limit) = 0;
    [[nodiscard]] virtual base::Result<std::vector<db::ProbeFinding>> findings(std::uint64_t run,
                                                                               std::uint64_t after,
                                                                               std::uint64_t limit) = 0;
};

}  // namespace ibf::api
