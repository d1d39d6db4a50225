// DOC: the API's probe runs, from the database.
//
// Pieces go to the writer thread, which the caller waits for; reads are the caller's own. Any thread.
#pragma once

#include <memory>
#include <string>

#include "daemon/api/probe_history.hpp"
#include "db/database.hpp"
#include "db/probe_store.hpp"

namespace ibf::shell {

class ProbeHistory final : public api::ProbeHistory {
public:
    /// `writer` outlives this.
    ProbeHistory(db::Writer& writer, std::string path) : writer_(writer), reader_(std::move(path)) {}

    [[nodiscard]] base::Result<std::uint64_t> put(const db::ProbePut& put) override;
    [[nodiscard]] base::Result<std::vector<db::ProbeRun>> runs(std::uint64_t limit) override;
    [[nodiscard]] base::Result<db::ProbeRun> run(std::uint64_t id) override;
    [[nodiscard]] base::Result<std::vector<db::ProbeFlow>> flows(std::uint64_t run, std::uint64_t after,
                                                                 std::uint64_t limit) override;
    [[nodiscard]] base::Result<std::vector<db::ProbeFinding>> findings(std::uint64_t run, std::uint64_t after,
                                                                       std::uint64_t limit) override;

private:
    db::Writer& writer_;
    db::ProbeReader reader_;
};

}  // namespace ibf::shell
