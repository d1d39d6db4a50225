// Ten thousand hosts are switched on within half a minute, rack by rack and in no order, under a daemon that
// runs: what each moment of it costs, what the SA answers meanwhile, and that all of them serve at the end.
// Work is counted, in virtual time. A thousand hosts here; IBF_POWER_UP=1 (./dev soak) has them all.
#include <cstdlib>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/prng.hpp"
#include "daemon/core/core.hpp"
#include "daemon/sa/desk.hpp"
#include "harness.hpp"
#include "mad/codec.hpp"
#include "routing/routes.hpp"
#include "tests/unit/sa/sa_bench.hpp"

namespace ibf::core {
namespace {

using mad::PortNum;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr base::Duration kWindow = milliseconds{500};  ///< sweeps that traps ask for begin so far apart
constexpr base::Duration kPowerUp = seconds{30};

/// What one window cost.
struct Work {
    std::uint64_t mads = 0;
    std::uint64_t sweeps = 0;
    std::uint64_t routings = 0;

    void raise_to(const Work& other) {
        mads = std::max(mads, other.mads);
        sweeps = std::max(sweeps, other.sweeps);
        routings = std::max(routings, other.routings);
    }
};

/// A core, its SA's desk, and a fabric that loses traps.
class Daemon {
public:
    Daemon(const std::string& tree, std::uint64_t seed)
        : sim(test::netlist(tree), sim::SimOptions{}), prng(seed), desk_(sa::SaConfig{}, {}, {}) {
        for (std::uint32_t n = 0; n < sim.netlist().nodes.size(); ++n) {
            if (sim.netlist().nodes[n].type == mad::NodeType::ca) {
                hosts.push_back(n);
            } else {
                ++switches;
            }
        }
        client_ = sim.join({hosts[0], PortNum{1}},
                           [this](mad::WireMad&& mad) { inbox_.push_back(std::move(mad)); });
        sim.set_is_sm(client_, true);
    }

    void start() {
        CoreStart start;
        auto config = std::make_shared<sm::SmConfig>();
        config->routing.threads = 1;
        config->rebalance_blocks = 0;  // its own traffic, when all is quiet
        start.sm.config = std::move(config);
        start.sm.local = sim.local_port(client_);
        start.sm.now = now;
        core_ = std::make_unique<Core>(std::move(start));
        Effects effects;
        core_->begin(now, effects);
        execute(effects);
    }

    void run_to(base::Instant until) {
        while (step(until)) {
        }
        last_ = core_->snapshot(now);
    }
    [[nodiscard]] bool run_until(const std::function<bool()>& condition, base::Duration limit) {
        for (const base::Instant until = now + limit; now < until && !condition();) {
            run_to(now + milliseconds{100});
        }
        return condition();
    }
    [[nodiscard]] bool serves() const { return core_->at_rest() && last_->mode == fabric::SmMode::up; }
    /// The work since the last call.
    Work take_work() {
        const std::uint64_t newest = last_->sweeps.empty() ? 0 : last_->sweeps.front().id;
        work_.sweeps = newest - std::exchange(sweeps_seen_, newest);
        return std::exchange(work_, Work{});
    }

    /// The way from one port to another, as the SA says it now; nullopt: it does not.
    [[nodiscard]] std::optional<mad::Lid> ask_path(std::uint32_t from, std::uint32_t to) {
        const mad::Lid source = lid(from);
        mad::SaMad question = test::SaBench::request(mad::SaMethod::get, mad::SaAttribute::path_record,
                                                     {{"SLID", source.value()}, {"DLID", lid(to).value()}});
        question.header.tid = ++tid_;
        mad::WireMad wire{mad::encode_sa_mad(question), {}, {}};
        wire.address.lid = source;
        wire.address.qp = sim::kGsiQp;
        wire.address.qkey = sim::kGsiQKey;
        if (shown_ != last_) {
            shown_ = last_;
            desk_.show(std::make_shared<sa::View>(last_), last_->sa);
        }
        sa::DeskOutputs out;
        desk_.on_mad(wire, now, out);
        while (desk_.serve(now, out)) {
        }
        const auto answer =
            out.wire.empty() ? base::Result<mad::SaMad>{} : mad::parse_sa_mad(out.wire[0].bytes);
        if (out.wire.empty() || !answer || answer->header.status != 0) {
            return std::nullopt;
        }
        const sa::RecordType& type = sa::record_type_of(mad::SaAttribute::path_record);
        return mad::Lid{static_cast<std::uint16_t>(type.get(answer->data, "DLID"))};
    }
    [[nodiscard]] mad::Lid lid(std::uint32_t host) const { return sim.port_info(host, PortNum{1}).lid; }
    [[nodiscard]] bool active(std::uint32_t host) const {
        return sim.present(host) && sim.port_info(host, PortNum{1}).state == mad::PortState::active;
    }
    /// The newest snapshot has it, so the SA may be asked.
    [[nodiscard]] bool is_known(std::uint32_t host) const {
        const mad::Guid guid{sim.netlist().nodes[host].guid.value() + 1};
        const auto& ends = last_->view->topology.end_ports;
        return std::any_of(ends.begin(), ends.end(), [&](const auto& end) { return end.port_guid == guid; });
    }
    void power(std::uint32_t host, sim::Fault::Kind kind, base::Instant at) {
        sim::Fault fault;
        fault.kind = kind;
        fault.at = at.time_since_epoch();
        fault.where = sim.netlist().nodes[host].id;
        sim.schedule({fault});
    }

    sim::Simulator sim;
    base::Prng prng;
    base::Instant now{};
    std::vector<std::uint32_t> hosts;  ///< the first is the SM's
    std::uint64_t switches = 0;
    std::uint64_t traps_lost = 0;

private:
    [[nodiscard]] bool step(base::Instant until) {
        std::optional<base::Instant> next = sim.next_event();
        if (const auto due = core_->next_deadline()) {
            next = next ? std::min(*next, *due) : due;
        }
        now = std::max(now, next ? std::min(*next, until) : until);
        sim.advance(now);
        for (mad::WireMad& mad : std::exchange(inbox_, {})) {
            const bool trap = mad.bytes[3] == static_cast<std::uint8_t>(mad::Method::trap);
            if (trap && prng.below(2) == 0) {
                ++traps_lost;
            } else {
                handle(MadReceived{std::move(mad)});
            }
        }
        if (core_->next_deadline() && *core_->next_deadline() <= now) {
            handle(Deadline{});
        }
        return next && *next < until;
    }
    void handle(Event event) {
        Effects effects;
        core_->handle(std::move(event), now, effects);
        execute(effects);
    }
    void execute(Effects& effects) {
        for (std::size_t i = 0; i < effects.size(); ++i) {
            const Effect effect = std::move(effects[i]);
            if (const auto* send = std::get_if<sm::SendMad>(&effect)) {
                ++work_.mads;
                sim.send(client_, send->mad, now);
            } else if (const auto* ask = std::get_if<sm::ComputeRoutes>(&effect)) {
                ++work_.routings;
                handle(RoutesReady{ask->epoch, sm::carry_out(*ask)});
            }
        }
    }

    std::unique_ptr<Core> core_;
    sa::Desk desk_;
    sim::Simulator::ClientId client_ = 0;
    std::vector<mad::WireMad> inbox_;
    std::shared_ptr<const fabric::Snapshot> last_;
    std::shared_ptr<const fabric::Snapshot> shown_;  ///< to the desk
    std::uint64_t tid_ = 0;
    std::uint64_t sweeps_seen_ = 0;
    Work work_;
};

/// All hosts but `on` of them, in bursts: of up to a fortieth of them, each within a fifth of a second, the
/// last one at the end.
void switch_on(Daemon& daemon, std::size_t on, base::Instant from) {
    std::vector<std::uint32_t> order(daemon.hosts.begin() + static_cast<std::ptrdiff_t>(on),
                                     daemon.hosts.end());
    daemon.prng.shuffle(order);
    for (std::size_t i = 0; i < order.size();) {
        const std::size_t burst = 1 + daemon.prng.below(1 + order.size() / 40);
        const auto begins = milliseconds{daemon.prng.below(29'800)};
        for (const std::size_t end = std::min(order.size(), i + burst); i < end; ++i) {
            daemon.power(order[i], sim::Fault::Kind::add_node,
                         from + begins + milliseconds{daemon.prng.below(200)});
        }
    }
}

constexpr std::size_t kOn = 3;  ///< from the start: the SM's host, and two that ask

/// The tree is brought up with few of its hosts on.
void bring_up(Daemon& daemon) {
    std::swap(daemon.hosts[1], daemon.hosts[daemon.hosts.size() / 2]);
    std::swap(daemon.hosts[2], daemon.hosts.back());
    for (std::size_t i = kOn; i < daemon.hosts.size(); ++i) {
        daemon.power(daemon.hosts[i], sim::Fault::Kind::remove_node, daemon.now);
    }
    daemon.sim.advance(daemon.now);
    daemon.start();
    EXPECT_TRUE(daemon.run_until([&] { return daemon.serves(); }, seconds{60}));
    daemon.run_to(daemon.now + seconds{15});
    EXPECT_TRUE(daemon.active(daemon.hosts[1]) && daemon.active(daemon.hosts[2]));
    EXPECT_FALSE(daemon.active(daemon.hosts[kOn]));
    static_cast<void>(daemon.take_work());
}

struct Followed {
    Work all;
    Work most;  ///< in a window
};

/// While hosts are switched on. Of a pair that was there, and of who just came, the SA knows the way.
Followed follow(Daemon& daemon) {
    Followed followed;
    for (const base::Instant end = daemon.now + kPowerUp; daemon.now < end;) {
        daemon.run_to(daemon.now + kWindow);
        const Work work = daemon.take_work();
        followed.most.raise_to(work);
        followed.all.mads += work.mads;
        followed.all.sweeps += work.sweeps;
        followed.all.routings += work.routings;
        EXPECT_EQ(daemon.ask_path(daemon.hosts[1], daemon.hosts[2]), daemon.lid(daemon.hosts[2]));
        const std::uint32_t any = daemon.hosts[daemon.prng.below(daemon.hosts.size())];
        if (daemon.active(any) && daemon.is_known(any)) {
            EXPECT_EQ(daemon.ask_path(daemon.hosts[1], any), daemon.lid(any));
        }
    }
    return followed;
}

void expect_all_serve(Daemon& daemon) {
    const auto all_active = [&] {
        return std::all_of(daemon.hosts.begin(), daemon.hosts.end(),
                           [&](std::uint32_t host) { return daemon.active(host); });
    };
    EXPECT_TRUE(daemon.run_until([&] { return all_active() && daemon.serves(); }, seconds{15}));
    EXPECT_EQ(daemon.sim.counters().rule_breaks, 0U);
    for (int i = 0; i < 200; ++i) {
        const std::uint32_t from = daemon.hosts[daemon.prng.below(daemon.hosts.size())];
        const std::uint32_t to = daemon.hosts[daemon.prng.below(daemon.hosts.size())];
        const auto steps = daemon.sim.walk(from, PortNum{1}, daemon.lid(to));
        EXPECT_TRUE(steps || from == to) << steps.error().message;
    }
}

/// `tree`: a fat tree.
void power_up(const std::string& tree) {
    Daemon daemon(tree, 1);
    bring_up(daemon);
    switch_on(daemon, kOn, daemon.now);
    const auto [all, most] = follow(daemon);
    expect_all_serve(daemon);
    fmt::print(
        "{} hosts: {} MADs, {} sweeps, {} routings, {} traps lost; within {}: {} MADs, {} sweeps, {} "
        "routings at most\n",
        daemon.hosts.size(), all.mads, all.sweeps, all.routings, daemon.traps_lost,
        base::format_duration(kWindow), most.mads, most.sweeps, most.routings);
    EXPECT_GT(daemon.traps_lost, 100U);
    EXPECT_GT(all.sweeps, 20U) << "it is followed, not waited for";
    EXPECT_LE(most.sweeps, 2U);
    EXPECT_LE(most.routings, 2U);
    EXPECT_LE(most.mads, all.mads / 10) << "no moment has to do it all";
    // Each look asks every switch; a host costs its own set-up, its leaf's ports, entries on the way to it.
    constexpr std::uint64_t kEachHost = 120;
    EXPECT_LE(all.mads, all.sweeps * daemon.switches + kEachHost * daemon.hosts.size());
}

TEST(PowerUp, AThousandHostsWithinHalfAMinute) {
    power_up("fat-tree:radix=16,levels=3");
}

TEST(PowerUpSoak, TenThousandHostsWithinHalfAMinute) {
    if (std::getenv("IBF_POWER_UP") == nullptr) {
        GTEST_SKIP() << "IBF_POWER_UP asks for it";
    }
    power_up("fat-tree:radix=36,levels=3");
}

}  // namespace
}  // namespace ibf::core
