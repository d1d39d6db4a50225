// DOC: starting an unmodified program on a node of a simulation.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace ibf::sim {

/// Replaces this process by the program, with libibfabric-umad.so loaded into it and told where it is
/// (IBFABRIC_SIM, IBFABRIC_NODE). The library lies below the folder beside this program's, lib/ibfabric when
/// installed. Returns only where that fails: not_found for the library or the program, usage without one.
[[nodiscard]] base::Error run_program(const std::string& socket, const std::string& node,
                                      const std::vector<std::string>& words);

}  // namespace ibf::sim
