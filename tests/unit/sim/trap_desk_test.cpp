// Traps: sent, sent again, repressed; storms and strays.
#include "sim/trap_desk.hpp"

#include <gtest/gtest.h>

#include "mad/trap.hpp"
#include "sim_bench.hpp"

namespace ibf::sim {
namespace {

using mad::Method;

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(TrapDesk, LinkChangeIsToldUntilRepressed) {
    SimBench bench(star_of_four());
    bring_up(bench);
    inject(bench, "link-down sw/2");
    bench.pass(milliseconds{1});
    std::vector<mad::Smp> traps = bench.unsolicited();
    ASSERT_EQ(traps.size(), 1U);
    const mad::Notice notice = mad::decode_notice(traps[0].data);
    EXPECT_EQ(notice.trap_number, kTrapLinkState);
    EXPECT_EQ(std::get<mad::LinkStateTrap>(mad::decode_trap(notice)).switch_lid, lid_of(0));
    bench.pass(seconds{1});
    const std::vector<mad::Smp> again = bench.unsolicited();
    ASSERT_EQ(again.size(), 1U);
    EXPECT_EQ(again[0].header.tid, traps[0].header.tid);

    mad::Smp repress = again[0];
    repress.header.method = static_cast<std::uint8_t>(Method::trap_repress);
    static_cast<void>(bench.ask_lid(repress, lid_of(0)));
    bench.pass(seconds{10});
    EXPECT_TRUE(bench.unsolicited().empty());
}

TEST(TrapDesk, AreSentAtMostSoOftenAndNotByTheMute) {
    SimBench bench(star_of_four());
    bring_up(bench);
    inject(bench, "link-down sw/2");
    bench.pass(seconds{60});
    EXPECT_EQ(bench.unsolicited().size(), SimOptions{}.trap_sends);
    inject(bench, "mute-traps sw\nlink-up sw/2");
    bench.pass(seconds{60});
    EXPECT_TRUE(bench.unsolicited().empty());
    EXPECT_TRUE(bench.sim.switch_info(0).port_state_change);  // what a light sweep finds instead
}

TEST(TrapDesk, ScriptedStormsAndCapabilityChanges) {
    SimBench bench(star_of_four());
    bring_up(bench);
    inject(bench, "trap sw/3 number=131 count=20 delay=1ms");
    bench.pass(seconds{1});
    const std::vector<mad::Smp> storm = bench.unsolicited();
    ASSERT_EQ(storm.size(), 20U);
    const mad::Notice notice = mad::decode_notice(storm[0].data);
    EXPECT_EQ(notice.trap_number, 131);
    const auto error = std::get<mad::PortErrorTrap>(mad::decode_trap(notice));
    EXPECT_EQ(error.lid, lid_of(0));
    EXPECT_EQ(error.port, mad::PortNum{3});

    const Simulator::ClientId rival = bench.sim.join("h2", 0, {}).value();
    bench.sim.set_is_sm(rival, true);
    bench.pass(milliseconds{1});
    const std::vector<mad::Smp> changes = bench.unsolicited();
    ASSERT_EQ(changes.size(), 1U);
    const mad::Notice change = mad::decode_notice(changes[0].data);
    EXPECT_EQ(change.trap_number, kTrapCapability);
    EXPECT_EQ(std::get<mad::LocalChangeTrap>(mad::decode_trap(change)).lid, lid_of(2));
}

TEST(TrapDesk, AScriptedTrapOfANodeWithoutLidReachesTheSm) {
    SimBench bench(star_of_four());
    bench.sim.set_is_sm(bench.client, true);
    inject(bench, "trap sw number=128");
    bench.pass(milliseconds{1});
    const std::vector<mad::Smp> traps = bench.unsolicited();
    ASSERT_EQ(traps.size(), 1U);
    EXPECT_EQ(mad::decode_notice(traps[0].data).issuer_lid, mad::kLidNone);
}

}  // namespace
}  // namespace ibf::sim
