#include "cli/probe_report.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "cli/plan_report.hpp"
#include "cli/table.hpp"

namespace ibf::cli {
namespace {

using routing::PortPeer;
using routing::Topology;
using routing::TopologyEndPort;
using routing::TopologySwitch;

constexpr std::size_t kUncrossedListed = 20;  ///< of links that no pair crosses; all of them with --json
constexpr const char* kAllToAll = "all-to-all";

Json link_json(const Topology& topology, routing::SwitchIndex from, mad::PortNum port) {
    const TopologySwitch& at = topology.switches[from.value()];
    const PortPeer& peer = at.peers[port.value()];
    const TopologySwitch& to = topology.switches[peer.index];
    return Json{
        {"name", at.name}, {"guid", fmt::format("{}", at.guid)},      {"port", port.value()},
        {"peer", to.name}, {"peer_guid", fmt::format("{}", to.guid)}, {"peer_port", peer.port.value()}};
}

Json end_json(const TopologyEndPort& end) {
    return Json{{"name", end.name}, {"guid", fmt::format("{}", end.port_guid)}, {"port", end.port.value()}};
}

std::string flow_end(const Json& row, const char* key) {
    return fmt::format("{}/{}", field_text(row[key], "name"), field_text(row[key], "port"));
}

/// A table of links, under a title.
void add_links(std::string& out, const std::string& title, const Json& rows,
               const std::vector<Column>& first) {
    std::vector<Column> columns = first;
    columns.push_back(end_column("FROM", "name", "port"));
    columns.push_back(end_column("TO", "peer", "peer_port"));
    out += fmt::format("\n{}:\n{}", title, render_table(rows, columns));
}

Json first_of(const Json& rows, std::size_t count) {
    Json first = Json::array();
    for (std::size_t i = 0; i < std::min(count, rows.size()); ++i) {
        first.push_back(rows[i]);
    }
    return first;
}

void add_hot_links(std::string& out, const Json& patterns) {
    Json rows = Json::array();
    for (const auto& [word, figures] : patterns.items()) {
        for (Json row : figures["hot_links"]) {
            row["pattern"] = word;
            rows.push_back(std::move(row));
        }
    }
    if (!rows.empty()) {
        add_links(out, "links that carry most", rows,
                  {text_column("PATTERN", "pattern"), number_column("FLOWS", "flows")});
    }
}

void add_uncrossed(std::string& out, const Json& uncrossed) {
    if (uncrossed.empty()) {
        return;
    }
    add_links(out, fmt::format("{} no pair crosses", counted(uncrossed.size(), "link that", "links that")),
              first_of(uncrossed, kUncrossedListed), {});
    if (uncrossed.size() > kUncrossedListed) {
        out += fmt::format("and {} more (--json has all)\n", grouped(uncrossed.size() - kUncrossedListed));
    }
}

void add_flows(std::string& out, const Json& flows, std::size_t listed) {
    const std::vector<Column> columns{
        number_column("ROUND", "round"),
        {"FROM", [](const Json& row) { return flow_end(row, "from"); }},
        {"TO", [](const Json& row) { return flow_end(row, "to"); }},
        number_column("LID", "lid"),
        number_column("SL", "sl"),
        number_column("LINKS", "links"),
    };
    out += fmt::format("\nflows:\n{}", render_table(first_of(flows, listed), columns));
    if (flows.size() > listed) {
        out +=
            fmt::format("and {} more (--list {} or --json)\n", grouped(flows.size() - listed), flows.size());
    }
}

}  // namespace

Json cover_json(const Topology& topology, const routing::Routes& routes, const probe::Cover& cover,
                const probe::Rounds& rounds) {
    const routing::TableView view(topology, routes);
    std::vector<std::size_t> order(cover.flows.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return rounds.of_flow[a] < rounds.of_flow[b]; });
    Json out;
    out["link_directions"] = cover.links;
    out["crossed"] = cover.crossed;
    out["flows_needed"] = cover.flows.size();
    out["flows_at_least"] = cover.lower_bound;
    out["rounds"] = rounds.count;
    out["rounds_at_least"] = rounds.least;
    out["uncrossed"] = Json::array();
    for (const probe::DirectedLink& link : cover.uncrossed) {
        out["uncrossed"].push_back(link_json(topology, link.from, link.port));
    }
    const bool knows_sls = routes.engine != "file";  // a dump of forwarding tables has none
    out["flows"] = Json::array();
    for (const std::size_t i : order) {
        const probe::Flow& flow = cover.flows[i];
        const TopologyEndPort& from = topology.end_ports[flow.from.value()];
        out["flows"].push_back(
            {{"round", rounds.of_flow[i] + 1},
             {"from", end_json(from)},
             {"to", end_json(topology.end_ports[flow.to.value()])},
             {"lid", flow.lid.value()},
             {"sl", knows_sls ? Json(routes.sl(routing::SwitchIndex{from.switch_index}, flow.lid)) : Json()},
             {"links", probe::channels_of(topology, view, flow).size()}});
    }
    return out;
}

Json hot_links_json(const Topology& topology, std::span<const routing::LinkLoad> links, std::size_t most) {
    std::vector<routing::LinkLoad> busiest(links.begin(), links.end());
    std::stable_sort(busiest.begin(), busiest.end(),
                     [](const auto& a, const auto& b) { return a.flows > b.flows; });
    Json out = Json::array();
    for (std::size_t i = 0; i < std::min(most, busiest.size()) && busiest[i].flows > 0; ++i) {
        out.push_back(link_json(topology, busiest[i].from, busiest[i].port));
        out.back()["flows"] = busiest[i].flows;
    }
    return out;
}

Json all_to_all_json(const Topology& topology, std::span<const routing::LinkLoad> links, std::size_t most) {
    std::uint64_t worst = 0;
    std::uint64_t sum = 0;
    for (const routing::LinkLoad& link : links) {
        worst = std::max(worst, link.flows);
        sum += link.flows;
    }
    return Json{{"max", worst},
                {"mean", links.empty() ? 0 : static_cast<double>(sum) / static_cast<double>(links.size())},
                {"hot_links", hot_links_json(topology, links, most)}};
}

std::string probe_text(const Json& plan, std::size_t flows_listed) {
    const auto count = [&](const char* key) { return grouped(plan[key].get<std::uint64_t>()); };
    std::string out = head_text(plan);
    add_line(out, "cover",
             fmt::format("{} cross {} of {} link directions; no cover has fewer than {}",
                         counted(plan["flows_needed"].get<std::uint64_t>(), "flow", "flows"),
                         count("crossed"), count("link_directions"), count("flows_at_least")));
    add_line(out, "rounds",
             fmt::format("{}: in each no two flows share a link; no fewer than {} would do", count("rounds"),
                         count("rounds_at_least")));
    for (const auto& [word, figures] : plan["patterns"].items()) {
        add_line(out, word,
                 word == kAllToAll ? fmt::format("worst link {} flows, mean {:.1f}",
                                                 grouped(figures["max"].get<std::uint64_t>()),
                                                 figures["mean"].get<double>())
                                   : pattern_text(figures));
    }
    add_hot_links(out, plan["patterns"]);
    add_uncrossed(out, plan["uncrossed"]);
    add_flows(out, plan["flows"], flows_listed);
    return out;
}

}  // namespace ibf::cli
