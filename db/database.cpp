#include "db/database.hpp"
#include "db/probe_store.hpp"
#include "db/row_tables.hpp"
#include "db/schema.hpp"
#include "db/sql.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

namespace ibf::db {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorKind;
using base::Result;

constexpr int kApplicationId = 0x69624642;    // "ibFB", in the file's header
constexpr std::uintmax_t kSectorBytes = 512;  // every size of a whole database is a multiple
constexpr int kSetAsideMax = 1000;
constexpr int kEventsLoaded = 200;
constexpr std::size_t kLftBytesMax = 0xC000;  // entries of the whole unicast LID space

// ---- schema
// ------------------------------------------------------------------------------------------------

/// Brings the file to kSchemaVersion, a step a transaction. Nothing of a step stays if it fails.
Result<void> migrate(Sql& sql, int from) {
    for (int version = from; version < kSchemaVersion; ++version) {
        sql.run("BEGIN IMMEDIATE");
        sql.run(kMigrations[static_cast<std::size_t>(version)]);
        sql.run(
            fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId, version + 1)
                .c_str());
        if (auto done = sql.commit(); !done) {
            return done;
        }
    }
    return {};
}

// ---- rows that are replaced as a whole
// ---------------------------------------------------------------------

template <class Row>
using Key = std::array<std::int64_t, TableOf<Row>::kKey>;

/// As SQLite orders it: signed.
template <class Row>
Key<Row> key_of(const Row& row) {
    Key<Row> key{};
    const auto columns = TableOf<Row>::columns(row);
    key[0] = static_cast<std::int64_t>(std::get<0>(columns).value());
    if constexpr (TableOf<Row>::kKey == 2) {
        key[1] = std::get<1>(columns).value();
    }
    return key;
}

template <class Row>
void read_row(Statement& select, Row& row) {
    int index = 0;
    std::apply([&](auto&... column) { (select.read(index++, column), ...); }, TableOf<Row>::columns(row));
}

/// Makes the table hold exactly `rows` (of two with one key, the later). A merge of what is stored with what
/// is wanted, both in key order: rows that are right are not written, so a change of one cable costs a page,
/// not the table.
template <class Row>
void replace_rows(Sql& sql, const std::vector<Row>& rows) {
    std::vector<const Row*> wanted;
    wanted.reserve(rows.size());
    for (const Row& row : rows) {
        wanted.push_back(&row);
    }
    std::stable_sort(wanted.begin(), wanted.end(),
                     [](const Row* a, const Row* b) { return key_of(*a) < key_of(*b); });
    std::vector<const Row*> to_put;
    std::vector<Key<Row>> to_erase;
    auto next = wanted.begin();
    const auto take_below = [&](const Key<Row>* limit) {
        for (; next != wanted.end() && (limit == nullptr || key_of(**next) < *limit); ++next) {
            to_put.push_back(*next);
        }
    };
    Row stored{};
    for (Statement select(sql, TableOf<Row>::kSelect); select.row();) {
        read_row(select, stored);
        const Key<Row> key = key_of(stored);
        take_below(&key);
        const Row* same = nullptr;
        for (; next != wanted.end() && key_of(**next) == key; ++next) {
            same = *next;
        }
        if (same == nullptr) {
            to_erase.push_back(key);
        } else if (TableOf<Row>::columns(*same) != TableOf<Row>::columns(std::as_const(stored))) {
            to_put.push_back(same);
        }
    }
    take_below(nullptr);
    Statement erase(sql, TableOf<Row>::kErase);
    for (const Key<Row>& key : to_erase) {
        std::apply([&](const auto&... part) { erase.run(part...); }, key);
    }
    Statement put(sql, TableOf<Row>::kPut);
    for (const Row* row : to_put) {
        std::apply([&](const auto&... column) { put.run(column...); }, TableOf<Row>::columns(*row));
    }
}

template <class Row>
void put_rows(Sql& sql, const std::vector<Row>& rows) {
    Statement put(sql, TableOf<Row>::kPut);
    for (const Row& row : rows) {
        std::apply([&](const auto&... column) { put.run(column...); }, TableOf<Row>::columns(row));
    }
}

// ---- a batch
// -----------------------------------------------------------------------------------------------

/// Writes the records of one batch inside the caller's transaction.
class BatchWriter {
public:
    explicit BatchWriter(Sql& sql)
        : sql_(sql),
          put_table_(sql, "REPLACE INTO lft VALUES (?, ?, ?, ?, ?)"),
          forget_table_(sql, "DELETE FROM lft WHERE switch_guid = ?"),
          put_sweep_(sql, "REPLACE INTO sweep VALUES (?, ?, ?, ?, ?, ?, ?, ?)"),
          put_event_(sql, "REPLACE INTO event VALUES (?, ?, ?, ?, ?, ?, ?)"),
          put_sa_(sql, "REPLACE INTO sa VALUES (1, ?)"),
          put_daemon_(sql, "REPLACE INTO daemon VALUES (1, ?, ?)") {}

    void operator()(const FabricRecord& fabric) {
        if (fabric.of) {
            return replace_part(fabric);
        }
        replace_rows(sql_, fabric.nodes);
        replace_rows(sql_, fabric.ports);
        replace_rows(sql_, fabric.links);
    }
    void operator()(const LidsRecord& record) {
        std::vector<LidRow> rows;
        rows.reserve(record.lids.size());
        for (const auto& [guid, range] : record.lids) {
            rows.push_back({guid, range.base, range.lmc});
        }
        replace_rows(sql_, rows);
    }
    void operator()(const TableRecord& table) {
        if (table.lft == nullptr) {
            forget_table_.run(table.switch_guid);
        } else {
            const std::vector<std::uint8_t> none;
            put_table_.run(table.switch_guid, table.linear_fdb_top, *table.lft, table.engine,
                           table.sls ? *table.sls : none);
        }
    }
    void operator()(const LanesRecord& lanes) { replace_rows(sql_, lanes.rows); }
    void operator()(const DrainsRecord& drains) {
        replace_rows(sql_, drains.drains);
        replace_rows(sql_, drains.cables);
    }
    void operator()(const TableForgetRecord& forget) { forget_table_.run(forget.switch_guid); }
    void operator()(const SweepRecord& sweep) {
        put_sweep_.run(sweep.id, sweep.scope, sweep.reasons, sweep.started.time_since_epoch().count(),
                       sweep.time.count(), sweep.phases_json, sweep.mads, sweep.outcome);
    }
    void operator()(const EventRow& event) {
        put_event_.run(event.id, event.time.time_since_epoch().count(), event.severity, event.kind,
                       event.text, event.guid, event.port);
    }
    void operator()(const SaStateRecord& state) { put_sa_.run(state.text); }
    void operator()(const CleanStopRecord& stop) { put_daemon_.run(stop.clean ? 1 : 0, stop.sm_lid); }

private:
    void replace_part(const FabricRecord& part) {
        Statement node(sql_, "DELETE FROM node WHERE guid = ?");
        Statement ports(sql_, "DELETE FROM port WHERE node_guid = ?");
        Statement links(sql_, "DELETE FROM link WHERE a_guid = ?1 OR b_guid = ?1");
        for (const mad::Guid guid : *part.of) {
            node.run(guid);
            ports.run(guid);
            links.run(guid);
        }
        put_rows(sql_, part.nodes);
        put_rows(sql_, part.ports);
        put_rows(sql_, part.links);
    }

    Sql& sql_;
    Statement put_table_;
    Statement forget_table_;
    Statement put_sweep_;
    Statement put_event_;
    Statement put_sa_;
    Statement put_daemon_;
};

/// Ids count up by one, so the newest id tells which are too old without counting rows.
void prune(Sql& sql, const HistoryLimits& history) {
    Statement sweeps(sql, "DELETE FROM sweep WHERE id <= (SELECT max(id) FROM sweep) - ?");
    sweeps.run(history.sweeps);
    Statement events(sql, "DELETE FROM event WHERE id <= (SELECT max(id) FROM event) - ?");
    events.run(history.events);
}

// ---- reading back
// ------------------------------------------------------------------------------------------

using Notice = std::function<void(std::string)>;

bool is_lid_range(std::int64_t base, std::int64_t lmc) {
    return lmc >= 0 && lmc <= 7 && base > 0 && base + (1 << lmc) - 1 <= mad::kLidUnicastMax &&
           base % (1 << lmc) == 0;
}

void load_lids(Sql& sql, Stored& stored, const Notice& notice) {
    for (Statement select(sql, "SELECT guid, base, lmc FROM lid"); select.row();) {
        const mad::Guid guid{static_cast<std::uint64_t>(select.integer(0))};
        const std::int64_t base = select.integer(1);
        const std::int64_t lmc = select.integer(2);
        if (guid.value() != 0 && is_lid_range(base, lmc)) {
            stored.lids[guid] = {mad::Lid{static_cast<std::uint16_t>(base)}, static_cast<std::uint8_t>(lmc)};
        } else {
            notice(fmt::format("the stored LID {} with LMC {} of {} cannot be: ignored", base, lmc, guid));
        }
    }
}

void load_tables(Sql& sql, Stored& stored, const Notice& notice) {
    Statement select(sql,
                     "SELECT switch_guid, linear_fdb_top, entries, engine, sls FROM lft"
                     " WHERE length(entries) <= ? AND length(sls) <= ?");
    select.bind(0, kLftBytesMax);
    select.bind(1, kLftBytesMax);
    while (select.row()) {
        TableRecord table;
        select.read(0, table.switch_guid);
        const std::int64_t top = select.integer(1);
        std::vector<std::uint8_t> entries;
        select.read(2, entries);
        if (top < 0 || static_cast<std::size_t>(top) >= std::max<std::size_t>(entries.size(), 1)) {
            notice(fmt::format("the stored table of {} does not reach its top {}: ignored", table.switch_guid,
                               top));
            continue;
        }
        table.linear_fdb_top = static_cast<std::uint16_t>(top);
        table.lft = std::make_shared<const std::vector<std::uint8_t>>(std::move(entries));
        select.read(3, table.engine);
        std::vector<std::uint8_t> sls;
        select.read(4, sls);
        if (std::any_of(sls.begin(), sls.end(), [](std::uint8_t sl) { return sl > kSlMax; })) {
            notice(fmt::format("a stored SL of paths from {} cannot be: ignored", table.switch_guid));
            sls.clear();
        }
        if (!sls.empty()) {
            table.sls = std::make_shared<const std::vector<std::uint8_t>>(std::move(sls));
        }
        stored.tables[table.switch_guid] = std::move(table);
    }
}

/// All rows of a table, in key order.
template <class Row>
std::vector<Row> load_rows(Sql& sql) {
    std::vector<Row> rows;
    for (Statement select(sql, TableOf<Row>::kSelect); select.row();) {
        read_row(select, rows.emplace_back());
    }
    return rows;
}

void load_events(Sql& sql, Stored& stored) {
    Statement select(
        sql, "SELECT id, time_ms, severity, kind, text, guid, port FROM event ORDER BY id DESC LIMIT ?");
    select.bind(0, kEventsLoaded);
    while (select.row()) {
        EventRow& event = stored.events.emplace_back();
        select.read(0, event.id);
        event.time = base::WallTime{std::chrono::milliseconds{select.integer(1)}};
        select.read(2, event.severity);
        select.read(3, event.kind);
        select.read(4, event.text);
        select.read(5, event.guid);
        select.read(6, event.port);
    }
}

// ---- opening
// -----------------------------------------------------------------------------------------------

/// Keeps a second daemon off: a lock on NAME.lock that ends with the process, however it ends. Readers such
/// as the sqlite3 shell are not kept off.
class ProcessLock {
public:
    ProcessLock() = default;
    ~ProcessLock() {
        if (descriptor_ >= 0) {
            ::close(descriptor_);
        }
    }
    ProcessLock(const ProcessLock&) = delete;
    ProcessLock& operator=(const ProcessLock&) = delete;

    [[nodiscard]] Result<void> take(const std::string& path) {
        const std::string name = path + ".lock";
        descriptor_ = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640);
        if (descriptor_ < 0) {
            return base::fail(ErrorKind::io,
                              fmt::format("{}: {}: {}", name, std::strerror(errno), remedy(path, errno)));
        }
        if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
            std::array<char, 32> text{};
            const auto size = ::pread(descriptor_, text.data(), text.size() - 1, 0);
            int pid = 0;
            std::from_chars(text.data(), text.data() + std::max<ssize_t>(size, 0), pid);
            return base::fail(
                ErrorKind::refused,
                fmt::format("{} is in use by another ibfabricd (process {}): stop that one, or give this "
                            "one a folder of its own with --state-dir",
                            path, pid));
        }
        const std::string pid = fmt::format("{}\n", ::getpid());
        // Only for the message above: a full disk must not matter.
        [[maybe_unused]] const bool written =
            ::ftruncate(descriptor_, 0) == 0 && ::pwrite(descriptor_, pid.data(), pid.size(), 0) > 0;
        return {};
    }

private:
    static std::string remedy(const std::string& path, int error) {
        const std::string folder = fs::path(path).parent_path().string();
        switch (error) {
            case ENOENT: return fmt::format("create the folder {}, or name another with --state-dir", folder);
            case ENOSPC: return fmt::format("free some space in {}", folder);
            default:
                return fmt::format("let this user write to {}, or name another folder with --state-dir",
                                   folder);
        }
    }

    int descriptor_ = -1;
};

constexpr std::array<const char*, 4> kFileSuffixes{"", "-wal", "-shm", "-journal"};

/// Renames the file and what belongs to it to the first free NAME.set-aside-N. Says the new name.
Result<std::string> set_aside(const std::string& path) {
    for (int number = 1; number <= kSetAsideMax; ++number) {
        const std::string target = fmt::format("{}.set-aside-{}", path, number);
        const auto taken = [&](const char* suffix) {
            return fs::exists(fs::symlink_status(target + suffix));
        };
        if (std::any_of(kFileSuffixes.begin(), kFileSuffixes.end(), taken)) {
            continue;
        }
        for (const char* suffix : kFileSuffixes) {
            std::error_code error;
            fs::rename(path + suffix, target + suffix, error);
            if (error && error != std::errc::no_such_file_or_directory) {
                return base::fail(ErrorKind::io,
                                  fmt::format("{} cannot be used and cannot be renamed to {}: {}",
                                              path + suffix, target + suffix, error.message()));
            }
        }
        return target;
    }
    return base::fail(
        ErrorKind::io,
        fmt::format("{} cannot be used, and {} such files wait beside it: remove some", path, kSetAsideMax));
}

/// Why an open file must be set aside; empty if it is ours and whole. Failures stay in `sql`.
std::string unusable(Sql& sql) {
    const std::int64_t application = read_integer(sql, "PRAGMA application_id");
    const std::int64_t version = read_integer(sql, "PRAGMA user_version");
    const std::int64_t objects = read_integer(sql, "SELECT count(*) FROM sqlite_master");
    const bool blank = application == 0 && version == 0 && objects == 0;
    if (sql.ok() && application != kApplicationId && !blank) {
        return "it is the database of another program";
    }
    if (sql.ok() && version > kSchemaVersion) {
        return fmt::format("it is of a newer ibfabricd (schema {}, this one knows {})", version,
                           kSchemaVersion);
    }
    const std::string check = read_text(sql, "PRAGMA quick_check(1)");
    if (sql.ok() && check != "ok") {
        return fmt::format("it is damaged ({})", check);
    }
    if (sql.damaged()) {
        return fmt::format("it is damaged or no database ({})", sqlite3_errmsg(sql.handle()));
    }
    return {};
}

/// A connection, or the reason to set the file aside.
struct Opened {
    std::unique_ptr<Sql> sql;
    std::string unusable_because;
};

Result<Opened> open_file(const std::string& path, const fs::file_status& status, const Notice& notice) {
    std::error_code ignored;
    if (fs::exists(status) && !fs::is_regular_file(status)) {
        return base::fail(ErrorKind::io,
                          fmt::format("{} is not a file: remove it, or name another folder with "
                                      "--state-dir",
                                      path));
    }
    const std::uintmax_t size = fs::exists(status) ? fs::file_size(path, ignored) : kSectorBytes;
    if (size == 0 || (size % kSectorBytes != 0 && !fs::exists(path + "-wal", ignored))) {
        return Opened{nullptr,
                      "it is empty or torn"};  // SQLite would begin a new one in it, or read zeros at its end
    }
    Opened opened;
    opened.sql =
        std::make_unique<Sql>(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX);
    Sql& sql = *opened.sql;
    if (sql.ok() && sqlite3_db_readonly(sql.handle(), "main") == 1) {
        sql.note(SQLITE_READONLY);
    }
    opened.unusable_because = unusable(sql);
    if (!opened.unusable_because.empty()) {
        opened.sql.reset();
        return opened;
    }
    if (read_text(sql, "PRAGMA journal_mode = WAL") != "wal" && sql.ok()) {
        notice(fmt::format("{}: this file system has no shared memory for SQLite's WAL: writing is slower",
                           path));
    }
    sql.set_checkpoint_on_close(true);
    sql.run("PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 67108864");
    const int version = static_cast<int>(read_integer(sql, "PRAGMA user_version"));
    const bool is_new = read_integer(sql, "PRAGMA application_id") == 0;
    if (!sql.ok()) {
        return tl::unexpected(sql.take_error());
    }
    if (const auto migrated = migrate(sql, version); !migrated) {
        return tl::unexpected(migrated.error());
    }
    if (!is_new && version < kSchemaVersion) {
        notice(fmt::format("{}: brought from schema {} to {}", path, version, kSchemaVersion));
    }
    return opened;
}

Result<Opened> try_open(const std::string& path, const Notice& notice) {
    std::error_code ignored;
    const fs::file_status status = fs::status(path, ignored);
    Result<Opened> opened = open_file(path, status, notice);
    if (!opened && !fs::exists(status)) {
        // Begun here and not brought to an end, as on a full disk: left behind, it would be taken for a torn
        // one.
        for (const char* suffix : kFileSuffixes) {
            fs::remove(path + suffix, ignored);
        }
    }
    return opened;
}

}  // namespace

struct Database::Impl {
    std::string path;
    HistoryLimits history;
    Notice notice;
    ProcessLock lock;
    std::unique_ptr<Sql> sql;
};

Database::Database(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Database::~Database() = default;

Result<std::unique_ptr<Database>> Database::open(const std::string& path, const Notice& notice) {
    return open(path, HistoryLimits{}, notice);
}

Result<std::unique_ptr<Database>> Database::open(const std::string& path, const HistoryLimits& history,
                                                 const Notice& notice) {
    auto impl = std::make_unique<Impl>();
    impl->path = path;
    impl->history = history;
    impl->notice = notice;
    if (const auto locked = impl->lock.take(path); !locked) {
        return tl::unexpected(locked.error());
    }
    auto opened = try_open(path, notice);
    if (opened && !opened->unusable_because.empty()) {
        const std::string reason = opened->unusable_because;
        const auto renamed = set_aside(path);
        if (!renamed) {
            return tl::unexpected(renamed.error());
        }
        notice(fmt::format(
            "{} cannot be used: {}. It was set aside as {} and a new one begun; the fabric is read back "
            "from its devices",
            path, reason, *renamed));
        opened = try_open(path, notice);
    }
    if (!opened) {
        return tl::unexpected(opened.error());
    }
    if (opened->sql == nullptr) {
        return base::fail(ErrorKind::io,
                          fmt::format("{}: the new file cannot be used: {}", path, opened->unusable_because));
    }
    impl->sql = std::move(opened->sql);
    return std::unique_ptr<Database>(new Database(std::move(impl)));
}

const std::string& Database::path() const {
    return impl_->path;
}

Result<Stored> Database::load() {
    Sql& sql = *impl_->sql;
    Stored stored;
    // The marker must be gone for good before the first Set to a switch, or a power cut could bring it back
    // beside tables that are no longer true: this one transaction waits for the disk.
    sql.run("PRAGMA synchronous = FULL; BEGIN IMMEDIATE");
    stored.clean_stop = read_integer(sql, "SELECT clean_stop FROM daemon") == 1;
    stored.sm_lid = mad::Lid{static_cast<std::uint16_t>(read_integer(sql, "SELECT sm_lid FROM daemon"))};
    stored.last_sweep_id = static_cast<std::uint64_t>(read_integer(sql, "SELECT max(id) FROM sweep"));
    stored.last_event_id = static_cast<std::uint64_t>(read_integer(sql, "SELECT max(id) FROM event"));
    load_lids(sql, stored, impl_->notice);
    load_tables(sql, stored, impl_->notice);
    stored.lanes = load_rows<LaneRow>(sql);
    stored.drains = {load_rows<DrainRow>(sql), load_rows<DrainCableRow>(sql)};
    load_events(sql, stored);
    stored.sa_state = read_text(sql, "SELECT state FROM sa");
    sql.run("UPDATE daemon SET clean_stop = 0 WHERE clean_stop <> 0");
    const auto committed = sql.commit();
    sql.run("PRAGMA synchronous = NORMAL");
    if (!committed) {
        return tl::unexpected(committed.error());
    }
    return stored;
}

Result<void> Database::forget_tables() {
    Sql& sql = *impl_->sql;
    sql.run("BEGIN IMMEDIATE; DELETE FROM lft; DELETE FROM lane");
    return sql.commit();
}

Result<std::uint64_t> Database::put_probe(const ProbePut& put) {
    return db::put_probe(*impl_->sql, put, impl_->history);
}

Result<void> Database::apply(const Batch& batch) {
    Sql& sql = *impl_->sql;
    sql.run("BEGIN IMMEDIATE");
    if (!std::all_of(batch.begin(), batch.end(), is_history)) {
        // The marker stands for what was written before it: any later word on the fabric takes it away.
        sql.run("UPDATE daemon SET clean_stop = 0 WHERE clean_stop <> 0");
    }
    {
        BatchWriter writer(sql);
        for (const Record& record : batch) {
            std::visit(writer, record);
        }
        prune(sql, impl_->history);
    }
    return sql.commit();
}

}  // namespace ibf::db
