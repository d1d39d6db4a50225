// DOC: what the API says of the subnet administration, as text.
//
// Pure: the daemon's JSON in, text out. No wording of errors here.
#pragma once

#include <string>

#include "cli/client.hpp"

namespace ibf::cli {

/// Of /v1/groups: one line a group.
[[nodiscard]] std::string groups_text(const Json& groups);
/// Of its joins that were refused: empty if there are none.
[[nodiscard]] std::string refused_text(const Json& refused);
/// One of its rows, with its members.
[[nodiscard]] std::string group_text(const Json& group);
/// Of /v1/services.
[[nodiscard]] std::string services_text(const Json& services);
/// Of /v1/sa.
[[nodiscard]] std::string sa_text(const Json& answer);

}  // namespace ibf::cli
