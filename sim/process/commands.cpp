#include "sim/process/commands.hpp"

#include <array>
#include <string_view>

#include <fmt/format.h>

#include "base/words.hpp"
#include "sim/truth.hpp"
#include "sim/world.hpp"

namespace ibf::sim {
namespace {

constexpr const char* kHelp =
    "truth [tables|lanes]  the fabric as it is, as JSON; with the forwarding tables, or those of the lanes\n"
    "counters         what the simulator and the ports counted\n"
    "clients          the ports that programs have opened\n"
    "events NODE      what the driver of an adapter's port told its host, how often: PORT_ACTIVE and the "
    "like\n"
    "quit             end the simulation\n"
    "anything else is a fault that strikes at once, or after 'at TIME' from now:\n"
    "  link-down NODE/PORT     link-up NODE/PORT     flap NODE/PORT [count=N] [delay=TIME]\n"
    "  reboot NODE [delay=T]   dead NODE             alive NODE\n"
    "  remove-node NODE        add-node NODE         one-way NODE/PORT\n"
    "  drop|delay|duplicate|reorder|wrong-tid|error-status|slow-set NODE|* [attr=NAME] [method=Get|Set]\n"
    "      [count=N] [probability=P] [delay=TIME] [number=STATUS]\n"
    "  trap NODE[/PORT] number=N   mute-traps NODE   corrupt-node-info NODE\n"
    "  swap-cables NODE/PORT with=NODE/PORT          lft-entry NODE lid=LID number=PORT\n"
    "  lossy NODE/PORT probability=P                 throttle NODE/PORT probability=SHARE\n"
    "  adaptive-routing NODE   no-extended-counters NODE   redirect-perf NODE with=NODE number=QP\n";

constexpr std::array kTruths{std::pair{std::string_view{"truth"}, TruthTables::left_out},
                             std::pair{std::string_view{"truth tables"}, TruthTables::included},
                             std::pair{std::string_view{"truth lanes"}, TruthTables::lanes}};
constexpr std::array<std::string_view, 6> kCommands{"truth", "counters", "clients", "events", "help", "quit"};
constexpr std::string_view kEvents = "events ";
constexpr std::size_t kWordMax = 64;  // longer ones are not worth repeating

std::string counters_text(const Simulator& simulator, const ServerReport& report) {
    const SimCounters& counters = simulator.counters();
    std::string text =
        fmt::format("mads {}\nsets {}\ndelivered {}\nlost {}\nrule-breaks {}\nin-flight {}\ndropped {}\n",
                    counters.mads, counters.sets, counters.delivered, counters.lost, counters.rule_breaks,
                    simulator.in_flight(), report.dropped);
    for (const auto& [rule, count] : counters.by_rule) {
        text += fmt::format("rule {} {}\n", rule, count);
    }
    for (const auto& [kind, count] : counters.by_kind) {
        text += fmt::format("kind {} {}\n", kind, count);
    }
    return text;
}

std::string clients_text(const ServerReport& report) {
    std::string text = fmt::format("connections {}\n", report.connections);
    for (const ServerReport::Port& port : report.ports) {
        const PortLayerCounters& counters = port.counters;
        text += fmt::format(
            "port \"{}\"/{} connections {} agents {} is-sm {} sent {} handed-up {} timed-out {} late {} "
            "unclaimed {} refused {}\n",
            port.node, port.port, port.connections, port.agents, port.is_sm ? "yes" : "no", counters.sent,
            counters.handed_up, counters.timed_out, counters.late, counters.unclaimed, counters.refused);
    }
    return text;
}

std::string events_text(const PortEvents& events) {
    return fmt::format(
        "port-active {}\nport-error {}\nlid-change {}\nsm-change {}\nclient-reregister {}\npkey-change {}\n",
        events.active, events.error, events.lid_change, events.sm_change, events.client_reregister,
        events.pkey_change);
}

CommandAnswer failed(const std::string& what) {
    return {.text = "error: " + what + "\n", .quit = false};
}

/// Fault lines give times from the start of the simulation; a command means from now.
CommandAnswer strike(const std::string& line, Simulator& simulator, base::Instant now) {
    base::Result<std::vector<Fault>> faults = parse_faults(line, "command");
    if (!faults) {
        return failed(faults.error().message);
    }
    if (faults->empty()) {
        return {.text = "ok\n", .quit = false};
    }
    Fault& fault = faults->front();
    base::Result<void> result = simulator.check_target(fault);
    if (result && fault.at > base::Duration::zero()) {
        fault.at += now.time_since_epoch();
        simulator.schedule({fault});
    } else if (result) {
        result = simulator.inject(fault, now);
    }
    return result ? CommandAnswer{.text = "ok\n", .quit = false} : failed(result.error().message);
}

}  // namespace

CommandAnswer run_command(const std::string& line, Simulator& simulator, const ServerReport& report,
                          base::Instant now) {
    const std::string word = line.substr(0, line.find_last_not_of(" \t\r") + 1);
    if (word == "help") {
        return {.text = std::string(kHelp) + "ok\n", .quit = false};
    }
    for (const auto& [command, tables] : kTruths) {
        if (word == command) {
            return {.text = truth_json(simulator, tables) + "\nok\n", .quit = false};
        }
    }
    if (word == "counters") {
        return {.text = counters_text(simulator, report) + "ok\n", .quit = false};
    }
    if (word == "clients") {
        return {.text = clients_text(report) + "ok\n", .quit = false};
    }
    if (word.starts_with(kEvents)) {
        const base::Result<Simulator::Place> place = simulator.locate(word.substr(kEvents.size()), 0);
        if (!place) {
            return failed(place.error().message);
        }
        const Port& port = simulator.world().device(place->node).address_port(place->port);
        return {.text = events_text(port.events) + "ok\n", .quit = false};
    }
    if (word == "quit") {
        return {.text = "ok\n", .quit = true};
    }
    if (word.find_first_of(" \t#") == std::string::npos && !word.empty()) {
        return failed(fmt::format("unknown command '{}': did you mean '{}'? 'help' lists all",
                                  word.substr(0, kWordMax), base::nearest_word(word, kCommands)));
    }
    return strike(word, simulator, now);
}

}  // namespace ibf::sim
