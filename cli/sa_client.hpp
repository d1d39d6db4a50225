// DOC: the subnet administrator, as the command line talks to it in band.
//
// Opens a port as a client, beside whatever subnet manager runs there, and sends MADs to the SA that the port
// was told of: one question at a time, blocking, driven by mad::SaQuery. In a program that ibfabric-sim
// started, the port is the simulated node's.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/mailbox.hpp"
#include "base/result.hpp"
#include "mad/sa_query.hpp"
#include "mad/transport.hpp"

namespace ibf::cli {

class SaClient {
public:
    /// `port`: "DEVICE", "DEVICE/PORT", or empty for the first that can be used. Errors: those of open_umad;
    /// unavailable where no subnet manager has configured the port.
    [[nodiscard]] static base::Result<std::unique_ptr<SaClient>> open(std::string_view port,
                                                                      const mad::SaQueryLimits& limits);

    [[nodiscard]] base::Result<mad::SaReply> ask(mad::SaMad question);

private:
    SaClient(std::unique_ptr<mad::Transport> transport, const mad::SaQueryLimits& limits);
    void wait_until(base::Instant deadline);

    static constexpr std::size_t kInboxMax = 1U << 16U;
    mad::LocalPort port_;
    mad::SaQueryLimits limits_;
    std::uint32_t last_tid_ = 0;
    std::vector<mad::WireMad> batch_;
    base::Mailbox<mad::WireMad> inbox_{kInboxMax};
    std::unique_ptr<mad::Transport> transport_;  ///< last: its thread fills the inbox
};

}  // namespace ibf::cli
