#include "daemon/api/probe_json.hpp"

#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/time.hpp"

namespace ibf::api {
namespace {

constexpr std::size_t kNameBytesMax = 255;
constexpr std::size_t kSentenceBytesMax = 1024;
constexpr std::uint64_t kIntegerMax = std::numeric_limits<std::int64_t>::max();  ///< SQLite's

/// Reads the members of one object. The first that cannot be sticks; asked once at the end.
class Judge {
public:
    Judge(const Json& object, std::string where, std::optional<base::Error>& first)
        : object_(object), where_(std::move(where)), error_(first) {
        if (!object_.is_object()) {
            refuse("", "is no object");
        }
    }

    /// An absent member is zero or empty.
    [[nodiscard]] std::uint64_t number(const char* key, std::uint64_t max) {
        const Json* value = member(key);
        if (value == nullptr) {
            return 0;
        }
        if (!value->is_number_unsigned() || value->get<std::uint64_t>() > max) {
            refuse(key, fmt::format("is no whole number from 0 to {}", max));
            return 0;
        }
        return value->get<std::uint64_t>();
    }
    [[nodiscard]] bool truth(const char* key) {
        const Json* value = member(key);
        if (value != nullptr && !value->is_boolean()) {
            refuse(key, "is neither true nor false");
            return false;
        }
        return value != nullptr && value->get<bool>();
    }
    [[nodiscard]] std::string text(const char* key, std::size_t most) {
        const Json* value = member(key);
        if (value == nullptr) {
            return {};
        }
        if (!value->is_string()) {
            refuse(key, "is no text");
            return {};
        }
        std::string out = value->get<std::string>();
        if (out.size() > most) {
            std::size_t end = most;
            while (end > 0 && (static_cast<unsigned char>(out[end]) & 0xC0U) == 0x80U) {
                --end;  // not within a character
            }
            out.resize(end);
        }
        return out;
    }
    [[nodiscard]] db::ProbeEnd end(const char* key) {
        const Json* value = member(key);
        if (value == nullptr) {
            refuse(key, "is missing");
            return {};
        }
        Judge judge(*value, fmt::format("{}.{}", where_, key), error_);
        return judge.end_here();
    }
    [[nodiscard]] db::ProbeEnd end_here() {
        db::ProbeEnd out;
        const auto guid = mad::parse_guid(text("guid", kNameBytesMax));
        if (!guid) {
            refuse("guid", "is no GUID");
            return out;
        }
        out.guid = *guid;
        out.port = mad::PortNum{static_cast<std::uint8_t>(number("port", 254))};
        out.name = text("name", kNameBytesMax);
        return out;
    }

private:
    [[nodiscard]] const Json* member(const char* key) {
        if (!object_.is_object()) {
            return nullptr;
        }
        const auto found = object_.find(key);
        return found == object_.end() || found->is_null() ? nullptr : &*found;
    }
    void refuse(std::string_view key, const std::string& what) {
        if (!error_) {
            error_ = base::Error{base::ErrorKind::parse,
                                 fmt::format("{}{}{} {}", where_, key.empty() ? "" : ".", key, what)};
        }
    }

    const Json& object_;
    std::string where_;
    std::optional<base::Error>& error_;
};

db::ProbeHead parse_head(Judge judge) {
    db::ProbeHead head;
    head.asked_by = judge.text("asked_by", kNameBytesMax);
    head.command = judge.text("command", kSentenceBytesMax);
    head.tables = judge.text("tables", kNameBytesMax);
    head.begun_ms = static_cast<std::int64_t>(judge.number("begun_ms", kIntegerMax / 1'000'000));
    head.ended_ms = static_cast<std::int64_t>(judge.number("ended_ms", kIntegerMax / 1'000'000));
    head.interrupted = judge.truth("interrupted") ? 1 : 0;
    head.link_directions = judge.number("link_directions", kIntegerMax);
    head.crossed = judge.number("crossed", kIntegerMax);
    head.planned = judge.number("planned", kIntegerMax);
    head.proved = judge.number("proved", kIntegerMax);
    return head;
}

db::ProbeFlow parse_flow(Judge judge) {
    db::ProbeFlow flow;
    flow.round = judge.number("round", kIntegerMax);
    flow.from = judge.end("from");
    flow.to = judge.end("to");
    flow.lid = mad::Lid{static_cast<std::uint16_t>(judge.number("lid", mad::kLidUnicastMax))};
    flow.verdict = judge.text("verdict", kNameBytesMax);
    flow.p50_ns = judge.number("p50_ns", kIntegerMax);
    flow.p99_ns = judge.number("p99_ns", kIntegerMax);
    flow.max_ns = judge.number("max_ns", kIntegerMax);
    flow.bits_per_second = judge.number("bits_per_second", kIntegerMax);
    flow.bytes = judge.number("bytes", kIntegerMax);
    flow.errors = judge.number("errors", kIntegerMax);
    flow.text = judge.text("text", kSentenceBytesMax);
    return flow;
}

db::ProbeFinding parse_finding(Judge judge) {
    db::ProbeFinding finding;
    finding.kind = judge.text("kind", kNameBytesMax);
    finding.at = judge.end_here();
    finding.lid = mad::Lid{static_cast<std::uint16_t>(judge.number("lid", mad::kLidUnicastMax))};
    finding.text = judge.text("text", kSentenceBytesMax);
    return finding;
}

/// The elements of an array, if it is there.
template <class Row>
void parse_rows(const Json& body, const char* key, Row (*parse)(Judge), std::vector<Row>& out,
                std::optional<base::Error>& error) {
    const auto rows = body.find(key);
    if (rows == body.end()) {
        return;
    }
    if (!rows->is_array()) {
        error = base::Error{base::ErrorKind::parse, fmt::format("{} is no array", key)};
        return;
    }
    out.reserve(rows->size());
    for (std::size_t i = 0; i < rows->size() && !error; ++i) {
        out.push_back(parse(Judge((*rows)[i], fmt::format("{}[{}]", key, i), error)));
    }
}

/// Brackets within brackets of a hostile body cost stack in the parser of JSON.
bool is_too_deep(std::string_view body) {
    constexpr int kDepthMost = 8;
    int depth = 0;
    bool quoted = false;
    for (std::size_t i = 0; i < body.size(); ++i) {
        const char c = body[i];
        if (quoted && c == '\\') {
            ++i;
        } else if (c == '"') {
            quoted = !quoted;
        } else if (!quoted && (c == '[' || c == '{') && ++depth > kDepthMost) {
            return true;
        } else if (!quoted && (c == ']' || c == '}')) {
            --depth;
        }
    }
    return false;
}

Json end_row(const db::ProbeEnd& end) {
    return Json{{"guid", guid_text(end.guid)}, {"port", end.port.value()}, {"name", end.name}};
}

std::string utc_text(std::int64_t ms) {
    return base::format_utc(base::WallTime{std::chrono::milliseconds{ms}});
}

}  // namespace

base::Result<db::ProbePut> parse_probe_put(const std::string& body) {
    const Json parsed =
        is_too_deep(body) ? Json(Json::value_t::discarded) : Json::parse(body, nullptr, false);
    if (parsed.is_discarded() || !parsed.is_object()) {
        return base::fail(base::ErrorKind::parse, "the body is no JSON object with head, flows or findings");
    }
    db::ProbePut put;
    std::optional<base::Error> error;
    if (const auto head = parsed.find("head"); head != parsed.end()) {
        put.head = parse_head(Judge(*head, "head", error));
    }
    parse_rows(parsed, "flows", &parse_flow, put.flows, error);
    if (!error) {
        parse_rows(parsed, "findings", &parse_finding, put.findings, error);
    }
    if (error) {
        return tl::unexpected(*error);
    }
    return put;
}

Json probe_run_row(const db::ProbeRun& run) {
    const db::ProbeHead& head = run.head;
    Json row{{"run", run.id},
             {"begun", utc_text(head.begun_ms)},
             {"ended", head.ended_ms == 0 ? Json(nullptr) : Json(utc_text(head.ended_ms))},
             {"seconds", head.ended_ms == 0 || head.ended_ms < head.begun_ms
                             ? Json(nullptr)
                             : Json(static_cast<double>(head.ended_ms - head.begun_ms) / 1000)}};
    row["asked_by"] = head.asked_by;
    row["uid"] = run.uid;
    row["command"] = head.command;
    row["tables"] = head.tables;
    row["interrupted"] = head.interrupted != 0;
    row["link_directions"] = head.link_directions;
    row["crossed"] = head.crossed;
    row["planned"] = head.planned;
    row["flows"] = run.flows;
    row["proved"] = head.proved;
    row["findings"] = run.findings;
    return row;
}

Json probe_flow_row(const db::ProbeFlow& flow) {
    return Json{{"number", flow.number},      {"round", flow.round},
                {"from", end_row(flow.from)}, {"to", end_row(flow.to)},
                {"lid", flow.lid.value()},    {"verdict", flow.verdict},
                {"p50_ns", flow.p50_ns},      {"p99_ns", flow.p99_ns},
                {"max_ns", flow.max_ns},      {"bits_per_second", flow.bits_per_second},
                {"bytes", flow.bytes},        {"errors", flow.errors},
                {"text", flow.text}};
}

Json probe_finding_row(const db::ProbeFinding& finding) {
    Json row{{"number", finding.number}, {"kind", finding.kind}};
    row.update(end_row(finding.at));
    row["lid"] = finding.lid == mad::kLidNone ? Json(nullptr) : Json(finding.lid.value());
    row["text"] = finding.text;
    return row;
}

}  // namespace ibf::api
