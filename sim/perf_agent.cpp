#include "sim/perf_agent.hpp"

#include <algorithm>
#include <limits>

#include "mad/codec.hpp"
#include "mad/perf_mad.hpp"
#include "sim/agent.hpp"

namespace ibf::sim {
namespace {

// Performance MADs: header of 24 bytes, 40 reserved, then the data (IBA 16.1.1).
constexpr std::size_t kMethodAt = 3;
constexpr std::size_t kStatusAt = 4;
constexpr std::size_t kDataAt = 64;
constexpr std::uint16_t kClassPortInfo = 0x0001;
constexpr std::uint16_t kPortCounters = 0x0012;
constexpr std::uint16_t kPortCountersExtended = 0x001D;
constexpr std::uint8_t kAllPorts = 0xFF;
constexpr std::uint16_t kCapExtendedWidth = 0x0200;  // ClassPortInfo.CapabilityMask bit 9
constexpr std::uint16_t kCapTransmitWait = 0x1000;   // and bit 12

template <class T>
T saturated(std::uint64_t value) {
    return static_cast<T>(std::min<std::uint64_t>(value, std::numeric_limits<T>::max()));
}

void add_traffic(const Port& port, Traffic& sum) {
    const Traffic base = port.extra ? port.extra->traffic_base : Traffic{};
    sum.transmit_packets += port.traffic.transmit_packets - base.transmit_packets;
    sum.receive_packets += port.traffic.receive_packets - base.receive_packets;
    sum.transmit_words += port.traffic.transmit_words - base.transmit_words;
    sum.receive_words += port.traffic.receive_words - base.receive_words;
    sum.transmit_wait += port.traffic.transmit_wait - base.transmit_wait;
}

/// The ports that a PortSelect means; empty if there is none such.
std::vector<Port*> selected(Device& device, std::uint8_t select) {
    std::vector<Port*> ports;
    if (select == kAllPorts) {
        for (std::size_t number = 1; number < device.ports.size(); ++number) {
            ports.push_back(&device.ports[number]);
        }
    } else if (device.has_port(select) && (select != 0 || device.is_switch())) {
        ports.push_back(&device.ports[select]);
    }
    return ports;
}

mad::PortCounters read_counters(const std::vector<Port*>& ports, std::uint8_t select) {
    mad::PortCounters sum;
    if (ports.size() == 1 && ports.front()->extra) {
        sum = ports.front()->extra->errors;
    }
    Traffic traffic;
    for (const Port* port : ports) {
        add_traffic(*port, traffic);
        if (ports.size() > 1 && port->extra) {
            sum.link_downed =
                saturated<std::uint8_t>(sum.link_downed + std::uint64_t{port->extra->errors.link_downed});
        }
    }
    sum.port = mad::PortNum{select};
    sum.transmit_words = saturated<std::uint32_t>(traffic.transmit_words);
    sum.receive_words = saturated<std::uint32_t>(traffic.receive_words);
    sum.transmit_packets = saturated<std::uint32_t>(traffic.transmit_packets);
    sum.receive_packets = saturated<std::uint32_t>(traffic.receive_packets);
    sum.transmit_wait = saturated<std::uint32_t>(traffic.transmit_wait);
    return sum;
}

mad::PortCountersExtended read_extended(const std::vector<Port*>& ports, std::uint8_t select) {
    Traffic traffic;
    for (const Port* port : ports) {
        add_traffic(*port, traffic);
    }
    return {.port = mad::PortNum{select},
            .transmit_words = traffic.transmit_words,
            .receive_words = traffic.receive_words,
            .transmit_packets = traffic.transmit_packets,
            .receive_packets = traffic.receive_packets,
            .unicast_transmit_packets = traffic.transmit_packets,
            .unicast_receive_packets = traffic.receive_packets};
}

/// Set as agents take it: selected groups start again from zero.
void clear(const std::vector<Port*>& ports, bool errors, bool traffic) {
    for (Port* port : ports) {
        PortTables& tables = port->tables();
        if (errors) {
            tables.errors = mad::PortCounters{};
        }
        if (traffic) {
            tables.traffic_base = port->traffic;
        }
    }
}

template <std::size_t kSize>
void put_data(mad::MadBuffer& answer, const std::array<std::uint8_t, kSize>& data) {
    std::copy(data.begin(), data.end(), answer.begin() + kDataAt);
}

mad::MadStatus answer_counters(Device& device, bool is_set, mad::MadBuffer& out) {
    mad::AttributeData data{};
    std::copy_n(out.begin() + kDataAt, data.size(), data.begin());
    const mad::PortCounters wanted = mad::decode_port_counters(data);
    const std::vector<Port*> ports = selected(device, wanted.port.value());
    if (ports.empty()) {
        return kStatusBadValue;
    }
    if (is_set) {
        constexpr std::uint16_t kTrafficBits = 0xF000;  // CounterSelect 12..15: words and packets
        clear(ports, (wanted.counter_select & ~kTrafficBits) != 0,
              (wanted.counter_select & kTrafficBits) != 0);
    }
    put_data(out, mad::encode(read_counters(ports, wanted.port.value())));
    return 0;
}

mad::MadStatus answer_extended(Device& device, bool is_set, mad::MadBuffer& out) {
    mad::PerfData data{};
    std::copy_n(out.begin() + kDataAt, data.size(), data.begin());
    const mad::PortCountersExtended wanted = mad::decode_port_counters_extended(data);
    const std::vector<Port*> ports = selected(device, wanted.port.value());
    if (ports.empty()) {
        return kStatusBadValue;
    }
    if (is_set) {
        clear(ports, false, wanted.counter_select != 0);
    }
    put_data(out, mad::encode(read_extended(ports, wanted.port.value())));
    return 0;
}

mad::MadStatus answer_class_port_info(const Device& device, mad::MadBuffer& out) {
    const unsigned mask = kCapTransmitWait | (device.extended_counters ? kCapExtendedWidth : 0U);
    put_data(out, mad::encode(mad::ClassPortInfo{.capability_mask = static_cast<std::uint16_t>(mask)}));
    return 0;
}

void put_answer(mad::MadBuffer& out, mad::MadStatus status) {
    out[kMethodAt] = static_cast<std::uint8_t>(mad::Method::get_resp);
    out[kStatusAt] = static_cast<std::uint8_t>(status >> 8U);
    out[kStatusAt + 1] = static_cast<std::uint8_t>(status & 0xFFU);
}

}  // namespace

mad::MadBuffer serve_performance(World& world, PortRef at, const mad::MadBuffer& request,
                                 const mad::MadHeader& header) {
    mad::MadBuffer out = request;
    Device& device = world.device(at.node);
    const auto method = static_cast<mad::Method>(header.method);
    const bool is_set = method == mad::Method::set;
    mad::MadStatus status = kStatusBadAttribute;
    if (header.class_version != 1) {
        status = kStatusBadVersion;
    } else if (!is_set && method != mad::Method::get) {
        status = kStatusBadMethod;
    } else if (static_cast<std::uint16_t>(header.attribute) == kPortCounters) {
        status = answer_counters(device, is_set, out);
    } else if (static_cast<std::uint16_t>(header.attribute) == kPortCountersExtended &&
               device.extended_counters) {
        status = answer_extended(device, is_set, out);
    } else if (static_cast<std::uint16_t>(header.attribute) == kClassPortInfo && !is_set) {
        status = answer_class_port_info(device, out);
    }
    put_answer(out, status);
    return out;
}

mad::MadBuffer redirect_performance(const Device::PerfElsewhere& elsewhere, const mad::MadBuffer& request) {
    mad::MadBuffer out = request;
    put_data(out, mad::encode(mad::ClassPortInfo{.redirect_lid = elsewhere.lid,
                                                 .redirect_pkey = mad::kPKeyDefaultFull,
                                                 .redirect_qp = elsewhere.qp,
                                                 .redirect_qkey = mad::kPerfQKey}));
    put_answer(out, mad::kStatusRedirect);
    return out;
}

}  // namespace ibf::sim
