#include "sim/world.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/link_speed.hpp"

namespace ibf::sim {
namespace {

using mad::PhysState;
using mad::PortNum;
using mad::PortState;

/// A MAD on the wire, LRH to ICRC, in 32-bit words: 8 + 12 + 8 + 256 + 4 bytes.
constexpr std::uint64_t kPacketWords = 72;

bool accepts(const Port& port, mad::Lid lid) {
    return mad::LidRange{port.info.lid, port.info.lmc}.contains(lid);
}

bool willing(const Port& port) {
    return port.info.phys_state == PhysState::polling || port.info.phys_state == PhysState::training;
}

std::uint8_t forwarding_port(const Device& device, mad::Lid lid) {
    return lid.value() > device.switch_info.linear_fdb_top ? mad::kLftDrop : device.lft_entry(lid);
}

}  // namespace

World::World(routing::Netlist netlist, const SimOptions& options, EventQueue& agenda)
    : netlist_(std::move(netlist)), options_(options), agenda_(agenda) {
    devices_.reserve(netlist_.nodes.size());
    for (const routing::NetlistNode& node : netlist_.nodes) {
        devices_.push_back(make_device(node, options_));
        switch_count_ += devices_.back().is_switch() ? 1U : 0U;
    }
    // A simulation begins with every cable trained: links are in Init, as an SM finds them.
    for (std::uint32_t node = 0; node < size(); ++node) {
        for (std::size_t number = 0; number < devices_[node].ports.size(); ++number) {
            const PortRef here{node, PortNum{static_cast<std::uint8_t>(number)}};
            const std::optional<PortRef> there = cabled_peer(here);
            if (there && !(*there < here)) {
                bring_up(here, *there, port(here).cable_width, port(here).cable_speed);
            }
        }
    }
    changed_.clear();
}

std::optional<PortRef> World::cabled_peer(PortRef at) const {
    const Port& here = port(at);
    if (here.peer_node >= devices_.size() || here.cable_out || !devices_[at.node].present) {
        return std::nullopt;
    }
    const PortRef there{here.peer_node, here.peer_port};
    const Device& device = devices_[there.node];
    const bool works = device.present && device.has_port(there.port.value()) && !port(there).cable_out;
    return works ? std::optional{there} : std::nullopt;
}

std::optional<PortRef> World::linked_peer(PortRef at) const {
    const std::optional<PortRef> there = cabled_peer(at);
    const bool up =
        there && port(at).info.state >= PortState::init && port(*there).info.state >= PortState::init;
    return up ? there : std::nullopt;
}

bool World::passes(PortRef exit, PortRef entry, Lane lane) const {
    const PortState least = lane == Lane::data ? PortState::active : PortState::init;
    return !port(exit).transmit_dead && port(exit).info.state >= least && port(entry).info.state >= least;
}

std::optional<PortRef> World::cross(PortRef exit, Lane lane) {
    const std::optional<PortRef> entry = cabled_peer(exit);
    if (!entry || !passes(exit, *entry, lane)) {
        return std::nullopt;
    }
    Traffic& out = port(exit).traffic;
    ++out.transmit_packets;
    out.transmit_words += kPacketWords;
    Traffic& in = port(*entry).traffic;
    ++in.receive_packets;
    in.receive_words += kPacketWords;
    return entry;
}

std::optional<Arrival> World::walk_directed(PortRef from, const mad::DrPath& path, mad::DrPath& back) {
    back = mad::DrPath{};
    back.hops = path.hops;
    PortRef at = from;
    for (std::uint32_t hop = 1; hop <= path.hops; ++hop) {
        const Device& device = devices_[at.node];
        const std::uint8_t exit = path.ports[hop];
        // Only switches pass a directed route on; an adapter sends by the port the sender sits at.
        const bool own_port = hop == 1 && exit == from.port.value();
        if (exit == 0 || !device.has_port(exit) || !(device.is_switch() || own_port)) {
            return std::nullopt;
        }
        const std::optional<PortRef> entry = cross(PortRef{at.node, PortNum{exit}}, Lane::management);
        if (!entry) {
            return std::nullopt;
        }
        at = *entry;
        back.ports[hop] = at.port.value();
    }
    return Arrival{.at = at, .hops = path.hops};
}

std::optional<Arrival> World::walk_back(PortRef from, const mad::DrPath& back) {
    PortRef at = from;
    for (std::uint32_t hop = back.hops; hop >= 1; --hop) {
        const Device& device = devices_[at.node];
        const std::uint8_t exit = back.ports[hop];
        const bool passes_on = device.is_switch() || hop == back.hops;
        if (exit == 0 || !device.has_port(exit) || !passes_on) {
            return std::nullopt;
        }
        const std::optional<PortRef> entry = cross(PortRef{at.node, PortNum{exit}}, Lane::management);
        if (!entry) {
            return std::nullopt;
        }
        at = *entry;
    }
    return Arrival{.at = at, .hops = back.hops};
}

std::optional<Arrival> World::walk_lid(PortRef from, mad::Lid to, Lane lane) {
    if (accepts(devices_[from.node].address_port(from.port), to)) {
        return Arrival{.at = from, .hops = 0};
    }
    PortRef at = from;
    // A packet has no hop limit on the wire; here it is lost once it must be going round.
    for (std::uint32_t hops = 0; hops <= switch_count_ + 1; ++hops) {
        const Device& device = devices_[at.node];
        std::uint8_t exit = at.port.value();
        if (device.is_switch()) {
            exit = forwarding_port(device, to);
            if (exit == 0) {
                return accepts(device.ports[0], to) ? std::optional{Arrival{at, hops}} : std::nullopt;
            }
        } else if (hops > 0) {
            return accepts(device.ports[exit], to) ? std::optional{Arrival{at, hops}} : std::nullopt;
        }
        if (!device.has_port(exit)) {
            return std::nullopt;
        }
        const std::optional<PortRef> entry = cross(PortRef{at.node, PortNum{exit}}, lane);
        if (!entry) {
            return std::nullopt;
        }
        at = *entry;
    }
    return std::nullopt;
}

base::Result<std::vector<Simulator::Step>> World::trace(PortRef from, mad::Lid to) const {
    std::vector<Simulator::Step> steps;
    const auto broken = [&](PortRef at, const std::string& why) {
        return base::fail(base::ErrorKind::not_found,
                          fmt::format("hop {} at {} port {}: {}", steps.size(), devices_[at.node].description,
                                      at.port, why));
    };
    if (from.node >= size() || !devices_[from.node].has_port(from.port.value())) {
        return base::fail(base::ErrorKind::not_found,
                          fmt::format("no node {} port {}", from.node, from.port));
    }
    if (accepts(devices_[from.node].address_port(from.port), to)) {
        return steps;
    }
    PortRef at = from;
    while (steps.size() <= switch_count_ + 1U) {
        const Device& device = devices_[at.node];
        PortNum exit = at.port;
        if (device.is_switch()) {
            exit = PortNum{forwarding_port(device, to)};
        } else if (!steps.empty()) {
            return accepts(device.ports[exit.value()], to)
                       ? base::Result<std::vector<Simulator::Step>>{steps}
                       : broken(at, fmt::format("the adapter does not have LID {}", to));
        }
        if (exit.value() == mad::kLftDrop || !device.has_port(exit.value())) {
            return broken(at, fmt::format("no forwarding entry for LID {}", to));
        }
        steps.push_back({.node = at.node, .out = exit});
        if (device.is_switch() && exit.value() == 0) {
            return accepts(device.ports[0], to) ? base::Result<std::vector<Simulator::Step>>{steps}
                                                : broken(at, fmt::format("port 0 does not have LID {}", to));
        }
        const PortRef out{at.node, exit};
        const std::optional<PortRef> entry = cabled_peer(out);
        if (!entry || !passes(out, *entry, Lane::data)) {
            return broken(out, "the link is not Active");
        }
        at = *entry;
    }
    return broken(at, fmt::format("the tables loop for LID {}", to));
}

void World::mark_changed(std::uint32_t node) {
    if (!devices_[node].is_switch()) {
        return;
    }
    devices_[node].switch_info.port_state_change = true;
    if (std::find(changed_.begin(), changed_.end(), node) == changed_.end()) {
        changed_.push_back(node);
    }
}

void World::bring_up(PortRef a, PortRef b, mad::LinkWidth width, mad::LinkSpeed speed) {
    for (const PortRef end : {a, b}) {
        mad::PortInfo info = port(end).info;
        info.state = PortState::init;
        info.phys_state = PhysState::link_up;
        set_active(info, width, speed);
        port(end).store(info);
        mark_changed(end.node);
    }
}

void World::end_down(PortRef at) {
    Port& here = port(at);
    ++here.training;  // a training under way is void
    if (here.info.state == PortState::down) {
        return;
    }
    mad::PortInfo info = here.info;
    info.state = PortState::down;
    info.phys_state = PhysState::polling;
    set_inactive(info);
    here.store(info);
    std::uint8_t& downed = here.tables().errors.link_downed;
    downed = static_cast<std::uint8_t>(std::min(downed + 1, 255));
    mark_changed(at.node);
}

void World::take_down(PortRef at) {
    const Port& here = port(at);
    const PortRef there{here.peer_node, here.peer_port};
    end_down(at);
    const bool has_peer = there.node < devices_.size() && devices_[there.node].has_port(there.port.value());
    if (has_peer && there != at) {
        end_down(there);
    }
}

void World::start_training(PortRef at, base::Instant now) {
    const std::optional<PortRef> there = cabled_peer(at);
    if (!there || !willing(port(at)) || !willing(port(*there))) {
        return;
    }
    for (const PortRef end : {at, *there}) {
        mad::PortInfo info = port(end).info;
        info.phys_state = PhysState::training;
        port(end).store(info);
    }
    const std::uint32_t generation = ++port(at).training;
    agenda_.push(now + options_.link_training, Event::Kind::trained, at.node,
                 (generation << 8U) | at.port.value());
}

void World::finish_training(PortRef at, std::uint32_t generation) {
    const std::optional<PortRef> there = cabled_peer(at);
    const bool current = (port(at).training & 0xFFFFFFU) == generation;
    if (!there || !current || port(at).info.phys_state != PhysState::training ||
        port(*there).info.phys_state != PhysState::training) {
        return;
    }
    const mad::PortInfo& a = port(at).info;
    const mad::PortInfo& b = port(*there).info;
    bring_up(at, *there, negotiate_width(a, b, port(at).cable_width),
             negotiate_speed(a, b, port(at).cable_speed));
}

void World::swap_cables(PortRef a, PortRef b) {
    const PortRef far_a{port(a).peer_node, port(a).peer_port};
    const PortRef far_b{port(b).peer_node, port(b).peer_port};
    if (a == b || far_a == b) {
        return;  // one cable
    }
    const auto join = [this](PortRef from, PortRef to) {
        port(from).peer_node = to.node;
        port(from).peer_port = to.port;
    };
    join(a, far_b);
    join(far_b, a);
    join(b, far_a);
    join(far_a, b);
}

void World::power_cycle(std::uint32_t node) {
    Device& target = devices_[node];
    for (std::size_t number = target.is_switch() ? 1 : 0; number < target.ports.size(); ++number) {
        take_down(PortRef{node, PortNum{static_cast<std::uint8_t>(number)}});
    }
    power_up(target, netlist_.nodes[node], options_);
    ++target.boots;
}

std::vector<std::uint32_t> World::drain_changed_switches() {
    return std::exchange(changed_, {});
}

std::optional<std::uint32_t> World::find_node(const std::string& name) const {
    const base::Result<mad::Guid> guid = mad::parse_guid(name);
    std::optional<std::uint32_t> by_guid;
    for (std::uint32_t node = 0; node < size(); ++node) {
        const routing::NetlistNode& source = netlist_.nodes[node];
        if (source.description == name || source.id == name) {
            return node;
        }
        if (!by_guid && guid && source.guid == *guid) {
            by_guid = node;
        }
    }
    return by_guid;
}

}  // namespace ibf::sim
