// DOC: the commands.
//
// Each add_* declares its commands (options, help, examples) on the app and, when one was chosen, leaves what
// to run in `chosen`. Running is separate from parsing, so that a usage error never has side effects.
#pragma once

#include <functional>
#include <string>

#include <CLI/App.hpp>

#include "cli/session.hpp"

namespace ibf::cli {

using Action = std::function<Exit(const Session&)>;

/// nodes, switches, hosts, ports, links, lids, isolated, events, sweeps.
void add_list_commands(CLI::App& app, Action& chosen);
/// path, route, check, quality.
void add_route_commands(CLI::App& app, Action& chosen);
/// status, sms, sweep, reload.
void add_control_commands(CLI::App& app, Action& chosen);
/// drain, undrain.
void add_drain_commands(CLI::App& app, Action& chosen);
/// whatif.
void add_whatif_command(CLI::App& app, Action& chosen);
/// health, resume.
void add_health_commands(CLI::App& app, Action& chosen);
/// groups, services, sa.
void add_sa_commands(CLI::App& app, Action& chosen);
/// query: no daemon needed.
void add_query_command(CLI::App& app, Action& chosen);
/// export.
void add_export_command(CLI::App& app, Action& chosen);
/// generate, plan: no daemon needed.
void add_plan_commands(CLI::App& app, Action& chosen);
/// probe, with what follows.
void add_probe_commands(CLI::App& app, Action& chosen);
/// probe run; to the command `probe`, as the next.
void add_probe_run_command(CLI::App& probe, Action& chosen);
/// probe list, show, compare.
void add_probe_store_commands(CLI::App& probe, Action& chosen);
/// probe explain: no daemon needed.
void add_probe_explain_command(CLI::App& probe, Action& chosen);

}  // namespace ibf::cli
