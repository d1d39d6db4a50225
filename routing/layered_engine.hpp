// DOC: what the layered engines share: shortest-path trees first, then layers for them.
#pragma once

#include <functional>
#include <string_view>

#include "routing/layers.hpp"
#include "routing/shortest_trees.hpp"

namespace ibf::routing {

struct LayeredEngine {
    std::string_view name;
    TreePer sharing = TreePer::lid;
    std::function<Layers(const Paths&, const LiveTurns&, const OldLayers&)>
        layer;  ///< asked if turns are live
};

/// Earlier tables are kept as far as they are still shortest, if the lanes suffice for that. Else, and
/// without earlier ones, tables are laid afresh: once with all links alike, and, if one lane will not do,
/// once with links told apart by direction (directions.hpp). Those with far fewer live turns are tried first.
/// Errors: unsupported if the lanes do not suffice.
[[nodiscard]] base::Result<Routes> route_in_layers(const LayeredEngine& engine, const Topology& topology,
                                                   const Routes* previous, const RouteOptions& options);

}  // namespace ibf::routing
