// ibfabricd: subnet manager, subnet administration and API of one InfiniBand subnet.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>

#include <CLI/CLI.hpp>

#include "base/heap.hpp"
#include "base/log.hpp"
#include "daemon/shell/config_file.hpp"
#include "daemon/shell/daemon.hpp"
#include "routing/netlist.hpp"

namespace {

using namespace ibf;

struct Flags {
    std::string sim, sim_node, sim_faults, port, port_guid, config, state_dir, socket, log_level;
    bool once = false;
    bool check_config = false;
    bool dump_config = false;
};

constexpr const char* kExamples =
    "Examples:\n"
    "  ibfabricd                                   serve the first InfiniBand port, configuration from\n"
    "                                              /etc/ibfabric/ibfabricd.toml if it exists\n"
    "  ibfabricd --port mlx5_0/1 --once            bring the subnet up once and leave\n"
    "  ibfabricd --sim fat-tree:radix=8,levels=3 --state-dir /tmp/ibf --socket /tmp/ibf/sock\n"
    "  ibfabricd --sim fabric.topo.gz              a simulated copy of a real fabric\n"
    "  ibfabricd --config new.toml --check-config  is the file right?\n"
    "\n"
    "Exit codes: 0 clean stop, 1 --once found no subnet up, 2 cannot start (flags, files, socket).\n";

void declare(CLI::App& app, Flags& flags) {
    app.set_version_flag("--version", std::string("ibfabricd ") + IBF_VERSION);
    app.add_option("--sim", flags.sim,
                   "serve an embedded simulated fabric: a topology file (also .gz) or a generator, "
                   "such as fat-tree:radix=36,levels=3 (see 'ibfabric generate --help')")
        ->type_name("SPEC");
    app.add_option("--sim-node", flags.sim_node, "with --sim: the node that the SM runs on (name or GUID)")
        ->type_name("NODE");
    app.add_option("--sim-faults", flags.sim_faults, "with --sim: a fault script")
        ->type_name("FILE")
        ->check(CLI::ExistingFile);
    app.add_option("--port", flags.port, "local port, such as mlx5_0/1")->type_name("DEV/PORT");
    app.add_option("--port-guid", flags.port_guid, "local port by its port GUID")->type_name("GUID");
    app.add_option("--config", flags.config, "configuration file (TOML), see ibfabricd.conf(5)")
        ->type_name("PATH");
    app.add_option("--state-dir", flags.state_dir, "where ibfabric.db lies")->type_name("DIR");
    app.add_option("--socket", flags.socket, "unix socket of the API")->type_name("PATH");
    app.add_option("--log-level", flags.log_level, "trace, debug, info, warning, error or off")
        ->type_name("LEVEL");
    app.add_flag("--once", flags.once, "leave after the first sweep");
    app.add_flag("--check-config", flags.check_config, "check the configuration and leave");
    app.add_flag("--dump-config", flags.dump_config, "print the configuration in force and leave");
    app.footer(kExamples);
}

/// File first, then flags over it.
base::Result<shell::DaemonOptions> gather(const Flags& flags) {
    shell::DaemonOptions options;
    options.config_path = flags.config;
    if (flags.config.empty() && std::filesystem::exists(shell::kConfigPath)) {
        options.config_path = std::string(shell::kConfigPath);
    }
    if (!options.config_path.empty()) {
        auto loaded = shell::load_config(options.config_path);
        if (!loaded) {
            return tl::unexpected(loaded.error());
        }
        options.config = std::move(*loaded);
    }
    if (!flags.port.empty() && !flags.port_guid.empty()) {
        return base::fail(base::ErrorKind::usage,
                          "--port and --port-guid name the same thing: give one of them");
    }
    if (!flags.sim.empty() && (!flags.port.empty() || !flags.port_guid.empty())) {
        return base::fail(base::ErrorKind::usage,
                          "--sim has no local ports: use --sim-node instead of --port");
    }
    if (!flags.port.empty()) {
        const auto slash = flags.port.find('/');
        const std::string number = slash == std::string::npos ? "0" : flags.port.substr(slash + 1);
        constexpr int kPortMax = 254;
        if (slash == 0 || number.empty() || number.size() > 3 ||
            number.find_first_not_of("0123456789") != std::string::npos || std::stoi(number) > kPortMax) {
            return base::fail(base::ErrorKind::usage,
                              fmt::format("--port {}: expected DEVICE/PORT, such as mlx5_0/1", flags.port));
        }
        options.config.port = flags.port;
    }
    if (!flags.port_guid.empty()) {
        const auto guid = mad::parse_guid(flags.port_guid);
        if (!guid) {
            return base::fail(base::ErrorKind::usage, "--port-guid: " + guid.error().message);
        }
        options.config.port_guid = *guid;
    }
    if (!flags.log_level.empty()) {
        const auto level = base::parse_log_level(flags.log_level);
        if (!level) {
            return tl::unexpected(level.error());
        }
        options.config.log_level = *level;
    }
    options.config.state_dir = flags.state_dir.empty() ? options.config.state_dir : flags.state_dir;
    options.config.socket = flags.socket.empty() ? options.config.socket : flags.socket;
    options.sim_spec = flags.sim;
    options.sim_node = flags.sim_node;
    options.sim_faults = flags.sim_faults;
    options.once = flags.once;
    return options;
}

int run(int argc, char** argv) {
    CLI::App app{"ibfabricd: InfiniBand subnet manager"};
    Flags flags;
    declare(app, flags);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    auto options = gather(flags);
    if (!options) {
        std::fprintf(stderr, "ibfabricd: %s\n", options.error().message.c_str());
        return 2;
    }
    if (flags.dump_config) {
        std::fputs(shell::dump_config(options->config).c_str(), stdout);
        return 0;
    }
    if (flags.check_config) {
        std::printf("%s: fine\n",
                    options->config_path.empty() ? "built-in defaults" : options->config_path.c_str());
        return 0;
    }
    base::log_start(options->config.log_level);
    shell::Daemon daemon(std::move(*options));
    return daemon.run();
}

}  // namespace

int main(int argc, char** argv) {
    base::use_large_pages();
    try {
        return run(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "ibfabricd: %s\n", error.what());
        return 2;
    }
}
