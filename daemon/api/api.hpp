// DOC: requests on a snapshot.
//
// The whole HTTP/JSON API as one pure function: request and snapshot in, reply out. No socket here (see
// shell/api_server). Reads never touch the SM; the few commands come back as an AdminCommand for the core.
//
// Probe runs are on the disk: their replies carry `complete`, which the server calls with the ProbeHistory.
//
// Long lists and exports are not built as one text: the reply then carries `stream`, which produces the body
// piece by piece and keeps what it reads of the snapshot alive.
//
// Errors are JSON too: {"error": {"kind": "...", "message": "..."}} with 400 (bad parameter), 404 (no such
// thing), 405 (method), 409 (name fits several; what was asked for would cut somebody off), 503 (no fabric
// seen yet; the message is the SM's own mode text. Or a what-if is being computed, or too many commands wait
// for the core to take one more).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/fabric/drain.hpp"
#include "daemon/fabric/snapshot.hpp"

namespace ibf::api {

struct HttpRequest {
    std::string method;  ///< "GET", "POST"
    std::string target;  ///< "/v1/path?src=..&dst=.."
    std::string body;
    base::Instant now{};  ///< when it was asked
    std::uint32_t uid{};  ///< of who asks, as the kernel says
};

/// What only the core may do.
struct AdminCommand {
    enum class Kind : std::uint8_t {
        sweep_light,
        sweep_full,
        reload,
        drain,
        undrain,
        resume,
        health_set,
        health_clear
    };
    Kind kind = Kind::sweep_light;
    fabric::Drain element{};  ///< drain; of undrain, its node and port
    fabric::PortId port{};    ///< health_set, health_clear
    bool operator==(const AdminCommand&) const = default;
};

/// Appends the next piece of a body to the string; false: there was none, the body is complete.
using BodyStream = std::function<bool(std::string&)>;

class ProbeHistory;

struct HttpReply {
    int status = 200;
    std::string content_type = "application/json";
    std::string body;
    BodyStream stream;                    ///< if set: the body comes from here, `body` is empty
    std::optional<AdminCommand> command;  ///< to be handed on before this reply is given
    /// If set: what it returns is the reply, and nothing else of this one counts. It waits for the disk.
    std::function<HttpReply(ProbeHistory&)> complete;
};

[[nodiscard]] HttpReply handle(const HttpRequest& request, const fabric::Snapshot& snapshot);

/// So large may the body of a request be.
[[nodiscard]] std::size_t body_bytes_max(std::string_view target);

/// Takes so much computing that one at a time is enough. Who comes meanwhile is to be given busy_reply().
[[nodiscard]] bool is_heavy(const HttpRequest& request);
[[nodiscard]] HttpReply busy_reply();

/// The whole body, whether streamed or not. For tests and small replies.
[[nodiscard]] std::string take_body(HttpReply& reply);

}  // namespace ibf::api
