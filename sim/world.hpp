// DOC: the devices and the links between them.
//
// The World owns every Device, knows which port is cabled to which, walks packets over the links, and moves
// link states: a link that loses an end goes Down at both, PortStateChange is set in the switches concerned,
// and after the training time both ends come up in Init. Whoever changes links drains changed_switches() to
// let the agents send their traps. It answers no MAD (agent.hpp) and knows no packets' contents.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "sim/device.hpp"
#include "sim/event_queue.hpp"
#include "sim/simulator.hpp"

namespace ibf::sim {

struct PortRef {
    std::uint32_t node = kNoNode;
    mad::PortNum port{};
    auto operator<=>(const PortRef&) const = default;
};

/// Where a walk ended: the device and the port by which the packet entered it.
struct Arrival {
    PortRef at;
    std::uint32_t hops = 0;  ///< links crossed
};

/// Management packets on VL 15 pass any link that is not Down; data lanes need Active (IBA 7.2.7).
enum class Lane : std::uint8_t { management, data };

class World {
public:
    World(routing::Netlist netlist, const SimOptions& options, EventQueue& agenda);

    [[nodiscard]] const routing::Netlist& netlist() const { return netlist_; }
    [[nodiscard]] const SimOptions& options() const { return options_; }
    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(devices_.size()); }
    [[nodiscard]] Device& device(std::uint32_t node) { return devices_[node]; }
    [[nodiscard]] const Device& device(std::uint32_t node) const { return devices_[node]; }
    [[nodiscard]] Port& port(PortRef at) { return devices_[at.node].ports[at.port.value()]; }
    [[nodiscard]] const Port& port(PortRef at) const { return devices_[at.node].ports[at.port.value()]; }

    /// The other end of a working cable between two present devices, whatever the link state.
    [[nodiscard]] std::optional<PortRef> cabled_peer(PortRef at) const;
    /// The other end of a link that is up (Init or better at both ends).
    [[nodiscard]] std::optional<PortRef> linked_peer(PortRef at) const;

    /// Follows the initial path of a directed route from a client's port, noting the entry ports in `back`.
    /// Empty: lost on the way. IBA 14.2.2.
    [[nodiscard]] std::optional<Arrival> walk_directed(PortRef from, const mad::DrPath& path,
                                                       mad::DrPath& back);
    /// Follows a return path from the answering device.
    [[nodiscard]] std::optional<Arrival> walk_back(PortRef from, const mad::DrPath& back);
    /// Follows the programmed LFTs from a port to a LID.
    [[nodiscard]] std::optional<Arrival> walk_lid(PortRef from, mad::Lid to, Lane lane);

    /// The same as walk_lid on data lanes, but telling every step, and at which hop and why it broke.
    [[nodiscard]] base::Result<std::vector<Simulator::Step>> trace(PortRef from, mad::Lid to) const;

    /// Both ends go Down and poll; nothing happens to an end that is Down. Training starts by
    /// start_training().
    void take_down(PortRef at);
    /// Starts training where the cable works and both ends poll.
    void start_training(PortRef at, base::Instant now);
    void finish_training(PortRef at, std::uint32_t generation);
    /// The cables at two ports change their far ends, without a trace in any port's state.
    void swap_cables(PortRef a, PortRef b);
    /// Puts a device back to power-up state, its links down.
    void power_cycle(std::uint32_t node);

    /// Switches whose PortStateChange was set since the last call, in order, each once.
    [[nodiscard]] std::vector<std::uint32_t> drain_changed_switches();
    [[nodiscard]] bool anything_changed() const { return !changed_.empty(); }

    /// A node by description, id or GUID; the lowest index of several.
    [[nodiscard]] std::optional<std::uint32_t> find_node(const std::string& name) const;

private:
    void bring_up(PortRef a, PortRef b, mad::LinkWidth width, mad::LinkSpeed speed);
    void mark_changed(std::uint32_t node);
    void end_down(PortRef at);
    std::optional<PortRef> cross(PortRef exit, Lane lane);
    [[nodiscard]] bool passes(PortRef exit, PortRef entry, Lane lane) const;

    const routing::Netlist netlist_;
    const SimOptions options_;
    EventQueue& agenda_;
    std::vector<Device> devices_;
    std::vector<std::uint32_t> changed_;
    std::uint32_t switch_count_ = 0;
};

}  // namespace ibf::sim
