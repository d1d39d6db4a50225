#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "db/database.hpp"

namespace ibf::db {
namespace {

constexpr std::chrono::seconds kRetryFirst{1};
constexpr std::chrono::seconds kRetryMax{30};

/// What waits to be written, merged: of what replaces itself only the newest is kept, history is kept in
/// order up to a bound. Its size is that of the fabric plus the bound, however long the disk is away.
class Waiting {
public:
    explicit Waiting(std::size_t history_max) : history_max_(history_max) {}

    [[nodiscard]] bool empty() const {
        return latest_.empty() && tables_.empty() && history_.empty() && !stop_;
    }

    /// Adds what is newer than all that waits. Says how many old history records had to go.
    std::uint64_t absorb(Batch&& batch) {
        for (Record& record : batch) {
            if (auto* stop = std::get_if<CleanStopRecord>(&record)) {
                stop_ = *stop;
                continue;
            }
            if (stop_ && !is_history(record)) {
                stop_->clean = false;  // only the last word on the fabric may be a clean stop
            }
            place(std::move(record));
        }
        const std::size_t excess = history_.size() - std::min(history_.size(), history_max_);
        history_.erase(history_.begin(), history_.begin() + static_cast<std::ptrdiff_t>(excess));
        return excess;
    }

    /// All of it as one batch; the clean stop last.
    [[nodiscard]] Batch take() {
        Batch batch;
        for (auto& [kind, record] : std::exchange(latest_, {})) {
            batch.push_back(std::move(record));
        }
        for (auto& [guid, record] : std::exchange(tables_, {})) {
            batch.push_back(std::move(record));
        }
        std::move(history_.begin(), history_.end(), std::back_inserter(batch));
        history_.clear();
        if (stop_) {
            batch.emplace_back(*std::exchange(stop_, std::nullopt));
        }
        return batch;
    }

private:
    /// A part of the fabric takes the place of what waits about the same nodes.
    static void merge(FabricRecord& waiting, FabricRecord&& part) {
        const std::set<mad::Guid> of(part.of->begin(), part.of->end());
        const auto take_over = [](auto& rows, auto& newer, const auto& is_of_part) {
            std::erase_if(rows, is_of_part);
            std::move(newer.begin(), newer.end(), std::back_inserter(rows));
        };
        take_over(waiting.nodes, part.nodes, [&](const NodeRow& row) { return of.contains(row.guid); });
        take_over(waiting.ports, part.ports, [&](const PortRow& row) { return of.contains(row.node_guid); });
        take_over(waiting.links, part.links,
                  [&](const LinkRow& row) { return of.contains(row.a_guid) || of.contains(row.b_guid); });
        if (waiting.of) {
            waiting.of->insert(waiting.of->end(), of.begin(), of.end());
        }
    }

    void place(Record&& record) {
        if (const auto* table = std::get_if<TableRecord>(&record)) {
            const mad::Guid guid = table->switch_guid;
            tables_.insert_or_assign(guid, std::move(record));
        } else if (const auto* forget = std::get_if<TableForgetRecord>(&record)) {
            const mad::Guid guid = forget->switch_guid;
            tables_.insert_or_assign(guid, std::move(record));
        } else if (std::holds_alternative<FabricRecord>(record) ||
                   std::holds_alternative<LidsRecord>(record) ||
                   std::holds_alternative<SaStateRecord>(record) ||
                   std::holds_alternative<LanesRecord>(record)) {
            const std::size_t kind = record.index();
            const auto waiting = latest_.find(kind);
            auto* part = std::get_if<FabricRecord>(&record);
            if (part != nullptr && part->of && waiting != latest_.end()) {
                merge(std::get<FabricRecord>(waiting->second), std::move(*part));
            } else {
                latest_.insert_or_assign(kind, std::move(record));
            }
        } else {
            history_.push_back(std::move(record));
        }
    }

    std::size_t history_max_;               ///< records
    std::map<std::size_t, Record> latest_;  ///< fabric, LIDs, lanes, SA state, by variant index
    std::map<mad::Guid, Record> tables_;    ///< TableRecord or TableForgetRecord
    std::deque<Record> history_;            ///< sweeps and events
    std::optional<CleanStopRecord> stop_;
};

}  // namespace

struct Writer::Impl {
    Impl(std::unique_ptr<Database> to, std::size_t queue_max, std::function<void(std::string)> on_change)
        : database(std::move(to)), history_max(queue_max), report(std::move(on_change)), waiting(queue_max) {}

    void run();
    [[nodiscard]] base::Result<void> write_batch(Batch& batch);
    [[nodiscard]] base::Result<void> open_late();
    void write(std::unique_lock<std::mutex>& lock);
    void put_back(Batch&& batch);

    std::unique_ptr<Database> database;  ///< the thread's alone, as the next three
    Opener open;
    std::uint64_t sweeps_before =
        0;  ///< ids that an earlier run used up, where this one did not know of them
    std::uint64_t events_before = 0;
    const std::size_t history_max;
    const std::function<void(std::string)> report;
    std::string said = "ok";  ///< the thread's alone

    std::mutex mutex;
    std::condition_variable wake;    ///< to the thread: there is work, a flush or the end
    std::condition_variable served;  ///< from the thread: flushes_served changed
    Waiting waiting;
    std::uint64_t flushes_asked = 0;
    std::uint64_t flushes_served = 0;  ///< an attempt to write began after so many were asked for, and ended
    std::uint64_t dropped = 0;
    std::chrono::seconds retry_after{0};  ///< zero: the last attempt went well
    std::chrono::steady_clock::time_point retry_at;
    bool stopping = false;

    std::thread thread;
};

/// A batch that was refused goes before what was posted meanwhile.
void Writer::Impl::put_back(Batch&& batch) {
    Waiting newer = std::exchange(waiting, Waiting(history_max));
    dropped += waiting.absorb(std::move(batch));
    dropped += waiting.absorb(newer.take());
}

base::Result<void> Writer::Impl::open_late() {
    auto opened = open();
    if (!opened) {
        return tl::unexpected(opened.error());
    }
    const auto stored = (*opened)->load();
    if (!stored) {
        return tl::unexpected(stored.error());
    }
    if (auto forgotten = (*opened)->forget_tables(); !forgotten) {
        return forgotten;
    }
    sweeps_before = stored->last_sweep_id;
    events_before = stored->last_event_id;
    database = std::move(*opened);
    return {};
}

base::Result<void> Writer::Impl::write_batch(Batch& batch) {
    if (!database) {
        if (auto opened = open_late(); !opened) {
            return opened;
        }
    }
    if (sweeps_before == 0 && events_before == 0) {
        return database->apply(batch);
    }
    Batch numbered = batch;
    for (Record& record : numbered) {
        if (auto* sweep = std::get_if<SweepRecord>(&record)) {
            sweep->id += sweeps_before;
        } else if (auto* event = std::get_if<EventRow>(&record)) {
            event->id += events_before;
        }
    }
    return database->apply(numbered);
}

/// One attempt, with the lock released while the disk works.
void Writer::Impl::write(std::unique_lock<std::mutex>& lock) {
    Batch batch = waiting.take();
    lock.unlock();
    const auto result = write_batch(batch);
    if (std::string state = result ? "ok" : result.error().message; state != said) {
        said = std::move(state);
        report(said);
    }
    lock.lock();
    if (result) {
        retry_after = std::chrono::seconds{0};
    } else {
        put_back(std::move(batch));
        retry_after = std::clamp(retry_after * 2, kRetryFirst, kRetryMax);
        retry_at = std::chrono::steady_clock::now() + retry_after;
    }
}

void Writer::Impl::run() {
    std::unique_lock lock(mutex);
    for (bool last = false; !last;) {
        const auto due = [&] {
            return stopping || flushes_asked != flushes_served ||
                   (retry_after.count() == 0 && !waiting.empty());
        };
        if (retry_after.count() == 0) {
            wake.wait(lock, due);
        } else {
            wake.wait_until(lock, retry_at, due);
        }
        last = stopping;
        const std::uint64_t serving = flushes_asked;
        if (waiting.empty()) {
            retry_after = std::chrono::seconds{0};
        } else {
            write(lock);
        }
        flushes_served = serving;
        served.notify_all();
    }
}

Writer::Writer(std::unique_ptr<Database> database, std::size_t queue_max,
               std::function<void(std::string)> report)
    : impl_(std::make_unique<Impl>(std::move(database), queue_max, std::move(report))) {
    impl_->thread = std::thread([impl = impl_.get()] { impl->run(); });
}

Writer::Writer(Opener open, std::size_t queue_max, std::string state, std::function<void(std::string)> report)
    : impl_(std::make_unique<Impl>(nullptr, queue_max, std::move(report))) {
    impl_->open = std::move(open);
    impl_->said = std::move(state);
    impl_->thread = std::thread([impl = impl_.get()] { impl->run(); });
}

Writer::~Writer() {
    {
        const std::lock_guard lock(impl_->mutex);
        impl_->stopping = true;
    }
    impl_->wake.notify_one();
    impl_->thread.join();
}

void Writer::post(Batch batch) {
    {
        const std::lock_guard lock(impl_->mutex);
        impl_->dropped += impl_->waiting.absorb(std::move(batch));
    }
    impl_->wake.notify_one();
}

bool Writer::flush(base::Duration timeout) {
    std::unique_lock lock(impl_->mutex);
    const std::uint64_t mine = ++impl_->flushes_asked;
    impl_->wake.notify_one();
    return impl_->served.wait_for(lock, timeout, [&] { return impl_->flushes_served >= mine; });
}

std::uint64_t Writer::dropped() const {
    const std::lock_guard lock(impl_->mutex);
    return impl_->dropped;
}

}  // namespace ibf::db
