#include "db/waiting.hpp"

#include <gtest/gtest.h>

#include "tests/unit/db/place.hpp"

namespace ibf::db {
namespace {

TEST(Waiting, TheNewestOfWhatReplacesItselfAndHistoryInOrder) {
    Waiting waiting(3);
    EXPECT_TRUE(waiting.empty());
    EXPECT_EQ(
        waiting.absorb({test::lids(1, 1), test::table(9, 63, 1), test::event(1), test::table(8, 63, 2)}), 0U);
    EXPECT_EQ(
        waiting.absorb({test::lids(1, 2), test::event(2), TableForgetRecord{mad::Guid{9}}, test::event(3)}),
        0U);
    EXPECT_EQ(waiting.absorb({test::event(4), SaStateRecord{"a"}, SaStateRecord{"b"}}), 1U)
        << "the oldest went";
    const Batch batch = waiting.take();
    EXPECT_TRUE(waiting.empty());
    ASSERT_EQ(batch.size(), 7U);
    EXPECT_EQ(std::get<LidsRecord>(batch[0]).lids.at(mad::Guid{1}).base, mad::Lid{2});
    EXPECT_EQ(std::get<SaStateRecord>(batch[1]).text, "b");
    EXPECT_EQ(std::get<TableRecord>(batch[2]).switch_guid, mad::Guid{8});
    EXPECT_EQ(std::get<TableForgetRecord>(batch[3]).switch_guid, mad::Guid{9});
    EXPECT_EQ(std::get<EventRow>(batch[4]).id, 2U);
    EXPECT_EQ(std::get<EventRow>(batch[6]).id, 4U);
}

TEST(Waiting, OnlyTheLastWordMayBeACleanStop) {
    Waiting waiting(3);
    waiting.absorb({CleanStopRecord{true, mad::Lid{4}}});
    waiting.absorb({test::event(1)});
    const Batch clean = waiting.take();
    EXPECT_TRUE(std::get<CleanStopRecord>(clean.back()).clean) << "an event is not about the fabric";
    waiting.absorb({CleanStopRecord{true, mad::Lid{4}}});
    waiting.absorb({test::lids(1, 2)});
    EXPECT_FALSE(std::get<CleanStopRecord>(waiting.take().back()).clean);
}

}  // namespace
}  // namespace ibf::db
