// Packets on QP1 between clients: addresses, partitions, and ports where nobody listens.
#include <gtest/gtest.h>

#include "sim/world.hpp"
#include "sim_bench.hpp"

namespace ibf::sim {
namespace {

class GsiTest : public ::testing::Test {
protected:
    GsiTest() : bench(star_of_four()) {
        EXPECT_EQ(bring_up(bench), 0U);
        peer = *bench.sim.join("h3", 0, [this](mad::WireMad&& mad) { at_peer.push_back(mad); });
        bench.inbox.clear();
    }
    static mad::WireMad query(mad::Lid to) {
        mad::WireMad mad;
        mad.bytes[0] = 1;
        mad.bytes[1] = 0x03;
        mad.bytes[2] = 2;
        mad.bytes[3] = 1;
        mad.address.lid = to;
        mad.address.qp = 1;
        return mad;
    }
    void send(const mad::WireMad& mad) {
        bench.sim.send(bench.client, mad, bench.now);
        bench.pass(std::chrono::milliseconds{1});
    }
    /// The P_Keys of a port, as a manager would have set them.
    void set_pkeys(std::uint32_t node, std::initializer_list<std::uint16_t> keys) {
        mad::PKeyBlock block;
        std::size_t at = 0;
        for (const std::uint16_t key : keys) {
            block.keys[at++] = mad::PKey{key};
        }
        ASSERT_TRUE(bench.set(mad::Attribute::pkey_table, 0,
                              node == 1 ? path_of({}) : path_of({1, static_cast<std::uint8_t>(node)}),
                              mad::encode(block)));
        bench.inbox.clear();
    }

    SimBench bench;
    Simulator::ClientId peer = 0;
    std::vector<mad::WireMad> at_peer;
};

TEST_F(GsiTest, TheReceiverSeesTheSender) {
    mad::WireMad mad = query(lid_of(3));
    mad.address.sl = mad::Sl{3};
    mad.address.path_bits = 5;  // LMC 0: none are left
    mad.address.grh_gid = mad::Gid{.prefix = 0xFE80000000000000ULL, .interface_id = mad::Guid{1}};
    mad.address.grh_hop_limit = 9;
    send(mad);
    ASSERT_EQ(at_peer.size(), 1U);
    const mad::MadAddress& from = at_peer[0].address;
    EXPECT_EQ(from.lid, lid_of(1));
    EXPECT_EQ(from.qp, 1U);
    EXPECT_EQ(from.sl, mad::Sl{3});
    EXPECT_EQ(from.path_bits, 0);
    ASSERT_TRUE(from.grh_gid);
    EXPECT_EQ(from.grh_gid->interface_id, bench.sim.local_port(bench.client).port_guid);
    EXPECT_EQ(from.grh_hop_limit, 9);
}

TEST_F(GsiTest, PathBitsChooseAmongTheLidsOfBothEnds) {
    for (const std::uint32_t node : {1U, 3U}) {
        mad::PortInfo info = bench.sim.port_info(node, mad::PortNum{1});
        info.lmc = 2;
        info.lid = mad::Lid{static_cast<std::uint16_t>(16 * node)};
        bench.sim.set_port_info(node, mad::PortNum{1}, info);
        for (std::uint16_t bits = 0; bits < 4; ++bits) {
            const auto lid = static_cast<std::uint16_t>(16 * node + bits);
            bench.sim.set_lft_entry(0, mad::Lid{lid}, static_cast<std::uint8_t>(node));
        }
    }
    mad::SwitchInfo info = bench.sim.switch_info(0);
    info.linear_fdb_top = 63;
    bench.sim.set_switch_info(0, info);
    mad::WireMad mad = query(mad::Lid{50});
    mad.address.path_bits = 3;
    send(mad);
    ASSERT_EQ(at_peer.size(), 1U);
    EXPECT_EQ(at_peer[0].address.lid, mad::Lid{19});
    EXPECT_EQ(at_peer[0].address.path_bits, 2);
}

TEST_F(GsiTest, OnlyPartnersHearEachOther) {
    set_pkeys(1, {0xFFFF, 0x8005, 0x0007});
    set_pkeys(3, {0x7FFF, 0x0007, 0x0005});
    const auto heard_at = [&](std::uint16_t index) -> int {
        at_peer.clear();
        mad::WireMad mad = query(lid_of(3));
        mad.address.pkey_index = index;
        send(mad);
        return at_peer.empty() ? -1 : at_peer[0].address.pkey_index;
    };
    EXPECT_EQ(heard_at(0), 0);
    EXPECT_EQ(heard_at(1), 2);
    EXPECT_EQ(heard_at(2), -1);  // both limited
    EXPECT_EQ(heard_at(3), -1);  // an empty entry
}

TEST_F(GsiTest, AProgramsOwnQueuePair) {
    const Simulator::Place place = *bench.sim.locate("h3", 0);
    std::vector<mad::WireMad> at_qp;
    const auto deliver = [&](mad::WireMad&& mad) { at_qp.push_back(mad); };
    EXPECT_FALSE(bench.sim.join_qp(place, 1, deliver));
    const Simulator::ClientId qp = bench.sim.join_qp(place, 77, deliver).value();
    EXPECT_FALSE(bench.sim.join_qp(place, 77, deliver));

    // What it sends comes from its number; who listens on QP1 there does not hear what is sent to it.
    mad::WireMad mad = query(lid_of(1));
    bench.sim.send(qp, mad, bench.now);
    bench.pass(std::chrono::milliseconds{1});
    ASSERT_EQ(bench.inbox.size(), 1U);
    EXPECT_EQ(bench.inbox[0].address.qp, 77U);
    mad = query(lid_of(3));
    mad.address.qp = 77;
    send(mad);
    EXPECT_EQ(at_qp.size(), 1U);
    const Simulator::ClientId stranger = bench.sim.join_qp(place, 78, {}).value();
    bench.sim.send(stranger, mad, bench.now);
    bench.pass(std::chrono::milliseconds{1});
    EXPECT_EQ(at_qp.size(), 1U) << "without the Q_Key of the queue pair";
    EXPECT_TRUE(at_peer.empty());
    send(query(lid_of(3)));
    EXPECT_EQ(at_qp.size(), 1U);
    EXPECT_EQ(at_peer.size(), 1U);

    bench.sim.leave(qp);
    bench.inbox.clear();
    send(mad);
    EXPECT_EQ(at_qp.size(), 1U);
    EXPECT_TRUE(bench.inbox.empty()) << "nobody answers for a queue pair that is gone";
}

TEST_F(GsiTest, WhereNobodyListensTheDeviceSaysSo) {
    send(query(lid_of(2)));
    ASSERT_EQ(bench.inbox.size(), 1U);
    EXPECT_EQ(bench.inbox[0].bytes[3], 0x81);
    EXPECT_EQ(bench.inbox[0].bytes[5], 0x0C);
    bench.inbox.clear();
    mad::WireMad table = query(lid_of(2));
    table.bytes[3] = 0x12;
    send(table);
    EXPECT_TRUE(bench.inbox.empty());
}

TEST_F(GsiTest, FaultsStrikeWhatProgramsReceive) {
    inject(bench, "drop h3 probability=0.25");
    for (int i = 0; i < 400; ++i) {
        send(query(lid_of(3)));
    }
    EXPECT_GT(at_peer.size(), 250U);
    EXPECT_LT(at_peer.size(), 350U);
    inject(
        bench,
        "duplicate h3 count=1 method=Get\ndrop h3 attr=NodeInfo");  // NodeInfo's number is NodeRecord's too
    at_peer.clear();
    mad::WireMad node_record = query(lid_of(3));
    node_record.bytes[17] = 0x11;
    for (int i = 0; i < 20; ++i) {
        send(node_record);
    }
    EXPECT_GT(at_peer.size(), 8U);
}

TEST_F(GsiTest, APortThatASetTakesDownAnswersFirst) {
    mad::PortInfo down = bench.settings(path_of({1, 3}), 1);
    down.state = mad::PortState::down;
    const auto answer = bench.set(mad::Attribute::port_info, 1, path_of({1, 3}), mad::encode(down));
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->header.status, 0);
    EXPECT_EQ(mad::decode_port_info(answer->data).state, mad::PortState::active);
    EXPECT_NE(bench.sim.port_info(3, mad::PortNum{1}).state, mad::PortState::active);
}

TEST_F(GsiTest, PlacesAreNamedInManyWays) {
    const Simulator& sim = bench.sim;
    EXPECT_EQ(sim.locate("h3/1", 0)->node, 3U);
    EXPECT_EQ(sim.locate("", 0)->node, 1U);
    EXPECT_EQ(sim.locate("sw", 0)->port, mad::PortNum{0});
    EXPECT_FALSE(sim.locate("h3/9", 0));
    EXPECT_FALSE(sim.locate("h9/1", 0));
    EXPECT_EQ(sim.in_flight(), 0U);
}

}  // namespace
}  // namespace ibf::sim
