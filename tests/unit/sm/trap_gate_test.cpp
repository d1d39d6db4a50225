#include "daemon/sm/trap_gate.hpp"

#include <gtest/gtest.h>

#include <set>

namespace ibf::sm {
namespace {

using base::Instant;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr base::Duration kHold = milliseconds{500};

TEST(TrapGate, TheFirstTrapActsAtOnce) {
    TrapGate gate;
    const Instant now{seconds{5}};
    EXPECT_EQ(gate.on_trap(mad::Lid{4}, kHold, now).sweep_at, now);
    EXPECT_EQ(gate.on_trap(mad::Lid{5}, kHold, now).sweep_at, now) << "another LID has a gate of its own";
}

// C25: a thousand traps in ten seconds cost at most three sweeps, and the port is called flapping once.
TEST(FieldCase, C25_a_storm_costs_three_sweeps) {
    TrapGate gate;
    std::set<Instant> sweeps;
    unsigned flapping = 0;
    for (int i = 0; i < 1000; ++i) {
        const Instant now{milliseconds{10} * i};
        const auto verdict = gate.on_trap(mad::Lid{4}, kHold, now);
        EXPECT_GE(verdict.sweep_at, now);
        if (verdict.sweep_at <= Instant{seconds{10}}) {
            sweeps.insert(verdict.sweep_at);
        }
        flapping += verdict.flapping_now ? 1U : 0U;
    }
    EXPECT_LE(sweeps.size(), 3U);
    EXPECT_EQ(flapping, 1U);
}

TEST(TrapGate, QuietTimeResetsIt) {
    TrapGate gate;
    for (int i = 0; i < 100; ++i) {
        static_cast<void>(gate.on_trap(mad::Lid{4}, kHold, Instant{milliseconds{100} * i}));
    }
    const Instant later{seconds{300}};
    EXPECT_EQ(gate.on_trap(mad::Lid{4}, kHold, later).sweep_at, later);
}

TEST(TrapGate, MemoryIsBounded) {
    TrapGate gate;
    for (std::uint32_t lid = 1; lid <= 0xBFFF; ++lid) {
        static_cast<void>(
            gate.on_trap(mad::Lid{static_cast<std::uint16_t>(lid)}, kHold, Instant{seconds{1}}));
    }
    const auto verdict = gate.on_trap(mad::Lid{0xBFF0}, kHold, Instant{seconds{1} + milliseconds{1}});
    EXPECT_GT(verdict.sweep_at, Instant{seconds{1} + milliseconds{1}})
        << "LIDs past the bound share one gate";
    // Quiet gates make room: after a while a new LID is acted on at once again.
    const Instant later{seconds{120}};
    for (std::uint16_t lid = 0x9000; lid < 0x9010; ++lid) {
        EXPECT_EQ(gate.on_trap(mad::Lid{lid}, kHold, later).sweep_at, later);
    }
}

}  // namespace
}  // namespace ibf::sm
