// health, resume.
#include <memory>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/client.hpp"
#include "cli/commands.hpp"
#include "cli/table.hpp"

namespace ibf::cli {
namespace {

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
    const std::vector<Column> columns{end_column("PORT", "node", "port"),
                                      end_column("PEER", "peer", "peer_port"),
                                      text_column("RULE", "rule"),
                                      number_column("COUNT", "count"),
                                      text_column("SINCE", "since"),
                                      {"NOT BEFORE",
                                       [](const Json& row) {
                                           return row.value("until", "").empty() ? "--clear"
                                                                                 : field_text(row, "until");
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
        return show(session, *answer, health_text(*answer),
                    (*answer)["health"].empty() ? Exit::ok : Exit::finding);
    }
    const bool sets = !options.set.empty();
    const auto answer = client.post_json(sets ? "/v1/health/set" : "/v1/health/clear",
                                         {{"port", sets ? options.set : options.clear}});
    if (!answer) {
        return failure(answer.error());
    }
    return show(session, *answer,
                fmt::format("{}: {} asked for; 'ibfabric health' shows what came of it\n",
                            sets ? options.set : options.clear, sets ? "set" : "clear"),
                Exit::ok);
}

Exit run_resume(const Session& session) {
    const auto answer = Client(session.socket).post_json("/v1/resume", {});
    if (!answer) {
        return failure(answer.error());
    }
    return show(session, *answer,
                "resumed: the fabric is looked at and set up; 'ibfabric status' follows it\n", Exit::ok);
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
