#include "probe/agent/session.hpp"

#include <poll.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/log.hpp"
#include "base/words.hpp"
#include "probe/agent/limits.hpp"

namespace ibf::probe {
namespace {

using base::ErrorKind;
using base::Result;

constexpr std::size_t kResultsMax = 64;          ///< each call leaves one
constexpr std::chrono::seconds kFloorGrace{60};  ///< to set up and to release, beside the run itself
constexpr std::chrono::milliseconds kBeat{500};  ///< a run tells that often that it lives, and how far it is

Message refused_by(const base::Error& error) {
    return refused_of(error);
}

}  // namespace

Session::Session(Shared shared, net::TlsStream&& stream, std::string peer)
    : shared_(shared), line_(std::move(stream)), peer_(std::move(peer)), results_(kResultsMax) {}

Session::~Session() {
    end_call();
    give_back();
}

Result<void> Session::serve(base::Instant greeted_by) {
    if (const auto greeted = greet(greeted_by); !greeted) {
        return greeted;
    }
    heard_ = base::monotonic_now();
    while (true) {
        if (const auto done = step(); !done) {
            return done;
        }
    }
}

Result<void> Session::greet(base::Instant deadline) {
    const auto arrival = line_.receive(deadline, {shared_.closing.fd()});
    if (!arrival) {
        return tl::unexpected(arrival.error());
    }
    if (!arrival->message) {
        return base::fail(ErrorKind::unavailable, "it took too long to introduce itself");
    }
    const auto* hello = std::get_if<Hello>(&*arrival->message);
    if (hello == nullptr) {
        return base::fail(ErrorKind::parse, "it does not introduce itself");
    }
    peer_ = fmt::format("{} ({})", base::quote(hello->host), peer_);
    if (const auto sent = line_.send(Hello{kProtocolVersion, shared_.host.program, shared_.host.name});
        !sent) {
        return sent;
    }
    if (hello->protocol != kProtocolVersion) {
        const std::string text =
            fmt::format("speaks protocol {} (ibfabric {}), and you {} (ibfabric {}): update the older",
                        kProtocolVersion, shared_.host.program, hello->protocol, hello->program);
        static_cast<void>(refuse(refusal::kVersion, text));
        return base::fail(ErrorKind::unsupported,
                          fmt::format("{}: it speaks protocol {}", peer_, hello->protocol));
    }
    base::log(base::LogLevel::info, "{} is connected", peer_);
    return {};
}

Result<void> Session::step() {
    // Asked first each time: a client that never stops talking must not keep the agent from its end.
    if (net::wait_for(shared_.closing.fd(), POLLIN, base::monotonic_now()) == net::Readiness::ready) {
        static_cast<void>(refuse(refusal::kUnavailable, "the agent is being stopped"));
        return base::fail(ErrorKind::unavailable, "the agent ends");
    }
    std::vector<Message> results;
    results_.drain(results);
    for (Message& result : results) {
        if (const auto done = on_result(std::move(result)); !done) {
            return done;
        }
    }
    const base::Instant now = base::monotonic_now();
    if (state_ == State::running && now >= run_end_ && !std::exchange(limit_reached_, true)) {
        base::log(base::LogLevel::warning, "{}: its run is ended after {} s", peer_,
                  shared_.terms.limits.seconds);
        call_.request_stop();
    }
    if (has_floor_ && !calling_ && now >= floor_end_) {
        const std::string why = "it keeps the agent from others for too long";
        static_cast<void>(refuse(refusal::kLimit, why));
        return base::fail(ErrorKind::refused, why);
    }
    base::Instant deadline = heard_ + shared_.terms.idle_max;
    if (state_ == State::running) {
        deadline = limit_reached_ ? told_ + kBeat : std::min(told_ + kBeat, run_end_);
    } else if (calling_) {
        deadline = now + std::chrono::hours{1};  // the endpoint's turn; it comes back by itself
    }
    auto arrival = line_.receive(deadline, {results_.wake_fd(), shared_.closing.fd()});
    if (!arrival) {
        return tl::unexpected(arrival.error());
    }
    if (!arrival->message) {
        return on_silence(arrival->readiness);
    }
    heard_ = base::monotonic_now();
    return on_message(std::move(*arrival->message));
}

Result<void> Session::on_silence(net::Readiness readiness) {
    const base::Instant now = base::monotonic_now();
    if (readiness != net::Readiness::timeout) {
        return {};
    }
    if (state_ == State::running) {
        if (now < told_ + kBeat) {
            return {};  // it is the run's end that has come
        }
        told_ = now;
        return line_.send(ProgressTold{progress_.get()});
    }
    if (calling_) {
        return {};
    }
    const std::string why =
        fmt::format("nothing was said for {}", base::format_duration(shared_.terms.idle_max));
    static_cast<void>(refuse(refusal::kOrder, why));
    return base::fail(ErrorKind::unavailable, why);
}

Result<void> Session::on_message(Message&& message) {
    if (std::holds_alternative<Stop>(message)) {
        call_.request_stop();  // what runs ends, what does not run cannot
        return {};
    }
    if (std::holds_alternative<Release>(message)) {
        return on_release();
    }
    if (calling_) {
        return out_of_order(message);
    }
    if (std::holds_alternative<Describe>(message)) {
        return describe();
    }
    if (const auto* prepare = std::get_if<Prepare>(&message); prepare != nullptr && state_ == State::idle) {
        return on_prepare(*prepare);
    }
    if (const auto* connect = std::get_if<Connect>(&message);
        connect != nullptr && state_ == State::prepared) {
        if (const auto allowed = allowed_peer(spec_, connect->peer); !allowed) {
            return refuse(refusal::kLimit, allowed.error().message);
        }
        begin_call([this, peer = connect->peer](const std::stop_token& stop) -> Message {
            auto connected = endpoint_->connect(peer, stop);
            return connected ? Message(Connected{std::move(*connected)}) : refused_by(connected.error());
        });
        return {};
    }
    if (std::holds_alternative<Run>(message) && state_ == State::connected) {
        begin_run();
        return {};
    }
    return out_of_order(message);
}

Result<void> Session::out_of_order(const Message& message) {
    const std::string why = fmt::format("'{}' is not due now", name_of(message));
    static_cast<void>(refuse(refusal::kOrder, why));
    return base::fail(ErrorKind::parse, why);
}

Result<void> Session::refuse(const std::string& code, const std::string& text) {
    return line_.send(Refused{code, text});
}

Result<void> Session::describe() {
    Description description;
    description.limits = shared_.terms.limits;
    auto ports = shared_.host.describe();
    const auto& allowed = shared_.terms.devices;
    if (!ports) {
        description.trouble = ports.error().message;
    } else {
        std::copy_if(ports->begin(), ports->end(), std::back_inserter(description.ports),
                     [&](const auto& port) {
                         return allowed.empty() ||
                                std::find(allowed.begin(), allowed.end(), port.device) != allowed.end();
                     });
    }
    return line_.send(description);
}

Result<void> Session::on_prepare(const Prepare& prepare) {
    const auto way = allowed_way(shared_.terms.limits, shared_.terms.devices, prepare);
    if (!way) {
        return refuse(refusal::kLimit, way.error().message);
    }
    const std::string run = prepare.run.empty() ? "" : fmt::format(", {}", base::quote(prepare.run));
    if (const auto taken = shared_.floor.take(peer_ + run); !taken) {
        base::log(base::LogLevel::info, "{} is refused: {}", peer_, taken.error().message);
        return refuse(refusal::kBusy, taken.error().message);
    }
    has_floor_ = true;
    spec_ = prepare.spec;
    floor_end_ = base::monotonic_now() + std::chrono::seconds{shared_.terms.limits.seconds} + kFloorGrace;
    endpoint_ = shared_.host.make_endpoint();
    base::log(base::LogLevel::info, "{}: {} of {} bytes, as {}{}", peer_, to_string(prepare.spec.test),
              prepare.spec.message_bytes, to_string(prepare.side), run);
    begin_call([this, prepare, way = *way](const std::stop_token&) -> Message {
        auto address = endpoint_->prepare(prepare.spec, prepare.side, way);
        return address ? Message(Prepared{std::move(*address)}) : refused_by(address.error());
    });
    return {};
}

void Session::begin_call(std::function<Message(std::stop_token)> call) {
    end_call();
    calling_ = true;
    call_ = std::jthread([this, call = std::move(call)](const std::stop_token& stop) {
        static_cast<void>(results_.push(call(stop)));
    });
}

void Session::begin_run() {
    const base::Instant now = base::monotonic_now();
    state_ = State::running;
    limit_reached_ = false;
    progress_.set({});
    told_ = now;
    run_end_ = now + std::chrono::seconds{shared_.terms.limits.seconds} + kLimitGrace;
    begin_call([this](const std::stop_token& stop) -> Message {
        // Told with the beat, and no more often: it takes time from what is measured.
        auto outcome = endpoint_->run([this](const Progress& progress) { progress_.set(progress); }, stop);
        return outcome ? Message(Ended{std::move(*outcome)}) : refused_by(outcome.error());
    });
}

Result<void> Session::on_result(Message&& result) {
    calling_ = false;
    heard_ = base::monotonic_now();  // patience with the client begins when it is its turn
    if (std::holds_alternative<Prepared>(result)) {
        state_ = State::prepared;
    } else if (const auto* connected = std::get_if<Connected>(&result)) {
        state_ = State::connected;
        if (!connected->path.trouble.empty()) {
            base::log(base::LogLevel::warning, "{}: {}", peer_, connected->path.trouble);
        }
    } else if (auto* ended = std::get_if<Ended>(&result)) {
        if (limit_reached_) {
            ended->outcome =
                ended_by_limit(std::move(ended->outcome), shared_.terms.limits, shared_.host.name);
        }
        state_ = State::ended;  // only Release leads on: queue pairs that were stopped are of no more use
        base::log(base::LogLevel::info, "{}: {} messages, {} bytes{}{}", peer_, ended->outcome.messages,
                  ended->outcome.bytes, ended->outcome.failure.empty() ? "" : ", ", ended->outcome.failure);
    } else if (const auto* refused = std::get_if<Refused>(&result)) {
        base::log(base::LogLevel::info, "{}: failed: {}", peer_, refused->text);
        // A connection that came to nothing too: what it asks the SA for is not for clients to repeat at
        // will.
        end_call();
        give_back();
    }
    return line_.send(result);
}

Result<void> Session::on_release() {
    end_call();
    give_back();
    return line_.send(Released{});
}

void Session::end_call() {
    if (call_.joinable()) {
        call_.request_stop();
        call_.join();
        std::vector<Message> unread;
        results_.drain(unread);
    }
    calling_ = false;
}

void Session::give_back() {
    if (endpoint_) {
        endpoint_->release();
        endpoint_.reset();
    }
    if (std::exchange(has_floor_, false)) {
        shared_.floor.give();
    }
    state_ = State::idle;
}

}  // namespace ibf::probe
