#include "mad/rmpp.hpp"
#include "random_bytes.hpp"

#include <gtest/gtest.h>

#include "tests/unit/mad/rmpp_pair.hpp"

namespace ibf::mad {
namespace {

using namespace std::chrono_literals;

constexpr auto kTable = SaMethod::get_table_resp;
constexpr std::size_t kRecords = 45000;
constexpr std::size_t kRecordBytes = 64;

bool same(const RmppMessage& sent, const RmppMessage& got) {
    // The RMPP header, octets 24 to 35, is the packet's own.
    return std::equal(sent.header.begin(), sent.header.begin() + 24, got.header.begin()) &&
           std::equal(sent.header.begin() + 36, sent.header.end(), got.header.begin() + 36) &&
           *sent.data == *got.data;
}

double seconds(base::Instant at) {
    return std::chrono::duration<double>(at.time_since_epoch()).count();
}

/// One message from side 0 to side 1; what it took.
struct Trip {
    double seconds = 0;
    double packets_per_segment = 0;
};

Trip carry(std::size_t bytes, const RmppLimits& limits, const WireFaults& faults, std::uint64_t seed) {
    RmppPair pair(limits, faults, seed);
    const RmppMessage message = message_to(1, kTable, 0x1234, bytes, seed);
    pair.send(0, message);
    EXPECT_TRUE(pair.run(10min)) << bytes << " bytes, seed " << seed;
    EXPECT_EQ(pair.beyond_window(), 0U);
    EXPECT_TRUE(pair.taken_all());
    EXPECT_EQ(pair.received(1).size(), 1U) << "once, whatever was doubled";
    if (pair.received(1).size() == 1) {
        EXPECT_TRUE(same(message, pair.received(1).front()));
        EXPECT_EQ(pair.received(1).front().peer.lid, address_of(0).lid);
    }
    EXPECT_EQ(pair.ended(0).size(), 1U);
    if (!pair.ended(0).empty()) {
        EXPECT_EQ(pair.ended(0).front().how, RmppEnd::delivered);
        EXPECT_EQ(pair.ended(0).front().tid, 0x1234U);
        EXPECT_TRUE(pair.ended(0).front().sending);
    }
    EXPECT_TRUE(pair.ended(1).empty());
    EXPECT_EQ(pair.side(1).receive_bytes(), 0U);
    EXPECT_EQ(pair.side(0).counters().delivered, 1U);
    EXPECT_EQ(pair.side(1).counters().received, 1U);
    const std::size_t segments = std::max<std::size_t>(1, (bytes + kSaDataBytes - 1) / kSaDataBytes);
    return {seconds(pair.now()), static_cast<double>(pair.packets()) / static_cast<double>(segments)};
}

TEST(Rmpp, EverySizeOverACleanWire) {
    for (const std::size_t bytes :
         {0U, 1U, 199U, 200U, 201U, 399U, 400U, 401U, 6399U, 6400U, 6401U, 6600U, 12345U, 3'000'000U}) {
        const Trip trip = carry(bytes, {}, {}, bytes + 1);
        EXPECT_LT(trip.seconds, 0.1) << bytes << " bytes wait for no time-out";
        EXPECT_LE(trip.packets_per_segment, 2.0) << bytes;
    }
}

TEST(Rmpp, AnyWindow) {
    for (const std::uint32_t window : {1U, 2U, 3U, 31U, 500U}) {
        carry(123'456, {.window = window}, {}, window);
        carry(123'456, {.window = window}, {.loss = 0.1, .doubling = 0.05, .jitter = 50us}, window);
    }
}

TEST(Rmpp, HalfWorldTable) {
    const Trip clean = carry(kRecords * kRecordBytes, {}, {}, 1);
    // An ACK for half a window of 32.
    EXPECT_LT(clean.packets_per_segment, 1.07);
    const Trip little = carry(kRecords * kRecordBytes, {}, {.loss = 0.02}, 2);
    EXPECT_LT(little.packets_per_segment, 1.5);
    EXPECT_LT(little.seconds, 5.0);
    const Trip much = carry(kRecords * kRecordBytes, {}, {.loss = 0.2}, 3);
    EXPECT_LT(much.seconds, 60.0);
    std::printf(
        "45,000 records of 64 bytes: clean %.3f s, %.2f packets a segment; 2 %% loss %.2f s, %.2f; "
        "20 %% loss %.2f s, %.2f\n",
        clean.seconds, clean.packets_per_segment, little.seconds, little.packets_per_segment, much.seconds,
        much.packets_per_segment);
}

TEST(Rmpp, ARoundTripBeyondTheFirstWaitIsBorne) {
    // 300 ms: data and ACKs go about twice, but no window more often than that.
    const Trip trip = carry(100'000, {}, {.latency = 150ms}, 1);
    EXPECT_LT(trip.packets_per_segment, 4.5);
}

TEST(Rmpp, ManySeedsOfAllFaults) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        base::Prng prng{seed};
        const WireFaults faults{.loss = prng.unit() * 0.25,
                                .doubling = prng.unit() * 0.2,
                                .jitter = std::chrono::microseconds{prng.below(200)}};
        carry(prng.below(60'000), {}, faults, seed);
    }
}

TEST(Rmpp, SameSeedSamePackets) {
    const auto transcript = [](std::uint64_t seed) {
        RmppPair pair({}, {.loss = 0.1, .doubling = 0.1, .jitter = 100us}, seed);
        pair.keep_transcript = true;
        for (std::uint64_t tid = 0; tid < 5; ++tid) {
            pair.send(tid % 2, message_to(1 - tid % 2, kTable, tid, 10'000, tid));
        }
        EXPECT_TRUE(pair.run(10min));
        return pair.transcript();
    };
    EXPECT_EQ(transcript(7), transcript(7));
    EXPECT_NE(transcript(7), transcript(8));
}

TEST(Rmpp, ManyTransfersBothWaysAtOnce) {
    RmppPair pair({.per_peer = 64}, {.loss = 0.05, .doubling = 0.02, .jitter = 100us}, 4);
    std::array<std::map<std::uint64_t, RmppMessage>, 2> sent;
    for (std::uint64_t tid = 0; tid < 64; ++tid) {
        for (std::size_t to = 0; to < 2; ++to) {
            // The same TID both ways, with the same method: direction tells them apart.
            const RmppMessage message = message_to(to, kTable, tid, 997 * tid, 2 * tid + to);
            sent[to].emplace(tid, message);
            pair.send(1 - to, message);
        }
    }
    ASSERT_TRUE(pair.run(10min));
    EXPECT_EQ(pair.beyond_window(), 0U);
    for (std::size_t side = 0; side < 2; ++side) {
        EXPECT_EQ(pair.received(side).size(), 64U);
        for (const RmppMessage& got : pair.received(side)) {
            const std::uint64_t tid = parse_header(got.header)->tid;
            EXPECT_TRUE(same(sent[side].at(tid), got)) << tid;
        }
        EXPECT_EQ(pair.ended(side).size(), 64U);
    }
}

TEST(Rmpp, PacketsAsTheIbaHasThem) {
    Rmpp rmpp{{}};
    RmppOutputs out;
    rmpp.send(message_to(1, kTable, 0x55, 450, 1), {}, out);
    ASSERT_EQ(out.wire.size(), 1U) << "the first segment waits for an ACK alone";
    const WireMad first = out.wire.front();
    EXPECT_EQ(first.address.lid, address_of(1).lid);
    EXPECT_EQ(first.address.qkey, kTestQkey);
    EXPECT_EQ(first.address.sl, Sl{3});
    EXPECT_EQ(first.bytes[3], 0x92);
    EXPECT_EQ(first.bytes[24], 1);
    EXPECT_EQ(first.bytes[25], 1);
    EXPECT_EQ(first.bytes[26], 0xFB) << "no response time, First, Active";
    EXPECT_EQ(rmpp_of(first).segment, 1U);
    EXPECT_EQ(rmpp_of(first).payload_length, 450U + 3 * 20);

    out = {};
    WireMad ack = first;
    ack.bytes[3] ^= 0x80;
    write_rmpp_header(
        {.version = 1, .type = RmppType::ack, .active = true, .segment = 1, .payload_length = 9}, ack.bytes);
    EXPECT_TRUE(rmpp.on_receive(ack, {}, out));
    ASSERT_EQ(out.wire.size(), 2U);
    EXPECT_EQ(out.wire[0].bytes[26], 0xF9);
    EXPECT_EQ(rmpp_of(out.wire[0]).payload_length, 0U);
    EXPECT_EQ(out.wire[1].bytes[26], 0xFD) << "Last";
    EXPECT_EQ(rmpp_of(out.wire[1]).segment, 3U);
    EXPECT_EQ(rmpp_of(out.wire[1]).payload_length, 50U + 20);
}

TEST(Rmpp, AckHasTheResponseBitTurnedAndTheSendersAddress) {
    Rmpp sender{{}};
    Rmpp receiver{{}};
    RmppOutputs out;
    sender.send(message_to(1, kTable, 0x0102030405060708, 1000, 1), {}, out);
    WireMad data = out.wire.front();
    data.address = address_at(77);
    data.address.qp = 12;
    data.address.pkey_index = 2;
    data.address.grh_hop_limit = 9;
    out = {};
    EXPECT_TRUE(receiver.on_receive(data, {}, out));
    ASSERT_EQ(out.wire.size(), 1U);
    const WireMad& ack = out.wire.front();
    EXPECT_EQ(ack.bytes[3], 0x12);
    EXPECT_TRUE(std::equal(ack.bytes.begin() + 4, ack.bytes.begin() + 24, data.bytes.begin() + 4));
    EXPECT_EQ(ack.bytes[26], 0xF9);
    EXPECT_EQ(rmpp_of(ack).type, RmppType::ack);
    EXPECT_EQ(rmpp_of(ack).segment, 1U);
    EXPECT_EQ(rmpp_of(ack).payload_length, 1U + RmppLimits{}.window);
    EXPECT_EQ(ack.address.lid, Lid{77});
    EXPECT_EQ(ack.address.qp, 12U);
    EXPECT_EQ(ack.address.qkey, kTestQkey);
    EXPECT_EQ(ack.address.pkey_index, 2);
    EXPECT_EQ(ack.address.sl, Sl{3});
    EXPECT_EQ(ack.address.grh_hop_limit, 9);
    EXPECT_TRUE(std::all_of(ack.bytes.begin() + 56, ack.bytes.end(), [](auto octet) { return octet == 0; }));
}

TEST(Rmpp, NoneOfOurs) {
    Rmpp rmpp{{}};
    RmppOutputs out;
    rmpp.send(message_to(1, kTable, 1, 10, 1), {}, out);
    WireMad mad = out.wire.front();
    out = {};
    mad.bytes[26] &= 0xFE;
    EXPECT_FALSE(rmpp.on_receive(mad, {}, out)) << "not Active";
    mad.bytes[26] |= 1;
    mad.bytes[1] = 0x04;
    EXPECT_FALSE(rmpp.on_receive(mad, {}, out)) << "not SubnAdm";
    mad.bytes[1] = 0x03;
    mad.bytes[0] = 0;
    EXPECT_FALSE(rmpp.on_receive(mad, {}, out)) << "no MAD";
    EXPECT_TRUE(out.wire.empty() && out.ended.empty() && out.received.empty());
}

// --- losses at the worst places ---

TEST(Rmpp, LostLastAcksAreGivenAgain) {
    RmppPair pair({}, {}, 1);
    int dropped = 0;
    pair.drop = [&dropped](std::size_t from, const RmppHeader& rmpp) {
        return from == 1 && rmpp.type == RmppType::ack && rmpp.segment == 51 && ++dropped <= 5;
    };
    pair.send(0, message_to(1, kTable, 1, 50 * 200 + 1, 1));
    ASSERT_TRUE(pair.run(1min));
    EXPECT_EQ(pair.received(1).size(), 1U);
    ASSERT_EQ(pair.ended(0).size(), 1U);
    EXPECT_EQ(pair.ended(0)[0].how, RmppEnd::delivered);
    EXPECT_GT(dropped, 5);
}

TEST(Rmpp, OneLossInAWindowCostsNoTimeout) {
    RmppPair pair({}, {}, 1);
    bool dropped = false;
    pair.drop = [&dropped](std::size_t, const RmppHeader& rmpp) {
        return rmpp.type == RmppType::data && rmpp.segment == 20 && !std::exchange(dropped, true);
    };
    pair.send(0, message_to(1, kTable, 1, 100 * 200, 1));
    ASSERT_TRUE(pair.run(1min));
    EXPECT_TRUE(dropped);
    EXPECT_LT(pair.now(), base::Instant{5ms});
    EXPECT_EQ(pair.side(0).counters().segments_again, 1U);
}

TEST(Rmpp, SeveralLossesInAWindowCostNoTimeoutEither) {
    RmppPair pair({}, {}, 1);
    std::map<std::uint32_t, int> sends;
    pair.drop = [&sends](std::size_t, const RmppHeader& rmpp) {
        return rmpp.type == RmppType::data && ++sends[rmpp.segment] == 1 &&
               (rmpp.segment == 20 || rmpp.segment == 23 || rmpp.segment == 24);
    };
    pair.send(0, message_to(1, kTable, 1, 100 * 200, 1));
    ASSERT_TRUE(pair.run(1min));
    EXPECT_LT(pair.now(), base::Instant{5ms});
    EXPECT_EQ(pair.side(0).counters().segments_again, 3U);
}

TEST(Rmpp, ADoubledPacketStartsNoChain) {
    RmppPair pair({}, {.doubling = 0.05}, 1);
    pair.send(0, message_to(1, kTable, 1, 5000 * 200, 1));
    ASSERT_TRUE(pair.run(1min));
    EXPECT_LT(pair.side(0).counters().segments_again, 20U);
}

TEST(Rmpp, SegmentsOfATransferThatEndedLongAgoAreMute) {
    RmppPair pair({}, {}, 1);
    std::vector<WireMad> data;
    RmppOutputs out;
    Rmpp other{{}};
    other.send(message_to(1, kTable, 9, 10, 1), {}, out);
    WireMad first = out.wire.front();
    first.address = address_of(0);
    pair.deliver(1, first);
    EXPECT_EQ(pair.received(1).size(), 1U);
    EXPECT_EQ(pair.packets(), 1U);
    pair.deliver(1, first);
    EXPECT_EQ(pair.packets(), 2U) << "its ACK again";
    EXPECT_EQ(pair.received(1).size(), 1U);
    // Segment 2 of a transfer that never was.
    write_rmpp_header({.version = 1, .type = RmppType::data, .active = true, .segment = 2}, first.bytes);
    first.bytes[15] = 10;
    pair.deliver(1, first);
    EXPECT_EQ(pair.packets(), 2U);
}

// --- ends ---

TEST(Rmpp, DeadReceiver) {
    RmppPair pair({}, {.loss = 1}, 1);
    pair.send(0, message_to(1, kTable, 42, 5000, 1));
    ASSERT_TRUE(pair.run(1min));
    ASSERT_EQ(pair.ended(0).size(), 1U);
    EXPECT_EQ(pair.ended(0)[0].how, RmppEnd::timed_out);
    EXPECT_EQ(pair.ended(0)[0].status, static_cast<std::uint8_t>(RmppStatus::too_many_retries));
    EXPECT_EQ(pair.now(), base::Instant{62500us + 125ms + 250ms + 8 * 500ms})
        << "7 retries at the full time-out";
    EXPECT_EQ(pair.packets(), 1U + 3U + 7U + 1U) << "an ABORT in the end";
    EXPECT_FALSE(pair.side(0).next_deadline().has_value());
    EXPECT_EQ(pair.side(0).counters().failed, 1U);
}

TEST(Rmpp, ReceiverThatDiesOnTheWay) {
    RmppPair pair({}, {}, 1);
    pair.drop = [&pair](std::size_t from, const RmppHeader&) {
        return from == 1 && pair.now() > base::Instant{200us};
    };
    pair.send(0, message_to(1, kTable, 42, 500'000, 1));
    ASSERT_TRUE(pair.run(1min));
    ASSERT_EQ(pair.ended(0).size(), 1U);
    EXPECT_EQ(pair.ended(0)[0].how, RmppEnd::timed_out);
    EXPECT_GT(pair.now(), base::Instant{7 * 500ms}) << "the quick retries do not count";
    // Our ABORT ended it there too.
    ASSERT_EQ(pair.ended(1).size(), 1U);
    EXPECT_EQ(pair.ended(1)[0].how, RmppEnd::aborted);
    EXPECT_EQ(pair.ended(1)[0].status, static_cast<std::uint8_t>(RmppStatus::too_many_retries));
    EXPECT_EQ(pair.side(1).receive_bytes(), 0U);
}

TEST(Rmpp, SenderThatDiesOnTheWay) {
    RmppPair pair({}, {}, 1);
    pair.send(0, message_to(1, kTable, 42, 500'000, 1));
    for (int i = 0; i < 100; ++i) {
        pair.step(pair.now() + 1s);
    }
    const base::Instant died = pair.now();
    EXPECT_EQ(pair.side(1).receiving(), 1U);
    pair.side(0).forget(address_of(1), 42);
    EXPECT_EQ(pair.side(0).sending(), 0U);
    ASSERT_TRUE(pair.run(1min));
    ASSERT_EQ(pair.ended(1).size(), 1U);
    EXPECT_EQ(pair.ended(1)[0].how, RmppEnd::timed_out);
    EXPECT_FALSE(pair.ended(1)[0].sending);
    EXPECT_EQ(pair.ended(1)[0].status, static_cast<std::uint8_t>(RmppStatus::too_long));
    EXPECT_LE(pair.now(), died + 2 * 8 * 500ms + 1ms);
    EXPECT_TRUE(pair.ended(0).empty()) << "forgotten without a word";
}

/// A packet of the receiver's, for the transfer of TID 42 that side 0 sends.
WireMad from_receiver(const RmppHeader& rmpp) {
    WireMad mad;
    const RmppMessage message = message_to(0, SaMethod::get_table, 42, 0, 1);
    std::copy(message.header.begin(), message.header.end(), mad.bytes.begin());
    write_rmpp_header(rmpp, mad.bytes);
    mad.address = address_of(1);
    return mad;
}

RmppHeader header(RmppType type, std::uint32_t segment, std::uint32_t length, std::uint8_t status) {
    return {.version = 1,
            .type = type,
            .active = true,
            .status = status,
            .segment = segment,
            .payload_length = length};
}

struct Broken {
    const char* what;
    RmppHeader rmpp;
    RmppEnd how;
    RmppStatus status;
    bool answered;  ///< by an ABORT
};

TEST(Rmpp, WhatEndsASend) {
    RmppHeader version = header(RmppType::ack, 1, 2, 0);
    version.version = 2;
    const Broken cases[] = {
        {"STOP", header(RmppType::stop, 0, 0, 1), RmppEnd::stopped, RmppStatus::resources, false},
        {"ABORT", header(RmppType::abort, 0, 0, 127), RmppEnd::aborted, RmppStatus::unspecified, false},
        {"window too small", header(RmppType::ack, 1, 0, 0), RmppEnd::protocol, RmppStatus::window_too_small,
         true},
        {"not sent yet", header(RmppType::ack, 2, 5, 0), RmppEnd::protocol, RmppStatus::segment_too_big,
         true},
        {"status in an ACK", header(RmppType::ack, 1, 5, 3), RmppEnd::protocol, RmppStatus::bad_status, true},
        {"no such type", header(static_cast<RmppType>(9), 1, 5, 0), RmppEnd::protocol, RmppStatus::bad_type,
         true},
        {"no such version", version, RmppEnd::protocol, RmppStatus::bad_version, true},
    };
    for (const Broken& broken : cases) {
        SCOPED_TRACE(broken.what);
        Rmpp rmpp{{}};
        RmppOutputs out;
        rmpp.send(message_to(1, kTable, 42, 5000, 1), {}, out);
        out = {};
        EXPECT_TRUE(rmpp.on_receive(from_receiver(broken.rmpp), {}, out));
        ASSERT_EQ(out.ended.size(), 1U);
        EXPECT_EQ(out.ended[0].how, broken.how);
        EXPECT_EQ(out.ended[0].status, static_cast<std::uint8_t>(broken.status));
        EXPECT_EQ(rmpp.sending(), 0U);
        EXPECT_FALSE(rmpp.next_deadline().has_value());
        ASSERT_EQ(out.wire.size(), broken.answered ? 1U : 0U);
        if (broken.answered) {
            EXPECT_EQ(rmpp_of(out.wire[0]).type, RmppType::abort);
            EXPECT_EQ(rmpp_of(out.wire[0]).status, static_cast<std::uint8_t>(broken.status));
            EXPECT_EQ(out.wire[0].bytes[3], 0x92);
        }
    }
}

/// The first packet of a message of three segments, and then the broken one.
TEST(Rmpp, WhatEndsAReceive) {
    RmppHeader first_again = header(RmppType::data, 2, 0, 0);
    first_again.first = true;
    RmppHeader long_last = header(RmppType::data, 2, 221, 0);
    long_last.last = true;
    RmppHeader short_last = header(RmppType::data, 2, 19, 0);
    short_last.last = true;
    const Broken cases[] = {
        {"STOP", header(RmppType::stop, 0, 0, 1), RmppEnd::stopped, RmppStatus::resources, false},
        {"ABORT", header(RmppType::abort, 0, 0, 126), RmppEnd::aborted, RmppStatus::too_many_retries, false},
        {"First and segment 2", first_again, RmppEnd::protocol, RmppStatus::bad_segment, true},
        {"segment 1 without First", header(RmppType::data, 1, 0, 0), RmppEnd::protocol,
         RmppStatus::bad_segment, true},
        {"segment 0", header(RmppType::data, 0, 0, 0), RmppEnd::protocol, RmppStatus::bad_segment, true},
        {"status in data", header(RmppType::data, 2, 0, 1), RmppEnd::protocol, RmppStatus::bad_status, true},
        {"last too long", long_last, RmppEnd::protocol, RmppStatus::bad_length, true},
        {"last too short", short_last, RmppEnd::protocol, RmppStatus::bad_length, true},
    };
    for (const Broken& broken : cases) {
        SCOPED_TRACE(broken.what);
        Rmpp sender{{}};
        RmppOutputs out;
        sender.send(message_to(1, kTable, 42, 500, 1), {}, out);
        WireMad data = out.wire.front();
        data.address = address_of(0);
        Rmpp rmpp{{}};
        out = {};
        EXPECT_TRUE(rmpp.on_receive(data, {}, out));
        ASSERT_EQ(rmpp.receiving(), 1U);
        out = {};
        write_rmpp_header(broken.rmpp, data.bytes);
        EXPECT_TRUE(rmpp.on_receive(data, {}, out));
        ASSERT_EQ(out.ended.size(), 1U);
        EXPECT_FALSE(out.ended[0].sending);
        EXPECT_EQ(out.ended[0].how, broken.how);
        EXPECT_EQ(out.ended[0].status, static_cast<std::uint8_t>(broken.status));
        EXPECT_EQ(out.wire.size(), broken.answered ? 1U : 0U);
        EXPECT_EQ(rmpp.receiving(), 0U);
        EXPECT_EQ(rmpp.receive_bytes(), 0U);
        EXPECT_FALSE(rmpp.next_deadline().has_value());
    }
}

TEST(Rmpp, ASegmentBehindTheLastEndsAReceive) {
    Rmpp rmpp{{}};
    RmppOutputs out;
    Rmpp sender{{}};
    sender.send(message_to(1, kTable, 42, 5000, 1), {}, out);
    WireMad data = out.wire.front();
    data.address = address_of(0);
    const auto give = [&](std::uint32_t segment, bool last) {
        RmppHeader rmpp_header = header(RmppType::data, segment, last ? 220 : 0, 0);
        rmpp_header.first = segment == 1;
        rmpp_header.last = last;
        write_rmpp_header(rmpp_header, data.bytes);
        rmpp.on_receive(data, {}, out);
    };
    give(1, false);
    give(5, true);
    give(6, false);
    ASSERT_EQ(out.ended.size(), 1U);
    EXPECT_EQ(out.ended[0].how, RmppEnd::protocol);
    out = {};
    give(1, false);
    give(5, false);
    give(4, true);
    ASSERT_EQ(out.ended.size(), 1U);
    EXPECT_EQ(out.ended[0].status, static_cast<std::uint8_t>(RmppStatus::unspecified));
}

TEST(Rmpp, AStopEndsOneOfTwoTransfersUnderOneTid) {
    // Ours is a request, theirs an answer to another one: the STOP of our request has the method of their
    // data.
    RmppPair pair({}, {}, 1);
    pair.send(1, message_to(0, SaMethod::get_table, 42, 5000, 1));
    pair.send(0, message_to(1, kTable, 42, 5000, 2));
    for (int i = 0; i < 6; ++i) {
        pair.step(pair.now() + 1s);
    }
    EXPECT_EQ(pair.side(0).receiving(), 1U);
    EXPECT_EQ(pair.side(0).sending(), 1U);
    pair.deliver(0, from_receiver(header(RmppType::stop, 0, 0, 1)));
    EXPECT_EQ(pair.side(0).sending(), 0U);
    EXPECT_EQ(pair.side(0).receiving(), 1U);
}

TEST(Rmpp, NoAbortIsAnswered) {
    Rmpp rmpp{{}};
    RmppOutputs out;
    for (const RmppType type : {RmppType::stop, RmppType::abort}) {
        RmppHeader odd = header(type, 5, 5, 77);
        odd.version = 9;
        EXPECT_TRUE(rmpp.on_receive(from_receiver(odd), {}, out));
    }
    EXPECT_TRUE(out.wire.empty() && out.ended.empty());
}

// --- limits ---

TEST(Rmpp, LimitsOfSending) {
    Rmpp rmpp{{.transfers = 5, .per_peer = 2, .message_bytes = 1000}};
    RmppOutputs out;
    const auto refused = [&](std::uint16_t lid, std::uint64_t tid, std::size_t bytes) {
        out = {};
        RmppMessage message = message_to(1, kTable, tid, bytes, 1);
        message.peer.lid = Lid{lid};
        rmpp.send(message, {}, out);
        EXPECT_EQ(out.ended.size() + out.wire.size(), 1U);
        return !out.ended.empty() && out.ended[0].how == RmppEnd::refused;
    };
    EXPECT_TRUE(refused(1, 1, 1001)) << "too long";
    EXPECT_FALSE(refused(1, 1, 1000));
    EXPECT_TRUE(refused(1, 1, 10)) << "TID in use";
    EXPECT_FALSE(refused(1, 2, 10));
    EXPECT_TRUE(refused(1, 3, 10)) << "peer's share";
    EXPECT_FALSE(refused(2, 1, 10));
    EXPECT_FALSE(refused(2, 2, 10));
    EXPECT_FALSE(refused(3, 1, 10));
    EXPECT_TRUE(refused(4, 1, 10)) << "all";
    EXPECT_EQ(rmpp.sending(), 5U);
    EXPECT_EQ(rmpp.counters().refused, 4U);
    RmppMessage other_class = message_to(1, kTable, 99, 10, 1);
    other_class.header[1] = 0x04;
    out = {};
    rmpp.send(other_class, {}, out);
    ASSERT_EQ(out.ended.size(), 1U);
    EXPECT_EQ(out.ended[0].how, RmppEnd::refused) << "no ACK of it would be recognized";
    rmpp.forget(address_at(1), std::nullopt);
    EXPECT_EQ(rmpp.sending(), 3U);
    rmpp.forget(address_at(2), 2);
    EXPECT_EQ(rmpp.sending(), 2U);
    EXPECT_FALSE(refused(1, 1, 10));
}

TEST(Rmpp, LimitsOfReceivingAreSaidByStop) {
    Rmpp rmpp{{.transfers = 3, .per_peer = 2, .message_bytes = 1000}};
    RmppOutputs out;
    const auto stopped = [&](std::uint16_t lid, std::uint64_t tid, std::size_t bytes) {
        RmppOutputs first;
        Rmpp sender{{}};
        sender.send(message_to(1, kTable, tid, bytes, 1), {}, first);
        WireMad data = first.wire.front();
        data.address.lid = Lid{lid};
        out = {};
        rmpp.on_receive(data, {}, out);
        EXPECT_EQ(out.wire.size(), 1U);
        const bool stop = rmpp_of(out.wire.at(0)).type == RmppType::stop;
        EXPECT_EQ(out.ended.size(), stop ? 1U : 0U);
        EXPECT_EQ(rmpp_of(out.wire.at(0)).status, stop ? 1 : 0);
        return stop;
    };
    EXPECT_TRUE(stopped(1, 1, 3000)) << "its first packet says that it is too long";
    EXPECT_FALSE(stopped(1, 1, 1000));
    EXPECT_FALSE(stopped(1, 2, 1000));
    EXPECT_TRUE(stopped(1, 3, 1000)) << "peer's share";
    EXPECT_FALSE(stopped(2, 1, 1000));
    EXPECT_TRUE(stopped(3, 1, 1000)) << "all";
    EXPECT_FALSE(stopped(1, 1, 1000)) << "one that is open";
    EXPECT_EQ(rmpp.receiving(), 3U);
}

TEST(Rmpp, AMessageThatHidItsLengthIsStoppedOnTheWay) {
    RmppPair pair({.message_bytes = 100'000}, {}, 1);
    RmppOutputs out;
    Rmpp sender{{}};
    sender.send(message_to(1, kTable, 42, 300'000, 1), {}, out);
    WireMad data = out.wire.front();
    data.address = address_of(0);
    for (std::uint32_t segment = 1; segment <= 501; ++segment) {
        RmppHeader rmpp = header(RmppType::data, segment, 0, 0);
        rmpp.first = segment == 1;
        write_rmpp_header(rmpp, data.bytes);
        pair.deliver(1, data);
        EXPECT_LE(pair.side(1).receive_bytes(), 100'000U);
    }
    ASSERT_EQ(pair.ended(1).size(), 1U) << "at segment 501";
    EXPECT_EQ(pair.ended(1)[0].how, RmppEnd::refused);
    EXPECT_EQ(pair.side(1).receive_bytes(), 0U);
}

TEST(Rmpp, AllMessagesTogetherAreBounded) {
    RmppPair pair({.per_peer = 64, .receive_bytes = 300'000}, {}, 1);
    for (std::uint64_t tid = 0; tid < 10; ++tid) {
        pair.send(0, message_to(1, kTable, tid, 100'000, tid));
    }
    std::size_t most = 0;
    while (pair.step(pair.now() + 1s)) {
        most = std::max(most, pair.side(1).receive_bytes());
    }
    EXPECT_LE(most, 300'000U);
    EXPECT_GT(most, 200'000U);
    EXPECT_GE(pair.received(1).size(), 1U);
    EXPECT_EQ(pair.received(1).size() + pair.ended(1).size(), 10U) << "the others were refused";
    for (const auto& ended : pair.ended(1)) {
        EXPECT_EQ(ended.how, RmppEnd::refused);
    }
    std::size_t stopped = 0;
    for (const auto& ended : pair.ended(0)) {
        stopped += ended.how == RmppEnd::stopped ? 1 : 0;
    }
    EXPECT_EQ(stopped, pair.ended(1).size());
}

TEST(Rmpp, GarbageIsBounded) {
    const RmppLimits limits{
        .transfers = 64, .per_peer = 4, .message_bytes = 20'000, .receive_bytes = 100'000};
    Rmpp rmpp{limits};
    base::Prng prng{99};
    base::Instant now{};
    std::size_t most_receiving = 0;
    for (int i = 0; i < 300'000; ++i) {
        WireMad mad;
        mad.bytes = random_bytes<MadBuffer>(prng);
        mad.bytes[0] = 1;
        mad.bytes[1] = 3;
        mad.bytes[3] = prng.below(2) == 0 ? 0x12 : 0x92;
        std::fill(mad.bytes.begin() + 8, mad.bytes.begin() + 15, std::uint8_t{0});
        mad.bytes[15] = static_cast<std::uint8_t>(prng.below(16));
        const auto segment = static_cast<std::uint32_t>(prng.below(40));
        const bool wild = prng.below(16) == 0;
        write_rmpp_header({.version = static_cast<std::uint8_t>(wild ? prng.below(3) : 1),
                           .type = static_cast<RmppType>(wild                  ? prng.below(6)
                                                         : prng.below(10) == 0 ? 2
                                                                               : 1),
                           .active = true,
                           .first = wild ? prng.below(2) == 0 : segment == 1,
                           .last = prng.below(30) == 0,
                           .status = static_cast<std::uint8_t>(wild ? prng.next() : 0),
                           .segment = segment,
                           .payload_length = static_cast<std::uint32_t>(prng.below(300))},
                          mad.bytes);
        mad.address = address_at(static_cast<std::uint16_t>(prng.below(40)));
        RmppOutputs out;
        now += base::Duration{static_cast<std::int64_t>(prng.below(2'000'000))};
        if (prng.below(50) == 0) {
            RmppMessage message = message_to(1, kTable, prng.below(16), prng.below(5000), 1);
            message.peer = mad.address;
            rmpp.send(message, now, out);
        }
        EXPECT_TRUE(rmpp.on_receive(mad, now, out));
        rmpp.on_time(now, out);
        EXPECT_LE(rmpp.receive_bytes(), limits.receive_bytes);
        most_receiving = std::max(most_receiving, rmpp.receiving());
        ASSERT_LE(rmpp.sending(), limits.transfers);
        EXPECT_EQ(rmpp.next_deadline().has_value(), rmpp.sending() + rmpp.receiving() > 0);
    }
    EXPECT_LE(most_receiving, limits.transfers);
    EXPECT_GT(most_receiving, 32U) << "the garbage gets that far";
    EXPECT_GT(rmpp.counters().received, 100U);
    RmppOutputs out;
    rmpp.on_time(now + 1min, out);
    EXPECT_EQ(rmpp.receiving(), 0U);
    EXPECT_EQ(rmpp.receive_bytes(), 0U);
}

// --- double-sided ---

TEST(Rmpp, RequestAndAnswerUnderOneTid) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        RmppPair pair({}, {.loss = seed == 0 ? 0 : 0.1, .doubling = 0.05, .jitter = 50us}, seed);
        const RmppMessage request = message_to(1, SaMethod::get_multi, 7, 3000, 1);
        const RmppMessage answer = message_to(0, SaMethod::get_multi_resp, 7, 9000, 2);
        pair.send(0, request);
        bool answered = false;
        while (pair.step(pair.now() + 1min)) {
            if (!answered && !pair.received(1).empty()) {
                answered = true;
                pair.send(1, answer);
            }
        }
        ASSERT_EQ(pair.received(1).size(), 1U) << seed;
        ASSERT_EQ(pair.received(0).size(), 1U) << seed;
        EXPECT_TRUE(same(request, pair.received(1)[0]));
        EXPECT_TRUE(same(answer, pair.received(0)[0]));
        ASSERT_EQ(pair.ended(0).size(), 1U);
        EXPECT_EQ(pair.ended(0)[0].how, RmppEnd::delivered);
        ASSERT_EQ(pair.ended(1).size(), 1U);
        EXPECT_EQ(pair.ended(1)[0].how, RmppEnd::delivered);
        EXPECT_EQ(pair.beyond_window(), 0U);
    }
}

TEST(Rmpp, TheAnswerAcknowledgesTheRequest) {
    RmppPair pair({}, {}, 1);
    pair.drop = [](std::size_t from, const RmppHeader& rmpp) {
        return from == 1 && rmpp.type == RmppType::ack && rmpp.segment == 3;
    };
    pair.send(0, message_to(1, SaMethod::get_multi, 7, 600, 1));
    while (pair.received(1).empty()) {
        ASSERT_TRUE(pair.step(pair.now() + 1s));
    }
    pair.send(1, message_to(0, SaMethod::get_multi_resp, 7, 10, 2));
    ASSERT_TRUE(pair.run(10ms));
    ASSERT_EQ(pair.ended(0).size(), 1U);
    EXPECT_EQ(pair.ended(0)[0].how, RmppEnd::delivered);
}

TEST(Rmpp, TheTurnOpensTheWindow) {
    // As the receiver of the request: an ACK of segment 0 by its sender grants 5 segments of the answer.
    RmppPair pair({}, {}, 1);
    pair.send(0, message_to(1, SaMethod::get_multi, 42, 10, 1));
    ASSERT_TRUE(pair.run(1s));
    // Request, its ACK, and the turn.
    EXPECT_EQ(pair.packets(), 3U);
    WireMad turn = from_receiver(header(RmppType::ack, 0, 5, 0));
    turn.bytes[3] = 0x14;
    turn.address = address_of(0);
    pair.deliver(1, turn);
    EXPECT_EQ(pair.packets(), 3U);
    EXPECT_TRUE(pair.ended(1).empty());
    RmppOutputs out;
    pair.side(1).send(message_to(0, SaMethod::get_multi_resp, 42, 5000, 1), pair.now(), out);
    EXPECT_EQ(out.wire.size(), 5U);
    // The same for a transfer that never was.
    turn.bytes[15] = 43;
    pair.deliver(1, turn);
    EXPECT_EQ(pair.packets(), 3U);
}

TEST(Rmpp, ARepeatedLastAckOfARequestIsTurnedAgain) {
    RmppPair pair({}, {}, 1);
    pair.keep_transcript = true;
    pair.send(0, message_to(1, SaMethod::get_multi, 42, 10, 1));
    ASSERT_TRUE(pair.run(1s));
    WireMad ack = from_receiver(header(RmppType::ack, 1, 33, 0));
    ack.bytes[3] = 0x94;
    pair.deliver(0, ack);
    EXPECT_EQ(pair.packets(), 4U);
    EXPECT_TRUE(pair.transcript().back().ends_with(" 0 2 0 1")) << pair.transcript().back();
}

}  // namespace
}  // namespace ibf::mad
