#include "daemon/shell/probe_history.hpp"

namespace ibf::shell {

base::Result<std::uint64_t> ProbeHistory::put(const db::ProbePut& put) {
    return writer_.put_probe(put);
}

base::Result<std::vector<db::ProbeRun>> ProbeHistory::runs(std::uint64_t limit) {
    return reader_.runs(limit);
}

base::Result<db::ProbeRun> ProbeHistory::run(std::uint64_t id) {
    return reader_.run(id);
}

base::Result<std::vector<db::ProbeFlow>> ProbeHistory::flows(std::uint64_t run, std::uint64_t after,
                                                             std::uint64_t limit) {
    return reader_.flows(run, after, limit);
}

base::Result<std::vector<db::ProbeFinding>> ProbeHistory::findings(std::uint64_t run, std::uint64_t after,
                                                                   std::uint64_t limit) {
    return reader_.findings(run, after, limit);
}

}  // namespace ibf::shell
