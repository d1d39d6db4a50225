// The size and the speed of the simulated fabric.
#include "sim/simulator.hpp"

#include <cstdio>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "base/time.hpp"
#include "sim_bench.hpp"

namespace ibf::sim {
namespace {

std::uint64_t peak_kilobytes() {
    std::ifstream status("/proc/self/status");
    std::string word;
    std::uint64_t value = 0;
    while (status >> word) {
        if (word == "VmHWM:") {
            status >> value;
        }
    }
    return value;
}

/// 45,056 adapters and 3,840 switches of 64 ports: the LID space, full. Only the size matters here, so the
/// cables are those of 1,408 stars of 32 adapters and rings of the rest.
routing::Netlist full_lid_space() {
    constexpr std::uint32_t kSwitches = 3840;
    constexpr std::uint32_t kHosts = 45'056;
    FabricMaker maker;
    for (std::uint32_t i = 0; i < kSwitches; ++i) {
        maker.add(mad::NodeType::switch_, "s" + std::to_string(i), 64);
    }
    for (std::uint32_t i = 0; i < kHosts; ++i) {
        const std::uint32_t host = maker.add(mad::NodeType::ca, "h" + std::to_string(i), 1);
        maker.connect(i / 32, static_cast<std::uint8_t>(i % 32 + 1), host, 1, mad::LinkSpeed::ndr);
    }
    for (std::uint32_t i = 0; i < kSwitches; ++i) {
        maker.connect(i, 63, (i + 1) % kSwitches, 64, mad::LinkSpeed::ndr);
    }
    return maker.netlist;
}

TEST(Simulator, AFullLidSpaceFitsInFourHundredMegabytes) {
    Simulator sim(full_lid_space(), SimOptions{});
    for (std::uint32_t node = 0; node < 3840; ++node) {
        sim.set_lft_entry(node, mad::Lid{48'896}, 1);
    }
    const std::uint64_t peak = peak_kilobytes();
    RecordProperty("peak_kilobytes", std::to_string(peak));
    std::printf("peak of the process: %llu MB\n", static_cast<unsigned long long>(peak / 1024));
    EXPECT_GT(peak, 0U);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their shadow counts as well
    EXPECT_LT(peak, 400U * 1024U);
#endif
    EXPECT_EQ(sim.lft_entry(3839, mad::Lid{48'896}), 1);
}

TEST(Simulator, PrintsMadsPerSecond) {
    Simulator sim(four_switches(), SimOptions{});
    std::size_t answers = 0;
    const Simulator::ClientId client = sim.join("h1", 0, [&](mad::WireMad&&) { ++answers; }).value();
    mad::Smp smp;
    smp.header.method = static_cast<std::uint8_t>(mad::Method::get);
    smp.header.attribute = mad::Attribute::port_info;
    smp.header.modifier = 2;
    smp.path = path_of({1, 3, 2});
    mad::WireMad wire;
    wire.bytes = mad::encode_smp(smp);
    constexpr std::size_t kRounds = 1000;
    constexpr std::size_t kWindow = 64;
    const base::Instant begin = base::monotonic_now();
    base::Instant now{};
    for (std::size_t round = 0; round < kRounds; ++round) {
        for (std::size_t i = 0; i < kWindow; ++i) {
            sim.send(client, wire, now);
        }
        now += std::chrono::milliseconds{1};
        sim.advance(now);
    }
    const double taken = std::chrono::duration<double>(base::monotonic_now() - begin).count();
    std::printf("%.0f MADs a second\n", static_cast<double>(answers) / taken);
    EXPECT_EQ(answers, kRounds * kWindow);
}

}  // namespace
}  // namespace ibf::sim
