#include "daemon/core/config_digest.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace ibf::core {
namespace {

using Change = std::function<void(sm::SmConfig&)>;

std::vector<std::string> after(const Change& change) {
    sm::SmConfig other;
    change(other);
    const auto ours = config_digests(sm::SmConfig{});
    const auto theirs = config_digests(other);
    EXPECT_EQ(differences(ours, theirs), differences(theirs, ours));
    return differences(ours, theirs);
}

// C56.
TEST(ConfigDigests, C56_NameWhatDiffers) {
    using Topics = std::vector<std::string>;
    EXPECT_EQ(after([](auto& c) { c.lmc = 1; }), Topics{"LMC"});
    EXPECT_EQ(after([](auto& c) { c.sm_key = mad::SmKey{77}; }), Topics{"SM_Key"});
    EXPECT_EQ(after([](auto& c) { c.sa_key = 77; }), Topics{"SA_Key"});
    EXPECT_EQ(after([](auto& c) { c.subnet_prefix = 77; }), Topics{"subnet prefix"});
    EXPECT_EQ(after([](auto& c) { c.multicast_groups.push_back({}); }), Topics{"partitions and groups"});
    EXPECT_EQ(after([](auto& c) { c.subnet_timeout = 17; }), Topics{"ports"});
    const std::vector<Change> routings{
        [](auto& c) { c.routing.engines = {"ftree"}; },
        [](auto& c) { c.routing.root_guids = {mad::Guid{1}}; },
        [](auto& c) { c.routing.vls_max = 2; },
        [](auto& c) { c.routing.preferences.slow_links = routing::SlowLinks::avoid; },
        [](auto& c) {
            c.routing.preferences.hop_weights = {{{mad::Guid{1}, mad::PortNum{1}}, 3}};
        },
        [](auto& c) {
            c.routing.preferences.ignored_ports = {{mad::Guid{1}, mad::PortNum{1}}};
        },
        [](auto& c) { c.routing.preferences.compute_nodes = {mad::Guid{1}}; },
        [](auto& c) { c.routing.preferences.io_nodes = {mad::Guid{1}}; },
        [](auto& c) { c.routing.preferences.order = {mad::Guid{1}}; },
    };
    for (const Change& change : routings) {
        EXPECT_EQ(after(change), Topics{"routing"});
    }
    EXPECT_EQ(after([](auto& c) {
                  c.lmc = 2;
                  c.subnet_timeout = 17;
              }),
              (Topics{"LMC", "ports"}));
}

TEST(ConfigDigests, WhatMayDifferDoesNotCount) {
    EXPECT_TRUE(after([](auto& c) {
                    c.priority = 9;
                    c.poll_interval = std::chrono::seconds{10};
                    c.sweep_interval = {};
                    c.routing.threads = 3;
                    c.mads.timeout = std::chrono::seconds{3};
                }).empty());
    // The same roots and groups in another order are the same.
    sm::SmConfig one;
    one.routing.root_guids = {mad::Guid{1}, mad::Guid{2}};
    one.multicast_groups = {{{1, mad::Guid{1}}}, {{1, mad::Guid{2}}}};
    sm::SmConfig other = one;
    std::swap(other.routing.root_guids[0], other.routing.root_guids[1]);
    std::swap(other.multicast_groups[0], other.multicast_groups[1]);
    EXPECT_EQ(config_digests(one), config_digests(other));
}

// Of another version, that compares more or less.
TEST(ConfigDigests, ATopicThatOneSideLacksDiffers) {
    auto theirs = config_digests(sm::SmConfig{});
    theirs.push_back({"zeal", 1});
    EXPECT_EQ(differences(config_digests(sm::SmConfig{}), theirs), std::vector<std::string>{"zeal"});
}

}  // namespace
}  // namespace ibf::core
