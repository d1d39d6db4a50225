#include "routing/minhop.hpp"

#include <memory>
#include <utility>

#include "routing/engine_tables.hpp"

namespace ibf::routing {

base::Result<Routes> route_minhop(const Topology& topology, const Routes* previous,
                                  const RouteOptions& options) {
    const Planner planner = [&](const std::shared_ptr<const Graph>& graph,
                                const UpDown*) -> base::Result<EnginePlan> {
        base::Result<ByteMatrix> hops = hop_distances(*graph, options.threads);
        if (!hops) {
            return tl::unexpected<base::Error>(hops.error());
        }
        EnginePlan plan;
        plan.shape = shape_of(*graph, *hops, heights_from_hosts(*graph, *hops));
        plan.lengths = std::make_shared<const ByteMatrix>(std::move(*hops));
        return plan;
    };
    base::Result<Routes> routes = build_tables(topology, previous, options.threads, planner);
    if (routes) {
        routes->engine = "minhop";
    }
    return routes;
}

}  // namespace ibf::routing
