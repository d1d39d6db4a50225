// DOC: the registry's tables as text, for the database.
//
// A line an item: "group", "member" (of the group above), "service", "subscription"; numbers in hex. The
// first line names the version. What cannot be read is left out, line by line: a torn state costs what is
// torn, never a start.
#pragma once

#include <string>
#include <string_view>

#include "base/time.hpp"
#include "daemon/fabric/sa_tables.hpp"

namespace ibf::sa {

/// `wall` is real time at `now`: leases are kept as the real time at which they end.
[[nodiscard]] std::string state_text(const fabric::SaTables& tables, base::Instant now, base::WallTime wall);
/// Services whose lease is over are left out.
[[nodiscard]] fabric::SaTables tables_of(std::string_view text, base::Instant now, base::WallTime wall);

}  // namespace ibf::sa
