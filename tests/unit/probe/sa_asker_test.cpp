#include "probe/sa_asker.hpp"

#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "tests/unit/mad/scripted_sa.hpp"

namespace ibf::probe::test {
namespace {

using mad::SaMad;
using mad::test::answered;
using mad::test::SaScript;
using mad::test::ScriptedSa;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// Octets of a PathRecord: SL, MTU and rate.
void write_path(SaMad& mad) {
    mad.data[53] = 3;          // SL
    mad.data[54] = 0x80 | 4;   // MTU 2048
    mad.data[55] = 0x80 | 16;  // 100 Gb/s
    mad.data[56] = 0x80 | 18;
}

class SaAskers : public testing::Test {
protected:
    SaAskers() {
        script->port.pkeys = {mad::kPKeyDefaultFull, mad::PKey{}, mad::PKey{0x8005}};
        script->answer = [](const SaMad& asked) { return answered(asked, 0, write_path); };
    }
    /// With the time-outs of this test, not the asker's own.
    SaAsker asker{[this](const std::string& port,
                         const mad::SaQueryLimits& limits) -> base::Result<std::unique_ptr<mad::SaClient>> {
        opened.push_back(port);
        EXPECT_LT(limits.timeout * (limits.retries + 1), SaAsker::kPatience);
        if (open_error) {
            return tl::unexpected(*open_error);
        }
        return mad::SaClient::over(std::make_unique<ScriptedSa>(script),
                                   {.timeout = milliseconds{20}, .retries = 1});
    }};
    base::Result<mad::PathRecord> ask(std::optional<std::uint16_t> pkey_index = 0) {
        return asker.ask({.device = "mlx5_0",
                          .port = 1,
                          .slid = {},
                          .dlid = mad::Lid{9},
                          .dgid = {},
                          .pkey_index = pkey_index},
                         stop.get_token());
    }

    std::shared_ptr<SaScript> script = std::make_shared<SaScript>();
    std::vector<std::string> opened;
    std::optional<base::Error> open_error;
    std::stop_source stop;
};

TEST_F(SaAskers, GiveTheRecord) {
    const auto record = ask(2);
    ASSERT_TRUE(record) << record.error().message;
    EXPECT_EQ(record->sl, mad::Sl{3});
    EXPECT_EQ(record->mtu, mad::Mtu::b2048);
    EXPECT_EQ(record->bits_per_second, 100'000'000'000U);
    EXPECT_EQ(record->slid, mad::Lid{7}) << "the port's own, where none is given";
    EXPECT_EQ(record->dlid, mad::Lid{9});
    EXPECT_EQ(record->pkey, mad::PKey{0x8005}) << "that of the index";
    EXPECT_EQ(opened, std::vector<std::string>{"mlx5_0/1"});
}

TEST_F(SaAskers, AnEmptyPKeyIndexIsNoQuestion) {
    for (const std::uint16_t index : {std::uint16_t{1}, std::uint16_t{3}}) {
        const auto record = ask(index);
        ASSERT_FALSE(record);
        EXPECT_EQ(record.error().message, fmt::format("mlx5_0/1 has no P_Key at index {}", index));
    }
    EXPECT_TRUE(script->asked.empty());
    EXPECT_TRUE(ask(std::nullopt));
}

TEST_F(SaAskers, ARefusalIsTold) {
    script->answer = [](const SaMad& asked) { return answered(asked, mad::kSaNoRecords); };
    const auto record = ask();
    ASSERT_FALSE(record);
    EXPECT_EQ(record.error().kind, base::ErrorKind::not_found);
    EXPECT_NE(record.error().message.find("no such record"), std::string::npos);
    script->answer = [](const SaMad& asked) { return answered(asked, mad::kSaRequestDenied); };
    EXPECT_EQ(ask(2).error().kind, base::ErrorKind::refused);
    script->answer = [](const SaMad& asked) { return answered(asked, 0); };
    EXPECT_EQ(ask(std::nullopt).error().kind, base::ErrorKind::parse) << "nonsense";
}

TEST_F(SaAskers, AnAnswerToAnotherQuestionIsNone) {
    script->answer = [](const SaMad& asked) {
        return answered(asked, 0, [](SaMad& mad) {
            write_path(mad);
            mad.data[41] = 12;  // DLID
        });
    };
    const auto record = ask();
    ASSERT_FALSE(record);
    EXPECT_EQ(record.error().kind, base::ErrorKind::parse);
    EXPECT_NE(record.error().message.find("LID 12"), std::string::npos);
}

TEST_F(SaAskers, WhatWasAnsweredIsNotAskedAgainAtOnce) {
    EXPECT_TRUE(ask(0));
    EXPECT_TRUE(ask(0));
    EXPECT_EQ(script->asked.size(), 1U);
    EXPECT_TRUE(ask(2)) << "of another partition";
    EXPECT_EQ(script->asked.size(), 2U);
    script->answer = [](const SaMad& asked) { return answered(asked, mad::kSaNoRecords); };
    EXPECT_FALSE(ask(std::nullopt));
    EXPECT_FALSE(ask(std::nullopt));
    EXPECT_EQ(script->asked.size(), 3U) << "nor what it refused";
}

TEST_F(SaAskers, ABusySaIsNoPathThatThereIsNot) {
    script->answer = [](const SaMad& asked) { return answered(asked, mad::kStatusBusy); };
    const auto record = ask();
    ASSERT_FALSE(record);
    EXPECT_EQ(record.error().kind, base::ErrorKind::unavailable);
    EXPECT_EQ(record.error().message, "the subnet administrator is busy, and answers no more");
    const std::size_t tries = script->asked.size();
    EXPECT_FALSE(ask(2));
    EXPECT_EQ(script->asked.size(), tries) << "it is spared for a while";
}

TEST_F(SaAskers, AStopEndsTheWaitForAnotherQuestion) {
    std::promise<void> asked;
    std::promise<void> go;
    script->answer = [&](const SaMad& question) {
        asked.set_value();
        go.get_future().wait();
        return answered(question, 0, write_path);
    };
    std::thread first([this] { EXPECT_TRUE(ask()); });
    asked.get_future().wait();
    std::stop_source ours;
    ours.request_stop();
    const auto record = asker.ask({.device = "mlx5_0", .port = 1}, ours.get_token());
    ASSERT_FALSE(record);
    EXPECT_EQ(record.error().message, "interrupted");
    go.set_value();
    first.join();
}

TEST_F(SaAskers, SilenceIsWaitedForOnce) {
    script->answer = [](const SaMad&) { return std::nullopt; };
    const auto record = ask();
    ASSERT_FALSE(record);
    EXPECT_EQ(record.error().kind, base::ErrorKind::unavailable);
    EXPECT_EQ(script->asked.size(), 2U);
    EXPECT_EQ(ask().error().message, record.error().message);
    EXPECT_EQ(script->asked.size(), 2U) << "who is silent is not waited for again at once";
    const auto by_default = asker.ask({.dlid = mad::Lid{9}}, stop.get_token());
    ASSERT_FALSE(by_default);
    EXPECT_EQ(script->asked.size(), 2U) << "it is the same port without a name";
}

TEST_F(SaAskers, APortThatMayNotBeOpenedIsTold) {
    open_error = base::Error{base::ErrorKind::unavailable, "the umad device may not be opened"};
    EXPECT_EQ(ask().error().message, "the umad device may not be opened");
    open_error.reset();
    EXPECT_TRUE(ask()) << "nothing was waited for, so it is tried again";
}

TEST_F(SaAskers, AStopIsNoSilence) {
    script->answer = [](const SaMad&) { return std::nullopt; };
    stop.request_stop();
    EXPECT_FALSE(ask());
    stop = {};
    script->answer = [](const SaMad& asked) { return answered(asked, 0, write_path); };
    EXPECT_TRUE(ask());
}

}  // namespace
}  // namespace ibf::probe::test
