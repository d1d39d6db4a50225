#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "db/database.hpp"
#include "db/waiting.hpp"

namespace ibf::db {
namespace {

constexpr std::chrono::seconds kRetryFirst{1};
constexpr std::chrono::seconds kRetryMax{30};

}  // namespace

struct Writer::Impl {
    Impl(std::unique_ptr<Database> to, std::size_t queue_max, std::function<void(std::string)> on_change)
        : database(std::move(to)), history_max(queue_max), report(std::move(on_change)), waiting(queue_max) {}

    void run();
    [[nodiscard]] base::Result<void> write_batch(Batch& batch);
    [[nodiscard]] base::Result<void> open_late();
    void write(std::unique_lock<std::mutex>& lock);
    void write_probes(std::unique_lock<std::mutex>& lock);
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
    std::condition_variable served;  ///< from the thread: flushes_served or a piece's result changed
    Waiting waiting;
    /// A piece of a probe run, which its caller holds and waits for.
    struct Probe {
        const ProbePut* put = nullptr;
        base::Result<std::uint64_t>* result = nullptr;
    };
    std::deque<Probe> probes;  ///< as many as threads wait
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

/// Each in a transaction of its own, with the lock released while the disk works.
void Writer::Impl::write_probes(std::unique_lock<std::mutex>& lock) {
    for (; !probes.empty(); probes.pop_front()) {
        const Probe probe = probes.front();
        lock.unlock();
        const auto opened = database ? base::Result<void>{} : open_late();
        auto result = opened ? database->put_probe(*probe.put)
                             : base::Result<std::uint64_t>{tl::unexpected(opened.error())};
        lock.lock();
        *probe.result = std::move(result);
    }
}

void Writer::Impl::run() {
    std::unique_lock lock(mutex);
    for (bool last = false; !last;) {
        const auto due = [&] {
            return stopping || flushes_asked != flushes_served || !probes.empty() ||
                   (retry_after.count() == 0 && !waiting.empty());
        };
        if (retry_after.count() == 0) {
            wake.wait(lock, due);
        } else {
            wake.wait_until(lock, retry_at, due);
        }
        last = stopping;
        const std::uint64_t serving = flushes_asked;
        const bool retry_waits = retry_after.count() > 0 && std::chrono::steady_clock::now() < retry_at;
        if (waiting.empty()) {
            retry_after = std::chrono::seconds{0};
        } else if (last || serving != flushes_served ||
                   !retry_waits) {  // a probe's piece hurries nobody else
            write(lock);
        }
        write_probes(lock);
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

base::Result<std::uint64_t> Writer::put_probe(const ProbePut& put) {
    std::unique_lock lock(impl_->mutex);
    if (impl_->stopping) {
        return base::fail(base::ErrorKind::unavailable, "the daemon is stopping");
    }
    base::Result<std::uint64_t> result{0U};  // no run has this id
    impl_->probes.push_back({&put, &result});
    impl_->wake.notify_one();
    impl_->served.wait(lock, [&] { return !result || *result != 0; });
    return result;
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
