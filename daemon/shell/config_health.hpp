// DOC: [health]: what is done with ports that are ill, one option for each rule.
//
// Inside of config_options. The marks of the rules are those of sm/health; ibfabricd.conf(5) has them too.
#pragma once

#include <vector>

#include "daemon/shell/config_options.hpp"

namespace ibf::shell {

[[nodiscard]] std::vector<ConfigOption> health_action_options();

}  // namespace ibf::shell
