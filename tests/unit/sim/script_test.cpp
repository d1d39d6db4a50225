// Each kind of fault, as a subnet manager would meet it.
#include <gtest/gtest.h>

#include "sim_bench.hpp"

namespace ibf::sim {
namespace {

using mad::Attribute;
using mad::Method;
using mad::PortInfo;
using mad::PortNum;
using mad::PortState;

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Script, DropStrikesSoOftenAndThenNoMore) {
    SimBench bench(star_of_four());
    inject(bench, "drop sw attr=PortInfo method=Get count=2");
    EXPECT_TRUE(bench.get(Attribute::node_info, 0, path_of({1})));
    EXPECT_FALSE(bench.get(Attribute::port_info, 1, path_of({1})));
    EXPECT_FALSE(bench.get(Attribute::port_info, 1, path_of({1})));
    EXPECT_TRUE(bench.get(Attribute::port_info, 1, path_of({1})));
}

TEST(Script, DelayDuplicateWrongTidErrorStatus) {
    SimBench bench(star_of_four());
    inject(bench,
           "delay h2 delay=5ms count=1\nduplicate h3 count=1\nwrong-tid h4 count=1\nerror-status sw count=1");
    EXPECT_FALSE(bench.get(Attribute::node_info, 0, path_of({1, 2})));
    bench.pass(milliseconds{5});
    EXPECT_EQ(bench.inbox.size(), 1U);
    bench.inbox.clear();
    EXPECT_TRUE(bench.get(Attribute::node_info, 0, path_of({1, 3})));
    EXPECT_EQ(bench.inbox.size(), 2U);
    bench.inbox.clear();
    EXPECT_FALSE(bench.get(Attribute::node_info, 0, path_of({1, 4})));
    EXPECT_EQ(bench.inbox.size(), 1U);
    EXPECT_EQ(bench.get(Attribute::node_info, 0, path_of({1})).value().header.status, 0x1C);
    EXPECT_EQ(bench.sim.counters().rule_breaks, 0U);
}

TEST(Script, ReorderLetsLaterAnswersOvertake) {
    SimBench bench(star_of_four());
    inject(bench, "reorder sw delay=1ms");
    for (int i = 0; i < 30; ++i) {
        mad::WireMad wire;
        wire.bytes = mad::encode_smp(bench.request(Method::get, Attribute::node_info, 0, path_of({1}), {}));
        bench.sim.send(bench.client, wire, bench.now);
    }
    bench.pass(milliseconds{10});
    ASSERT_EQ(bench.inbox.size(), 30U);
    std::size_t inversions = 0;
    for (std::size_t i = 1; i < bench.inbox.size(); ++i) {
        inversions += mad::parse_smp(bench.inbox[i].bytes)->header.tid <
                      mad::parse_smp(bench.inbox[i - 1].bytes)->header.tid;
    }
    EXPECT_GT(inversions, 0U);
}

TEST(Script, SlowOptimisedSl2VlSetsMustNotOverlap) {
    SimBench bench(star_of_four());
    inject(bench, "slow-set sw attr=SLtoVLMappingTable delay=400ms");
    const auto send = [&] {
        mad::WireMad wire;
        wire.bytes =
            mad::encode_smp(bench.request(Method::set, Attribute::sl2vl_table, 0x30000, path_of({1}), {}));
        bench.sim.send(bench.client, wire, bench.now);
    };
    send();
    bench.pass(milliseconds{399});
    EXPECT_TRUE(bench.inbox.empty());
    bench.pass(milliseconds{2});
    EXPECT_EQ(bench.inbox.size(), 1U);
    EXPECT_EQ(bench.sim.counters().rule_breaks, 0U);
    send();
    send();
    bench.pass(seconds{2});
    EXPECT_EQ(bench.breaks("sl2vl-overlap"), 1U);
}

TEST(Script, DeadAgentsForwardAndComeAlive) {
    SimBench bench(star_of_four());
    inject(bench, "dead sw");
    EXPECT_FALSE(bench.get(Attribute::node_info, 0, path_of({1})));
    EXPECT_TRUE(bench.get(Attribute::node_info, 0, path_of({1, 2})));
    inject(bench, "alive sw");
    EXPECT_TRUE(bench.get(Attribute::node_info, 0, path_of({1})));
}

TEST(Script, RebootWipesTablesAndHidesBehindAnActivePort0) {
    SimBench bench(star_of_four());
    bring_up(bench);
    inject(bench, "reboot sw delay=10ms");
    EXPECT_FALSE(bench.get(Attribute::node_info, 0, path_of({1})));
    bench.pass(milliseconds{11});
    const PortInfo port0 = bench.port_info(path_of({1}), 0);
    EXPECT_EQ(port0.state, PortState::active);
    EXPECT_EQ(port0.lid, mad::kLidNone);
    EXPECT_EQ(bench.sim.lft_entry(0, lid_of(2)), mad::kLftDrop);
    EXPECT_EQ(bench.sim.switch_info(0).linear_fdb_top, 0);
    EXPECT_TRUE(bench.sim.switch_info(0).port_state_change);
    EXPECT_EQ(bench.sim.port_info(0, PortNum{2}).state, PortState::init);
    EXPECT_EQ(bench.sim.port_info(2, PortNum{1}).state, PortState::init);
    EXPECT_EQ(bench.sim.port_info(2, PortNum{1}).lid, lid_of(2));  // the neighbour was not reset
}

TEST(Script, AnAgentThatRebootsAtOnceWhileItWasSilentAnswers) {
    SimBench bench(star_of_four());
    bring_up(bench);
    inject(bench, "reboot sw delay=10ms");
    inject(bench, "reboot sw");
    bench.pass(milliseconds{2});  // its links train
    EXPECT_TRUE(bench.get(Attribute::node_info, 0, path_of({1})));
    bench.pass(milliseconds{11});
    EXPECT_TRUE(bench.get(Attribute::node_info, 0, path_of({1})));
}

TEST(Script, LinkDownIsSeenAtBothEndsAndComesBackInInit) {
    SimBench bench(four_switches());
    bring_up(bench);
    inject(bench, "link-down leaf1/3");
    EXPECT_EQ(bench.sim.port_info(0, PortNum{3}).state, PortState::down);
    EXPECT_EQ(bench.sim.port_info(2, PortNum{1}).state, PortState::down);
    EXPECT_TRUE(bench.sim.switch_info(0).port_state_change);
    EXPECT_TRUE(bench.sim.switch_info(2).port_state_change);
    EXPECT_FALSE(bench.get(Attribute::node_info, 0, path_of({1, 3})));
    inject(bench, "link-up leaf1/3");
    EXPECT_EQ(bench.sim.port_info(0, PortNum{3}).phys_state, mad::PhysState::training);
    bench.pass(milliseconds{1});
    EXPECT_EQ(bench.sim.port_info(0, PortNum{3}).state, PortState::init);
    EXPECT_EQ(bench.sim.port_info(2, PortNum{1}).state, PortState::init);
    PortInfo trained = bench.sim.port_info(0, PortNum{3});
    trained.capability_mask = bench.sim.port_info(0, PortNum{0}).capability_mask;
    EXPECT_EQ(trained.speed(), mad::LinkSpeed::edr);
    EXPECT_TRUE(bench.get(Attribute::node_info, 0, path_of({1, 3})));
}

TEST(Script, AnswerIsLostWhenTheLinkGoesDownMeanwhile) {
    SimBench bench(star_of_four());
    inject(bench, "slow-set h2 delay=1ms");
    mad::WireMad wire;
    const PortInfo info = bench.settings(path_of({1, 2}), 1);
    wire.bytes = mad::encode_smp(
        bench.request(Method::set, Attribute::port_info, 1, path_of({1, 2}), mad::encode(info)));
    bench.inbox.clear();
    bench.sim.send(bench.client, wire, bench.now);
    bench.pass(microseconds{500});
    inject(bench, "link-down h2/1");
    bench.pass(milliseconds{5});
    EXPECT_TRUE(bench.inbox.empty());
}

TEST(Script, FlapGoesDownAndUpSoOften) {
    SimBench bench(star_of_four());
    inject(bench, "flap sw/2 delay=10ms count=3");
    for (int round = 0; round < 3; ++round) {
        bench.pass(milliseconds{5});
        EXPECT_EQ(bench.sim.port_info(0, PortNum{2}).state, PortState::down) << round;
        bench.pass(milliseconds{10});
        EXPECT_EQ(bench.sim.port_info(0, PortNum{2}).state, PortState::init) << round;
        bench.pass(milliseconds{5});
    }
    bench.pass(milliseconds{100});
    EXPECT_EQ(bench.sim.port_info(0, PortNum{2}).state, PortState::init);
}

TEST(Script, NodesGoAndComeBackBlank) {
    SimBench bench(star_of_four());
    bring_up(bench);
    inject(bench, "remove-node h2");
    EXPECT_FALSE(bench.sim.present(2));
    EXPECT_EQ(bench.sim.port_info(0, PortNum{2}).state, PortState::down);
    EXPECT_FALSE(bench.get(Attribute::node_info, 0, path_of({1, 2})));
    inject(bench, "add-node h2");
    bench.pass(milliseconds{1});
    EXPECT_TRUE(bench.sim.present(2));
    EXPECT_EQ(bench.port_info(path_of({1, 2}), 1).lid, mad::kLidNone);
    EXPECT_EQ(bench.sim.port_info(0, PortNum{2}).state, PortState::init);
}

TEST(Script, BadNodeInfoOneWayLinksAndStrangeGuids) {
    SimBench bench(star_of_four());
    inject(bench, "corrupt-node-info h2\none-way h3/1");
    const mad::NodeInfo bad =
        mad::decode_node_info(bench.get(Attribute::node_info, 0, path_of({1, 2})).value().data);
    EXPECT_GT(bad.local_port.value(), bad.num_ports);
    EXPECT_FALSE(bench.get(Attribute::node_info, 0, path_of({1, 3})));
    EXPECT_EQ(bench.port_info(path_of({1}), 3).state, PortState::init);  // the switch sees a link
    bench.sim.set_node_guid(4, bench.sim.netlist().nodes[1].guid);
    const mad::NodeInfo twin =
        mad::decode_node_info(bench.get(Attribute::node_info, 0, path_of({1, 4})).value().data);
    const mad::NodeInfo own =
        mad::decode_node_info(bench.get(Attribute::node_info, 0, mad::DrPath{}).value().data);
    EXPECT_EQ(twin.node_guid, own.node_guid);
    EXPECT_EQ(twin.port_guid, own.port_guid);
    bench.sim.set_node_guid(4, mad::Guid{0});
    EXPECT_FALSE(
        mad::decode_node_info(bench.get(Attribute::node_info, 0, path_of({1, 4})).value().data).valid());
}

TEST(Script, UnknownTargetsAreNotFound) {
    SimBench bench(star_of_four());
    Fault fault;
    for (const char* where : {"nobody", "sw/9", "h1/300"}) {
        fault.where = where;
        EXPECT_FALSE(bench.sim.inject(fault, bench.now)) << where;
        EXPECT_FALSE(bench.sim.check_target(fault)) << where;
    }
    fault.where = "0x0002c90000000100";
    EXPECT_TRUE(bench.sim.check_target(fault));
}

TEST(Script, ScheduledFaultsComeAtTheirTime) {
    SimBench bench(star_of_four());
    bench.sim.schedule(parse_faults("at 50ms link-down sw/2\nat 90ms link-up sw/2", "t").value());
    bench.pass(milliseconds{49});
    EXPECT_EQ(bench.sim.port_info(0, PortNum{2}).state, PortState::init);
    bench.pass(milliseconds{2});
    EXPECT_EQ(bench.sim.port_info(0, PortNum{2}).state, PortState::down);
    bench.pass(milliseconds{50});
    EXPECT_EQ(bench.sim.port_info(0, PortNum{2}).state, PortState::init);
}

}  // namespace
}  // namespace ibf::sim
