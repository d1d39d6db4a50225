#include "probe/layout.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace ibf::probe::test {
namespace {

TestSpec spec_of(probe::Test test, std::uint64_t bytes, std::uint32_t queue_pairs = 1,
                 std::uint32_t depth = 64) {
    TestSpec spec;
    spec.test = test;
    spec.message_bytes = bytes;
    spec.queue_pairs = queue_pairs;
    spec.depth = depth;
    return spec;
}

constexpr probe::Test kTests[] = {probe::Test::ping, probe::Test::send, probe::Test::write, probe::Test::read,
                                  probe::Test::ud};

TEST(Layout, NoTwoSlotsOverlapAndAllLieWithin) {
    for (const probe::Test test : kTests) {
        for (const std::uint64_t bytes : {1U, 64U, 65U, 4096U, 4097U, 1U << 20U}) {
            for (const std::uint32_t queue_pairs : {1U, 3U, 64U}) {
                for (const Side side : {Side::initiator, Side::target}) {
                    const auto layout = layout_of(spec_of(test, bytes, queue_pairs, 16), side);
                    if (test == probe::Test::ud && bytes > 4096) {
                        EXPECT_FALSE(layout);
                        continue;
                    }
                    ASSERT_TRUE(layout) << layout.error().message;
                    std::set<std::uint64_t> begins;
                    for (std::uint32_t i = 0; i < layout->source_slots; ++i) {
                        EXPECT_TRUE(begins.insert(layout->source(i) - layout->headroom).second);
                    }
                    for (std::uint32_t pair = 0; pair < queue_pairs; ++pair) {
                        for (std::uint32_t i = 0; i < layout->slots; ++i) {
                            EXPECT_TRUE(begins.insert(layout->slot(pair, i)).second);
                        }
                    }
                    if (layout->has_unseen) {
                        EXPECT_TRUE(begins.insert(layout->unseen()).second);
                    }
                    EXPECT_GE(layout->stride, layout->headroom + bytes);
                    EXPECT_EQ(begins.size() * layout->stride, layout->total_bytes());
                    if (!begins.empty()) {
                        EXPECT_EQ(*begins.rbegin() + layout->stride, layout->total_bytes());
                    }
                }
            }
        }
    }
}

// A request that is posted needs a place, and of those that are to be compared one that nobody else writes
// to.
TEST(Layout, EveryPostedReceiveHasAPlace) {
    for (const std::uint64_t bytes : {1ULL, 4096ULL, 8192ULL, 1ULL << 20U, 1ULL << 30U}) {
        const auto layout = layout_of(spec_of(probe::Test::send, bytes), Side::target);
        ASSERT_TRUE(layout);
        EXPECT_GE(layout->receives, 2U);
        EXPECT_TRUE(layout->has_unseen || layout->slots >= layout->receives) << bytes;
        const auto reads = layout_of(spec_of(probe::Test::read, bytes), Side::initiator);
        ASSERT_TRUE(reads);
        EXPECT_TRUE(reads->has_unseen || reads->slots >= reads->in_flight) << bytes;
    }
}

TEST(Layout, SmallMessagesAreAllCompared) {
    const auto layout = layout_of(spec_of(probe::Test::send, 4096), Side::target);
    for (std::uint64_t message = 0; message < 1000; ++message) {
        EXPECT_TRUE(layout->is_checked(message));
    }
}

TEST(Layout, OfLargeMessagesTheFirstAndThenSomeAreCompared) {
    const auto layout = layout_of(spec_of(probe::Test::read, 1U << 20U), Side::initiator);
    std::set<std::uint64_t> contents;
    std::uint64_t later = 0;
    for (std::uint64_t message = 0; message < 64 + 17 * 16; ++message) {
        EXPECT_TRUE(message >= 64 || layout->is_checked(message));
        if (message >= 64 && layout->is_checked(message)) {
            ++later;
            contents.insert(message % layout->contents);
        }
    }
    EXPECT_EQ(later, 16U);
    EXPECT_EQ(contents.size(), layout->contents) << "in turn all patterns are looked at";
}

TEST(Layout, NothingIsComparedIfSoAsked) {
    TestSpec spec = spec_of(probe::Test::send, 64);
    spec.check_payload = false;
    const auto layout = layout_of(spec, Side::target);
    EXPECT_FALSE(layout->is_checked(0));
    EXPECT_TRUE(layout->has_unseen);
    EXPECT_EQ(layout->slots, 0U);
}

TEST(Layout, AGibibyteFitsAndSixtyFourOfThemDoNot) {
    for (const probe::Test test :
         {probe::Test::ping, probe::Test::send, probe::Test::write, probe::Test::read}) {
        for (const Side side : {Side::initiator, Side::target}) {
            EXPECT_TRUE(layout_of(spec_of(test, kMessageBytesMost), side));
        }
        const auto refused = layout_of(spec_of(test, kMessageBytesMost, 64), Side::target);
        if (test != probe::Test::read) {
            ASSERT_FALSE(refused);
            EXPECT_NE(refused.error().message.find("pinned memory"), std::string::npos);
        }
    }
}

TEST(Layout, OfLargeMessagesFewAreInFlight) {
    const auto in_flight = [](std::uint64_t bytes, std::uint32_t queue_pairs, std::uint32_t depth) {
        return layout_of(spec_of(probe::Test::write, bytes, queue_pairs, depth), Side::initiator)->in_flight;
    };
    EXPECT_EQ(in_flight(65536, 1, 1024), 512U);
    EXPECT_EQ(in_flight(65536, 8, 1024), 64U);
    EXPECT_EQ(in_flight(1U << 20U, 1, 64), 32U);
    EXPECT_EQ(in_flight(64U << 20U, 1, 64), 2U);
    EXPECT_EQ(in_flight(64U << 20U, 1, 1), 1U);
    EXPECT_EQ(in_flight(1U << 30U, 1, 64), 1U);
}

TEST(Layout, BothSidesOfAWriteAgreeOnTheSlots) {
    const TestSpec spec = spec_of(probe::Test::write, 1000, 4);
    const auto writes = layout_of(spec, Side::initiator);
    const auto holds = layout_of(spec, Side::target);
    EXPECT_EQ(writes->contents, holds->contents);
    EXPECT_EQ(holds->slots, holds->contents);
    EXPECT_EQ(writes->in_flight, 64U);
}

TEST(Layout, SlotsThatAWriteMustHaveReached) {
    TestSpec spec = spec_of(probe::Test::write, 64, 4);
    spec.messages = 3;
    EXPECT_EQ(slots_written(spec, 12), 12U);
    EXPECT_EQ(slots_written(spec, 11), 3U) << "of one queue pair three, of the others it is not known";
    spec.messages = 1000;
    EXPECT_EQ(slots_written(spec, 4000), 64U);
    spec.messages = 0;
    spec.duration = std::chrono::seconds{1};
    EXPECT_EQ(slots_written(spec, 5), 2U);
    EXPECT_EQ(slots_written(spec, 0), 0U);
    spec.check_payload = false;
    EXPECT_EQ(slots_written(spec, 5), 0U);
    EXPECT_EQ(slots_written(spec_of(probe::Test::send, 64), 5), 0U);
}

TEST(Layout, AMarkChangesEachPacketAndASecondTakesItBack) {
    std::vector<std::uint8_t> slot(600, 7);
    const auto before = slot;
    mark_compared(slot);
    for (const std::size_t at : {0U, 256U, 512U}) {
        EXPECT_NE(slot[at], before[at]);
    }
    mark_compared(slot);
    EXPECT_EQ(slot, before);
    std::vector<std::uint8_t> one(1, 7);
    mark_compared(one);
    EXPECT_NE(one[0], 7);
}

TEST(Layout, ValuesThatNoTestHas) {
    const auto is_refused = [](auto change) {
        TestSpec spec;
        change(spec);
        const auto checked = check_spec(spec);
        return !checked && checked.error().kind == base::ErrorKind::usage;
    };
    EXPECT_TRUE(check_spec(TestSpec{}));
    EXPECT_TRUE(is_refused([](TestSpec& spec) { spec.message_bytes = 0; }));
    EXPECT_TRUE(is_refused([](TestSpec& spec) { spec.message_bytes = kMessageBytesMost + 1; }));
    EXPECT_TRUE(is_refused([](TestSpec& spec) { spec.messages = 0; }));
    EXPECT_TRUE(is_refused([](TestSpec& spec) { spec.queue_pairs = 0; }));
    EXPECT_TRUE(is_refused([](TestSpec& spec) { spec.queue_pairs = 65; }));
    EXPECT_TRUE(is_refused([](TestSpec& spec) { spec.depth = 0; }));
    EXPECT_TRUE(is_refused([](TestSpec& spec) { spec.depth = 1025; }));
    EXPECT_TRUE(is_refused([](TestSpec& spec) { spec.mtu_bytes = 1500; }));
    EXPECT_TRUE(is_refused([](TestSpec& spec) { spec.ack_timeout = 32; }));
    EXPECT_TRUE(is_refused([](TestSpec& spec) { spec.rnr_timer = 32; }));
    EXPECT_TRUE(is_refused([](TestSpec& spec) { spec.retries = 8; }));
    EXPECT_TRUE(is_refused([](TestSpec& spec) { spec.rnr_retries = 8; }));
    EXPECT_TRUE(is_refused([](TestSpec& spec) { spec = spec_of(probe::Test::ud, 4097); }));
    EXPECT_TRUE(is_refused([](TestSpec& spec) {
        spec.test = probe::Test::ud;
        spec.use_cm = true;
    }));
    EXPECT_TRUE(is_refused([](TestSpec& spec) {
        spec.mtu_bytes = 1024;
        spec.use_cm = true;
    }));
}

// An agent's cap is on what the port carries, and a message of one octet is mostly headers.
TEST(Layout, ARateIsChargedForTheHeadersOfEachPacket) {
    EXPECT_EQ(octets_on_wire(1, 4096), 1 + kPacketOverhead);
    EXPECT_EQ(octets_on_wire(4096, 4096), 4096 + kPacketOverhead);
    EXPECT_EQ(octets_on_wire(4097, 4096), 4097 + 2 * kPacketOverhead);
    EXPECT_EQ(octets_on_wire(1U << 30U, 256), (1ULL << 30U) + (1ULL << 22U) * kPacketOverhead);
}

TEST(Layout, NobodyAnsweringIsWaitedForAMillisecondAtLeast) {
    TestSpec spec = spec_of(probe::Test::ud, 64);
    EXPECT_EQ(ud_patience(spec), std::chrono::nanoseconds{(4096LL << 14U) * 8});
    spec.ack_timeout = 1;
    spec.retries = 0;
    EXPECT_EQ(ud_patience(spec), std::chrono::milliseconds{1}) << "else 122,000 a second into the void";
    spec.ack_timeout = 0;
    EXPECT_EQ(ud_patience(spec), std::chrono::seconds{1}) << "not for ever";
}

TEST(Layout, ReadsUnderWayAreWhatBothAdaptersCan) {
    EXPECT_EQ(agreed_reads(16, 4), 4);
    EXPECT_EQ(agreed_reads(4, 16), 4);
    EXPECT_EQ(agreed_reads(16, 0), 16) << "an older side does not tell";
}

TEST(Layout, WhatLibrdmacmChoosesIsNotGivenAsWell) {
    TestSpec spec;
    const std::vector<Way> ways = {
        {.pkey_index = 1}, {.dlid = mad::Lid{5}}, {.sl = mad::Sl{2}}, {.path_bits = 1}};
    for (const Way& way : ways) {
        spec.use_cm = false;
        EXPECT_TRUE(check_way(spec, way));
        spec.use_cm = true;
        const auto checked = check_way(spec, way);
        ASSERT_FALSE(checked) << "it would be ignored";
        EXPECT_EQ(checked.error().kind, base::ErrorKind::usage);
    }
    EXPECT_TRUE(check_way(spec, {.device = "mlx5_0", .gid_index = std::uint8_t{3}, .traffic_class = 106}));
}

}  // namespace
}  // namespace ibf::probe::test
