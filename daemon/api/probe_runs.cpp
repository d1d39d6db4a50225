// Stored probe runs: told piece by piece, listed, shown. What takes the disk is left to the server to call.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "daemon/api/endpoints.hpp"
#include "daemon/api/probe_history.hpp"
#include "daemon/api/probe_json.hpp"

namespace ibf::api {
namespace {

constexpr std::uint64_t kRunsListed = 1000;
constexpr std::uint64_t kPageRows = 512;

/// The reply that the history gives, or its error.
template <class Ask>
HttpReply from_history(Ask ask) {
    HttpReply reply;
    reply.complete = [ask = std::move(ask)](ProbeHistory& history) {
        base::Result<HttpReply> made = ask(history);
        return made ? std::move(*made) : error_reply(made.error());
    };
    return reply;
}

base::Result<std::uint64_t> asked_run(const Call& call) {
    const auto word = call.query.required("run");
    if (!word) {
        return tl::unexpected(word.error());
    }
    return call.query.number("run", 0, std::numeric_limits<std::int64_t>::max());
}

/// The run, then its rows page by page. A run that is dropped meanwhile ends early; so does a disk that
/// fails, which the missing end of the JSON tells.
template <class Row>
HttpReply rows_of(const db::ProbeRun& run, ProbeHistory& history, std::string_view name,
                  base::Result<std::vector<Row>> (ProbeHistory::*read)(std::uint64_t, std::uint64_t,
                                                                       std::uint64_t),
                  Json (*row_json)(const Row&)) {
    std::string opening = text_of(probe_run_row(run));
    opening.back() = ',';
    opening += fmt::format("\"{}\":[", name);
    HttpReply reply;
    reply.stream = [opening = std::move(opening), id = run.id, &history, read, row_json,
                    after = std::uint64_t{0}, is_done = false](std::string& out) mutable {
        if (is_done) {
            return false;
        }
        const bool first = after == 0;
        out += first ? opening : std::string{};
        const auto rows = (history.*read)(id, after, kPageRows);
        if (!rows) {
            is_done = true;
            return true;
        }
        for (const Row& row : *rows) {
            out += after == 0 ? "" : ",";
            out += text_of(row_json(row));
            after = row.number;
        }
        if (rows->size() < kPageRows) {
            out += "]}\n";
            is_done = true;
        }
        return true;
    };
    return reply;
}

}  // namespace

base::Result<HttpReply> post_probe_runs(const Call& call) {
    const auto run = call.query.param("run").empty() ? base::Result<std::uint64_t>{0U} : asked_run(call);
    auto put = parse_probe_put(call.body);
    if (!run || !put) {
        return tl::unexpected(!run ? run.error() : put.error());
    }
    if (call.query.param("run").empty()) {
        if (!put->head) {
            return base::fail(base::ErrorKind::usage, "a new probe run begins with its head");
        }
    } else {
        put->run = *run;
    }
    put->uid = call.uid;
    return from_history([put = std::make_shared<const db::ProbePut>(std::move(*put))](ProbeHistory& history) {
        return history.put(*put).map([&](std::uint64_t id) {
            HttpReply reply = json_reply(Json{{"run", id}});
            reply.status = put->run ? 200 : 201;
            return reply;
        });
    });
}

base::Result<HttpReply> get_probe_runs(const Call& call) {
    const auto limit = call.query.number("limit", 100, kRunsListed);
    if (!limit) {
        return tl::unexpected(limit.error());
    }
    return from_history([limit = *limit](ProbeHistory& history) {
        return history.runs(limit).map([](const std::vector<db::ProbeRun>& runs) {
            Json rows = Json::array();
            std::transform(runs.begin(), runs.end(), std::back_inserter(rows), probe_run_row);
            return json_reply(Json{{"runs", std::move(rows)}});
        });
    });
}

base::Result<HttpReply> get_probe_run(const Call& call) {
    const auto id = asked_run(call);
    const auto rows = call.query.choice("rows", {"none", "flows", "findings"});
    if (!id || !rows) {
        return tl::unexpected(!id ? id.error() : rows.error());
    }
    return from_history([id = *id, rows = *rows](ProbeHistory& history) {
        return history.run(id).map([&](const db::ProbeRun& run) {
            return rows == "flows" ? rows_of(run, history, "flow_rows", &ProbeHistory::flows, &probe_flow_row)
                   : rows == "findings"
                       ? rows_of(run, history, "finding_rows", &ProbeHistory::findings, &probe_finding_row)
                       : json_reply(probe_run_row(run));
        });
    });
}

}  // namespace ibf::api
