// DOC: the endpoints, one function each.
//
// Each takes the checked query and the snapshot and returns the reply, or an error that handle() turns into
// status and JSON. Nothing here is called before handle() has checked method and parameter names; endpoints
// that need a fabric are only called when there is one.
#pragma once

#include <memory>

#include "base/result.hpp"
#include "daemon/api/api.hpp"
#include "daemon/api/json_rows.hpp"
#include "daemon/api/lookup.hpp"
#include "daemon/api/request.hpp"

namespace ibf::api {

struct Call {
    const Query& query;
    const fabric::Snapshot& snapshot;
    base::Instant now{};
    const std::string& body;
    std::uint32_t uid{};

    /// A copy that a stream may keep; large parts are shared, so it is cheap.
    [[nodiscard]] std::shared_ptr<const fabric::Snapshot> keep() const {
        return std::make_shared<const fabric::Snapshot>(snapshot);
    }
};

[[nodiscard]] base::Result<HttpReply> get_status(const Call& call);
[[nodiscard]] base::Result<HttpReply> get_nodes(const Call& call);
[[nodiscard]] base::Result<HttpReply> get_switches(const Call& call);
[[nodiscard]] base::Result<HttpReply> get_hosts(const Call& call);
[[nodiscard]] base::Result<HttpReply> get_ports(const Call& call);
[[nodiscard]] base::Result<HttpReply> get_links(const Call& call);
[[nodiscard]] base::Result<HttpReply> get_lids(const Call& call);
[[nodiscard]] base::Result<HttpReply> get_path(const Call& call);
[[nodiscard]] base::Result<HttpReply> get_route(const Call& call);
[[nodiscard]] base::Result<HttpReply> get_check(const Call& call);
[[nodiscard]] base::Result<HttpReply> get_quality(const Call& call);
[[nodiscard]] base::Result<HttpReply> get_events(const Call& call);
[[nodiscard]] base::Result<HttpReply> get_sweeps(const Call& call);
[[nodiscard]] base::Result<HttpReply> get_isolated(const Call& call);
[[nodiscard]] base::Result<HttpReply> get_sms(const Call& call);
[[nodiscard]] base::Result<HttpReply> get_health(const Call& call);
[[nodiscard]] base::Result<HttpReply> get_groups(const Call& call);
[[nodiscard]] base::Result<HttpReply> get_services(const Call& call);
[[nodiscard]] base::Result<HttpReply> get_sa(const Call& call);
[[nodiscard]] base::Result<HttpReply> get_export(const Call& call);
[[nodiscard]] base::Result<HttpReply> get_whatif(const Call& call);
[[nodiscard]] base::Result<HttpReply> get_drain(const Call& call);
[[nodiscard]] base::Result<HttpReply> post_drain(const Call& call);
[[nodiscard]] base::Result<HttpReply> post_undrain(const Call& call);
[[nodiscard]] base::Result<HttpReply> post_sweep(const Call& call);
[[nodiscard]] base::Result<HttpReply> post_reload(const Call& call);
[[nodiscard]] base::Result<HttpReply> post_health_set(const Call& call);
[[nodiscard]] base::Result<HttpReply> post_health_clear(const Call& call);
[[nodiscard]] base::Result<HttpReply> post_resume(const Call& call);
[[nodiscard]] base::Result<HttpReply> get_probe_runs(const Call& call);
[[nodiscard]] base::Result<HttpReply> get_probe_run(const Call& call);
[[nodiscard]] base::Result<HttpReply> post_probe_runs(const Call& call);

/// How many ports are ill, and what became of them.
[[nodiscard]] Json health_json(const fabric::Snapshot& snapshot);

/// The subnet managers besides this one. Of a snapshot that has a fabric.
[[nodiscard]] Json other_sms_json(const fabric::Snapshot& snapshot);
/// {"drained": [...], "undraining": [...]}.
[[nodiscard]] Json drains_json(const fabric::Snapshot& snapshot);

/// A stream produces at least so much at a time, and not much more.
inline constexpr std::size_t kPieceBytes = 64 * 1024;

[[nodiscard]] HttpReply json_reply(const Json& body);
[[nodiscard]] HttpReply error_reply(const base::Error& error);
/// 409: understood, and not done, because it would do harm.
[[nodiscard]] HttpReply refused_reply(const std::string& message);

/// Rows one by one, as {"NAME": [rows...]}. `row(i)` may return null for "not this one". Nothing is held but
/// one piece, so 70,000 ports cost no more than 70.
[[nodiscard]] HttpReply row_stream(std::string_view name, std::size_t count,
                                   std::function<Json(std::size_t)> row);
/// The same after the members of the object `head`.
[[nodiscard]] HttpReply row_stream(const Json& head, std::string_view name, std::size_t count,
                                   std::function<Json(std::size_t)> row);

}  // namespace ibf::api
