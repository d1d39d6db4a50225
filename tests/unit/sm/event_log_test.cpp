#include "daemon/sm/event_log.hpp"

#include <gtest/gtest.h>

namespace ibf::sm {
namespace {

fabric::EventRecord event(const char* kind) {
    fabric::EventRecord record;
    record.kind = kind;
    return record;
}

TEST(EventLog, IdsGoOnWhereTheDatabaseStopped) {
    EventLog log(41);
    fabric::EventRecord first = event("a");
    EXPECT_TRUE(log.add(first));
    EXPECT_EQ(first.id, 42U);
    EXPECT_EQ(log.newest_first().at(0).id, 42U);
}

// C116: ten thousand nodes at once are a dozen lines and a sum.
TEST(FieldCase, C116_a_flood_is_capped_per_kind_and_sweep) {
    EventLog log(0);
    unsigned told = 0;
    for (int i = 0; i < 10'000; ++i) {
        fabric::EventRecord record = event("node-added");
        told += log.add(record) ? 1U : 0U;
    }
    fabric::EventRecord other = event("subnet-up");
    EXPECT_TRUE(log.add(other)) << "one kind's flood does not silence another";
    EXPECT_EQ(told, EventLog::kPerKindAndSweep);
    const auto summaries = log.end_sweep();
    ASSERT_EQ(summaries.size(), 1U);
    EXPECT_EQ(summaries[0], fmt::format("node-added: {} more", 10'000 - EventLog::kPerKindAndSweep));
    fabric::EventRecord next = event("node-added");
    EXPECT_TRUE(log.add(next)) << "each sweep has its share";
}

TEST(EventLog, KeepsTheNewest) {
    EventLog log(0);
    for (std::size_t i = 0; i < EventLog::kKept + 5; ++i) {
        fabric::EventRecord record = event("a");
        static_cast<void>(log.add(record));
        static_cast<void>(log.end_sweep());
    }
    EXPECT_EQ(log.newest_first().size(), EventLog::kKept);
    EXPECT_EQ(log.newest_first().front().id, EventLog::kKept + 5);
}

}  // namespace
}  // namespace ibf::sm
