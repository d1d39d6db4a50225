// DOC: the database.
//
// SQLite in WAL mode behind one file (database.cpp); one writer thread (Writer); `user_version` migrations;
// integrity check at start. A torn, foreign or newer file is set aside (renamed to NAME.set-aside-N, never
// deleted) and a new one begun; a locked, full or read-only place never stops the fabric: history is lost,
// a warning says so, and writing is tried again later. Nothing on the SM path waits for the disk.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "db/probe_records.hpp"
#include "db/records.hpp"

namespace ibf::db {

inline constexpr int kSchemaVersion = 6;

/// How much history is kept; what is older goes in the transaction that adds what is new.
struct HistoryLimits {
    std::uint32_t sweeps = 1'000;
    std::uint32_t events = 100'000;
    std::uint32_t probe_runs = 100;         ///< two years of a weekly probe, or three months of a nightly one
    std::uint32_t probe_flows = 2'000'000;  ///< of all runs together: some 200 MB, 87 octets a flow
};

class Database {
public:
    /// Opens or creates `path`. `notice` receives sentences for the operator (set aside, migrated,
    /// recovered). Errors, each with the remedy: refused (another ibfabricd has it open: two must not share a
    /// folder), io (directory missing, no permission, read-only, disk full, locked by another program).
    [[nodiscard]] static base::Result<std::unique_ptr<Database>> open(
        const std::string& path, const std::function<void(std::string)>& notice);
    [[nodiscard]] static base::Result<std::unique_ptr<Database>> open(
        const std::string& path, const HistoryLimits& history,
        const std::function<void(std::string)>& notice);
    ~Database();
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;

    /// What the last run left. Takes the clean-stop marker away, on the disk, before it returns.
    [[nodiscard]] base::Result<Stored> load();
    /// Drops every stored table: of a run whose beginning was not recorded, none can be believed later.
    [[nodiscard]] base::Result<void> forget_tables();
    /// One transaction. Errors: io (disk full, locked, read-only); nothing of the batch is kept then.
    [[nodiscard]] base::Result<void> apply(const Batch& batch);
    /// A piece of a probe run, in a transaction of its own; see db::put_probe().
    [[nodiscard]] base::Result<std::uint64_t> put_probe(const ProbePut& put);
    [[nodiscard]] const std::string& path() const;

private:
    struct Impl;
    explicit Database(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// Sweeps and events: they add up, where the other records replace what was said before.
[[nodiscard]] inline bool is_history(const Record& record) {
    return std::holds_alternative<SweepRecord>(record) || std::holds_alternative<EventRow>(record);
}

/// The writer thread. post() never blocks. What waits is merged: of fabric, LIDs and each table the newest
/// wins; of history (sweeps, events) the oldest is dropped and counted past `queue_max` records. So memory is
/// bounded and truth is not lost. A batch that is refused is kept and tried again after 1 s, 2 s, ... 30 s.
class Writer {
public:
    /// `report` is called from the writer thread with "ok" or the reason why history is not being kept; only
    /// on change.
    Writer(std::unique_ptr<Database> database, std::size_t queue_max,
           std::function<void(std::string)> report);
    /// Without a database yet (`state` says why): `open` is tried again before each write. What another run
    /// left in it is not believed any more, and history goes on behind what is there.
    using Opener = std::function<base::Result<std::unique_ptr<Database>>()>;
    Writer(Opener open, std::size_t queue_max, std::string state, std::function<void(std::string)> report);
    ~Writer();  ///< writes what waits, then stops
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    void post(Batch batch);
    /// Blocks until it is on the disk or refused, and says the run's id; for threads that may wait (the
    /// API's). A piece is not kept for later: whoever told it still has it, and is told why it was not taken.
    /// Errors: those of Database::put_probe; unavailable when the writer is stopping.
    [[nodiscard]] base::Result<std::uint64_t> put_probe(const ProbePut& put);
    /// Blocks until everything posted so far was written or refused, without sitting out the retry time; for
    /// clean stops. False after `timeout`.
    [[nodiscard]] bool flush(base::Duration timeout);
    [[nodiscard]] std::uint64_t dropped() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace ibf::db
