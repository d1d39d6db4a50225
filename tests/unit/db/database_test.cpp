#include "db/database.hpp"

#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <algorithm>

#include <fmt/format.h>

#include "tests/unit/db/place.hpp"

namespace ibf::db {
namespace {

using test::event;
using test::FileSizeLimit;
using test::lids;
using test::Place;
using test::Stranger;
using test::sweep;
using test::table;

constexpr std::uint64_t kHighGuid = 0xf000000000000001ULL;  // negative as SQLite's integer

FabricRecord small_fabric() {
    FabricRecord fabric;
    fabric.nodes = {{mad::Guid{kHighGuid}, mad::NodeType::switch_, "leaf \"1\"", 36, 0x2c9, 0xd2f0},
                    {mad::Guid{2}, mad::NodeType::ca, "", 1, 0x2c9, 4129}};
    fabric.ports = {{mad::Guid{2}, mad::PortNum{1}, mad::Guid{3}, 4, 5, 4, "NDR", 4096},
                    {mad::Guid{kHighGuid}, mad::PortNum{1}, mad::Guid{kHighGuid}, 4, 5, 4, "NDR", 4096}};
    fabric.links = {{mad::Guid{kHighGuid}, mad::PortNum{1}, mad::Guid{2}, mad::PortNum{1}}};
    return fabric;
}

TEST(Database, NewFileIsOursAndEmpty) {
    Place place;
    const auto database = place.open();
    ASSERT_NE(database, nullptr);
    const auto stored = database->load();
    ASSERT_TRUE(stored.has_value()) << stored.error().message;
    EXPECT_TRUE(stored->lids.empty());
    EXPECT_TRUE(stored->tables.empty());
    EXPECT_TRUE(stored->events.empty());
    EXPECT_FALSE(stored->clean_stop);
    EXPECT_EQ(stored->last_event_id, 0U);
    EXPECT_TRUE(place.notices.empty());
    Stranger reader(place.path());
    EXPECT_EQ(reader.ask("PRAGMA journal_mode"), "wal");
    EXPECT_EQ(reader.ask("PRAGMA user_version"), std::to_string(kSchemaVersion));
    EXPECT_EQ(reader.ask("PRAGMA application_id"), std::to_string(0x69624642));
}

TEST(Database, WhatCouldNotBeBegunLeavesNothingBehind) {
    Place place;
    FileSizeLimit limit(64);  // the lock fits, the first page of the file does not
    const auto refused = place.try_open();
    limit.lift();
    EXPECT_FALSE(refused.has_value());
    EXPECT_NE(place.open(), nullptr);
    EXPECT_TRUE(place.notices.empty()) << place.notices.front() << ": half a file was taken for a torn one";
}

DrainsRecord drains() {
    return {{{mad::Guid{5}, mad::PortNum{17}, "leaf-1", 1, 0},
             {mad::Guid{kHighGuid}, mad::PortNum{0}, "spine-1", 1'800'000'000'000, 1}},
            {{mad::Guid{5}, mad::PortNum{17}, mad::Guid{9}, mad::PortNum{4}}}};
}

TEST(Database, DrainsAreReplacedAndPeopleCanReadThem) {
    Place place;
    auto database = place.open();
    ASSERT_TRUE(database->apply({drains()}));
    DrainsRecord one = drains();
    one.drains.pop_back();
    one.cables.clear();
    ASSERT_TRUE(database->apply({one}));
    Stranger reader(place.path());
    EXPECT_EQ(reader.ask("SELECT switch_guid || '/' || port FROM drains"), "0x0000000000000005/17");
    EXPECT_EQ(reader.ask("SELECT count(*) FROM drain_cable"), "0");
}

TEST(Database, EverythingComesBack) {
    Place place;
    LidsRecord two = lids(kHighGuid, 1);
    two.lids[mad::Guid{5}] = {mad::Lid{0xBFF8}, 3};
    TableRecord on_lanes = table(kHighGuid, 300, 9);
    on_lanes.sls = std::make_shared<const std::vector<std::uint8_t>>(301, std::uint8_t{7});
    ASSERT_TRUE(place.open()->apply({two, on_lanes, table(7, 0, 1), sweep(3), event(10), event(11),
                                     LanesRecord{{{mad::Guid{kHighGuid}, mad::PortNum{3}, ~std::uint64_t{0}},
                                                  {mad::Guid{5}, mad::PortNum{0}, 1}}},
                                     drains(), CleanStopRecord{true, mad::Lid{6}}}));
    auto database = place.open();
    const Stored stored = database->load().value();
    EXPECT_EQ(stored.lids, two.lids);
    ASSERT_EQ(stored.lanes.size(), 2U);
    const auto lane = std::find_if(stored.lanes.begin(), stored.lanes.end(), [](const LaneRow& row) {
        return row.owner == mad::Guid{kHighGuid} && row.exit == mad::PortNum{3};
    });
    ASSERT_NE(lane, stored.lanes.end());
    EXPECT_EQ(lane->print, ~std::uint64_t{0}) << "all 64 bits";
    ASSERT_EQ(stored.drains.drains.size(), 2U);
    EXPECT_EQ(stored.drains.drains[0].node, mad::Guid{kHighGuid}) << "SQLite's order is signed";
    EXPECT_EQ(stored.drains.drains[0].name, "spine-1");
    EXPECT_EQ(stored.drains.drains[0].since_ms, 1'800'000'000'000);
    EXPECT_EQ(stored.drains.drains[0].forced, 1U);
    EXPECT_EQ(stored.drains.drains[1].port, mad::PortNum{17});
    ASSERT_EQ(stored.drains.cables.size(), 1U);
    EXPECT_EQ(stored.drains.cables[0].peer, mad::Guid{9});
    EXPECT_EQ(stored.drains.cables[0].peer_port, mad::PortNum{4});
    ASSERT_EQ(stored.tables.size(), 2U);
    ASSERT_TRUE(stored.tables.at(mad::Guid{kHighGuid}).sls);
    EXPECT_EQ(*stored.tables.at(mad::Guid{kHighGuid}).sls, *on_lanes.sls);
    EXPECT_FALSE(stored.tables.at(mad::Guid{7}).sls) << "SL 0";
    EXPECT_EQ(stored.tables.at(mad::Guid{kHighGuid}).linear_fdb_top, 300);
    EXPECT_EQ(*stored.tables.at(mad::Guid{kHighGuid}).lft, std::vector<std::uint8_t>(301, 9));
    EXPECT_EQ(stored.tables.at(mad::Guid{kHighGuid}).engine, "updn");
    EXPECT_TRUE(stored.clean_stop);
    EXPECT_EQ(stored.sm_lid, mad::Lid{6});
    EXPECT_EQ(stored.last_sweep_id, 3U);
    EXPECT_EQ(stored.last_event_id, 11U);
    ASSERT_EQ(stored.events.size(), 2U);
    EXPECT_EQ(stored.events[0].id, 11U);
    EXPECT_EQ(stored.events[1].text, "event 10");
    EXPECT_EQ(stored.events[1].time, event(10).time);
    EXPECT_EQ(stored.events[1].guid, event(10).guid);
    EXPECT_EQ(stored.events[1].port, event(10).port);
    EXPECT_FALSE(database->load()->clean_stop) << "load() takes the marker away";
}

TEST(Database, CleanStopHoldsUntilTheNextWordOnTheFabric) {
    Place place;
    auto database = place.open();
    ASSERT_TRUE(database->apply({table(1, 63, 2), CleanStopRecord{true, mad::Lid{1}}}));
    ASSERT_TRUE(database->apply({event(1)}));
    EXPECT_EQ(Stranger(place.path()).ask("SELECT clean_stop FROM daemon"), "1");
    ASSERT_TRUE(database->apply({TableForgetRecord{mad::Guid{1}}}));
    EXPECT_EQ(Stranger(place.path()).ask("SELECT clean_stop FROM daemon"), "0");
    EXPECT_TRUE(database->load()->tables.empty());
}

TEST(Database, FabricIsReplacedAndPeopleCanReadIt) {
    Place place;
    auto database = place.open();
    ASSERT_TRUE(database->apply({small_fabric(), sweep(1), event(1)}));
    Stranger reader(place.path());
    EXPECT_EQ(reader.ask("SELECT * FROM nodes"),
              "0xf000000000000001|Switch|leaf \"1\"|36|0x0002c9|54000 "
              "0x0000000000000002|CA||1|0x0002c9|4129");
    EXPECT_EQ(reader.ask("SELECT * FROM links"), "0xf000000000000001|1|0x0000000000000002|1");
    EXPECT_EQ(reader.ask("SELECT node_guid, port, speed FROM ports"),
              "0xf000000000000001|1|NDR 0x0000000000000002|1|NDR");
    EXPECT_EQ(reader.ask("SELECT started, seconds, mads FROM sweeps"), "2023-11-14T22:13:20.000Z|1.5|42");
    EXPECT_EQ(reader.ask("SELECT time, guid FROM events"), "2023-11-14T22:13:20.123Z|0x8000000000000001");

    FabricRecord next = small_fabric();
    next.nodes[1].guid = mad::Guid{9};
    next.nodes[0].description = "renamed";
    next.ports.clear();
    next.links.push_back(next.links[0]);
    next.links[1].b_port = mad::PortNum{2};  // the same key twice: the later counts
    ASSERT_TRUE(database->apply({next}));
    EXPECT_EQ(reader.ask("SELECT guid, description FROM nodes"),
              "0xf000000000000001|renamed 0x0000000000000009|");
    EXPECT_EQ(reader.ask("SELECT count(*) FROM port"), "0");
    EXPECT_EQ(reader.ask("SELECT b_port FROM link"), "2");
}

/// Node 2 is gone, the switch has a new neighbour at port 2, and its port 1 is down.
FabricRecord changed_part() {
    FabricRecord part;
    part.of = {mad::Guid{2}, mad::Guid{kHighGuid}, mad::Guid{5}};
    part.nodes = {small_fabric().nodes[0], {mad::Guid{5}, mad::NodeType::ca, "new", 1, 0x2c9, 4129}};
    part.ports = {{mad::Guid{kHighGuid}, mad::PortNum{1}, mad::Guid{kHighGuid}, 1, 2, 4, "NDR", 4096},
                  {mad::Guid{5}, mad::PortNum{1}, mad::Guid{6}, 4, 5, 4, "NDR", 4096}};
    part.links = {{mad::Guid{5}, mad::PortNum{1}, mad::Guid{kHighGuid}, mad::PortNum{2}}};
    return part;
}

TEST(Database, APartOfTheFabricReplacesWhatIsKnownOfItsNodes) {
    Place place;
    auto database = place.open();
    FabricRecord whole = small_fabric();
    whole.nodes.push_back({mad::Guid{7}, mad::NodeType::ca, "other", 1, 0x2c9, 4129});
    whole.ports.push_back({mad::Guid{7}, mad::PortNum{1}, mad::Guid{8}, 4, 5, 4, "NDR", 4096});
    ASSERT_TRUE(database->apply({whole}));
    ASSERT_TRUE(database->apply({changed_part()}));
    Stranger reader(place.path());
    EXPECT_EQ(reader.ask("SELECT guid FROM nodes ORDER BY guid"),
              "0x0000000000000005 0x0000000000000007 0xf000000000000001");
    EXPECT_EQ(reader.ask("SELECT node_guid, port FROM ports ORDER BY node_guid"),
              "0x0000000000000005|1 0x0000000000000007|1 0xf000000000000001|1");
    EXPECT_EQ(reader.ask("SELECT * FROM links"), "0x0000000000000005|1|0xf000000000000001|2");
    FabricRecord nothing;
    nothing.of.emplace();
    ASSERT_TRUE(database->apply({nothing}));
    EXPECT_EQ(reader.ask("SELECT count(*) FROM node"), "3") << "no part is not the whole";
}

TEST(Database, WhatDidNotChangeIsNotWritten) {
    Place place;
    auto database = place.open();
    ASSERT_TRUE(database->apply({small_fabric(), lids(1, 1)}));
    const auto size = std::filesystem::file_size(place.path() + "-wal");
    ASSERT_TRUE(database->apply({small_fabric(), lids(1, 1)}));
    EXPECT_EQ(std::filesystem::file_size(place.path() + "-wal"), size);
    ASSERT_TRUE(database->apply({small_fabric(), lids(1, 2)}));
    EXPECT_GT(std::filesystem::file_size(place.path() + "-wal"), size);
}

TEST(Database, HistoryIsBounded) {
    Place place;
    auto database = place.try_open({3, 5}).value();
    for (std::uint64_t id = 1; id <= 20; ++id) {
        ASSERT_TRUE(database->apply({sweep(id), event(2 * id), event(2 * id + 1)}));
    }
    Stranger reader(place.path());
    EXPECT_EQ(reader.ask("SELECT id FROM sweep ORDER BY id"), "18 19 20");
    EXPECT_EQ(reader.ask("SELECT id FROM event ORDER BY id"), "37 38 39 40 41");
    Batch many;
    for (std::uint64_t id = 50; id < 400; ++id) {
        many.emplace_back(event(id));
    }
    database.reset();
    database = place.open();
    ASSERT_TRUE(database->apply(many));
    const Stored stored = database->load().value();
    EXPECT_EQ(stored.events.size(), 200U);
    EXPECT_EQ(stored.events.front().id, 399U);
}

TEST(Database, OlderSchemaIsBroughtUp) {
    Place place;
    Stranger(place.path())
        .run("PRAGMA application_id = 0x69624642; CREATE TABLE kept (x); INSERT INTO kept VALUES (5)");
    auto database = place.open();
    ASSERT_NE(database, nullptr);
    ASSERT_EQ(place.notices.size(), 1U);
    EXPECT_NE(place.notices[0].find(fmt::format("brought from schema 0 to {}", kSchemaVersion)),
              std::string::npos)
        << place.notices[0];
    ASSERT_TRUE(database->apply({lids(1, 1)}));
    EXPECT_EQ(Stranger(place.path()).ask("SELECT x FROM kept"), "5") << "nothing is lost on the way";
    EXPECT_EQ(Stranger(place.path()).ask("PRAGMA user_version"), std::to_string(kSchemaVersion));
}

TEST(Database, SchemaOneIsBroughtUpAndLosesNothing) {
    Place place;
    ASSERT_TRUE(place.open()->apply({lids(1, 5), table(1, 63, 1)}));
    Stranger(place.path())
        .run(
            "DROP TABLE sa; DROP TABLE lane; DROP VIEW drains; DROP TABLE drain; DROP TABLE drain_cable; "
            "DROP VIEW probe_runs; DROP VIEW probe_flows; DROP VIEW probe_findings; DROP TABLE probe_run; "
            "DROP TABLE probe_flow; DROP TABLE probe_finding; "
            "ALTER TABLE lft DROP COLUMN sls; "
            "PRAGMA user_version = 1");  // as the first release left it
    auto database = place.open();
    ASSERT_NE(database, nullptr);
    EXPECT_TRUE(database->load()->sa_state.empty());
    ProbePut probe;
    probe.head.emplace();
    EXPECT_TRUE(database->put_probe(probe)) << "what schema 6 brought";
    ASSERT_TRUE(database->apply({SaStateRecord{"ibfabric-sa 1\n"}}));
    const Stored stored = database->load().value();
    EXPECT_EQ(stored.lids, lids(1, 5).lids);
    EXPECT_EQ(stored.tables.size(), 1U);
    EXPECT_EQ(stored.sa_state, "ibfabric-sa 1\n");
}

TEST(Database, StoredValuesThatCannotBeAreIgnored) {
    Place place;
    ASSERT_TRUE(place.open()->apply({lids(1, 5), table(1, 63, 1)}));
    Stranger(place.path())
        .run(
            "INSERT INTO lid VALUES (2, 0, 0), (3, 49152, 0), (4, 9, 1), (5, 8, 9), (0, 6, 0), (6, -1, 0);"
            "INSERT INTO lft (switch_guid, linear_fdb_top, entries, engine) VALUES "
            "(2, 64, zeroblob(64), ''), (3, -1, zeroblob(64), ''), "
            "(4, 1, zeroblob(49153), ''), (5, 0, x'', '')");
    const Stored stored = place.open()->load().value();
    EXPECT_EQ(stored.lids, lids(1, 5).lids);
    EXPECT_EQ(stored.tables.size(), 2U);  // that of 5 is empty, with top 0
    EXPECT_EQ(place.notices.size(), 6U + 2U);
}

// ---- files that cannot be used: set aside, never deleted, and a new one begun
// --------------------------------

void fill(Place& place) {
    auto database = place.open();
    Batch batch{small_fabric(), CleanStopRecord{true, mad::Lid{1}}};
    LidsRecord many;
    for (std::uint16_t i = 1; i < 2000; ++i) {
        many.lids[mad::Guid{i}] = {mad::Lid{i}, 0};
        batch.emplace_back(event(i));
    }
    batch.emplace_back(many);
    ASSERT_TRUE(database->apply(batch));
}

/// After whatever `damage` did to a full file: everything starts anew, the old file is kept beside, the
/// operator told.
template <class Damage>
void expect_set_aside(const std::string& reason, Damage damage) {
    SCOPED_TRACE(reason);
    Place place;
    fill(place);
    ASSERT_FALSE(place.has("ibfabric.db-wal")) << "closing writes all into the file";
    damage(place.path());
    const auto size = std::filesystem::file_size(place.path());
    auto database = place.open();
    ASSERT_NE(database, nullptr);
    const auto stored = database->load();
    ASSERT_TRUE(stored.has_value()) << stored.error().message;
    EXPECT_TRUE(stored->lids.empty());
    EXPECT_FALSE(stored->clean_stop);
    ASSERT_EQ(place.notices.size(), 1U);
    EXPECT_NE(place.notices[0].find(reason), std::string::npos) << place.notices[0];
    EXPECT_NE(place.notices[0].find("set aside as " + place.path() + ".set-aside-1"), std::string::npos);
    EXPECT_EQ(std::filesystem::file_size(place.path() + ".set-aside-1"), size);
    ASSERT_TRUE(database->apply({lids(1, 7)}));
    EXPECT_EQ(database->load()->lids, lids(1, 7).lids);
}

// C60: a torn file loses history, never the fabric.
TEST(Database, TornFilesAreSetAside) {
    for (const std::uintmax_t left : {0U, 1U, 100U, 20'001U}) {
        expect_set_aside("it is empty or torn",
                         [&](const std::string& path) { std::filesystem::resize_file(path, left); });
    }
    for (const std::uintmax_t left : {512U, 4096U, 20'480U}) {
        expect_set_aside("it is damaged",
                         [&](const std::string& path) { std::filesystem::resize_file(path, left); });
    }
    expect_set_aside("it is empty or torn", [](const std::string& path) {
        std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
    });
}

TEST(Database, GarbageIsSetAside) {
    expect_set_aside("it is damaged or no database", [](const std::string& path) {
        std::fstream(path, std::ios::in | std::ios::out | std::ios::binary) << std::string(100, 'x');
    });
    expect_set_aside("it is damaged", [](const std::string& path) {
        std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(8192);
        file << std::string(40'000, '\xA5');
    });
    expect_set_aside("it is damaged or no database", [](const std::string& path) {
        std::ofstream(path) << std::string(1024, '#');  // a text file
    });
}

TEST(Database, ForeignAndNewerFilesAreSetAside) {
    expect_set_aside("it is the database of another program", [](const std::string& path) {
        std::filesystem::remove(path);
        Stranger(path).run("CREATE TABLE bookmarks (x)");
    });
    expect_set_aside("it is the database of another program",
                     [](const std::string& path) { Stranger(path).run("PRAGMA application_id = 77"); });
    expect_set_aside(fmt::format("it is of a newer ibfabricd (schema 99, this one knows {})", kSchemaVersion),
                     [](const std::string& path) { Stranger(path).run("PRAGMA user_version = 99"); });
}

TEST(Database, SetAsideFilesTakeTheirLogAlongAndKeepTheirNames) {
    Place place;
    for (int i = 1; i <= 3; ++i) {
        std::ofstream(place.path()) << std::string(512, 'x');
        std::ofstream(place.path() + "-wal") << "no log";
        ASSERT_NE(place.open(), nullptr);
        EXPECT_TRUE(place.has(fmt::format("ibfabric.db.set-aside-{}", i)));
        EXPECT_TRUE(place.has(fmt::format("ibfabric.db.set-aside-{}-wal", i)));
    }
    EXPECT_EQ(place.files().size(), 11U) << "three of file, log and index, the database and its lock";
}

// ---- places that cannot be used
// ------------------------------------------------------------------------------

TEST(Database, TwoDaemonsDoNotShareAFile) {
    Place place;
    auto first = place.open();
    const auto second = place.try_open();
    ASSERT_FALSE(second.has_value());
    EXPECT_EQ(second.error().kind, base::ErrorKind::refused);
    EXPECT_EQ(
        second.error().message,
        fmt::format(
            "{} is in use by another ibfabricd (process {}): stop that one, or give this one a folder of "
            "its own with --state-dir",
            place.path(), ::getpid()));
    first.reset();
    EXPECT_TRUE(place.try_open().has_value());
}

TEST(Database, ALockOfAnotherProgramFailsTheBatchWhole) {
    Place place;
    auto database = place.open();
    ASSERT_TRUE(database->apply({lids(1, 1)}));
    Stranger backup(place.path());
    backup.run("BEGIN IMMEDIATE");
    const auto refused = database->apply({event(1), lids(1, 2)});
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().kind, base::ErrorKind::io);
    EXPECT_NE(refused.error().message.find("another program holds a lock on it; close that program"),
              std::string::npos)
        << refused.error().message;
    EXPECT_FALSE(database->load().has_value());
    backup.run("ROLLBACK");
    const Stored stored = database->load().value();
    EXPECT_EQ(stored.lids, lids(1, 1).lids);
    EXPECT_TRUE(stored.events.empty());
    EXPECT_TRUE(database->apply({event(1), lids(1, 2)}).has_value());
}

TEST(Database, PlacesThatAreNotThere) {
    const auto ignore = [](const std::string&) {};
    Place place;
    const auto missing = Database::open(place.folder() + "/none/ibfabric.db", ignore);
    ASSERT_FALSE(missing.has_value());
    EXPECT_NE(missing.error().message.find("create the folder " + place.folder() + "/none"),
              std::string::npos);
    std::filesystem::create_directory(place.path());
    const auto folder = place.try_open();
    ASSERT_FALSE(folder.has_value());
    EXPECT_NE(folder.error().message.find("is not a file"), std::string::npos) << folder.error().message;
}

/// What `work` says when it runs as a user without special rights.
template <class Work>
std::string said_by_plain_user(Work work) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        constexpr unsigned kNobody = 65534;
        if (::getuid() == 0 && (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0)) {
            ::_exit(2);
        }
        const std::string text = work();
        ::_exit(::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1);
    }
    ::close(ends[1]);
    std::string text(4096, '\0');
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(::read(ends[0], text.data(), text.size()), 0)));
    ::close(ends[0]);
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    return text;
}

std::string open_and_write(const std::string& path) {
    const auto database = Database::open(path, [](const std::string&) {});
    if (!database) {
        return database.error().message;
    }
    const auto applied = (*database)->apply({lids(1, 2)});
    return applied ? "written" : applied.error().message;
}

TEST(Database, ReadOnlyPlacesAreNamedAndLeftAlone) {
    Place place;
    ASSERT_TRUE(place.open()->apply({lids(1, 1)}));
    using std::filesystem::perms;
    std::filesystem::permissions(place.folder(), perms{0555});
    std::filesystem::permissions(place.path(), perms{0444});
    std::filesystem::permissions(place.path() + ".lock", perms{0444});
    const auto attempt = [&] { return said_by_plain_user([&] { return open_and_write(place.path()); }); };
    EXPECT_NE(attempt().find("let this user write to " + place.folder()), std::string::npos) << attempt();
    std::filesystem::permissions(place.path() + ".lock", perms{0666});
    EXPECT_NE(attempt().find("let this user write the file and its folder"), std::string::npos) << attempt();
    std::filesystem::permissions(place.path(),
                                 perms{0666});  // the folder, where the log would go, still is not
    const std::string folder_said = attempt();
    EXPECT_NE(folder_said.find(place.folder()), std::string::npos) << folder_said;
    EXPECT_EQ(folder_said.find("written"), std::string::npos) << folder_said;
    std::filesystem::permissions(place.folder(), perms{0777});
    EXPECT_EQ(attempt(), "written");
    EXPECT_EQ(place.files().size(), 2U) << "nothing was set aside";
}

// ---- a process that dies
// -------------------------------------------------------------------------------------

/// Writes batches n = 1, 2, ... until it is killed; all parts of a batch carry n.
[[noreturn]] void write_until_killed(const std::string& path, int ready) {
    auto database = Database::open(path, [](const std::string&) {});
    std::uint64_t n = database ? (*database)->load().value().last_event_id : 0;
    while (database) {
        ++n;
        Batch batch{lids(1, static_cast<std::uint16_t>(n)), sweep(n)};
        for (std::uint64_t guid = 1; guid <= 50; ++guid) {
            batch.emplace_back(table(guid, 4095, static_cast<std::uint8_t>(n)));
        }
        batch.emplace_back(event(n));
        if (!(*database)->apply(batch) || ::write(ready, "x", 1) != 1) {
            break;
        }
    }
    ::_exit(1);
}

TEST(Database, KilledAtAnyMomentLeavesTheLastWholeBatch) {
    Place place;
    std::uint64_t last = 0;
    for (int round = 0; round < 12; ++round) {
        std::array<int, 2> ends{};
        ASSERT_EQ(::pipe(ends.data()), 0);
        const pid_t child = ::fork();
        if (child == 0) {
            write_until_killed(place.path(), ends[1]);
        }
        ::close(ends[1]);
        std::array<char, 3> bytes{};
        ASSERT_GT(::read(ends[0], bytes.data(), bytes.size()), 0);
        ::usleep(static_cast<useconds_t>(round) * 557);  // some point of a later batch
        ::kill(child, SIGKILL);
        ASSERT_EQ(::waitpid(child, nullptr, 0), child);
        ::close(ends[0]);

        const Stored stored = place.open()->load().value();
        const std::uint64_t n = stored.last_event_id;
        EXPECT_GT(n, last) << "what was said to be written is there";
        EXPECT_EQ(stored.last_sweep_id, n);
        EXPECT_EQ(stored.lids, lids(1, static_cast<std::uint16_t>(n)).lids);
        ASSERT_EQ(stored.tables.size(), 50U);
        for (const auto& [guid, one] : stored.tables) {
            EXPECT_EQ(one.lft->back(), static_cast<std::uint8_t>(n));
        }
        last = n;
    }
    EXPECT_TRUE(place.notices.empty());
}

}  // namespace
}  // namespace ibf::db
