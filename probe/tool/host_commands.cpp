// devices, check, explain: nothing is sent.
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/words.hpp"
#include "probe/agent/remote_endpoint.hpp"
#include "probe/lossless.hpp"
#include "probe/port_counters.hpp"
#include "probe/tool/commands.hpp"
#include "probe/tool/ports.hpp"
#include "probe/tool/text_table.hpp"

namespace ibf::probe::tool {
namespace {

using base::Result;

// ---- devices

Result<std::vector<PortDescription>> ports_at(const std::string& host, const Access& access) {
    if (host.empty()) {
        return describe_ports();
    }
    const auto where = net::parse_host_port(host, kAgentPort);
    if (!where) {
        return tl::unexpected(where.error());
    }
    const auto tls = open_access(access);
    if (!tls) {
        return tl::unexpected(tls.error());
    }
    const auto remote = connect_agent(*where, *tls, "devices");
    if (!remote) {
        return tl::unexpected(remote.error());
    }
    auto description = (*remote)->describe();
    if (description && !description->trouble.empty()) {
        return base::fail(base::ErrorKind::unavailable, fmt::format("{}: {}", host, description->trouble));
    }
    return description.map([](Description& told) { return std::move(told.ports); });
}

std::string devices_text(const std::vector<PortDescription>& ports) {
    TextTable table({"port", "link", "state", "rate", "mtu", "lid", "gid"}, 3);
    std::string problems;
    for (const PortDescription& port : ports) {
        const std::string name = fmt::format("{}/{}", printable(port.device), port.port);
        table.add({name, std::string(to_string(port.layer)), printable(port.state),
                   port.bits_per_second == 0
                       ? "-"
                       : fmt::format("{:g}G", static_cast<double>(port.bits_per_second) / 1e9),
                   fmt::format("{}", port.mtu_bytes), fmt::format("{}", port.lid),
                   port.gids.empty() ? "-" : ""});
        for (const GidEntry& gid : port.gids) {
            table.add({"", "", "", "", "", "",
                       fmt::format("{}: {} ({})", gid.index, printable(gid.gid), printable(gid.type))});
        }
        if (!port.problem.empty()) {
            problems += fmt::format("{}: {}\n", name, printable(port.problem));
        }
    }
    return table.text() + problems;
}

Exit run_devices(const std::string& host, const Access& access, bool json) {
    const auto ports = ports_at(host, access);
    if (!ports) {
        return failure(ports.error());
    }
    Json rows = Json::array();
    for (const PortDescription& port : *ports) {
        rows.push_back(json_of(port));
    }
    return print(json ? rows.dump(2) + "\n" : devices_text(*ports), Exit::ok);
}

void add_devices(CLI::App& app, const bool& json, Action& chosen) {
    struct Flags {
        std::string host;
        Access access;
    };
    const auto flags = std::make_shared<Flags>();
    CLI::App* devices =
        app.add_subcommand("devices", "RDMA ports of this host, or of one where an agent runs");
    devices->add_option("HOST", flags->host, "Ask the agent there: HOST[:PORT]");
    add_access_options(*devices, flags->access);
    devices->footer(
        "Examples:\n  ibfabric-probe devices\n  ibfabric-probe devices host-17 --key probe.key --json");
    devices->callback([flags, &json, &chosen] {
        chosen = [flags, &json] { return run_devices(flags->host, flags->access, json); };
    });
}

// ---- check

constexpr const char* state_word(LosslessState state) {
    switch (state) {
        case LosslessState::right: return "right";
        case LosslessState::wrong: return "wrong";
        case LosslessState::unseen: return "unseen";
    }
    return "?";
}

Exit run_check(unsigned priority, bool json) {
    const auto ports = verbs::describe();
    if (!ports) {
        return failure(ports.error());
    }
    Rows rows = Rows::array();
    std::string text;
    bool is_wrong = false;
    for (const verbs::PortDescription& port : *ports) {
        if (port.port == 0) {
            continue;
        }
        for (const LosslessFinding& finding :
             check_lossless({port.device, port.port, port.mtu_bytes, static_cast<std::uint8_t>(priority)})) {
            is_wrong = is_wrong || finding.state == LosslessState::wrong;
            rows.push_back({{"device", port.device},
                            {"port", port.port},
                            {"what", finding.what},
                            {"state", state_word(finding.state)},
                            {"text", finding.text}});
            text += fmt::format("{}/{}  {:<6}  {}: {}\n", printable(port.device), port.port,
                                state_word(finding.state), finding.what, printable(finding.text));
        }
    }
    if (rows.empty()) {
        text = "no RoCE port here: InfiniBand links lose nothing by themselves\n";
    }
    return print(json ? rows.dump(2) + "\n" : text, is_wrong ? Exit::finding : Exit::ok);
}

void add_check(CLI::App& app, const bool& json, Action& chosen) {
    const auto priority = std::make_shared<unsigned>(0);
    CLI::App* check =
        app.add_subcommand("check", "Are this host's RoCE ports set up to lose nothing? (MTU, ECN, PFC)");
    check->add_option("--priority", *priority, "802.1p class that the traffic uses")
        ->check(CLI::Range(0U, 7U))
        ->capture_default_str();
    check->footer(
        "Exit code 1 if a setting looks wrong. Switches are not looked at.\n\n"
        "Examples:\n  ibfabric-probe check --priority 3");
    check->callback(
        [priority, &json, &chosen] { chosen = [priority, &json] { return run_check(*priority, json); }; });
}

// ---- explain

Exit run_explain(const std::string& counter, bool json) {
    Rows rows = Rows::object();
    std::string text;
    const auto add = [&](std::string_view name, std::string_view sentence) {
        rows[std::string(name)] = sentence;
        text += fmt::format("{}\n    {}\n", name, sentence);
    };
    if (counter.empty()) {
        for (const CounterMeaning& meaning : counter_meanings()) {
            add(meaning.name, meaning.sentence);
        }
    } else if (const auto sentence = explain(counter)) {
        add(counter, *sentence);
    } else {
        std::vector<std::string_view> names;
        for (const CounterMeaning& meaning : counter_meanings()) {
            names.push_back(meaning.name);
        }
        return failure({base::ErrorKind::not_found,
                        fmt::format("{} is no counter that is known; did you mean {}?", base::quote(counter),
                                    base::nearest_word(counter, names))});
    }
    return print(json ? rows.dump(2) + "\n" : text, Exit::ok);
}

void add_explain(CLI::App& app, const bool& json, Action& chosen) {
    const auto counter = std::make_shared<std::string>();
    CLI::App* command =
        app.add_subcommand("explain", "What a port's counter means; without a name, all of them");
    command->add_option("COUNTER", *counter, "As below /sys/class/infiniband/DEVICE/ports/N");
    command->footer("Examples:\n  ibfabric-probe explain out_of_sequence\n  ibfabric-probe explain --json");
    command->callback(
        [counter, &json, &chosen] { chosen = [counter, &json] { return run_explain(*counter, json); }; });
}

}  // namespace

void add_host_commands(CLI::App& app, const bool& json, Action& chosen) {
    add_devices(app, json, chosen);
    add_check(app, json, chosen);
    add_explain(app, json, chosen);
}

}  // namespace ibf::probe::tool
