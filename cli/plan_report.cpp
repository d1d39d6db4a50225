#include "cli/plan_report.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/table.hpp"

namespace ibf::cli {

Json fabric_json(const routing::Topology& topology, std::uint64_t failed_links, std::uint64_t hosts) {
    Json out;
    out["switches"] = topology.switches.size();
    out["end_ports"] = topology.end_ports.size();
    out["links"] = topology.link_count();
    out["lids"] = topology.lid_count();
    out["failed_links"] = failed_links;
    out["hosts"] = hosts;
    return out;
}

Json routes_json(const routing::Routes& routes, const routing::Verdict& verdict) {
    Json out;
    out["vls"] = routes.vls;
    out["unreachable_pairs"] = verdict.unreachable_pairs;
    out["loops"] = verdict.loops;
    out["lane_faults"] = verdict.lane_faults;
    out["credit_loops"] = verdict.credit_loop_free ? 0 : 1;
    out["pairs_checked"] = verdict.pairs_checked;
    out["switch_pairs_unreachable"] = verdict.switch_pairs_unreachable;
    out["hash"] = fmt::format("{:016x}", routes.hash());
    out["remark"] = routes.remark;
    return out;
}

Json pattern_json(const PatternWord& pattern, const routing::PatternFigures& figures, std::uint64_t hosts) {
    Json out{{"count", figures.patterns}};
    if (pattern.pattern == routing::Pattern::shift) {
        out["possible"] = hosts == 0 ? 0 : hosts - 1;
    }
    out["mean_max"] = figures.mean_worst;
    out["max"] = figures.worst;
    out["bandwidth"] = figures.bandwidth;
    out["lost_flows"] = figures.lost_flows;
    return out;
}

Json attempt_json(const routing::EngineAttempt& attempt) {
    return Json{{"engine", attempt.engine},
                {"refused_because", attempt.refused_because},
                {"compute_seconds", attempt.compute_seconds},
                {"verify_seconds", attempt.verify_seconds}};
}

std::string attempt_text(const Json& attempt) {
    const std::string why = field_text(attempt, "refused_because");
    return why == "-" ? fmt::format("{} serves: computed in {}, proved in {}", field_text(attempt, "engine"),
                                    seconds_text(attempt["compute_seconds"]),
                                    seconds_text(attempt["verify_seconds"]))
                      : fmt::format("{} refused: {}", field_text(attempt, "engine"), why);
}

namespace {

std::string count_text(const Json& plan, const char* key) {
    const auto found = plan.find(key);
    return found == plan.end() ? "-" : grouped(found->get<std::uint64_t>());
}

double ratio(double worst, double mean) {
    return mean > 0 ? worst / mean : 0;
}

std::string fabric_text(const Json& plan) {
    std::string out =
        fmt::format("{} switches, {} end ports, {} links, {} LIDs", count_text(plan, "switches"),
                    count_text(plan, "end_ports"), count_text(plan, "links"), count_text(plan, "lids"));
    if (plan["failed_links"] != 0) {
        fmt::format_to(std::back_inserter(out), "; {} more links failed by seed {}",
                       count_text(plan, "failed_links"), count_text(plan, "seed"));
    }
    return out;
}

/// Who sends, and how many patterns were laid.
std::string traffic_text(const Json& plan) {
    std::string out =
        fmt::format("{} of {} end ports", count_text(plan, "hosts"), count_text(plan, "end_ports"));
    const Json& patterns = plan["patterns"];
    for (const auto& [word, figures] : patterns.items()) {
        const std::string count = count_text(figures, "count");
        if (!figures.contains("possible")) {
            fmt::format_to(std::back_inserter(out), "; {}: {} by seed {}", word, count,
                           count_text(plan, "seed"));
        } else if (figures["possible"] == figures["count"]) {
            fmt::format_to(std::back_inserter(out), "; {}: all {} displacements", word, count);
        } else {
            fmt::format_to(std::back_inserter(out), "; {}: {} of {} displacements by seed {}", word, count,
                           count_text(figures, "possible"), count_text(plan, "seed"));
        }
    }
    return out;
}

/// "1.00 (1)": mean over the patterns of the flows on the worst link, and the most of any.
std::string mean_max_text(const Json& figures) {
    return fmt::format("{:.2f} ({})", figures["mean_max"].get<double>(), count_text(figures, "max"));
}

/// "ftree: has no use for hop_weights_file"; empty where the engine left nothing out.
std::string remark_text(const Json& plan) {
    const std::string remark = plan.value("remark", "");
    return remark.empty() ? remark : fmt::format("{}: {}", field_text(plan, "engine"), remark);
}

bool has_pattern(const Json& plan, const std::string& word) {
    return plan.contains("patterns") && plan["patterns"].contains(word);
}

/// A line of the comparison: its title, and what it says of one plan.
struct Row {
    std::string title;
    std::function<std::string(const Json& plan)> cell;
};

Row count_row(std::string title, const char* key) {
    return {std::move(title), [key](const Json& plan) { return count_text(plan, key); }};
}

Row seconds_row(std::string title, const char* key) {
    return {std::move(title), [key](const Json& plan) { return seconds_text(plan[key]); }};
}

/// A row of what is measured on tables: "-" where an engine made none.
Row measured_row(std::string title, std::function<std::string(const Json& plan)> cell) {
    return {std::move(title), [cell = std::move(cell)](const Json& plan) {
                return plan.contains("max_link_load") ? cell(plan) : std::string("-");
            }};
}

Row level_row(const Json& level) {
    const std::string name = field_text(level, "level");
    return measured_row(fmt::format("  links {}, worst/mean", name), [name](const Json& plan) {
        for (const Json& item : plan["levels"]) {
            if (item["level"] == name) {
                return fmt::format("{:.2f}", ratio(item["max"], item["mean"]));
            }
        }
        return std::string("-");
    });
}

std::vector<Row> link_rows(const Json& plans) {
    std::vector<Row> rows{
        count_row("all-to-all: worst link", "max_link_load"),
        measured_row(
            "  mean link",
            [](const Json& plan) { return fmt::format("{:.1f}", plan["mean_link_load"].get<double>()); }),
        measured_row("  worst/mean",
                     [](const Json& plan) {
                         return fmt::format("{:.2f}", ratio(plan["max_link_load"], plan["mean_link_load"]));
                     }),
    };
    for (const Json& plan : plans) {
        if (plan.contains("levels")) {
            for (const Json& level : plan["levels"]) {
                rows.push_back(level_row(level));
            }
            break;  // levels are the fabric's: the same whoever routes it
        }
    }
    rows.push_back(count_row("  links unused", "unused_links"));
    rows.push_back(measured_row("switches on a path: mean (most)", [](const Json& plan) {
        return fmt::format("{:.2f} ({})", plan["mean_hops"].get<double>(), count_text(plan, "max_hops"));
    }));
    rows.push_back(measured_row("dilation: mean (most)", [](const Json& plan) {
        return fmt::format("{:.3f} ({:.3g})", plan["mean_dilation"].get<double>(),
                           plan["max_dilation"].get<double>());
    }));
    return rows;
}

/// A row of one pattern: "-" for plans it was not laid over.
Row pattern_row(std::string title, const std::string& word,
                std::function<std::string(const Json& figures)> cell) {
    return {std::move(title), [word, cell = std::move(cell)](const Json& plan) {
                return has_pattern(plan, word) ? cell(plan["patterns"][word]) : std::string("-");
            }};
}

/// The figures of patterns that were laid for any of the plans.
std::vector<Row> pattern_rows(const Json& plans) {
    std::vector<Row> rows;
    for (const PatternWord& pattern : kPatternWords) {
        const std::string word(pattern.word);
        bool laid = false;
        bool lost = false;
        for (const Json& plan : plans) {
            const bool here = has_pattern(plan, word);
            laid = laid || here;
            lost = lost || (here && plan["patterns"][word]["lost_flows"] != 0);
        }
        if (laid && pattern.pattern == routing::Pattern::matching) {
            rows.push_back(pattern_row("effective bisection", word, [](const Json& figures) {
                return fmt::format("{:.3f}", figures["bandwidth"].get<double>());
            }));
        } else if (laid) {
            rows.push_back(pattern_row(fmt::format("{}: mean-max (max)", word), word, mean_max_text));
        }
        if (lost) {
            rows.push_back(pattern_row(
                "  flows lost", word, [](const Json& figures) { return count_text(figures, "lost_flows"); }));
        }
    }
    return rows;
}

std::vector<Row> rows_of(const Json& plans) {
    std::vector<Row> rows{
        {"serves", [](const Json& plan) { return field_text(plan, "served"); }},
        seconds_row("computed in", "compute_seconds"),
        seconds_row("proved in", "verify_seconds"),
        count_row("lanes", "vls"),
        count_row("unreachable pairs", "unreachable_pairs"),
        count_row("loops", "loops"),
        count_row("lanes that links lack", "lane_faults"),
        count_row("credit loops", "credit_loops"),
    };
    for (const std::vector<Row>& more : {link_rows(plans), pattern_rows(plans)}) {
        rows.insert(rows.end(), more.begin(), more.end());
    }
    return rows;
}

}  // namespace

std::string pattern_text(const Json& figures) {
    return fmt::format(
        "worst link {:.2f} flows on average, {} at most; a flow gets {:.3f} of a link; {} flows lost",
        figures["mean_max"].get<double>(), count_text(figures, "max"), figures["bandwidth"].get<double>(),
        count_text(figures, "lost_flows"));
}

std::string head_text(const Json& plan) {
    std::string out;
    add_line(out, "fabric", fabric_text(plan));
    for (const Json& attempt : plan["attempts"]) {
        add_line(out, "engine", attempt_text(attempt));
    }
    if (const std::string remark = remark_text(plan); !remark.empty()) {
        add_line(out, "remark", remark);
    }
    add_line(out, "lanes", field_text(plan, "vls"));
    add_line(out, "proof",
             fmt::format("{} pairs: {} unreachable, {} loops, {} credit loops; {} switch pairs not served",
                         count_text(plan, "pairs_checked"), count_text(plan, "unreachable_pairs"),
                         count_text(plan, "loops"), count_text(plan, "credit_loops"),
                         count_text(plan, "switch_pairs_unreachable")));
    return out;
}

std::string plan_text(const Json& plan) {
    std::string out = head_text(plan);
    add_line(out, "link load",
             fmt::format("max {}, mean {:.1f}, sigma {:.1f}, {} links unused",
                         count_text(plan, "max_link_load"), plan["mean_link_load"].get<double>(),
                         plan["sigma_link_load"].get<double>(), count_text(plan, "unused_links")));
    add_line(out, "switches",
             fmt::format("max {}, mean {:.2f} on a path; dilation max {:g}, mean {:.3f}",
                         count_text(plan, "max_hops"), plan["mean_hops"].get<double>(),
                         plan["max_dilation"].get<double>(), plan["mean_dilation"].get<double>()));
    if (!plan["patterns"].empty()) {
        add_line(out, "traffic", traffic_text(plan));
    }
    for (const auto& [word, figures] : plan["patterns"].items()) {
        add_line(out, word, pattern_text(figures));
    }
    if (const auto files = plan.find("dump"); files != plan.end()) {
        for (const Json& file : *files) {
            add_line(out, "written",
                     fmt::format("{} ({} bytes)", field_text(file, "path"), count_text(file, "bytes")));
        }
    }
    add_line(out, "memory", fmt::format("{:.0f} MB at most", plan["peak_rss_bytes"].get<double>() / 1e6));
    return out;
}

std::string comparison_text(const Json& plans) {
    std::string out;
    add_line(out, "fabric", fabric_text(plans.front()));
    const auto measured =
        std::find_if(plans.begin(), plans.end(), [](const Json& p) { return p.contains("patterns"); });
    if (measured != plans.end()) {
        add_line(out, "traffic", traffic_text(*measured));
    }
    out += '\n';
    std::vector<Column> columns{text_column("", "title")};
    for (std::size_t i = 0; i < plans.size(); ++i) {
        columns.push_back({field_text(plans[i], "engine"),
                           [i](const Json& row) { return row["cells"][i].get<std::string>(); },
                           Align::right});
    }
    Json table = Json::array();
    for (const Row& row : rows_of(plans)) {
        Json cells = Json::array();
        for (const Json& plan : plans) {
            cells.push_back(row.cell(plan));
        }
        table.push_back(Json{{"title", row.title}, {"cells", std::move(cells)}});
    }
    out += render_table(table, columns);
    for (const Json& plan : plans) {
        if (!plan["served"].get<bool>()) {
            out += fmt::format("\n{}\n", attempt_text(plan));
        }
        if (const std::string remark = remark_text(plan); !remark.empty()) {
            out += fmt::format("\n{}\n", remark);
        }
    }
    return out;
}

}  // namespace ibf::cli
