// DOC: an agent on the loopback, whose endpoints are played by the test.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "net/tls_stream.hpp"
#include "probe/agent/agent.hpp"
#include "probe/agent/line.hpp"
#include "probe/agent/remote_endpoint.hpp"

namespace ibf::test {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// What the endpoints do, and what became of them.
struct Stage {
    std::mutex mutex;
    std::condition_variable changed;
    base::Result<void> prepare{};
    base::Result<void> connect{};
    bool connects_until_stopped = false;
    probe::PathTaken path{};
    bool runs_until_stopped = true;  ///< else it ends by itself after three tellings
    probe::TestSpec spec{};
    probe::Way way{};
    probe::EndpointAddress peer{};
    int alive = 0;
    int running = 0;
    int released = 0;

    /// Whether `holds` comes true in time.
    template <class Condition>
    bool await(Condition holds) {
        std::unique_lock lock(mutex);
        return changed.wait_for(lock, seconds{10}, [&] { return holds(*this); });
    }
    template <class Change>
    void with(Change change) {
        {
            const std::lock_guard lock(mutex);
            change(*this);
        }
        changed.notify_all();
    }
};

class PlayedEndpoint : public probe::Endpoint {
public:
    explicit PlayedEndpoint(Stage& stage) : stage_(stage) {
        stage_.with([](Stage& it) { ++it.alive; });
    }
    ~PlayedEndpoint() override {
        stage_.with([](Stage& it) { --it.alive; });
    }
    [[nodiscard]] std::string name() const override { return "played"; }
    [[nodiscard]] base::Result<probe::EndpointAddress> prepare(const probe::TestSpec& spec, probe::Side,
                                                               const probe::Way& way) override {
        stage_.with([&](Stage& it) { it.spec = spec, it.way = way; });
        if (!stage_.prepare) {
            return tl::unexpected(stage_.prepare.error());
        }
        probe::EndpointAddress address;
        address.lid = mad::Lid{17};
        address.queue_pairs = {{17, 2}};
        return address;
    }
    [[nodiscard]] base::Result<probe::PathTaken> connect(const probe::EndpointAddress& peer,
                                                         std::stop_token stop) override {
        stage_.with([&](Stage& it) { it.peer = peer; });
        std::unique_lock lock(stage_.mutex);
        if (stage_.connects_until_stopped) {
            // Ten seconds: who is not stopped fails.
            std::condition_variable_any changed;
            static_cast<void>(
                changed.wait_for(lock, stop, seconds{10}, [&] { return stop.stop_requested(); }));
            return stop.stop_requested() ? base::fail(base::ErrorKind::unavailable, "interrupted")
                                         : base::Result<probe::PathTaken>{};
        }
        return stage_.connect.map([&] { return stage_.path; });
    }
    [[nodiscard]] base::Result<probe::Outcome> run(
        const std::function<void(const probe::Progress&)>& progress, std::stop_token stop) override {
        stage_.with([](Stage& it) { ++it.running; });
        std::uint64_t messages = 0;
        const int tellings = stage_.runs_until_stopped ? 2000 : 3;  // ten seconds: who is not stopped fails
        for (int i = 0; i < tellings && !stop.stop_requested(); ++i) {
            progress({++messages, messages * 64, base::Duration{1}});
            std::unique_lock lock(stage_.mutex);
            static_cast<void>(stage_.changed.wait_for(lock, milliseconds{5}, [] { return false; }));
        }
        stage_.with([](Stage& it) { --it.running; });
        probe::Outcome outcome;
        outcome.messages = messages;
        outcome.was_stopped = stop.stop_requested();
        return outcome;
    }
    void release() override {
        stage_.with([](Stage& it) { ++it.released; });
    }

private:
    Stage& stage_;
};

class AgentTest : public ::testing::Test {
protected:
    AgentTest()
        : folder_(std::filesystem::path(::testing::TempDir()) / fmt::format("ibf-agent-{}", ::getpid())) {
        std::filesystem::remove_all(folder_);
        std::filesystem::create_directories(folder_);
        tls_ = key("key");
        terms_.listen = {"127.0.0.1", 0};
    }
    ~AgentTest() override {
        stop();
        std::filesystem::remove_all(folder_);
    }

    [[nodiscard]] std::shared_ptr<const net::Tls> key(const std::string& name) const {
        const std::string path = (folder_ / name).string();
        EXPECT_TRUE(net::make_shared_key(path));
        return *net::Tls::by_shared_key(path);
    }

    /// With `terms_`, as they are by then.
    void start() { start(tls_); }
    void start(const std::shared_ptr<const net::Tls>& tls) {
        auto agent =
            probe::Agent::start(terms_, tls,
                                {.name = "host-17",
                                 .program = "9.9",
                                 .make_endpoint = [this] { return std::make_unique<PlayedEndpoint>(stage_); },
                                 .describe = [] { return ports(); }});
        ASSERT_TRUE(agent) << agent.error().message;
        agent_ = std::move(*agent);
        serving_ = std::thread([this] { agent_->serve(); });
    }
    void stop() {
        if (agent_) {
            agent_->stop();
            serving_.join();
            agent_.reset();
        }
    }
    static base::Result<std::vector<probe::PortDescription>> ports() {
        probe::PortDescription one;
        one.device = "rxe0";
        probe::PortDescription two;
        two.device = "rxe1";
        return std::vector{one, two};
    }

    [[nodiscard]] net::HostPort where() const { return {"127.0.0.1", agent_->port()}; }
    [[nodiscard]] base::Result<std::unique_ptr<probe::RemoteEndpoint>> call() const {
        return probe::connect_agent(where(), tls_, "nightly");
    }
    /// One that is prepared and connected, to be run.
    [[nodiscard]] std::unique_ptr<probe::RemoteEndpoint> ready() const {
        auto remote = call();
        EXPECT_TRUE(remote) << remote.error().message;
        EXPECT_TRUE((*remote)->prepare({}, probe::Side::target, {}));
        EXPECT_TRUE((*remote)->connect({}, {}));
        return std::move(*remote);
    }
    /// A client that says what it likes.
    [[nodiscard]] probe::Line raw() const {
        auto stream = net::TlsStream::connect(where(), tls_, base::monotonic_now() + seconds{10});
        EXPECT_TRUE(stream) << stream.error().message;
        return probe::Line(std::move(*stream));
    }
    [[nodiscard]] probe::Line greeted() const {
        probe::Line line = raw();
        EXPECT_TRUE(line.send(probe::Hello{probe::kProtocolVersion, "0", "client-1"}));
        const auto hello = line.receive(base::monotonic_now() + seconds{10});
        EXPECT_TRUE(hello && hello->message && std::holds_alternative<probe::Hello>(*hello->message));
        return line;
    }
    /// What a raw client hears next; "gone" if the connection is over.
    static std::string heard(probe::Line& line) {
        const auto arrival = line.receive(base::monotonic_now() + seconds{10});
        if (!arrival) {
            return "gone";
        }
        if (!arrival->message) {
            return "nothing";
        }
        const auto* refused = std::get_if<probe::Refused>(&*arrival->message);
        return refused == nullptr ? std::string(probe::name_of(*arrival->message))
                                  : refused->code + ": " + refused->text;
    }
    /// Nobody is left, and the next one may come.
    void expect_free() {
        EXPECT_TRUE(stage_.await([](const Stage& it) { return it.alive == 0 && it.running == 0; }));
        for (int i = 0; i < 200; ++i) {  // the floor is given a moment after the endpoint has gone
            auto remote = call();
            ASSERT_TRUE(remote) << remote.error().message;
            if ((*remote)->prepare({}, probe::Side::target, {})) {
                return;
            }
        }
        ADD_FAILURE() << "the agent stays busy";
    }

    std::filesystem::path folder_;
    std::shared_ptr<const net::Tls> tls_;
    Stage stage_;
    probe::AgentTerms terms_;
    std::unique_ptr<probe::Agent> agent_;
    std::thread serving_;
};

}  // namespace ibf::test
