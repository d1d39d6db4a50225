#include "probe/agent/config.hpp"

#include <gtest/gtest.h>

namespace ibf::probe {
namespace {

std::string trouble(const std::string& text) {
    const auto config = parse_agent_config(text, "f");
    return config ? "fine" : config.error().message;
}

TEST(AgentConfiguration, EveryKeyIsTaken) {
    const auto config = parse_agent_config(R"(listen = "[fd00::17]:7000"
key = "/k"
ca = "/ca"
certificate = "/c"
certificate_key = "/ck"
networks = ["10.0.0.0/8", "fd00::1"]
names = ["host-1", "host-2"]
connections = 3

[limits]
seconds = 10
bits_per_second = "10G"
message_bytes = 4096
queue_pairs = 8
devices = ["mlx5_0"]
)",
                                           "f");
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_EQ(config->terms.listen.text(), "[fd00::17]:7000");
    EXPECT_EQ(config->key + config->ca + config->certificate + config->certificate_key, "/k/ca/c/ck");
    ASSERT_EQ(config->terms.networks.size(), 2U);
    EXPECT_EQ(config->terms.networks[0].bits, 104U);
    EXPECT_EQ(config->terms.names, (std::vector<std::string>{"host-1", "host-2"}));
    EXPECT_EQ(config->terms.connections, 3U);
    EXPECT_EQ(config->terms.limits.seconds, 10U);
    EXPECT_EQ(config->terms.limits.bits_per_second, 10'000'000'000U);
    EXPECT_EQ(config->terms.limits.message_bytes, 4096U);
    EXPECT_EQ(config->terms.limits.queue_pairs, 8U);
    EXPECT_EQ(config->terms.devices, std::vector<std::string>{"mlx5_0"});
}

TEST(AgentConfiguration, AnEmptyFileIsTheDefaults) {
    const auto config = parse_agent_config("", "f");
    ASSERT_TRUE(config);
    EXPECT_EQ(config->terms.listen.port, kAgentPort);
    EXPECT_EQ(config->terms.limits.seconds, 60U);
    EXPECT_EQ(config->terms.connections, 16U);
}

TEST(AgentConfiguration, WhatIsWrongIsToldWithItsPlace) {
    EXPECT_EQ(trouble("\nlistne = \"x\"\n"), "f:2:1: unknown key 'listne'; did you mean listen?");
    EXPECT_EQ(trouble("[limits]\nsecond = 1\n"),
              "f:2:1: unknown key 'second' in [limits]; did you mean seconds?");
    EXPECT_EQ(trouble("seconds = 1"), "f:1:1: 'seconds' belongs in [limits]");
    EXPECT_EQ(trouble("[limits]\nkey = \"x\""), "f:2:1: 'key' belongs before the first section");
    EXPECT_EQ(trouble("connections = 0"), "f:1:15: connections: is not in 1 to 1024");
    EXPECT_EQ(trouble("connections = -1"), "f:1:15: connections: is no number");
    EXPECT_EQ(trouble("key = 7"), "f:1:7: key: is no text in quotes");
    EXPECT_EQ(trouble("networks = \"10.0.0.0/8\""), "f:1:12: networks: is no list of at most 256");
    EXPECT_TRUE(trouble("networks = [\"ten\"]").starts_with("f:1:12: networks: 'ten' is no network"));
    EXPECT_TRUE(trouble("networks = [7]").starts_with("f:1:12: networks: holds something"));
    EXPECT_EQ(trouble("limits = 3"), "f:1:1: limits is a section: write [limits] on a line of its own");
    EXPECT_TRUE(
        trouble("[limits]\nbits_per_second = \"fast\"").starts_with("f:2:19: bits_per_second: 'fast'"));
    EXPECT_TRUE(trouble("listen = \"a:b\"").starts_with("f:1:10: listen: "));
    EXPECT_TRUE(trouble("key = ").starts_with("f:1:"));
    EXPECT_TRUE(trouble("a\x01").starts_with("f:1:2: control character"));
    EXPECT_EQ(trouble(std::string(70'000, ' ')), "f:1:1: larger than 65536 bytes");
}

TEST(AgentConfiguration, AFileThatIsNotThereIsNamed) {
    const auto config = read_agent_config("/nowhere/probe.toml");
    ASSERT_FALSE(config);
    EXPECT_NE(config.error().message.find("/nowhere/probe.toml"), std::string::npos);
}

}  // namespace
}  // namespace ibf::probe
