#include "probe/tool/test_options.hpp"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "probe/messages.hpp"

namespace ibf::probe::tool {
namespace {

/// What these words of a command line come to; an error's message as "refused: ...".
base::Result<TestPlan> plan(probe::Test test, const std::string& words) {
    CLI::App app;
    TestFlags flags;
    add_test_options(app, test, flags);
    try {
        app.parse(words);
    } catch (const CLI::ParseError& error) {
        return base::fail(base::ErrorKind::usage, error.what());
    }
    return plan_of(flags);
}

TEST(TestOptions, DefaultsDependOnWhatIsMeasured) {
    const auto ping = plan(probe::Test::ping, "host-17");
    ASSERT_TRUE(ping) << ping.error().message;
    EXPECT_EQ(ping->where.text(), "host-17:18585");
    EXPECT_EQ(ping->sizes, std::vector<std::uint64_t>{64});
    EXPECT_EQ(ping->spec.messages, 1000U);
    EXPECT_EQ(ping->spec.duration, base::Duration{});
    EXPECT_TRUE(ping->spec.check_payload);
    const auto write = plan(probe::Test::write, "host-17:1");
    ASSERT_TRUE(write);
    EXPECT_EQ(write->where.port, 1U);
    EXPECT_EQ(write->sizes, std::vector<std::uint64_t>{65536});
    EXPECT_EQ(write->spec.messages, 0U);
    EXPECT_EQ(write->spec.duration, std::chrono::seconds{2});
    EXPECT_EQ(plan(probe::Test::write, "h --count 7")->spec.duration, base::Duration{})
        << "the count is the end";
    EXPECT_EQ(plan(probe::Test::ping, "h --seconds 0.5")->spec.messages, 0U) << "the time is the end";
    const auto both = plan(probe::Test::ping, "h --seconds 0.5 --count 3");
    EXPECT_EQ(both->spec.messages, 3U);
    EXPECT_EQ(both->spec.duration, std::chrono::milliseconds{500});
}

TEST(TestOptions, EveryFlagReachesTheSpecOrTheWay) {
    const auto got =
        plan(probe::Test::read,
             "h --size 1M --qps 64 --depth 1024 --rate 10G --device mlx5_0/2 --peer-device mlx5_1 "
             "--gid-index 3 --peer-gid-index 255 --dlid 42 --sl 15 --pkey-index 5 --path-bits 127 --mtu 2048 "
             "--timeout 31 --retries 0 --rnr-retries 6 --cm --no-check --no-huge-pages");
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->spec.test, probe::Test::read);
    EXPECT_EQ(got->sizes, std::vector<std::uint64_t>{1U << 20U});
    EXPECT_EQ(got->spec.queue_pairs, 64U);
    EXPECT_EQ(got->spec.depth, 1024U);
    EXPECT_EQ(got->spec.bits_per_second, 10'000'000'000U);
    EXPECT_EQ(got->spec.mtu_bytes, 2048U);
    EXPECT_EQ(got->spec.ack_timeout, 31);
    EXPECT_EQ(got->spec.retries, 0);
    EXPECT_EQ(got->spec.rnr_retries, 6);
    EXPECT_TRUE(got->spec.use_cm);
    EXPECT_FALSE(got->spec.check_payload);
    EXPECT_FALSE(got->spec.huge_pages);
    EXPECT_EQ(got->from.device, "mlx5_0");
    EXPECT_EQ(got->from.port, 2);
    EXPECT_EQ(got->to.device, "mlx5_1");
    EXPECT_EQ(got->to.port, 0);
    EXPECT_EQ(got->from.gid_index, 3);
    EXPECT_EQ(got->to.gid_index, 255);
    EXPECT_EQ(got->from.dlid, mad::Lid{42});
    EXPECT_FALSE(got->to.dlid);
    EXPECT_EQ(got->from.sl, mad::Sl{15});
    EXPECT_EQ(got->to.sl, mad::Sl{15});
    EXPECT_EQ(got->to.pkey_index, 5);
    EXPECT_EQ(got->from.path_bits, 127);
    EXPECT_EQ(got->to.path_bits, 0);
}

TEST(TestOptions, WithoutAnSlItIsLeftToTheSa) {
    const auto got = plan(probe::Test::ping, "host-17");
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_FALSE(got->from.sl);
    EXPECT_FALSE(got->to.sl);
    const auto zero = plan(probe::Test::ping, "host-17 --sl 0");
    ASSERT_TRUE(zero) << zero.error().message;
    EXPECT_EQ(zero->from.sl, mad::Sl{}) << "is a word as well";
    EXPECT_EQ(zero->to.sl, mad::Sl{});
}

TEST(TestOptions, WhatCannotBeIsRefused) {
    for (const char* words : {"",
                              "h --size 0",
                              "h --size 2G",
                              "h --size x",
                              "h --sweep 4",
                              "h --sweep 8:4",
                              "h --sweep 0:4",
                              "h --sweep 1:2G",
                              "h --qps 0",
                              "h --qps 65",
                              "h --depth 1025",
                              "h --rate 0",
                              "h --rate fast",
                              "h --device mlx5_0/",
                              "h --device /1",
                              "h --device mlx5_0/256",
                              "h --device mlx5_0/1x",
                              "h --gid-index 256",
                              "h --dlid 0",
                              "h --dlid 49152",
                              "h --sl 16",
                              "h --path-bits 128",
                              "h --mtu 1000",
                              "h --timeout 32",
                              "h --retries 8",
                              "h --rnr-retries 8",
                              "h --count 0",
                              "h --seconds 0",
                              "h:x",
                              "h --unknown"}) {
        EXPECT_FALSE(plan(probe::Test::write, words)) << words;
    }
    EXPECT_FALSE(plan(probe::Test::ping, "h --qps 2")) << "one at a time is one at a time";
    EXPECT_FALSE(plan(probe::Test::ud, "h --retries 2")) << "datagrams have none";
}

TEST(TestOptions, ASweepDoublesAndEndsWhereItShall) {
    EXPECT_EQ(parse_sweep("1:8"), (std::vector<std::uint64_t>{1, 2, 4, 8}));
    EXPECT_EQ(parse_sweep("3:13"), (std::vector<std::uint64_t>{3, 6, 12, 13}));
    EXPECT_EQ(parse_sweep("4K:4K"), std::vector<std::uint64_t>{4096});
    EXPECT_EQ(parse_sweep("1:1G")->size(), 31U);
}

}  // namespace
}  // namespace ibf::probe::tool
