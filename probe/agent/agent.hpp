// DOC: the agent: lends a host's RDMA devices to tests that others run, within limits.
//
// Listens, lets in whoever comes from an allowed network and holds the key (or a certificate with an allowed
// name), and does what messages.hpp says. One run at a time on a host: it belongs to the connection that
// prepared it, and ends with it, however that ends. Who says nothing is dropped after kIdleMax, who says what
// is no message at once. The limits hold whatever a client does: a run that is too long is ended.
//
// Each connection has a thread, and another one while an endpoint's call blocks. Connections are bounded.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "net/address.hpp"
#include "net/tls.hpp"
#include "probe/messages.hpp"
#include "probe/spec.hpp"

namespace ibf::probe {

struct AgentTerms {
    net::HostPort listen{"", kAgentPort};  ///< no host: all addresses
    std::vector<net::Network> networks;    ///< from where clients may come; empty: anywhere
    std::vector<std::string> names;        ///< in certificates; empty: all that the CA has certified
    AgentLimits limits{};
    std::vector<std::string> devices;               ///< that may be used; empty: all
    unsigned connections = 16;                      ///< at once; those beyond are closed
    std::chrono::milliseconds greeting_max{5'000};  ///< for the handshake and Hello together
    std::chrono::milliseconds idle_max{30'000};     ///< without a message, when nothing runs
};

/// What the agent lends.
struct AgentHost {
    std::string name;
    std::string program;  ///< version
    std::function<std::unique_ptr<Endpoint>()> make_endpoint;
    std::function<base::Result<std::vector<PortDescription>>()> describe;
};

class Agent {
public:
    /// Listens from then on. Errors: unavailable, usage.
    [[nodiscard]] static base::Result<std::unique_ptr<Agent>> start(AgentTerms terms,
                                                                    std::shared_ptr<const net::Tls> tls,
                                                                    AgentHost host);
    Agent() = default;
    Agent(const Agent&) = delete;
    Agent& operator=(const Agent&) = delete;
    virtual ~Agent() = default;

    [[nodiscard]] virtual std::uint16_t port() const = 0;
    /// Serves until stop(); every run has ended when it comes back.
    virtual void serve() = 0;
    /// Any thread, and signal handlers.
    virtual void stop() = 0;
};

}  // namespace ibf::probe
