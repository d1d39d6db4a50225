// DOC: links that run below what both of their ends could do (mad/link_rate.hpp): a cable or connector to be
// looked at. Pure, by GUID, in GUID order.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "daemon/fabric/fabric.hpp"

namespace ibf::fabric {

struct SlowLink {
    PortRef at;  ///< the end with the lower GUID, then port
    LinkRates rates;
    std::string text;  ///< one sentence: both ends, what it runs at, what it could
};
[[nodiscard]] std::vector<SlowLink> slow_links(const Fabric& fabric);
/// Those with an end at one of these nodes.
[[nodiscard]] std::vector<SlowLink> slow_links(const Fabric& fabric, std::span<const std::uint32_t> nodes);

}  // namespace ibf::fabric
