// Status, and what happened: events, sweeps, isolations; the two commands.
#include <algorithm>
#include <chrono>

#include "daemon/api/endpoints.hpp"

namespace ibf::api {
namespace {

using fabric::Snapshot;

constexpr std::uint64_t kListMax = 100'000;

Json sm_json(const Snapshot& snapshot) {
    Json out;
    out["guid"] = guid_text(snapshot.sm_guid);
    out["lid"] = snapshot.sm_lid.value();
    out["priority"] = snapshot.sm_priority;
    out["role"] = snapshot.mastership.role;
    out["why"] = snapshot.mastership.why;
    return out;
}

Json counts_json(const Snapshot& snapshot) {
    const fabric::Fabric& fabric = *snapshot.fabric;
    Json out;
    out["nodes"] = fabric.nodes.size();
    out["switches"] = fabric.switch_count();
    out["hosts"] = fabric.nodes.size() - fabric.switch_count();
    out["end_ports"] = fabric.end_port_count();
    out["links"] = fabric.link_count();
    if (snapshot.view != nullptr) {
        out["lids"] = snapshot.view->topology.lid_count();
    }
    out["isolated"] = fabric.isolations.size();
    return out;
}

Json drift_json(const fabric::DriftReport& report) {
    Json out{{"measured", report.drift.has_value()}, {"text", report.text}};
    if (report.drift) {
        out["worst"] = report.drift->worst;
        out["limit"] = report.limit;
        out["level"] = report.drift->level;
        out["paths"] = report.drift->in_force;
        out["paths_fresh"] = report.drift->fresh;
        out["idle_links"] = report.drift->idle_links;
    }
    return out;
}

Json routing_json(const Snapshot& snapshot) {
    const routing::RouteOutcome& outcome = *snapshot.routes;
    Json out;
    out["engine"] = outcome.routes.engine;
    out["vls"] = outcome.routes.vls;
    out["hash"] = fmt::format("{:016x}", outcome.routes.hash());
    out["attempts"] = attempts_json(outcome.attempts);
    out["remark"] = outcome.routes.remark;
    out["roots"] = outcome.routes.roots.size();
    out["proof"] = verdict_json(outcome.verdict);
    const auto missing = std::count(snapshot.programmed.begin(), snapshot.programmed.end(), nullptr);
    out["tables_in_force"] = snapshot.programmed.size() - static_cast<std::size_t>(missing);
    if (snapshot.drift != nullptr) {
        out["drift"] = drift_json(*snapshot.drift);
    }
    return out;
}

/// How far the tables of the lanes have been read: records of them are told only then.
Json lanes_json(const fabric::Lanes& lanes) {
    return Json{{"devices", lanes.devices}, {"read", lanes.read}, {"left_out", lanes.left_out}};
}

Json mads_json(const mad::TransactionCounters& mads) {
    return Json{{"requests", mads.requests},
                {"sent", mads.sent},
                {"retried", mads.retried},
                {"replies", mads.replies},
                {"error_statuses", mads.error_statuses},
                {"timeouts", mads.timeouts},
                {"late", mads.late},
                {"duplicates", mads.duplicates},
                {"foreign", mads.foreign},
                {"window_cuts", mads.window_cuts}};
}

Json isolations_json(const fabric::Fabric& fabric) {
    Json out = Json::array();
    for (const auto& isolation : fabric.isolations) {
        out.push_back(isolation_row(fabric, isolation));
    }
    return out;
}

/// The newest sweep, and the newest that looked at everything (the same one, while the fabric comes up).
void add_sweeps(Json& out, const Snapshot& snapshot) {
    if (!snapshot.sweeps.empty()) {
        out["last_sweep"] = sweep_row(snapshot.sweeps.front());
    }
    const auto full = std::find_if(snapshot.sweeps.begin(), snapshot.sweeps.end(),
                                   [](const auto& sweep) { return sweep.scope == "full"; });
    if (full != snapshot.sweeps.end()) {
        out["last_full_sweep"] = sweep_row(*full);
    }
}

}  // namespace

base::Result<HttpReply> get_status(const Call& call) {
    const Snapshot& snapshot = call.snapshot;
    Json out;
    out["mode"] = fabric::to_string(snapshot.mode);
    out["mode_text"] = snapshot.mode_text;
    out["version"] = snapshot.version;
    out["published"] = base::format_utc(snapshot.published);
    out["started"] = base::format_utc(snapshot.started);
    out["transport"] = snapshot.transport;
    out["sm"] = sm_json(snapshot);
    if (snapshot.fabric != nullptr) {
        out["fabric"] = counts_json(snapshot);
        out["other_sms"] = other_sms_json(snapshot);
    }
    if (snapshot.routes != nullptr) {
        out["routing"] = routing_json(snapshot);
    }
    out.update(drains_json(snapshot));
    if (snapshot.lanes != nullptr) {
        out["lanes"] = lanes_json(*snapshot.lanes);
    }
    add_sweeps(out, snapshot);
    out["health"] = health_json(snapshot);
    out["mads"] = mads_json(snapshot.mads);
    out["traps_received"] = snapshot.traps_received;
    if (snapshot.fabric != nullptr) {
        out["isolated"] = isolations_json(*snapshot.fabric);
    }
    out["database"] = snapshot.database_text;
    out["state_dir"] = snapshot.state_dir;
    out["config_path"] = snapshot.config_path;
    out["config_error"] = snapshot.last_config_error;
    return json_reply(out);
}

base::Result<HttpReply> get_events(const Call& call) {
    const auto limit = call.query.number("limit", 50, kListMax);
    const auto since = call.query.number("since", 0, UINT64_MAX);
    if (!limit || !since) {
        return tl::unexpected(limit ? since.error() : limit.error());
    }
    const std::string_view kind = call.query.param("kind");
    Json rows = Json::array();
    for (const auto& event : call.snapshot.events) {
        if (rows.size() == *limit) {
            break;
        }
        if (event.id > *since && (kind.empty() || event.kind == kind)) {
            rows.push_back(event_row(event));
        }
    }
    return json_reply(Json{{"events", std::move(rows)}});
}

base::Result<HttpReply> get_sweeps(const Call& call) {
    const auto limit = call.query.number("limit", 20, kListMax);
    if (!limit) {
        return tl::unexpected(limit.error());
    }
    Json rows = Json::array();
    for (const auto& sweep : call.snapshot.sweeps) {
        if (rows.size() == *limit) {
            break;
        }
        rows.push_back(sweep_row(sweep));
    }
    return json_reply(Json{{"sweeps", std::move(rows)}});
}

base::Result<HttpReply> get_isolated(const Call& call) {
    return json_reply(Json{{"isolated", isolations_json(*call.snapshot.fabric)}});
}

base::Result<HttpReply> post_sweep(const Call& call) {
    const auto scope = call.query.choice("scope", {"light", "full"});
    if (!scope) {
        return tl::unexpected(scope.error());
    }
    const std::uint64_t last = call.snapshot.sweeps.empty() ? 0 : call.snapshot.sweeps.front().id;
    HttpReply reply = json_reply(Json{{"accepted", true}, {"scope", *scope}, {"last_sweep", last}});
    reply.status = 202;
    reply.command =
        AdminCommand{*scope == "full" ? AdminCommand::Kind::sweep_full : AdminCommand::Kind::sweep_light, {}};
    return reply;
}

base::Result<HttpReply> post_reload(const Call& call) {
    if (call.snapshot.config_path.empty()) {
        return base::fail(base::ErrorKind::usage,
                          "the daemon runs without a configuration file: start it with --config PATH");
    }
    HttpReply reply = json_reply(Json{{"accepted", true}, {"config_path", call.snapshot.config_path}});
    reply.status = 202;
    reply.command = AdminCommand{AdminCommand::Kind::reload, {}};
    return reply;
}

}  // namespace ibf::api
