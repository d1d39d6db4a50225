// health, resume.
#include <memory>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/client.hpp"
#include "cli/commands.hpp"
#include "cli/table.hpp"

namespace ibf::cli {
namespace {

std::string end_text(const Json& row, const char* node, const char* port) {
    return row.contains(port) ? fmt::format("{}/{}", field_text(row, node), field_text(row, port)) : "-";
}

/// What was done, and what policy would have done if it could.
std::string action_text(const Json& row) {
    const std::string done = field_text(row, "done");
    return row.value("why_not", "").empty()
               ? done
               : fmt::format("{} (not {}: {})", done, field_text(row, "wanted"), field_text(row, "why_not"));
}

std::string health_text(const Json& answer) {
    const Json& rows = answer["health"];
    if (rows.empty()) {
        return "all ports are well\n";
    }
    const std::vector<Column> columns{
        {"PORT", [](const Json& row) { return end_text(row, "node", "port"); }, Align::left},
        {"PEER", [](const Json& row) { return end_text(row, "peer", "peer_port"); }, Align::left},
        text_column("RULE", "rule"),
        number_column("COUNT", "count"),
        text_column("SINCE", "since"),
        {"NOT BEFORE",
         [](const Json& row) {
             return row.value("until", "").empty() ? "--clear" : field_text(row, "until");
         },
         Align::left},
        {"DONE", &action_text, Align::left}};
    return render_table(rows, columns);
}

struct HealthOptions {
    std::string set;
    std::string clear;
};

Exit run_health(const HealthOptions& options, const Session& session) {
    const Client client(session.socket);
    if (options.set.empty() && options.clear.empty()) {
        const auto answer = client.get_json("/v1/health", {});
        if (!answer) {
            return failure(answer.error());
        }
        const auto done =
            print(session.json ? answer->dump(2, ' ', false, Json::error_handler_t::replace) + "\n"
                               : health_text(*answer));
        return !done ? failure(done.error()) : (*answer)["health"].empty() ? Exit::ok : Exit::finding;
    }
    const bool sets = !options.set.empty();
    const auto answer = client.post_json(sets ? "/v1/health/set" : "/v1/health/clear",
                                         {{"port", sets ? options.set : options.clear}});
    if (!answer) {
        return failure(answer.error());
    }
    const auto done =
        print(session.json ? answer->dump(2) + "\n"
                           : fmt::format("{}: {} asked for; 'ibfabric health' shows what came of it\n",
                                         sets ? options.set : options.clear, sets ? "set" : "clear"));
    return done ? Exit::ok : failure(done.error());
}

Exit run_resume(const Session& session) {
    const auto answer = Client(session.socket).post_json("/v1/resume", {});
    if (!answer) {
        return failure(answer.error());
    }
    const auto done =
        print(session.json ? answer->dump(2) + "\n"
                           : "resumed: the fabric is looked at and set up; 'ibfabric status' follows it\n");
    return done ? Exit::ok : failure(done.error());
}

}  // namespace

void add_health_commands(CLI::App& app, Action& chosen) {
    const auto options = std::make_shared<HealthOptions>();
    CLI::App* health =
        app.add_subcommand("health", "Ports that are ill: by which rule, since when, what was done");
    auto* set = health->add_option("--set", options->set, "This port is ill, until --clear (NODE/N)")
                    ->type_name("PORT");
    health
        ->add_option("--clear", options->clear,
                     "Nothing is held against this port any more; if it is disabled, it is enabled")
        ->type_name("PORT")
        ->excludes(set);
    health->footer(
        "Exit code 1 if a port is ill. The rules and what is done are in [health] of ibfabricd.conf(5).\n\n"
        "Examples:\n  ibfabric health\n  ibfabric health --set leaf-01/17\n  ibfabric health --clear "
        "leaf-01/17");
    health->callback([options, &chosen] {
        chosen = [options](const Session& session) { return run_health(*options, session); };
    });

    CLI::App* resume = app.add_subcommand("resume", "End hold mode: the daemon may write again");
    resume->footer(
        "A daemon that was killed or failed several times within ten minutes starts in hold mode: it looks "
        "at the\n"
        "fabric and answers, and writes nothing. See to why it died first: 'ibfabric events', the journal.");
    resume->callback([&chosen] { chosen = &run_resume; });
}

}  // namespace ibf::cli
