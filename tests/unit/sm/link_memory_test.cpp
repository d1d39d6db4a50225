#include "daemon/sm/link_memory.hpp"

#include <gtest/gtest.h>

namespace ibf::sm {
namespace {

using fabric::PortId;
using mad::PortNum;
using std::chrono::seconds;

constexpr PortId kHost{mad::Guid{1}, PortNum{1}};
constexpr PortId kSwitchPort{mad::Guid{2}, PortNum{5}};

TEST(LinkMemory, OfTwoEndsOneSpeaks) {
    LinkMemory memory;
    HoldDown gates{seconds{30}};
    EXPECT_TRUE(memory.speaks_for_its_link(kHost)) << "as long as nothing is known of it";
    for (const PortId end : {kHost, kSwitchPort}) {
        gates.on_act(subject_of(end), seconds{1}, base::Instant{});
        memory.note_speaker(end, kSwitchPort, gates);
    }
    EXPECT_FALSE(memory.speaks_for_its_link(kHost));
    EXPECT_TRUE(memory.speaks_for_its_link(kSwitchPort));
}

// Thousands of others that change once do not make it forget who goes on changing; nor is it a store of all.
TEST(LinkMemory, WhoGoesOnChangingIsNotForgottenAndThereIsABound) {
    LinkMemory memory;
    HoldDown gates{seconds{30}};
    base::Instant now{};
    for (std::uint64_t i = 0; i < 5 * HoldDown::kSubjectsMax; ++i) {
        now += seconds{1};
        for (const PortId port : {kHost, PortId{mad::Guid{1000 + i}, PortNum{1}}}) {
            gates.on_act(subject_of(port), seconds{1}, now);
            memory.note_speaker(port, kSwitchPort, gates);
        }
        ASSERT_FALSE(memory.speaks_for_its_link(kHost)) << i;
        ASSERT_LE(memory.size(), HoldDown::kSubjectsMax);
    }
}

TEST(LinkMemory, HeldPortsAreComparedWithTheLastLightSweepUntilTheyAreRead) {
    LinkMemory memory;
    EXPECT_FALSE(memory.note_held(kSwitchPort, mad::PortState::down));
    EXPECT_FALSE(memory.note_held(kSwitchPort, mad::PortState::down));
    EXPECT_TRUE(memory.note_held(kSwitchPort, mad::PortState::init));
    EXPECT_FALSE(memory.note_held({mad::Guid{2}, PortNum{255}}, mad::PortState::down));
    EXPECT_FALSE(memory.note_held({mad::Guid{3}, PortNum{0}}, mad::PortState::down));
    memory.forget_held(mad::Guid{2});
    EXPECT_EQ(memory.size(), 1U);
    EXPECT_FALSE(memory.note_held(kSwitchPort, mad::PortState::down)) << "it was read meanwhile";
    memory.forget_held();
    EXPECT_EQ(memory.size(), 0U);
}

}  // namespace
}  // namespace ibf::sm
