// DOC: one client of an agent, from its Hello to its end.
//
// The session's thread alone talks to the client; a call of the endpoint that blocks has a thread of its own,
// which leaves what it has to say in a mailbox. Destroying the session ends the run and gives everything
// back.
#pragma once

#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/mailbox.hpp"
#include "probe/agent/agent.hpp"
#include "probe/agent/floor.hpp"
#include "probe/agent/line.hpp"

namespace ibf::probe {

class Session {
public:
    /// All of these outlive it. `closing` becomes readable when the agent ends.
    struct Shared {
        const AgentTerms& terms;
        const AgentHost& host;
        Floor& floor;
        const net::WakeUp& closing;
    };

    Session(Shared shared, net::TlsStream&& stream, std::string peer);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    /// Comes back when it is over: with why, or nothing if the client left in order.
    [[nodiscard]] base::Result<void> serve(base::Instant greeted_by);

private:
    /// The newest of a run: the call's thread sets it, the session's tells it.
    class Latest {
    public:
        void set(const Progress& progress) {
            const std::lock_guard lock(mutex_);
            progress_ = progress;
        }
        [[nodiscard]] Progress get() const {
            const std::lock_guard lock(mutex_);
            return progress_;
        }

    private:
        mutable std::mutex mutex_;
        Progress progress_{};
    };

    enum class State : std::uint8_t { idle, prepared, connected, running, ended };

    [[nodiscard]] base::Result<void> greet(base::Instant deadline);
    [[nodiscard]] base::Result<void> step();
    [[nodiscard]] base::Result<void> on_message(Message&& message);
    [[nodiscard]] base::Result<void> on_silence(net::Readiness readiness);
    [[nodiscard]] base::Result<void> on_prepare(const Prepare& prepare);
    [[nodiscard]] base::Result<void> on_release();
    [[nodiscard]] base::Result<void> describe();
    /// What the thread of a call has left.
    [[nodiscard]] base::Result<void> on_result(Message&& result);
    [[nodiscard]] base::Result<void> refuse(const std::string& code, const std::string& text);
    [[nodiscard]] base::Result<void> out_of_order(const Message& message);

    void begin_call(std::function<Message(std::stop_token)> call);
    void begin_run();
    void end_call();
    void give_back();

    Shared shared_;
    Line line_;
    std::string peer_;  ///< for people: "host-3 (10.0.0.3)"
    State state_ = State::idle;
    TestSpec spec_{};  ///< of what is prepared
    std::unique_ptr<Endpoint> endpoint_;
    base::Mailbox<Message> results_;
    Latest progress_;
    std::jthread call_;
    bool calling_ = false;
    bool has_floor_ = false;
    bool limit_reached_ = false;
    base::Instant run_end_{};
    base::Instant floor_end_{};  ///< a client may not keep others away by doing nothing
    base::Instant heard_{};
    base::Instant told_{};
};

}  // namespace ibf::probe
