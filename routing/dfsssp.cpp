#include "routing/dfsssp.hpp"

#include "routing/layered_engine.hpp"

namespace ibf::routing {

base::Result<Routes> route_dfsssp(const Topology& topology, const Routes* previous,
                                  const RouteOptions& options) {
    return route_in_layers({"dfsssp", TreePer::lid, layer_paths}, topology, previous, options);
}

}  // namespace ibf::routing
