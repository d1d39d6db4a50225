#include "sim/engine.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/perf_agent.hpp"

namespace ibf::sim {
namespace {

using mad::Attribute;
using mad::Method;
using mad::MgmtClass;

constexpr std::uint64_t kTidSpoiler = 0x5A5A;

bool is_method(const mad::MadHeader& header, Method method) {
    return header.method == static_cast<std::uint8_t>(method);
}

std::string method_name(std::uint8_t method) {
    switch (static_cast<Method>(method)) {
        case Method::get: return "Get";
        case Method::set: return "Set";
        default: return fmt::format("method-0x{:02x}", method);
    }
}

bool is_subnet_class(MgmtClass mgmt_class) {
    return mgmt_class == MgmtClass::subn_directed || mgmt_class == MgmtClass::subn_lid;
}

/// The port of its device that a walk starts from: adapters use their own, switches choose by table.
PortRef walk_start(const World& world, PortRef at) {
    return world.device(at.node).is_switch() ? PortRef{at.node, mad::PortNum{0}} : at;
}

}  // namespace

Engine::Engine(routing::Netlist netlist, const SimOptions& options)
    : world_(std::move(netlist), options, agenda_), agent_(world_), prng_(options.seed) {}

base::Result<Engine::ClientId> Engine::join(const std::string& node, std::uint8_t port, Deliver deliver) {
    PortRef at;
    const auto first_linked = [&](std::uint32_t index) {
        const Device& device = world_.device(index);
        for (std::size_t number = 1; number < device.ports.size(); ++number) {
            if (device.ports[number].peer_node != kNoNode) {
                return mad::PortNum{static_cast<std::uint8_t>(number)};
            }
        }
        return mad::PortNum{0};
    };
    if (node.empty()) {
        // The first adapter with a cable; where none has one, the first: it waits for its cable, as a real
        // one would.
        for (std::uint32_t index = 0; index < world_.size() && at.port.value() == 0; ++index) {
            if (world_.device(index).info.type == mad::NodeType::ca &&
                (at.node == kNoNode || first_linked(index).value() != 0)) {
                at = {index, first_linked(index)};
            }
        }
        if (at.node == kNoNode) {
            return base::fail(base::ErrorKind::not_found,
                              "there is no adapter to join at: name a node (--sim-node)");
        }
        at.port = std::max(at.port, mad::PortNum{1});
    } else if (const std::optional<std::uint32_t> found = world_.find_node(node)) {
        const Device& device = world_.device(*found);
        at = {*found, device.is_switch() ? mad::PortNum{0} : first_linked(*found)};
        if (!device.is_switch() && at.port.value() == 0) {
            at.port = mad::PortNum{1};
        }
    } else {
        return base::fail(
            base::ErrorKind::not_found,
            fmt::format("no node '{}' in {}: give a description, id or GUID", node, world_.netlist().origin));
    }
    const Device& device = world_.device(at.node);
    if (port != 0 && !device.is_switch()) {
        at.port = mad::PortNum{port};
    }
    if (!device.has_port(at.port.value())) {
        return base::fail(base::ErrorKind::not_found,
                          fmt::format("'{}' has no port {}: its last is {}", device.description, at.port,
                                      device.info.num_ports));
    }
    clients_.push_back(Client{.at = at, .deliver = std::move(deliver)});
    return static_cast<ClientId>(clients_.size() - 1);
}

mad::LocalPort Engine::local_port(ClientId client) const {
    const PortRef at = clients_[client].at;
    const Device& device = world_.device(at.node);
    const mad::PortInfo& info = world_.port(at).info;
    return {.device = "sim0",
            .port = at.port,
            .port_guid = device.address_port(at.port).guid,
            .node_guid = device.info.node_guid,
            .state_text = fmt::format("{} ({}), {}", mad::to_string(info.state),
                                      mad::to_string(info.phys_state), device.description)};
}

void Engine::set_is_sm(ClientId client, bool on) {
    Client& who = clients_[client];
    who.is_sm = on;
    Port& port = world_.device(who.at.node).address_port(who.at.port);
    mad::PortInfo info = port.info;
    info.capability_mask = on ? info.capability_mask | kCapIsSm : info.capability_mask & ~kCapIsSm;
    if (info.capability_mask != port.info.capability_mask) {
        port.store(info);
        raise_trap(kTrapCapability, who.at, world_.options().trap_sends);
    }
}

std::uint32_t Engine::acquire() {
    if (free_packets_.empty()) {
        packets_.emplace_back();
        return static_cast<std::uint32_t>(packets_.size() - 1);
    }
    const std::uint32_t slot = free_packets_.back();
    free_packets_.pop_back();
    return slot;
}

void Engine::release(std::uint32_t slot) {
    free_packets_.push_back(slot);
}

void Engine::lose(std::uint32_t slot) {
    ++counters_.lost;
    release(slot);
}

void Engine::send(ClientId client, const mad::WireMad& mad, base::Instant now) {
    now_ = std::max(now_, now);
    base::Result<mad::MadHeader> header = mad::parse_header(mad.bytes);
    if (!header) {
        ++counters_.lost;
        return;
    }
    const std::uint32_t slot = acquire();
    Packet& packet = packets_[slot];
    packet = Packet{};
    packet.is_smp = is_subnet_class(header->mgmt_class);
    if (packet.is_smp) {
        // A wrong class version is the agent's to answer: read past it, and keep it.
        mad::MadBuffer bytes = mad.bytes;
        bytes[2] = 1;
        base::Result<mad::Smp> smp = mad::parse_smp(bytes);
        if (!smp) {
            lose(slot);
            return;
        }
        packet.smp = std::move(*smp);
        packet.smp.header.class_version = header->class_version;
    } else {
        packet.bytes = mad.bytes;
        packet.header = *header;
    }
    packet.to = mad.address;
    packet.source = clients_[client].at;
    const mad::PortInfo& own = world_.device(packet.source.node).address_port(packet.source.port).info;
    packet.from_lid = own.lid;
    if (!header->is_response()) {
        packet.asker = client;
    }
    agenda_.push(now_, Event::Kind::depart, slot, 0);
}

void Engine::advance(base::Instant until) {
    while (!agenda_.empty() && agenda_.next() <= until) {
        const Event event = agenda_.pop();
        now_ = std::max(now_, event.at);
        run(event);
        if (world_.anything_changed()) {
            send_link_traps();
        }
    }
    now_ = std::max(now_, until);
}

std::optional<base::Instant> Engine::next_event() const {
    return agenda_.empty() ? std::nullopt : std::optional{agenda_.next()};
}

void Engine::run(const Event& event) {
    switch (event.kind) {
        case Event::Kind::depart: depart(event.a); break;
        case Event::Kind::arrive: arrive(event.a); break;
        case Event::Kind::serve: serve(event.a); break;
        case Event::Kind::deliver: deliver(event.a); break;
        case Event::Kind::trained:
            world_.finish_training({event.a, mad::PortNum{static_cast<std::uint8_t>(event.b & 0xFFU)}},
                                   event.b >> 8U);
            break;
        case Event::Kind::trap_due: trap_due(event.a); break;
        case Event::Kind::fault_due:
            // Scheduled faults were checked by their owner; one that names nothing changes nothing.
            static_cast<void>(inject(scheduled_[event.a], now_));
            break;
        case Event::Kind::fault_repeat: fault_repeat(event.a); break;
        case Event::Kind::agent_back: agent_back(event.a, event.b); break;
    }
}

void Engine::depart(std::uint32_t slot) {
    Packet& packet = packets_[slot];
    std::optional<Arrival> arrival;
    if (!packet.directed()) {
        const Lane lane = packet.is_smp ? Lane::management : Lane::data;
        arrival = world_.walk_lid(walk_start(world_, packet.source), packet.to.lid, lane);
    } else if (packet.smp.returning || packet.smp.header.is_response()) {
        packet.smp.returning = true;
        packet.smp.hop_pointer = 0;
        arrival = world_.walk_back(packet.source, packet.smp.return_path);
    } else {
        arrival = world_.walk_directed(packet.source, packet.smp.path, packet.smp.return_path);
        packet.smp.hop_pointer = static_cast<std::uint8_t>(packet.smp.path.hops + 1);
    }
    if (!arrival) {
        lose(slot);
        return;
    }
    packet.at = arrival->at;
    agenda_.push(now_ + world_.options().hop_delay * arrival->hops, Event::Kind::arrive, slot, 0);
}

/// Whether a client, not the device's own agent, is to see the packet.
bool Engine::goes_to_client(const Packet& packet) const {
    const mad::MadHeader& header = packet.head();
    if (!packet.is_smp) {
        return header.mgmt_class != MgmtClass::perf || header.is_response();
    }
    if (header.attribute == Attribute::sm_info && !header.is_response()) {
        const std::optional<ClientId> client = receiver(packet);
        return client && clients_[*client].is_sm;
    }
    return header.is_response() || is_method(header, Method::trap) || is_method(header, Method::report);
}

/// The client at the port where the packet arrived: the asker of an answer, else the SM, else the first.
std::optional<Engine::ClientId> Engine::receiver(const Packet& packet) const {
    const std::uint32_t node = packet.at.node;
    const bool is_switch = world_.device(node).is_switch();
    std::optional<ClientId> best;
    const bool response = packet.head().is_response();
    const std::uint64_t hint = packet.asker ? *packet.asker : packet.head().tid >> 32U;
    for (ClientId id = 0; id < clients_.size(); ++id) {
        const Client& client = clients_[id];
        if (client.at.node != node || (!is_switch && client.at.port != packet.at.port)) {
            continue;
        }
        if (response && id == hint) {
            return id;
        }
        if (!best || (!response && client.is_sm && !clients_[*best].is_sm)) {
            best = id;
        }
    }
    return best;
}

void Engine::arrive(std::uint32_t slot) {
    Packet& packet = packets_[slot];
    const mad::MadHeader& header = packet.head();
    if (!world_.device(packet.at.node).present) {
        lose(slot);
    } else if (goes_to_client(packet)) {
        deliver(slot);
    } else if (packet.is_smp && is_method(header, Method::trap_repress)) {
        traps_.repress(packet.at.node, header.tid);
        release(slot);
    } else if (packet.is_smp && !packet.directed() && !world_.options().lid_routed_smps) {
        lose(slot);
    } else {
        queue_for_agent(slot);
    }
}

void Engine::queue_for_agent(std::uint32_t slot) {
    Packet& packet = packets_[slot];
    Device& device = world_.device(packet.at.node);
    if (any_standing_fault_) {
        packet.verdict = faults_.judge(packet.at.node, packet.head(), prng_);
    }
    if (device.agent_dead || packet.verdict.drop_request) {
        lose(slot);
        return;
    }
    const base::Instant done =
        std::max(now_, device.busy_until) + world_.options().agent_delay + packet.verdict.slow;
    if (packet.is_smp && is_optimised_sl2vl(packet.smp.header)) {
        packet.overlaps = now_ < device.sl2vl_busy_until;
        if (packet.verdict.slow.count() > 0) {
            device.sl2vl_busy_until = done;
        }
    }
    device.busy_until = done;
    agenda_.push(done, Event::Kind::serve, slot, 0);
}

void Engine::count(const mad::MadHeader& header) {
    ++counters_.mads;
    counters_.sets += is_method(header, Method::set) ? 1U : 0U;
    // The performance class has attribute numbers of its own: keep the classes apart.
    const std::uint32_t perf = header.mgmt_class == MgmtClass::perf ? 1U << 31U : 0U;
    ++kinds_[perf | std::uint32_t{header.method} << 16U | static_cast<std::uint32_t>(header.attribute)];
}

void Engine::serve(std::uint32_t slot) {
    Packet& packet = packets_[slot];
    Device& device = world_.device(packet.at.node);
    if (device.agent_dead || !device.present) {
        lose(slot);
        return;
    }
    count(packet.head());
    if (packet.is_smp) {
        serve_smp(slot);
        return;
    }
    packet.bytes = serve_performance(world_, packet.at, packet.bytes, packet.header);
    packet.header.method = static_cast<std::uint8_t>(Method::get_resp);
    answer(slot);
}

void Engine::serve_smp(std::uint32_t slot) {
    Packet& packet = packets_[slot];
    Answer result;
    if (packet.verdict.status) {
        result = Answer::failed(*packet.verdict.status, packet.smp.data);
    } else if (packet.overlaps) {
        result = Answer::refused(Rule::sl2vl_overlap, packet.smp.data);
    } else {
        result = agent_.serve(packet.at, packet.smp, now_);
    }
    if (result.broken) {
        ++counters_.rule_breaks;
        ++broken_[static_cast<std::size_t>(*result.broken)];
    }
    if (observer_) {
        observer_(now_, packet.at.node, packet.smp, result.status);
    }
    if (result.silent || packet.verdict.drop_answer) {
        lose(slot);
        return;
    }
    packet.smp.header.method = static_cast<std::uint8_t>(Method::get_resp);
    packet.smp.header.status = result.status;
    packet.smp.data = result.data;
    packet.smp.returning = packet.directed();
    packet.smp.hop_pointer = 0;
    if (packet.verdict.wrong_tid) {
        packet.smp.header.tid ^= kTidSpoiler;
    }
    answer(slot);
}

std::optional<Arrival> Engine::walk_answer(const Packet& packet) {
    if (packet.directed()) {
        return world_.walk_back(packet.at, packet.smp.return_path);
    }
    const Lane lane = packet.is_smp ? Lane::management : Lane::data;
    return world_.walk_lid(walk_start(world_, packet.at), packet.from_lid, lane);
}

/// Sends the packet, now an answer, back to who asked.
void Engine::answer(std::uint32_t slot) {
    Packet& packet = packets_[slot];
    const std::optional<Arrival> arrival = walk_answer(packet);
    if (!arrival) {
        lose(slot);
        return;
    }
    packet.from_lid = world_.device(packet.at.node).address_port(packet.at.port).info.lid;
    packet.source = packet.at;
    packet.at = arrival->at;
    const base::Instant when = now_ + world_.options().hop_delay * arrival->hops + packet.verdict.delay;
    agenda_.push(when, Event::Kind::deliver, slot, 0);
    if (packet.verdict.duplicate) {
        const std::uint32_t copy = acquire();
        packets_[copy] = packets_[slot];
        agenda_.push(when, Event::Kind::deliver, copy, 0);
    }
}

mad::WireMad Engine::wire_form(const Packet& packet) {
    mad::WireMad out;
    out.bytes = packet.is_smp ? mad::encode_smp(packet.smp) : packet.bytes;
    out.address = packet.to;
    out.address.lid = packet.directed() ? mad::kLidPermissive : packet.from_lid;
    out.address.qp = packet.is_smp ? 0 : 1;
    return out;
}

void Engine::deliver(std::uint32_t slot) {
    const std::optional<ClientId> client = receiver(packets_[slot]);
    if (!client) {
        lose(slot);
        return;
    }
    mad::WireMad mad = wire_form(packets_[slot]);
    release(slot);
    ++counters_.delivered;
    if (clients_[*client].deliver) {
        clients_[*client].deliver(std::move(mad));
    }
}

void Engine::send_link_traps() {
    for (const std::uint32_t node : world_.drain_changed_switches()) {
        raise_trap(kTrapLinkState, {node, mad::PortNum{0}}, world_.options().trap_sends);
    }
}

/// `subject`: the port that the trap speaks of; it is sent by the port that carries the device's address.
void Engine::raise_trap(std::uint16_t number, PortRef subject, std::uint32_t sends) {
    const Device& device = world_.device(subject.node);
    const Port& issuer = device.address_port(subject.port);
    const bool has_master = issuer.info.sm_lid != mad::kLidNone && issuer.info.lid != mad::kLidNone;
    if (!has_master || device.mute || device.agent_dead || !device.present) {
        return;
    }
    const PortRef from{subject.node, device.is_switch() ? mad::PortNum{0} : subject.port};
    if (const std::optional<std::uint32_t> slot =
            traps_.add(from, make_notice(number, device, issuer, subject.port), sends)) {
        agenda_.push(now_ + world_.options().agent_delay, Event::Kind::trap_due, *slot, 0);
    }
}

void Engine::trap_due(std::uint32_t slot) {
    const std::optional<TrapDesk::Trap> trap = traps_.take_due(slot);
    if (!trap) {
        return;
    }
    if (traps_.pending(slot)) {
        agenda_.push(now_ + world_.options().trap_interval, Event::Kind::trap_due, slot, 0);
    }
    const Device& device = world_.device(trap->from.node);
    if (device.mute || device.agent_dead || !device.present) {
        return;
    }
    const mad::PortInfo& own = device.address_port(trap->from.port).info;
    const std::uint32_t out = acquire();
    Packet& packet = packets_[out];
    packet = Packet{};
    packet.smp = trap->smp;
    packet.to.lid = own.sm_lid;
    packet.to.sl = mad::Sl{own.sm_sl};
    packet.from_lid = own.lid;
    packet.source = trap->from;
    agenda_.push(now_, Event::Kind::depart, out, 0);
}

/// A scripted trap of a device that knows no master yet: it is handed to the SM as if it had strayed there.
void Engine::stray_trap(std::uint16_t number, PortRef subject) {
    const auto sm =
        std::find_if(clients_.begin(), clients_.end(), [](const Client& client) { return client.is_sm; });
    if (sm == clients_.end()) {
        return;
    }
    const Device& device = world_.device(subject.node);
    const Port& issuer = device.address_port(subject.port);
    const std::uint32_t slot = acquire();
    Packet& packet = packets_[slot];
    packet = Packet{};
    packet.smp = traps_.make_trap(make_notice(number, device, issuer, subject.port));
    packet.from_lid = issuer.info.lid;
    packet.source = subject;
    packet.at = sm->at;
    agenda_.push(now_ + world_.options().agent_delay, Event::Kind::arrive, slot, 0);
}

const SimCounters& Engine::counters() const {
    counters_.by_rule.clear();
    for (std::size_t rule = 0; rule < broken_.size(); ++rule) {
        if (broken_[rule] > 0) {
            counters_.by_rule.emplace_back(to_string(static_cast<Rule>(rule)), broken_[rule]);
        }
    }
    counters_.by_kind.clear();
    for (const auto& [kind, number] : kinds_) {
        const auto method = static_cast<std::uint8_t>((kind >> 16U) & 0xFFU);
        const bool perf = (kind >> 31U) != 0;
        const auto attribute = static_cast<std::uint16_t>(kind & 0xFFFFU);
        const std::string name = perf ? fmt::format("performance 0x{:04x}", attribute)
                                      : mad::attribute_name(static_cast<Attribute>(attribute));
        counters_.by_kind.emplace_back(fmt::format("{} {}", method_name(method), name), number);
    }
    return counters_;
}

}  // namespace ibf::sim
