// DOC: what the SA says of paths, held against the switches' own tables.
//
// All PathRecords that an SA would give out, in one table. Each is walked through the simulated switches: it
// has to arrive at the port that owns its DLID, over lanes that run, with the MTU of the narrowest link; and
// every pair that the switches do connect has to have one. The lanes that the records name may not wait for
// each other in a ring.
#pragma once

#include <string>
#include <vector>

#include "harness.hpp"

namespace ibf::test {

/// Of the SM that is master. Empty: the SA and the walk agree.
[[nodiscard]] std::vector<std::string> sa_disagreements(const Lab& lab);

}  // namespace ibf::test
