#include "daemon/shell/sa_worker.hpp"

#include <poll.h>

#include <algorithm>

namespace ibf::shell {
namespace {

/// Queries served before new MADs are looked at: ACKs of tables under way come by the same door.
constexpr unsigned kServedInARow = 32;
/// Telling readers costs up to two milliseconds, where 49,000 LIDs have asked.
constexpr std::chrono::milliseconds kPublishEvery{250};

/// All clients of a host share one LID and QP; what they send us in more than one MAD is short.
mad::RmppLimits rmpp_limits() {
    mad::RmppLimits limits;
    limits.per_peer = 1024;
    limits.message_bytes = std::size_t{64} << 20U;
    limits.receive_bytes = std::size_t{16} << 20U;
    return limits;
}

bool same_ground(const fabric::Snapshot& a, const fabric::Snapshot& b) {
    return a.fabric == b.fabric && a.view == b.view && a.programmed == b.programmed &&
           a.multicast == b.multicast && a.lanes == b.lanes && a.mode == b.mode && a.sm_lid == b.sm_lid;
}

}  // namespace

SaWorker::SaWorker(const sa::SaConfig& config, Send send, Forward forward)
    : send_(std::move(send)),
      forward_(std::move(forward)),
      desk_(config, sa::DeskLimits{}, rmpp_limits()),
      thread_([this] { run(); }) {}

SaWorker::~SaWorker() {
    stop();
}

void SaWorker::stop() {
    stopping_ = true;
    inbox_.close();
    if (thread_.joinable()) {
        thread_.join();
    }
}

void SaWorker::post(mad::WireMad&& mad) {
    static_cast<void>(inbox_.push(std::move(mad)));
}

void SaWorker::show(std::shared_ptr<const fabric::Snapshot> snapshot) {
    const std::lock_guard lock(mutex_);
    newest_ = std::move(snapshot);
}

void SaWorker::replace_config(const sa::SaConfig& config) {
    const std::lock_guard lock(mutex_);
    new_config_ = config;
}

std::shared_ptr<const fabric::SaActivity> SaWorker::activity() const {
    const std::lock_guard lock(mutex_);
    return activity_;
}

/// Takes over the newest snapshot.
void SaWorker::look() {
    std::shared_ptr<const fabric::Snapshot> newest;
    {
        const std::lock_guard lock(mutex_);
        newest = newest_;
        if (new_config_) {
            desk_.replace_config(*new_config_);
            new_config_.reset();
        }
    }
    if (newest == nullptr || newest == shown_) {
        return;
    }
    if (!view_ || !same_ground(*newest, *shown_)) {
        view_ = std::make_shared<const sa::View>(newest);
    }
    shown_ = newest;
    desk_.show(view_, newest->sa ? newest->sa : std::make_shared<const fabric::SaTables>());
}

void SaWorker::send_all(sa::DeskOutputs& out) {
    for (const mad::WireMad& mad : out.wire) {
        send_(mad);
    }
    for (mad::WireMad& mad : out.for_registry) {
        forward_(std::move(mad), view_);
    }
    out.wire.clear();
    out.for_registry.clear();
}

void SaWorker::publish(base::Instant now) {
    auto activity = std::make_shared<fabric::SaActivity>(desk_.activity(now));
    activity->dropped += inbox_.refused();
    publish_at_.reset();
    const std::lock_guard lock(mutex_);
    activity_ = std::move(activity);
}

/// For MADs, for the desk's deadline, or to publish.
void SaWorker::wait() const {
    std::optional<base::Instant> until = desk_.next_deadline();
    if (publish_at_ && (!until || *publish_at_ < *until)) {
        until = publish_at_;
    }
    int wait_ms = -1;
    if (until) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(*until - base::monotonic_now());
        wait_ms = static_cast<int>(std::clamp<long>(static_cast<long>(left.count()), 0, 60'000));
    }
    pollfd watched{inbox_.wake_fd(), POLLIN, 0};
    static_cast<void>(::poll(&watched, 1, wait_ms));
}

void SaWorker::run() {
    std::vector<mad::WireMad> batch;
    sa::DeskOutputs out;
    bool busy = false;
    while (!stopping_) {
        if (!busy) {
            wait();
        }
        inbox_.drain(batch);
        look();
        const base::Instant now = base::monotonic_now();
        const bool is_due = desk_.next_deadline() && *desk_.next_deadline() <= now;
        for (const mad::WireMad& mad : batch) {
            desk_.on_mad(mad, now, out);
        }
        send_all(out);
        busy = true;
        for (unsigned i = 0; i < kServedInARow && busy; ++i) {
            busy = desk_.serve(base::monotonic_now(), out);
            send_all(out);
        }
        const base::Instant served = base::monotonic_now();
        desk_.on_time(served, out);
        send_all(out);
        if (!publish_at_ && (busy || is_due || !batch.empty())) {
            publish_at_ = served + kPublishEvery;
        }
        if (publish_at_ && *publish_at_ <= served) {
            publish(served);
        }
    }
}

}  // namespace ibf::shell
