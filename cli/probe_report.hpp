// DOC: what `ibfabric probe plan` tells.
//
// As with plan_report.hpp: one JSON object, and the text is made of it. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "cli/client.hpp"
#include "probe/cover.hpp"
#include "probe/rounds.hpp"
#include "routing/patterns.hpp"

namespace ibf::cli {

/// Flows by round, the links that none crosses, and the figures of both.
[[nodiscard]] Json cover_json(const routing::Topology& topology, const routing::Routes& routes,
                              const probe::Cover& cover, const probe::Rounds& rounds);

/// The `most` links that carry most, the busiest first; of equal ones the first by switch and port.
[[nodiscard]] Json hot_links_json(const routing::Topology& topology, std::span<const routing::LinkLoad> links,
                                  std::size_t most);
/// Of the all-to-all: flows on the busiest link and on the mean one, and where.
[[nodiscard]] Json all_to_all_json(const routing::Topology& topology,
                                   std::span<const routing::LinkLoad> links, std::size_t most);

/// Line by line, then hot links, then so many of the flows.
[[nodiscard]] std::string probe_text(const Json& plan, std::size_t flows_listed);

}  // namespace ibf::cli
