// DOC: switches and cables by an operator's words.
//
// What can be drained or asked about with `whatif`: a switch by name, GUID or LID; a cable by either end
// ("leaf-01/17", an adapter). Both come back by GUID, a cable by its end at a switch.
#pragma once

#include <string>
#include <string_view>

#include "daemon/api/json_rows.hpp"
#include "daemon/api/lookup.hpp"
#include "daemon/fabric/drain.hpp"

namespace ibf::api {

/// What the word names, seen now: node, port (0: a switch), name and cables. Errors: not_found, refused
/// (several fit), usage (an adapter with several cables, a port 0).
[[nodiscard]] base::Result<fabric::Drain> element_of(const fabric::Fabric& fabric, const Directory& directory,
                                                     std::string_view word);

/// {"name", "guid", "port"}: port null for a switch.
[[nodiscard]] Json element_row(const fabric::Drain& element);

/// Hosts by name, GUID and LID.
[[nodiscard]] Json host_rows(const routing::Topology& topology,
                             const std::vector<routing::EndPortIndex>& hosts);
/// "4 hosts (h1, h2, h3 and 1 more)".
[[nodiscard]] std::string hosts_text(const routing::Topology& topology,
                                     const std::vector<routing::EndPortIndex>& hosts);

}  // namespace ibf::api
