// DOC: requests on a snapshot.
//
// The whole HTTP/JSON API as one pure function: request and snapshot in, reply out. No socket here (see
// shell/api_server). Reads never touch the SM; the few commands come back as an AdminCommand for the core.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/fabric/snapshot.hpp"

namespace ibf::api {

struct HttpRequest {
    std::string method;   ///< "GET", "POST"
    std::string target;   ///< "/v1/path?src=..&dst=.."
    std::string body;
};

/// What only the core may do.
struct AdminCommand {
    enum class Kind : std::uint8_t { sweep_light, sweep_full, reload };
    Kind kind = Kind::sweep_light;
};

struct HttpReply {
    int status = 200;
    std::string content_type = "application/json";
    std::string body;
    std::optional<AdminCommand> command;   ///< run it after replying
};

[[nodiscard]] HttpReply handle(const HttpRequest& request, const fabric::Snapshot& snapshot);

}  // namespace ibf::api
