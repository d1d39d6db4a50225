// Packets, clients and time: bring-up, malformed MADs, SMInfo, determinism.
#include "sim/engine.hpp"

#include <gtest/gtest.h>

#include "sim_bench.hpp"

namespace ibf::sim {
namespace {

using mad::Attribute;
using mad::Method;
using mad::PortNum;
using mad::PortState;

TEST(Engine, BringUpKeepsEveryRuleAndEveryPairArrives) {
    SimBench bench(four_switches());
    EXPECT_EQ(bring_up(bench), 0U);
    EXPECT_EQ(bench.sim.counters().rule_breaks, 0U);
    for (std::uint32_t node = 0; node < 4; ++node) {
        EXPECT_FALSE(bench.sim.switch_info(node).port_state_change) << node;
    }
    for (std::uint32_t from = 4; from < 8; ++from) {
        EXPECT_EQ(bench.sim.port_info(from, PortNum{1}).state, PortState::active);
        for (std::uint32_t to = 0; to < 8; ++to) {
            const base::Result<std::vector<Simulator::Step>> steps =
                bench.sim.walk(from, PortNum{1}, lid_of(to));
            ASSERT_TRUE(steps) << from << " to " << to << ": " << steps.error().message;
            EXPECT_LE(steps->size(), 4U);
        }
    }
}

TEST(Engine, MultiPlaneDevicesDropLidRoutedSmps) {
    SimOptions options;
    options.lid_routed_smps = false;
    SimBench bench(four_switches(), options, "h1");
    EXPECT_EQ(bring_up(bench), 0U);
    EXPECT_FALSE(
        bench.ask_lid(bench.request(Method::get, Attribute::node_info, 0, mad::DrPath{}, {}), lid_of(0)));
}

TEST(Engine, MalformedMadsAreAnsweredOrLostAndNeverCrash) {
    SimBench bench(star_of_four());
    mad::Smp smp = bench.request(Method::get, Attribute::node_info, 0, path_of({1}), {});
    smp.header.class_version = 7;
    mad::WireMad wire;
    wire.bytes = mad::encode_smp(smp);
    bench.sim.send(bench.client, wire, bench.now);
    bench.pass(std::chrono::milliseconds{1});
    ASSERT_EQ(bench.inbox.size(), 1U);
    EXPECT_EQ(bench.inbox[0].bytes[5], 0x04);

    smp = bench.request(static_cast<Method>(0x44), Attribute::node_info, 0, path_of({1}), {});
    EXPECT_EQ(bench.ask(smp).value().header.status, 0x08);
    EXPECT_EQ(bench.get(static_cast<Attribute>(0x7777), 0, path_of({1})).value().header.status, 0x0C);
    EXPECT_EQ(bench.get(Attribute::port_info, 9, path_of({1})).value().header.status, 0x1C);
    EXPECT_EQ(bench.get(Attribute::switch_info, 0, mad::DrPath{}).value().header.status, 0x0C);
    EXPECT_EQ(bench.get(Attribute::guid_info, 255, path_of({1})).value().header.status, 0x1C);
    EXPECT_EQ(bench.get(Attribute::sm_info, 0, path_of({1})).value().header.status, 0x0C);

    base::Prng prng(7);
    constexpr int kRandomMads = 20'000;
    for (int i = 0; i < kRandomMads; ++i) {
        for (std::uint8_t& byte : wire.bytes) {
            byte = static_cast<std::uint8_t>(prng.below(256));
        }
        wire.bytes[0] = 1;
        wire.bytes[1] = prng.below(2) == 0 ? 0x81 : 0x01;
        wire.bytes[2] = 1;
        wire.bytes[3] = static_cast<std::uint8_t>(1 + prng.below(2));
        wire.bytes[6] = 0;                                         // hop pointer
        wire.bytes[7] = static_cast<std::uint8_t>(prng.below(3));  // hop count
        wire.bytes[16] = 0;
        wire.bytes[17] = static_cast<std::uint8_t>(0x10 + prng.below(0x11));  // attribute
        wire.bytes[129] = 1;                                                  // initial path
        bench.sim.send(bench.client, wire, bench.now);
        bench.pass(std::chrono::microseconds{50});
    }
    EXPECT_GT(bench.sim.counters().mads, 1000U);
}

TEST(Engine, JoinSaysWhatIsMissing) {
    Simulator sim(star_of_four(), SimOptions{});
    EXPECT_FALSE(sim.join("nobody", 0, {}));
    EXPECT_FALSE(sim.join("h1", 3, {}));
    EXPECT_EQ(sim.local_port(sim.join("", 0, {}).value()).node_guid, sim.netlist().nodes[1].guid);
    EXPECT_EQ(sim.local_port(sim.join("N-sw", 0, {}).value()).port, PortNum{0});
}

TEST(Engine, SmInfoGoesToTheClientThatIsTheSm) {
    SimBench bench(star_of_four());
    const Simulator::ClientId other = bench.client;
    std::vector<mad::WireMad> at_rival;
    const Simulator::ClientId rival =
        bench.sim.join("h2", 0, [&](mad::WireMad&& mad) { at_rival.push_back(mad); }).value();
    EXPECT_EQ(bench.get(Attribute::sm_info, 0, path_of({1, 2})).value().header.status, 0x0C);

    bench.sim.set_is_sm(rival, true);
    EXPECT_TRUE(bench.port_info(path_of({1, 2}), 1).is_sm());
    const mad::Smp request = bench.request(Method::get, Attribute::sm_info, 0, path_of({1, 2}), {});
    EXPECT_FALSE(bench.ask(request));
    ASSERT_EQ(at_rival.size(), 1U);
    mad::Smp answer = mad::parse_smp(at_rival[0].bytes).value();
    EXPECT_EQ(answer.hop_pointer, 3);
    answer.header.method = static_cast<std::uint8_t>(Method::get_resp);
    answer.returning = true;
    answer.data = mad::encode(mad::SmInfo{.guid = mad::Guid{5}, .priority = 3});
    mad::WireMad wire;
    wire.bytes = mad::encode_smp(answer);
    bench.sim.send(rival, wire, bench.now);
    bench.pass(std::chrono::milliseconds{1});
    ASSERT_EQ(other, bench.client);
    ASSERT_FALSE(bench.inbox.empty());
    EXPECT_EQ(mad::decode_sm_info(mad::parse_smp(bench.inbox.back().bytes).value().data).priority, 3);
}

/// A run as text: when, where, what, how it ended.
std::string transcript(std::uint64_t seed) {
    SimOptions options;
    options.seed = seed;
    SimBench bench(four_switches(), options, "h1");
    std::string text;
    bench.sim.set_observer(
        [&](base::Instant at, std::uint32_t node, const mad::Smp& smp, mad::MadStatus status) {
            text += std::to_string(at.time_since_epoch().count()) + " " + std::to_string(node) + " " +
                    mad::to_line(smp) + " " + std::to_string(status) + "\n";
        });
    const auto faults =
        parse_faults("delay * delay=300us probability=0.3\nduplicate leaf1 probability=0.5\n", "t");
    bench.sim.schedule(faults.value());
    for (std::uint8_t port = 0; port < 5; ++port) {
        for (int round = 0; round < 20; ++round) {
            static_cast<void>(bench.get(Attribute::port_info, port, path_of({1})));
            static_cast<void>(bench.get(Attribute::port_info, port, path_of({1, 3})));
        }
    }
    text += std::to_string(bench.inbox.size());
    return text;
}

TEST(Engine, SameSeedSameRun) {
    EXPECT_EQ(transcript(1), transcript(1));
    EXPECT_NE(transcript(1), transcript(2));
}

}  // namespace
}  // namespace ibf::sim
