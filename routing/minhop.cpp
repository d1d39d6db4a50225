#include "routing/minhop.hpp"

#include <memory>
#include <utility>

namespace ibf::routing {

base::Result<EnginePlan> minhop_plan(const Graph& graph, unsigned threads) {
    base::Result<ByteMatrix> hops = hop_distances(graph, threads);
    if (!hops) {
        return tl::unexpected<base::Error>(hops.error());
    }
    EnginePlan plan;
    plan.shape = shape_of(graph, *hops, heights_from_hosts(graph, *hops));
    plan.lengths = std::make_shared<const ByteMatrix>(std::move(*hops));
    plan.rule = [&graph, lengths = plan.lengths](std::uint32_t at, CandidatePlanes& out) {
        std::size_t index = 0;
        for (const PortGroup& group : graph.groups_of(at)) {
            out.add_where_closer(index++, lengths->row(group.peer), lengths->row(at));
        }
    };
    return plan;
}

base::Result<Routes> route_minhop(const Topology& topology, const Routes* previous,
                                  const RouteOptions& options) {
    base::Result<Routes> routes = build_tables(topology, previous, options.threads, [&](const Graph& graph) {
        return minhop_plan(graph, options.threads);
    });
    if (routes) {
        routes->engine = "minhop";
    }
    return routes;
}

}  // namespace ibf::routing
