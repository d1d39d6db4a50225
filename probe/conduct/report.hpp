// DOC: what a run of the probe came to.
//
// Flows with their figures and what was seen of each of their hops, findings, and how much of the fabric the
// run looked at. A value; to_json() is its one form outside: for the database, the command line and people.
// Places are resolved to GUID, name and port there, so a report can be read without the topology.
//
//     {"flows": [{"from": {"guid", "name", "port", "lid"}, "to": {...}, "lid", "round", "verdict", "hops",
//        "proved", "by_one_end", "bytes", "messages", "bits_per_second", "latency": {"minimum", "p50", "p99",
//        "maximum"} (ns), "errors", "failure", "text", "unproved": [{"out": {place}, "in": {place},
//        "verdict", "seen_at", "why"}], "doubts": {"from": [text], "to": [text]}}],
//      "findings": [{"kind", "guid", "name", "port", "peer": {"guid", "name", "port"}, "lid", "has", "wants",
//        "text"}],
//      "adaptive": [{"guid", "name"}],
//      "coverage": {"links", "crossed", "pairs", "lower_bound", "rounds", "rounds_run"},
//      "read": {"switches", "switches_of", "table_entries", "table_entries_of", "cables", "ports",
//        "ports_of", "questions", "unanswered", "refused"},
//      "interrupted": false}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "probe/conduct/agents.hpp"
#include "probe/proof/finding.hpp"

namespace ibf::probe {

/// What became of a flow on one link.
enum class Seen : std::uint8_t {
    proved,       ///< each end that could be read (one at least) counted our octets or more
    errors_rose,  ///< so they did, and errors rose at one of them
    elsewhere,    ///< not here, but another port of that switch counted as many that nobody else sent
    not_seen,     ///< less than our octets
    no_evidence,  ///< counters that say nothing, nothing was sent, or a switch before it routes adaptively
};
[[nodiscard]] std::string_view to_string(Seen seen);

struct HopReport {
    Hop hop;
    Seen seen = Seen::no_evidence;
    std::optional<Place> seen_at{};  ///< of elsewhere
    std::string why{};               ///< of no_evidence and errors_rose
    bool by_one_end = false;         ///< of proved: the other one could not be read
};

struct FlowReport {
    Flow flow;
    std::uint32_t round = 0;
    bool has_run = false;
    FlowResult result{};
    Seen seen = Seen::no_evidence;  ///< the worst of its hops
    std::uint32_t hops = 0;
    std::uint32_t proved = 0;
    std::uint32_t by_one_end = 0;       ///< of these: one end could not be read
    std::vector<HopReport> unproved{};  ///< hops that are not proved, in the order of travel
};

struct Coverage {
    std::uint64_t links = 0;    ///< directed, between switches
    std::uint64_t crossed = 0;  ///< by the flows
    std::uint64_t pairs = 0;    ///< flows
    std::uint64_t lower_bound = 0;
    std::uint32_t rounds = 0;
    std::uint32_t rounds_run = 0;
};

/// How much was read of the fabric.
struct ReadFigures {
    std::uint64_t switches = 0;          ///< reached over cables that are as they should be
    std::uint64_t switches_of = 0;       ///< so many there are
    std::uint64_t table_entries = 0;     ///< compared
    std::uint64_t table_entries_of = 0;  ///< so many were to be
    std::uint64_t cables = 0;            ///< directions looked through
    std::uint64_t ports = 0;             ///< whose PortInfo was judged
    std::uint64_t ports_of = 0;          ///< so many were to be
    std::uint64_t questions = 0;
    std::uint64_t unanswered = 0;
    std::uint64_t refused = 0;  ///< answered with a status (some ask what not every device has)
};

struct Report {
    std::vector<FlowReport> flows;
    std::vector<Finding> findings;
    std::vector<std::uint32_t>
        adaptive;  ///< SwitchIndex of those with adaptive routing on: a path is a set there
    Coverage coverage;
    ReadFigures read;
    bool interrupted = false;
};

[[nodiscard]] nlohmann::json to_json(const routing::Topology& topology, const Report& report);

}  // namespace ibf::probe
