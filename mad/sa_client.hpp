// DOC: the subnet administrator, as a program talks to it in band.
//
// Opens a port as a client, beside whatever subnet manager runs there, and sends MADs to the SA that the port
// was told of: one question at a time, blocking, driven by mad::SaQuery. In a program that ibfabric-sim
// started, the port is the simulated node's. Not for two threads.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/mailbox.hpp"
#include "base/result.hpp"
#include "mad/sa_query.hpp"
#include "mad/transport.hpp"

namespace ibf::mad {

class SaClient {
public:
    /// `port`: "DEVICE", "DEVICE/PORT", or empty for the first that can be used. Errors: those of open_umad
    /// and of over().
    [[nodiscard]] static base::Result<std::unique_ptr<SaClient>> open(std::string_view port,
                                                                      const SaQueryLimits& limits);
    /// Starts the transport. Errors: unavailable where no subnet manager has configured the port.
    [[nodiscard]] static base::Result<std::unique_ptr<SaClient>> over(std::unique_ptr<Transport> transport,
                                                                      const SaQueryLimits& limits);

    [[nodiscard]] base::Result<SaReply> ask(const SaMad& question);
    /// As above, and ends with unavailable at `give_up`, or within 50 ms of a request to stop.
    [[nodiscard]] base::Result<SaReply> ask(SaMad question, base::Instant give_up,
                                            const std::stop_token& stop);
    [[nodiscard]] const LocalPort& port() const { return port_; }

private:
    SaClient(std::unique_ptr<Transport> transport, const SaQueryLimits& limits);
    void wait_until(base::Instant deadline, bool can_stop);

    static constexpr std::size_t kInboxMax = 1U << 16U;
    LocalPort port_;
    SaQueryLimits limits_;
    std::uint32_t last_tid_ = 0;
    std::vector<WireMad> batch_;
    base::Mailbox<WireMad> inbox_{kInboxMax};
    std::unique_ptr<Transport> transport_;  ///< last: its thread fills the inbox
};

}  // namespace ibf::mad
