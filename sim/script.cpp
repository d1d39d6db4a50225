// What a fault does to devices and cables; see Fault in simulator.hpp.
#include <algorithm>

#include <fmt/format.h>

#include "sim/engine.hpp"

namespace ibf::sim {
namespace {

using Kind = Fault::Kind;
using mad::PortNum;

constexpr double kLeastShare = 0.001;  // of a link's rate: nothing at all would take for ever
constexpr base::Duration kDefaultPeriod = std::chrono::milliseconds{100};

bool is_standing(Kind kind) {
    switch (kind) {
        case Kind::drop:
        case Kind::delay:
        case Kind::duplicate:
        case Kind::reorder:
        case Kind::wrong_tid:
        case Kind::error_status:
        case Kind::slow_set: return true;
        default: return false;
    }
}

bool is_about_cable(Kind kind) {
    return kind == Kind::link_down || kind == Kind::link_up || kind == Kind::flap || kind == Kind::one_way ||
           kind == Kind::swap_cables || kind == Kind::lossy || kind == Kind::throttle;
}

base::Duration period_of(const Fault& fault) {
    return fault.delay.count() > 0 ? fault.delay : kDefaultPeriod;
}

}  // namespace

std::pair<std::string, std::optional<PortNum>> split_port(const std::string& where) {
    const std::size_t slash = where.rfind('/');
    const std::string digits = slash == std::string::npos ? "" : where.substr(slash + 1);
    const bool numeric =
        !digits.empty() && digits.size() <= 3 &&
        std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!numeric || std::stoul(digits) > 254) {
        return {where, std::nullopt};
    }
    return {where.substr(0, slash), PortNum{static_cast<std::uint8_t>(std::stoul(digits))}};
}

bool has_second(Kind kind) {
    return kind == Kind::swap_cables || kind == Kind::redirect_perf;
}

/// A node with its port: of a switch 0, of an adapter 1 where none is named.
base::Result<PortRef> Engine::find_port(const std::string& where) const {
    PortRef at;
    if (const std::optional<std::uint32_t> node = world_.find_node(where)) {
        at = {*node, PortNum{world_.device(*node).is_switch() ? std::uint8_t{0} : std::uint8_t{1}}};
    } else {
        const auto [name, port] = split_port(where);
        const std::optional<std::uint32_t> shorter = port ? world_.find_node(name) : std::nullopt;
        at = shorter ? PortRef{*shorter, *port} : PortRef{};
    }
    if (at.node == kNoNode || !world_.device(at.node).has_port(at.port.value())) {
        return base::fail(base::ErrorKind::not_found,
                          fmt::format("'{}' names no node or port of {}", where, world_.netlist().origin));
    }
    return at;
}

/// Whether the second one of two is there, and both are what the fault needs.
base::Result<void> Engine::check_second(const Fault& fault, std::size_t targets) const {
    if (!has_second(fault.kind)) {
        return {};
    }
    const base::Result<PortRef> second = find_port(fault.with);
    if (!second) {
        return tl::unexpected<base::Error>(second.error());
    }
    const bool cabled = world_.port(*second).peer_node != kNoNode;
    if (targets != 1 || (fault.kind == Kind::swap_cables && !cabled)) {
        return base::fail(
            base::ErrorKind::not_found,
            fmt::format("'{}' and '{}' are no two of a kind: name NODE/PORT with a cable, twice, "
                        "or two nodes",
                        fault.where, fault.with));
    }
    return {};
}

/// The devices, or the cabled ports, that a fault is about.
base::Result<std::vector<PortRef>> Engine::find_targets(const Fault& fault) const {
    std::vector<PortRef> targets;
    std::uint32_t first = 0;
    std::uint32_t end = world_.size();
    std::optional<PortNum> only;
    if (fault.where != "*") {
        std::optional<std::uint32_t> node = world_.find_node(fault.where);
        if (!node) {
            const auto [name, port] = split_port(fault.where);
            only = port;
            node = port ? world_.find_node(name) : std::nullopt;
        }
        if (!node || (only && !world_.device(*node).has_port(only->value()))) {
            return base::fail(base::ErrorKind::not_found, fmt::format("'{}' names no node or port of {}",
                                                                      fault.where, world_.netlist().origin));
        }
        first = *node;
        end = first + 1;
    }
    for (std::uint32_t node = first; node < end; ++node) {
        if (!is_about_cable(fault.kind)) {
            targets.push_back(
                {node, only.value_or(
                           PortNum{world_.device(node).is_switch() ? std::uint8_t{0} : std::uint8_t{1}})});
            continue;
        }
        for (std::size_t number = 1; number < world_.device(node).ports.size(); ++number) {
            const PortRef at{node, PortNum{static_cast<std::uint8_t>(number)}};
            if ((!only || *only == at.port) && world_.port(at).peer_node != kNoNode) {
                targets.push_back(at);
            }
        }
    }
    if (targets.empty()) {
        return base::fail(base::ErrorKind::not_found, fmt::format("no cable at '{}'", fault.where));
    }
    return targets;
}

void Engine::schedule(const std::vector<Fault>& faults) {
    for (const Fault& fault : faults) {
        agenda_.push(base::Instant{} + fault.at, Event::Kind::fault_due,
                     static_cast<std::uint32_t>(scheduled_.size()), 0);
        scheduled_.push_back(fault);
    }
}

base::Result<void> Engine::check_target(const Fault& fault) const {
    const base::Result<std::vector<PortRef>> targets = find_targets(fault);
    if (!targets) {
        return tl::unexpected<base::Error>(targets.error());
    }
    return check_second(fault, targets->size());
}

base::Result<void> Engine::inject(const Fault& fault, base::Instant now) {
    now_ = std::max(now_, now);
    const base::Result<std::vector<PortRef>> targets = find_targets(fault);
    if (!targets) {
        return tl::unexpected<base::Error>(targets.error());
    }
    if (const base::Result<void> second = check_second(fault, targets->size()); !second) {
        return second;
    }
    if (is_standing(fault.kind)) {
        any_standing_fault_ = true;
        const bool everywhere = fault.where == "*";
        faults_.add(fault, everywhere ? std::nullopt : std::optional{targets->front().node});
        return {};
    }
    for (const PortRef at : *targets) {
        apply(fault, at);
    }
    if (world_.anything_changed()) {
        send_link_traps();
    }
    return {};
}

void Engine::apply(const Fault& fault, PortRef at) {
    if (is_about_cable(fault.kind)) {
        apply_to_cable(fault, at);
    } else {
        apply_to_device(fault, at);
    }
}

void Engine::apply_to_cable(const Fault& fault, PortRef at) {
    switch (fault.kind) {
        case Kind::link_down: pull_cable(at); break;
        case Kind::link_up: plug_cable(at); break;
        case Kind::one_way: world_.port(at).transmit_dead = true; break;
        case Kind::lossy: world_.port(at).loss = fault.probability; break;
        case Kind::throttle: world_.port(at).share = std::max(fault.probability, kLeastShare); break;
        case Kind::swap_cables: world_.swap_cables(at, *find_port(fault.with)); break;
        case Kind::flap:
            periodic_.push_back({.fault = fault, .at = at, .left = fault.count});
            fault_repeat(static_cast<std::uint32_t>(periodic_.size() - 1));
            break;
        default: break;
    }
}

void Engine::apply_to_device(const Fault& fault, PortRef at) {
    Device& device = world_.device(at.node);
    switch (fault.kind) {
        case Kind::reboot: reboot(at.node, fault.delay); break;
        case Kind::dead: device.agent_dead = true; break;
        case Kind::alive: device.agent_dead = false; break;
        case Kind::mute_traps: device.mute = true; break;
        case Kind::corrupt_node_info: device.bad_node_info = true; break;
        case Kind::adaptive_routing: device.adaptive_routing = true; break;
        case Kind::no_extended_counters: device.extended_counters = false; break;
        case Kind::lft_entry: device.set_lft_entry(fault.lid, static_cast<std::uint8_t>(fault.number)); break;
        case Kind::redirect_perf: redirect_perf(fault, at); break;
        case Kind::remove_node:
            world_.power_cycle(at.node);
            device.present = false;
            break;
        case Kind::add_node:
            if (!device.present) {
                device.present = true;
                world_.power_cycle(at.node);
                train_all(at.node);
            }
            break;
        case Kind::trap:
            periodic_.push_back({.fault = fault, .at = at, .left = std::max(fault.count, 1U)});
            fault_repeat(static_cast<std::uint32_t>(periodic_.size() - 1));
            break;
        default: break;
    }
}

void Engine::redirect_perf(const Fault& fault, PortRef at) {
    const PortRef other = *find_port(fault.with);
    world_.device(other.node).perf_for[fault.number] = at.node;
    world_.device(at.node).perf_elsewhere = {
        .lid = world_.device(other.node).address_port(other.port).info.lid, .qp = fault.number};
}

void Engine::reboot(std::uint32_t node, base::Duration silent) {
    world_.power_cycle(node);
    Device& device = world_.device(node);
    device.agent_dead = silent.count() != 0;
    if (!device.agent_dead) {
        train_all(node);
        return;
    }
    agenda_.push(now_ + silent, Event::Kind::agent_back, node, device.boots);
}

void Engine::agent_back(std::uint32_t node, std::uint32_t boots) {
    Device& device = world_.device(node);
    if (device.boots == boots) {
        device.agent_dead = false;
        train_all(node);
    }
}

void Engine::train_all(std::uint32_t node) {
    for (std::size_t number = 1; number < world_.device(node).ports.size(); ++number) {
        world_.start_training({node, PortNum{static_cast<std::uint8_t>(number)}}, now_);
    }
}

void Engine::pull_cable(PortRef at) {
    world_.take_down(at);
    world_.port(at).cable_out = true;
}

void Engine::plug_cable(PortRef at) {
    Port& port = world_.port(at);
    port.cable_out = false;
    port.transmit_dead = false;
    const PortRef there{port.peer_node, port.peer_port};
    if (there.node < world_.size() && world_.device(there.node).has_port(there.port.value())) {
        world_.port(there).cable_out = false;
    }
    world_.start_training(at, now_);
}

void Engine::fault_repeat(std::uint32_t index) {
    Periodic& item = periodic_[index];
    if (item.fault.kind == Kind::trap) {
        const mad::PortInfo& issuer = world_.device(item.at.node).address_port(item.at.port).info;
        if (issuer.sm_lid == mad::kLidNone || issuer.lid == mad::kLidNone) {
            stray_trap(item.fault.number, item.at);
        } else {
            raise_trap(item.fault.number, item.at, 1);
        }
        if (--item.left > 0) {
            agenda_.push(now_ + period_of(item.fault), Event::Kind::fault_repeat, index, 0);
        }
        return;
    }
    item.down = !item.down;
    if (item.down) {
        pull_cable(item.at);
    } else {
        plug_cable(item.at);
        if (item.fault.count > 0 && --item.left == 0) {
            return;
        }
    }
    agenda_.push(now_ + period_of(item.fault), Event::Kind::fault_repeat, index, 0);
}

}  // namespace ibf::sim
