// DOC: options of [replica] that are lists, and what an address looks like.
//
// Inside of config_options.
#pragma once

#include <string_view>

#include "daemon/shell/config_options.hpp"

namespace ibf::shell {

/// "HOST:PORT"; an IPv6 address stands in brackets.
[[nodiscard]] bool host_and_port(std::string_view text);
[[nodiscard]] bool host_and_port_or_empty(std::string_view text);

[[nodiscard]] ConfigOption peers_option();
[[nodiscard]] ConfigOption peer_names_option();

}  // namespace ibf::shell
