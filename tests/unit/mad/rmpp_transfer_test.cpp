#include "mad/rmpp_transfer.hpp"

#include <gtest/gtest.h>

#include "tests/unit/mad/rmpp_pair.hpp"

namespace ibf::mad {
namespace {

using namespace std::chrono_literals;

TEST(RoundTripTimer, FollowsTheMeasurements) {
    RoundTripTimer timer(512ms);
    EXPECT_EQ(timer.wait(), 64ms) << "none yet";
    timer.measured(10ms);
    EXPECT_EQ(timer.wait(), 30ms) << "RFC 6298: the first R, and R/2 four times";
    for (int i = 0; i < 100; ++i) {
        timer.measured(10ms);
    }
    EXPECT_EQ(timer.wait(), 16ms) << "steady";
    timer.measured(100ms);
    EXPECT_GT(timer.wait(), 90ms) << "and then not";
    timer.measured(10s);
    EXPECT_EQ(timer.wait(), 512ms);
}

TEST(RoundTripTimer, DoublesToTheLongestAndComesBackStepByStep) {
    RoundTripTimer timer(512ms);
    timer.measured(1us);
    for (const auto wait : {16ms, 32ms, 64ms, 128ms, 256ms, 512ms, 512ms}) {
        EXPECT_EQ(timer.wait(), wait);
        EXPECT_EQ(timer.at_longest(), wait == 512ms);
        timer.back_off();
    }
    for (const auto wait : {256ms, 128ms, 64ms, 32ms, 16ms, 16ms}) {
        timer.progress();
        EXPECT_EQ(timer.wait(), wait);
    }
}

RmppHeader ack(std::uint32_t segment, std::uint32_t window_last) {
    return {.version = 1,
            .type = RmppType::ack,
            .active = true,
            .segment = segment,
            .payload_length = window_last};
}

std::vector<std::uint32_t> segments(std::vector<WireMad>& out) {
    std::vector<std::uint32_t> numbers;
    for (const WireMad& mad : std::exchange(out, {})) {
        numbers.push_back(rmpp_of(mad).segment);
    }
    return numbers;
}

using Segments = std::vector<std::uint32_t>;

class SendTest : public testing::Test {
protected:
    SendTest() { transfer.start(base::Instant{}, out); }

    Segments acked(std::uint32_t segment, std::uint32_t window_last) {
        const RmppSend::Acked acked = transfer.on_ack(ack(segment, window_last), now += 1ms, out);
        EXPECT_EQ(acked.refusal, RmppStatus::normal);
        delivered = acked.delivered;
        return segments(out);
    }

    std::vector<WireMad> out;
    RmppSend transfer{message_to(1, SaMethod::get_table_resp, 1, 2000, 1), 1, {}};
    base::Instant now{};
    bool delivered = false;
};

TEST_F(SendTest, FollowsTheWindow) {
    EXPECT_EQ(segments(out), (Segments{1}));
    EXPECT_EQ(acked(0, 1), Segments{}) << "nothing new";
    EXPECT_EQ(acked(1, 4), (Segments{2, 3, 4}));
    EXPECT_EQ(acked(2, 4), Segments{});
    EXPECT_EQ(acked(2, 6), (Segments{5, 6}));
    EXPECT_EQ(acked(1, 9), Segments{}) << "overtaken: segment before the last acknowledged";
    EXPECT_EQ(acked(3, 5), Segments{}) << "overtaken: smaller window";
    EXPECT_EQ(acked(6, 100), (Segments{7, 8, 9, 10}));
    EXPECT_TRUE(transfer.all_sent());
    EXPECT_FALSE(delivered);
    EXPECT_EQ(acked(10, 100), Segments{});
    EXPECT_TRUE(delivered);
    EXPECT_EQ(transfer.segments_out(), 10U);
    EXPECT_EQ(transfer.segments_again(), 0U);
}

TEST_F(SendTest, GoesBackOnSilence) {
    EXPECT_EQ(acked(1, 4), (Segments{1, 2, 3, 4}));
    EXPECT_EQ(acked(2, 4), Segments{});
    EXPECT_TRUE(transfer.on_deadline(now += 1s, out));
    EXPECT_EQ(segments(out), (Segments{3, 4})) << "no further than the window";
    EXPECT_EQ(transfer.segments_again(), 2U);
}

TEST_F(SendTest, AsksAClosedWindowByItsLastSegment) {
    EXPECT_EQ(acked(1, 3), (Segments{1, 2, 3}));
    EXPECT_EQ(acked(3, 3), Segments{});
    EXPECT_TRUE(transfer.on_deadline(now += 1s, out));
    EXPECT_EQ(segments(out), (Segments{3}));
    EXPECT_EQ(acked(3, 4), (Segments{4}));
}

TEST_F(SendTest, FillsTheGapOnTheSecondRepeat) {
    EXPECT_EQ(acked(1, 9), (Segments{1, 2, 3, 4, 5, 6, 7, 8, 9}));
    EXPECT_EQ(acked(3, 9), Segments{});
    EXPECT_EQ(acked(3, 9), Segments{});
    EXPECT_EQ(acked(3, 9), (Segments{4}));
    EXPECT_EQ(acked(3, 9), Segments{}) << "once";
    EXPECT_EQ(acked(6, 9), (Segments{7})) << "the next gap of the same flight";
    EXPECT_EQ(acked(9, 12), (Segments{10}));
    EXPECT_EQ(acked(9, 12), Segments{});
    EXPECT_EQ(acked(9, 12), (Segments{10}));
}

TEST_F(SendTest, GivesUpAfterFullTimeoutsOnly) {
    acked(1, 9);  // measured: 1 ms
    int sends = 0;
    while (transfer.on_deadline(now = transfer.deadline(), out)) {
        ++sends;
    }
    EXPECT_EQ(sends, 5 + RmppLimits{}.retries) << "15.6, 31, 62, 125 and 250 ms do not count";
}

TEST_F(SendTest, ProgressGivesTheRetriesBack) {
    for (std::uint32_t segment = 1; segment < 9; ++segment) {
        // From the second on, the wait starts as the last one ended, at its longest, and one step down.
        const int most = (segment == 1 ? 3 : 1) + RmppLimits{}.retries;
        for (int i = 0; i < most; ++i) {
            ASSERT_TRUE(transfer.on_deadline(now = transfer.deadline(), out)) << segment << " " << i;
        }
        acked(segment, segment + 1);
    }
}

TEST(RmppSend, AHugeWindowIsNoBurstWithoutBound) {
    std::vector<WireMad> out;
    RmppSend transfer(message_to(1, SaMethod::get_table_resp, 1, 3'000'000, 1), 1, {});
    transfer.start({}, out);
    EXPECT_EQ(transfer.on_ack(ack(1, 0xFFFFFFFF), {}, out).refusal, RmppStatus::normal);
    EXPECT_EQ(out.size(), 1U + 1024);
}

// --- receiving ---

class ReceiveTest : public testing::Test {
protected:
    static WireMad packet(std::uint32_t segment, bool last) {
        WireMad mad;
        mad.bytes[kSaHeaderBytes] = static_cast<std::uint8_t>(segment);
        write_rmpp_header({.version = 1,
                           .type = RmppType::data,
                           .active = true,
                           .first = segment == 1,
                           .last = last,
                           .segment = segment,
                           .payload_length = last ? 30U : 0U},
                          mad.bytes);
        return mad;
    }

    RmppReceive::Taken give(std::uint32_t segment, bool last = false) {
        const WireMad mad = packet(segment, last);
        return transfer.on_data(mad, rmpp_of(mad), 1'000'000);
    }

    /// "answered segment/window", "silent".
    std::string said(const RmppReceive::Taken& taken) const {
        return taken.answer
                   ? std::to_string(transfer.acknowledged()) + "/" + std::to_string(transfer.window_last())
                   : "silent";
    }

    RmppReceive transfer{packet(1, false), {.window = 8}};
};

TEST_F(ReceiveTest, AnswersHalfAWindow) {
    EXPECT_EQ(said(give(1)), "1/9");
    EXPECT_EQ(said(give(2)), "silent");
    EXPECT_EQ(said(give(3)), "silent");
    EXPECT_EQ(said(give(4)), "silent");
    EXPECT_EQ(said(give(5)), "5/13");
    EXPECT_EQ(said(give(6)), "silent");
    EXPECT_EQ(said(give(14)), "silent") << "beyond the window";
    const RmppReceive::Taken last = give(7, true);
    EXPECT_TRUE(last.whole);
    EXPECT_EQ(said(last), "7/15");
    const RmppMessage message = transfer.take();
    EXPECT_EQ(message.data->size(), 6 * 200U + 10);
    for (std::size_t segment = 1; segment <= 7; ++segment) {
        EXPECT_EQ((*message.data)[(segment - 1) * 200], segment);
    }
}

TEST_F(ReceiveTest, AnswersAGapSomeTimesAndThenItsFilling) {
    give(1);
    EXPECT_EQ(said(give(3)), "1/9");
    EXPECT_EQ(said(give(4)), "1/9");
    EXPECT_EQ(said(give(4)), "1/9") << "repeated beyond the gap";
    EXPECT_EQ(said(give(6)), "1/9");
    EXPECT_EQ(said(give(7)), "silent");
    EXPECT_EQ(said(give(2)), "4/12") << "up to the next gap";
    EXPECT_EQ(said(give(5)), "silent") << "no gap is left";
    EXPECT_EQ(said(give(8)), "8/16");
}

TEST_F(ReceiveTest, AnswersWhatIsRepeated) {
    give(1);
    give(2);
    EXPECT_EQ(said(give(1)), "2/10");
    EXPECT_EQ(said(give(2)), "2/10");
}

TEST_F(ReceiveTest, TakesNoRoomThatIsNotThere) {
    give(1);
    const WireMad mad = packet(2, false);
    const std::size_t before = transfer.footprint();
    EXPECT_EQ(transfer.on_data(mad, rmpp_of(mad), 100).refusal, RmppStatus::resources);
    EXPECT_EQ(transfer.footprint(), before);
}

}  // namespace
}  // namespace ibf::mad
