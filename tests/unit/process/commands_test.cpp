// The text commands: what each answers, and that faults strike now or later.
#include "sim/process/commands.hpp"

#include <gtest/gtest.h>

#include "sim/world.hpp"

namespace ibf::sim {
namespace {

class CommandsTest : public ::testing::Test {
protected:
    CommandsTest() : sim(*routing::generate_netlist("fat-tree:radix=4,levels=2"), SimOptions{}) {
        host = sim.locate("host-0001", 1)->node;
    }
    std::string say(const std::string& line) { return run_command(line, sim, report, now).text; }
    [[nodiscard]] mad::PortState state() const { return sim.port_info(host, mad::PortNum{1}).state; }

    Simulator sim;
    ServerReport report;
    std::uint32_t host = 0;
    base::Instant now = base::Instant{} + std::chrono::seconds{5};
};

TEST_F(CommandsTest, AFaultStrikesNow) {
    EXPECT_EQ(say("link-down host-0001/1"), "ok\n");
    EXPECT_EQ(state(), mad::PortState::down);
    EXPECT_EQ(say("link-up host-0001/1\r"), "ok\n");
    sim.advance(now + std::chrono::seconds{1});
    EXPECT_EQ(state(), mad::PortState::init);
}

TEST_F(CommandsTest, ALaterFaultIsTimedFromNow) {
    sim.advance(now);
    EXPECT_EQ(say("at 2s link-down host-0001/1"), "ok\n");
    sim.advance(now + std::chrono::milliseconds{1900});
    EXPECT_EQ(state(), mad::PortState::init);
    sim.advance(now + std::chrono::milliseconds{2100});
    EXPECT_EQ(state(), mad::PortState::down);
}

TEST_F(CommandsTest, WhatIsWrongIsSaid) {
    EXPECT_NE(say("link-dwn host-0001/1").find("did you mean 'link-down'"), std::string::npos);
    EXPECT_NE(say("link-down nobody/1").find("error: 'nobody/1' names no node"), std::string::npos);
    EXPECT_NE(say("at 2s link-down nobody/1").find("error: "), std::string::npos);
    EXPECT_NE(say("trut").find("did you mean 'truth'"), std::string::npos);
    EXPECT_EQ(say("  # a comment"), "ok\n");
}

TEST_F(CommandsTest, EventsOfAPort) {
    EXPECT_EQ(say("events host-0001"),
              "port-active 0\nport-error 0\nlid-change 0\nsm-change 0\n"
              "client-reregister 0\npkey-change 0\nok\n");
    mad::PortInfo info = sim.port_info(host, mad::PortNum{1});
    info.state = mad::PortState::active;
    info.lid = mad::Lid{7};
    info.sm_lid = mad::Lid{1};
    sim.set_port_info(host, mad::PortNum{1}, info);
    info.state = mad::PortState::down;
    sim.set_port_info(host, mad::PortNum{1}, info);
    EXPECT_EQ(say("events host-0001/1"),
              "port-active 1\nport-error 1\nlid-change 1\nsm-change 1\n"
              "client-reregister 0\npkey-change 0\nok\n");
    EXPECT_EQ(say("events nobody").substr(0, 7), "error: ");
}

TEST_F(CommandsTest, ReportsEndWithOk) {
    report.ports.push_back({.node = "host-0001",
                            .port = mad::PortNum{1},
                            .connections = 2,
                            .agents = 3,
                            .is_sm = true,
                            .counters = {}});
    for (const char* line : {"help", "counters", "clients", "truth", "truth tables"}) {
        const std::string answer = say(line);
        ASSERT_GE(answer.size(), 4U) << line;
        EXPECT_EQ(answer.substr(answer.size() - 4), "\nok\n") << line;
    }
    EXPECT_NE(say("clients").find("port \"host-0001\"/1 connections 2 agents 3 is-sm yes"),
              std::string::npos);
    EXPECT_TRUE(run_command("quit", sim, report, now).quit);
}

}  // namespace
}  // namespace ibf::sim
