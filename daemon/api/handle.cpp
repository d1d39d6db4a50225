#include "daemon/api/api.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "daemon/api/endpoints.hpp"
#include "daemon/api/probe_json.hpp"

namespace ibf::api {
namespace {

constexpr std::string_view kProbeRuns = "/v1/probe/runs";
constexpr std::size_t kBodyBytesMax = std::size_t{64} * 1024;

/// What an endpoint cannot do without.
enum class Needs : std::uint8_t { nothing, fabric, tables };

struct Endpoint {
    std::string_view method;
    std::string_view path;
    std::vector<std::string_view> params;
    Needs needs;
    base::Result<HttpReply> (*run)(const Call&);
};

const std::vector<Endpoint>& endpoints() {
    static const std::vector<Endpoint> kEndpoints{
        {"GET", "/v1/status", {}, Needs::nothing, &get_status},
        {"GET", "/v1/nodes", {"match"}, Needs::fabric, &get_nodes},
        {"GET", "/v1/switches", {"match"}, Needs::fabric, &get_switches},
        {"GET", "/v1/hosts", {"match"}, Needs::fabric, &get_hosts},
        {"GET", "/v1/ports", {"node", "match", "show"}, Needs::fabric, &get_ports},
        {"GET", "/v1/links", {"node", "match", "show"}, Needs::fabric, &get_links},
        {"GET", "/v1/lids", {"match"}, Needs::fabric, &get_lids},
        {"GET", "/v1/path", {"src", "dst"}, Needs::tables, &get_path},
        {"GET", "/v1/route", {"switch", "lid"}, Needs::tables, &get_route},
        {"GET", "/v1/check", {}, Needs::tables, &get_check},
        {"GET", "/v1/quality", {}, Needs::tables, &get_quality},
        {"GET", "/v1/events", {"limit", "since", "kind"}, Needs::nothing, &get_events},
        {"GET", "/v1/sweeps", {"limit"}, Needs::nothing, &get_sweeps},
        {"GET", "/v1/isolated", {}, Needs::fabric, &get_isolated},
        {"GET", "/v1/sms", {}, Needs::nothing, &get_sms},
        {"GET", "/v1/health", {}, Needs::nothing, &get_health},
        {"GET", "/v1/groups", {"mgid", "members"}, Needs::fabric, &get_groups},
        {"GET", "/v1/services", {}, Needs::fabric, &get_services},
        {"GET", "/v1/sa", {}, Needs::fabric, &get_sa},
        {"GET", "/v1/export", {"format", "file"}, Needs::fabric, &get_export},
        {"GET", "/v1/whatif", {"down", "engine", "top"}, Needs::tables, &get_whatif},
        {"GET", "/v1/drain", {}, Needs::tables, &get_drain},
        {"POST", "/v1/drain", {"element", "force"}, Needs::tables, &post_drain},
        {"POST", "/v1/undrain", {"element"}, Needs::tables, &post_undrain},
        {"POST", "/v1/sweep", {"scope"}, Needs::nothing, &post_sweep},
        {"POST", "/v1/reload", {}, Needs::nothing, &post_reload},
        {"POST", "/v1/health/set", {"port"}, Needs::fabric, &post_health_set},
        {"POST", "/v1/health/clear", {"port"}, Needs::fabric, &post_health_clear},
        {"POST", "/v1/resume", {}, Needs::nothing, &post_resume},
        {"GET", kProbeRuns, {"limit"}, Needs::nothing, &get_probe_runs},
        {"POST", kProbeRuns, {"run"}, Needs::nothing, &post_probe_runs},
        {"GET", "/v1/probe/run", {"run", "rows"}, Needs::nothing, &get_probe_run},
    };
    return kEndpoints;
}

std::string_view kind_name(base::ErrorKind kind) {
    switch (kind) {
        case base::ErrorKind::usage: return "usage";
        case base::ErrorKind::parse: return "parse";
        case base::ErrorKind::not_found: return "not-found";
        case base::ErrorKind::unavailable: return "unavailable";
        case base::ErrorKind::io: return "io";
        case base::ErrorKind::unsupported: return "unsupported";
        case base::ErrorKind::refused: return "ambiguous";
    }
    return "error";
}

int http_status(base::ErrorKind kind) {
    switch (kind) {
        case base::ErrorKind::usage:
        case base::ErrorKind::parse: return 400;
        case base::ErrorKind::not_found: return 404;
        case base::ErrorKind::refused: return 409;
        case base::ErrorKind::unavailable: return 503;
        default: return 500;
    }
}

HttpReply error_reply(int status, std::string_view kind, const std::string& message) {
    HttpReply reply = json_reply(Json{{"error", Json{{"kind", kind}, {"message", message}}}});
    reply.status = status;
    return reply;
}

HttpReply no_such_endpoint(const std::string& path) {
    std::vector<std::string_view> paths;
    for (const Endpoint& endpoint : endpoints()) {
        if (paths.empty() || paths.back() != endpoint.path) {
            paths.push_back(endpoint.path);
        }
    }
    return error_reply(404, "not-found",
                       fmt::format("there is no {}; this API has {}", path, fmt::join(paths, ", ")));
}

/// Null if everything the endpoint needs is there.
std::optional<HttpReply> not_ready(const Endpoint& endpoint, const fabric::Snapshot& snapshot) {
    const bool no_fabric = snapshot.fabric == nullptr;
    const bool no_tables = snapshot.view == nullptr;
    if ((endpoint.needs == Needs::nothing || !no_fabric) && (endpoint.needs != Needs::tables || !no_tables)) {
        return std::nullopt;
    }
    return error_reply(
        503, "unavailable",
        fmt::format("no {} yet: {} ({})", no_fabric ? "fabric was seen" : "routes are in force",
                    fabric::to_string(snapshot.mode), snapshot.mode_text));
}

}  // namespace

HttpReply error_reply(const base::Error& error) {
    return error_reply(http_status(error.kind), kind_name(error.kind), error.message);
}

HttpReply json_reply(const Json& body) {
    HttpReply reply;
    reply.body = text_of(body) + '\n';
    return reply;
}

HttpReply refused_reply(const std::string& message) {
    return error_reply(409, "refused", message);
}

HttpReply busy_reply() {
    return error_reply(
        503, "unavailable",
        "another what-if is being computed, and one at a time is enough: ask again when it is done");
}

std::size_t body_bytes_max(std::string_view target) {
    return target.substr(0, target.find('?')) == kProbeRuns ? kProbePieceBytesMax : kBodyBytesMax;
}

bool is_heavy(const HttpRequest& request) {
    const auto query = parse_target(request.target);
    return query && query->path == "/v1/whatif";
}

HttpReply row_stream(std::string_view name, std::size_t count, std::function<Json(std::size_t)> row) {
    return row_stream(Json::object(), name, count, std::move(row));
}

HttpReply row_stream(const Json& head, std::string_view name, std::size_t count,
                     std::function<Json(std::size_t)> row) {
    HttpReply reply;
    std::string opening = text_of(head);
    opening.pop_back();  // the brace: the rows come into the object
    opening += fmt::format("{}\"{}\":[", head.empty() ? "" : ",", name);
    enum class Part : std::uint8_t { begin, rows, end };
    reply.stream = [opening = std::move(opening), count, row = std::move(row), at = std::size_t{0},
                    part = Part::begin, first = true](std::string& out) mutable {
        if (part == Part::end) {
            return false;
        }
        if (part == Part::begin) {
            out += opening;
            part = Part::rows;
        }
        const std::size_t full = out.size() + kPieceBytes;
        for (; at < count && out.size() < full; ++at) {
            const Json value = row(at);
            if (!value.is_null()) {
                out += first ? "\n" : ",\n";
                out += text_of(value);
                first = false;
            }
        }
        if (at == count) {
            out += "]}\n";
            part = Part::end;
        }
        return true;
    };
    return reply;
}

std::string take_body(HttpReply& reply) {
    std::string out = std::move(reply.body);
    while (reply.stream && reply.stream(out)) {
    }
    return out;
}

HttpReply handle(const HttpRequest& request, const fabric::Snapshot& snapshot) {
    const auto query = parse_target(request.target);
    if (!query) {
        return error_reply(query.error());
    }
    // A path may be there twice: to be asked, and to be told.
    const auto same_path = [&](const Endpoint& endpoint) { return endpoint.path == query->path; };
    const auto same = [&](const Endpoint& other) {
        return same_path(other) && other.method == request.method;
    };
    const auto& all = endpoints();
    const auto known = std::find_if(all.begin(), all.end(), same_path);
    if (known == all.end()) {
        return no_such_endpoint(query->path);
    }
    const auto endpoint = std::find_if(all.begin(), all.end(), same);
    if (endpoint == all.end()) {
        return error_reply(
            405, "usage",
            fmt::format("{} is asked with {}, not {}", known->path, known->method, request.method));
    }
    if (const auto params = check_params(*query, endpoint->params); !params) {
        return error_reply(params.error());
    }
    if (auto early = not_ready(*endpoint, snapshot)) {
        return *early;
    }
    auto reply = endpoint->run(Call{*query, snapshot, request.now, request.body, request.uid});
    return reply ? std::move(*reply) : error_reply(reply.error());
}

}  // namespace ibf::api
