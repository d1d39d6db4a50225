// probe list, show, compare: runs that the daemon keeps.
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/client.hpp"
#include "cli/commands.hpp"
#include "cli/finite.hpp"
#include "cli/probe_compare.hpp"
#include "cli/probe_rows.hpp"
#include "cli/table.hpp"

namespace ibf::cli {
namespace {

struct StoreOptions {
    std::uint64_t limit = 20;
    std::vector<std::uint64_t> runs;
    bool flows = false;
    bool findings = false;
    bool last = false;
    double percent = 20;
    std::size_t list = 20;
};

std::string run_state(const Json& run) {
    return run.value("interrupted", false) ? "interrupted" : run["ended"].is_null() ? "unfinished" : "ended";
}

std::string run_time(const Json& run) {
    return run["seconds"].is_null() ? "-" : seconds_text(run["seconds"].get<double>());
}

Exit run_store_list(const StoreOptions& options, const Session& session) {
    const auto answer =
        Client(session.socket).get_json("/v1/probe/runs", {{"limit", std::to_string(options.limit)}});
    if (!answer) {
        return failure(answer.error());
    }
    const std::vector<Column> columns{
        number_column("RUN", "run"),       text_column("BEGUN", "begun"),
        {"TIME", run_time, Align::right},  number_column("FLOWS", "flows"),
        number_column("PROVED", "proved"), number_column("FINDINGS", "findings"),
        {"STATE", run_state, Align::left}, text_column("BY", "asked_by"),
        text_column("OPTIONS", "command")};
    const Json& runs = (*answer)["runs"];
    return show(session, *answer,
                runs.empty() ? "none: 'ibfabric probe run' makes one\n" : render_table(runs, columns),
                Exit::ok);
}

/// The numbers of the newest runs, so many. Errors: not_found.
base::Result<std::vector<std::uint64_t>> newest_runs(const Client& client, std::size_t count) {
    const auto answer = client.get_json("/v1/probe/runs", {{"limit", std::to_string(count)}});
    if (!answer) {
        return tl::unexpected(answer.error());
    }
    std::vector<std::uint64_t> numbers;
    for (const Json& run : (*answer)["runs"]) {
        numbers.push_back(run["run"].get<std::uint64_t>());
    }
    if (numbers.size() < count) {
        return base::fail(base::ErrorKind::not_found,
                          fmt::format("{} stored, this takes {}: 'ibfabric probe run' makes one",
                                      counted(numbers.size(), "probe run is", "probe runs are"), count));
    }
    return numbers;
}

/// A run with the rows that are asked for.
base::Result<Json> fetch_run(const Client& client, std::uint64_t number, bool with_flows) {
    const std::string run = std::to_string(number);
    auto answer = client.get_json("/v1/probe/run", {{"run", run}, {"rows", "findings"}});
    if (!answer || !with_flows) {
        return answer;
    }
    const auto flows = client.get_json("/v1/probe/run", {{"run", run}, {"rows", "flows"}});
    if (!flows) {
        return flows;
    }
    (*answer)["flow_rows"] = (*flows)["flow_rows"];
    return answer;
}

constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

Exit run_store_show(const StoreOptions& options, const Session& session) {
    const Client client(session.socket);
    const auto numbers = options.runs.empty() ? newest_runs(client, 1) : options.runs;
    if (!numbers) {
        return failure(numbers.error());
    }
    const auto run = fetch_run(client, numbers->front(), options.flows);
    if (!run) {
        return failure(run.error());
    }
    const std::string text =
        probe_run_text(*run, options.findings ? kAll : options.list, options.flows ? kAll : 0);
    return show(session, *run, text, (*run)["finding_rows"].empty() ? Exit::ok : Exit::finding);
}

/// Which two, the older one first.
base::Result<std::vector<std::uint64_t>> runs_to_compare(const StoreOptions& options, const Client& client) {
    if (options.last && options.runs.size() > 1) {
        return base::fail(base::ErrorKind::usage, "two runs, or --last for the two newest");
    }
    if (options.runs.size() == 2) {
        return options.runs;
    }
    auto newest = newest_runs(client, options.runs.empty() ? 2 : 1);
    if (newest && options.runs.size() == 1) {
        newest->push_back(options.runs[0]);
    }
    if (newest) {
        std::swap((*newest)[0], (*newest)[1]);
    }
    return newest;
}

Exit run_store_compare(const StoreOptions& options, const Session& session) {
    if (options.runs.empty() && !options.last) {
        complain("probe compare: name a run to hold the newest against, or two, or --last");
        return Exit::usage;
    }
    const Client client(session.socket);
    const auto numbers = runs_to_compare(options, client);
    if (!numbers) {
        return failure(numbers.error());
    }
    if ((*numbers)[0] == (*numbers)[1]) {
        complain(fmt::format("probe compare: both are run {}: name another, or two", (*numbers)[0]));
        return Exit::usage;
    }
    const auto before = fetch_run(client, (*numbers)[0], true);
    const auto after = before ? fetch_run(client, (*numbers)[1], true) : before;
    if (!after) {
        return failure(after.error());
    }
    const Json comparison = compare_probe_runs(*before, *after, options.percent);
    return show(session, comparison, comparison_text(comparison, options.list),
                is_worse(comparison) ? Exit::finding : Exit::ok);
}

}  // namespace

void add_probe_store_commands(CLI::App& probe, Action& chosen) {
    const auto options = std::make_shared<StoreOptions>();
    const auto add = [&](const char* name, const char* about,
                         Exit (*run)(const StoreOptions&, const Session&)) {
        CLI::App* sub = probe.add_subcommand(name, about);
        sub->callback([options, run, &chosen] {
            chosen = [options, run](const Session& session) { return run(*options, session); };
        });
        return sub;
    };
    CLI::App* list = add("list", "Probe runs that the daemon keeps, newest first", &run_store_list);
    list->add_option("--limit", options->limit, "At most so many")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    list->footer("Example:\n  ibfabric probe list --limit 5");

    CLI::App* show = add("show", "A stored probe run: what it found", &run_store_show);
    show->add_option("RUN", options->runs, "Its number; none: the newest one")->expected(0, 1);
    show->add_flag("--flows", options->flows, "Every flow with its figures");
    show->add_flag("--findings", options->findings, "All findings, not only the first twenty");
    show->footer(
        "Exit code 1: it has findings.\n\nExamples:\n  ibfabric probe show\n"
        "  ibfabric probe show 12 --flows\n  ibfabric probe show 12 --flows --json");

    CLI::App* compare = add("compare", "Two stored probe runs: what got worse", &run_store_compare);
    compare->add_option("RUN", options->runs, "The earlier one, and the later one (none: the newest)")
        ->expected(0, 2);
    compare->add_flag("--last", options->last, "The two newest");
    compare
        ->add_option("--slower", options->percent,
                     "A flow got slower if its rate fell or its median latency rose by more than that")
        ->type_name("PERCENT")
        ->check(finite_range(0.0, 1000.0))
        ->capture_default_str();
    compare->add_option("--list", options->list, "How many rows of a kind are listed; --json has all")
        ->capture_default_str();
    compare->footer(
        "Exit code 1: something got slower, more errors, a path proved no longer, a new finding.\n\n"
        "Examples:\n  ibfabric probe compare --last\n  ibfabric probe compare 5\n"
        "  ibfabric probe compare 5 12 --slower 10");
}

}  // namespace ibf::cli
