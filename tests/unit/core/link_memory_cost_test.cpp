// A hall that loses its power: every port of it changes in one look.
#include <gtest/gtest.h>

#include "daemon/sm/link_memory.hpp"
#include "tests/unit/sa/counted_allocations.hpp"

namespace ibf::sm {
namespace {

using fabric::PortId;
using mad::PortNum;
using std::chrono::seconds;

TEST(LinkMemoryCost, WhoHasNoGateIsPassedOver) {
    LinkMemory memory;
    HoldDown gates{seconds{30}};
    for (std::uint64_t i = 0; i < HoldDown::kSubjectsMax; ++i) {
        const PortId port{mad::Guid{1 + i}, PortNum{1}};
        gates.on_act(subject_of(port), seconds{1}, base::Instant{});
        memory.note_speaker(port, port, gates);
    }
    ASSERT_EQ(memory.size(), HoldDown::kSubjectsMax);
    const std::size_t before = test::allocations();
    for (std::uint64_t i = 0; i < 10 * HoldDown::kSubjectsMax; ++i) {
        const PortId port{mad::Guid{100'000 + i}, PortNum{1}};
        memory.note_speaker(port, port, gates);
    }
    EXPECT_EQ(test::allocations(), before)
        << "each was taken in, and all were walked through to throw it out";
}

}  // namespace
}  // namespace ibf::sm
