// DOC: the commands of ibfabric-probe.
//
// Each add_* declares its commands on the app and, when one was chosen, leaves what to run in `chosen`: a
// usage error never has side effects. --json stands before or after any command.
#pragma once

#include <CLI/App.hpp>

#include "probe/tool/common.hpp"

namespace ibf::probe::tool {

/// ping, send, write, read, ud.
void add_test_commands(CLI::App& app, const bool& json, Action& chosen);
/// devices, check, explain.
void add_host_commands(CLI::App& app, const bool& json, Action& chosen);
/// path.
void add_path_command(CLI::App& app, const bool& json, Action& chosen);
/// agent, key.
void add_agent_commands(CLI::App& app, Action& chosen);

/// The whole program.
[[nodiscard]] int run(int argc, const char* const* argv);

}  // namespace ibf::probe::tool
