// DOC: `probe run --sim`: the same run on a simulated fabric, in virtual time.
//
// The fabric is programmed with the tables in question, then faults of a script (ibfabric-sim(1)) happen to
// it, which the prober is not told. Cables, tables, counters and agents are simulated; what is asked, sent
// and judged is not.
#pragma once

#include <memory>
#include <string>

#include "cli/plan_subject.hpp"
#include "probe/rehearsal/sim_agents.hpp"
#include "probe/rehearsal/sim_asker.hpp"

namespace ibf::cli {

class ProbeRehearsal {
public:
    /// `faults`: a script's file; empty: none. Errors: usage, io, not_found.
    [[nodiscard]] static base::Result<std::unique_ptr<ProbeRehearsal>> begin(const Subject& subject,
                                                                             const routing::Routes& routes,
                                                                             const std::string& faults,
                                                                             std::uint64_t seed);

    [[nodiscard]] probe::MadAsker& asker() { return *asker_; }
    [[nodiscard]] probe::Agents& agents() { return *agents_; }

private:
    ProbeRehearsal() = default;

    std::unique_ptr<sim::Simulator> simulator_;
    std::unique_ptr<probe::SimAsker> asker_;
    std::unique_ptr<probe::SimAgents> agents_;
};

}  // namespace ibf::cli
