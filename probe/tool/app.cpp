#include <exception>
#include <iostream>

#include <CLI/CLI.hpp>

#include "probe/tool/commands.hpp"

namespace ibf::probe::tool {
namespace {

constexpr const char* kToolFooter =
    "A test has two sides: this host, and one where 'ibfabric-probe agent' runs. Both hold the same key "
    "file, or\n"
    "certificates of one CA. 'ibfabric-probe COMMAND --help' shows options and examples. To send over every "
    "link\n"
    "between switches, and to prove the ways, is 'ibfabric probe run'.\n\n"
    "Exit codes: 0 fine, 1 the test failed (errors, corruption, losses), 2 wrong usage, 3 nobody answers (no "
    "agent,\n"
    "no device), 4 could not be done (busy, refused, connection lost).\n\n"
    "Examples:\n"
    "  ibfabric-probe key probe.key            # then copy it to the other host\n"
    "  ibfabric-probe agent --key probe.key    # on host-17\n"
    "  ibfabric-probe ping host-17 --key probe.key\n"
    "  ibfabric-probe write host-17 --key probe.key --sweep 1:1M --json";

}  // namespace

int run(int argc, const char* const* argv) {
    CLI::App app("Send real RDMA traffic between two hosts, and tell what became of it", "ibfabric-probe");
    bool json = false;
    Action chosen;
    app.set_version_flag("--version", "ibfabric-probe " IBF_VERSION);
    app.set_help_all_flag("--help-all", "Help of every command");
    app.add_flag("--json", json, "JSON on standard output");
    app.require_subcommand(0, 1);
    app.fallthrough();
    app.footer(kToolFooter);
    add_test_commands(app, json, chosen);
    add_host_commands(app, json, chosen);
    add_path_command(app, json, chosen);
    add_agent_commands(app, chosen);
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
        return static_cast<int>(chosen());
    } catch (const std::exception& error) {
        complain(error.what());  // out of memory, or no thread to be had
        return static_cast<int>(Exit::failed);
    }
}

}  // namespace ibf::probe::tool
