// groups, services, sa: what clients have left with the subnet administration, and what it did.
#include <memory>

#include <CLI/CLI.hpp>

#include "cli/client.hpp"
#include "cli/commands.hpp"
#include "cli/sa_text.hpp"
#include "cli/table.hpp"

namespace ibf::cli {
namespace {

/// Prints the answer as it comes (--json), or the text made of it.
template <class TextOf>
Exit run_query(const Session& session, const char* path, const Params& params, const TextOf& text_of) {
    const Client client(session.socket);
    if (session.json) {
        const auto done = client.get(path, params, [](std::string_view piece) { return print(piece); });
        return done ? Exit::ok : failure(done.error());
    }
    const auto answer = client.get_json(path, params);
    if (!answer) {
        return failure(answer.error());
    }
    const auto done = print(text_of(*answer));
    return done ? Exit::ok : failure(done.error());
}

Exit run_groups(const std::string& mgid, const Session& session) {
    if (mgid.empty()) {
        // The table has no members; a fabric's broadcast group alone has as many as there are ports.
        const Params params{{"members", session.json ? "" : "no"}};
        return run_query(session, "/v1/groups", params, [](const Json& answer) {
            return groups_text(answer.at("groups")) + refused_text(answer.at("refused"));
        });
    }
    return run_query(session, "/v1/groups", {{"mgid", mgid}}, [](const Json& answer) {
        return group_text(answer.at("groups").at(0)) + refused_text(answer.at("refused"));
    });
}

}  // namespace

void add_sa_commands(CLI::App& app, Action& chosen) {
    const auto mgid = std::make_shared<std::string>();
    CLI::App* groups = app.add_subcommand("groups", "Multicast groups; of one, its members");
    groups->add_option("MGID", *mgid, "Only this group, with its members");
    groups->footer(
        "Examples:\n  ibfabric groups\n  ibfabric groups ff12:401b:ffff::ffff:ffff\n"
        "  ibfabric groups --json | jq '.groups[] | [.mgid, .member_count]'");
    groups->callback(
        [mgid, &chosen] { chosen = [mgid](const Session& session) { return run_groups(*mgid, session); }; });

    CLI::App* services = app.add_subcommand("services", "Services that clients have registered");
    services->footer("Example:\n  ibfabric services --json | jq '.services[].name'");
    services->callback([&chosen] {
        chosen = [](const Session& session) {
            return run_query(session, "/v1/services", {},
                             [](const Json& answer) { return services_text(answer.at("services")); });
        };
    });

    CLI::App* sa = app.add_subcommand("sa", "What the subnet administration did; who is subscribed to what");
    sa->footer("Example:\n  ibfabric sa");
    sa->callback([&chosen] {
        chosen = [](const Session& session) { return run_query(session, "/v1/sa", {}, &sa_text); };
    });
}

}  // namespace ibf::cli
