// DOC: questions asked through a port, in real time.
//
// Over any mad::Transport: an adapter's port (umad, opened as a client), a simulated one. Not for two
// threads.
#pragma once

#include <memory>
#include <vector>

#include "base/mailbox.hpp"
#include "mad/transport.hpp"
#include "probe/proof/asking.hpp"

namespace ibf::probe {

class TransportAsker final : public MadAsker {
public:
    /// Starts the transport.
    TransportAsker(std::unique_ptr<mad::Transport> transport, const AskLimits& limits);

    [[nodiscard]] std::vector<Answer> ask(std::span<const Question> questions, std::stop_token stop) override;
    [[nodiscard]] mad::LocalPort local_port() const { return transport_->local_port(); }

private:
    void send_all(base::Instant now);
    void wait_until(base::Instant deadline);

    static constexpr std::size_t kInboxMax = 1U << 16U;
    Asking asking_;
    std::vector<mad::WireMad> out_;
    std::vector<mad::WireMad> batch_;
    base::Mailbox<mad::WireMad> inbox_{kInboxMax};
    std::unique_ptr<mad::Transport> transport_;  ///< last: its thread fills the inbox
};

}  // namespace ibf::probe
