// DOC: the observed fabric.
//
// A Fabric is what one sweep saw: nodes, ports, links, and what had to be left aside and why. It is a value,
// built beside the previous one (sm/discovery) and then shared read-only. It holds what devices said; what we
// want them to be is a plan (sm/), never written back into it, except that acknowledged Sets update `info`.
//
// Node 0 is the SM's own node. Nodes are in order of discovery; whoever needs a stable order sorts by GUID.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mad/attributes.hpp"
#include "mad/ids.hpp"
#include "mad/link_rate.hpp"
#include "routing/topology.hpp"

namespace ibf::fabric {

inline constexpr std::uint32_t kNoNode = 0xFFFFFFFFU;

struct PortRef {
    std::uint32_t node = kNoNode;
    mad::PortNum port{};
    auto operator<=>(const PortRef&) const = default;
};

struct Port {
    bool known = false;  ///< PortInfo was read in this or an earlier sweep and is believed
    bool usable = true;  ///< false: connected, but its set-up failed; routing leaves it out (C71)
    mad::PortInfo info;
    mad::Guid guid{};                   ///< CA and router ports; for switches see Node
    PortRef peer;                       ///< kNoNode: no cable, or what hangs there was isolated
    mad::DrPath path;                   ///< CA and router ports: how to reach this port's own agent
    std::vector<mad::PKeyBlock> pkeys;  ///< CA/router ports and switch port 0: as read or acknowledged
};

struct Node {
    mad::NodeInfo info;
    std::string description;
    std::optional<mad::SwitchInfo> switch_info;
    mad::DrPath path;         ///< switches: to port 0. CAs and routers: to the port first reached
    std::vector<Port> ports;  ///< [0..num_ports]; [0] is used by switches only

    [[nodiscard]] bool is_switch() const { return info.type == mad::NodeType::switch_; }
    [[nodiscard]] mad::Guid guid() const { return info.node_guid; }
};

/// Why something connected is not part of the subnet.
enum class IsolationReason : std::uint8_t {
    silent,         ///< link is up, management agent does not answer
    bad_node_info,  ///< LocalPortNum above NumPorts, unknown type, no ports
    zero_guid,
    duplicate_guid,   ///< another device answered with this GUID first
    one_way,          ///< the far end names another port as its peer
    too_far,          ///< beyond 63 hops
    bad_switch_info,  ///< switch without usable SwitchInfo
    setup_failed,     ///< a Set was answered with an error status or not at all
    no_lid,           ///< LID space or a LinearFDBCap is exhausted
    quarantined,      ///< left out by the policy for ports that are ill (sm/health)
};
[[nodiscard]] std::string_view to_string(IsolationReason reason);

struct Isolation {
    IsolationReason reason = IsolationReason::silent;
    PortRef at;        ///< our side of the cable
    mad::Guid guid{};  ///< what it called itself, if it answered
    mad::DrPath path;  ///< to it
    std::string text;  ///< one sentence for the operator, both paths where two are involved
};

/// What an SM's SM_Key says of it. It shows it to a master only; zero is none.
enum class SmTrust : std::uint8_t { unknown, ours, foreign };
[[nodiscard]] std::string_view to_string(SmTrust trust);

/// A subnet manager seen at some port.
struct OtherSm {
    mad::Guid guid{};
    mad::Lid lid{};
    std::uint8_t priority = 0;
    mad::SmState state = mad::SmState::not_active;
    SmTrust trust = SmTrust::unknown;
    bool answered = true;  ///< false: the port says IsSM, its SM did not answer SMInfo
    std::uint32_t act_count = 0;
    PortRef at;
    bool operator==(const OtherSm&) const = default;
};

struct Fabric {
    std::vector<Node> nodes;
    std::vector<Isolation> isolations;
    std::vector<OtherSm> sms;
    PortRef local;  ///< the SM's own port

    [[nodiscard]] const Port& port(PortRef ref) const { return nodes[ref.node].ports[ref.port.value()]; }
    [[nodiscard]] Port& port(PortRef ref) { return nodes[ref.node].ports[ref.port.value()]; }
    [[nodiscard]] std::size_t switch_count() const;
    [[nodiscard]] std::size_t link_count() const;      ///< cables, each once
    [[nodiscard]] std::size_t end_port_count() const;  ///< CA and router ports that are linked
    /// Node by GUID, linear: who has many to look up makes a map.
    [[nodiscard]] std::uint32_t find(mad::Guid node_guid) const;
};

/// The port's LIDs as its PortInfo has them (switches: port 0's).
[[nodiscard]] mad::LidRange lids_of(const Node& node, mad::PortNum port);

/// What a port says of itself, with its node's capability bits: an external switch port has none of its own,
/// port 0 speaks for it (IBA 14.2.5.6). Which speed a port runs at can only be told from both.
[[nodiscard]] mad::PortInfo info_of(const Node& node, mad::PortNum port);
[[nodiscard]] mad::LinkSpeed speed_of(const Node& node, mad::PortNum port);

/// What a link runs at, and what both of its ends could.
struct LinkRates {
    mad::LinkRate running;
    mad::LinkRate possible;

    [[nodiscard]] bool below_capability() const { return mad::is_below(running, possible); }
};
/// REQUIRES: the port has a peer.
[[nodiscard]] LinkRates rates_of(const Fabric& fabric, PortRef at);

/// The ports that have addresses, and an agent behind them: port 0 of a switch, each of an adapter or router.
/// The first, and the one after the last: for (auto [p, end] = addressed_ports(node); p < end; ++p).
[[nodiscard]] inline std::pair<std::size_t, std::size_t> addressed_ports(const Node& node) {
    return node.is_switch() ? std::pair<std::size_t, std::size_t>{0, 1}
                            : std::pair<std::size_t, std::size_t>{1, node.ports.size()};
}

/// GUID that names a LID holder: port GUID of a CA/router port, node GUID of a switch.
[[nodiscard]] mad::Guid lid_owner(const Node& node, mad::PortNum port);

/// Routing's view of a fabric and the way back.
struct TopologyView {
    routing::Topology topology;
    std::vector<std::uint32_t> switch_nodes;  ///< by SwitchIndex: node in the fabric
    std::vector<PortRef> end_ports;           ///< by EndPortIndex
};

/// LIDs by owner GUID (lid_owner): what routing shall use; ports without an entry are left out of routing.
using LidMap = std::map<mad::Guid, mad::LidRange>;

[[nodiscard]] TopologyView topology_of(const Fabric& fabric, const LidMap& lids);

/// The same from an earlier view, at a fraction of the cost, where nothing but these nodes and their cables
/// differs: the same nodes in the same places, with the same LIDs, and all other ports as usable as they
/// were. nullopt: hosts came, went or moved, or a device is another one.
[[nodiscard]] std::optional<TopologyView> topology_after(const TopologyView& before, const Fabric& fabric,
                                                         const std::vector<std::uint32_t>& nodes);

}  // namespace ibf::fabric
