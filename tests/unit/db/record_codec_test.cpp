#include "db/record_codec.hpp"

#include <gtest/gtest.h>

#include "base/prng.hpp"
#include "tests/unit/db/place.hpp"

namespace ibf::db {
namespace {

std::vector<Record> every_kind() {
    EventRow event = test::event(7);
    event.guid = mad::Guid{0x1234567890abcdef};
    event.port = mad::PortNum{9};
    event.severity = 2;
    LidsRecord lids = test::lids(5, 0xBFFF);
    lids.lids[mad::Guid{9}] = {mad::Lid{64}, 3};
    return {lids,
            test::table(9, 63, 1),
            TableForgetRecord{mad::Guid{11}},
            test::sweep(3),
            event,
            SaStateRecord{"ibfabric-sa 2 1\nend 0\n"},
            DrainsRecord{{{mad::Guid{~0ULL}, mad::PortNum{3}, "spine-1", 1'800'000'000'000, 1},
                          {mad::Guid{2}, mad::PortNum{0}, "", 0, 0}},
                         {{mad::Guid{2}, mad::PortNum{1}, mad::Guid{7}, mad::PortNum{9}}}}};
}

TEST(RecordCodec, EveryKindComesBackAsItWas) {
    for (const Record& record : every_kind()) {
        ASSERT_TRUE(is_copied(record));
        const std::string octets = encode(record);
        const auto back = decode(octets);
        ASSERT_TRUE(back) << back.error().message;
        EXPECT_EQ(back->index(), record.index());
        EXPECT_EQ(encode(*back), octets);
    }
    const auto back = decode(encode(every_kind()[1]));
    const auto& table = std::get<TableRecord>(*back);
    EXPECT_EQ(table.switch_guid, mad::Guid{9});
    EXPECT_EQ(*table.lft, *std::get<TableRecord>(every_kind()[1]).lft);
    EXPECT_EQ(std::get<EventRow>(*decode(encode(every_kind()[4]))).port, mad::PortNum{9});
}

TEST(RecordCodec, WhatAStandbySeesForItselfIsNotCopied) {
    EXPECT_FALSE(is_copied(FabricRecord{}));
    EXPECT_FALSE(is_copied(LanesRecord{}));
    EXPECT_FALSE(is_copied(CleanStopRecord{}));
}

TEST(RecordCodec, WhatIsCutOffOrTooLongIsRefused) {
    for (const Record& record : every_kind()) {
        const std::string octets = encode(record);
        for (std::size_t length = 0; length < octets.size(); ++length) {
            EXPECT_FALSE(decode(std::string_view(octets).substr(0, length)))
                << record.index() << ": " << length;
        }
        EXPECT_FALSE(decode(octets + '\0'));
    }
    EXPECT_FALSE(decode(std::string(1, '\x63') + std::string(100, '\0')));
}

TEST(RecordCodec, ValuesThatNoFabricHasAreRefused) {
    for (const mad::LidRange range : {mad::LidRange{mad::Lid{0}, 0}, mad::LidRange{mad::Lid{0xC000}, 0},
                                      mad::LidRange{mad::Lid{0xBFFF}, 1}, mad::LidRange{mad::Lid{8}, 8}}) {
        LidsRecord lids;
        lids.lids[mad::Guid{1}] = range;
        EXPECT_FALSE(decode(encode(lids))) << range.base.value() << "/" << int{range.lmc};
    }
    TableRecord table = test::table(9, 63, 1);
    table.lft = std::make_shared<const std::vector<std::uint8_t>>(0xC001);
    EXPECT_FALSE(decode(encode(table)));
    EventRow event = test::event(1);
    event.severity = 3;
    EXPECT_FALSE(decode(encode(event)));
    for (const std::int64_t ms : {std::int64_t{-1}, std::int64_t{253'402'300'800'000}}) {
        event = test::event(1);
        event.time = base::WallTime{std::chrono::milliseconds{ms}};
        EXPECT_FALSE(decode(encode(event))) << ms;
    }
    EXPECT_FALSE(decode(encode(DrainsRecord{std::vector<DrainRow>(kDrainsMost + 1), {}})));
    EXPECT_FALSE(decode(encode(DrainsRecord{{}, std::vector<DrainCableRow>(kDrainsMost * 255 + 1)})));
}

// One GUID has one entry: what is taken is what was said.
TEST(RecordCodec, LidsOutOfOrderAreRefused) {
    const std::string octets = encode(every_kind()[0]);
    constexpr std::size_t kHead = 5;
    constexpr std::size_t kEach = 11;
    ASSERT_EQ(octets.size(), kHead + 2 * kEach);
    std::string turned = octets;
    std::swap_ranges(turned.begin() + kHead, turned.begin() + kHead + kEach, turned.begin() + kHead + kEach);
    EXPECT_FALSE(decode(turned));
    std::string twice = octets;
    twice.replace(kHead + kEach, kEach, octets, kHead, kEach);
    EXPECT_FALSE(decode(twice));
}

// A text that grew without bound must not end every standby's copy.
TEST(RecordCodec, LongTextsForPeopleAreCut) {
    EventRow event = test::event(1);
    event.text = std::string(70'000, 'x');
    const auto back = decode(encode(event));
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(std::get<EventRow>(*back).text, std::string(std::size_t{64} * 1024, 'x'));
}

// Strangers' octets: no crash, and whatever is taken can be said again.
TEST(RecordCodec, ChangedOctetsDoNoHarm) {
    base::Prng chance(7);
    std::uint32_t taken = 0;
    for (int i = 0; i < 20'000; ++i) {
        const auto kinds = every_kind();
        std::string octets = encode(kinds[chance.below(kinds.size())]);
        for (auto changes = 1 + chance.below(4); changes > 0; --changes) {
            octets[chance.below(octets.size())] = static_cast<char>(chance.below(256));
        }
        if (const auto record = decode(octets)) {
            ++taken;
            EXPECT_TRUE(decode(encode(*record)));
        }
    }
    EXPECT_GT(taken, 100U);
}

}  // namespace
}  // namespace ibf::db
