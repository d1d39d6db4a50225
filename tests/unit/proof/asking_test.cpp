#include "probe/proof/asking.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "mad/codec.hpp"

namespace ibf::probe {
namespace {

Question smp(std::uint32_t device) {
    return {.device = device, .attribute = mad::Attribute::node_info};
}
Question perf(std::uint32_t device) {
    return {.device = device,
            .is_perf = true,
            .perf = mad::PerfAttribute::port_counters,
            .port = mad::PortNum{1},
            .lid = mad::Lid{static_cast<std::uint16_t>(10 + device)}};
}

mad::WireMad answered(mad::WireMad request, std::uint8_t status, std::uint8_t mark) {
    request.bytes[3] = 0x81;
    if (request.bytes[1] == 0x81) {
        request.bytes[4] = 0x80;  // on its way back
    }
    request.bytes[5] = status;
    request.bytes[64] = mark;
    return request;
}

class AskingTest : public ::testing::Test {
protected:
    std::vector<mad::WireMad> sent() {
        std::vector<mad::WireMad> out;
        asking.poll_send(now, out);
        for (const mad::WireMad& mad : out) {
            EXPECT_EQ(mad.bytes[3], 0x01) << "nothing but Gets";
        }
        return out;
    }
    Asking asking{
        {.smp = {.window_total = 8, .retries = 1, .timeout = std::chrono::milliseconds{100}, .queue_max = 4},
         .perf = {.window_total = 8, .retries = 1, .timeout = std::chrono::milliseconds{100}}}};
    base::Instant now{};
};

TEST_F(AskingTest, AnswersComeInTheOrderOfTheQuestions) {
    // More than the queue of SMPs holds, and both kinds.
    std::vector<Question> questions;
    for (std::uint32_t i = 0; i < 40; ++i) {
        questions.push_back(i % 2 == 0 ? smp(i) : perf(i));
    }
    asking.start(questions);
    std::size_t smps = 0;
    for (auto out = sent(); !asking.done() && !out.empty(); out = sent()) {
        std::reverse(out.begin(), out.end());
        for (const mad::WireMad& mad : out) {
            const bool is_smp = mad.bytes[1] == 0x81;
            smps += is_smp ? 1U : 0U;
            // A perf Get tells by its LID which one it is, SMPs by what is in them: nothing; refuse those.
            asking.on_receive(is_smp ? answered(mad, 0x0C, 0)
                                     : answered(mad, 0, static_cast<std::uint8_t>(mad.address.lid.value())),
                              now);
        }
    }
    ASSERT_TRUE(asking.done());
    EXPECT_EQ(smps, 20U);
    const std::vector<Answer> answers = asking.take();
    ASSERT_EQ(answers.size(), 40U);
    for (std::uint32_t i = 0; i < 40; ++i) {
        if (i % 2 == 0) {
            EXPECT_EQ(answers[i].kind, Answer::Kind::refused);
            EXPECT_EQ(answers[i].status, 0x0C);
        } else {
            EXPECT_TRUE(answers[i].ok());
            EXPECT_EQ(answers[i].data[0], 10 + i);
        }
    }
}

TEST_F(AskingTest, SilenceEnds) {
    asking.start(std::vector<Question>{smp(0), perf(1), perf(2)});
    for (const mad::WireMad& mad : sent()) {
        if (mad.address.lid == mad::Lid{12}) {
            asking.on_receive(answered(mad, 0, 1), now);
        }
    }
    EXPECT_FALSE(asking.done());
    int rounds = 0;
    while (!asking.done() && asking.next_deadline() && ++rounds < 10) {
        now = *asking.next_deadline();
        asking.on_time(now);
        static_cast<void>(sent());
    }
    EXPECT_TRUE(asking.done());
    const auto answers = asking.take();
    EXPECT_EQ(answers[0].kind, Answer::Kind::silent);
    EXPECT_EQ(answers[1].kind, Answer::Kind::silent);
    EXPECT_TRUE(answers[2].ok());
}

TEST_F(AskingTest, WhatIsTakenEarlyIsForgotten) {
    asking.start(std::vector<Question>{smp(0), perf(1)});
    const auto out = sent();
    EXPECT_EQ(asking.take().size(), 2U);
    asking.start(std::vector<Question>{smp(0)});
    for (const mad::WireMad& mad : out) {
        asking.on_receive(answered(mad, 0, 1), now);
    }
    EXPECT_FALSE(asking.done()) << "answers to the batch before";
}

TEST_F(AskingTest, AnSmpThatDoesNotLeaveIsSilent) {
    asking.start(std::vector<Question>{smp(0)});
    const auto out = sent();
    ASSERT_EQ(out.size(), 1U);
    asking.on_send_error(out[0], now);
    EXPECT_TRUE(asking.done());
    EXPECT_EQ(asking.take()[0].kind, Answer::Kind::silent);
}

}  // namespace
}  // namespace ibf::probe
