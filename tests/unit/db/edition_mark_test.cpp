#include "db/edition_mark.hpp"

#include <sys/mount.h>

#include <cstring>

#include "tests/unit/db/place.hpp"

namespace ibf::db {
namespace {

using test::Place;

constexpr const char* kBoot = "0b6e5a3e-33c1-4b0f-9c40-2a1f0d7f5c11";
constexpr const char* kNextBoot = "7f6a2c58-0d3c-4f1b-8a52-9b7d1e0c4a22";

std::string mark_in(const Place& place) {
    return place.folder() + "/mark";
}

std::optional<std::uint64_t> found(const Place& place, const std::string& boot) {
    return EditionMark::open(mark_in(place), boot).value()->found();
}

TEST(EditionMark, IsThereAfterAKill) {
    Place place;
    EXPECT_EQ(found(place, kBoot), std::nullopt);
    const auto mark = EditionMark::open(mark_in(place), kBoot).value();
    ASSERT_TRUE(mark->set(7));
    EXPECT_EQ(found(place, kBoot), 7U) << "nobody has closed it";
    ASSERT_TRUE(mark->set(0xFEDCBA9876543210ULL));
    EXPECT_EQ(found(place, kBoot), 0xFEDCBA9876543210ULL);
    EXPECT_EQ(mark->found(), std::nullopt) << "what was there at the start";
}

TEST(EditionMark, CountsInAnotherBootOnlyWhereItWasSealed) {
    Place place;
    ASSERT_TRUE(EditionMark::open(mark_in(place), kBoot).value()->set(7));
    EXPECT_EQ(found(place, kNextBoot), std::nullopt);
    EXPECT_EQ(found(place, kNextBoot), std::nullopt) << "nor later";
    EXPECT_EQ(found(place, kBoot), std::nullopt);

    const auto mark = EditionMark::open(mark_in(place), kBoot).value();
    ASSERT_TRUE(mark->set(8));
    ASSERT_TRUE(mark->seal());
    EXPECT_EQ(found(place, kNextBoot), 8U);
    EXPECT_EQ(found(place, kNextBoot), 8U);
    EXPECT_EQ(found(place, kBoot), std::nullopt) << "the seal is broken by the first that looks";
}

TEST(EditionMark, WithoutANameOfTheBootOnlyASealCounts) {
    Place place;
    ASSERT_TRUE(EditionMark::open(mark_in(place), "").value()->set(7));
    EXPECT_EQ(found(place, ""), std::nullopt);
    const auto mark = EditionMark::open(mark_in(place), "").value();
    ASSERT_TRUE(mark->set(9));
    ASSERT_TRUE(mark->seal());
    EXPECT_EQ(found(place, ""), 9U);
}

TEST(EditionMark, WhatIsNoMarkIsNotKnownAndWrittenOver) {
    for (const std::string& text :
         {std::string("7\n"), std::string(54, 'x'), fmt::format("{:016x} {:<36}\nmore", 7, "sealed"),
          fmt::format("{:>16} {:<36}\n", 7, "sealed")}) {
        Place place;
        std::ofstream(mark_in(place)) << text;
        EXPECT_EQ(found(place, kBoot), std::nullopt) << text;
        ASSERT_TRUE(EditionMark::open(mark_in(place), kBoot).value()->set(5));
        EXPECT_EQ(found(place, kBoot), 5U) << text;
    }
}

TEST(EditionMark, AFolderThatIsNotThereIsNamed) {
    Place place;
    const auto mark = EditionMark::open(place.folder() + "/none/mark", kBoot);
    ASSERT_FALSE(mark);
    EXPECT_NE(mark.error().message.find(place.folder() + "/none/mark"), std::string::npos);
}

// Clients are told things while the disk is full: the mark needs no room.
TEST(EditionMark, IsSetOnAFullDisk) {
    Place outer;
    if (::mount("tmpfs", outer.folder().c_str(), "tmpfs", 0, "size=1m") != 0) {
        GTEST_SKIP() << "mounting a small tmpfs takes root: " << std::strerror(errno);
    }
    const auto mark = EditionMark::open(mark_in(outer), kBoot).value();
    {
        std::ofstream rest(outer.folder() + "/rest");
        rest << std::string(2 << 20, 'x') << std::flush;
        EXPECT_FALSE(rest.good());
    }
    EXPECT_TRUE(mark->set(3));
    EXPECT_EQ(found(outer, kBoot), 3U);
    EXPECT_EQ(::umount2(outer.folder().c_str(), MNT_DETACH), 0);
}

TEST(EditionMark, TheSystemNamesItsBoot) {
    EXPECT_EQ(boot_id(), boot_id());
    EXPECT_LE(boot_id().size(), 36U);
}

}  // namespace
}  // namespace ibf::db
