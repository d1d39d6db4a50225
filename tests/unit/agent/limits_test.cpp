#include "probe/agent/limits.hpp"

#include <gtest/gtest.h>

namespace ibf::probe {
namespace {

std::string refusal(const AgentLimits& limits, const TestSpec& spec,
                    const std::vector<std::string>& devices = {}, const Way& way = {},
                    Side side = Side::target) {
    const auto taken = allowed_way(limits, devices, {"", spec, side, way});
    return taken ? "taken" : taken.error().message;
}

TEST(Limits, ByDefaultOnlyTimeIsLimited) {
    TestSpec spec;
    spec.message_bytes = kMessageBytesMax;
    spec.queue_pairs = kQueuePairsMax;
    spec.duration = std::chrono::seconds{60};
    EXPECT_EQ(refusal({}, spec), "taken");
    spec.duration += std::chrono::nanoseconds{1};
    EXPECT_NE(refusal({}, spec).find("limits.seconds"), std::string::npos);
}

TEST(Limits, EachIsNamed) {
    const AgentLimits limits{
        .seconds = 60, .bits_per_second = 1'000'000'000, .message_bytes = 4096, .queue_pairs = 2};
    TestSpec spec;
    spec.bits_per_second = 1'000'000'000;
    spec.message_bytes = 4096;
    spec.queue_pairs = 2;
    EXPECT_EQ(refusal(limits, spec), "taken");
    TestSpec fast = spec;
    fast.bits_per_second += 1;
    EXPECT_NE(refusal(limits, fast).find("at most 1000 Mb/s (limits.bits_per_second)"), std::string::npos);
    fast.bits_per_second = 0;
    EXPECT_NE(refusal(limits, fast).find("--rate"), std::string::npos) << "no rate is any rate";
    AgentLimits slow = limits;
    slow.bits_per_second = 500'000;
    EXPECT_NE(refusal(slow, spec).find("at most 0.5 Mb/s (limits.bits_per_second): give a --rate of no more"),
              std::string::npos)
        << refusal(slow, spec);
    slow.message_bytes = kMessageBytesMax;
    TestSpec long_one = spec;
    long_one.bits_per_second = 500'000;
    long_one.message_bytes = 60 * 500'000 / 8;
    EXPECT_EQ(refusal(slow, long_one), "taken");
    long_one.message_bytes += 1;
    EXPECT_NE(refusal(slow, long_one).find("one message of 3750001 bytes takes longer than it allows, 60 s"),
              std::string::npos)
        << "else the first one knew no rate";
    TestSpec large = spec;
    large.message_bytes += 1;
    EXPECT_NE(refusal(limits, large).find("limits.message_bytes"), std::string::npos);
    TestSpec many = spec;
    many.queue_pairs += 1;
    EXPECT_NE(refusal(limits, many).find("limits.queue_pairs"), std::string::npos);
}

TEST(Limits, OnlyDevicesOfTheListAreLent) {
    EXPECT_EQ(allowed_way({}, {"a", "b"}, {})->device, "a");
    Way way;
    way.device = "b";
    EXPECT_EQ(allowed_way({}, {"a", "b"}, {"", {}, Side::target, way})->device, "b");
    way.device = "c";
    EXPECT_NE(refusal({}, {}, {"a", "b"}, way).find("'c' is none that it allows: a, b"), std::string::npos);
    EXPECT_EQ(allowed_way({}, {}, {"", {}, Side::target, way})->device, "c");
}

TEST(Limits, WhoKeepsARateAnswersNoReads) {
    AgentLimits limits;
    TestSpec spec;
    spec.test = probe::Test::read;
    spec.bits_per_second = 1'000'000;
    EXPECT_EQ(refusal(limits, spec), "taken");
    limits.bits_per_second = 1'000'000;
    EXPECT_NE(refusal(limits, spec).find("limits.bits_per_second"), std::string::npos);
    EXPECT_EQ(refusal(limits, spec, {}, {}, Side::initiator), "taken") << "what it asks for, it can pace";
    spec.test = probe::Test::write;
    EXPECT_EQ(refusal(limits, spec), "taken");
}

TEST(Limits, NothingIsSentToTheSubnetManagersQueuePair) {
    EndpointAddress peer;
    peer.queue_pairs = {{17, 0}, {0, 0}};
    TestSpec spec;
    EXPECT_FALSE(allowed_peer(spec, peer));
    spec.use_cm = true;
    EXPECT_TRUE(allowed_peer(spec, peer)) << "librdmacm knows the number";
    spec.use_cm = false;
    peer.queue_pairs = {{17, 0}, {18, 0}};
    EXPECT_TRUE(allowed_peer(spec, peer));
}

TEST(Limits, AnEndByLimitIsNoFailureOfTheFabric) {
    Outcome outcome;
    outcome.messages = 7;
    const Outcome ended = ended_by_limit(outcome, {.seconds = 5}, "host-17");
    EXPECT_EQ(ended.messages, 7U);
    EXPECT_EQ(ended.failure, failure::kRefused);
    EXPECT_NE(ended.failure_text.find("host-17 ended it after 5 s"), std::string::npos);
    outcome.failure = failure::kRetryExceeded;
    EXPECT_EQ(ended_by_limit(outcome, {}, "x").failure, failure::kRetryExceeded) << "what came first is told";
}

}  // namespace
}  // namespace ibf::probe
