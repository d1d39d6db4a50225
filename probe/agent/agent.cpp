#include "probe/agent/agent.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <list>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/log.hpp"
#include "net/tls_stream.hpp"
#include "probe/agent/session.hpp"

namespace ibf::probe {
namespace {

using base::LogLevel;
using base::Result;

class ListeningAgent : public Agent {
public:
    ListeningAgent(AgentTerms terms, std::shared_ptr<const net::Tls> tls, AgentHost host,
                   net::Listener&& listener)
        : terms_(std::move(terms)),
          tls_(std::move(tls)),
          host_(std::move(host)),
          listener_(std::move(listener)) {}

    [[nodiscard]] std::uint16_t port() const override { return listener_.port(); }
    void stop() override { closing_.signal(); }

    void serve() override {
        constexpr std::chrono::seconds kReapGap{1};
        while (true) {
            const auto how =
                net::wait_for(listener_.fd(), POLLIN, base::monotonic_now() + kReapGap, {closing_.fd()});
            clients_.remove_if([](const Client& client) { return client.is_over->load(); });
            if (how == net::Readiness::woken) {
                break;
            }
            if (how == net::Readiness::ready) {
                accept();
            }
        }
        clients_.clear();  // joins: closing_ stays readable, so that all of them end
    }

private:
    struct Client {
        std::shared_ptr<std::atomic<bool>> is_over = std::make_shared<std::atomic<bool>>(false);
        std::jthread thread;
    };

    void accept() {
        constexpr std::chrono::seconds kPause{1};
        const auto caller = listener_.accept();
        if (!caller) {
            if (!std::exchange(cannot_accept_, true)) {
                base::log(LogLevel::error, "{}: clients wait until there is room", caller.error().message);
            }
            // The listener stays readable meanwhile.
            static_cast<void>(net::wait_for(closing_.fd(), POLLIN, base::monotonic_now() + kPause));
            return;
        }
        if (std::exchange(cannot_accept_, false)) {
            base::log(LogLevel::info, "connections are taken again");
        }
        if (*caller) {
            take(**caller);
        }
    }

    void take(const net::Listener::Caller& caller) {
        const std::string peer = net::to_string(caller.address);
        const bool allowed =
            terms_.networks.empty() ||
            std::any_of(terms_.networks.begin(), terms_.networks.end(),
                        [&](const net::Network& one) { return one.contains(caller.address); });
        if (!allowed || clients_.size() >= terms_.connections) {
            base::log(LogLevel::warning, "{} is turned away: {}", peer,
                      allowed ? "there are as many connections as may be (connections)"
                              : "it is in none of the networks that may come (networks)");
            ::close(caller.fd);
            return;
        }
        Client& client = clients_.emplace_back();
        client.thread = std::jthread([this, peer, fd = caller.fd, is_over = client.is_over] {
            attend(fd, peer);
            is_over->store(true);
        });
    }

    /// One client, on its thread.
    void attend(int fd, const std::string& peer) {
        const base::Instant greeted_by = base::monotonic_now() + terms_.greeting_max;
        auto stream = net::TlsStream::accept(fd, tls_, greeted_by, {closing_.fd()});
        if (!stream) {
            base::log(LogLevel::warning, "{}: {}", peer, stream.error().message);
            return;
        }
        const auto name = stream->peer_name(terms_.names, "names");
        if (!name) {
            base::log(LogLevel::warning, "{} is turned away: {}", peer, name.error().message);
            return;
        }
        Session session({terms_, host_, floor_, closing_}, std::move(*stream),
                        name->empty() ? peer : fmt::format("{}, {}", *name, peer));
        if (const auto over = session.serve(greeted_by); !over) {
            base::log(over.error().kind == base::ErrorKind::parse ? LogLevel::warning : LogLevel::info,
                      "{}: {}", peer, over.error().message);
        }
    }

    const AgentTerms terms_;
    const std::shared_ptr<const net::Tls> tls_;
    const AgentHost host_;
    net::Listener listener_;
    net::WakeUp closing_;
    Floor floor_;
    std::list<Client> clients_;
    bool cannot_accept_ = false;  ///< that it could not has been told
};

}  // namespace

Result<std::unique_ptr<Agent>> Agent::start(AgentTerms terms, std::shared_ptr<const net::Tls> tls,
                                            AgentHost host) {
    auto listener = net::Listener::open(terms.listen);
    if (!listener) {
        return tl::unexpected(listener.error());
    }
    return std::make_unique<ListeningAgent>(std::move(terms), std::move(tls), std::move(host),
                                            std::move(*listener));
}

}  // namespace ibf::probe
