// DOC: text files from outside, plain or gzip.
//
// The one place that reads what an operator hands in: topologies, host lists. What a file unpacks to is
// bounded, so that a wrong file or a gzip bomb ends in an error and not in the memory.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.hpp"

namespace ibf::routing {

/// The whole file, unpacked if it is gzip. Errors: io, also where it is more than `bytes_max` unpacked.
[[nodiscard]] base::Result<std::string> read_text_file(const std::string& path, std::size_t bytes_max);

}  // namespace ibf::routing
