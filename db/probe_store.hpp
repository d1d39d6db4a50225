// DOC: probe runs in the database: pieces in, rows out.
//
// Written by the writer thread (Writer::put_probe); read by whoever wants, each call by a connection of its
// own that only reads, so that no reader waits for the writer nor it for them (WAL).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "db/probe_records.hpp"

namespace ibf::db {

class Sql;
struct HistoryLimits;

/// For database.cpp. One transaction; what is too old goes with it. The run's id. Errors: io (nothing of the
/// piece is kept), not_found (no such run, or it was dropped meanwhile), refused (it holds all that one may).
[[nodiscard]] base::Result<std::uint64_t> put_probe(Sql& sql, const ProbePut& put,
                                                    const HistoryLimits& limits);

/// Errors of all: io.
class ProbeReader {
public:
    explicit ProbeReader(std::string path) : path_(std::move(path)) {}

    /// Newest first.
    [[nodiscard]] base::Result<std::vector<ProbeRun>> runs(std::uint64_t limit) const;
    /// Errors: not_found as well, naming the runs there are.
    [[nodiscard]] base::Result<ProbeRun> run(std::uint64_t id) const;
    /// Those with numbers above `after`.
    [[nodiscard]] base::Result<std::vector<ProbeFlow>> flows(std::uint64_t run, std::uint64_t after,
                                                             std::uint64_t limit) const;
    [[nodiscard]] base::Result<std::vector<ProbeFinding>> findings(std::uint64_t run, std::uint64_t after,
                                                                   std::uint64_t limit) const;

private:
    std::string path_;
};

}  // namespace ibf::db
