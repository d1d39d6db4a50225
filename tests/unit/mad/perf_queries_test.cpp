#include "mad/perf_queries.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace ibf::mad {
namespace {

using std::chrono::milliseconds;

class PerfQueriesTest : public ::testing::Test {
protected:
    void submit(std::uint32_t target, std::uint32_t count, std::uint16_t lid) {
        for (std::uint32_t i = 0; i < count; ++i) {
            queries.submit({.tag = next_tag++,
                            .target = target,
                            .attribute = PerfAttribute::port_counters,
                            .port = PortNum{1},
                            .lid = Lid{lid}});
        }
    }
    std::vector<WireMad> sent() {
        std::vector<WireMad> out;
        queries.poll_send(now, out);
        return out;
    }
    static WireMad answer_to(const WireMad& request, MadStatus status, const PerfData& data) {
        WireMad answer = request;
        answer.bytes[3] = 0x81;
        answer.bytes[4] = static_cast<std::uint8_t>(status >> 8U);
        answer.bytes[5] = static_cast<std::uint8_t>(status);
        std::copy(data.begin(), data.end(), answer.bytes.begin() + 64);
        return answer;
    }
    /// Until nothing is under way any more; how long it took.
    base::Duration run_out() {
        const base::Instant begin = now;
        while (const auto deadline = queries.next_deadline()) {
            now = *deadline;
            queries.on_time(now, answers);
            sends += sent().size();
        }
        return now - begin;
    }

    PerfQueries queries{{.window_total = 8, .window_target = 2, .retries = 2, .timeout = milliseconds{100}},
                        Tid{5}};
    base::Instant now{};
    std::uint64_t next_tag = 0;
    std::size_t sends = 0;
    std::vector<PerfAnswer> answers;
};

TEST_F(PerfQueriesTest, WindowsHoldAndAnswersMatch) {
    for (std::uint32_t target = 0; target < 6; ++target) {
        submit(target, 3, static_cast<std::uint16_t>(10 + target));
    }
    std::vector<WireMad> out = sent();
    EXPECT_EQ(out.size(), 8U) << "in all";
    for (std::uint16_t lid = 10; lid < 16; ++lid) {
        EXPECT_LE(std::count_if(out.begin(), out.end(),
                                [&](const WireMad& mad) { return mad.address.lid == Lid{lid}; }),
                  2);
    }
    EXPECT_EQ(out[0].address.qp, kPerfQp);
    EXPECT_EQ(out[0].address.qkey, kPerfQKey);
    std::size_t rounds = 0;
    while (!out.empty() && ++rounds < 100) {
        for (const WireMad& mad : out) {
            EXPECT_TRUE(queries.on_receive(answer_to(mad, 0, {}), answers));
            EXPECT_FALSE(queries.on_receive(answer_to(mad, 0, {}), answers)) << "twice";
        }
        out = sent();
    }
    EXPECT_EQ(answers.size(), 18U);
    EXPECT_TRUE(queries.idle());
}

TEST_F(PerfQueriesTest, LostOnesAreSentAgain) {
    submit(0, 1, 10);
    EXPECT_EQ(sent().size(), 1U);
    now += milliseconds{100};
    queries.on_time(now, answers);
    const std::vector<WireMad> again = sent();
    ASSERT_EQ(again.size(), 1U);
    EXPECT_TRUE(queries.on_receive(answer_to(again[0], 0x000C, {}), answers));
    ASSERT_EQ(answers.size(), 1U);
    EXPECT_EQ(answers[0].kind, PerfAnswer::Kind::error_status);
    EXPECT_EQ(answers[0].status, 0x000C);
}

TEST_F(PerfQueriesTest, ASilentDeviceCostsOneQuestionsTime) {
    submit(0, 100, 10);
    sends = sent().size();
    EXPECT_EQ(run_out(), milliseconds{300});
    EXPECT_EQ(answers.size(), 100U);
    EXPECT_LE(sends, 6U);
    EXPECT_TRUE(std::all_of(answers.begin(), answers.end(), [](const PerfAnswer& answer) {
        return answer.kind == PerfAnswer::Kind::timeout;
    }));
}

TEST_F(PerfQueriesTest, ABusyDeviceIsAskedAgainInTime) {
    submit(0, 1, 10);
    const std::vector<WireMad> out = sent();
    EXPECT_TRUE(queries.on_receive(answer_to(out[0], kStatusBusy, {}), answers));
    EXPECT_TRUE(answers.empty());
    now += milliseconds{100};
    queries.on_time(now, answers);
    const std::vector<WireMad> again = sent();
    ASSERT_EQ(again.size(), 1U);
    EXPECT_TRUE(queries.on_receive(answer_to(again[0], 0, {}), answers));
    EXPECT_EQ(answers.size(), 1U);
}

class Redirection : public PerfQueriesTest {
protected:
    ClassPortInfo elsewhere{.redirect_sl = Sl{3},
                            .redirect_lid = Lid{99},
                            .redirect_pkey = kPKeyDefaultFull,
                            .redirect_qp = 77,
                            .redirect_qkey = 0x11};
};

TEST_F(Redirection, IsFollowedAndRemembered) {
    submit(0, 1, 10);
    std::vector<WireMad> out = sent();
    EXPECT_TRUE(queries.on_receive(answer_to(out[0], kStatusRedirect, encode(elsewhere)), answers));
    EXPECT_TRUE(answers.empty());
    out = sent();
    ASSERT_EQ(out.size(), 1U);
    EXPECT_EQ(out[0].address.lid, Lid{99});
    EXPECT_EQ(out[0].address.qp, 77U);
    EXPECT_EQ(out[0].address.qkey, 0x11U);
    EXPECT_EQ(out[0].address.sl, Sl{3});
    EXPECT_TRUE(queries.on_receive(answer_to(out[0], 0, {}), answers));
    ASSERT_EQ(answers.size(), 1U);
    EXPECT_EQ(answers[0].kind, PerfAnswer::Kind::reply);
    submit(0, 1, 10);
    out = sent();
    ASSERT_EQ(out.size(), 1U);
    EXPECT_EQ(out[0].address.lid, Lid{99}) << "no second redirection";
}

TEST_F(Redirection, DoesNotGoRound) {
    submit(0, 1, 10);
    std::size_t asked = 0;
    for (std::vector<WireMad> out = sent(); !out.empty() && asked < 10; out = sent()) {
        ++asked;
        EXPECT_TRUE(queries.on_receive(answer_to(out[0], kStatusRedirect, encode(elsewhere)), answers));
    }
    EXPECT_EQ(asked, 2U);
    ASSERT_EQ(answers.size(), 1U);
    EXPECT_EQ(answers[0].status, kStatusRedirect);
}

TEST_F(Redirection, ToAGidOrAnotherPartitionIsNotFollowed) {
    ClassPortInfo by_gid = elsewhere;
    by_gid.redirect_lid = kLidNone;
    ClassPortInfo other_partition = elsewhere;
    other_partition.redirect_pkey = PKey{0x8005};
    for (const ClassPortInfo& info : {by_gid, other_partition}) {
        submit(0, 1, 10);
        const std::vector<WireMad> out = sent();
        EXPECT_TRUE(queries.on_receive(answer_to(out[0], kStatusRedirect, encode(info)), answers));
    }
    EXPECT_EQ(answers.size(), 2U);
    EXPECT_TRUE(queries.idle());
}

TEST_F(PerfQueriesTest, AbandonedOnesAreForgotten) {
    submit(0, 3, 10);
    const std::vector<WireMad> out = sent();
    queries.abandon_all();
    EXPECT_TRUE(queries.idle());
    EXPECT_FALSE(queries.on_receive(answer_to(out[0], 0, {}), answers));
    EXPECT_FALSE(queries.next_deadline());
}

}  // namespace
}  // namespace ibf::mad
