#include "probe/tool/test_report.hpp"

#include <gtest/gtest.h>

namespace ibf::probe::tool {
namespace {

SizeResult bandwidth(std::uint64_t size) {
    SizeResult one;
    one.spec.test = Test::write;
    one.spec.message_bytes = size;
    one.pair.initiator.messages = 1000;
    one.pair.initiator.bytes = 1000 * size;
    one.pair.initiator.elapsed = std::chrono::milliseconds{8};
    one.pair.target.checked = 64;
    return one;
}

SizeResult latency() {
    SizeResult one;
    one.spec.test = Test::ping;
    one.pair.initiator.messages = 3;
    for (const std::uint64_t nanoseconds : {1500U, 2500U, 12'340'000U}) {
        one.pair.initiator.latency.add(nanoseconds);
    }
    return one;
}

TestResult result(std::vector<SizeResult> sizes) {
    return {.host = "host-17",
            .device = "mlx5_0/1",
            .link_bits_per_second = 400'000'000'000,
            .sizes = std::move(sizes)};
}

TEST(TestReport, BandwidthIsPayloadAgainstTheLink) {
    EXPECT_DOUBLE_EQ(bits_per_second(bandwidth(200'000).pair.initiator), 200e9);
    EXPECT_EQ(bits_per_second({}), 0) << "nothing in no time";
    const std::string text = test_text(result({bandwidth(100'000), bandwidth(200'000)}));
    EXPECT_NE(
        text.find(
            "write: this host (mlx5_0/1) to host-17, 1 queue pair, 64 in flight on each, link 400 Gb/s"),
        std::string::npos)
        << text;
    EXPECT_NE(text.find("100.000   25.0 %"), std::string::npos) << text;
    EXPECT_NE(text.find("200.000   50.0 %"), std::string::npos) << text;
    auto unknown = result({bandwidth(100'000)});
    unknown.link_bits_per_second = 0;
    EXPECT_EQ(test_text(unknown).find('%'), std::string::npos);
    EXPECT_FALSE(test_json(unknown)["sizes"][0].contains("share_of_link"));
    EXPECT_DOUBLE_EQ(test_json(result({bandwidth(200'000)}))["sizes"][0]["share_of_link"].get<double>(), 0.5);
}

TEST(TestReport, BandwidthIsAgainstThePathsRateWhereARecordTellsASlowerOne) {
    SizeResult one = bandwidth(50'000);
    one.pair.there.bits_per_second = 200'000'000'000;
    one.pair.back.bits_per_second = 100'000'000'000;
    EXPECT_DOUBLE_EQ(test_json(result({one}))["sizes"][0]["share_of_link"].get<double>(), 0.5);
    EXPECT_NE(test_text(result({one})).find("50.000   50.0 %"), std::string::npos);
    one.pair.back.bits_per_second = 0;
    EXPECT_DOUBLE_EQ(test_json(result({one}))["sizes"][0]["share_of_link"].get<double>(), 0.25);
    one.pair.there.bits_per_second = 800'000'000'000;
    EXPECT_DOUBLE_EQ(test_json(result({one}))["sizes"][0]["share_of_link"].get<double>(), 0.125)
        << "no port is faster than it is";
}

TEST(TestReport, OfASweepThePathThatChangedIsTold) {
    SizeResult small = bandwidth(64);
    small.pair.there = {
        .sl = mad::Sl{2}, .mtu_bytes = 4096, .bits_per_second = 100'000'000'000, .is_recorded = true};
    small.pair.back = {.sl = mad::Sl{3}, .mtu_bytes = 4096, .is_recorded = true};
    SizeResult big = small;
    big.spec.message_bytes = 4096;
    EXPECT_EQ(test_text(result({small, big})).find("on the paths are others"), std::string::npos);
    big.pair.back = {.sl = mad::Sl{}, .mtu_bytes = 4096, .trouble = "SL 0 was taken"};
    const std::string text = test_text(result({small, big}));
    EXPECT_NE(text.find("from size 4K on the paths are others: SL 2, MTU 4096, 100 Gb/s there and SL 0, MTU "
                        "4096, without record back, after SL 2, MTU 4096, 100 Gb/s and SL 3, MTU 4096\n"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("SL 0 was taken"), std::string::npos) << text;
    const Rows json = test_json(result({small, big}));
    EXPECT_EQ(json["paths"]["back"]["sl"], 3);
    EXPECT_EQ(json["sizes"][0]["paths"]["back"]["sl"], 3);
    EXPECT_EQ(json["sizes"][1]["paths"]["back"]["sl"], 0);
}

TEST(TestReport, LatencyIsToldFromMinimumToMaximum) {
    const std::string text = test_text(result({latency()}));
    EXPECT_NE(text.find("1.50"), std::string::npos) << text;
    EXPECT_NE(text.find("12340.00"), std::string::npos) << text;
    const Rows json = test_json(result({latency()}));
    EXPECT_EQ(json["test"], "ping");
    EXPECT_EQ(json["host"], "host-17");
    EXPECT_EQ(json["sizes"][0]["latency"]["count"], 3);
    EXPECT_EQ(json["sizes"][0]["latency"]["min_ns"], 1500);
    EXPECT_EQ(json["sizes"][0]["latency"]["max_ns"], 12'340'000);
    EXPECT_EQ(json["sizes"][0]["latency"]["buckets"].size(), 3U);
    EXPECT_EQ(json["sizes"][0]["initiator"]["messages"], 3);
    EXPECT_EQ(json["spec"]["message_bytes"], 64);
}

TEST(TestReport, WhatWentWrongIsToldInSentences) {
    SizeResult bad = latency();
    bad.pair.initiator.failure = failure::kRetryExceeded;
    bad.pair.initiator.failure_text = "host-17 did not acknowledge";
    bad.pair.initiator.lost = 4;
    bad.pair.initiator.errors = {{"transport retry counter exceeded", 1}};
    bad.pair.target.corrupt = 2;
    bad.pair.target.checked = 3;
    bad.pair.initiator.counters = {
        {"out_of_sequence", 17}, {"port_xmit_data", 99}, {"of_a_new_driver", 5}, {"symbol_error", 0}};
    const std::string text = test_text(result({bad, bad}));
    EXPECT_NE(text.find("this host, 64: retry-exceeded: host-17 did not acknowledge\n"), std::string::npos)
        << text;
    EXPECT_NE(text.find("host-17, 64: 2 of 3 messages arrived other than they were sent\n"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("4 messages were not answered in time\n"), std::string::npos) << text;
    EXPECT_NE(text.find("1 completions ended with \"transport retry counter exceeded\"\n"), std::string::npos)
        << text;
    EXPECT_NE(text.find("this host: out_of_sequence rose by 34: A packet"), std::string::npos) << text;
    EXPECT_NE(text.find("of_a_new_driver rose by 10\n"), std::string::npos) << text;
    EXPECT_EQ(text.find("port_xmit_data"), std::string::npos) << "that there was traffic is no news";
    EXPECT_EQ(text.find("symbol_error"), std::string::npos);
}

// Else "nothing rose" would be read as "nothing happened".
TEST(TestReport, CountersThatCannotBeTrustedAreTold) {
    SizeResult one = latency();
    one.pair.target.doubts = {"symbol_error stands at its maximum of 65535", "hits\x1b fell"};
    const std::string text = test_text(result({one, one}));
    const std::size_t at = text.find("host-17: symbol_error stands at its maximum of 65535\n");
    ASSERT_NE(at, std::string::npos) << text;
    EXPECT_EQ(text.find("symbol_error", at + 20), std::string::npos) << "once for all sizes";
    EXPECT_NE(text.find("host-17: hits? fell\n"), std::string::npos) << text;
    EXPECT_EQ(test_json(result({one}))["sizes"][0]["target"]["doubts"].size(), 2U);
    EXPECT_EQ(test_json(result({one}))["sizes"][0]["initiator"]["doubts"].size(), 0U);
    EXPECT_EQ(verdict(result({one})), Exit::ok) << "no news of the test";
}

TEST(TestReport, ThePathsAreTold) {
    SizeResult one = latency();
    EXPECT_EQ(test_text(result({one})).find("SL"), std::string::npos) << "RoCE has none";
    EXPECT_FALSE(test_json(result({one})).contains("sl"));
    one.pair.there = {
        .sl = mad::Sl{3}, .mtu_bytes = 2048, .bits_per_second = 100'000'000'000, .is_recorded = true};
    one.pair.back = one.pair.there;
    EXPECT_NE(test_text(result({one})).find(", SL 3 by path record; "), std::string::npos)
        << test_text(result({one}));
    one.pair.back = {.sl = mad::Sl{2}, .mtu_bytes = 2048};
    EXPECT_NE(test_text(result({one})).find(", SL 3 by path record there and 2 back; "), std::string::npos)
        << test_text(result({one}));
    const auto json = test_json(result({one}));
    EXPECT_EQ(json["sl"], 3);
    EXPECT_EQ(json["paths"]["there"]["mtu_bytes"], 2048);
    EXPECT_EQ(json["paths"]["there"]["is_recorded"], true);
    EXPECT_EQ(json["paths"]["back"]["sl"], 2);
}

TEST(TestReport, WhyThereIsNoRecordIsToldOnce) {
    SizeResult one = latency();
    one.pair.there = {.sl = mad::Sl{}, .mtu_bytes = 2048, .trouble = "SL 0 was taken\x1b, nobody answers"};
    one.pair.back = {.sl = mad::Sl{}, .mtu_bytes = 2048, .trouble = "SL 0 was taken, no access"};
    const std::string text = test_text(result({one, one}));
    const std::size_t at = text.find("this host: SL 0 was taken?, nobody answers\n");
    ASSERT_NE(at, std::string::npos) << text;
    EXPECT_EQ(text.find("this host: SL 0", at + 1), std::string::npos) << text;
    EXPECT_NE(text.find("host-17: SL 0 was taken, no access\n"), std::string::npos) << text;
    EXPECT_EQ(test_json(result({one}))["paths"]["back"]["trouble"], "SL 0 was taken, no access");
}

// Packets of an SL that the path does not have are dropped without a word.
TEST(TestReport, AnSlThatMayBeWrongIsNamedWhereNothingAnswers) {
    constexpr const char* kHint = "SL 0 was taken, since --sl says so";
    constexpr const char* kOlder = "does not tell by which SL it answers";
    SizeResult bad = latency();
    bad.pair.initiator.failure = failure::kRetryExceeded;
    EXPECT_EQ(test_text(result({bad})).find("SL"), std::string::npos);
    bad.pair.there.sl = mad::Sl{};
    bad.pair.back.sl = mad::Sl{};
    EXPECT_NE(test_text(result({bad})).find(kHint), std::string::npos) << test_text(result({bad}));
    EXPECT_EQ(test_text(result({bad})).find(kOlder), std::string::npos);
    bad.pair.there.is_recorded = true;
    EXPECT_EQ(test_text(result({bad})).find(kHint), std::string::npos) << "the SA knew";
    bad.pair.back.sl.reset();
    EXPECT_NE(test_text(result({bad})).find(kOlder), std::string::npos) << test_text(result({bad}));
    SizeResult fine = latency();
    fine.pair.there.sl = mad::Sl{};
    EXPECT_EQ(test_text(result({fine})).find(kHint), std::string::npos);
}

TEST(TestReport, TheVerdictTellsTheFabricFromTheAgent) {
    EXPECT_EQ(verdict(result({})), Exit::ok);
    EXPECT_EQ(verdict(result({latency(), bandwidth(1)})), Exit::ok);
    SizeResult bad = latency();
    bad.pair.initiator.failure = failure::kRetryExceeded;
    EXPECT_EQ(verdict(result({latency(), bad})), Exit::finding);
    bad.pair.target.failure = failure::kPeerGone;
    EXPECT_EQ(verdict(result({bad})), Exit::failed);
    SizeResult limited = latency();
    limited.pair.target.failure = failure::kRefused;
    EXPECT_EQ(verdict(result({limited})), Exit::failed);
    SizeResult lost = latency();
    lost.pair.initiator.lost = 1;
    EXPECT_EQ(verdict(result({lost})), Exit::finding);
    SizeResult corrupt = bandwidth(1);
    corrupt.pair.target.corrupt = 1;
    EXPECT_EQ(verdict(result({corrupt})), Exit::finding);
    auto interrupted = result({latency()});
    interrupted.was_interrupted = true;
    interrupted.sizes[0].pair.initiator.was_stopped = true;
    EXPECT_EQ(verdict(interrupted), Exit::ok) << "who stops it gets what was measured";
    EXPECT_NE(test_text(interrupted).find("interrupted"), std::string::npos);
}

TEST(TestReport, WhatKeptTheNextSizeFromBeingMeasuredIsTold) {
    auto cut = result({latency()});
    EXPECT_FALSE(test_json(cut)["has_failed"]);
    cut.trouble = base::Error{base::ErrorKind::usage, "too long for a datagram"};
    EXPECT_TRUE(test_json(cut)["has_failed"]);
    EXPECT_EQ(test_json(cut)["trouble"], "too long for a datagram");
    EXPECT_EQ(test_json(cut)["sizes"].size(), 1U) << "what was measured stays";
}

TEST(TestReport, NamesOfStrangersNeverReachTheTerminalAsControls) {
    auto evil = result({latency()});
    evil.host = "\x1B[2J";
    EXPECT_EQ(test_text(evil).find('\x1B'), std::string::npos);
}

TEST(TestReport, ProgressIsOneLine) {
    EXPECT_EQ(progress_text(bandwidth(65536).spec, {10, 125'000'000, std::chrono::seconds{1}}),
              "write 64K: 10 messages, 1.000 Gb/s, 1.00s");
}

}  // namespace
}  // namespace ibf::probe::tool
