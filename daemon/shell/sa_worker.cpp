#include "daemon/shell/sa_worker.hpp"

#include <poll.h>

#include <algorithm>

namespace ibf::shell {
namespace {

/// Queries served before new MADs are looked at: ACKs of tables under way come by the same door.
constexpr unsigned kServedInARow = 32;

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
           a.multicast == b.multicast && a.mode == b.mode && a.sm_lid == b.sm_lid;
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

fabric::SaActivity SaWorker::activity() {
    constexpr auto kPatience = std::chrono::milliseconds{100};
    std::unique_lock lock(mutex_);
    const std::uint64_t question = ++asked_;
    inbox_.wake();
    activity_told_.wait_for(lock, kPatience, [&] { return told_ >= question || stopping_; });
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

/// Copies the counters for who asked for them, and for nobody else.
void SaWorker::publish() {
    const std::uint64_t question = asked_;
    if (question == answered_) {
        return;
    }
    answered_ = question;
    const sa::DeskCounters& counters = desk_.counters();
    fabric::SaActivity activity;
    activity.requests = counters.requests;
    activity.answered = counters.answered;
    activity.records = counters.records;
    activity.duplicates = counters.duplicates;
    activity.dropped = counters.dropped + inbox_.refused();
    activity.malformed = counters.malformed;
    activity.changes = counters.to_registry;
    activity.tables_delivered = desk_.rmpp_counters().delivered;
    activity.tables_failed = desk_.rmpp_counters().failed;
    activity.by_kind = counters.by_kind;
    {
        const std::lock_guard lock(mutex_);
        activity_ = std::move(activity);
        told_ = question;
    }
    activity_told_.notify_all();
}

void SaWorker::run() {
    std::vector<mad::WireMad> batch;
    sa::DeskOutputs out;
    bool busy = false;
    while (!stopping_) {
        if (!busy) {
            int wait_ms = -1;
            if (const auto deadline = desk_.next_deadline()) {
                const auto left =
                    std::chrono::ceil<std::chrono::milliseconds>(*deadline - base::monotonic_now());
                wait_ms = static_cast<int>(std::clamp<long>(static_cast<long>(left.count()), 0, 60'000));
            }
            pollfd watched{inbox_.wake_fd(), POLLIN, 0};
            static_cast<void>(::poll(&watched, 1, wait_ms));
        }
        inbox_.drain(batch);
        look();
        const base::Instant now = base::monotonic_now();
        for (const mad::WireMad& mad : batch) {
            desk_.on_mad(mad, now, out);
        }
        send_all(out);
        busy = true;
        for (unsigned i = 0; i < kServedInARow && busy; ++i) {
            busy = desk_.serve(base::monotonic_now(), out);
            send_all(out);
        }
        desk_.on_time(base::monotonic_now(), out);
        send_all(out);
        publish();
    }
}

}  // namespace ibf::shell
