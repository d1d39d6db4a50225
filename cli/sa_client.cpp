#include "cli/sa_client.hpp"

#include <poll.h>

#include <algorithm>

#include <fmt/format.h>

namespace ibf::cli {
namespace {

/// Room for a question's own retries.
constexpr std::uint32_t kTidStep = 1U << 16U;

}  // namespace

base::Result<std::unique_ptr<SaClient>> SaClient::open(std::string_view port,
                                                       const mad::SaQueryLimits& limits) {
    auto options = mad::parse_umad_port(port);
    if (!options) {
        return tl::unexpected(options.error());
    }
    options->use = mad::UmadUse::client;
    auto transport = mad::open_umad(*options);
    if (!transport) {
        return tl::unexpected(transport.error());
    }
    const mad::LocalPort local = (*transport)->local_port();
    if (local.sm_lid == mad::kLidNone) {
        return base::fail(
            base::ErrorKind::unavailable,
            fmt::format("{}/{} ({}): no subnet manager has configured this port; start one, or choose "
                        "another port by --port",
                        local.device, local.port, local.state_text));
    }
    return std::unique_ptr<SaClient>(new SaClient(std::move(*transport), limits));
}

SaClient::SaClient(std::unique_ptr<mad::Transport> transport, const mad::SaQueryLimits& limits)
    : port_(transport->local_port()), limits_(limits), transport_(std::move(transport)) {
    transport_->start([this](mad::WireMad&& mad) { static_cast<void>(inbox_.push(std::move(mad))); });
}

/// Or until MADs have come.
void SaClient::wait_until(base::Instant deadline) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - base::monotonic_now());
    pollfd watched{inbox_.wake_fd(), POLLIN, 0};
    static_cast<void>(
        ::poll(&watched, 1, static_cast<int>(std::clamp<long>(static_cast<long>(left.count()), 0, 60'000))));
}

base::Result<mad::SaReply> SaClient::ask(mad::SaMad question) {
    question.header.tid = last_tid_ += kTidStep;
    mad::SaQuery query(question, port_.sm_lid, port_.sm_sl, limits_);
    std::vector<mad::WireMad> out;
    query.start(base::monotonic_now(), out);
    for (;;) {
        for (const mad::WireMad& mad : out) {
            if (const auto sent = transport_->send(mad); !sent) {
                return tl::unexpected(sent.error());
            }
        }
        out.clear();
        if (query.outcome()) {
            return *query.outcome();
        }
        wait_until(*query.next_deadline());
        inbox_.drain(batch_);
        const base::Instant now = base::monotonic_now();
        for (const mad::WireMad& mad : batch_) {
            query.on_receive(mad, now, out);
        }
        query.on_time(now, out);
    }
}

}  // namespace ibf::cli
