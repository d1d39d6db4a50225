// whatif: what would be, were switches or cables down.
#include <algorithm>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "cli/client.hpp"
#include "cli/commands.hpp"
#include "cli/plan_report.hpp"
#include "cli/table.hpp"

namespace ibf::cli {
namespace {

constexpr std::size_t kNamed = 10;  ///< hosts that are listed by name; all of them with --json

struct WhatIfOptions {
    std::string event;
    std::vector<std::string> down;
    std::vector<std::string> engines;
    unsigned top = 10;
};

std::string count_of(const Json& row, const char* key) {
    return grouped(row.value(key, std::uint64_t{0}));
}

std::string down_text(const Json& answer) {
    std::vector<std::string> names;
    for (const Json& row : answer["down"]) {
        names.push_back(element_text(row));
    }
    return fmt::format("{}", fmt::join(names, ", "));
}

void add_losses(std::string& out, const Json& lost) {
    if (lost["hosts"] == 0) {
        add_line(out, "lost", "nobody: all hosts still reach each other");
        return;
    }
    add_line(out, "lost",
             fmt::format("{} cut off, {} no longer reach each other",
                         counted(lost.value("hosts", std::uint64_t{0}), "host is", "hosts are"),
                         counted(lost.value("pairs", std::uint64_t{0}), "pair of hosts", "pairs of hosts")));
    std::vector<std::string> names;
    for (const Json& host : lost["cut_off"]) {
        if (names.size() == kNamed) {
            names.push_back(fmt::format("and {} more", lost["cut_off"].size() - kNamed));
            break;
        }
        names.push_back(field_text(host, "name"));
    }
    add_line(out, "", printable(fmt::format("{}", fmt::join(names, ", "))));
    if (lost.value("sm_cut_off", false)) {
        add_line(out, "", "THE SUBNET MANAGER'S OWN PORT IS AMONG THEM: nothing of this would be done by it");
    }
}

std::string load_text(const Json& load) {
    return fmt::format("worst {}, mean {:.1f}", count_of(load, "worst"), load.value("mean", 0.0));
}

void add_serving(std::string& out, const Json& answer) {
    const Json& then = answer["then"];
    for (const Json& attempt : then["attempts"]) {
        add_line(out, "engine", attempt_text(attempt));
    }
    const std::string now = field_text(answer["now"], "engine");
    if (now != field_text(then, "engine")) {
        add_line(out, "", fmt::format("{} serves now: all tables would be laid anew", now));
    }
    if (field_text(then, "remark") != "-") {
        add_line(out, "remark", field_text(then, "remark"));
    }
    add_line(out, "lanes",
             fmt::format("{} (now {})", field_text(then, "vls"), field_text(answer["now"], "vls")));
    const Json& proof = then["proof"];
    add_line(out, "proof",
             fmt::format("{} pairs: {} unreachable, {} loops, {}; in {} with the routes",
                         count_of(proof, "pairs_checked"), count_of(proof, "unreachable_pairs"),
                         count_of(proof, "loops"),
                         proof.value("credit_loop_free", false) ? "no credit loop" : "CREDIT LOOPS",
                         seconds_text(then.value("seconds", 0.0))));
}

std::string whatif_text(const Json& answer) {
    std::string out;
    add_line(out, "down", printable(down_text(answer)));
    add_losses(out, answer["lost"]);
    if (answer.contains("no_engine")) {
        add_line(out, "engine", "NONE WOULD SERVE: " + field_text(answer, "no_engine"));
        return out;
    }
    add_serving(out, answer);
    const Json& load = answer["load"];
    add_line(out, "link load",
             fmt::format("{} (now {})", load_text(load["after"]), load_text(load["before"])));
    const Json& writes = answer["writes"];
    add_line(out, "writes",
             fmt::format("{} on {}, {} of them twice lest packets loop",
                         counted(writes.value("blocks", std::uint64_t{0}), "table block", "table blocks"),
                         counted(writes.value("switches", std::uint64_t{0}), "switch", "switches"),
                         count_of(writes, "safety_blocks")));
    if (!answer["hot"].empty()) {
        out += "\n" + render_table(
                          answer["hot"],
                          {end_column("HOTTER LINK", "from", "from_port"), end_column("TO", "to", "to_port"),
                           number_column("FLOWS NOW", "flows_before"), number_column("THEN", "flows_after")});
    }
    return out;
}

Exit run_whatif(const WhatIfOptions& options, const Session& session) {
    progress("computing and proving routes without it ...");
    const auto answer =
        Client(session.socket)
            .get_json("/v1/whatif", {{"down", fmt::format("{}", fmt::join(options.down, "\n"))},
                                     {"engine", fmt::format("{}", fmt::join(options.engines, ","))},
                                     {"top", std::to_string(options.top)}});
    progress("");
    if (!answer) {
        return failure(answer.error());
    }
    return show(session, *answer, whatif_text(*answer),
                answer->value("harmless", false) ? Exit::ok : Exit::finding);
}

}  // namespace

void add_whatif_command(CLI::App& app, Action& chosen) {
    const auto options = std::make_shared<WhatIfOptions>();
    CLI::App* whatif =
        app.add_subcommand("whatif", "What would be if switches or cables went down; touches nothing");
    whatif->add_option("EVENT", options->event, "down")->required()->check(CLI::IsMember({"down"}));
    whatif
        ->add_option("ELEMENT", options->down,
                     "Switches (name, GUID, LID) and cables (SWITCH/PORT, or an adapter), together")
        ->required();
    whatif
        ->add_option("--engine", options->engines, "Another chain of routing engines than the configured one")
        ->type_name("NAME[,NAME...]")
        ->delimiter(',')
        ->allow_extra_args(false);
    whatif->add_option("--top", options->top, "How many of the links that get more to list")
        ->check(CLI::Range(0, 10'000))
        ->capture_default_str();
    whatif->footer(
        "The daemon computes, proves and counts on what it knows of the fabric, one question at a time.\n"
        "Exit code 1 if a host would be cut off, no engine would serve, or routes could lock up.\n\n"
        "Examples:\n  ibfabric whatif down spine-01\n  ibfabric whatif down leaf-01/17 leaf-02/17 --json\n"
        "  ibfabric whatif down 0xe09d730300004000 --engine ftree,updn");
    whatif->callback([options, &chosen] {
        chosen = [options](const Session& session) { return run_whatif(*options, session); };
    });
}

}  // namespace ibf::cli
