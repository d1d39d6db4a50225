// DOC: what the simulator's tests share: small hand-made fabrics, and a client that asks and waits in virtual
// time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mad/codec.hpp"
#include "sim/simulator.hpp"

namespace ibf::sim {

/// Hand-made netlists, so that these tests stand on no text reader or generator.
class FabricMaker {
public:
    std::uint32_t add(mad::NodeType type, const std::string& name, std::size_t ports);
    void connect(std::uint32_t a, std::uint8_t a_port, std::uint32_t b, std::uint8_t b_port,
                 mad::LinkSpeed speed);
    routing::Netlist netlist;
};

/// T1: switch "sw" (node 0, 4 ports), adapters "h1".."h4" (nodes 1..4) at its ports 1..4; EDR.
[[nodiscard]] routing::Netlist star_of_four();
/// T2 in small: leaves "leaf1", "leaf2" (0, 1), spines "spine1", "spine2" (2, 3), two adapters a leaf (4..7).
[[nodiscard]] routing::Netlist four_switches();

[[nodiscard]] mad::DrPath path_of(std::initializer_list<std::uint8_t> exits);

/// A simulator with one client joined, by default at "h1".
class SimBench {
public:
    SimBench(routing::Netlist netlist, const SimOptions& options, const std::string& node);
    explicit SimBench(routing::Netlist netlist);

    [[nodiscard]] mad::Smp request(mad::Method method, mad::Attribute attribute, std::uint32_t modifier,
                                   const mad::DrPath& path, const mad::AttributeData& data);
    /// Sends, lets the time pass and returns the first answer with the request's TID.
    std::optional<mad::Smp> ask(const mad::Smp& smp);
    std::optional<mad::Smp> ask_lid(mad::Smp smp, mad::Lid to);
    std::optional<mad::Smp> get(mad::Attribute attribute, std::uint32_t modifier, const mad::DrPath& path);
    std::optional<mad::Smp> set(mad::Attribute attribute, std::uint32_t modifier, const mad::DrPath& path,
                                const mad::AttributeData& data);
    [[nodiscard]] mad::PortInfo port_info(const mad::DrPath& path, std::uint8_t port);
    /// Status of a PortInfo Set; 0xFFFF where nothing came back.
    mad::MadStatus set_port(const mad::DrPath& path, std::uint8_t port, const mad::PortInfo& info);
    /// The last Get, with state and PhysState "no change".
    [[nodiscard]] mad::PortInfo settings(const mad::DrPath& path, std::uint8_t port);
    void pass(base::Duration time);
    [[nodiscard]] std::uint64_t breaks(const std::string& rule) const;
    /// SMPs that are no answers (traps, requests) since the last call.
    std::vector<mad::Smp> unsolicited();

    Simulator sim;
    Simulator::ClientId client = 0;
    std::vector<mad::WireMad> inbox;
    base::Instant now{};
    std::uint64_t next_tid = 100;
};

/// Injects a fault script now; it must be right.
void inject(SimBench& bench, const std::string& text);

/// Brings a fabric up as a subnet manager does, over MADs alone: LIDs (node + 1), tables of shortest paths,
/// MTU and VLs, Armed, Active. For these tests; it proves that the wire rules can be kept. Returns the Sets
/// refused.
std::size_t bring_up(SimBench& bench);
[[nodiscard]] inline mad::Lid lid_of(std::uint32_t node) {
    return mad::Lid{static_cast<std::uint16_t>(node + 1)};
}

}  // namespace ibf::sim
