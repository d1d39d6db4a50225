// path, route, check, quality: what the tables in force do.
#include <memory>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/client.hpp"
#include "cli/commands.hpp"
#include "cli/table.hpp"

namespace ibf::cli {
namespace {

std::string path_text(const Json& answer) {
    const auto end = [](const Json& side) {
        return fmt::format("{} (LID {}, port {})", field_text(side, "node"), field_text(side, "lid"),
                           field_text(side, "port"));
    };
    std::string out = fmt::format("{} -> {}\n", end(answer["src"]), end(answer["dst"]));
    if (!answer.value("arrives", false)) {
        return out + fmt::format("does not arrive: {}\n", field_text(answer, "problem"));
    }
    const auto link = [](const Json& row) {
        return row.contains("rate_gbps")
                   ? fmt::format("{} {} {:g}G", field_text(row, "width"), field_text(row, "speed"),
                                 row["rate_gbps"].get<double>())
                   : std::string("-");
    };
    out += render_table(answer["hops"], {number_column("IN", "in_port"),
                                         text_column("NODE", "node"),
                                         text_column("GUID", "guid"),
                                         text_column("TYPE", "type"),
                                         number_column("OUT", "out_port"),
                                         {"LINK", link, Align::left},
                                         number_column("MTU", "mtu")});
    if (answer.contains("rate_gbps")) {
        out += fmt::format("{} through {}, slowest {:g}G, MTU {}\n",
                           counted(answer.value("links", 0U), "link", "links"),
                           counted(answer.value("switches", 0U), "switch", "switches"),
                           answer["rate_gbps"].get<double>(), field_text(answer, "mtu"));
    }
    return out;
}

Exit run_path(const std::string& source, const std::string& destination, const Session& session) {
    const auto answer = Client(session.socket).get_json("/v1/path", {{"src", source}, {"dst", destination}});
    if (!answer) {
        return failure(answer.error());
    }
    return show(session, *answer, path_text(*answer),
                answer->value("arrives", false) ? Exit::ok : Exit::finding);
}

Exit run_route(const std::string& name, std::uint64_t lid, const Session& session) {
    const Params params{{"switch", name}, {"lid", lid == 0 ? std::string{} : std::to_string(lid)}};
    const Client client(session.socket);
    if (session.json) {
        const auto done =
            client.get("/v1/route", params, [](std::string_view piece) { return print(piece); });
        return done ? Exit::ok : failure(done.error());
    }
    const auto answer = client.get_json("/v1/route", params);
    if (!answer) {
        return failure(answer.error());
    }
    return show(session, *answer,
                render_table((*answer)["entries"],
                             {number_column("LID", "lid"), number_column("OUT PORT", "port"),
                              text_column("NEXT", "next"), text_column("DESTINATION", "destination"),
                              text_column("GUID", "guid")}),
                Exit::ok);
}

std::string check_text(const Json& answer) {
    const Json& proof = answer["proof"];
    std::string out =
        fmt::format("{} pairs proved in {}\n", grouped(proof.value("pairs_checked", std::uint64_t{0})),
                    seconds_text(proof.value("seconds", 0.0)));
    if (const std::size_t drained = answer.value("drained", Json::array()).size(); drained > 0) {
        out += fmt::format("{} drained: 'ibfabric drain' lists what\n",
                           counted(drained, "element is", "elements are"));
    }
    if (answer["findings"].empty()) {
        return out +
               "no findings: every pair reaches each other, no loop, no credit loop, every link as it should "
               "be\n";
    }
    return out +
           render_table(answer["findings"], {text_column("LEVEL", "severity"), text_column("KIND", "kind"),
                                             text_column("FINDING", "text")});
}

Exit run_check(const Session& session) {
    progress("proving the tables in force ...");
    const auto answer = Client(session.socket).get_json("/v1/check", {});
    progress("");
    if (!answer) {
        return failure(answer.error());
    }
    return show(session, *answer, check_text(*answer), answer->value("ok", false) ? Exit::ok : Exit::finding);
}

std::string quality_text(const Json& answer) {
    std::string out = fmt::format(
        "engine {}\npaths per link   max {}, mean {}, sigma {}, {} links unused\n"
        "switches crossed max {}, mean {}\ndilation         max {}, mean {}\n",
        field_text(answer, "engine"), field_text(answer, "max_link_load"),
        field_text(answer, "mean_link_load"), field_text(answer, "sigma_link_load"),
        field_text(answer, "unused_links"), field_text(answer, "max_hops"), field_text(answer, "mean_hops"),
        field_text(answer, "max_dilation"), field_text(answer, "mean_dilation"));
    if (!answer["levels"].empty()) {
        out += render_table(answer["levels"], {text_column("LEVEL", "level"), number_column("LINKS", "links"),
                                               number_column("MAX", "max"), number_column("MEAN", "mean"),
                                               number_column("SIGMA", "sigma")});
    }
    return out;
}

Exit run_quality(const Session& session) {
    const auto answer = Client(session.socket).get_json("/v1/quality", {});
    return answer ? show(session, *answer, quality_text(*answer), Exit::ok) : failure(answer.error());
}

}  // namespace

void add_route_commands(CLI::App& app, Action& chosen) {
    struct Words {
        std::string source, destination, switch_name;
        std::uint64_t lid = 0;
    };
    const auto words = std::make_shared<Words>();

    CLI::App* path = app.add_subcommand("path", "The way a packet takes, hop by hop, with rate and MTU");
    path->add_option("SRC", words->source, "From: name, GUID or LID")->required();
    path->add_option("DST", words->destination, "To: name, GUID or LID")->required();
    path->footer("Examples:\n  ibfabric path host-01 host-17\n  ibfabric path lid:12 0x0002c9030000a1b2");
    path->callback([words, &chosen] {
        chosen = [words](const Session& session) {
            return run_path(words->source, words->destination, session);
        };
    });

    CLI::App* route = app.add_subcommand("route", "A switch's forwarding table as it acknowledged it");
    route->add_option("SWITCH", words->switch_name, "Name, GUID or LID")->required();
    route->add_option("--lid", words->lid, "Only this LID")->check(CLI::Range(1, 0xBFFF));
    route->footer("Example:\n  ibfabric route leaf-01 --lid 12");
    route->callback([words, &chosen] {
        chosen = [words](const Session& session) {
            return run_route(words->switch_name, words->lid, session);
        };
    });

    CLI::App* check =
        app.add_subcommand("check", "Prove the tables in force and look over every link and LID");
    check->footer(
        "Exit code 1 if there is any finding.\n\nExample:\n  ibfabric check --json | jq '.findings[].kind'");
    check->callback([&chosen] { chosen = &run_check; });

    CLI::App* quality = app.add_subcommand("quality", "How evenly the tables in force spread the traffic");
    quality->footer("Example:\n  ibfabric quality");
    quality->callback([&chosen] { chosen = &run_quality; });
}

}  // namespace ibf::cli
