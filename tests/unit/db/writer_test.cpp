#include <sys/mount.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>

#include "tests/unit/db/place.hpp"

namespace ibf::db {
namespace {

using std::chrono::seconds;
using test::event;
using test::FileSizeLimit;
using test::lids;
using test::Place;
using test::Stranger;
using test::sweep;
using test::table;

/// What the writer reported; it comes from its thread.
class Reports {
public:
    [[nodiscard]] std::function<void(std::string)> sink() {
        return [this](std::string text) {
            const std::lock_guard lock(mutex_);
            texts_.push_back(std::move(text));
        };
    }
    [[nodiscard]] std::vector<std::string> texts() const {
        const std::lock_guard lock(mutex_);
        return texts_;
    }

private:
    mutable std::mutex mutex_;
    std::vector<std::string> texts_;
};

TEST(Writer, WritesWhatIsPosted) {
    Place place;
    Reports reports;
    {
        Writer writer(place.open(), 100, reports.sink());
        writer.post({lids(1, 1), event(1)});
        writer.post({lids(1, 2), event(2), table(9, 63, 1)});
        ASSERT_TRUE(writer.flush(seconds{30}));
        EXPECT_EQ(Stranger(place.path()).ask("SELECT base FROM lid"), "2");
        EXPECT_EQ(Stranger(place.path()).ask("SELECT id FROM event ORDER BY id"), "1 2");
        writer.post({TableForgetRecord{mad::Guid{9}}, CleanStopRecord{true, mad::Lid{4}}});
        EXPECT_EQ(writer.dropped(), 0U);
    }  // what waits is written before the end
    EXPECT_TRUE(reports.texts().empty()) << "it was well all the time";
    const Stored stored = place.open()->load().value();
    EXPECT_TRUE(stored.tables.empty());
    EXPECT_TRUE(stored.clean_stop);
    EXPECT_EQ(stored.sm_lid, mad::Lid{4});
}

TEST(Writer, APartOfTheFabricGoesIntoTheWholeThatWaits) {
    Place place;
    Writer writer(place.open(), 100, [](const std::string&) {});
    Stranger backup(place.path());
    backup.run("BEGIN IMMEDIATE");
    FabricRecord whole;
    for (std::uint64_t guid = 1; guid <= 4; ++guid) {
        whole.nodes.push_back({mad::Guid{guid}, mad::NodeType::ca, "old", 1, 0, 0});
    }
    const auto part = [](std::uint64_t guid, const char* name) {
        FabricRecord record;
        record.of = {mad::Guid{guid}};
        if (*name != '\0') {
            record.nodes = {{mad::Guid{guid}, mad::NodeType::ca, name, 1, 0, 0}};
        }
        return record;
    };
    writer.post({whole});
    writer.post({part(2, "new"), part(3, "")});
    writer.post({part(2, "newer")});
    backup.run("ROLLBACK");
    ASSERT_TRUE(writer.flush(seconds{30}));
    EXPECT_EQ(backup.ask("SELECT guid, description FROM node ORDER BY guid"), "1|old 2|newer 4|old");
    backup.run("BEGIN IMMEDIATE");
    writer.post({part(1, ""), part(4, "last")});
    writer.post({part(1, "back")});
    backup.run("ROLLBACK");
    ASSERT_TRUE(writer.flush(seconds{30}));
    EXPECT_EQ(backup.ask("SELECT guid, description FROM node ORDER BY guid"), "1|back 2|newer 4|last");
}

TEST(Writer, FlushWithNothingToDoReturns) {
    Place place;
    Writer writer(place.open(), 100, [](const std::string&) {});
    EXPECT_TRUE(writer.flush(seconds{30}));
    writer.post({});
    EXPECT_TRUE(writer.flush(seconds{30}));
}

TEST(Writer, WhileTheDiskIsAwayTheNewestWinsAndTheOldestHistoryGoes) {
    Place place;
    Reports reports;
    Writer writer(place.open(), 10, reports.sink());
    Stranger backup(place.path());
    backup.run("BEGIN IMMEDIATE");
    std::uint64_t id = 0;
    for (std::uint16_t lid = 1; lid <= 30; ++lid) {
        id = lid;
        writer.post({lids(1, lid), event(id), sweep(id), table(lid % 3 + 1U, lid, 1)});
        if (lid % 10 == 0) {
            ASSERT_TRUE(writer.flush(seconds{30})) << "refused counts as settled";
        }
    }
    writer.post({TableForgetRecord{mad::Guid{2}}});
    EXPECT_EQ(writer.dropped(), 50U) << "of 60 history records 10 may wait";
    ASSERT_EQ(reports.texts().size(), 1U) << "the same reason is said once";
    EXPECT_NE(reports.texts()[0].find("another program holds a lock on it"), std::string::npos);

    backup.run("ROLLBACK");
    ASSERT_TRUE(writer.flush(seconds{30}));
    EXPECT_EQ(reports.texts().size(), 2U);
    EXPECT_EQ(reports.texts().back(), "ok");
    EXPECT_EQ(backup.ask("SELECT base FROM lid"), "30");
    EXPECT_EQ(backup.ask("SELECT switch_guid, linear_fdb_top FROM lft"), "1|30 3|29");
    EXPECT_EQ(backup.ask("SELECT id FROM event ORDER BY id"), "26 27 28 29 30");
    EXPECT_EQ(backup.ask("SELECT id FROM sweep ORDER BY id"), "26 27 28 29 30");
}

TEST(Writer, TriesAgainByItself) {
    Place place;
    Reports reports;
    Writer writer(place.open(), 10, reports.sink());
    Stranger backup(place.path());
    backup.run("BEGIN IMMEDIATE");
    writer.post({lids(1, 5)});
    ASSERT_TRUE(writer.flush(seconds{30}));
    backup.run("ROLLBACK");
    for (int i = 0; i < 3000 && reports.texts().size() < 2; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
    EXPECT_EQ(reports.texts().back(), "ok");
    EXPECT_EQ(backup.ask("SELECT base FROM lid"), "5");
}

// A file that could not be opened at start is opened when it can be. What an earlier run left in it is not
// believed after this one, of which it knows nothing.
TEST(Writer, OpensLateAndForgetsWhatItDidNotSee) {
    Place place;
    ASSERT_TRUE(place.open()->apply(
        {lids(1, 1), table(7, 63, 1), event(5), sweep(9), CleanStopRecord{true, mad::Lid{4}}}));
    Reports reports;
    {
        std::atomic<bool> locked = true;
        Writer writer(
            [&]() -> base::Result<std::unique_ptr<Database>> {
                if (locked) {
                    return base::fail(base::ErrorKind::io, "locked");
                }
                return place.open();
            },
            100, "locked", reports.sink());
        writer.post({lids(2, 2), event(1)});
        ASSERT_TRUE(writer.flush(seconds{30}));
        EXPECT_TRUE(reports.texts().empty()) << "known from the start";
        locked = false;
        writer.post({table(8, 63, 1), event(2), sweep(1)});
        ASSERT_TRUE(writer.flush(seconds{30}));
        EXPECT_EQ(reports.texts(), (std::vector<std::string>{"ok"}));
        EXPECT_EQ(Stranger(place.path()).ask("SELECT clean_stop FROM daemon"), "0");
        EXPECT_EQ(Stranger(place.path()).ask("SELECT id FROM event ORDER BY id"), "5 6 7");
        EXPECT_EQ(Stranger(place.path()).ask("SELECT id FROM sweep ORDER BY id"), "9 10");
    }
    const Stored stored = place.open()->load().value();
    EXPECT_EQ(stored.lids, lids(2, 2).lids);
    ASSERT_EQ(stored.tables.size(), 1U);
    EXPECT_TRUE(stored.tables.contains(mad::Guid{8}));
}

TEST(Writer, ACleanStopIsCleanOnlyAsTheLastWordOnTheFabric) {
    for (const bool changed_after : {false, true}) {
        Place place;
        {
            Writer writer(place.open(), 10, [](const std::string&) {});
            Stranger backup(place.path());
            backup.run("BEGIN IMMEDIATE");  // so that all is merged into one batch
            writer.post({CleanStopRecord{true, mad::Lid{4}}});
            writer.post({event(1)});
            if (changed_after) {
                writer.post({table(1, 1, 1)});
            }
            ASSERT_TRUE(writer.flush(seconds{30}));
            backup.run("ROLLBACK");
        }
        const Stored stored = place.open()->load().value();
        EXPECT_EQ(stored.clean_stop, !changed_after);
        EXPECT_EQ(stored.sm_lid, mad::Lid{4});
    }
}

// ---- a full disk
// ---------------------------------------------------------------------------------------------

/// Fills up what `place` holds, sees the writer say so, gives room and sees it recover.
template <class GiveRoom>
void expect_full_and_recovered(Place& place, const std::string& reason, GiveRoom give_room) {
    Reports reports;
    Writer writer(place.open(), 100, reports.sink());
    writer.post({lids(1, 1)});
    ASSERT_TRUE(writer.flush(seconds{30}));
    ASSERT_TRUE(reports.texts().empty());
    Batch tables{lids(1, 2), event(1)};
    for (std::uint64_t guid = 1; guid <= 100; ++guid) {
        tables.emplace_back(table(guid, 0xBFFF, static_cast<std::uint8_t>(guid)));  // 4.9 MB
    }
    writer.post(std::move(tables));
    ASSERT_TRUE(writer.flush(seconds{30}));
    ASSERT_EQ(reports.texts().size(), 1U);
    EXPECT_NE(reports.texts()[0].find(reason), std::string::npos) << reports.texts()[0];
    EXPECT_EQ(Stranger(place.path()).ask("SELECT base FROM lid"), "1") << "nothing of the batch is there";
    give_room();
    ASSERT_TRUE(writer.flush(seconds{30}));
    EXPECT_EQ(reports.texts().back(), "ok");
    EXPECT_EQ(Stranger(place.path()).ask("SELECT base FROM lid"), "2");
    EXPECT_EQ(Stranger(place.path()).ask("SELECT count(*) FROM lft"), "100");
}

TEST(Writer, AFullFileSystemIsSaidAndSurvived) {
    Place outer;
    const auto mount = [&](unsigned long flags, const char* options) {
        return ::mount("tmpfs", outer.folder().c_str(), "tmpfs", flags, options) == 0;
    };
    if (!mount(0, "size=2m")) {
        GTEST_SKIP() << "mounting a small tmpfs takes root: " << std::strerror(errno);
    }
    expect_full_and_recovered(outer, "free some space in " + outer.folder(),
                              [&] { ASSERT_TRUE(mount(MS_REMOUNT, "size=64m")); });
    EXPECT_EQ(::umount2(outer.folder().c_str(), MNT_DETACH), 0);
}

TEST(Writer, AFileSizeLimitIsSaidAndSurvived) {
    Place place;
    FileSizeLimit limit(2 * 1024 * 1024);
    expect_full_and_recovered(place, "File too large", [&] { limit.lift(); });
}

}  // namespace
}  // namespace ibf::db
