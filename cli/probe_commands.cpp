// probe plan: which traffic shows that the computed paths are the paths taken.
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "cli/commands.hpp"
#include "cli/plan_report.hpp"
#include "cli/plan_subject.hpp"
#include "cli/probe_report.hpp"
#include "cli/table.hpp"
#include "probe/cover.hpp"
#include "probe/rounds.hpp"
#include "routing/patterns.hpp"

namespace ibf::cli {
namespace {

struct ProbeOptions : SubjectOptions {
    std::size_t top = 3;
    std::size_t list = 20;
};

constexpr PatternWord kRing{"ring", routing::Pattern::ring};

/// Where traffic would meet itself.
Json predict(const ProbeOptions& options, const Subject& subject, const routing::Routes& routes) {
    Json out = Json::object();
    const auto lay = [&](const PatternWord& pattern) {
        progress(fmt::format("laying {} ...", pattern.word));
        const auto laid = routing::lay_pattern_by_link(pattern.pattern, subject.topology, routes,
                                                       subject.hosts, pattern_options(options));
        Json figures = pattern_json(pattern, laid.figures, subject.hosts.size());
        figures["hot_links"] = hot_links_json(subject.topology, laid.links, options.top);
        out[std::string(pattern.word)] = std::move(figures);
    };
    lay(kRing);
    progress("laying all-to-all ...");
    out["all-to-all"] = all_to_all_json(
        subject.topology, routing::link_loads(subject.topology, routes, subject.hosts, options.threads),
        options.top);
    for (const PatternWord& pattern : kPatternWords) {
        lay(pattern);
    }
    return out;
}

Exit run_probe_plan(ProbeOptions options, const Session& session) {
    if (options.engines.empty()) {
        options.engines =
            options.lfts.empty() ? routing::RouteOptions{}.engines : std::vector<std::string>{"file"};
    }
    const auto chain = route_options(options, routing::chain_words());
    if (!chain) {
        return failure(chain.error());
    }
    const auto subject = read_subject(options);
    if (!subject) {
        return failure(subject.error());
    }
    progress("computing and proving routes ...");
    const auto outcome = routing::route(subject->topology, nullptr, *chain);
    if (!outcome) {
        return failure(outcome.error());
    }
    Json plan = head_json(options, *subject, outcome->attempts.back());
    plan.update(routes_json(outcome->routes, outcome->verdict));
    plan["attempts"] = Json::array();
    for (const auto& attempt : outcome->attempts) {
        plan["attempts"].push_back(attempt_json(attempt));
    }
    progress("choosing pairs ...");
    const auto cover =
        probe::cover_links(subject->topology, outcome->routes, subject->hosts, options.threads);
    const auto rounds = probe::in_rounds(subject->topology, outcome->routes, cover.flows);
    plan.update(cover_json(subject->topology, outcome->routes, cover, rounds));
    plan["patterns"] = predict(options, *subject, outcome->routes);
    progress("");
    return show(session, plan, probe_text(plan, options.list),
                is_finding(options, *outcome) ? Exit::finding : Exit::ok);
}

}  // namespace

void add_probe_commands(CLI::App& app, Action& chosen) {
    CLI::App* probe = app.add_subcommand("probe", "Whether traffic takes the computed paths");
    probe->require_subcommand(1);
    const auto options = std::make_shared<ProbeOptions>();
    add_probe_run_command(*probe, chosen);
    add_probe_store_commands(*probe, chosen);
    add_probe_explain_command(*probe, chosen);
    CLI::App* plan = probe->add_subcommand(
        "plan", "Pairs of hosts whose paths cross every link, and links that traffic would heat");
    add_subject(*plan, *options,
                "a chain, the first that passes the proof serves (default with --lfts: file)");
    add_subject_options(*plan, *options);
    plan->add_option("--top", options->top, "How many of the busiest links are named for each pattern")
        ->capture_default_str();
    plan->add_option("--list", options->list, "How many of the flows are listed; --json has all")
        ->capture_default_str();
    plan->footer(
        "Nothing is sent, and no daemon is needed. Exit code 1 as of 'ibfabric plan'.\n\n"
        "Examples:\n  ibfabric probe plan fat-tree:radix=36,levels=3 --engine ftree\n"
        "  ibfabric probe plan fabric.topo --engine updn --hosts job.txt --json\n"
        "  ibfabric export --format opensm-dumps -o dumps && \\\n"
        "    ibfabric probe plan dumps/opensm-subnet.lst --lfts dumps/opensm-lfts.dump");
    plan->callback([options, &chosen] {
        chosen = [options](const Session& session) { return run_probe_plan(*options, session); };
    });
}

}  // namespace ibf::cli
