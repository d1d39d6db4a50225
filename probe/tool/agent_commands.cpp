// agent, key: what lends this host to tests.
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/log.hpp"
#include "probe/agent/agent.hpp"
#include "probe/agent/config.hpp"
#include "probe/sa_asker.hpp"
#include "probe/tool/commands.hpp"
#include "probe/tool/ports.hpp"
#include "probe/verbs/endpoint.hpp"

namespace ibf::probe::tool {
namespace {

using base::Result;

struct AgentFlags {
    std::string config;
    std::string listen;
    std::string log_level = "info";
    Access access;
};

std::string host_name() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "a host without a name";
}

/// The file, and what flags say over it.
Result<AgentConfig> configured(const AgentFlags& flags) {
    const bool is_there = ::access(kAgentConfigFile, F_OK) == 0;
    auto config = !flags.config.empty() ? read_agent_config(flags.config)
                  : is_there            ? read_agent_config(kAgentConfigFile)
                                        : Result<AgentConfig>(AgentConfig{});
    if (!config) {
        return config;
    }
    if (!flags.listen.empty()) {
        const auto where = net::parse_host_port(flags.listen, kAgentPort);
        if (!where) {
            return tl::unexpected(where.error());
        }
        config->terms.listen = *where;
    }
    const Access& access = flags.access;
    if (!access.key.empty() || !access.ca.empty() || !access.certificate.empty() ||
        !access.certificate_key.empty()) {
        config->key = access.key;
        config->ca = access.ca;
        config->certificate = access.certificate;
        config->certificate_key = access.certificate_key;
    }
    return config;
}

Exit run_agent(const AgentFlags& flags) {
    const auto level = base::parse_log_level(flags.log_level);
    if (!level) {
        return failure(level.error());
    }
    auto config = configured(flags);
    if (!config) {
        const Exit exit = failure(config.error());
        return config.error().kind == base::ErrorKind::parse ? Exit::usage : exit;
    }
    if (!config->terms.names.empty() && config->ca.empty() && config->certificate.empty()) {
        return failure(
            base::Error{base::ErrorKind::usage,
                        "names are those of certificates, and with a key nobody has one: leave out "
                        "names, or give ca, certificate and certificate_key"});
    }
    const auto tls = open_access({config->key, config->ca, config->certificate, config->certificate_key});
    if (!tls) {
        return failure(tls.error());
    }
    base::log_start(*level);
    const std::string host = host_name();
    const std::string where = config->terms.listen.host.empty() ? "all addresses" : config->terms.listen.host;
    const std::uint32_t seconds = config->terms.limits.seconds;
    const AskPath ask = asking_by(std::make_shared<SaAsker>());
    auto agent = Agent::start(std::move(config->terms), *tls,
                              {.name = host,
                               .program = IBF_VERSION,
                               .make_endpoint = [host, ask] { return make_verbs_endpoint(host, ask); },
                               .describe = describe_ports});
    if (!agent) {
        return failure(agent.error());
    }
    const Interrupts interrupts([&agent] { (*agent)->stop(); });
    base::log(base::LogLevel::info, "listening at {}, port {}; runs of at most {} s", where, (*agent)->port(),
              seconds);
    ::sd_notify(0, "READY=1");
    (*agent)->serve();
    ::sd_notify(0, "STOPPING=1");
    base::log(base::LogLevel::info, "ended");
    return Exit::ok;
}

void add_agent(CLI::App& app, Action& chosen) {
    const auto flags = std::make_shared<AgentFlags>();
    CLI::App* agent = app.add_subcommand("agent", "Lend this host to tests of others, within limits");
    agent
        ->add_option("--config", flags->config,
                     fmt::format("Configuration (default: {} if it is there)", kAgentConfigFile))
        ->type_name("FILE");
    agent
        ->add_option("--listen", flags->listen,
                     fmt::format("Address and port (default: all addresses, port {})", kAgentPort))
        ->type_name("HOST[:PORT]");
    agent->add_option("--log-level", flags->log_level, "trace, debug, info, warning, error, off")
        ->capture_default_str();
    add_access_options(*agent, flags->access);
    agent->footer(
        "Runs until SIGTERM, one test at a time. Who may come and how much they may ask for stands in the\n"
        "configuration (ibfabric-probe(1)); as a service: systemctl enable --now ibfabric-probe\n\n"
        "Examples:\n  ibfabric-probe agent --key probe.key\n"
        "  ibfabric-probe agent --listen 10.0.0.17 --ca ca.crt --cert host-17.crt --cert-key host-17.key");
    agent->callback([flags, &chosen] { chosen = [flags] { return run_agent(*flags); }; });
}

void add_key(CLI::App& app, Action& chosen) {
    const auto path = std::make_shared<std::string>();
    CLI::App* key = app.add_subcommand("key", "Make a key that both sides of a test can hold");
    key->add_option("FILE", *path, "Must not be there yet")->required();
    key->footer(
        "Copy it to every host by a way that others cannot read, and keep it at mode 0600.\n\n"
        "Examples:\n  ibfabric-probe key /etc/ibfabric/probe.key\n  ibfabric-probe key probe.key && scp -p "
        "probe.key host-17:");
    key->callback([path, &chosen] {
        chosen = [path] {
            const auto made = net::make_shared_key(*path);
            return made ? Exit::ok : failure(made.error());
        };
    });
}

}  // namespace

void add_agent_commands(CLI::App& app, Action& chosen) {
    add_agent(app, chosen);
    add_key(app, chosen);
}

}  // namespace ibf::probe::tool
