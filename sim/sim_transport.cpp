// The simulated fabric as a Transport: a thread drives the Simulator by the clock.
//
// The thread owns the Simulator. Senders put MADs into an inbox and wake it; it sleeps until the next event
// is due or something was put in. Simulated time is the time since start(). Events due within kSlack are run
// early, in one go: a timer does not wake exactly, and a fabric's delays are shorter than that.
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/time.hpp"
#include "sim/simulator.hpp"

namespace ibf::sim {
namespace {

constexpr base::Duration kSlack = std::chrono::microseconds{100};
constexpr std::size_t kInboxMax = std::size_t{1} << 20U;

class SimTransport final : public mad::Transport {
public:
    SimTransport(std::unique_ptr<Simulator> simulator, Simulator::ClientId client, std::shared_ptr<Sink> sink)
        : simulator_(std::move(simulator)),
          client_(client),
          sink_(std::move(sink)),
          local_port_(simulator_->local_port(client)) {}

    ~SimTransport() override {
        {
            const std::lock_guard lock(mutex_);
            stopping_ = true;
        }
        wake_.notify_one();
        if (thread_.joinable()) {
            thread_.join();
        }
    }
    SimTransport(const SimTransport&) = delete;
    SimTransport& operator=(const SimTransport&) = delete;

    void start(Sink sink) override {
        *sink_ = std::move(sink);
        thread_ = std::thread([this, begin = base::monotonic_now()] { run(begin); });
    }

    base::Result<void> send(const mad::WireMad& mad) override {
        bool was_empty = false;
        {
            const std::lock_guard lock(mutex_);
            if (inbox_.size() >= kInboxMax) {
                return base::fail(base::ErrorKind::unavailable,
                                  "the simulated fabric does not keep up: send later");
            }
            was_empty = inbox_.empty();
            inbox_.push_back(mad);
        }
        if (was_empty) {
            wake_.notify_one();
        }
        return {};
    }

    mad::LocalPort local_port() const override { return local_port_; }

    base::Result<void> set_is_sm(bool on) override {
        {
            const std::lock_guard lock(mutex_);
            is_sm_wanted_ = on;
        }
        wake_.notify_one();
        return {};
    }

private:
    void run(base::Instant begin) {
        std::vector<mad::WireMad> batch;
        std::unique_lock lock(mutex_);
        while (!stopping_) {
            batch.clear();
            std::swap(batch, inbox_);
            const std::optional<bool> is_sm = std::exchange(is_sm_wanted_, std::nullopt);
            lock.unlock();
            const base::Instant now{base::monotonic_now() - begin};
            if (is_sm) {
                simulator_->set_is_sm(client_, *is_sm);
            }
            for (const mad::WireMad& mad : batch) {
                simulator_->send(client_, mad, now);
            }
            simulator_->advance(now + kSlack);
            const std::optional<base::Instant> next = simulator_->next_event();
            lock.lock();
            sleep(lock, next, begin);
        }
    }

    /// Until something is put in, or `next` is due.
    void sleep(std::unique_lock<std::mutex>& lock, std::optional<base::Instant> next, base::Instant begin) {
        const auto called = [&] { return stopping_ || !inbox_.empty() || is_sm_wanted_.has_value(); };
        if (!next) {
            wake_.wait(lock, called);
            return;
        }
        const base::Duration left = *next - base::Instant{base::monotonic_now() - begin};
        if (left > base::Duration::zero()) {
            wake_.wait_for(lock, left, called);
        }
    }

    const std::unique_ptr<Simulator> simulator_;
    const Simulator::ClientId client_;
    const std::shared_ptr<Sink>
        sink_;  ///< shared with the simulator's delivery, which is joined before start()
    const mad::LocalPort local_port_;

    std::mutex mutex_;
    std::condition_variable wake_;
    std::vector<mad::WireMad> inbox_;
    std::optional<bool> is_sm_wanted_;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace

base::Result<std::unique_ptr<mad::Transport>> make_sim_transport(std::unique_ptr<Simulator> simulator,
                                                                 const std::string& node, std::uint8_t port) {
    auto sink = std::make_shared<mad::Transport::Sink>();
    const auto deliver = [sink](mad::WireMad&& mad) {
        if (*sink) {
            (*sink)(std::move(mad));
        }
    };
    const base::Result<Simulator::ClientId> client = simulator->join(node, port, deliver);
    if (!client) {
        return tl::unexpected<base::Error>(client.error());
    }
    return std::make_unique<SimTransport>(std::move(simulator), *client, std::move(sink));
}

}  // namespace ibf::sim
