// DOC: the only channel between threads.
//
// Any number of senders, one reader. Values are moved in and taken out in batches, in order. The reader can
// block, or watch wake_fd() (an eventfd that is readable while something waits). The bound is a promise: a
// full mailbox refuses (push returns false) and counts, it never grows and never blocks the sender.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "base/check.hpp"

namespace ibf::base {

template <class T>
class Mailbox {
public:
    explicit Mailbox(std::size_t capacity)
        : capacity_(capacity), wake_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
        IBF_CHECK(wake_fd_ >= 0, "eventfd failed");
    }
    ~Mailbox() { ::close(wake_fd_); }
    Mailbox(const Mailbox&) = delete;
    Mailbox& operator=(const Mailbox&) = delete;

    /// False when the box is full or closed: the value is dropped and counted.
    [[nodiscard]] bool push(T&& value) {
        bool was_empty = false;
        {
            const std::lock_guard lock(mutex_);
            if (closed_ || items_.size() >= capacity_) {
                ++refused_;
                return false;
            }
            was_empty = items_.empty();
            items_.push_back(std::move(value));
        }
        if (was_empty) {
            signal();
        }
        return true;
    }

    /// Everything that waits, oldest first; empty if nothing. `into` is cleared first and its storage reused.
    void drain(std::vector<T>& into) {
        into.clear();
        const std::lock_guard lock(mutex_);
        std::swap(into, items_);
        std::uint64_t count = 0;
        [[maybe_unused]] const auto got = ::read(wake_fd_, &count, sizeof count);
    }

    /// Blocks until something waits (true, drained into `into`) or the box is closed and empty (false).
    [[nodiscard]] bool wait(std::vector<T>& into) {
        std::unique_lock lock(mutex_);
        ready_.wait(lock, [&] { return closed_ || !items_.empty(); });
        into.clear();
        std::swap(into, items_);
        return !into.empty();
    }

    /// Further pushes are refused; what waits can still be taken.
    void close() {
        {
            const std::lock_guard lock(mutex_);
            closed_ = true;
        }
        signal();
    }

    [[nodiscard]] int wake_fd() const { return wake_fd_; }
    [[nodiscard]] std::uint64_t refused() const {
        const std::lock_guard lock(mutex_);
        return refused_;
    }

private:
    void signal() {
        ready_.notify_one();
        const std::uint64_t one = 1;
        [[maybe_unused]] const auto put = ::write(wake_fd_, &one, sizeof one);
    }

    mutable std::mutex mutex_;
    std::condition_variable ready_;
    std::vector<T> items_;
    const std::size_t capacity_;
    std::uint64_t refused_ = 0;
    bool closed_ = false;
    const int wake_fd_;
};

}  // namespace ibf::base
