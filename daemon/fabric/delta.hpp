// DOC: what changed between two looks at the fabric. Pure, by GUID, in GUID order.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "daemon/fabric/fabric.hpp"

namespace ibf::fabric {

struct Change {
    enum class Kind : std::uint8_t { node_added, node_removed, link_up, link_down } kind{};
    mad::Guid guid{};  ///< the node; for links the end with the lower GUID
    mad::PortNum port{};
    std::string text;
};
[[nodiscard]] std::string_view to_string(Change::Kind kind);  ///< "node-added", ...

/// All changes from `before` to `after`. Links of added and removed nodes are not listed one by one.
[[nodiscard]] std::vector<Change> diff(const Fabric& before, const Fabric& after);
/// The same, where only these nodes of `after`, and nodes that are gone, have other cables than before.
[[nodiscard]] std::vector<Change> diff(const Fabric& before, const Fabric& after,
                                       std::span<const std::uint32_t> changed);

}  // namespace ibf::fabric
