// DOC: a run of the probe over a fabric: tables and cables read, flows run, both held together.
//
// plan_run() chooses flows (a cover of all links, or those given) and rounds. conduct() reads what the run
// needs: cables, tables, link rates and adaptive routing of the switches on the paths (with `audit`: of all
// of them); then, round by round, counters before, the flows, counters after, and the judgement
// (proof/judge.hpp). It sends nothing but Gets. Whatever it cannot read is told (of a switch as a finding),
// and nothing is concluded from it.
//
// Both sides are interfaces: MadAsker for the fabric, Agents for the hosts; blocking, on the caller's thread.
#pragma once

#include <functional>
#include <span>
#include <stop_token>
#include <string_view>

#include "base/result.hpp"
#include "probe/conduct/report.hpp"
#include "probe/proof/asker.hpp"

namespace ibf::probe {

struct RunPlan {
    std::vector<Flow> flows;
    std::vector<std::uint32_t> round_of;  ///< by flow
    Coverage coverage;
};

/// A cover of every link that pairs of `hosts` cross. `together`: all in one round, whatever they share.
[[nodiscard]] RunPlan plan_run(const routing::Topology& topology, const routing::Routes& routes,
                               std::span<const routing::EndPortIndex> hosts, bool together, unsigned threads);
/// These flows. REQUIRES: all of them arrive.
[[nodiscard]] RunPlan plan_flows(const routing::Topology& topology, const routing::Routes& routes,
                                 std::vector<Flow> flows, bool together);

struct ConductOptions {
    TestSpec spec{};
    bool audit = true;              ///< all tables and cables, not only those of the paths
    std::uint32_t rounds_most = 0;  ///< only the first so many; 0: all
};

struct ConductProgress {
    std::string_view step;  ///< "cables", "tables", "ports", "round"
    std::uint64_t done = 0;
    std::uint64_t of = 0;
};

/// `agents` null: nothing is sent, only read. Errors: usage (a test whose data goes the other way: read),
/// unavailable (nobody answers where the prober is plugged in).
[[nodiscard]] base::Result<Report> conduct(const routing::Topology& topology, const routing::Routes& routes,
                                           const RunPlan& plan, const ConductOptions& options,
                                           MadAsker& asker, Agents* agents,
                                           const std::function<void(const ConductProgress&)>& progress,
                                           std::stop_token stop);

}  // namespace ibf::probe
