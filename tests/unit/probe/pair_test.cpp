#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "probe/layout.hpp"
#include "probe/spec.hpp"

namespace ibf::probe::test {
namespace {

using base::ErrorKind;
using base::fail;
using base::Result;

/// An endpoint without a device: says what it is told to say, and notes what it was asked for.
class FakeEndpoint final : public Endpoint {
public:
    explicit FakeEndpoint(std::string name) : name_(std::move(name)) {}

    [[nodiscard]] std::string name() const override { return name_; }

    Result<EndpointAddress> prepare(const TestSpec&, Side which, const Way& way) override {
        calls += "prepare ";
        side = which;
        device_asked = way.device;
        if (prepare_error) {
            return tl::unexpected(*prepare_error);
        }
        EndpointAddress address;
        address.device = "rxe0/1";
        address.mtu_bytes = port_mtu;
        address.lid = mad::Lid{static_cast<std::uint16_t>(which == Side::target ? 2 : 1)};
        return address;
    }

    Result<PathTaken> connect(const EndpointAddress& other, std::stop_token stop) override {
        calls += "connect ";
        peer = other;
        if (connect_waits_for != nullptr) {
            for (int i = 0; i < 5000 && !*connect_waits_for; ++i) {
                std::this_thread::sleep_for(std::chrono::milliseconds{1});
            }
            EXPECT_TRUE(*connect_waits_for) << "the other side was not connected meanwhile";
        }
        is_connecting = true;
        connects_stoppable = stop.stop_possible();
        if (connect_error) {
            return tl::unexpected(*connect_error);
        }
        return path;
    }

    Result<Outcome> run(const std::function<void(const Progress&)>& progress, std::stop_token stop) override {
        calls += "run ";
        progress({.messages = 5, .bytes = 320, .elapsed = {}});
        if (runs_until_stopped) {
            std::mutex mutex;
            std::condition_variable_any changed;
            std::unique_lock lock(mutex);
            static_cast<void>(changed.wait_for(lock, stop, std::chrono::seconds{20}, [] { return false; }));
            was_told_to_stop = stop.stop_requested();
        }
        if (run_error) {
            return tl::unexpected(*run_error);
        }
        return outcome;
    }

    void release() override { calls += "release "; }

    std::string calls;
    Side side = Side::initiator;
    std::string device_asked;
    EndpointAddress peer;
    std::optional<base::Error> prepare_error;
    std::optional<base::Error> connect_error;
    std::optional<base::Error> run_error;
    const std::atomic<bool>* connect_waits_for = nullptr;
    std::atomic<bool> is_connecting = false;
    bool connects_stoppable = false;
    std::uint32_t port_mtu = 0;
    PathTaken path;
    bool runs_until_stopped = false;
    bool was_told_to_stop = false;
    Outcome outcome;

private:
    std::string name_;
};

class Pair : public testing::Test {
protected:
    Pair() { target.runs_until_stopped = true; }

    Result<PairOutcome> run(std::stop_token stop = {}) {
        return run_pair(
            initiator, target, spec, {.device = "here0"}, {.device = "there0"},
            [this](const Progress& told) { progress.push_back(told); }, std::move(stop));
    }

    FakeEndpoint initiator{"this host"};
    FakeEndpoint target{"host-17"};
    TestSpec spec;
    std::vector<Progress> progress;
};

TEST_F(Pair, GoesThroughAllStepsAndReleasesBoth) {
    initiator.outcome.messages = 1000;
    target.outcome.messages = 999;
    const auto pair = run();
    ASSERT_TRUE(pair) << pair.error().message;
    EXPECT_EQ(pair->initiator.messages, 1000U);
    EXPECT_EQ(pair->target.messages, 999U);
    EXPECT_FALSE(pair->target.was_stopped);
    EXPECT_EQ(initiator.calls, "prepare connect run release ");
    EXPECT_EQ(target.calls, "prepare connect run release ");
    EXPECT_EQ(initiator.side, Side::initiator);
    EXPECT_EQ(target.side, Side::target);
    EXPECT_EQ(initiator.device_asked, "here0");
    EXPECT_EQ(target.device_asked, "there0");
    EXPECT_TRUE(target.was_told_to_stop) << "when the initiator is done";
}

TEST_F(Pair, EachSideHearsTheOthersAddressAndName) {
    ASSERT_TRUE(run());
    EXPECT_EQ(initiator.peer.lid, mad::Lid{2});
    EXPECT_EQ(initiator.peer.device, "host-17 (rxe0/1)");
    EXPECT_EQ(target.peer.lid, mad::Lid{1});
    EXPECT_EQ(target.peer.device, "this host (rxe0/1)");
}

TEST_F(Pair, ProgressIsTheInitiators) {
    ASSERT_TRUE(run());
    ASSERT_EQ(progress.size(), 1U);
    EXPECT_EQ(progress[0].messages, 5U);
}

// By librdmacm the target accepts while the initiator connects.
TEST_F(Pair, BothConnectAtTheSameTime) {
    target.connect_waits_for = &initiator.is_connecting;
    EXPECT_TRUE(run());
    initiator.is_connecting = target.is_connecting = false;
    target.connect_waits_for = nullptr;
    initiator.connect_waits_for = &target.is_connecting;
    EXPECT_TRUE(run());
}

TEST_F(Pair, ASetUpThatFailsIsAnErrorWithTheSidesName) {
    target.prepare_error = base::Error{ErrorKind::unavailable, "no RDMA device"};
    auto pair = run();
    ASSERT_FALSE(pair);
    EXPECT_EQ(pair.error().message, "host-17: no RDMA device");
    EXPECT_EQ(pair.error().kind, ErrorKind::unavailable);
    EXPECT_EQ(initiator.calls, "release ");
    EXPECT_EQ(target.calls, "prepare release ");

    target.prepare_error.reset();
    target.connect_error = base::Error{ErrorKind::usage, "host-17 and the other do not fit"};
    pair = run();
    ASSERT_FALSE(pair);
    EXPECT_EQ(pair.error().message, "host-17 and the other do not fit") << "the name is said once";

    initiator.connect_error = base::Error{ErrorKind::unavailable, "no route"};
    pair = run();
    ASSERT_FALSE(pair);
    EXPECT_EQ(pair.error().message, "this host: no route") << "the initiator knows more";
    EXPECT_TRUE(initiator.calls.ends_with("release "));
    EXPECT_TRUE(target.calls.ends_with("release "));
}

TEST_F(Pair, AWrongSpecAsksNobody) {
    spec.queue_pairs = 0;
    EXPECT_FALSE(run());
    EXPECT_EQ(initiator.calls + target.calls, "");
}

TEST_F(Pair, AStopReachesTheInitiatorAndThenTheTarget) {
    initiator.runs_until_stopped = true;
    initiator.outcome.was_stopped = true;
    std::stop_source stop;
    std::thread stopper([&] { stop.request_stop(); });
    const auto pair = run(stop.get_token());
    stopper.join();
    ASSERT_TRUE(pair);
    EXPECT_TRUE(initiator.was_told_to_stop);
    EXPECT_TRUE(pair->initiator.was_stopped);
    EXPECT_TRUE(pair->target.was_stopped);
    EXPECT_TRUE(pair->initiator.failure.empty());
}

// The agent's process was killed, or its limit was reached: nobody will answer any more.
TEST_F(Pair, ATargetThatIsGoneEndsTheInitiator) {
    initiator.runs_until_stopped = true;
    initiator.outcome.messages = 12;
    target.runs_until_stopped = false;
    target.outcome.failure = failure::kPeerGone;
    target.outcome.failure_text = "host-17: the connection broke";
    auto pair = run();
    ASSERT_TRUE(pair);
    EXPECT_TRUE(initiator.was_told_to_stop);
    EXPECT_EQ(pair->initiator.messages, 12U) << "what was measured is told";
    EXPECT_EQ(pair->target.failure, failure::kPeerGone);

    initiator.was_told_to_stop = false;
    target.outcome = {};
    target.run_error = base::Error{ErrorKind::unavailable, "the connection broke"};
    pair = run();
    ASSERT_TRUE(pair);
    EXPECT_TRUE(initiator.was_told_to_stop);
    EXPECT_EQ(pair->target.failure, failure::kPeerGone);
    EXPECT_EQ(pair->target.failure_text, "host-17: the connection broke");
}

TEST_F(Pair, AnInitiatorsErrorLeavesTheTargetsFigures) {
    initiator.run_error = base::Error{ErrorKind::io, "the device was removed"};
    target.outcome.messages = 7;
    const auto pair = run();
    ASSERT_TRUE(pair);
    EXPECT_EQ(pair->initiator.failure, failure::kOther);
    EXPECT_EQ(pair->initiator.failure_text, "this host: the device was removed");
    EXPECT_EQ(pair->target.messages, 7U);
}

class WrittenPair : public Pair {
protected:
    WrittenPair() {
        spec.test = probe::Test::write;
        spec.messages = 100;
        initiator.outcome.messages = 100;
        slots = slots_written(spec, 100);
    }
    std::uint64_t slots = 0;
};

TEST_F(WrittenPair, AllSlotsSeenIsWell) {
    target.outcome.checked = slots;
    ASSERT_GT(slots, 0U);
    const auto pair = run();
    EXPECT_EQ(pair->target.corrupt, 0U);
    EXPECT_TRUE(pair->target.failure.empty());
}

TEST_F(WrittenPair, AWriteThatIsAcknowledgedAndNotThereIsCorrupt) {
    target.outcome.checked = slots - 1;
    const auto pair = run();
    EXPECT_EQ(pair->target.corrupt, 1U);
    EXPECT_EQ(pair->target.failure, failure::kCorrupt);
}

// What was under way when it ended may lie there by half.
TEST_F(WrittenPair, WhatIsLeftOfABrokenRunIsNoVerdict) {
    target.outcome.checked = 3;
    target.outcome.corrupt = 1;
    target.outcome.failure = failure::kCorrupt;
    target.outcome.failure_text = "1 of 3";
    initiator.outcome.failure = failure::kRetryExceeded;
    auto pair = run();
    EXPECT_EQ(pair->target.corrupt, 0U);
    EXPECT_TRUE(pair->target.failure.empty());
    EXPECT_EQ(pair->initiator.failure, failure::kRetryExceeded);

    initiator.outcome.failure.clear();
    initiator.outcome.errors[kInFlightWhenStopped] = 2;
    pair = run();
    EXPECT_EQ(pair->target.corrupt, 0U);
    EXPECT_TRUE(pair->target.failure.empty());
}

TEST_F(Pair, TellsThePathsOfBoth) {
    initiator.path = {.sl = mad::Sl{3}, .mtu_bytes = 2048, .is_recorded = true};
    target.path = {.sl = mad::Sl{2}, .mtu_bytes = 2048, .trouble = "why"};
    std::stop_source stop;
    const auto outcome = run(stop.get_token());
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_EQ(outcome->there.sl, mad::Sl{3});
    EXPECT_EQ(outcome->back.sl, mad::Sl{2});
    EXPECT_EQ(outcome->back.trouble, "why");
    EXPECT_TRUE(initiator.connects_stoppable && target.connects_stoppable);
}

TEST_F(Pair, SidesThatTookDifferentMtusDoNotBegin) {
    initiator.path.mtu_bytes = 2048;
    target.path.mtu_bytes = 4096;
    target.path.trouble = "no answer from the SA";
    const auto outcome = run();
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().kind, ErrorKind::usage);
    EXPECT_NE(outcome.error().message.find("give --mtu 2048"), std::string::npos) << outcome.error().message;
    EXPECT_TRUE(outcome.error().message.ends_with("(rxe0/1): no answer from the SA"))
        << outcome.error().message;
    EXPECT_EQ(initiator.calls.find("run"), std::string::npos);
    EXPECT_NE(initiator.calls.find("release"), std::string::npos);
    spec.test = probe::Test::ud;
    EXPECT_TRUE(run()) << "datagrams are one packet each";
}

TEST_F(Pair, AnAgentThatTellsNoMtuHasTheSmallerOfThePorts) {
    initiator.path.mtu_bytes = 4096;
    initiator.port_mtu = target.port_mtu = 4096;
    EXPECT_TRUE(run());
    initiator.path.mtu_bytes = 2048;
    EXPECT_FALSE(run());
}

}  // namespace
}  // namespace ibf::probe::test
