#include "cli/probe_compare.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "cli/table.hpp"

namespace ibf::cli {
namespace {

using FlowKey = std::tuple<std::string, int, std::string, int, int>;
using FindingKey = std::tuple<std::string, std::string, int, int>;  ///< the last: a LID, or 0

FlowKey flow_key(const Json& flow) {
    const Json& from = flow["from"];
    const Json& to = flow["to"];
    return {from["guid"], from["port"], to["guid"], to["port"], flow["lid"]};
}

FindingKey finding_key(const Json& finding) {
    const auto lid = finding.find("lid");
    const bool has_lid = lid != finding.end() && lid->is_number();
    return {finding["kind"], finding["guid"], finding["port"], has_lid ? lid->get<int>() : 0};
}

template <class Key>
std::map<Key, const Json*> by_key(const Json& rows, Key (*key)(const Json&)) {
    std::map<Key, const Json*> out;
    for (const Json& row : rows) {
        out[key(row)] = &row;
    }
    return out;
}

/// Findings of `of` that `other` has not.
Json only_in(const std::map<FindingKey, const Json*>& of, const std::map<FindingKey, const Json*>& other) {
    Json out = Json::array();
    for (const auto& [key, row] : of) {
        if (!other.contains(key)) {
            out.push_back(*row);
        }
    }
    return out;
}

/// What became of a figure, in percent; 0 where either run has none.
double change(const Json& before, const Json& after, const char* key) {
    const double was = before.value(key, 0.0);
    const double is = after.value(key, 0.0);
    return was <= 0 || is <= 0 ? 0 : (is - was) / was * 100;
}

Json change_row(const Json& before, const Json& after) {
    Json row{{"from", after["from"]}, {"to", after["to"]}, {"lid", after["lid"]}};
    for (const char* key : {"verdict", "p50_ns", "bits_per_second", "errors"}) {
        row[key] = Json{{"before", before[key]}, {"after", after[key]}};
    }
    row["latency_percent"] = change(before, after, "p50_ns");
    row["rate_percent"] = change(before, after, "bits_per_second");
    return row;
}

constexpr const char* kProved = "proved";

Json run_head(const Json& run) {
    Json head = run;
    head.erase("flow_rows");
    head.erase("finding_rows");
    return head;
}

std::string both(const Json& pair, const std::function<std::string(std::uint64_t)>& text) {
    const std::string before = text(pair["before"]);
    const std::string after = text(pair["after"]);
    return before == after ? before : fmt::format("{} -> {}", before, after);
}

std::vector<Column> change_columns() {
    return {{"FROM", [](const Json& row) { return probe_end_text(row["from"]); }},
            {"TO", [](const Json& row) { return probe_end_text(row["to"]); }},
            number_column("LID", "lid"),
            {"MEDIAN", [](const Json& row) { return both(row["p50_ns"], nanoseconds_text); }},
            {"GBIT/S", [](const Json& row) { return both(row["bits_per_second"], gigabits_text); }},
            {"ERRORS", [](const Json& row) { return both(row["errors"], grouped); }},
            {"VERDICT", [](const Json& row) {
                 const std::string before = field_text(row["verdict"], "before");
                 const std::string after = field_text(row["verdict"], "after");
                 return before == after ? before : fmt::format("{} -> {}", before, after);
             }}};
}

std::vector<Column> finding_columns() {
    return {text_column("KIND", "kind"), {"AT", probe_end_text}, text_column("WHAT", "text")};
}

void add_rows(std::string& out, const std::string& title, const Json& rows, std::vector<Column> columns,
              std::size_t listed) {
    if (rows.empty()) {
        return;
    }
    Json first = Json::array();
    for (std::size_t i = 0; i < std::min(listed, rows.size()); ++i) {
        first.push_back(rows[i]);
    }
    out += fmt::format("\n{} ({}):\n{}", title, grouped(rows.size()), render_table(first, columns));
    if (rows.size() > listed) {
        out += fmt::format("and {} more (--json has all)\n", grouped(rows.size() - listed));
    }
}

std::string run_line(const Json& run) {
    return fmt::format("{} of {}, {} of {} flows proved, {}", run["run"].get<std::uint64_t>(),
                       field_text(run, "begun"), grouped(run["proved"].get<std::uint64_t>()),
                       grouped(run["flows"].get<std::uint64_t>()),
                       counted(run["findings"].get<std::uint64_t>(), "finding", "findings"));
}

}  // namespace

std::string nanoseconds_text(std::uint64_t nanoseconds) {
    const auto value = static_cast<double>(nanoseconds);
    return nanoseconds == 0              ? "-"
           : nanoseconds < 1'000'000     ? fmt::format("{:.2f}us", value / 1e3)
           : nanoseconds < 1'000'000'000 ? fmt::format("{:.2f}ms", value / 1e6)
                                         : fmt::format("{:.2f}s", value / 1e9);
}

std::string gigabits_text(std::uint64_t bits_per_second) {
    return bits_per_second == 0 ? "-" : fmt::format("{:.2f}", static_cast<double>(bits_per_second) / 1e9);
}

std::string probe_end_text(const Json& end) {
    const std::string name = end.value("name", "");
    const auto port = end.value("port", 0U);
    return port == 0 ? printable(name.empty() ? end.value("guid", "") : name)
                     : fmt::format("{}/{}", printable(name.empty() ? end.value("guid", "") : name), port);
}

Json compare_probe_runs(const Json& before, const Json& after, double percent) {
    Json out{{"before", run_head(before)},
             {"after", run_head(after)},
             {"threshold_percent", percent},
             {"same_tables", before.value("tables", "") == after.value("tables", "")},
             {"compared", 0},
             {"only_before", 0},
             {"only_after", 0}};
    Json slower = Json::array();
    Json erring = Json::array();
    Json unproved = Json::array();
    const auto old_flows = by_key(before["flow_rows"], flow_key);
    const auto new_flows = by_key(after["flow_rows"], flow_key);
    std::uint64_t compared = 0;
    for (const auto& [key, flow] : new_flows) {
        const auto old = old_flows.find(key);
        if (old == old_flows.end()) {
            continue;
        }
        ++compared;
        const Json row = change_row(*old->second, *flow);
        if (row["rate_percent"].get<double>() < -percent || row["latency_percent"].get<double>() > percent) {
            slower.push_back(row);
        }
        if ((*flow)["errors"].get<std::uint64_t>() > (*old->second)["errors"].get<std::uint64_t>()) {
            erring.push_back(row);
        }
        if ((*old->second)["verdict"] == kProved && (*flow)["verdict"] != kProved) {
            unproved.push_back(row);
        }
    }
    out["compared"] = compared;
    out["only_before"] = old_flows.size() - compared;
    out["only_after"] = new_flows.size() - compared;
    out["slower"] = std::move(slower);
    out["more_errors"] = std::move(erring);
    out["proved_no_longer"] = std::move(unproved);
    const auto old_findings = by_key(before["finding_rows"], finding_key);
    const auto new_findings = by_key(after["finding_rows"], finding_key);
    out["new_findings"] = only_in(new_findings, old_findings);
    out["gone_findings"] = only_in(old_findings, new_findings);
    out["lasting_findings"] = new_findings.size() - out["new_findings"].size();
    return out;
}

bool is_worse(const Json& comparison) {
    const auto has = [&](const char* key) { return !comparison[key].empty(); };
    return has("slower") || has("more_errors") || has("proved_no_longer") || has("new_findings");
}

std::string comparison_text(const Json& comparison, std::size_t listed) {
    std::string out;
    add_line(out, "before", run_line(comparison["before"]));
    add_line(out, "after", run_line(comparison["after"]));
    add_line(out, "tables",
             comparison["same_tables"].get<bool>()
                 ? "the same"
                 : "others: paths may differ, and with them what a flow can be expected to do");
    add_line(out, "flows",
             fmt::format("{} in both, {} only before, {} only after",
                         grouped(comparison["compared"].get<std::uint64_t>()),
                         grouped(comparison["only_before"].get<std::uint64_t>()),
                         grouped(comparison["only_after"].get<std::uint64_t>())));
    add_line(out, "slower",
             fmt::format("where the rate fell or the median latency rose by more than {:g}%",
                         comparison["threshold_percent"].get<double>()));
    add_line(out, "lasting",
             counted(comparison["lasting_findings"].get<std::uint64_t>(), "finding", "findings"));
    add_rows(out, "new findings", comparison["new_findings"], finding_columns(), listed);
    add_rows(out, "gone findings", comparison["gone_findings"], finding_columns(), listed);
    add_rows(out, "flows proved no longer", comparison["proved_no_longer"], change_columns(), listed);
    add_rows(out, "flows that got slower", comparison["slower"], change_columns(), listed);
    add_rows(out, "flows with more errors", comparison["more_errors"], change_columns(), listed);
    if (!is_worse(comparison)) {
        out += "\nnothing got worse\n";
    }
    return out;
}

}  // namespace ibf::cli
