// What an SM must not take for granted. Each of these kinds was first found by the campaign (tests/sim).
#include <gtest/gtest.h>

#include "harness.hpp"
#include "mad/codec.hpp"

namespace ibf::test {
namespace {

using mad::Attribute;
using mad::PortNum;
using sm::Role;
using std::chrono::seconds;

std::optional<mad::Smp> answer_in(const mad::WireMad& wire) {
    auto smp = mad::parse_smp(wire.bytes);
    return smp && smp->header.is_response() ? std::optional(std::move(*smp)) : std::nullopt;
}

/// A client at h5 of T2 that is no SM of ours, and asks h1 for its SMInfo as a master would.
void ask_as_master(Lab& lab, sim::Simulator::ClientId client) {
    mad::SmInfo shown;
    shown.guid = lab.sim.local_port(client).port_guid;
    shown.sm_key = mad::SmKey{1};
    shown.state = mad::SmState::master;
    mad::Smp smp;
    smp.header.mgmt_class = mad::MgmtClass::subn_lid;
    smp.header.method = static_cast<std::uint8_t>(mad::Method::get);
    smp.header.attribute = Attribute::sm_info;
    smp.header.tid = std::uint64_t{client} << 32U | 1U;
    smp.data = mad::encode(shown);
    mad::WireMad wire{mad::encode_smp(smp), {}, {}};
    wire.address.lid = lab.lid(lab.node("h1"), 1);
    lab.sim.send(client, wire, lab.now);
}

class Doubt : public ::testing::Test {
protected:
    Doubt() : lab(t2(), at("h1")) {
        lab.start();
        EXPECT_TRUE(lab.run_until_up(seconds{5}));
        lab.advance(seconds{1});
    }
    Lab lab;
};

// A standby's last look found the master's leaf silent; then polls are lost. Who looks for the master asks
// there again.
TEST_F(Doubt, AMasterBehindWhoWasSilentIsFound) {
    Lab b(lab, at("h5"));
    b.start();
    ASSERT_TRUE(lab.run_until([&] { return b.sm->role() == Role::standby; }, seconds{5}));
    bool deaf = true;
    b.on_deliver = [&](mad::WireMad& wire) {
        constexpr std::uint8_t kBehindTheOtherLeaf = 4;
        const auto answer = answer_in(wire);
        const bool poll = answer && answer->header.attribute == Attribute::sm_info;
        const bool far = answer && answer->path.hops >= kBehindTheOtherLeaf;
        return !((far && deaf) || (poll && b.sm->role() == Role::standby));
    };
    const std::uint64_t before = b.sweeps("full");
    b.request_sweep(sm::SweepScope::full);
    ASSERT_TRUE(lab.run_until([&] { return b.sweeps("full") > before; }, seconds{3}));
    ASSERT_EQ(b.sm->role(), Role::standby);
    ASSERT_TRUE(b.has_isolation(fabric::IsolationReason::silent));
    deaf = false;
    ASSERT_TRUE(lab.run_until([&] { return b.sm->role() == Role::discovering; }, seconds{10}));
    ASSERT_TRUE(lab.run_until([&] { return b.sm->role() != Role::discovering; }, seconds{10}));
    EXPECT_EQ(b.sm->role(), Role::standby);
    EXPECT_EQ(b.own_sets(), 0U);
}

// Its heir was asked before it had mastership, the old master after. Here: the one word that tells of a
// master says "standby", once.
TEST_F(Doubt, AHandOverUnderTheLookIsLookedPast) {
    Lab b(lab, at("h5"));
    std::uint32_t told = 0;
    b.on_deliver = [&](mad::WireMad& wire) {
        auto answer = answer_in(wire);
        if (answer && answer->header.attribute == Attribute::sm_info && told++ == 0) {
            mad::SmInfo shown = mad::decode_sm_info(answer->data);
            shown.state = mad::SmState::standby;
            answer->data = mad::encode(shown);
            wire.bytes = mad::encode_smp(*answer);
        }
        return true;
    };
    b.start();
    ASSERT_TRUE(lab.run_until([&] { return b.sm->role() != Role::discovering; }, seconds{5}));
    EXPECT_EQ(b.sm->role(), Role::standby);
    EXPECT_EQ(b.own_sets(), 0U);
    EXPECT_GT(told, 1U);
}

// Not even the bit that tells of a change is cleared by who may not be the only master.
TEST_F(Doubt, WhoAsksAsAMasterIsLookedForReadingOnly) {
    Rival rival(lab, "h5", mad::SmState::master);
    const auto client = lab.sim.join("h5", 0, [](mad::WireMad&&) {}).value();
    mad::SwitchInfo info = lab.sim.switch_info(lab.node("leaf2"));
    info.port_state_change = true;
    lab.sim.set_switch_info(lab.node("leaf2"), info);
    lab.forget_counts();
    ask_as_master(lab, client);
    ASSERT_TRUE(lab.run_until([&] { return lab.sm->role() == Role::contested; }, seconds{1}));
    EXPECT_EQ(lab.own_sets(), 0U);
}

// What a look has read so far, that one may have overwritten.
TEST_F(Doubt, ALookEndsWhenAnotherMasterIsHeard) {
    Rival rival(lab, "h5", mad::SmState::master);
    const auto client = lab.sim.join("h5", 0, [](mad::WireMad&&) {}).value();
    std::string lines;
    lab.on_line = [&](const std::string& line) { lines += line + "\n"; };
    lab.request_sweep(sm::SweepScope::full);
    ask_as_master(lab, client);
    ASSERT_TRUE(lab.run_until([&] { return lab.sm->role() == Role::contested; }, seconds{1}));
    EXPECT_NE(lines.find("abandoned: h5"), std::string::npos) << lines;
}

// Nor is written what was being reckoned when that one was heard.
TEST_F(Doubt, RoutesThatComeAfterAnotherMasterWasHeardAreNotWritten) {
    Rival rival(lab, "h5", mad::SmState::master);
    const auto client = lab.sim.join("h5", 0, [](mad::WireMad&&) {}).value();
    lab.routes_wait = true;
    const std::uint64_t before = lab.routings;
    lab.inject("link-down spine2/1");
    ASSERT_TRUE(lab.run_until([&] { return lab.routings > before; }, seconds{5}));
    lab.forget_counts();
    ask_as_master(lab, client);
    ASSERT_TRUE(lab.run_until([&] { return lab.sm->role() == Role::contested; }, seconds{1}));
    lab.answer_routes();
    lab.advance(seconds{1});
    EXPECT_EQ(lab.own_sets(), 0U);
}

// What another master wrote is read, also when a look finds it gone before polls do.
TEST_F(Doubt, ARivalThatALookFindsGoneHasWritten) {
    Rival rival(lab, "h5", mad::SmState::master);
    lab.request_sweep(sm::SweepScope::full);
    ASSERT_TRUE(
        lab.run_until([&] { return lab.sm->role() == Role::contested && lab.sm->at_rest(); }, seconds{1}));
    lab.inject("lft-entry leaf1 lid=3 number=255");
    lab.inject("link-down leaf2/1");
    lab.request_sweep(sm::SweepScope::full);
    ASSERT_TRUE(lab.run_until([&] { return lab.sm->role() == Role::master; }, seconds{1}));
    ASSERT_TRUE(lab.run_until([&] { return lab.sm->at_rest(); }, seconds{1}));
    EXPECT_EQ(wrong(lab, {lab.node("h5")}), "");
}

// A port that refused its LID does not keep it reserved: the one that has it stays.
TEST(Doubts, ALidThatWasNotTakenIsNobodys) {
    Lab lab(t2(), at("h1"));
    const std::uint32_t h3 = lab.node("h3");
    const std::uint32_t h8 = lab.node("h8");
    lab.inject("remove-node h8\nerror-status h3 method=Set number=0x1c count=1000");
    lab.start();
    ASSERT_TRUE(lab.run_until([&] { return lab.sm->mode() == fabric::SmMode::up; }, seconds{5}));
    const mad::Guid owner{lab.sim.netlist().nodes[h3].guid.value() + 1};
    EXPECT_FALSE(lab.stored.lids.contains(owner));
    ASSERT_EQ(lab.lid(h3, 1), mad::kLidNone);
    constexpr mad::Lid kThird{3};  // by attachment, that of h3
    lab.inject("add-node h8");
    mad::PortInfo info = lab.sim.port_info(h8, PortNum{1});
    info.lid = kThird;
    lab.sim.set_port_info(h8, PortNum{1}, info);
    lab.advance(seconds{60});
    EXPECT_EQ(lab.lid(h8, 1), kThird);
    EXPECT_EQ(lab.events("lid-moved"), 0U);
}

// A switch passed for another one and does no more. It kept its links, so no switch tells of that.
TEST_F(Doubt, NamesakesAreAskedWhoTheyAre) {
    const std::uint32_t spine = lab.node("spine2");
    const auto& nodes = lab.sim.netlist().nodes;
    lab.inject("link-down spine2");
    lab.sim.set_node_guid(spine, nodes[lab.node("spine1")].guid);
    lab.inject("link-up spine2");
    lab.advance(seconds{30});
    ASSERT_TRUE(lab.has_isolation(fabric::IsolationReason::duplicate_guid));
    lab.sim.set_node_guid(spine, nodes[spine].guid);
    lab.advance(seconds{30});
    EXPECT_FALSE(lab.has_isolation(fabric::IsolationReason::duplicate_guid));
    EXPECT_EQ(wrong(lab), "");
}

}  // namespace
}  // namespace ibf::test
