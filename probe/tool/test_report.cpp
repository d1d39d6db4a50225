#include "probe/tool/test_report.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "probe/port_counters.hpp"
#include "probe/tool/text_table.hpp"

namespace ibf::probe::tool {
namespace {

bool measures_latency(const TestSpec& spec) {
    return spec.test == Test::ping || spec.test == Test::ud;
}

std::string microseconds(std::uint64_t nanoseconds) {
    return fmt::format("{:.2f}", static_cast<double>(nanoseconds) / 1e3);
}

Rows latency_json(const Histogram& latency) {
    Rows out = Rows::object();
    out["count"] = latency.count();
    out["min_ns"] = latency.minimum();
    out["mean_ns"] = latency.mean();
    out["p50_ns"] = latency.percentile(0.5);
    out["p90_ns"] = latency.percentile(0.9);
    out["p99_ns"] = latency.percentile(0.99);
    out["p99.9_ns"] = latency.percentile(0.999);
    out["max_ns"] = latency.maximum();
    out["buckets"] = Rows::array();
    for (const auto& [number, count] : latency.buckets()) {
        out["buckets"].push_back({number, count});
    }
    return out;
}

/// As agents tell it; the histogram stands beside it, as latencies.
Rows side_json(const Outcome& outcome) {
    Rows out = json_of(outcome);
    out.erase("latency");
    return out;
}

Rows paths_json(const PairOutcome& pair) {
    Rows out = Rows::object();
    out["there"] = Rows::parse(json_of(pair.there).dump());
    out["back"] = Rows::parse(json_of(pair.back).dump());
    return out;
}

/// What could go that way at most: as the slower port or either way's path record says; 0: nobody does.
std::uint64_t rate_of_path(const TestResult& result, const SizeResult& one) {
    std::uint64_t least = result.link_bits_per_second;
    for (const std::uint64_t rate : {one.pair.there.bits_per_second, one.pair.back.bits_per_second}) {
        least = least == 0 || (rate != 0 && rate < least) ? rate : least;
    }
    return least;
}

Rows size_json(const TestResult& result, const SizeResult& one) {
    Rows out = Rows::object();
    out["message_bytes"] = one.spec.message_bytes;
    out["bits_per_second"] = bits_per_second(one.pair.initiator);
    if (const std::uint64_t most = rate_of_path(result, one); most != 0) {
        out["share_of_link"] = bits_per_second(one.pair.initiator) / static_cast<double>(most);
    }
    if (measures_latency(one.spec)) {
        out["latency"] = latency_json(one.pair.initiator.latency);
    }
    out["paths"] = paths_json(one.pair);
    out["initiator"] = side_json(one.pair.initiator);
    out["target"] = side_json(one.pair.target);
    return out;
}

std::vector<std::string> latency_row(const SizeResult& one) {
    const Outcome& out = one.pair.initiator;
    std::vector<std::string> row{size_text(one.spec.message_bytes), fmt::format("{}", out.messages),
                                 microseconds(out.latency.minimum())};
    for (const double share : {0.5, 0.9, 0.99, 0.999}) {
        row.push_back(microseconds(out.latency.percentile(share)));
    }
    row.push_back(microseconds(out.latency.maximum()));
    row.push_back(fmt::format("{}", out.lost));
    return row;
}

std::vector<std::string> bandwidth_row(const TestResult& result, const SizeResult& one) {
    const Outcome& out = one.pair.initiator;
    const double rate = bits_per_second(out);
    const std::uint64_t most = rate_of_path(result, one);
    return {size_text(one.spec.message_bytes),
            fmt::format("{}", out.messages),
            fmt::format("{}", out.bytes),
            base::format_duration(out.elapsed),
            fmt::format("{:.3f}", rate / 1e9),
            most == 0 ? "-" : fmt::format("{:.1f} %", 100 * rate / static_cast<double>(most))};
}

std::string checked_text(const SizeResult& one) {
    const std::uint64_t checked = one.pair.initiator.checked + one.pair.target.checked;
    return one.spec.check_payload ? fmt::format("{}", checked) : "-";
}

void add_troubles(std::string& out, const std::string& side, const SizeResult& one, const Outcome& outcome) {
    const std::string where = fmt::format("{}, {}", side, size_text(one.spec.message_bytes));
    if (!outcome.failure.empty()) {
        out += fmt::format("{}: {}: {}\n", where, outcome.failure, printable(outcome.failure_text));
    }
    if (outcome.corrupt != 0) {
        out += fmt::format("{}: {} of {} messages arrived other than they were sent\n", where,
                           outcome.corrupt, outcome.checked);
    }
    if (outcome.lost != 0) {
        out += fmt::format("{}: {} messages were not answered in time\n", where, outcome.lost);
    }
    for (const auto& [status, count] : outcome.errors) {
        out += fmt::format("{}: {} completions ended with \"{}\"\n", where, count, printable(status));
    }
}

std::string sl_text(const PairOutcome& pair) {
    if (!pair.there.sl) {
        return {};
    }
    const auto word = [](const PathTaken& path) {
        return fmt::format("{}{}", *path.sl, path.is_recorded ? " by path record" : "");
    };
    const bool is_same =
        !pair.back.sl || (*pair.back.sl == *pair.there.sl && pair.back.is_recorded == pair.there.is_recorded);
    return is_same ? fmt::format(", SL {}", word(pair.there))
                   : fmt::format(", SL {} there and {} back", word(pair.there), word(pair.back));
}

bool is_same_way(const PathTaken& one, const PathTaken& other) {
    return one.sl == other.sl && one.mtu_bytes == other.mtu_bytes &&
           one.bits_per_second == other.bits_per_second && one.is_recorded == other.is_recorded;
}

std::string way_text(const PathTaken& path) {
    std::string out = path.sl ? fmt::format("SL {}", *path.sl) : std::string("no SL told");
    if (path.mtu_bytes != 0) {
        out += fmt::format(", MTU {}", path.mtu_bytes);
    }
    if (path.bits_per_second != 0) {
        out += fmt::format(", {:g} Gb/s", static_cast<double>(path.bits_per_second) / 1e9);
    }
    return out + (path.is_recorded ? "" : ", without record");
}

void add_paths(std::string& out, const TestResult& result) {
    const PairOutcome& pair = result.sizes.front().pair;
    std::set<std::string> told;
    for (const SizeResult& one : result.sizes) {
        for (const auto& [side, path] :
             {std::pair{std::string("this host"), &one.pair.there}, {result.host, &one.pair.back}}) {
            const std::string line = fmt::format("{}: {}\n", printable(side), printable(path->trouble));
            if (!path->trouble.empty() && told.insert(line).second) {
                out += line;
            }
        }
    }
    // Each size has queue pairs of its own, and the SA may have routed anew meanwhile.
    const auto other = std::find_if(result.sizes.begin(), result.sizes.end(), [&](const SizeResult& one) {
        return !is_same_way(one.pair.there, pair.there) || !is_same_way(one.pair.back, pair.back);
    });
    if (other != result.sizes.end()) {
        out += fmt::format("from size {} on the paths are others: {} there and {} back, after {} and {}\n",
                           size_text(other->spec.message_bytes), way_text(other->pair.there),
                           way_text(other->pair.back), way_text(pair.there), way_text(pair.back));
    }
}

/// An SL that the path does not have looks like a peer that is not there.
void add_hint(std::string& out, const TestResult& result) {
    const PairOutcome& first = result.sizes.front().pair;
    const bool is_silent = std::any_of(result.sizes.begin(), result.sizes.end(), [](const SizeResult& one) {
        const std::string& failure = one.pair.initiator.failure;
        return failure == failure::kRetryExceeded || failure == failure::kTimeout;
    });
    const bool is_by_flag =
        first.there.sl == mad::Sl{} && !first.there.is_recorded && first.there.trouble.empty();
    if (is_silent && is_by_flag) {
        out += "SL 0 was taken, since --sl says so: without it, the SA is asked for the paths' SL\n";
    }
    if (is_silent && first.there.sl && !first.back.sl) {
        out += fmt::format(
            "{} does not tell by which SL it answers: its agent is of an older version, which takes "
            "SL 0 without --sl\n",
            printable(result.host));
    }
}

/// Of all sizes together: traffic as such is no news.
void add_counters(std::string& out, const std::string& side, const TestResult& result,
                  Outcome PairOutcome::*outcome) {
    std::map<std::string, std::uint64_t> risen;
    for (const SizeResult& one : result.sizes) {
        for (const auto& [name, rise] : (one.pair.*outcome).counters) {
            risen[name] += rise;
        }
    }
    for (const auto& [name, rise] : risen) {
        const CounterMeaning* const meaning = find_counter(name);
        if (rise != 0 && (meaning == nullptr || meaning->kind != CounterKind::traffic)) {
            const auto sentence = explain(name);
            out += fmt::format("{}: {} rose by {}{}{}\n", side, printable(name), rise, sentence ? ": " : "",
                               sentence.value_or(""));
        }
    }
    std::set<std::string> told;  // one that is stuck is so with each size
    for (const SizeResult& one : result.sizes) {
        for (const std::string& doubt : (one.pair.*outcome).doubts) {
            if (told.insert(doubt).second) {
                out += fmt::format("{}: {}\n", side, printable(doubt));
            }
        }
    }
}

}  // namespace

double bits_per_second(const Outcome& outcome) {
    const double seconds = std::chrono::duration<double>(outcome.elapsed).count();
    return seconds > 0 ? static_cast<double>(outcome.bytes) * 8 / seconds : 0;
}

bool has_failed(const SizeResult& result) {
    const auto bad = [](const Outcome& one) {
        return !one.failure.empty() || one.corrupt != 0 || one.lost != 0;
    };
    return bad(result.pair.initiator) || bad(result.pair.target);
}

Exit verdict(const TestResult& result) {
    Exit worst = Exit::ok;
    for (const SizeResult& one : result.sizes) {
        for (const Outcome* side : {&one.pair.initiator, &one.pair.target}) {
            // The fabric is not to blame for an agent that went away or had a limit.
            if (side->failure == failure::kRefused || side->failure == failure::kPeerGone) {
                return Exit::failed;
            }
        }
        worst = has_failed(one) ? Exit::finding : worst;
    }
    return worst;
}

Rows test_json(const TestResult& result) {
    Rows out = Rows::object();
    out["program"] = IBF_VERSION;
    if (!result.sizes.empty()) {
        out["test"] = to_string(result.sizes.front().spec.test);
        out["spec"] = Rows::parse(json_of(result.sizes.front().spec).dump());
    }
    out["host"] = result.host;
    out["device"] = result.device;
    out["link_bits_per_second"] = result.link_bits_per_second;
    if (!result.sizes.empty()) {
        const PairOutcome& first = result.sizes.front().pair;
        if (first.there.sl) {
            out["sl"] = first.there.sl->value();
        }
        out["paths"] = paths_json(first);
    }
    out["was_interrupted"] = result.was_interrupted;
    out["trouble"] = result.trouble ? result.trouble->message : "";
    out["has_failed"] = verdict(result) != Exit::ok || result.trouble.has_value();
    out["sizes"] = Rows::array();
    for (const SizeResult& one : result.sizes) {
        out["sizes"].push_back(size_json(result, one));
    }
    return out;
}

std::string test_text(const TestResult& result) {
    if (result.sizes.empty()) {
        return "nothing was measured\n";
    }
    const std::string host = printable(result.host);
    const TestSpec& spec = result.sizes.front().spec;
    std::string out =
        fmt::format("{}: this host ({}) to {}", to_string(spec.test), printable(result.device), host);
    if (!measures_latency(spec)) {
        out += fmt::format(", {} queue pair{}, {} in flight on each", spec.queue_pairs,
                           spec.queue_pairs == 1 ? "" : "s", spec.depth);
    }
    if (result.link_bits_per_second != 0) {
        out += fmt::format(", link {:g} Gb/s", static_cast<double>(result.link_bits_per_second) / 1e9);
    }
    out += sl_text(result.sizes.front().pair);
    out += measures_latency(spec) ? "; microseconds, half of there and back\n" : "\n";
    std::vector<std::string> head =
        measures_latency(spec)
            ? std::vector<std::string>{"size", "messages", "min", "p50", "p90", "p99", "p99.9", "max", "lost"}
            : std::vector<std::string>{"size", "messages", "bytes", "time", "Gb/s", "of link"};
    head.insert(head.end(), {"checked", "corrupt"});
    TextTable table(std::move(head));
    for (const SizeResult& one : result.sizes) {
        auto row = measures_latency(spec) ? latency_row(one) : bandwidth_row(result, one);
        row.push_back(checked_text(one));
        row.push_back(fmt::format("{}", one.pair.initiator.corrupt + one.pair.target.corrupt));
        table.add(std::move(row));
    }
    out += table.text();
    if (result.was_interrupted) {
        out += "interrupted: this is what was measured until then\n";
    }
    for (const SizeResult& one : result.sizes) {
        add_troubles(out, "this host", one, one.pair.initiator);
        add_troubles(out, host, one, one.pair.target);
    }
    add_paths(out, result);
    add_hint(out, result);
    add_counters(out, "this host", result, &PairOutcome::initiator);
    add_counters(out, host, result, &PairOutcome::target);
    return out;
}

std::string progress_text(const TestSpec& spec, const Progress& progress) {
    Outcome so_far;
    so_far.bytes = progress.bytes;
    so_far.elapsed = progress.elapsed;
    return fmt::format("{} {}: {} messages, {:.3f} Gb/s, {}", to_string(spec.test),
                       size_text(spec.message_bytes), progress.messages, bits_per_second(so_far) / 1e9,
                       base::format_duration(progress.elapsed));
}

}  // namespace ibf::probe::tool
