#include "routing/dnup.hpp"

#include <algorithm>

#include "routing/updn.hpp"

namespace ibf::routing {

Heights heights_from_nearest_host(const Graph& graph, const ByteMatrix& distances) {
    Heights heights(graph.switch_count());
    for (std::uint32_t at = 0; at < graph.switch_count(); ++at) {
        std::uint8_t nearest = kUnreached;
        for (std::uint32_t to = 0; to < graph.switch_count(); ++to) {
            nearest = graph.hosts[to] != 0 ? std::min(nearest, distances.row(at)[to]) : nearest;
        }
        heights[at] = std::uint64_t{kUnreached} - nearest;
    }
    return heights;
}

base::Result<Routes> route_dnup(const Topology& topology, const Routes* previous,
                                const RouteOptions& options) {
    const HeightRule rule = [&](const Graph& graph, const Heights&) -> base::Result<Heights> {
        const base::Result<ByteMatrix> distances = hop_distances(graph, options.threads);
        if (!distances) {
            return tl::unexpected<base::Error>(distances.error());
        }
        return heights_from_nearest_host(graph, *distances);
    };
    return route_up_down("dnup", rule, topology, previous, options);
}

}  // namespace ibf::routing
