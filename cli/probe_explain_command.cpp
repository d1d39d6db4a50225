// probe explain: what a port's counters mean.
#include <memory>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/commands.hpp"
#include "cli/table.hpp"
#include "probe/port_counters.hpp"

namespace ibf::cli {
namespace {

std::string_view kind_word(probe::CounterKind kind) {
    switch (kind) {
        case probe::CounterKind::traffic: return "traffic";
        case probe::CounterKind::recovery: return "recovery";
        case probe::CounterKind::error: return "error";
        case probe::CounterKind::congestion: return "congestion";
    }
    return "";
}

Json meaning_row(std::string_view name, std::string_view kind, std::string_view sentence) {
    return Json{{"name", name}, {"kind", kind}, {"meaning", sentence}};
}

Exit run_probe_explain(const std::string& name, const Session& session) {
    Json rows = Json::array();
    if (name.empty()) {
        for (const probe::CounterMeaning& one : probe::counter_meanings()) {
            rows.push_back(meaning_row(one.name, kind_word(one.kind), one.sentence));
        }
    } else if (const auto sentence = probe::explain(name)) {
        const probe::CounterMeaning* known = probe::find_counter(name);
        rows.push_back(meaning_row(name, known != nullptr ? kind_word(known->kind) : "", *sentence));
    } else {
        return failure(
            base::Error{base::ErrorKind::not_found,
                        fmt::format("'{}' is no counter that is known here: 'ibfabric probe explain' "
                                    "lists those that are",
                                    printable(name))});
    }
    return show(session, Json{{"counters", rows}},
                render_table(rows, {text_column("COUNTER", "name"), text_column("KIND", "kind"),
                                    text_column("MEANING", "meaning")}),
                Exit::ok);
}

}  // namespace

void add_probe_explain_command(CLI::App& probe, Action& chosen) {
    const auto name = std::make_shared<std::string>();
    CLI::App* explain = probe.add_subcommand("explain", "What a counter of a port means");
    explain->add_option("COUNTER", *name,
                        "As Linux calls it, e.g. out_of_sequence; none: all that are known");
    explain->footer("Examples:\n  ibfabric probe explain\n  ibfabric probe explain symbol_error");
    explain->callback([name, &chosen] {
        chosen = [name](const Session& session) { return run_probe_explain(*name, session); };
    });
}

}  // namespace ibf::cli
