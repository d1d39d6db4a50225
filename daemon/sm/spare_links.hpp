// DOC: which links can be spared. Pure.
//
// To leave a link out is only right if nobody else pays for it: the SM's own link is never left out, and no
// link between switches whose two ends would not reach each other without it. A host's link takes that host
// alone with it, which is what leaving it out means.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "daemon/fabric/fabric.hpp"
#include "daemon/fabric/health.hpp"

namespace ibf::sm {

/// A port whose link is to be left out, and whether it can be.
struct SpareVerdict {
    fabric::PortId port;
    fabric::PortRef at;   ///< kNoNode: it is not there, so there is nothing to leave out
    std::string why_not;  ///< empty: it can be spared
};
/// Ports looked at: each may cost a walk over the fabric.
inline constexpr std::size_t kSparedMax = 256;
/// One for each port, in their order; links that were granted are left out for those that follow.
[[nodiscard]] std::vector<SpareVerdict> spare_links(const fabric::Fabric& fabric,
                                                    const std::set<fabric::PortId>& ports);

/// The end of the port's link that is nearest to the SM: a switch's rather than a host's, else the one with
/// the shorter way, else the lower GUID. The port itself where nobody is known at the other end.
[[nodiscard]] fabric::PortRef near_end(const fabric::Fabric& fabric, fabric::PortRef at);

}  // namespace ibf::sm
