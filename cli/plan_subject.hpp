// DOC: the fabric and the tables that `plan` and `probe plan` are about, as the command line names them.
//
// A topology, the engines' chain with all that they are told, and whose traffic is looked at: one set of
// options for whatever is worked out without a daemon.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <CLI/App.hpp>

#include "base/result.hpp"
#include "cli/client.hpp"
#include "routing/netlist.hpp"
#include "routing/patterns.hpp"
#include "routing/preference_files.hpp"
#include "routing/routes.hpp"

namespace ibf::cli {

struct SubjectOptions {
    std::string spec;
    std::vector<std::string> engines;
    std::vector<std::string> roots;
    std::string lfts;
    std::string slow_links;
    routing::PreferencePaths preferences;
    unsigned lmc = 0;
    unsigned vls = routing::RouteOptions{}.vls_max;
    unsigned threads = 0;
    bool allow_credit_loops = false;
    bool connect_roots = false;
    std::uint32_t seed = 1;
    std::uint32_t matchings = routing::PatternOptions{}.draws;
    std::string fail;
    std::string hosts;
};

/// SPEC and --engine.
void add_subject(CLI::App& command, SubjectOptions& options, const std::string& engine_help);
/// All the others.
void add_subject_options(CLI::App& command, SubjectOptions& options);

/// `known`: the words that --engine takes. Errors: usage.
[[nodiscard]] base::Result<routing::RouteOptions> route_options(const SubjectOptions& options,
                                                                const std::vector<std::string>& known);

/// How patterns are drawn.
[[nodiscard]] routing::PatternOptions pattern_options(const SubjectOptions& options);

/// A fabric ready to be routed.
struct Subject {
    routing::Netlist netlist;
    routing::Topology topology;
    std::uint64_t failed_links = 0;
    std::vector<routing::EndPortIndex> hosts;  ///< whose traffic is looked at, in their usual order
};

/// Says on the way what it does. Errors: usage, parse, not_found, unsupported.
[[nodiscard]] base::Result<Subject> read_subject(const SubjectOptions& options);

/// The fabric of a topology text that somebody else sent; `origin` names it in messages. Of the options, who
/// is looked at.
[[nodiscard]] base::Result<Subject> subject_from_text(std::string_view text, const std::string& origin,
                                                      const SubjectOptions& options);

/// The head of every plan: the engine, then the fabric.
[[nodiscard]] Json head_json(const SubjectOptions& options, const Subject& subject,
                             const routing::EngineAttempt& attempt);

/// A finding: something does not arrive or may lock up, or none of the engines asked for would do.
[[nodiscard]] bool is_finding(const SubjectOptions& options, const routing::RouteOutcome& outcome);

}  // namespace ibf::cli
