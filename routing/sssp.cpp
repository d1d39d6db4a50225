#include "routing/sssp.hpp"

#include "routing/shortest_trees.hpp"

namespace ibf::routing {

base::Result<Routes> route_sssp(const Topology& topology, const Routes* previous,
                                const RouteOptions& options) {
    base::Result<Routes> routes = shortest_tree_tables(topology, previous, TreePer::lid, {}, options);
    if (routes) {
        routes->engine = "sssp";
    }
    return routes;
}

}  // namespace ibf::routing
