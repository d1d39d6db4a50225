#include "cli/probe_rows.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

#include <fmt/format.h>

#include "base/time.hpp"
#include "cli/probe_compare.hpp"
#include "cli/table.hpp"

namespace ibf::cli {
namespace {

constexpr std::size_t kPieceRows = 1000;
constexpr std::size_t kPieceTextBytes = 512 * 1024;  ///< half of what the daemon takes

Json place_row(const Json& place) {
    return Json{{"guid", place["guid"]}, {"port", place["port"]}, {"name", place["name"]}};
}

/// Hops that are not proved, in one sentence.
std::string unproved_text(const Json& hops) {
    std::string out;
    for (const Json& hop : hops) {
        std::string one = fmt::format("{} -> {}: {}", probe_end_text(hop["out"]), probe_end_text(hop["in"]),
                                      hop.value("verdict", ""));
        if (hop.contains("seen_at") && hop["seen_at"].is_object()) {
            one += fmt::format(" at {}", probe_end_text(hop["seen_at"]));
        }
        if (const std::string why = hop.value("why", ""); !why.empty()) {
            one += fmt::format(" ({})", why);
        }
        out += (out.empty() ? "" : "; ") + one;
    }
    return out;
}

Json stored_flow(const Json& flow, std::size_t number) {
    const auto figure = [](const Json& of, const char* key) {
        return of.is_object() && of.contains(key) && of[key].is_number() ? of[key].get<double>() : 0.0;
    };
    const Json latency = flow.value("latency", Json::object());
    std::string text = flow.value("text", "");
    if (const Json hops = flow.value("unproved", Json::array()); flow["ran"].get<bool>() && !hops.empty()) {
        text += (text.empty() ? "" : "; ") + unproved_text(hops);
    }
    const auto whole = [](double value) { return static_cast<std::uint64_t>(std::max(0.0, value)); };
    return Json{{"number", number},
                {"round", flow["round"].get<std::uint64_t>() + 1},
                {"from", place_row(flow["from"])},
                {"to", place_row(flow["to"])},
                {"lid", flow["lid"]},
                {"verdict", flow["verdict"]},
                {"p50_ns", whole(figure(latency, "p50"))},
                {"p99_ns", whole(figure(latency, "p99"))},
                {"max_ns", whole(figure(latency, "maximum"))},
                {"bits_per_second", whole(figure(flow, "bits_per_second"))},
                {"bytes", whole(figure(flow, "bytes"))},
                {"errors", flow["errors"]},
                {"text", text}};
}

Json stored_finding(const Json& finding, std::size_t number) {
    Json row = place_row(finding);
    return Json{{"number", number},       {"kind", finding["kind"]},
                {"guid", row["guid"]},    {"port", row["port"]},
                {"name", row["name"]},    {"lid", finding.contains("lid") ? finding["lid"] : Json(nullptr)},
                {"text", finding["text"]}};
}

std::string utc_of(std::int64_t ms) {
    return base::format_utc(base::WallTime{std::chrono::milliseconds{ms}});
}

/// The head as the daemon takes it.
Json told_head(const ProbeRunHead& head, const Json& run) {
    return Json{{"asked_by", head.asked_by},
                {"command", head.command},
                {"tables", head.tables},
                {"begun_ms", head.begun_ms},
                {"ended_ms", head.ended_ms},
                {"interrupted", run["interrupted"]},
                {"link_directions", run["link_directions"]},
                {"crossed", run["crossed"]},
                {"planned", run["planned"]},
                {"proved", run["proved"]}};
}

/// Tells rows of one kind in pieces that the daemon takes.
base::Result<void> tell_rows(const Client& client, const std::string& run, const char* kind,
                             const Json& rows) {
    for (std::size_t at = 0; at < rows.size();) {
        std::string body = fmt::format("{{\"{}\":[", kind);
        const std::size_t first = at;
        for (; at < rows.size() && at < first + kPieceRows && body.size() < kPieceTextBytes; ++at) {
            body += at == first ? "" : ",";
            body += rows[at].dump(-1, ' ', false, Json::error_handler_t::replace);
        }
        body += "]}";
        if (const auto told = client.post_json("/v1/probe/runs", {{"run", run}}, body); !told) {
            return tl::unexpected(told.error());
        }
    }
    return {};
}

std::string state_text(const Json& run) {
    return run.value("interrupted", false) ? "interrupted" : run["ended"].is_null() ? "unfinished" : "ended";
}

void add_stored_head(std::string& out, const Json& run) {
    const auto count = [&](const char* key) { return grouped(run[key].get<std::uint64_t>()); };
    if (run["run"].is_number()) {
        add_line(out, "run", fmt::format("{}, {}", run["run"].get<std::uint64_t>(), state_text(run)));
    }
    add_line(out, "begun",
             fmt::format("{}, took {}", field_text(run, "begun"),
                         run["seconds"].is_null() ? "-" : seconds_text(run["seconds"].get<double>())));
    if (run["uid"].is_number()) {
        add_line(out, "asked by",
                 fmt::format("{} (uid {})", printable(run.value("asked_by", "")),
                             run["uid"].get<std::uint32_t>()));
        add_line(out, "options", printable(run.value("command", "")));
    }
    add_line(out, "tables", printable(run.value("tables", "")));
    if (run["planned"].get<std::uint64_t>() > 0) {
        add_line(out, "links",
                 fmt::format("{} of {} directions crossed", count("crossed"), count("link_directions")));
        add_line(out, "flows",
                 fmt::format("{} of {} tried, {} proved on every hop{}", count("flows"), count("planned"),
                             count("proved"), run.value("interrupted", false) ? "; interrupted" : ""));
    }
    add_line(out, "findings", count("findings"));
}

Json first_so_many(const Json& rows, std::size_t count) {
    Json first = Json::array();
    for (std::size_t i = 0; i < std::min(count, rows.size()); ++i) {
        first.push_back(rows[i]);
    }
    return first;
}

std::vector<Column> flow_row_columns() {
    const auto figure = [](const char* key, std::string (*text)(std::uint64_t)) {
        return [key, text](const Json& row) { return text(row[key].get<std::uint64_t>()); };
    };
    return {number_column("ROUND", "round"),
            {"FROM", [](const Json& row) { return probe_end_text(row["from"]); }, Align::left},
            {"TO", [](const Json& row) { return probe_end_text(row["to"]); }, Align::left},
            number_column("LID", "lid"),
            text_column("VERDICT", "verdict"),
            {"MEDIAN", figure("p50_ns", nanoseconds_text), Align::right},
            {"P99", figure("p99_ns", nanoseconds_text), Align::right},
            {"MAX", figure("max_ns", nanoseconds_text), Align::right},
            {"GBIT/S", figure("bits_per_second", gigabits_text), Align::right},
            number_column("ERRORS", "errors"),
            text_column("WHAT", "text")};
}

}  // namespace

Json probe_run_json(const ProbeRunHead& head, const Json& report) {
    Json flows = Json::array();
    Json findings = Json::array();
    std::uint64_t proved = 0;
    const bool is_interrupted = report["interrupted"].get<bool>();
    for (const Json& flow : report["flows"]) {
        const bool was_tried =
            flow["ran"].get<bool>() || (!is_interrupted && !flow["text"].get<std::string>().empty());
        if (!was_tried) {
            continue;  // its round was not reached, or it had not begun when somebody said stop
        }
        flows.push_back(stored_flow(flow, flows.size() + 1));
        proved += flow["verdict"] == "proved" ? 1U : 0U;
    }
    for (const Json& finding : report["findings"]) {
        findings.push_back(stored_finding(finding, findings.size() + 1));
    }
    const Json& coverage = report["coverage"];
    return Json{{"run", nullptr},
                {"begun", utc_of(head.begun_ms)},
                {"ended", utc_of(head.ended_ms)},
                {"seconds", static_cast<double>(head.ended_ms - head.begun_ms) / 1000},
                {"asked_by", head.asked_by},
                {"uid", nullptr},
                {"command", head.command},
                {"tables", head.tables},
                {"interrupted", report["interrupted"]},
                {"link_directions", coverage["links"]},
                {"crossed", coverage["crossed"]},
                {"planned", coverage["pairs"]},
                {"flows", flows.size()},
                {"proved", proved},
                {"findings", findings.size()},
                {"flow_rows", std::move(flows)},
                {"finding_rows", std::move(findings)}};
}

base::Result<std::uint64_t> store_probe_run(const Client& client, const ProbeRunHead& head, const Json& run) {
    ProbeRunHead begun = head;
    begun.ended_ms = 0;  // until all of it is there
    const auto post = [&](const Params& params, const ProbeRunHead& told) {
        return client.post_json(
            "/v1/probe/runs", params,
            Json{{"head", told_head(told, run)}}.dump(-1, ' ', false, Json::error_handler_t::replace));
    };
    const auto answer = post({}, begun);
    if (!answer) {
        return tl::unexpected(answer.error());
    }
    const auto number = (*answer)["run"].get<std::uint64_t>();
    const std::string name = std::to_string(number);
    return tell_rows(client, name, "flows", run["flow_rows"])
        .and_then([&] { return tell_rows(client, name, "findings", run["finding_rows"]); })
        .and_then([&]() -> base::Result<void> {
            const auto ended = post({{"run", name}}, head);
            return ended ? base::Result<void>{} : tl::unexpected(ended.error());
        })
        .map([&] { return number; });
}

std::string probe_run_text(const Json& run, std::size_t findings, std::size_t flows) {
    std::string out;
    add_stored_head(out, run);
    const Json& found = run["finding_rows"];
    if (!found.empty() && findings > 0) {
        out += "\nfindings:\n" +
               render_table(first_so_many(found, findings), {text_column("KIND", "kind"),
                                                             {"AT", probe_end_text, Align::left},
                                                             text_column("WHAT", "text")});
        if (found.size() > findings) {
            out +=
                fmt::format("and {} more (--findings or --json has all)\n", grouped(found.size() - findings));
        }
    }
    if (run.contains("flow_rows") && !run["flow_rows"].empty() && flows > 0) {
        out += "\nflows:\n" + render_table(first_so_many(run["flow_rows"], flows), flow_row_columns());
        if (run["flow_rows"].size() > flows) {
            out += fmt::format("and {} more (--json has all)\n", grouped(run["flow_rows"].size() - flows));
        }
    }
    return out;
}

}  // namespace ibf::cli
