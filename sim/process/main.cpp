// ibfabric-sim: a simulated InfiniBand fabric that unmodified libibumad programs can join.
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <fstream>
#include <sstream>

#include <CLI/CLI.hpp>

#include "base/log.hpp"
#include "routing/netlist.hpp"
#include "sim/process/control.hpp"
#include "sim/process/join.hpp"
#include "sim/process/server.hpp"

namespace {

using namespace ibf;

constexpr const char* kExamples =
    "Examples:\n"
    "  ibfabric-sim fat-tree:radix=8,levels=2 --socket /run/user/1000/fab\n"
    "  ibfabric-sim fabric.topo.gz --socket fab --faults script.txt --seed 7\n"
    "  ibfabric-sim ctl fab link-down spine-01/3       a cable pulled now\n"
    "  ibfabric-sim ctl fab truth                      the fabric as it is, as JSON\n"
    "  ibfabric-sim ctl fab help                       all commands\n"
    "  ibfabric-sim run fab host-0001 opensm -f log    an unmodified program on a node of it\n"
    "  ibfabric-sim run fab host-0007/1 saquery\n"
    "\n"
    "Exit codes: 0 clean stop, 2 cannot start or the command was refused; 'run': the program's own.\n";

struct Flags {
    std::string spec, socket, faults;
    std::uint64_t seed = 1;
    std::uint64_t hop_ns = 200;
    std::uint64_t agent_us = 2;
    std::string control_socket;
    std::vector<std::string> command;
    std::string join_socket, join_node;
};

int complain(const base::Error& error) {
    std::fprintf(stderr, "ibfabric-sim: %s\n", error.message.c_str());
    return 2;
}

void declare(CLI::App& app, Flags& flags) {
    app.set_version_flag("--version", std::string("ibfabric-sim ") + IBF_VERSION);
    app.add_option(
           "spec", flags.spec,
           "a topology file (also .gz) or a generator, such as fat-tree:radix=36,levels=3 (see 'ibfabric "
           "generate --help')")
        ->type_name("SPEC");
    app.add_option("--socket", flags.socket, "the unix socket to listen at")->type_name("PATH");
    app.add_option("--faults", flags.faults, "a fault script, timed from the start")
        ->type_name("FILE")
        ->check(CLI::ExistingFile);
    app.add_option("--seed", flags.seed, "of the faults' chance (1)")->type_name("N");
    app.add_option("--hop-ns", flags.hop_ns, "time to cross a link and a switch, nanoseconds (200)")
        ->type_name("N")
        ->check(CLI::Range(0, 1'000'000'000));
    app.add_option("--agent-us", flags.agent_us, "time a device's agent takes for a MAD, microseconds (2)")
        ->type_name("N")
        ->check(CLI::Range(0, 60'000'000));
    CLI::App* control = app.add_subcommand("ctl", "give a running simulation a command");
    control->add_option("socket", flags.control_socket, "its --socket")->required()->type_name("PATH");
    control->add_option("command", flags.command, "the command and its words; 'help' lists them")->required();
    CLI::App* join = app.add_subcommand("run", "run an unmodified libibumad program on a node");
    join->add_option("socket", flags.join_socket, "the simulation's --socket")->required()->type_name("PATH");
    join->add_option("node", flags.join_node,
                     "description, id or GUID, or NODE/PORT; '' for the first adapter")
        ->required()
        ->type_name("NODE");
    join->prefix_command();
    app.footer(kExamples);
}

base::Result<std::unique_ptr<sim::Simulator>> make_simulator(const Flags& flags) {
    base::Result<routing::Netlist> netlist = routing::netlist_from_spec(flags.spec);
    if (!netlist) {
        return tl::unexpected<base::Error>(netlist.error());
    }
    sim::SimOptions options;
    options.seed = flags.seed;
    options.hop_delay = std::chrono::nanoseconds{flags.hop_ns};
    options.agent_delay = std::chrono::microseconds{flags.agent_us};
    auto simulator = std::make_unique<sim::Simulator>(std::move(*netlist), options);
    if (!flags.faults.empty()) {
        std::ostringstream text;
        text << std::ifstream(flags.faults).rdbuf();
        const base::Result<std::vector<sim::Fault>> faults = sim::parse_faults(text.str(), flags.faults);
        if (!faults) {
            return tl::unexpected<base::Error>(faults.error());
        }
        for (const sim::Fault& fault : *faults) {
            if (const base::Result<void> known = simulator->check_target(fault); !known) {
                return tl::unexpected<base::Error>(known.error());
            }
        }
        simulator->schedule(*faults);
    }
    return simulator;
}

/// SIGINT and SIGTERM as a descriptor.
sim::Descriptor stop_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    return sim::Descriptor(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
}

int serve(const Flags& flags) {
    const sim::Descriptor stop = stop_signals();
    base::Result<std::unique_ptr<sim::Simulator>> simulator = make_simulator(flags);
    if (!simulator) {
        return complain(simulator.error());
    }
    base::Result<sim::Descriptor> listener = sim::listen_at(flags.socket);
    if (!listener) {
        return complain(listener.error());
    }
    const std::size_t nodes = (*simulator)->netlist().nodes.size();
    sim::Server server(std::move(*simulator), std::move(*listener));
    std::printf("ibfabric-sim: %zu nodes at %s\n", nodes, flags.socket.c_str());
    std::fflush(stdout);
    server.serve(stop);
    ::unlink(flags.socket.c_str());
    return 0;
}

int run(int argc, char** argv) {
    CLI::App app{"ibfabric-sim: a simulated InfiniBand fabric that libibumad programs can join"};
    Flags flags;
    declare(app, flags);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    if (app.got_subcommand("ctl")) {
        const base::Result<std::string> answer = sim::give_command(flags.control_socket, flags.command);
        if (!answer) {
            return complain(answer.error());
        }
        std::fwrite(answer->data(), 1, answer->size(), stdout);
        return 0;
    }
    if (CLI::App* join = app.get_subcommand("run"); join->parsed()) {
        return complain(sim::run_program(flags.join_socket, flags.join_node, join->remaining()));
    }
    if (flags.spec.empty() || flags.socket.empty()) {
        return complain({.kind = base::ErrorKind::usage,
                         .message = "give SPEC and --socket PATH, or 'ctl PATH COMMAND' (see --help)"});
    }
    return serve(flags);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        base::log_start(base::LogLevel::info);
        return run(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "ibfabric-sim: %s\n", error.what());
        return 2;
    }
}
