// DOC: what is remembered of probe runs.
//
// A run of `ibfabric probe run` is told in pieces: first what it is, then flows and findings as they are
// there, in the end how it ended. So a run that was killed is there as far as it came, and no piece is large.
// Plain values; no SQL here. Probe runs are this daemon's own history: no standby gets a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mad/ids.hpp"

namespace ibf::db {

/// What a run tells of itself; the newest word stands.
struct ProbeHead {
    std::string asked_by;          ///< the user's name, as the client says
    std::string command;           ///< for people: the options
    std::string tables;            ///< engine and fingerprint of the tables it was held against
    std::int64_t begun_ms = 0;     ///< UTC
    std::int64_t ended_ms = 0;     ///< 0: it has not ended, or nobody told
    std::uint8_t interrupted = 0;  ///< Ctrl-C: what is here was measured, there would be more
    std::uint64_t link_directions = 0;
    std::uint64_t crossed = 0;  ///< of these, by its flows
    std::uint64_t planned = 0;  ///< flows
    std::uint64_t proved = 0;   ///< of these, seen on every hop
};
struct ProbeRun {
    std::uint64_t id = 0;
    std::uint32_t uid = 0;  ///< of the client, as the kernel says
    ProbeHead head;
    std::uint64_t flows = 0;     ///< stored
    std::uint64_t findings = 0;  ///< stored
};
struct ProbeEnd {
    mad::Guid guid{};  ///< of the port
    mad::PortNum port{};
    std::string name;
};
struct ProbeFlow {
    std::uint64_t number = 0;  ///< from 1, in the order of being told
    std::uint64_t round = 0;
    ProbeEnd from;
    ProbeEnd to;
    mad::Lid lid{};
    std::string verdict;       ///< a word of the conductor's
    std::uint64_t p50_ns = 0;  ///< latencies and rates: 0 where none was measured
    std::uint64_t p99_ns = 0;
    std::uint64_t max_ns = 0;
    std::uint64_t bits_per_second = 0;
    std::uint64_t bytes = 0;
    std::uint64_t errors = 0;
    std::string text;  ///< what went wrong, for people
};
struct ProbeFinding {
    std::uint64_t number = 0;
    std::string kind;
    ProbeEnd at;     ///< switch and port, or a host's
    mad::Lid lid{};  ///< of a wrong table entry; else none
    std::string text;
};

/// A piece of a run.
struct ProbePut {
    std::optional<std::uint64_t> run;  ///< none: a new one
    std::uint32_t uid = 0;
    std::optional<ProbeHead> head;  ///< of a new run there is one
    std::vector<ProbeFlow> flows;
    std::vector<ProbeFinding> findings;
};

/// So much may one run hold: a cover of the largest fabric that LIDs can name has 45,056 flows.
inline constexpr std::uint64_t kProbeFlowsMost = 262'144;
inline constexpr std::uint64_t kProbeFindingsMost = 65'536;

}  // namespace ibf::db
