#include "mad/sa_client.hpp"

#include <poll.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace ibf::mad {
namespace {

/// Room for a question's own retries.
constexpr std::uint32_t kTidStep = 1U << 16U;
constexpr long kWaitMostMs = 60'000;
constexpr long kStopPatienceMs = 50;

}  // namespace

base::Result<std::unique_ptr<SaClient>> SaClient::open(std::string_view port, const SaQueryLimits& limits) {
    auto options = parse_umad_port(port);
    if (!options) {
        return tl::unexpected(options.error());
    }
    options->use = UmadUse::client;
    auto transport = open_umad(*options);
    if (!transport) {
        return tl::unexpected(transport.error());
    }
    return over(std::move(*transport), limits);
}

base::Result<std::unique_ptr<SaClient>> SaClient::over(std::unique_ptr<Transport> transport,
                                                       const SaQueryLimits& limits) {
    const LocalPort local = transport->local_port();
    if (local.sm_lid == kLidNone) {
        return base::fail(base::ErrorKind::unavailable,
                          fmt::format("{}/{} ({}): no subnet manager has configured this port; start one, or "
                                      "name another port",
                                      local.device, local.port, local.state_text));
    }
    return std::unique_ptr<SaClient>(new SaClient(std::move(transport), limits));
}

SaClient::SaClient(std::unique_ptr<Transport> transport, const SaQueryLimits& limits)
    : port_(transport->local_port()), limits_(limits), transport_(std::move(transport)) {
    transport_->start([this](WireMad&& mad) { static_cast<void>(inbox_.push(std::move(mad))); });
}

/// Or until MADs have come.
void SaClient::wait_until(base::Instant deadline, bool can_stop) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - base::monotonic_now());
    pollfd watched{inbox_.wake_fd(), POLLIN, 0};
    const long most = can_stop ? kStopPatienceMs : kWaitMostMs;
    static_cast<void>(
        ::poll(&watched, 1, static_cast<int>(std::clamp<long>(static_cast<long>(left.count()), 0, most))));
}

base::Result<SaReply> SaClient::ask(const SaMad& question) {
    return ask(question, base::Instant::max(), {});
}

base::Result<SaReply> SaClient::ask(SaMad question, base::Instant give_up, const std::stop_token& stop) {
    question.header.tid = last_tid_ += kTidStep;
    SaQuery query(question, port_.sm_lid, port_.sm_sl, limits_);
    std::vector<WireMad> out;
    query.start(base::monotonic_now(), out);
    for (;;) {
        for (const WireMad& mad : out) {
            if (const auto sent = transport_->send(mad); !sent) {
                return tl::unexpected(sent.error());
            }
        }
        out.clear();
        if (query.outcome()) {
            return *query.outcome();
        }
        wait_until(std::min(*query.next_deadline(), give_up), stop.stop_possible());
        inbox_.drain(batch_);
        const base::Instant now = base::monotonic_now();
        for (const WireMad& mad : batch_) {
            query.on_receive(mad, now, out);
        }
        query.on_time(now, out);
        if (!query.outcome() && (now >= give_up || stop.stop_requested())) {
            return base::fail(base::ErrorKind::unavailable,
                              stop.stop_requested() ? "interrupted" : "the answer takes too long");
        }
    }
}

}  // namespace ibf::mad
