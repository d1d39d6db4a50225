// DOC: the hosts of a job, as text names them.
//
// One host a line: a description, a GUID or a LID. Descriptions are "host mlx5_0", "host HCA-2": the host's
// name followed by its device, so a line that is a description, or the first word of some, stands for every
// end port that bears it: all rails of a host. A node GUID stands for the ports of the node. Blank lines and
// lines that begin with '#' are skipped; a host may be named twice (machine files name it once a process).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "routing/topology.hpp"

namespace ibf::routing {

/// Those of `among` that the text names, in the order of `among`. Errors: not_found ("origin:line: ..."),
/// with the nearest name there is.
[[nodiscard]] base::Result<std::vector<EndPortIndex>> parse_host_list(std::string_view text,
                                                                      const std::string& origin,
                                                                      const Topology& topology,
                                                                      std::span<const EndPortIndex> among);

/// The same from a file, plain or gzip. Errors: also io.
[[nodiscard]] base::Result<std::vector<EndPortIndex>> load_host_list(const std::string& path,
                                                                     const Topology& topology,
                                                                     std::span<const EndPortIndex> among);

}  // namespace ibf::routing
