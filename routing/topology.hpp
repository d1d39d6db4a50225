// DOC: the input of routing.
//
// A Topology is a fabric reduced to what routing needs, with dense indices: switches, the end ports (CA and
// router ports) that hang off them, and the links between switches. Only healthy links whose both ends are
// known are in it. It is an immutable value once built: engines, verifier and quality figures share it.
//
// Order is the determinism rule of the project: switches are sorted by GUID, end ports by (node GUID, port
// number); ties everywhere are broken by index, so by GUID then port. Build one with TopologyBuilder, which
// sorts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "mad/ids.hpp"
#include "routing/netlist.hpp"

namespace ibf::routing {

using SwitchIndex = base::StrongInt<struct SwitchIndexTag, std::uint32_t>;
using EndPortIndex = base::StrongInt<struct EndPortIndexTag, std::uint32_t>;

inline constexpr std::uint32_t kNoIndex = 0xFFFFFFFFU;

/// What a cable offers to routing: what both of its ends have in common.
struct LinkTraits {
    std::uint8_t data_vls = 1;  ///< data lanes that both ends have, 1..15
    bool throttled = false;     ///< runs below what both ends could do (mad/link_rate.hpp)
    std::uint32_t mbps = 0;     ///< signalling rate that it runs at; 0: not known
};

/// What is at the other end of a switch port.
struct PortPeer {
    enum class Kind : std::uint8_t { none, switch_, end_port };
    Kind kind = Kind::none;
    mad::PortNum port{};             ///< peer's port number
    std::uint32_t index = kNoIndex;  ///< SwitchIndex or EndPortIndex value
    std::uint8_t data_vls = 1;       ///< as LinkTraits, and so are those below
    bool throttled = false;
    std::uint32_t mbps = 0;
    friend bool operator==(const PortPeer&, const PortPeer&) = default;
};

struct TopologySwitch {
    mad::Guid guid{};
    mad::LidRange lids{};  ///< of port 0; base 0 = not addressable (not routed to)
    std::uint8_t num_ports = 0;
    std::uint32_t lft_cap = 0xC000;  ///< LinearFDBCap: LIDs below this can be forwarded
    std::string name;
    std::vector<PortPeer> peers;  ///< [0..num_ports]; [0] unused
    friend bool operator==(const TopologySwitch&, const TopologySwitch&) = default;
};

struct TopologyEndPort {
    mad::Guid node_guid{};
    mad::Guid port_guid{};
    mad::PortNum port{};
    mad::NodeType type = mad::NodeType::ca;  ///< ca or router
    mad::LidRange lids{};                    ///< base 0 = not routed to
    std::uint32_t switch_index = kNoIndex;   ///< attached switch; kNoIndex: back to back
    mad::PortNum switch_port{};
    std::string name;
    friend bool operator==(const TopologyEndPort&, const TopologyEndPort&) = default;
};

struct Topology {
    std::vector<TopologySwitch> switches;    ///< by SwitchIndex, sorted by GUID
    std::vector<TopologyEndPort> end_ports;  ///< by EndPortIndex, sorted by (node GUID, port)
    std::uint16_t max_lid = 0;               ///< highest unicast LID in use

    [[nodiscard]] std::size_t lid_count() const;   ///< LIDs in use, LMC ranges counted whole
    [[nodiscard]] std::size_t link_count() const;  ///< switch-switch and end-port links, each once
    /// The switch of that GUID; kNoIndex: there is none.
    [[nodiscard]] std::uint32_t find_switch(mad::Guid guid) const;
    friend bool operator==(const Topology&, const Topology&) = default;
};

/// Highest unicast LID of its switches and end ports; 0: none has any.
[[nodiscard]] std::uint16_t highest_lid(const Topology& topology);

/// Collects switches, end ports and links in any order and hands out a sorted Topology.
/// Calls may come in any order; links to unknown nodes are dropped by build().
class TopologyBuilder {
public:
    void add_switch(TopologySwitch item);     ///< peers are filled by add_link
    void add_end_port(TopologyEndPort item);  ///< switch_index/switch_port are filled by add_link
    /// A cable between (node GUID, port) and (node GUID, port); either end may be a switch or an end port.
    void add_link(mad::Guid a, mad::PortNum a_port, mad::Guid b, mad::PortNum b_port,
                  const LinkTraits& traits);
    [[nodiscard]] Topology build();

private:
    struct Cable {
        mad::Guid a, b;
        mad::PortNum a_port, b_port;
        LinkTraits traits;
    };
    std::vector<TopologySwitch> switches_;
    std::vector<TopologyEndPort> end_ports_;
    std::vector<Cable> cables_;
};

/// Topology of a netlist: LIDs as the netlist says where they are valid and unique, else new ones laid out by
/// attachment (the hosts of one switch get consecutive LIDs, switches after them), each a multiple of 2^lmc.
/// Errors: unsupported when the LID space (49,151) is too small.
[[nodiscard]] base::Result<Topology> topology_of(const Netlist& netlist, std::uint8_t lmc);

}  // namespace ibf::routing
