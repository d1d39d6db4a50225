// DOC: a slow, obvious look at who crosses what, for the tests of the probe.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "probe/flow.hpp"
#include "routing/routes.hpp"
#include "tests/unit/routing/engine_fixtures.hpp"

namespace ibf::probe::test {

using routing::EndPortIndex;
using routing::Routes;
using routing::Topology;

/// A link between switches: out of which port of which one.
using Link = std::pair<std::uint32_t, unsigned>;
using Links = std::set<Link>;

/// Hop by hop; nothing where it does not arrive.
inline Links links_of(const Topology& topology, const Routes& routes, EndPortIndex from, EndPortIndex to,
                      mad::Lid lid) {
    const auto hops = routing::trace_path(topology, routes, from, lid);
    Links links;
    if (!hops) {
        return links;
    }
    for (const routing::PathHop& hop : *hops) {
        if (hop.at.value() != topology.end_ports[to.value()].switch_index) {
            links.insert({hop.at.value(), hop.out.value()});
        }
    }
    return links;
}

inline std::vector<EndPortIndex> all_hosts(const Topology& topology) {
    std::vector<EndPortIndex> hosts;
    for (std::uint32_t end = 0; end < topology.end_ports.size(); ++end) {
        hosts.emplace_back(end);
    }
    return hosts;
}

/// The links of every pair's path, to each LID.
inline std::set<Links> paths_among(const Topology& topology, const Routes& routes,
                                   const std::vector<EndPortIndex>& hosts) {
    std::set<Links> paths;
    for (const EndPortIndex from : hosts) {
        for (const EndPortIndex to : hosts) {
            const mad::LidRange& lids = topology.end_ports[to.value()].lids;
            for (std::uint32_t lid = lids.base.value(); from != to && lid < lids.end(); ++lid) {
                paths.insert(links_of(topology, routes, from, to, mad::Lid{static_cast<std::uint16_t>(lid)}));
            }
        }
    }
    return paths;
}

inline Links all_of(const std::set<Links>& paths) {
    Links all;
    for (const Links& path : paths) {
        all.insert(path.begin(), path.end());
    }
    return all;
}

inline Links switch_links(const Topology& topology) {
    Links all;
    for (std::uint32_t at = 0; at < topology.switches.size(); ++at) {
        const auto& peers = topology.switches[at].peers;
        for (unsigned port = 1; port < peers.size(); ++port) {
            if (peers[port].kind == routing::PortPeer::Kind::switch_) {
                all.insert({at, port});
            }
        }
    }
    return all;
}

}  // namespace ibf::probe::test
