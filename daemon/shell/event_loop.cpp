#include "daemon/shell/event_loop.hpp"

#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>

#include <csignal>
#include <cstring>
#include <deque>

#include <fmt/format.h>

#include "base/check.hpp"

namespace ibf::shell {

struct EventLoop::Impl {
    sd_event* event = nullptr;
    sd_event_source* timer = nullptr;
    std::deque<std::function<void()>> watchers;  // stable addresses: sd-event keeps pointers to them
    std::function<void(int)> on_signal;
    std::function<void()> on_timer;

    ~Impl() {
        sd_event_source_unref(timer);
        sd_event_unref(event);
    }
};

namespace {

int dispatch_io(sd_event_source*, int, std::uint32_t, void* context) {
    (*static_cast<std::function<void()>*>(context))();
    return 0;
}

int dispatch_signal(sd_event_source*, const signalfd_siginfo* info, void* context) {
    (*static_cast<std::function<void(int)>*>(context))(static_cast<int>(info->ssi_signo));
    return 0;
}

int dispatch_timer(sd_event_source*, std::uint64_t, void* context) {
    const auto due = *static_cast<std::function<void()>*>(context);  // a copy: it may arm the timer anew
    due();
    return 0;
}

void must(int result, const char* what) {
    IBF_CHECK(result >= 0, "{}: {}", what, std::strerror(-result));
}

}  // namespace

EventLoop::EventLoop(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
EventLoop::~EventLoop() = default;

base::Result<std::unique_ptr<EventLoop>> EventLoop::create() {
    auto impl = std::make_unique<Impl>();
    if (const int result = sd_event_new(&impl->event); result < 0) {
        return base::fail(base::ErrorKind::io,
                          fmt::format("cannot create an event loop: {}", std::strerror(-result)));
    }
    sd_event_set_watchdog(impl->event, 1);
    return std::unique_ptr<EventLoop>(new EventLoop(std::move(impl)));
}

void EventLoop::watch(int fd, std::function<void()> ready) {
    impl_->watchers.push_back(std::move(ready));
    must(sd_event_add_io(impl_->event, nullptr, fd, EPOLLIN, dispatch_io, &impl_->watchers.back()),
         "watching a descriptor");
}

void EventLoop::on_signals(std::initializer_list<int> signals, std::function<void(int)> caught) {
    impl_->on_signal = std::move(caught);
    sigset_t set;
    sigemptyset(&set);
    for (const int number : signals) {
        sigaddset(&set, number);
    }
    must(-pthread_sigmask(SIG_BLOCK, &set, nullptr), "blocking signals");
    for (const int number : signals) {
        must(sd_event_add_signal(impl_->event, nullptr, number, dispatch_signal, &impl_->on_signal),
             "catching a signal");
    }
}

void EventLoop::set_timer(base::Instant at, std::function<void()> due) {
    impl_->on_timer = std::move(due);
    const auto since = at.time_since_epoch().count();
    const auto micros = since <= 0 ? 1ULL : static_cast<std::uint64_t>((since + 999) / 1000);
    if (impl_->timer == nullptr) {
        must(sd_event_add_time(impl_->event, &impl_->timer, CLOCK_MONOTONIC, micros, 100, dispatch_timer,
                               &impl_->on_timer),
             "adding a timer");
        return;
    }
    must(sd_event_source_set_time(impl_->timer, micros), "setting a timer");
    must(sd_event_source_set_enabled(impl_->timer, SD_EVENT_ONESHOT), "arming a timer");
}

int EventLoop::run() {
    return sd_event_loop(impl_->event);
}

void EventLoop::quit(int code) {
    sd_event_exit(impl_->event, code);
}

void EventLoop::notify(const std::string& state) {
    sd_notify(0, state.c_str());
}

}  // namespace ibf::shell
