// DOC: the program, without its main().
#pragma once

namespace ibf::cli {

/// Parses, runs, and returns the exit code (session.hpp).
[[nodiscard]] int run(int argc, char** argv);

}  // namespace ibf::cli
