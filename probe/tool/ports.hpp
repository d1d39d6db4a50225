// DOC: the ports of this host, as an agent describes them.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "probe/messages.hpp"
#include "probe/verbs/device.hpp"

namespace ibf::probe::tool {

[[nodiscard]] PortDescription told(const verbs::PortDescription& port);
[[nodiscard]] base::Result<std::vector<PortDescription>> describe_ports();

}  // namespace ibf::probe::tool
