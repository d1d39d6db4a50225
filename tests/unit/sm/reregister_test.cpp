// Hosts are asked to register with the SA anew where they would be lost otherwise, once, and nowhere else.
#include <gtest/gtest.h>

#include "harness.hpp"
#include "sim/world.hpp"

namespace ibf::test {
namespace {

using std::chrono::seconds;

class Reregister : public ::testing::Test {
protected:
    static LabOptions at_h1() {
        LabOptions options;
        options.at = "h1";
        return options;
    }
    Reregister() : lab(t2(), at_h1()) {
        lab.start();
        EXPECT_TRUE(lab.run_until_up(seconds{5}));
        lab.advance(seconds{15});
    }
    /// How often each host was asked, h1 to h8.
    std::vector<std::uint32_t> asked() {
        std::vector<std::uint32_t> counts;
        for (int i = 1; i <= 8; ++i) {
            const std::uint32_t node = lab.node(fmt::format("h{}", i));
            counts.push_back(lab.sim.world().device(node).ports[1].events.client_reregister);
        }
        return counts;
    }
    /// The sweep has settled, and nobody was asked yet: run_until_up() would wait for the asking as well.
    bool run_until_asking_is_due() {
        return lab.run_until([&] { return lab.sm->mode() == fabric::SmMode::up; }, seconds{5}) &&
               asked() == std::vector<std::uint32_t>(8, 0);
    }
    void restart() {
        lab.kill();
        lab.advance(seconds{1});
        lab.start();
        ASSERT_TRUE(lab.run_until_up(seconds{5}));
        lab.advance(seconds{15});
    }

    Lab lab;
};

// C52: none at a start on a fabric that nobody used, none at a restart that keeps what clients left; else
// each host once, after the fabric is up, and no switch.
TEST_F(Reregister, C52_OnlyWhereTheSaForgotItsClients) {
    EXPECT_EQ(asked(), std::vector<std::uint32_t>(8, 0));
    restart();
    EXPECT_EQ(asked(), std::vector<std::uint32_t>(8, 0));
    lab.stored.sa_edition.reset();
    std::uint32_t too_early = 0;
    lab.on_mad = [&](base::Instant, std::uint32_t, const mad::Smp& smp, mad::MadStatus) {
        const bool asks = smp.header.attribute == mad::Attribute::port_info && smp.header.method == 2 &&
                          mad::decode_port_info(smp.data).client_reregister;
        too_early += asks && lab.sm->mode() != fabric::SmMode::up ? 1U : 0U;
    };
    restart();
    EXPECT_EQ(asked(), std::vector<std::uint32_t>(8, 1));
    EXPECT_EQ(too_early, 0U);
    EXPECT_EQ(lab.events("reregister"), 1U);
    EXPECT_EQ(lab.sim.counters().rule_breaks, 0U) << "no switch was asked";
    lab.request_sweep(sm::SweepScope::full);
    lab.advance(seconds{15});
    restart();
    EXPECT_EQ(asked(), std::vector<std::uint32_t>(8, 1)) << "once";
}

// C105: a port that knew another master's LID, and whose driver does not say that it changed.
TEST_F(Reregister, C105_ThePortsOfAnotherMaster) {
    const std::uint32_t h3 = lab.node("h3");
    mad::PortInfo info = lab.sim.port_info(h3, mad::PortNum{1});
    info.sm_lid = mad::Lid{77};
    lab.sim.set_port_info(h3, mad::PortNum{1}, info);
    lab.request_sweep(sm::SweepScope::full);
    lab.advance(seconds{15});
    EXPECT_EQ(asked(), (std::vector<std::uint32_t>{0, 0, 1, 0, 0, 0, 0, 0}));
    EXPECT_NE(lab.sim.port_info(h3, mad::PortNum{1}).sm_lid, mad::Lid{77});
    // Readers see the port as it is, without the bit.
    const fabric::Snapshot seen = lab.snapshot();
    const mad::Guid guid = lab.sim.netlist().nodes[h3].guid;
    const mad::PortInfo& shown = seen.fabric->nodes[seen.fabric->find(guid)].ports[1].info;
    EXPECT_EQ(shown.sm_lid, lab.sim.port_info(h3, mad::PortNum{1}).sm_lid);
    EXPECT_FALSE(shown.client_reregister);
    // One Set told both: a driver that tells of a new SM LID told it at the same instant.
    EXPECT_EQ(lab.sim.world().device(h3).ports[1].events.sm_change, 3U) << "the first SM, LID 77, this SM";
}

TEST_F(Reregister, WhoDoesNotAnswerIsAskedAgainWhoRefusesIsNot) {
    lab.stored.sa_edition.reset();
    lab.inject("error-status h3 attr=PortInfo method=Set");
    lab.kill();
    lab.start();
    ASSERT_TRUE(run_until_asking_is_due());
    lab.inject("dead h5");
    lab.advance(seconds{15});
    EXPECT_EQ(asked()[4], 0U);
    lab.inject("alive h5");
    lab.request_sweep(sm::SweepScope::full);
    lab.advance(seconds{60});
    const std::vector<std::uint32_t> counts = asked();
    EXPECT_EQ(counts[2], 0U);
    EXPECT_EQ(counts[4], 1U);
    EXPECT_EQ(counts[5], 1U);
    EXPECT_EQ(lab.events("reregister-refused"), 1U);
}

// Nothing else brings a sweep: who did not answer is asked again all the same.
TEST_F(Reregister, WhoDoesNotAnswerIsAskedAgainByItself) {
    lab.stored.sa_edition.reset();
    lab.kill();
    lab.start();
    ASSERT_TRUE(run_until_asking_is_due());
    lab.inject("dead h5");  // its link stays as it is
    lab.advance(seconds{3});
    EXPECT_EQ(asked()[4], 0U);
    lab.inject("alive h5");
    lab.advance(seconds{120});
    EXPECT_EQ(asked(), std::vector<std::uint32_t>(8, 1));
}

// Hosts that were cut off while all others were asked, and knew the SM all along.
TEST_F(Reregister, WhoIsMetLaterIsAskedThen) {
    lab.stored.sa_edition.reset();
    lab.kill();
    lab.inject("link-down leaf1/5\nlink-down leaf1/6");
    lab.advance(seconds{1});
    lab.start();
    lab.advance(seconds{15});
    EXPECT_EQ(asked(), (std::vector<std::uint32_t>{1, 1, 1, 1, 0, 0, 0, 0}));
    lab.inject("link-up leaf1/5\nlink-up leaf1/6");
    lab.advance(seconds{15});
    EXPECT_EQ(asked(), std::vector<std::uint32_t>(8, 1));
    lab.request_sweep(sm::SweepScope::full);
    lab.advance(seconds{15});
    EXPECT_EQ(asked(), std::vector<std::uint32_t>(8, 1)) << "once";
}

// Sweeps that follow each other, as under a flapping link, do not put it off: whenever one ends, the next one
// is due.
TEST_F(Reregister, SweepsWithoutAPauseDoNotPutItOff) {
    lab.stored.sa_edition.reset();
    lab.kill();
    lab.start();
    ASSERT_TRUE(run_until_asking_is_due());
    lab.advance(std::chrono::milliseconds{95});  // 100 after the sweep
    EXPECT_EQ(asked(), std::vector<std::uint32_t>(8, 0));
    const std::uint64_t before = lab.sweeps("full");
    const auto sweep_on = [this] {
        lab.request_sweep(sm::SweepScope::full);
        return false;
    };
    EXPECT_FALSE(lab.run_until(sweep_on, std::chrono::milliseconds{10}));
    EXPECT_GT(lab.sweeps("full"), before + 10);
    EXPECT_EQ(asked(), std::vector<std::uint32_t>(8, 1));
}

// A port that refuses the bit is told the SM's LID without it.
TEST_F(Reregister, WhoRefusesLearnsTheLidAllTheSame) {
    const std::uint32_t h3 = lab.node("h3");
    mad::PortInfo info = lab.sim.port_info(h3, mad::PortNum{1});
    info.sm_lid = mad::Lid{77};
    lab.sim.set_port_info(h3, mad::PortNum{1}, info);
    lab.inject("error-status h3 attr=PortInfo method=Set count=1");
    lab.request_sweep(sm::SweepScope::full);
    lab.advance(seconds{15});
    EXPECT_EQ(lab.events("reregister-refused"), 1U);
    EXPECT_EQ(asked()[2], 0U);
    EXPECT_NE(lab.sim.port_info(h3, mad::PortNum{1}).sm_lid, mad::Lid{77});
}

}  // namespace
}  // namespace ibf::test
