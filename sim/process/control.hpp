// DOC: the client of the text commands: one connection, one command.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace ibf::sim {

/// The answer without its last line "ok". Words with blanks are quoted on the way. Errors: unavailable where
/// no simulation serves, refused with what the simulation said.
[[nodiscard]] base::Result<std::string> give_command(const std::string& path,
                                                     const std::vector<std::string>& words);

}  // namespace ibf::sim
