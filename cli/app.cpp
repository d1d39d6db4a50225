#include "cli/app.hpp"

#include <cstdio>
#include <exception>
#include <iostream>

#include <CLI/CLI.hpp>

#include "cli/commands.hpp"

namespace ibf::cli {
namespace {

constexpr const char* kFooter =
    "Every command takes --json and --socket. Nodes are named by description (or a part that fits one only), "
    "GUID, or\n"
    "LID (12, lid:12); NODE/N is a port. 'ibfabric COMMAND --help' shows options and examples.\n\n"
    "Exit codes: 0 fine, 1 a finding, 2 wrong usage, 3 no daemon (query: no subnet manager), 4 could not\n"
    "be done.\n\n"
    "Examples:\n"
    "  ibfabric status --wait-up 60\n"
    "  ibfabric path host-01 host-17\n"
    "  ibfabric plan fat-tree:radix=36,levels=3 --engine updn";

}  // namespace

int run(int argc, char** argv) {
    CLI::App app("Operate an InfiniBand fabric that ibfabricd manages", "ibfabric");
    Session session{false, default_socket()};
    Action chosen;
    app.set_version_flag("--version", "ibfabric " IBF_VERSION);
    app.set_help_all_flag("--help-all", "Help of every command");
    app.add_flag("--json", session.json, "JSON on standard output");
    app.add_option("--socket", session.socket, "The daemon's socket")
        ->type_name("PATH")
        ->envname("IBFABRIC_SOCKET")
        ->capture_default_str();
    app.require_subcommand(0, 1);  // 0: so that an unknown command is called by its name
    app.fallthrough();             // --json and --socket may follow the command
    app.footer(kFooter);
    add_control_commands(app, chosen);
    add_health_commands(app, chosen);
    add_list_commands(app, chosen);
    add_route_commands(app, chosen);
    add_drain_commands(app, chosen);
    add_whatif_command(app, chosen);
    add_sa_commands(app, chosen);
    add_query_command(app, chosen);
    add_export_command(app, chosen);
    add_plan_commands(app, chosen);
    add_probe_commands(app, chosen);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        const bool fine = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success);
        app.exit(error, std::cout, std::cerr);
        return static_cast<int>(fine ? Exit::ok : Exit::usage);
    }
    if (!chosen) {
        std::cerr << app.help();
        return static_cast<int>(Exit::usage);
    }
    try {
        return static_cast<int>(chosen(session));
    } catch (const std::exception& error) {
        complain(error.what());  // a reply of an unexpected shape, or out of memory
        return static_cast<int>(Exit::failed);
    }
}

}  // namespace ibf::cli
