// drain, undrain.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/client.hpp"
#include "cli/commands.hpp"
#include "cli/table.hpp"

namespace ibf::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLook{200};
constexpr std::chrono::minutes kLooksFor{10};

struct DrainOptions {
    std::string element;
    bool force = false;
    bool wait = false;
};

/// What an operator who stands before it has to know.
std::string drain_remark(const Json& row) {
    const std::string state = row.value("state", "");
    if (state == "swapped") {
        return fmt::format("{} ({}) is in its place", field_text(row["substitute"], "name"),
                           field_text(row["substitute"], "guid"));
    }
    if (state == "standby") {
        return "another SM routes; it holds when this one is master";
    }
    if (const std::size_t hosts = row["hosts"].size(); hosts > 0) {
        return fmt::format("{} no other way",
                           hosts == 1 ? "1 host has" : fmt::format("{} hosts have", hosts));
    }
    if (state == "draining") {
        return "tables are being written";
    }
    if (state == "away") {
        return "it is out; it stays drained when it comes back";
    }
    const bool is_cable = !row.value("port", Json()).is_null();
    return is_cable && !row["spared_ports"].empty() ? "without it the fabric falls apart" : "";
}

std::string list_text(const Json& answer) {
    std::string out;
    if (answer["drained"].empty()) {
        out = "nothing is drained\n";
    } else {
        out = render_table(answer["drained"], {{"ELEMENT", &element_text, Align::left},
                                               text_column("STATE", "state"),
                                               text_column("SINCE", "since"),
                                               {"REMARK", &drain_remark, Align::left}});
    }
    if (const std::size_t left = answer["undraining"].size(); left > 0) {
        out +=
            fmt::format("{} undrained, not yet in the tables\n", counted(left, "element is", "elements are"));
    }
    return out;
}

Exit list_drains(const Session& session) {
    const auto answer = Client(session.socket).get_json("/v1/drain", {});
    return answer ? show(session, *answer, list_text(*answer), Exit::ok) : failure(answer.error());
}

/// The row of an element in a list; null where it is not.
Json row_of(const Json& rows, const Json& element) {
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const Json& row) {
        return row["guid"] == element["guid"] && row["port"] == element["port"];
    });
    return found == rows.end() ? Json() : *found;
}

/// Its row once the tables heed it; null while they do not.
Json when_drained(const Json& list, const Json& element) {
    Json row = row_of(list["drained"], element);
    return row.is_null() || row.value("state", "") == "draining" ? Json() : row;
}

/// The element once no table keeps off it any more.
Json when_undrained(const Json& list, const Json& element) {
    const bool over =
        row_of(list["drained"], element).is_null() && row_of(list["undraining"], element).is_null();
    return over ? element : Json();
}

base::Result<Json> wait_for(const Client& client, const Json& element,
                            Json (*when)(const Json& list, const Json& element)) {
    const auto end = Clock::now() + kLooksFor;
    while (Clock::now() < end) {
        const auto list = client.get_json("/v1/drain", {});
        if (!list) {
            return list;
        }
        if (Json row = when(*list, element); !row.is_null()) {
            progress("");
            return row;
        }
        progress(fmt::format("{}: tables are being written ...", element_text(element)));
        std::this_thread::sleep_for(kLook);
    }
    return base::fail(base::ErrorKind::refused,
                      fmt::format("not in force after {} minutes: see 'ibfabric status'", kLooksFor.count()));
}

Exit run_drain(const DrainOptions& options, const Session& session) {
    if (options.element.empty()) {
        return list_drains(session);
    }
    const Client client(session.socket);
    auto answer = client.post_json("/v1/drain",
                                   {{"element", options.element}, {"force", options.force ? "yes" : "no"}});
    if (answer && options.wait) {
        answer = wait_for(client, *answer, &when_drained);
    }
    if (!answer) {
        return failure(answer.error());
    }
    if (!options.wait) {
        return show(session, *answer,
                    fmt::format("{}: drain asked for; 'ibfabric drain' tells when traffic has left it\n",
                                element_text(*answer)),
                    Exit::ok);
    }
    const std::string left = drain_remark(*answer);
    return show(session, *answer,
                fmt::format("{}: drained; {}\n", element_text(*answer),
                            left.empty() ? "no way between hosts leads over it" : left),
                left.empty() ? Exit::ok : Exit::finding);
}

Exit run_undrain(const DrainOptions& options, const Session& session) {
    const Client client(session.socket);
    auto answer = client.post_json("/v1/undrain", {{"element", options.element}});
    if (answer && options.wait) {
        answer = wait_for(client, *answer, &when_undrained);
    }
    if (!answer) {
        return failure(answer.error());
    }
    return show(session, *answer,
                fmt::format("{}: {}\n", element_text(*answer),
                            options.wait ? "undrained; routes may use it" : "undrain asked for"),
                Exit::ok);
}

}  // namespace

void add_drain_commands(CLI::App& app, Action& chosen) {
    const auto options = std::make_shared<DrainOptions>();

    CLI::App* drain =
        app.add_subcommand("drain", "Route around a switch or cable before service; alone: list");
    drain->add_option(
        "ELEMENT", options->element,
        "Switch (name, GUID, LID) or cable (SWITCH/PORT, or an adapter); none: what is drained");
    drain->add_flag("--force", options->force, "Also where hosts have no other way: what has one is moved");
    drain->add_flag("--wait", options->wait, "Until the tables are in force");
    drain->footer(
        "It stays up, reachable and drained, over restarts and its own absence, until 'ibfabric undrain'.\n"
        "Exit code 1 if it is refused, or if with --wait something is left that has no other way.\n\n"
        "Examples:\n  ibfabric whatif down spine-01\n  ibfabric drain spine-01 --wait && replace-the-fan\n"
        "  ibfabric drain leaf-01/17\n  ibfabric drain");
    drain->callback([options, &chosen] {
        chosen = [options](const Session& session) { return run_drain(*options, session); };
    });

    CLI::App* undrain = app.add_subcommand("undrain", "Put a drained switch or cable back to use");
    undrain->add_option("ELEMENT", options->element, "As 'ibfabric drain' lists it")->required();
    undrain->add_flag("--wait", options->wait, "Until the tables are in force");
    undrain->footer(
        "Paths that are good stay where they are: traffic comes back as routes are balanced anew.\n\n"
        "Example:\n  ibfabric undrain spine-01");
    undrain->callback([options, &chosen] {
        chosen = [options](const Session& session) { return run_undrain(*options, session); };
    });
}

}  // namespace ibf::cli
