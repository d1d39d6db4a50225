#include "routing/minhop.hpp"

#include <memory>
#include <utility>

#include "routing/weighted_hops.hpp"

namespace ibf::routing {

base::Result<EnginePlan> minhop_plan(const Graph& graph, unsigned threads) {
    base::Result<ByteMatrix> hops = hop_distances(graph, threads);
    if (!hops) {
        return tl::unexpected<base::Error>(hops.error());
    }
    EnginePlan plan;
    plan.shape = shape_of(graph, *hops, heights_from_hosts(graph, *hops));
    if (!graph.weights.empty()) {  // they choose paths; what the fabric looks like does not change
        hops = weighted_hops(graph, threads);
        if (!hops) {
            return tl::unexpected<base::Error>(hops.error());
        }
    }
    plan.lengths = std::make_shared<const ByteMatrix>(std::move(*hops));
    return plan;
}

base::Result<Routes> route_minhop(const Topology& topology, const Routes* previous,
                                  const RouteOptions& options) {
    const Planner planner = [&](const std::shared_ptr<const Graph>& graph, const UpDown*) {
        return minhop_plan(*graph, options.threads);
    };
    base::Result<Routes> routes = build_tables(topology, previous, options, planner);
    if (routes) {
        routes->engine = "minhop";
    }
    return routes;
}

}  // namespace ibf::routing
