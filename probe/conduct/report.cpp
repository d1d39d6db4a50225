#include "probe/conduct/report.hpp"

#include <fmt/format.h>

namespace ibf::probe {
namespace {

using Json = nlohmann::json;

constexpr double kNanoseconds = 1e9;

Json place_json(const routing::Topology& topology, const Place& place) {
    return {{"guid", fmt::to_string(node_guid_of(topology, place))},
            {"name", node_name_of(topology, place)},
            {"port", place.port.value()}};
}

Json end_json(const routing::Topology& topology, routing::EndPortIndex end) {
    Json json = place_json(topology, place_of(topology, end));
    json["lid"] = topology.end_ports[end.value()].lids.base.value();
    return json;
}

Json hop_json(const routing::Topology& topology, const HopReport& hop) {
    Json json{{"out", place_json(topology, hop.hop.out)},
              {"in", place_json(topology, hop.hop.in)},
              {"verdict", to_string(hop.seen)},
              {"why", hop.why}};
    if (hop.seen_at) {
        json["seen_at"] = place_json(topology, *hop.seen_at);
    }
    return json;
}

std::uint64_t error_count(const Outcome& outcome) {
    std::uint64_t count = outcome.lost + outcome.corrupt;
    for (const auto& [status, times] : outcome.errors) {
        count += times;
    }
    return count;
}

void add_figures(Json& json, const FlowReport& flow) {
    const Outcome& outcome = flow.result.initiator;
    const auto elapsed = static_cast<double>(outcome.elapsed.count());
    json["bytes"] = outcome.bytes;
    json["messages"] = outcome.messages;
    json["bits_per_second"] =
        elapsed > 0 ? static_cast<double>(outcome.bytes) * 8.0 * kNanoseconds / elapsed : 0.0;
    json["errors"] = error_count(outcome) + flow.result.target.corrupt;
    const Outcome& telling = outcome.failure.empty() ? flow.result.target : outcome;
    json["failure"] = telling.failure;
    json["text"] = flow.result.text.empty() ? telling.failure_text : flow.result.text;
    if (outcome.latency.count() > 0) {
        json["latency"] = {{"minimum", outcome.latency.minimum()},
                           {"p50", outcome.latency.percentile(0.5)},
                           {"p99", outcome.latency.percentile(0.99)},
                           {"maximum", outcome.latency.maximum()}};
    }
}

Json flow_json(const routing::Topology& topology, const FlowReport& flow) {
    Json json{{"from", end_json(topology, flow.flow.from)},
              {"to", end_json(topology, flow.flow.to)},
              {"lid", flow.flow.lid.value()},
              {"round", flow.round},
              {"ran", flow.has_run},
              {"verdict", to_string(flow.seen)},
              {"hops", flow.hops},
              {"proved", flow.proved},
              {"by_one_end", flow.by_one_end},
              {"unproved", Json::array()}};
    add_figures(json, flow);
    for (const HopReport& hop : flow.unproved) {
        json["unproved"].push_back(hop_json(topology, hop));
    }
    json["doubts"] = {{"from", flow.result.initiator.doubts}, {"to", flow.result.target.doubts}};
    return json;
}

Json finding_json(const routing::Topology& topology, const Finding& finding) {
    Json json = place_json(topology, finding.at);
    json["kind"] = to_string(finding.kind);
    json["text"] = finding.text;
    if (finding.peer) {
        json["peer"] = place_json(topology, *finding.peer);
    }
    if (finding.kind == Finding::Kind::wrong_entry) {
        json["lid"] = finding.lid.value();
        json["has"] = finding.has.value_or(mad::kLftDrop);
        json["wants"] = finding.wants.value_or(mad::kLftDrop);
    }
    return json;
}

}  // namespace

std::string_view to_string(Seen seen) {
    switch (seen) {
        case Seen::proved: return "proved";
        case Seen::errors_rose: return "errors-rose";
        case Seen::elsewhere: return "seen-elsewhere";
        case Seen::not_seen: return "not-seen";
        case Seen::no_evidence: return "no-evidence";
    }
    return "unknown";
}

nlohmann::json to_json(const routing::Topology& topology, const Report& report) {
    Json json{{"flows", Json::array()},
              {"findings", Json::array()},
              {"adaptive", Json::array()},
              {"interrupted", report.interrupted}};
    for (const FlowReport& flow : report.flows) {
        json["flows"].push_back(flow_json(topology, flow));
    }
    for (const Finding& finding : report.findings) {
        json["findings"].push_back(finding_json(topology, finding));
    }
    for (const std::uint32_t at : report.adaptive) {
        json["adaptive"].push_back(
            {{"guid", fmt::to_string(topology.switches[at].guid)}, {"name", topology.switches[at].name}});
    }
    const Coverage& cover = report.coverage;
    json["coverage"] = {{"links", cover.links},   {"crossed", cover.crossed},
                        {"pairs", cover.pairs},   {"lower_bound", cover.lower_bound},
                        {"rounds", cover.rounds}, {"rounds_run", cover.rounds_run}};
    const ReadFigures& read = report.read;
    json["read"] = {{"switches", read.switches},
                    {"switches_of", read.switches_of},
                    {"table_entries", read.table_entries},
                    {"table_entries_of", read.table_entries_of},
                    {"cables", read.cables},
                    {"ports", read.ports},
                    {"ports_of", read.ports_of},
                    {"questions", read.questions},
                    {"unanswered", read.unanswered},
                    {"refused", read.refused}};
    return json;
}

}  // namespace ibf::probe
