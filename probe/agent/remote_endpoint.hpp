// DOC: a side of a test that lives in an agent on another host.
//
// Every call goes over one TLS connection and comes back in bounded time: an agent that says nothing for as
// long as kSilenceMax is taken for dead; one that talks on is told to stop when the time of its run (or the
// longest that it allows) is over, and given up kEndMax later. Errors name the host and the remedy: no route,
// refused, wrong key, another version (both are told), busy (with whom, since when). Once a test runs, a
// connection that breaks is an outcome (failure::kPeerGone), with the figures that were told last.
//
// Destroying it, or losing it, frees the agent. One thread at a time.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "net/address.hpp"
#include "net/tls.hpp"
#include "probe/messages.hpp"
#include "probe/spec.hpp"

namespace ibf::probe {

class RemoteEndpoint : public Endpoint {
public:
    static constexpr std::chrono::seconds kGreetingMax{5};  ///< to connect; again for TLS and Hello
    static constexpr std::chrono::seconds kAnswerMax{30};   ///< to prepare and to connect queue pairs
    static constexpr std::chrono::seconds kSilenceMax{10};  ///< between two signs of life of a run
    static constexpr std::chrono::seconds kOverMax{60};     ///< from when a run's time is over until Stop
    static constexpr std::chrono::seconds kEndMax{15};      ///< from Stop to Ended

    /// What the calls of one endpoint wait for at most, however much its agent says meanwhile.
    struct Patience {
        std::chrono::milliseconds answer = kAnswerMax;
        std::chrono::milliseconds over = kOverMax;
        std::chrono::milliseconds end = kEndMax;
    };

    /// Who the agent is.
    [[nodiscard]] virtual const Hello& agent() const = 0;
    /// Its limits and ports. Errors: as of the calls of Endpoint.
    [[nodiscard]] virtual base::Result<Description> describe() = 0;
};

/// Connects and says Hello. `run` names what it is for, to whoever finds the agent busy. Errors: unavailable
/// (nobody there, no route, refused connection), refused (key, certificate, not an allowed peer), unsupported
/// (version).
[[nodiscard]] base::Result<std::unique_ptr<RemoteEndpoint>> connect_agent(
    const net::HostPort& where, const std::shared_ptr<const net::Tls>& tls, const std::string& run,
    const RemoteEndpoint::Patience& patience = {});

}  // namespace ibf::probe
