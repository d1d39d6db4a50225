#include "sim/data_traffic.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "mad/link_rate.hpp"

namespace ibf::sim {
namespace {

constexpr std::uint64_t kHeaderWords = 7;     // LRH, BTH and ICRC: 28 octets
constexpr std::uint64_t kAckWords = 8;        // and the AETH
constexpr std::uint64_t kWindowPackets = 64;  // sent before the first acknowledgement is missed
constexpr std::size_t kLinksMost = 64;        // what goes round is lost in the end
constexpr base::Duration kHostTime = std::chrono::microseconds{2};

struct Crossed {
    PortRef out;
    PortRef in;
};

struct DataWalk {
    std::vector<Crossed> links;
    std::optional<PortRef> at;
    bool delivered = false;
};

template <class Counter>
void count_up(Counter& counter, std::uint64_t more) {
    const std::uint64_t most = std::numeric_limits<Counter>::max();
    counter = static_cast<Counter>(std::min<std::uint64_t>(most, counter + std::min(more, most)));
}

bool has_lid(const Port& port, mad::Lid lid) {
    return mad::LidRange{port.info.lid, port.info.lmc}.contains(lid);
}

bool is_open(const Port& out, const Port& in) {
    return !out.transmit_dead && out.info.state == mad::PortState::active &&
           in.info.state == mad::PortState::active;
}

DataWalk walk_data(const World& world, PortRef from, mad::Lid to) {
    DataWalk walk;
    PortRef at = from;
    while (walk.links.size() < kLinksMost) {
        const Device& device = world.device(at.node);
        PortRef out = at;
        if (device.is_switch()) {
            const bool known = to.value() <= device.switch_info.linear_fdb_top;
            out.port = mad::PortNum{known ? device.lft_entry(to) : mad::kLftDrop};
        }
        const bool ends = device.is_switch() ? out.port.value() == 0 : !walk.links.empty();
        if (ends) {
            walk.at = at;
            walk.delivered = has_lid(device.ports[out.port.value()], to);
            return walk;
        }
        const std::optional<PortRef> in =
            device.has_port(out.port.value()) ? world.cabled_peer(out) : std::nullopt;
        if (!in || !is_open(world.port(out), world.port(*in))) {
            return walk;
        }
        walk.links.push_back({out, *in});
        at = *in;
    }
    return walk;
}

void move(World& world, const Crossed& link, std::uint64_t packets, std::uint64_t words) {
    Traffic& out = world.port(link.out).traffic;
    out.transmit_packets += packets;
    out.transmit_words += words;
    Traffic& in = world.port(link.in).traffic;
    in.receive_packets += packets;
    in.receive_words += words;
}

/// How many of so many packets a port damages, on average; what is left of a whole one by chance.
std::uint64_t damaged_of(std::uint64_t packets, double loss, base::Prng& prng) {
    const double mean = static_cast<double>(packets) * loss;
    const auto whole = static_cast<std::uint64_t>(mean);
    return whole + (prng.unit() < mean - static_cast<double>(whole) ? 1U : 0U);
}

/// External ports of switches leave it to port 0 to say what their speed fields mean.
double nominal_mbps(const World& world, const Crossed& link) {
    mad::PortInfo info = world.port(link.out).info;
    const mad::PortInfo& speaker = world.device(link.out.node).address_port(link.out.port).info;
    info.capability_mask = speaker.capability_mask;
    info.capability_mask2 = speaker.capability_mask2;
    return std::max(1.0, static_cast<double>(mad::running_rate(info).mbps()));
}

/// Rate of the slowest link, and waits at the ports before it.
double pace(World& world, const DataWalk& walk, std::uint64_t words, const DataFlow& flow, base::Prng& prng) {
    double slowest = std::numeric_limits<double>::max();
    std::size_t where = 0;
    for (std::size_t i = 0; i < walk.links.size(); ++i) {
        const double rate = nominal_mbps(world, walk.links[i]) * world.port(walk.links[i].out).share;
        if (rate < slowest) {
            slowest = rate;
            where = i;
        }
    }
    for (std::size_t i = 0; i < walk.links.size(); ++i) {
        const double waits = i <= where ? nominal_mbps(world, walk.links[i]) / slowest - 1.0 : 0.0;
        const double noise = flow.noise * prng.unit();
        world.port(walk.links[i].out).traffic.transmit_wait +=
            static_cast<std::uint64_t>(static_cast<double>(words) * (waits + noise));
    }
    return slowest * (1.0 - flow.busy);
}

/// Packets over the links, those that are damaged sent again; false: one was damaged each time.
bool push_through(World& world, const DataWalk& walk, const DataFlow& flow, std::uint64_t words_each,
                  DataFate& fate, base::Prng& prng) {
    std::uint64_t behind = 0;  // damaged farther on: these cross all links before
    bool through = true;
    for (std::size_t i = walk.links.size(); i-- > 0;) {
        Port& in = world.port(walk.links[i].in);
        std::uint64_t bad = in.loss > 0 ? damaged_of(fate.packets + behind, in.loss, prng) : 0;
        if (in.loss >= 1.0) {
            bad = std::min(fate.packets, kWindowPackets) * (flow.retries + 1U);
            through = false;
        }
        if (bad > 0) {
            mad::PortCounters& errors = in.tables().errors;
            count_up(errors.symbol_errors, bad);
            count_up(errors.receive_errors, bad);
        }
        behind += bad;
        const std::uint64_t packets = in.loss >= 1.0 ? bad : fate.packets + behind;
        move(world, walk.links[i], packets, packets * words_each);
        fate.damaged += bad;
    }
    return through;
}

}  // namespace

DataFate carry_data(World& world, const DataFlow& flow, base::Prng& prng) {
    DataFate fate;
    fate.packets = std::max<std::uint64_t>(1, (flow.bytes + flow.mtu_bytes - 1) / flow.mtu_bytes);
    const std::uint64_t payload_words = (flow.bytes + 3) / 4;
    const std::uint64_t words_each = (payload_words + fate.packets - 1) / fate.packets + kHeaderWords;
    const DataWalk walk = walk_data(world, flow.from, flow.to);
    fate.at = walk.at;
    const mad::Lid own = world.device(flow.from.node).address_port(flow.from.port).info.lid;
    const DataWalk back = walk.delivered ? walk_data(world, *walk.at, own) : DataWalk{};
    if (!walk.delivered || !back.delivered) {
        // What is not acknowledged is sent until the retries are spent.
        const std::uint64_t sent = std::min(fate.packets, kWindowPackets) * (flow.retries + 1U);
        for (const Crossed& link : walk.links) {
            move(world, link, sent, sent * words_each);
        }
        for (const Crossed& link : back.links) {
            move(world, link, sent, sent * kAckWords);
        }
        return fate;
    }
    fate.completed = push_through(world, walk, flow, words_each, fate, prng);
    if (fate.completed) {
        DataFate acks{.packets = fate.packets};
        fate.completed = push_through(world, back, flow, kAckWords, acks, prng);
    }
    const double mbps = pace(world, walk, fate.packets * words_each, flow, prng);
    fate.elapsed = kHostTime + base::Duration{static_cast<base::Duration::rep>(
                                   static_cast<double>(flow.bytes) * 8.0 * 1000.0 / mbps)};
    return fate;
}

}  // namespace ibf::sim
