// C49: two subnet managers on one simulated fabric, each with the daemon's threads (a loop that owns the
// core, a route worker, an SA worker) and its mailboxes, in real time. Sets, cables and SA queries come in
// random orders; in the end there is one master, and each question has got its answer. Under ThreadSanitizer
// nothing may race, and whoever locks in a ring never gets to the end.
#include <poll.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "base/mailbox.hpp"
#include "base/prng.hpp"
#include "daemon/shell/route_worker.hpp"
#include "daemon/shell/sa_worker.hpp"
#include "harness.hpp"
#include "mad/codec.hpp"
#include "mad/octets.hpp"
#include "tests/unit/sa/sa_bench.hpp"

namespace ibf::shell {
namespace {

using sim::Simulator;
using std::chrono::milliseconds;

constexpr base::Duration kPatience = std::chrono::seconds{60};

/// The fabric's thread: it owns the simulator, and does what is posted to it.
class WireThread {
public:
    using Job = std::function<void(Simulator&, base::Instant)>;

    WireThread() : sim_(test::t2(), sim::SimOptions{}) {}
    ~WireThread() { stop(); }
    WireThread(const WireThread&) = delete;
    WireThread& operator=(const WireThread&) = delete;

    /// Before start().
    [[nodiscard]] Simulator::ClientId join(const std::string& host,
                                           std::function<void(mad::WireMad&&)> deliver) {
        return sim_.join(host, 0, std::move(deliver)).value();
    }
    [[nodiscard]] mad::LocalPort local_port(Simulator::ClientId client) const {
        return sim_.local_port(client);
    }
    void start() {
        thread_ = std::thread([this, begin = base::monotonic_now()] { run(begin); });
    }
    void stop() {
        stopping_ = true;
        jobs_.close();
        if (thread_.joinable()) {
            thread_.join();
        }
    }
    void post(Job job) { static_cast<void>(jobs_.push(std::move(job))); }
    void send(Simulator::ClientId client, const mad::WireMad& mad) {
        post([client, mad](Simulator& sim, base::Instant now) { sim.send(client, mad, now); });
    }
    void inject(const std::string& script) {
        post([script](Simulator& sim, base::Instant now) {
            const auto faults = sim::parse_faults(script, "test");
            for (const sim::Fault& fault : *faults) {
                EXPECT_TRUE(sim.inject(fault, now)) << script;
            }
        });
    }

private:
    void run(base::Instant begin) {
        std::vector<Job> jobs;
        while (!stopping_) {
            const auto now = base::Instant{base::monotonic_now() - begin};
            sim_.advance(now + std::chrono::microseconds{100});
            const auto next = sim_.next_event();
            const auto left = next ? std::chrono::ceil<milliseconds>(*next - now) : milliseconds{5};
            pollfd watched{jobs_.wake_fd(), POLLIN, 0};
            static_cast<void>(::poll(&watched, 1, static_cast<int>(std::clamp<long>(left.count(), 0, 5))));
            jobs_.drain(jobs);
            for (const Job& job : jobs) {
                job(sim_, base::Instant{base::monotonic_now() - begin});
            }
        }
    }

    Simulator sim_;
    base::Mailbox<Job> jobs_{1U << 20U};
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

/// One SM with the daemon's threads around it.
class ManagerThreads {
public:
    ManagerThreads(WireThread& wire, const std::string& host, std::uint8_t priority) : wire_(wire) {
        client_ = wire.join(host, [this](mad::WireMad&& mad) { take(std::move(mad)); });
        local_ = wire.local_port(client_);
        config_.priority = priority;
        config_.poll_interval = milliseconds{50};
        config_.hand_over_hold = {};
        config_.trap_hold_down = milliseconds{10};
        config_.sweep_interval = milliseconds{100};
        config_.mads.timeout = milliseconds{20};
        config_.routing.threads = 1;
    }
    ~ManagerThreads() { stop(); }
    ManagerThreads(const ManagerThreads&) = delete;
    ManagerThreads& operator=(const ManagerThreads&) = delete;

    void start() {
        wire_.post([client = client_](Simulator& sim, base::Instant) { sim.set_is_sm(client, true); });
        router_ = std::make_unique<RouteWorker>(
            [this](core::RoutesReady ready) { static_cast<void>(routes_.push(std::move(ready))); });
        sa_ = std::make_unique<SaWorker>(
            sa::SaConfig{}, [this](const mad::WireMad& mad) { wire_.send(client_, mad); },
            [](mad::WireMad&&, const std::shared_ptr<const sa::View>&) {});
        started_ = true;
        loop_ = std::thread([this] { run(); });
    }
    void stop() {
        stopping_ = true;
        received_.close();
        if (loop_.joinable()) {
            loop_.join();
        }
        router_.reset();
    }
    [[nodiscard]] sm::Role role() const { return role_; }

private:
    /// The wire's thread.
    void take(mad::WireMad&& mad) {
        if (started_ && mad.bytes[1] == static_cast<std::uint8_t>(mad::MgmtClass::subn_adm)) {
            sa_->post(std::move(mad));
        } else {
            static_cast<void>(received_.push(std::move(mad)));
        }
    }
    void run() {
        sm::SmStart begin;
        begin.config = std::make_shared<const sm::SmConfig>(config_);
        begin.local = local_;
        begin.now = base::monotonic_now();
        begin.wall = base::wall_now();
        sm::SubnetManager sm(std::move(begin));
        sm::Effects effects;
        sm.begin(base::monotonic_now(), effects);
        std::uint64_t shown = 0;
        while (!stopping_) {
            execute(effects);
            role_ = sm.role();
            if (std::exchange(shown, sm.version()) != sm.version()) {
                auto snapshot = std::make_shared<fabric::Snapshot>();
                sm.fill(*snapshot);
                sa_->show(std::move(snapshot));
            }
            wait(sm.next_deadline());
            turn(sm, effects);
        }
    }
    void wait(std::optional<base::Instant> until) const {
        const auto left =
            until ? std::chrono::ceil<milliseconds>(*until - base::monotonic_now()) : milliseconds{1000};
        std::array<pollfd, 2> watched{pollfd{received_.wake_fd(), POLLIN, 0},
                                      pollfd{routes_.wake_fd(), POLLIN, 0}};
        static_cast<void>(::poll(watched.data(), watched.size(),
                                 static_cast<int>(std::clamp<long>(left.count(), 0, 1000))));
    }
    void turn(sm::SubnetManager& sm, sm::Effects& effects) {
        std::vector<mad::WireMad> mads;
        received_.drain(mads);
        for (const mad::WireMad& mad : mads) {
            sm.on_mad(mad, base::monotonic_now(), effects);
        }
        std::vector<core::RoutesReady> ready;
        routes_.drain(ready);
        for (core::RoutesReady& one : ready) {
            sm.on_routes(one.epoch, std::move(one.result), base::monotonic_now(), effects);
        }
        sm.on_time(base::monotonic_now(), effects);
    }
    void execute(sm::Effects& effects) {
        for (sm::Effect& effect : effects) {
            if (const auto* send = std::get_if<sm::SendMad>(&effect)) {
                wire_.send(client_, send->mad);
            } else if (auto* job = std::get_if<sm::ComputeRoutes>(&effect)) {
                router_->post(std::move(*job));
            }
        }
        effects.clear();
    }

    WireThread& wire_;
    Simulator::ClientId client_ = 0;
    mad::LocalPort local_;
    sm::SmConfig config_;
    base::Mailbox<mad::WireMad> received_{1U << 16U};
    base::Mailbox<core::RoutesReady> routes_{64};
    std::unique_ptr<RouteWorker> router_;
    std::unique_ptr<SaWorker> sa_;
    std::atomic<bool> started_{false};
    std::atomic<bool> stopping_{false};
    std::atomic<sm::Role> role_{sm::Role::discovering};
    std::thread loop_;
};

/// SubnSet(SMInfo) from h8 to the SM at h1 or h5.
mad::WireMad sm_set(bool to_first, std::uint32_t modifier, const mad::SmInfo& shown) {
    mad::Smp smp;
    smp.header.method = static_cast<std::uint8_t>(mad::Method::set);
    smp.header.attribute = mad::Attribute::sm_info;
    smp.header.modifier = modifier;
    smp.header.tid = 0x100;
    smp.path = mad::DrPath{}.then(mad::PortNum{1});
    smp.path = to_first ? smp.path.then(mad::PortNum{5}).then(mad::PortNum{1}).then(mad::PortNum{1})
                        : smp.path.then(mad::PortNum{1});
    smp.data = mad::encode(shown);
    mad::WireMad wire{mad::encode_smp(smp), {}, {}};
    wire.address.lid = mad::kLidPermissive;
    return wire;
}

/// A host that asks whichever SA its port names for the way to another one, and goes on asking until it is
/// told, as hosts do.
class Asker {
public:
    Asker(WireThread& wire, const std::string& host, const std::string& destination)
        : wire_(wire), host_(host), destination_(destination) {
        client_ = wire.join(host, [this](mad::WireMad&& mad) { take(mad); });
    }

    /// Whose queue pairs these are can send what it likes.
    [[nodiscard]] Simulator::ClientId client() const { return client_; }
    /// Asks something new.
    void ask() { ask_again(++last_); }
    /// All that it asked has been answered, and the newest with a way. What has not is asked again.
    [[nodiscard]] bool is_told() {
        std::vector<std::uint64_t> open;
        bool way = false;
        {
            const std::lock_guard lock(mutex_);
            for (std::uint64_t tid = 1; tid <= last_; ++tid) {
                if (!answered_.contains(tid) || (tid == last_ && !ways_.contains(tid))) {
                    open.push_back(tid);
                }
            }
            way = ways_.contains(last_);
        }
        for (const std::uint64_t tid : open) {
            ask_again(tid);
        }
        return open.empty() && way;
    }
    /// What is in the way of it, for people.
    [[nodiscard]] std::string trouble() {
        const std::lock_guard lock(mutex_);
        return fmt::format("{} of {} questions answered, {} with a way; {}", answered_.size(), last_,
                           ways_.size(), wrong_);
    }
    [[nodiscard]] bool had_wrong_answers() {
        const std::lock_guard lock(mutex_);
        return !wrong_.empty();
    }

private:
    static mad::Gid gid_of(const Simulator& sim, const std::string& host) {
        const auto place = sim.locate(host, 0).value();
        return {test::SaBench::kPrefix,
                mad::Guid{sim.netlist().nodes[place.node].guid.value() + place.port.value()}};
    }
    void ask_again(std::uint64_t tid) {
        wire_.post([this, tid](Simulator& sim, base::Instant now) {
            mad::SaMad request =
                test::SaBench::request(mad::SaMethod::get, mad::SaAttribute::path_record, {});
            const sa::RecordType& type = sa::record_type_of(mad::SaAttribute::path_record);
            mad::store_gid(request.data, kDgidAt, gid_of(sim, destination_));
            mad::store_gid(request.data, kSgidAt, gid_of(sim, host_));
            for (const char* field : {"DGID", "SGID"}) {
                request.component_mask |= std::uint64_t{1} << type.component(field);
            }
            request.header.tid = tid;
            mad::WireMad wire{mad::encode_sa_mad(request), {}, {}};
            const auto place = sim.locate(host_, 0).value();
            wire.address.lid = sim.port_info(place.node, place.port).sm_lid;
            wire.address.qp = sim::kGsiQp;
            wire.address.qkey = sim::kGsiQKey;
            if (wire.address.lid != mad::kLidNone) {
                sim.send(client_, wire, now);
            }
        });
    }
    /// The wire's thread.
    void take(const mad::WireMad& wire) {
        const auto mad = mad::parse_sa_mad(wire.bytes);
        if (!mad || !mad->header.is_response()) {
            return;
        }
        const std::lock_guard lock(mutex_);
        const std::uint64_t tid = mad->header.tid;
        if (tid == 0 || tid > last_ || mad->attribute() != mad::SaAttribute::path_record) {
            wrong_ = fmt::format("an answer with TID {} to nothing that was asked", tid);
        }
        answered_.insert(tid);
        if (mad->header.status == 0) {
            ways_.insert(tid);
        }
    }

    static constexpr std::size_t kDgidAt = 8;
    static constexpr std::size_t kSgidAt = 24;
    WireThread& wire_;
    std::string host_;
    std::string destination_;
    Simulator::ClientId client_ = 0;
    std::mutex mutex_;
    std::atomic<std::uint64_t> last_{0};
    std::set<std::uint64_t> answered_;
    std::set<std::uint64_t> ways_;
    std::string wrong_;
};

class Orders : public ::testing::TestWithParam<std::uint64_t> {
protected:
    /// HANDOVER and STANDBY, cables between switches and of a host, queries; then all is plugged in again.
    static void run(std::uint64_t seed) {
        base::Prng prng(seed);
        WireThread wire;
        Asker asker(wire, "h8", "h4");
        const auto stranger = asker.client();
        ManagerThreads a(wire, "h1", 2);
        ManagerThreads b(wire, "h5", static_cast<std::uint8_t>(prng.below(5)));
        wire.start();
        a.start();
        b.start();
        for (std::uint64_t step = 0; step < 10; ++step) {
            const bool first = prng.below(2) == 0;
            const mad::SmInfo shown{mad::Guid{0x0002C90000000C01ULL}, mad::SmKey{1}, 1,
                                    static_cast<std::uint8_t>(prng.below(16)), mad::SmState::master};
            switch (prng.below(8)) {
                case 0: wire.inject("link-down leaf1/5\nlink-down leaf1/6"); break;
                case 1: wire.inject("link-up leaf1/5\nlink-up leaf1/6"); break;
                case 2: wire.inject(first ? "link-down leaf1/1" : "link-down leaf2/1"); break;
                case 3: wire.inject(first ? "link-up leaf1/1" : "link-up leaf2/1"); break;
                case 4: asker.ask(); break;
                default: wire.send(stranger, sm_set(first, prng.below(3) == 0 ? 4 : 1, shown)); break;
            }
            std::this_thread::sleep_for(std::chrono::microseconds{prng.below(15'000)});
        }
        wire.inject("link-up leaf1/5\nlink-up leaf1/6\nlink-up leaf1/1\nlink-up leaf2/1");
        const base::Instant until = base::monotonic_now() + kPatience;
        const auto settled = [&] {
            return (a.role() == sm::Role::master && b.role() == sm::Role::standby) ||
                   (a.role() == sm::Role::standby && b.role() == sm::Role::master);
        };
        while (!settled() && base::monotonic_now() < until) {
            std::this_thread::sleep_for(milliseconds{2});
        }
        EXPECT_TRUE(settled()) << seed << ": " << to_string(a.role()) << ", " << to_string(b.role());
        asker.ask();
        while (!asker.is_told() && base::monotonic_now() < until) {
            std::this_thread::sleep_for(milliseconds{5});
        }
        EXPECT_TRUE(asker.is_told()) << seed << ": " << asker.trouble();
        EXPECT_FALSE(asker.had_wrong_answers()) << seed << ": " << asker.trouble();
        wire.stop();  // it delivers into the managers
        a.stop();
        b.stop();
    }
};

TEST_P(Orders, C49_LeaveOneMaster) {
    for (std::uint64_t i = 0; i < 25; ++i) {
        run(GetParam() * 25 + i);
    }
}
INSTANTIATE_TEST_SUITE_P(AHundred, Orders, ::testing::Range<std::uint64_t>(0, 4));

}  // namespace
}  // namespace ibf::shell
