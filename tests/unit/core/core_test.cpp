// The core: events in, effects out, snapshots that change only when something did.
#include <gtest/gtest.h>

#include "daemon/core/core.hpp"
#include "harness.hpp"
#include "routing/routes.hpp"

namespace ibf::core {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A Core on a simulated T1, effects executed inline.
class Bench {
public:
    Bench() : sim(test::t1(), sim::SimOptions{}) {
        client = sim.join("h1", 0, [this](mad::WireMad&& mad) { inbox.push_back(std::move(mad)); }).value();
        CoreStart start;
        start.sm.config = std::make_shared<const sm::SmConfig>();
        start.sm.local = sim.local_port(client);
        start.transport = "sim t1";
        start.config_path = "/etc/ibfabricd.toml";
        core = std::make_unique<Core>(std::move(start));
        Effects effects;
        core->begin(now, effects);
        execute(effects);
    }

    void execute(Effects& effects) {
        for (std::size_t i = 0; i < effects.size(); ++i) {
            const Effect effect = std::move(effects[i]);
            lines.push_back(sm::to_line(effect));
            if (const auto* send = std::get_if<sm::SendMad>(&effect)) {
                sim.send(client, send->mad, now);
            } else if (const auto* ask = std::get_if<sm::ComputeRoutes>(&effect)) {
                handle(RoutesReady{ask->epoch, sm::carry_out(*ask)});
            }
        }
    }

    void handle(Event event) {
        Effects effects;
        core->handle(std::move(event), now, effects);
        execute(effects);
    }

    void run(base::Duration time) {
        for (const base::Instant until = now + time; now < until; now += milliseconds{1}) {
            for (int settle = 0; settle < 20; ++settle) {
                sim.advance(now);
                std::vector<mad::WireMad> got;
                got.swap(inbox);
                for (mad::WireMad& mad : got) {
                    handle(MadReceived{std::move(mad)});
                }
            }
            if (core->next_deadline() && *core->next_deadline() <= now) {
                handle(Deadline{});
            }
        }
    }

    sim::Simulator sim;
    sim::Simulator::ClientId client = 0;
    std::vector<mad::WireMad> inbox;
    std::vector<std::string> lines;
    base::Instant now{};
    std::unique_ptr<Core> core;
};

TEST(Core, BringsAFabricUpThroughEventsAlone) {
    Bench bench;
    bench.run(seconds{2});
    const auto snapshot = bench.core->snapshot(bench.now);
    EXPECT_EQ(snapshot->mode, fabric::SmMode::up);
    EXPECT_EQ(snapshot->transport, "sim t1");
    EXPECT_EQ(snapshot->fabric->nodes.size(), 5U);
    EXPECT_TRUE(bench.core->at_rest());
    EXPECT_FALSE(bench.core->recorder().format().empty());
}

TEST(Core, TheSnapshotIsTheSameUntilSomethingChanges) {
    Bench bench;
    bench.run(seconds{2});
    const auto first = bench.core->snapshot(bench.now);
    EXPECT_EQ(bench.core->snapshot(bench.now + seconds{1}), first);
    bench.handle(DatabaseState{"locked by another process"});
    const auto second = bench.core->snapshot(bench.now);
    EXPECT_NE(second, first);
    EXPECT_EQ(second->database_text, "locked by another process");
    EXPECT_GT(second->version, first->version);
    EXPECT_EQ(first->database_text, "ok") << "what was handed out does not change";
}

TEST(Core, ABrokenConfigurationKeepsTheOldOneAndSaysSo) {
    Bench bench;
    bench.run(seconds{2});
    const std::size_t sweeps = bench.core->snapshot(bench.now)->sweeps.size();
    bench.handle(ConfigReplaced{nullptr, "ibfabricd.toml:3:1: unknown key"});
    bench.run(seconds{1});
    const auto snapshot = bench.core->snapshot(bench.now);
    EXPECT_EQ(snapshot->last_config_error, "ibfabricd.toml:3:1: unknown key");
    EXPECT_EQ(snapshot->sweeps.size(), sweeps);
    bench.handle(ConfigReplaced{std::make_shared<const sm::SmConfig>(), ""});
    bench.run(seconds{1});
    EXPECT_EQ(bench.core->snapshot(bench.now)->last_config_error, "");
    EXPECT_GT(bench.core->snapshot(bench.now)->sweeps.size(), sweeps);
}

TEST(Core, AnOperatorsSweepHasTheScopeAskedFor) {
    Bench bench;
    bench.run(seconds{2});
    api::AdminCommand command;
    command.kind = api::AdminCommand::Kind::sweep_full;
    bench.handle(AdminRequested{command});
    bench.run(seconds{1});
    const auto snapshot = bench.core->snapshot(bench.now);
    EXPECT_EQ(snapshot->sweeps.front().scope, "full");
    EXPECT_EQ(snapshot->sweeps.front().reasons, std::vector<std::string>{"operator"});
}

TEST(Core, AnOperatorsDrainIsTakenAndTakenBack) {
    Bench bench;
    bench.run(seconds{2});
    const auto view = bench.core->snapshot(bench.now)->view;
    const routing::TopologySwitch& first = view->topology.switches[0];
    api::AdminCommand command;
    command.kind = api::AdminCommand::Kind::drain;
    command.element = {first.guid, mad::PortNum{0}, first.name, {}, true, {}};
    bench.handle(AdminRequested{command});
    bench.run(seconds{1});
    const auto drained = bench.core->snapshot(bench.now)->drains;
    ASSERT_NE(drained, nullptr);
    ASSERT_EQ(drained->asked.size(), 1U);
    EXPECT_EQ(drained->asked[0].node, command.element.node);
    EXPECT_TRUE(drained->heeds(drained->asked[0]));
    command.kind = api::AdminCommand::Kind::undrain;
    bench.handle(AdminRequested{command});
    bench.run(seconds{1});
    EXPECT_EQ(bench.core->snapshot(bench.now)->drains, nullptr);
}

TEST(Core, EventsAndEffectsHaveOneLineForms) {
    Bench bench;
    bench.run(seconds{2});
    for (const std::string& line : bench.lines) {
        EXPECT_FALSE(line.empty());
        EXPECT_EQ(line.find('\n'), std::string::npos) << line;
    }
    EXPECT_EQ(to_line(Event{Deadline{}}), "deadline");
    EXPECT_NE(to_line(Event{ConfigReplaced{nullptr, "bad"}}).find("bad"), std::string::npos);
    EXPECT_NE(to_line(Event{MadReceived{}}).find("received"), std::string::npos);
}

}  // namespace
}  // namespace ibf::core
