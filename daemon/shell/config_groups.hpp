// DOC: [[multicast.groups]], the one option whose values are tables.
//
// Inside of config_options: each table is a group that shall exist, named by its MGID or as the IPoIB
// broadcast group of a partition.
#pragma once

#include "daemon/shell/config_options.hpp"

namespace ibf::shell {

[[nodiscard]] ConfigOption groups_option();

}  // namespace ibf::shell
