// Hold mode: it looks and answers, and writes nothing, whatever it meets.
#include <gtest/gtest.h>

#include "harness.hpp"
#include "mad/codec.hpp"

namespace ibf::test {
namespace {

using mad::PortNum;
using std::chrono::seconds;

/// A fabric that an SM has set up and left by a crash; the next start is in hold mode.
void set_up_and_crash(Lab& lab) {
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    lab.advance(seconds{12});
    lab.kill();
    lab.forget_counts();
    lab.hold_because = "3 runs were killed";
}

/// What the tables that readers see say of each switch, beside what the switch holds; of so many they say
/// nothing.
void expect_tables_as_held(const Lab& lab, std::ptrdiff_t unread) {
    const fabric::Snapshot snapshot = lab.snapshot();
    ASSERT_TRUE(snapshot.view);
    ASSERT_EQ(snapshot.programmed.size(), snapshot.view->topology.switches.size());
    EXPECT_EQ(std::count(snapshot.programmed.begin(), snapshot.programmed.end(), nullptr), unread);
    for (std::size_t s = 0; s < snapshot.programmed.size(); ++s) {
        const auto& row = snapshot.programmed[s];
        const std::uint32_t node = lab.node(snapshot.view->topology.switches[s].name);
        for (std::size_t lid = 1; row && lid <= lab.sim.switch_info(node).linear_fdb_top; ++lid) {
            ASSERT_EQ((*row)[lid], lab.sim.lft_entry(node, mad::Lid{static_cast<std::uint16_t>(lid)}));
        }
    }
}

TEST(Hold, NothingIsWrittenAndReadersSeeWhatIsThere) {
    Lab lab(t2(), at("h1"));
    set_up_and_crash(lab);
    const auto lids = lab.lids();
    lab.inject("reboot spine2\nlink-down leaf2/3");  // there would be a lot to do
    lab.start();
    lab.advance(seconds{1});
    lab.request_sweep(sm::SweepScope::full);
    lab.inject("trap leaf1/5 number=128 count=20 delay=100ms\nreboot h4\nlink-down leaf1/6\nlink-up leaf2/3");
    lab.set_groups({{mad::Mlid{0xC001}, {{lab.sim.netlist().nodes[lab.node("h2")].guid, true}}}});
    lab.advance(seconds{60});
    EXPECT_EQ(lab.all_sets(), 0U) << "not even a PortStateChange is cleared";
    EXPECT_EQ(lab.snapshot().mode, fabric::SmMode::hold);
    EXPECT_NE(lab.snapshot().mode_text.find("'ibfabric resume' ends it"), std::string::npos);
    EXPECT_EQ(lab.events("hold"), 1U);
    EXPECT_EQ(lab.find_event("hold")->severity, fabric::EventRecord::Severity::error);
    EXPECT_GE(lab.sweeps("full"), 3U);
    expect_tables_as_held(lab, 0);
    const fabric::Snapshot snapshot = lab.snapshot();
    for (const auto& item : snapshot.view->topology.end_ports) {
        if (lab.lid(lab.node(item.name), item.port.value()) != mad::kLidNone) {
            EXPECT_EQ(item.lids.base, lids.at(item.port_guid)) << item.name;
        }
    }
    // Then an operator has seen to it.
    lab.hold_because.clear();
    lab.tell([](auto& sm, base::Instant now, sm::Effects& out) { sm.resume(now, out); });
    ASSERT_TRUE(lab.run_until_up(seconds{30}));
    EXPECT_GT(lab.all_sets(), 0U);
    EXPECT_EQ(lab.events("resumed"), 1U);
    EXPECT_EQ(wrong(lab), "");
    for (const auto& [owner, lid] : lab.lids()) {
        EXPECT_EQ(lid, lids.at(owner)) << "no LID has moved";
    }
}

TEST(Hold, StoredTablesAreNotReadAndOthersAre) {
    for (const bool stored : {true, false}) {
        Lab lab(t2(), at("h1"));
        set_up_and_crash(lab);
        if (!stored) {
            lab.stored.tables.clear();
        }
        lab.start();
        lab.advance(seconds{5});
        EXPECT_EQ(lab.gets(mad::Attribute::linear_forwarding_table) == 0, stored);
        EXPECT_EQ(lab.all_sets(), 0U);
        expect_tables_as_held(lab, 0);
    }
}

TEST(Hold, ToOtherSubnetManagersItIsNotActive) {
    Lab lab(t2(), at("h1"));
    set_up_and_crash(lab);
    lab.start();
    lab.advance(seconds{5});
    Lab other(lab, at("h8"));
    other.start();
    ASSERT_TRUE(other.run_until_up(seconds{20}));
    EXPECT_EQ(other.sm->role(), sm::Role::master) << "who can serves";
    EXPECT_EQ(lab.own_sets(), 0U);
    const auto& sms = other.snapshot().fabric->sms;
    ASSERT_EQ(sms.size(), 1U);
    EXPECT_EQ(sms[0].state, mad::SmState::not_active);
}

/// On a torus whose routes need lanes.
class HoldLanes : public ::testing::Test {
protected:
    HoldLanes() : lab(netlist("torus:4x4,hosts=1"), options()) {
        lab.start();
        EXPECT_TRUE(lab.run_until_up(seconds{20}));
        lab.advance(seconds{12});
        before = lab.snapshot().routes;
        lab.kill();
        lab.forget_counts();
        lab.hold_because = "3 runs were killed";
    }
    static LabOptions options() {
        LabOptions options;
        options.config.routing.engines = {"torus-2qos"};
        return options;
    }
    /// Paths, from a switch to a LID, that readers are told another SL of than the routes were proved with.
    [[nodiscard]] std::size_t wrong_sls() const {
        const fabric::Snapshot snapshot = lab.snapshot();
        if (!snapshot.held) {
            return ~std::size_t{0};
        }
        const routing::Routes old = routing::in_order_of(snapshot.view->topology, before->routes);
        const routing::Routes now = routing::in_order_of(snapshot.view->topology, *snapshot.held);
        std::size_t wrong = 0;
        for (std::uint32_t s = 0; s < old.switch_guids.size(); ++s) {
            for (std::uint16_t lid = 1; lid <= snapshot.view->topology.max_lid; ++lid) {
                const auto from = routing::SwitchIndex{s};
                wrong += old.sl(from, mad::Lid{lid}) == now.sl(from, mad::Lid{lid}) ? 0U : 1U;
            }
        }
        return wrong;
    }

    Lab lab;
    std::shared_ptr<const routing::RouteOutcome> before;
};

TEST_F(HoldLanes, PathsHaveTheSlsThatWereStoredWithTheTables) {
    ASSERT_TRUE(std::any_of(before->routes.sls.begin(), before->routes.sls.end(), [](const auto& row) {
        return row && std::any_of(row->begin(), row->end(), [](std::uint8_t sl) { return sl != 0; });
    }));
    lab.start();
    lab.advance(seconds{5});
    EXPECT_EQ(wrong_sls(), 0U);
    EXPECT_EQ(lab.events("hold-lanes"), 0U);
    lab.tell([](auto& sm, base::Instant now, sm::Effects& out) { sm.resume(now, out); });
    ASSERT_TRUE(lab.run_until_up(seconds{30}));
    EXPECT_FALSE(lab.snapshot().held) << "there are routes again";
}

TEST_F(HoldLanes, WhereNoneAreStoredThatIsSaid) {
    for (auto& [guid, table] : lab.stored.tables) {
        table.sls.reset();  // as an older release stored them
    }
    lab.start();
    lab.advance(seconds{5});
    EXPECT_GT(wrong_sls(), 0U);
    EXPECT_EQ(lab.events("hold-lanes"), 1U);
    EXPECT_NE(lab.snapshot().mode_text.find("of 16 switch(es) it is not known which SL their paths have"),
              std::string::npos)
        << lab.snapshot().mode_text;
    lab.request_sweep(sm::SweepScope::full);
    lab.advance(seconds{5});
    EXPECT_EQ(lab.events("hold-lanes"), 1U) << "once";
}

}  // namespace
}  // namespace ibf::test
