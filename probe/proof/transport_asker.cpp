#include "probe/proof/transport_asker.hpp"

#include <poll.h>

#include <algorithm>
#include <utility>

namespace ibf::probe {
namespace {

constexpr base::Duration kStopLatency = std::chrono::milliseconds{100};

}  // namespace

TransportAsker::TransportAsker(std::unique_ptr<mad::Transport> transport, const AskLimits& limits)
    : asking_(limits), transport_(std::move(transport)) {
    transport_->start([this](mad::WireMad&& mad) { static_cast<void>(inbox_.push(std::move(mad))); });
}

void TransportAsker::send_all(base::Instant now) {
    out_.clear();
    asking_.poll_send(now, out_);
    for (const mad::WireMad& mad : out_) {
        if (!transport_->send(mad)) {
            asking_.on_send_error(mad, now);
        }
    }
}

/// Or until MADs have come.
void TransportAsker::wait_until(base::Instant deadline) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - base::monotonic_now());
    pollfd watched{inbox_.wake_fd(), POLLIN, 0};
    static_cast<void>(
        ::poll(&watched, 1, static_cast<int>(std::clamp<long>(static_cast<long>(left.count()), 0, 60'000))));
}

std::vector<Answer> TransportAsker::ask(std::span<const Question> questions, std::stop_token stop) {
    asking_.start(questions);
    base::Instant now = base::monotonic_now();
    send_all(now);
    while (!asking_.done() && !stop.stop_requested()) {
        wait_until(std::min(asking_.next_deadline().value_or(now + kStopLatency), now + kStopLatency));
        inbox_.drain(batch_);
        now = base::monotonic_now();
        for (const mad::WireMad& mad : batch_) {
            asking_.on_receive(mad, now);
        }
        asking_.on_time(now);
        send_all(now);
    }
    return asking_.take();
}

}  // namespace ibf::probe
