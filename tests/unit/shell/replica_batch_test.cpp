#include "daemon/shell/replica_batch.hpp"

#include <gtest/gtest.h>

#include "db/record_codec.hpp"

namespace ibf::shell {
namespace {

std::string octets(std::size_t text) {
    return db::encode(db::SaStateRecord{std::string(text, 'x')});
}

TEST(IncomingBatch, ComesAsAWholeOrNotAtAll) {
    IncomingBatch batch;
    EXPECT_FALSE(batch.under_way());
    batch.begin({true, 5, 6});
    const std::string record = octets(1000);
    ASSERT_TRUE(batch.add({false, record.substr(0, 10)}));
    ASSERT_TRUE(batch.add({true, record.substr(10)}));
    ASSERT_TRUE(batch.add({true, octets(3)}));
    const auto whole = batch.end({1});
    ASSERT_TRUE(whole) << whole.error().message;
    EXPECT_FALSE(batch.under_way());
    EXPECT_TRUE(whole->begun.whole);
    EXPECT_EQ(whole->begun.last_event, 5U);
    ASSERT_EQ(whole->records.size(), 2U);
    EXPECT_EQ(db::encode(whole->records[0]), record);

    batch.begin({});
    const auto empty = batch.end({2});
    ASSERT_TRUE(empty);
    EXPECT_TRUE(empty->records.empty()) << "nothing is left of the one before";
}

TEST(IncomingBatch, AGapOrAnOpenRecordIsNoEnd) {
    IncomingBatch gap;
    gap.begin({});
    EXPECT_FALSE(gap.end({2}));

    IncomingBatch cut;
    cut.begin({});
    ASSERT_TRUE(cut.add({false, octets(3).substr(0, 4)}));
    EXPECT_FALSE(cut.end({1}));

    IncomingBatch begun;  // by a piece without octets: something was to follow
    begun.begin({});
    ASSERT_TRUE(begun.add({false, ""}));
    EXPECT_FALSE(begun.end({1}));
}

TEST(IncomingBatch, WhatIsBegunAnewHasNothingOfTheOneBefore) {
    IncomingBatch batch;
    batch.begin({});
    ASSERT_TRUE(batch.add({true, octets(3)}));
    ASSERT_TRUE(batch.add({false, octets(3).substr(0, 4)}));
    batch.drop();
    EXPECT_FALSE(batch.under_way());
    batch.begin({});
    ASSERT_TRUE(batch.add({true, octets(5)}));
    const auto whole = batch.end({1});
    ASSERT_TRUE(whole) << whole.error().message;
    ASSERT_EQ(whole->records.size(), 1U);
    EXPECT_EQ(std::get<db::SaStateRecord>(whole->records[0]).text, "xxxxx");
}

TEST(IncomingBatch, ARecordHasABoundAndIsARecord) {
    IncomingBatch large;
    large.begin({});
    const std::string piece(kPieceBytesMax, 'x');
    std::size_t taken = 0;
    while (taken <= 2 * db::kRecordBytesMax && large.add({false, piece})) {
        taken += piece.size();
    }
    EXPECT_EQ(taken, db::kRecordBytesMax);

    IncomingBatch wrong;
    wrong.begin({});
    EXPECT_FALSE(wrong.add({true, "no record"}));
}

// Records of nine octets are many times as large in memory; they are counted as what they cost.
TEST(IncomingBatch, SmallRecordsCountAsWhatTheyCost) {
    const std::string record = db::encode(db::TableForgetRecord{mad::Guid{1}});
    IncomingBatch batch(100 * (record.size() + sizeof(db::Record)));
    batch.begin({});
    std::size_t taken = 0;
    while (taken < 1'000 && batch.add({true, record})) {
        ++taken;
    }
    EXPECT_EQ(taken, 100U);
}

}  // namespace
}  // namespace ibf::shell
