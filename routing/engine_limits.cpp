#include "routing/engine_limits.hpp"

#include <fmt/format.h>

namespace ibf::routing {

std::string lane_shortage(std::string_view engine, const Topology& topology, const RouteOptions& options,
                          std::uint8_t lanes) {
    if (lanes > options.vls_max) {
        return fmt::format("{} needs {} data lanes here, but at most {} may be used", engine, lanes,
                           options.vls_max);
    }
    for (const TopologySwitch& item : topology.switches) {
        for (std::size_t port = 1; port < item.peers.size(); ++port) {
            const PortPeer& peer = item.peers[port];
            if (peer.kind == PortPeer::Kind::switch_ && peer.data_vls < lanes) {
                return fmt::format(
                    "{} needs {} data lanes here, but the link from {} ({}) port {} to {} has {}", engine,
                    lanes, item.name, item.guid, port, topology.switches[peer.index].name, peer.data_vls);
            }
        }
    }
    return {};
}

std::string table_shortage(std::string_view engine, const Topology& topology) {
    for (const TopologySwitch& item : topology.switches) {
        if (item.lft_cap <= topology.max_lid) {
            return fmt::format(
                "{} needs every LID in every switch, but {} ({}) holds LIDs below {} only, and LID {} "
                "is in use",
                engine, item.name, item.guid, item.lft_cap, topology.max_lid);
        }
    }
    return {};
}

}  // namespace ibf::routing
