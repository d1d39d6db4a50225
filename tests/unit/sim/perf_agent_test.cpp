// Port counters: read, cleared, and moved by the packets that cross a port.
#include "sim/perf_agent.hpp"

#include <gtest/gtest.h>

#include "sim_bench.hpp"

namespace ibf::sim {
namespace {

using mad::Attribute;
using mad::Method;

mad::WireMad perf_request(Method method, std::uint16_t attribute, std::uint8_t port, mad::Lid to) {
    mad::WireMad wire;
    wire.bytes[0] = wire.bytes[2] = 1;
    wire.bytes[1] = 0x04;
    wire.bytes[3] = static_cast<std::uint8_t>(method);
    wire.bytes[17] = static_cast<std::uint8_t>(attribute);
    wire.bytes[65] = port;
    wire.bytes[66] = wire.bytes[67] = 0xFF;
    wire.address.lid = to;
    wire.address.qp = 1;
    return wire;
}

TEST(PerfAgent, CountsPacketsAndClears) {
    SimBench bench(star_of_four());
    bring_up(bench);
    const auto counters = [&](Method method) {
        bench.inbox.clear();
        bench.sim.send(bench.client, perf_request(method, 0x12, 2, lid_of(0)), bench.now);
        bench.pass(std::chrono::milliseconds{1});
        mad::AttributeData data{};
        if (bench.inbox.size() == 1) {
            std::copy_n(bench.inbox[0].bytes.begin() + 64, data.size(), data.begin());
        }
        return mad::decode_port_counters(data);
    };
    EXPECT_GT(counters(Method::get).transmit_packets, 0U);
    EXPECT_EQ(counters(Method::set).transmit_packets, 0U);
    static_cast<void>(bench.get(Attribute::node_info, 0, path_of({1, 2})));
    const mad::PortCounters after = counters(Method::get);
    EXPECT_EQ(after.transmit_packets, 1U);
    EXPECT_EQ(after.receive_packets, 1U);
    EXPECT_EQ(after.transmit_words, 72U);

    bench.inbox.clear();
    bench.sim.send(bench.client, perf_request(Method::get, 0x1D, 2, lid_of(0)), bench.now);
    bench.pass(std::chrono::milliseconds{1});
    ASSERT_EQ(bench.inbox.size(), 1U);
    mad::PerfData data{};
    std::copy_n(bench.inbox[0].bytes.begin() + 64, data.size(), data.begin());
    EXPECT_EQ(mad::decode_port_counters_extended(data).receive_packets, 1U);
}

}  // namespace
}  // namespace ibf::sim
