// DOC: up*/down*: no packet goes up again after it went down, so one virtual lane cannot deadlock.
//
// "Up" is a total order of the switches, built so that every component has one first switch and every other
// switch has an earlier neighbour: a legal path then exists between any two switches, whatever is damaged.
// docs/routing/updn.md tells how the order keeps the short paths of a tree.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "routing/graph.hpp"
#include "routing/routes.hpp"

namespace ibf::routing {

/// position[s]: the place of switch s in the up/down order; a hop to a smaller position goes up.
/// Switches marked in `last` come as late as connectivity allows.
[[nodiscard]] std::vector<std::uint32_t> updn_order(const Graph& graph, const Heights& heights,
                                                    const std::vector<char>& last);

/// Heights by distance from given roots; components that hold no root keep their heights from the hosts.
[[nodiscard]] Heights heights_from_roots(const Graph& graph, const std::vector<std::uint32_t>& roots,
                                         const Heights& from_hosts);

/// How high the switches of the whole graph stand in the order.
using HeightRule = std::function<base::Result<Heights>(const Graph& graph, const Heights& from_hosts)>;

/// Up*/down* over the order that these heights make; engines that rank switches in another way use it too.
[[nodiscard]] base::Result<Routes> route_up_down(std::string_view engine, const HeightRule& rule,
                                                 const Topology& topology, const Routes* previous,
                                                 const RouteOptions& options);

[[nodiscard]] base::Result<Routes> route_updn(const Topology& topology, const Routes* previous,
                                              const RouteOptions& options);

}  // namespace ibf::routing
