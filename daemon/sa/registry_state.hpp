// DOC: the registry's tables as text, for the database.
//
// A line an item: "group", "member" (of the group above), "service", "subscription"; numbers in hex. The
// first line names the version and the edition, the last one vouches for all before it. What cannot be read
// is left out, line by line: a torn state costs what is torn, never a start.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.hpp"
#include "daemon/fabric/sa_tables.hpp"

namespace ibf::sa {

/// `edition`: of the state, growing; 0 where the SA lacks what some clients left with another. `wall` is real
/// time at `now`: leases are kept as the real time at which they end.
[[nodiscard]] std::string state_text(const fabric::SaTables& tables, std::uint64_t edition, base::Instant now,
                                     base::WallTime wall);

struct StoredState {
    fabric::SaTables tables;
    std::uint64_t edition = 0;  ///< 0 also where the text is torn
};
/// Services whose lease is over are left out.
[[nodiscard]] StoredState state_of(std::string_view text, base::Instant now, base::WallTime wall);

}  // namespace ibf::sa
