#include "probe/agent/remote_endpoint.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "probe/agent/limits.hpp"
#include "probe/agent/line.hpp"

namespace ibf::probe {
namespace {

using base::ErrorKind;
using base::Result;

class AgentsEndpoint : public RemoteEndpoint {
public:
    AgentsEndpoint(Line&& line, std::string host, std::string run, const Patience& patience)
        : line_(std::move(line)), host_(std::move(host)), run_(std::move(run)), patience_(patience) {}
    ~AgentsEndpoint() override { AgentsEndpoint::release(); }

    Result<void> greet(const Hello& own);

    [[nodiscard]] const Hello& agent() const override { return agent_; }
    [[nodiscard]] std::string name() const override { return host_; }
    [[nodiscard]] Result<Description> describe() override {
        auto description = ask<Description>(Describe{}, kSilenceMax);
        if (description) {
            allowed_ = std::min<base::Duration>(std::chrono::seconds{description->limits.seconds}, allowed_);
        }
        return description;
    }

    [[nodiscard]] Result<EndpointAddress> prepare(const TestSpec& spec, Side side, const Way& way) override {
        auto prepared = ask<Prepared>(Prepare{run_, spec, side, way}, patience_.answer);
        if (!prepared) {
            return tl::unexpected(prepared.error());
        }
        is_prepared_ = true;
        // A target goes on for as long as its initiator does.
        const bool has_end = side == Side::initiator && spec.duration > base::Duration::zero();
        longest_ = has_end ? std::min(spec.duration, allowed_) : allowed_;
        return std::move(prepared->address);
    }
    [[nodiscard]] Result<PathTaken> connect(const EndpointAddress& peer, std::stop_token stop) override {
        const net::WakeUp stopping;
        const std::stop_callback on_stop(std::move(stop), [&stopping] { stopping.signal(); });
        return ask<Connected>(Connect{peer}, patience_.answer, &stopping).map([](Connected&& connected) {
            return std::move(connected.path);
        });
    }
    [[nodiscard]] Result<Outcome> run(const std::function<void(const Progress&)>& progress,
                                      std::stop_token stop) override;
    void release() override {
        if (std::exchange(is_prepared_, false) && !is_broken_) {
            // An agent that does not answer frees itself when the connection ends.
            static_cast<void>(ask<Released>(Release{}, kSilenceMax));
        }
    }

private:
    template <class Answer>
    Result<Answer> ask(const Message& question, std::chrono::milliseconds patience) {
        return ask<Answer>(question, patience, nullptr);
    }
    /// Once `stopping` is signalled, the agent is told, and answers.
    template <class Answer>
    Result<Answer> ask(const Message& question, std::chrono::milliseconds patience,
                       const net::WakeUp* stopping);
    [[nodiscard]] base::Error broken(const base::Error& error);
    [[nodiscard]] Outcome lost(const Progress& last, const std::string& why) const;

    Line line_;
    std::string host_;
    std::string run_;
    const Patience patience_;
    Hello agent_;
    base::Duration allowed_ = kDurationMax;  ///< of a run, as the agent has told
    base::Duration longest_ = kDurationMax;  ///< what is prepared takes
    bool is_prepared_ = false;
    bool is_broken_ = false;
};

base::Error AgentsEndpoint::broken(const base::Error& error) {
    is_broken_ = true;
    return {ErrorKind::unavailable,
            fmt::format("{}: the connection to its agent broke: {}", host_, error.message)};
}

template <class Answer>
Result<Answer> AgentsEndpoint::ask(const Message& question, std::chrono::milliseconds patience,
                                   const net::WakeUp* stopping) {
    if (is_broken_) {
        return base::fail(ErrorKind::unavailable,
                          fmt::format("{}: the connection to its agent is gone", host_));
    }
    if (const auto sent = line_.send(question); !sent) {
        return tl::unexpected(broken(sent.error()));
    }
    const base::Instant deadline = base::monotonic_now() + patience;
    while (true) {
        auto arrival =
            line_.receive(deadline, stopping == nullptr ? std::vector<int>{} : std::vector{stopping->fd()});
        if (!arrival) {
            return tl::unexpected(broken(arrival.error()));
        }
        if (stopping != nullptr && arrival->readiness == net::Readiness::woken) {
            stopping->clear();
            if (const auto sent = line_.send(Stop{}); !sent) {
                return tl::unexpected(broken(sent.error()));
            }
            continue;
        }
        const bool is_late =
            arrival->message &&
            (std::holds_alternative<ProgressTold>(*arrival->message) ||
             std::holds_alternative<Ended>(*arrival->message));  // of a run that is being released
        if (!arrival->message || (is_late && base::monotonic_now() > deadline)) {
            is_broken_ = true;
            return base::fail(ErrorKind::unavailable,
                              fmt::format("{}: its agent did not answer '{}' within {}", host_,
                                          name_of(question), base::format_duration(patience)));
        }
        if (auto* answer = std::get_if<Answer>(&*arrival->message)) {
            return std::move(*answer);
        }
        if (const auto* refused = std::get_if<Refused>(&*arrival->message)) {
            return base::fail(kind_of(*refused), fmt::format("{}: {}", host_, refused->text));
        }
        if (!is_late) {
            is_broken_ = true;
            return base::fail(ErrorKind::parse, fmt::format("{}: its agent answers '{}' with '{}'", host_,
                                                            name_of(question), name_of(*arrival->message)));
        }
    }
}

Result<void> AgentsEndpoint::greet(const Hello& own) {
    auto hello = ask<Hello>(own, kGreetingMax);
    if (!hello) {
        is_broken_ = true;
        return base::fail(
            hello.error().kind == ErrorKind::unavailable ? ErrorKind::refused : hello.error().kind,
            hello.error().message + ": does it take this key or certificate, and calls from this host?");
    }
    agent_ = std::move(*hello);
    if (agent_.protocol != kProtocolVersion) {
        is_broken_ = true;
        return base::fail(
            ErrorKind::unsupported,
            fmt::format("{}: its agent speaks protocol {} (ibfabric {}), and this program {} (ibfabric {}): "
                        "update the older one",
                        host_, agent_.protocol, agent_.program, own.protocol, own.program));
    }
    return {};
}

Outcome AgentsEndpoint::lost(const Progress& last, const std::string& why) const {
    Outcome outcome;
    outcome.messages = last.messages;
    outcome.bytes = last.bytes;
    outcome.elapsed = last.elapsed;
    outcome.was_stopped = true;
    outcome.failure = failure::kPeerGone;
    outcome.failure_text = fmt::format("{}: {}", host_, why);
    return outcome;
}

Result<Outcome> AgentsEndpoint::run(const std::function<void(const Progress&)>& progress,
                                    std::stop_token stop) {
    const net::WakeUp stopping;
    const std::stop_callback on_stop(stop, [&stopping] { stopping.signal(); });
    Progress last;
    if (const auto sent = is_broken_ ? base::fail(ErrorKind::unavailable, "is gone") : line_.send(Run{});
        !sent) {
        is_broken_ = true;
        return lost(last, "the connection to its agent broke: " + sent.error().message);
    }
    base::Instant heard = base::monotonic_now();
    base::Instant end = heard + longest_ + kLimitGrace + patience_.over;
    bool was_told = false;  // to stop
    while (true) {
        const base::Instant now = base::monotonic_now();
        if (!was_told && (stop.stop_requested() || now > end)) {
            was_told = true;
            end = now + patience_.end;
            static_cast<void>(line_.send(Stop{}));  // a broken connection is told by the next receive
        }
        if (now > end) {
            is_broken_ = true;
            return lost(last, "its agent does not end the test");
        }
        auto arrival = line_.receive(std::min(heard + kSilenceMax, end), {stopping.fd()});
        if (!arrival) {
            is_broken_ = true;
            return lost(last, "the connection to its agent broke: " + arrival.error().message);
        }
        if (arrival->readiness == net::Readiness::woken) {
            stopping.clear();
            continue;
        }
        if (!arrival->message && base::monotonic_now() < heard + kSilenceMax) {
            continue;  // it is the end that has come
        }
        if (!arrival->message) {
            is_broken_ = true;
            return lost(last, "its agent says nothing any more");
        }
        heard = base::monotonic_now();
        if (const auto* told = std::get_if<ProgressTold>(&*arrival->message)) {
            last = told->progress;
            if (progress) {
                progress(last);
            }
        } else if (auto* ended = std::get_if<Ended>(&*arrival->message)) {
            return std::move(ended->outcome);
        } else if (const auto* refused = std::get_if<Refused>(&*arrival->message)) {
            return base::fail(kind_of(*refused), fmt::format("{}: {}", host_, refused->text));
        } else {
            is_broken_ = true;
            return lost(last,
                        fmt::format("its agent says '{}' while a test runs", name_of(*arrival->message)));
        }
    }
}

std::string own_host() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "a host without a name";
}

}  // namespace

Result<std::unique_ptr<RemoteEndpoint>> connect_agent(const net::HostPort& where,
                                                      const std::shared_ptr<const net::Tls>& tls,
                                                      const std::string& run,
                                                      const RemoteEndpoint::Patience& patience) {
    auto stream = net::TlsStream::connect(where, tls, base::monotonic_now() + RemoteEndpoint::kGreetingMax);
    if (!stream) {
        base::Error error = stream.error();
        if (error.kind == ErrorKind::refused && error.message.ends_with("closed")) {
            error.message += ": is this host in the agent's networks? Its log says why it hung up";
        }
        return tl::unexpected(std::move(error));
    }
    auto endpoint = std::make_unique<AgentsEndpoint>(Line(std::move(*stream)), where.host, run, patience);
    if (const auto greeted = endpoint->greet({kProtocolVersion, IBF_VERSION, own_host()}); !greeted) {
        return tl::unexpected(greeted.error());
    }
    return endpoint;
}

}  // namespace ibf::probe
