// Data over the simulated fabric, and the faults that only data and counters show.
#include "sim/data_traffic.hpp"

#include <gtest/gtest.h>

#include "mad/perf_mad.hpp"
#include "sim_bench.hpp"

namespace ibf::sim {
namespace {

constexpr std::uint64_t kBytes = 1U << 20U;

/// four_switches(): leaves 0 and 1, spines 2 and 3, adapters 4 and 5 at leaf1, 6 and 7 at leaf2.
class DataTraffic : public ::testing::Test {
protected:
    DataTraffic() : bench(four_switches()) { EXPECT_EQ(bring_up(bench), 0U); }
    [[nodiscard]] DataFate send(std::uint32_t from, std::uint32_t to) {
        return bench.sim.carry({.from = {from, mad::PortNum{1}}, .to = lid_of(to), .bytes = kBytes});
    }
    [[nodiscard]] std::vector<Simulator::Step> path(std::uint32_t from, std::uint32_t to) const {
        return bench.sim.walk(from, mad::PortNum{1}, lid_of(to)).value();
    }
    [[nodiscard]] const Port& out(const Simulator::Step& step) const {
        return bench.sim.world().port({step.node, step.out});
    }
    [[nodiscard]] const Port& in(const Simulator::Step& step) const {
        return bench.sim.world().port(*bench.sim.world().cabled_peer({step.node, step.out}));
    }
    [[nodiscard]] std::string name(const Simulator::Step& step) const {
        return bench.sim.world().device(step.node).description + "/" + std::to_string(step.out.value());
    }
    SimBench bench;
};

TEST_F(DataTraffic, MovesTheCountersOfItsPathAndNoOthers) {
    std::uint64_t before = 0;
    for (std::uint32_t node = 0; node < bench.sim.world().size(); ++node) {
        for (const Port& port : bench.sim.world().device(node).ports) {
            before += port.traffic.transmit_words;
        }
    }
    const auto steps = path(4, 7);
    ASSERT_EQ(steps.size(), 4U);
    std::vector<std::uint64_t> sent;
    for (const auto& step : steps) {
        sent.push_back(out(step).traffic.transmit_words);
    }
    const DataFate fate = send(4, 7);
    EXPECT_TRUE(fate.completed);
    EXPECT_EQ(fate.at->node, 7U);
    EXPECT_EQ(fate.packets, kBytes / 4096);
    // 4x EDR: 25.78 Gb/s a lane.
    EXPECT_NEAR(static_cast<double>(fate.elapsed.count()), 2000 + static_cast<double>(kBytes) * 8 / 103.125,
                100);
    std::uint64_t moved = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const std::uint64_t more = out(steps[i]).traffic.transmit_words - sent[i];
        EXPECT_GE(more, kBytes / 4);
        EXPECT_EQ(out(steps[i]).traffic.transmit_wait, 0U);
        moved += more;
    }
    std::uint64_t after = 0;
    for (std::uint32_t node = 0; node < bench.sim.world().size(); ++node) {
        for (const Port& port : bench.sim.world().device(node).ports) {
            after += port.traffic.transmit_words;
        }
    }
    EXPECT_LT(after - before - moved, kBytes / 4 / 10) << "acknowledgements alone";
}

TEST_F(DataTraffic, DiesWhereTheTableDropsIt) {
    const auto steps = path(4, 7);
    bench.sim.set_lft_entry(steps[1].node, lid_of(7), mad::kLftDrop);
    const std::uint64_t before = out(steps[0]).traffic.transmit_words;
    const std::uint64_t beyond = out(steps[1]).traffic.transmit_words;
    const DataFate fate = send(4, 7);
    EXPECT_FALSE(fate.completed);
    EXPECT_FALSE(fate.at);
    EXPECT_GT(out(steps[0]).traffic.transmit_words, before);
    EXPECT_EQ(out(steps[1]).traffic.transmit_words, beyond);
}

TEST_F(DataTraffic, ComesOutAtAnotherHost) {
    const auto steps = path(4, 7);
    const auto other = path(4, 6);
    bench.sim.set_lft_entry(steps[3].node, lid_of(7), other[3].out.value());
    const DataFate fate = send(4, 7);
    EXPECT_FALSE(fate.completed);
    ASSERT_TRUE(fate.at);
    EXPECT_EQ(fate.at->node, 6U);
}

TEST_F(DataTraffic, DiesInALoop) {
    const auto there = path(4, 7);
    const auto back = path(7, 4);
    bench.sim.set_lft_entry(there[2].node, lid_of(7), back[2].out.value());
    EXPECT_FALSE(send(4, 7).completed);
}

TEST_F(DataTraffic, IsNothingWithoutAcknowledgements) {
    const auto back = path(7, 4);
    bench.sim.set_lft_entry(back[1].node, lid_of(4), mad::kLftDrop);
    const DataFate fate = send(4, 7);
    EXPECT_FALSE(fate.completed);
    EXPECT_EQ(fate.at->node, 7U);
}

TEST_F(DataTraffic, DamagedPacketsAreCountedAndSentAgain) {
    const auto steps = path(4, 7);
    // The port that receives the second step's packets.
    const PortRef bad = *bench.sim.world().cabled_peer({steps[1].node, steps[1].out});
    const std::string where =
        bench.sim.world().device(bad.node).description + "/" + std::to_string(bad.port.value());
    inject(bench, "lossy " + where + " probability=0.1");
    const std::uint64_t first = out(steps[0]).traffic.transmit_packets;
    const std::uint64_t last = out(steps[3]).traffic.transmit_packets;
    const DataFate fate = send(4, 7);
    EXPECT_TRUE(fate.completed);
    EXPECT_GT(fate.damaged, 10U);
    EXPECT_EQ(in(steps[1]).extra->errors.symbol_errors, fate.damaged);
    EXPECT_EQ(in(steps[1]).extra->errors.receive_errors, fate.damaged);
    EXPECT_EQ(out(steps[0]).traffic.transmit_packets - first, fate.packets + fate.damaged);
    EXPECT_EQ(out(steps[3]).traffic.transmit_packets - last, fate.packets);
    inject(bench, "lossy " + where + " probability=1");
    EXPECT_FALSE(send(4, 7).completed);
}

TEST_F(DataTraffic, AThrottledLinkMakesThePortsBeforeItWait) {
    const auto steps = path(4, 7);
    const base::Duration before = send(4, 7).elapsed;
    inject(bench, "throttle " + name(steps[2]) + " probability=0.25");
    const base::Duration after = send(4, 7).elapsed;
    EXPECT_GT(after, 3 * before);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_GT(out(steps[i]).traffic.transmit_wait, kBytes / 4 * 2) << i;
    }
    EXPECT_EQ(out(steps[3]).traffic.transmit_wait, 0U);
}

TEST_F(DataTraffic, SwappedCablesLeaveNoTrace) {
    const auto steps = path(4, 7);
    const auto other = path(5, 6);
    const PortRef a{steps[0].node, steps[0].out};
    const PortRef b{other[0].node, other[0].out};
    const mad::PortInfo before = bench.sim.port_info(steps[1].node, steps[1].out);
    const PortRef to_a = *bench.sim.world().cabled_peer(a);
    const PortRef to_b = *bench.sim.world().cabled_peer(b);
    inject(bench, "swap-cables " + name(steps[0]) + " with=" + name(other[0]));
    EXPECT_EQ(*bench.sim.world().cabled_peer(a), to_b);
    EXPECT_EQ(*bench.sim.world().cabled_peer(b), to_a);
    EXPECT_FALSE(bench.sim.switch_info(0).port_state_change);
    EXPECT_EQ(bench.sim.port_info(steps[1].node, steps[1].out).wire, before.wire);
    EXPECT_TRUE(bench.unsolicited().empty());
    EXPECT_EQ(*bench.sim.world().cabled_peer(*bench.sim.world().cabled_peer(a)), a);
    // Twice is not at all.
    inject(bench, "swap-cables " + name(steps[0]) + " with=" + name(other[0]));
    EXPECT_EQ(*bench.sim.world().cabled_peer(a), to_a);
    EXPECT_TRUE(send(4, 7).completed);
}

TEST_F(DataTraffic, AnEntryIsChangedByAWord) {
    inject(bench, "lft-entry leaf1 lid=3 number=255");
    EXPECT_EQ(bench.sim.lft_entry(0, mad::Lid{3}), mad::kLftDrop);
    for (const char* wrong :
         {"lft-entry leaf1 number=3", "lft-entry leaf1 lid=3 number=256", "swap-cables leaf1/1",
          "redirect-perf leaf1 with=leaf2 number=1", "lft-entry leaf1 lid=49152 number=1"}) {
        EXPECT_FALSE(parse_faults(wrong, "test")) << wrong;
    }
    for (const char* nothing : {"swap-cables leaf1/1 with=leaf9/1", "swap-cables leaf1 with=leaf2/1",
                                "swap-cables leaf1/1 with=leaf2"}) {
        const auto faults = parse_faults(nothing, "test");
        ASSERT_TRUE(faults) << nothing;
        EXPECT_FALSE(bench.sim.check_target(faults->front())) << nothing;
        EXPECT_FALSE(bench.sim.inject(faults->front(), bench.now)) << nothing;
    }
}

TEST_F(DataTraffic, ASwitchSaysThatItRoutesAdaptively) {
    routing::Netlist netlist = four_switches();
    ASSERT_EQ(netlist.nodes[0].vendor_id, 0x0002C9U);
    netlist.nodes[0].vendor_id = 0x00066A;
    SimBench other(std::move(netlist));
    const auto is_on = [&](SimBench& at) -> std::optional<bool> {
        const auto answer = at.get(mad::Attribute::mlnx_adaptive_routing_info, 0, path_of({1}));
        return answer && answer->header.status == 0
                   ? std::optional(mad::decode_mlnx_adaptive_routing(answer->data))
                   : std::nullopt;
    };
    EXPECT_EQ(is_on(bench), false);
    inject(bench, "adaptive-routing leaf1");
    EXPECT_EQ(is_on(bench), true);
    EXPECT_EQ(is_on(other), std::nullopt) << "another vendor's switch does not know the attribute";
}

class PerfFaults : public DataTraffic {
protected:
    mad::PerfReply ask(mad::PerfAttribute attribute, mad::Lid lid, std::uint32_t qp, std::uint32_t qkey) {
        mad::WireMad wire;
        wire.bytes = mad::encode_perf_get(attribute, mad::PortNum{1}, mad::Tid{7});
        wire.address.lid = lid;
        wire.address.qp = qp;
        wire.address.qkey = qkey;
        bench.inbox.clear();
        bench.sim.send(bench.client, wire, bench.now);
        bench.pass(std::chrono::milliseconds{1});
        return bench.inbox.empty() ? mad::PerfReply{} : mad::parse_perf_reply(bench.inbox[0].bytes).value();
    }
};

TEST_F(PerfFaults, AnAgentWithoutWideCounters) {
    const auto asked = [&] {
        return ask(mad::PerfAttribute::port_counters_extended, lid_of(1), 1, kGsiQKey);
    };
    EXPECT_EQ(asked().status, 0);
    EXPECT_TRUE(
        mad::decode_class_port_info(ask(mad::PerfAttribute::class_port_info, lid_of(1), 1, kGsiQKey).data)
            .has_extended_counters());
    inject(bench, "no-extended-counters leaf2");
    EXPECT_NE(asked().status, 0);
    EXPECT_FALSE(
        mad::decode_class_port_info(ask(mad::PerfAttribute::class_port_info, lid_of(1), 1, kGsiQKey).data)
            .has_extended_counters());
}

TEST_F(PerfFaults, AnAgentThatSendsUsElsewhere) {
    static_cast<void>(send(4, 7));
    const auto own = ask(mad::PerfAttribute::port_counters, lid_of(0), 1, kGsiQKey);
    ASSERT_EQ(own.status, 0);
    inject(bench, "redirect-perf leaf1 with=spine2 number=77");
    const auto redirected = ask(mad::PerfAttribute::port_counters, lid_of(0), 1, kGsiQKey);
    EXPECT_EQ(redirected.status, mad::kStatusRedirect);
    const mad::ClassPortInfo info = mad::decode_class_port_info(redirected.data);
    EXPECT_EQ(info.redirect_lid, lid_of(3));
    EXPECT_EQ(info.redirect_qp, 77U);
    const auto there = ask(mad::PerfAttribute::port_counters, info.redirect_lid, 77, info.redirect_qkey);
    EXPECT_EQ(there.status, 0);
    EXPECT_EQ(there.tid, mad::Tid{7});
    EXPECT_GE(mad::decode_port_counters(mad::front_of(there.data)).receive_words,
              mad::decode_port_counters(mad::front_of(own.data)).receive_words);
    // From QP1 the kernel sends QP1's Q_Key whatever one says; a program's own queue pair can be wrong.
    std::size_t answers = 0;
    const auto own_qp =
        bench.sim.join_qp(*bench.sim.locate("", 0), 500, [&](mad::WireMad&&) { ++answers; }).value();
    for (const std::uint32_t qkey : {5U, kGsiQKey}) {
        mad::WireMad wire;
        wire.bytes = mad::encode_perf_get(mad::PerfAttribute::port_counters, mad::PortNum{1}, mad::Tid{8});
        wire.address.lid = lid_of(3);
        wire.address.qp = 77;
        wire.address.qkey = qkey;
        bench.sim.send(own_qp, wire, bench.now);
        bench.pass(std::chrono::milliseconds{1});
        EXPECT_EQ(answers, qkey == kGsiQKey ? 1U : 0U) << qkey;
    }
    EXPECT_EQ(ask(mad::PerfAttribute::port_counters, lid_of(3), 1, kGsiQKey).status, 0) << "its own";
}

}  // namespace
}  // namespace ibf::sim
