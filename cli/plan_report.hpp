// DOC: what `ibfabric plan` tells of routes.
//
// A plan is one JSON object for one engine's tables; what people read is made of it, so both say the same.
// Pure: routes and figures in, JSON and text out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/client.hpp"
#include "routing/patterns.hpp"
#include "routing/routes.hpp"

namespace ibf::cli {

/// The patterns by the words that name them: "shift", "permutation", "bisection".
struct PatternWord {
    std::string_view word;
    routing::Pattern pattern;
};
inline constexpr PatternWord kPatternWords[] = {
    {"shift", routing::Pattern::shift},
    {"permutation", routing::Pattern::permutation},
    {"bisection", routing::Pattern::matching},
};

/// The fabric, and whose traffic is looked at. `hosts`: how many end ports take part.
[[nodiscard]] Json fabric_json(const routing::Topology& topology, std::uint64_t failed_links,
                               std::uint64_t hosts);
/// Lanes, proof and hash of tables.
[[nodiscard]] Json routes_json(const routing::Routes& routes, const routing::Verdict& verdict);
/// One pattern as laid over the tables. `hosts` as above.
[[nodiscard]] Json pattern_json(const PatternWord& pattern, const routing::PatternFigures& figures,
                                std::uint64_t hosts);
[[nodiscard]] Json attempt_json(const routing::EngineAttempt& attempt);

/// "minhop serves: computed in ..." or "minhop refused: ...".
[[nodiscard]] std::string attempt_text(const Json& attempt);

/// "worst link 1.00 flows on average, ...": what pattern_json() has.
[[nodiscard]] std::string pattern_text(const Json& figures);

/// The first lines of a plan: fabric, engines, lanes, proof.
[[nodiscard]] std::string head_text(const Json& plan);
/// One plan, line by line.
[[nodiscard]] std::string plan_text(const Json& plan);
/// An array of plans of one fabric, side by side.
[[nodiscard]] std::string comparison_text(const Json& plans);

}  // namespace ibf::cli
