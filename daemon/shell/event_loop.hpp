// DOC: the event loop: a thin owner of sd-event.
//
// One thread. Descriptors, one timer, signals, and systemd's watchdog (kept alive from here, so a loop that
// hangs is restarted). Callbacks run on the loop's thread and may call quit().
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "base/time.hpp"

namespace ibf::shell {

class EventLoop {
public:
    /// Errors: io.
    [[nodiscard]] static base::Result<std::unique_ptr<EventLoop>> create();
    ~EventLoop();
    EventLoop(const EventLoop&) = delete;
    EventLoop& operator=(const EventLoop&) = delete;

    /// Calls `ready` whenever `fd` is readable.
    void watch(int fd, std::function<void()> ready);
    /// Blocks the signals and calls `caught` with the number of each that comes.
    void on_signals(std::initializer_list<int> signals, std::function<void(int)> caught);
    /// (Re)arms the one timer; an instant in the past fires at once.
    void set_timer(base::Instant at, std::function<void()> due);
    /// Runs until quit(); returns its code.
    int run();
    void quit(int code);

    /// sd_notify: "READY=1", "STATUS=...", ...; nothing without systemd.
    static void notify(const std::string& state);

private:
    struct Impl;
    explicit EventLoop(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace ibf::shell
