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

/// The source LID of a packet whose sender asks for these path bits (IBA 7.11.1).
mad::Lid with_path_bits(const mad::PortInfo& info, std::uint8_t path_bits) {
    const unsigned mask = (1U << info.lmc) - 1U;
    return mad::Lid{static_cast<std::uint16_t>(info.lid.value() | (path_bits & mask))};
}

std::uint8_t path_bits_of(const mad::PortInfo& info, mad::Lid to) {
    const unsigned mask = (1U << info.lmc) - 1U;
    return to == mad::kLidPermissive ? std::uint8_t{0} : static_cast<std::uint8_t>(to.value() & mask);
}

/// The answer of a device that has no agent for the class.
mad::MadBuffer refuse_class(const mad::MadBuffer& request) {
    mad::MadBuffer answer = request;
    answer[3] = static_cast<std::uint8_t>(Method::get_resp);
    answer[4] = 0;
    answer[5] = kStatusBadAttribute;
    return answer;
}

/// The port of its device that a walk starts from: adapters use their own, switches choose by table.
PortRef walk_start(const World& world, PortRef at) {
    return world.device(at.node).is_switch() ? PortRef{at.node, mad::PortNum{0}} : at;
}

}  // namespace

Engine::Engine(routing::Netlist netlist, const SimOptions& options)
    : world_(std::move(netlist), options, agenda_), agent_(world_), prng_(options.seed) {}

/// The first cabled port of an adapter; 0 where none is.
mad::PortNum Engine::first_cabled(std::uint32_t node) const {
    const Device& device = world_.device(node);
    for (std::size_t number = 1; number < device.ports.size(); ++number) {
        if (device.ports[number].peer_node != kNoNode) {
            return mad::PortNum{static_cast<std::uint8_t>(number)};
        }
    }
    return mad::PortNum{0};
}

/// The first adapter with a cable; where none has one, the first: it waits for its cable, as a real one
/// would.
base::Result<std::uint32_t> Engine::first_adapter() const {
    std::optional<std::uint32_t> first;
    for (std::uint32_t node = 0; node < world_.size(); ++node) {
        if (world_.device(node).info.type != mad::NodeType::ca) {
            continue;
        }
        if (first_cabled(node).value() != 0) {
            return node;
        }
        first = first ? first : node;
    }
    if (!first) {
        return base::fail(base::ErrorKind::not_found,
                          "there is no adapter to join at: name a node (--sim-node)");
    }
    return *first;
}

base::Result<PortRef> Engine::locate(const std::string& node, std::uint8_t port) const {
    base::Result<std::uint32_t> found = std::uint32_t{0};
    if (node.empty()) {
        found = first_adapter();
    } else if (const std::optional<std::uint32_t> index = world_.find_node(node)) {
        found = *index;
    } else {
        const auto [name, number] = split_port(node);
        const std::optional<std::uint32_t> shorter = number ? world_.find_node(name) : std::nullopt;
        if (!shorter) {
            return base::fail(base::ErrorKind::not_found,
                              fmt::format("no node '{}' in {}: give a description, id or GUID", node,
                                          world_.netlist().origin));
        }
        found = *shorter;
        port = port != 0 ? port : number->value();
    }
    if (!found) {
        return tl::unexpected<base::Error>(found.error());
    }
    const Device& device = world_.device(*found);
    if (device.is_switch()) {
        return PortRef{*found, mad::PortNum{0}};
    }
    const mad::PortNum chosen =
        port != 0 ? mad::PortNum{port} : std::max(first_cabled(*found), mad::PortNum{1});
    if (!device.has_port(chosen.value())) {
        return base::fail(base::ErrorKind::not_found,
                          fmt::format("'{}' has no port {}: its last is {}", device.description, chosen,
                                      device.info.num_ports));
    }
    return PortRef{*found, chosen};
}

Engine::ClientId Engine::join(PortRef at, std::uint32_t qp, Deliver deliver) {
    clients_.push_back(Client{.at = at, .deliver = std::move(deliver), .qp = qp});
    clients_at_[at].push_back(static_cast<ClientId>(clients_.size() - 1));
    return static_cast<ClientId>(clients_.size() - 1);
}

void Engine::leave(ClientId client) {
    std::erase(clients_at_[clients_[client].at], client);
    clients_[client].deliver = {};
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

bool Engine::has_qp(PortRef at, std::uint32_t qp) const {
    const auto found = clients_at_.find(at);
    return found != clients_at_.end() && std::any_of(found->second.begin(), found->second.end(),
                                                     [&](ClientId id) { return clients_[id].qp == qp; });
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
    if (packet.is_smp && clients_[client].qp != kGsiQp) {
        lose(slot);  // SMPs travel from QP0 to QP0
        return;
    }
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
    const Port& own = world_.device(packet.source.node).address_port(packet.source.port);
    packet.from_lid = with_path_bits(own.info, mad.address.path_bits);
    packet.from_qp = clients_[client].qp;
    if (packet.from_qp == kGsiQp) {
        packet.to.qkey = kGsiQKey;  // as the kernel sends, whatever ib_umad was given
    }
    packet.pkey = own.pkey(mad.address.pkey_index);
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

/// Whether it is for a queue pair that a program made for itself; management's own are 0 and 1.
bool Engine::to_own_qp(const Packet& packet) {
    return !packet.is_smp && packet.to.qp > kGsiQp;
}

/// Whether a client, not the device's own agent, is to see the packet.
bool Engine::goes_to_client(const Packet& packet) const {
    const mad::MadHeader& header = packet.head();
    if (!packet.is_smp) {
        if (to_own_qp(packet) && perf_subject(packet)) {
            return false;
        }
        return to_own_qp(packet) || header.mgmt_class != MgmtClass::perf || header.is_response();
    }
    if (header.attribute == Attribute::sm_info && !header.is_response()) {
        const std::optional<ClientId> client = receiver(packet);
        return client && clients_[*client].is_sm;
    }
    return header.is_response() || is_method(header, Method::trap) || is_method(header, Method::report);
}

std::optional<std::uint32_t> Engine::perf_subject(const Packet& packet) const {
    if (packet.is_smp || packet.header.mgmt_class != MgmtClass::perf || packet.header.is_response()) {
        return std::nullopt;
    }
    if (!to_own_qp(packet)) {
        return packet.at.node;
    }
    const auto& speaks_for = world_.device(packet.at.node).perf_for;
    const auto found = speaks_for.find(packet.to.qp);
    return found != speaks_for.end() && packet.to.qkey == kGsiQKey ? std::optional(found->second)
                                                                   : std::nullopt;
}

/// A Get or Set of a class that the device has no agent for, at a port where no client is: the device says
/// so.
bool Engine::is_nobodys(const Packet& packet) const {
    const bool asks = is_method(packet.head(), Method::get) || is_method(packet.head(), Method::set);
    return !packet.is_smp && asks && !to_own_qp(packet) && !receiver(packet);
}

/// The client at the port and queue pair where the packet arrived: the asker of an answer, else the SM, else
/// the first.
std::optional<Engine::ClientId> Engine::receiver(const Packet& packet) const {
    const auto found = clients_at_.find(walk_start(world_, packet.at));
    if (found == clients_at_.end()) {
        return std::nullopt;
    }
    const bool response = packet.head().is_response();
    const std::uint64_t hint = packet.asker ? *packet.asker : packet.head().tid >> 32U;
    std::optional<ClientId> best;
    const std::uint32_t qp = to_own_qp(packet) ? packet.to.qp : kGsiQp;
    for (const ClientId id : found->second) {
        if (clients_[id].qp != qp) {
            continue;
        }
        if (response && id == hint) {
            return id;
        }
        if (!best || (!response && clients_[id].is_sm && !clients_[*best].is_sm)) {
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
    } else if (goes_to_client(packet) && !is_nobodys(packet)) {
        reach_client(slot);
    } else if (packet.is_smp && is_method(header, Method::trap_repress)) {
        traps_.repress(packet.at.node, header.tid);
        release(slot);
    } else if (packet.is_smp && !packet.directed() && !world_.options().lid_routed_smps) {
        lose(slot);
    } else if (!packet.is_smp && !pkey_index_at(packet.at, packet.pkey)) {
        lose(slot);
    } else {
        queue_for_agent(slot);
    }
}

/// Faults of a device strike what programs at it receive on QP1 as well; its SMPs met theirs at the agent.
void Engine::reach_client(std::uint32_t slot) {
    Packet& packet = packets_[slot];
    if (packet.is_smp || !any_standing_fault_) {
        deliver(slot);
        return;
    }
    const Verdict verdict = faults_.judge(packet.at.node, packet.header, prng_);
    if (verdict.drop_request || verdict.drop_answer) {
        lose(slot);
        return;
    }
    deliver_at(slot, now_ + verdict.delay, verdict.duplicate);
}

void Engine::deliver_at(std::uint32_t slot, base::Instant when, bool twice) {
    agenda_.push(when, Event::Kind::deliver, slot, 0);
    if (twice) {
        const std::uint32_t copy = acquire();
        packets_[copy] = packets_[slot];
        agenda_.push(when, Event::Kind::deliver, copy, 0);
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
    if (const std::optional<std::uint32_t> subject = perf_subject(packet)) {
        const Device& asked = world_.device(*subject);
        packet.bytes =
            asked.perf_elsewhere && !to_own_qp(packet)
                ? redirect_performance(*asked.perf_elsewhere, packet.bytes)
                : serve_performance(world_, {*subject, packet.at.port}, packet.bytes, packet.header);
    } else {
        packet.bytes = refuse_class(packet.bytes);
    }
    packet.header.method = static_cast<std::uint8_t>(Method::get_resp);
    answer(slot, walk_answer(packet));
}

void Engine::serve_smp(std::uint32_t slot) {
    Packet& packet = packets_[slot];
    // A port that a Set takes down falls once the answer has left by it.
    const std::optional<Arrival> way_back = walk_answer(packet);
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
    answer(slot, way_back);
}

std::optional<Arrival> Engine::walk_answer(const Packet& packet) {
    if (packet.directed()) {
        return world_.walk_back(packet.at, packet.smp.return_path);
    }
    const Lane lane = packet.is_smp ? Lane::management : Lane::data;
    return world_.walk_lid(walk_start(world_, packet.at), packet.from_lid, lane);
}

/// Sends the packet, now an answer, back to who asked.
void Engine::answer(std::uint32_t slot, const std::optional<Arrival>& arrival) {
    Packet& packet = packets_[slot];
    if (!arrival) {
        lose(slot);
        return;
    }
    // The answer comes from the LID that was asked, whichever of the port's it is.
    const mad::Lid asked = packet.to.lid;
    packet.to.lid = packet.from_lid;
    packet.to.qp = std::exchange(packet.from_qp, kGsiQp);
    packet.from_lid = world_.device(packet.at.node).address_port(packet.at.port).info.lid;
    packet.from_lid = asked != mad::kLidPermissive && !packet.directed() ? asked : packet.from_lid;
    packet.source = packet.at;
    packet.at = arrival->at;
    const base::Instant when = now_ + world_.options().hop_delay * arrival->hops + packet.verdict.delay;
    deliver_at(slot, when, packet.verdict.duplicate);
}

/// The index under which a port holds the partner of a P_Key; empty where it has none (IBA 10.9.3).
std::optional<std::uint16_t> Engine::pkey_index_at(PortRef at, mad::PKey pkey) const {
    constexpr std::uint16_t kFullMember = 0x8000;
    constexpr std::uint16_t kPartition = 0x7FFF;
    const Port& port = world_.device(at.node).address_port(at.port);
    const std::size_t held = std::max<std::size_t>(port.pkeys.size(), 1);
    for (std::size_t index = 0; index < held; ++index) {
        const std::uint16_t own = port.pkey(index).value();
        const bool same = (own & kPartition) != 0 && (own & kPartition) == (pkey.value() & kPartition);
        if (same && ((own | pkey.value()) & kFullMember) != 0) {
            return static_cast<std::uint16_t>(index);
        }
    }
    return std::nullopt;
}

/// The packet as its receiver sees it; empty where the receiver's queue pair drops it (P_Key, Q_Key).
std::optional<mad::WireMad> Engine::wire_form(const Packet& packet) const {
    mad::WireMad out;
    out.bytes = packet.is_smp ? mad::encode_smp(packet.smp) : packet.bytes;
    out.address = packet.to;
    out.address.lid = packet.directed() ? mad::kLidPermissive : packet.from_lid;
    out.address.qp = packet.is_smp ? 0 : packet.from_qp;
    out.address.path_bits =
        path_bits_of(world_.device(packet.at.node).address_port(packet.at.port).info, packet.to.lid);
    if (packet.to.grh_gid) {
        const Port& source = world_.device(packet.source.node).address_port(packet.source.port);
        out.address.grh_gid = mad::Gid{.prefix = source.info.gid_prefix, .interface_id = source.guid};
    }
    if (!packet.is_smp) {
        const std::optional<std::uint16_t> index = pkey_index_at(packet.at, packet.pkey);
        if (!index || (to_own_qp(packet) && packet.to.qkey != kGsiQKey)) {
            return std::nullopt;
        }
        out.address.pkey_index = *index;
    }
    return out;
}

void Engine::deliver(std::uint32_t slot) {
    const std::optional<ClientId> client = receiver(packets_[slot]);
    std::optional<mad::WireMad> mad = client ? wire_form(packets_[slot]) : std::nullopt;
    if (!mad) {
        lose(slot);
        return;
    }
    release(slot);
    ++counters_.delivered;
    if (clients_[*client].deliver) {
        clients_[*client].deliver(std::move(*mad));
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
