// nodes, switches, hosts, ports, links, lids, isolated, events, sweeps: one table each.
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/client.hpp"
#include "cli/commands.hpp"
#include "cli/table.hpp"

namespace ibf::cli {
namespace {

/// "4x NDR 400G", "-" for a port without a link.
std::string rate_text(const Json& row) {
    if (!row.contains("rate_gbps")) {
        return "-";
    }
    return fmt::format("{} {} {:g}G", field_text(row, "width"), field_text(row, "speed"),
                       row["rate_gbps"].get<double>());
}

/// What both ends of a link that runs below it could do.
std::string possible_text(const Json& row) {
    return row.contains("could") ? field_text(row, "could") : "-";
}

/// What the operator would have of it.
std::string use_text(const Json& row) {
    return row.value("drained", false) ? "drained" : "-";
}

Column rate_column() {
    return {"RATE", &rate_text, Align::left};
}

/// What a list command shows and how it is narrowed down.
struct ListCommand {
    const char* name;
    const char* about;
    const char* path;
    const char* key;
    std::vector<Column> columns;
    const char* example;
};

struct ListOptions {
    std::string match;
    std::string node;
    std::string show;
    std::string kind;
    std::uint64_t limit = 0;
};

Exit run_list(const ListCommand& command, const ListOptions& options, const Session& session) {
    const Client client(session.socket);
    const Params params{{"match", options.match},
                        {"node", options.node},
                        {"show", options.show},
                        {"kind", options.kind},
                        {"limit", options.limit == 0 ? std::string{} : std::to_string(options.limit)}};
    if (session.json) {
        const auto done =
            client.get(command.path, params, [](std::string_view piece) { return print(piece); });
        return done ? Exit::ok : failure(done.error());
    }
    const auto answer = client.get_json(command.path, params);
    if (!answer) {
        return failure(answer.error());
    }
    const Json& rows = (*answer)[command.key];
    if (rows.empty()) {
        const auto done = print("none\n");
        return done ? Exit::ok : failure(done.error());
    }
    const auto done = print(render_table(rows, command.columns));
    return done ? Exit::ok : failure(done.error());
}

std::vector<ListCommand> commands_of_the_fabric() {
    return {
        {"nodes",
         "Every node: switches, adapters, routers",
         "/v1/nodes",
         "nodes",
         {text_column("NAME", "name"), text_column("GUID", "guid"), text_column("TYPE", "type"),
          number_column("LID", "lid"), number_column("PORTS", "ports"), number_column("LINKED", "linked")},
         "ibfabric nodes --match leaf"},
        {"switches",
         "Switches, with their tables' sizes",
         "/v1/switches",
         "switches",
         {text_column("NAME", "name"), text_column("GUID", "guid"), number_column("LID", "lid"),
          number_column("PORTS", "ports"), number_column("LINKED", "linked"), number_column("HOSTS", "hosts"),
          number_column("FDB TOP", "linear_fdb_top"), number_column("FDB CAP", "linear_fdb_cap")},
         "ibfabric switches --json | jq '.switches[].name'"},
        {"hosts",
         "Adapter and router ports, and where they are plugged in",
         "/v1/hosts",
         "hosts",
         {text_column("NAME", "name"), number_column("PORT", "port"), text_column("PORT GUID", "port_guid"),
          number_column("LID", "lid"), text_column("STATE", "state"), rate_column(),
          end_column("SWITCH", "peer", "peer_port")},
         "ibfabric hosts --match gpu-07"},
        {"ports",
         "Ports with state, rate and peer",
         "/v1/ports",
         "ports",
         {text_column("NODE", "node"), number_column("PORT", "port"), text_column("STATE", "state"),
          text_column("PHYS", "phys_state"), rate_column(), number_column("MTU", "mtu"),
          number_column("LID", "lid"), end_column("PEER", "peer", "peer_port")},
         "ibfabric ports --node leaf-01 --show down"},
        {"links",
         "Cables, each once",
         "/v1/links",
         "links",
         {end_column("FROM", "a", "a_port"),
          end_column("TO", "b", "b_port"),
          text_column("STATE", "state"),
          rate_column(),
          {"COULD", &possible_text, Align::left},
          number_column("MTU", "mtu"),
          {"USE", &use_text, Align::left}},
         "ibfabric links --show slow"},
        {"lids",
         "Who owns which LID",
         "/v1/lids",
         "lids",
         {number_column("LID", "lid"), number_column("LAST", "last"), text_column("OWNER", "owner"),
          text_column("TYPE", "type"), number_column("PORT", "port"), text_column("NODE", "node")},
         "ibfabric lids | head"},
        {"isolated",
         "What is connected but left out of the subnet, and why",
         "/v1/isolated",
         "isolated",
         {text_column("REASON", "reason"), text_column("GUID", "guid"), end_column("AT", "at", "at_port"),
          text_column("WHY", "text")},
         "ibfabric isolated"},
    };
}

std::vector<ListCommand> commands_of_the_record() {
    return {
        {"events",
         "What happened, newest first",
         "/v1/events",
         "events",
         {text_column("TIME", "time"), text_column("LEVEL", "severity"), text_column("KIND", "kind"),
          text_column("TEXT", "text")},
         "ibfabric events --limit 20 --kind link-down"},
        {"sweeps",
         "Sweeps, newest first, with time and MADs",
         "/v1/sweeps",
         "sweeps",
         {number_column("ID", "id"),
          text_column("STARTED", "started"),
          text_column("SCOPE", "scope"),
          {"TIME", [](const Json& row) { return seconds_text(row.value("seconds", 0.0)); }, Align::right},
          number_column("MADS", "mads"),
          number_column("TIMEOUTS", "timeouts"),
          number_column("LFT BLOCKS", "lft_blocks_written"),
          text_column("OUTCOME", "outcome")},
         "ibfabric sweeps --limit 5"},
    };
}

std::vector<ListCommand> list_commands() {
    std::vector<ListCommand> all = commands_of_the_fabric();
    const std::vector<ListCommand> record = commands_of_the_record();
    all.insert(all.end(), record.begin(), record.end());
    return all;
}

/// The filters that make sense for a command, by what its endpoint takes.
void add_filters(CLI::App& sub, const std::string& name, ListOptions& options) {
    const bool by_node = name == "ports" || name == "links";
    if (name == "events" || name == "sweeps") {
        sub.add_option("--limit", options.limit, "At most so many rows")->check(CLI::Range(1, 100'000));
    }
    if (name == "events") {
        sub.add_option("--kind", options.kind, "Only events of this kind, e.g. link-down");
    }
    if (name != "events" && name != "sweeps" && name != "isolated") {
        sub.add_option("--match", options.match, "Only nodes whose name or GUID contains TEXT")
            ->type_name("TEXT");
    }
    if (by_node) {
        sub.add_option("--node", options.node,
                       "Only this node (name, GUID or LID; /N at the end picks a port)")
            ->type_name("NODE");
        const std::vector<std::string> choices =
            name == "ports"
                ? std::vector<std::string>{"all", "linked", "down", "inactive"}
                : std::vector<std::string>{"all", "switches", "hosts", "inactive", "slow", "drained"};
        sub.add_option("--show", options.show, "Which of them")->check(CLI::IsMember(choices));
    }
}

}  // namespace

void add_list_commands(CLI::App& app, Action& chosen) {
    for (ListCommand& command : list_commands()) {
        CLI::App* sub = app.add_subcommand(command.name, command.about);
        sub->footer(fmt::format("Example:\n  {}", command.example));
        const auto options = std::make_shared<ListOptions>();
        add_filters(*sub, command.name, *options);
        sub->callback([command = std::move(command), options, &chosen] {
            chosen = [command, options](const Session& session) {
                return run_list(command, *options, session);
            };
        });
    }
}

}  // namespace ibf::cli
