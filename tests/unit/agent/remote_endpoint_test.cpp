#include "probe/agent/remote_endpoint.hpp"

#include <poll.h>

#include "tests/unit/agent/agent_fixtures.hpp"

namespace ibf::probe {
namespace {

using test::AgentTest;
using test::seconds;
using test::Stage;

using RemoteEndpoints = AgentTest;

TEST_F(RemoteEndpoints, ATestGoesThroughWithItsOutcome) {
    stage_.runs_until_stopped = false;
    start();
    auto remote = call();
    ASSERT_TRUE(remote) << remote.error().message;
    EXPECT_EQ((*remote)->name(), "127.0.0.1");
    EXPECT_EQ((*remote)->agent().host, "host-17");
    for (int round = 1; round <= 2; ++round) {  // on one connection
        TestSpec spec;
        spec.message_bytes = 4096;
        const auto address = (*remote)->prepare(spec, Side::initiator, {});
        ASSERT_TRUE(address) << address.error().message;
        EXPECT_EQ(address->lid, mad::Lid{17});
        EXPECT_EQ(stage_.spec.message_bytes, 4096U);
        EndpointAddress peer;
        peer.device = "mlx5_0/1";
        ASSERT_TRUE((*remote)->connect(peer, {}));
        EXPECT_EQ(stage_.peer.device, "mlx5_0/1");
        const auto outcome = (*remote)->run({}, {});
        ASSERT_TRUE(outcome) << outcome.error().message;
        EXPECT_EQ(outcome->messages, 3U);
        EXPECT_FALSE(outcome->was_stopped);
        (*remote)->release();
        EXPECT_EQ(stage_.released, round);
    }
}

/// And no more often: each telling wakes both hosts in the middle of what is measured. Five a second made the
/// latency between the virtual machines of tests/vm 8 % longer.
TEST_F(RemoteEndpoints, ARunTellsHowFarItIsWithItsBeat) {
    start();
    const auto remote = ready();
    std::vector<std::uint64_t> told;
    std::stop_source stop;
    const auto outcome = remote->run(
        [&](const Progress& now) {
            told.push_back(now.messages);
            if (told.size() == 2) {
                stop.request_stop();
            }
        },
        stop.get_token());
    ASSERT_TRUE(outcome) << outcome.error().message;
    ASSERT_GE(told.size(), 2U);
    EXPECT_GT(told[0], 1U) << "a beat comes after half a second, and the endpoint tells each 5 ms";
    EXPECT_GT(told[1], told[0]);
}

TEST_F(RemoteEndpoints, StopEndsARunInATarget) {
    start();
    const auto remote = ready();
    std::stop_source stop;
    std::thread stopping([&] {
        EXPECT_TRUE(stage_.await([](const Stage& it) { return it.running == 1; }));
        stop.request_stop();
    });
    const auto outcome = remote->run({}, stop.get_token());
    stopping.join();
    ASSERT_TRUE(outcome);
    EXPECT_TRUE(outcome->was_stopped);
    EXPECT_EQ(outcome->failure, "");
}

TEST_F(RemoteEndpoints, ThePathThatTheOtherSideTookIsTold) {
    stage_.path = {.sl = mad::Sl{4}, .mtu_bytes = 1024, .trouble = "SL 0 was taken"};
    start();
    const auto remote = call();
    ASSERT_TRUE(remote);
    ASSERT_TRUE((*remote)->prepare({}, Side::target, {}));
    EXPECT_FALSE(stage_.way.sl) << "it is left to the other side";
    const auto path = (*remote)->connect({}, {});
    ASSERT_TRUE(path) << path.error().message;
    EXPECT_EQ(path->sl, mad::Sl{4});
    EXPECT_EQ(path->mtu_bytes, 1024U);
    EXPECT_EQ(path->trouble, "SL 0 was taken");
}

TEST_F(RemoteEndpoints, StopEndsAConnect) {
    stage_.connects_until_stopped = true;
    start();
    const auto remote = call();
    ASSERT_TRUE(remote);
    ASSERT_TRUE((*remote)->prepare({}, Side::target, {}));
    std::stop_source stop;
    std::thread stopping([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds{100});
        stop.request_stop();
    });
    const auto begun = base::monotonic_now();
    const auto connected = (*remote)->connect({}, stop.get_token());
    stopping.join();
    ASSERT_FALSE(connected);
    EXPECT_EQ(connected.error().message, "127.0.0.1: interrupted");
    EXPECT_LT(base::monotonic_now() - begun, seconds{8});
    (*remote)->release();
    expect_free();
}

TEST_F(RemoteEndpoints, ErrorsOfTheOtherSideNameItsHostAndKeepTheirKind) {
    stage_.prepare = base::fail(base::ErrorKind::not_found, "GID index 9 is empty");
    start();
    const auto remote = call();
    ASSERT_TRUE(remote);
    const auto prepared = (*remote)->prepare({}, Side::target, {});
    ASSERT_FALSE(prepared);
    EXPECT_EQ(prepared.error().kind, base::ErrorKind::not_found);
    EXPECT_EQ(prepared.error().message, "127.0.0.1: GID index 9 is empty");
    stage_.prepare = {};
    stage_.connect = base::fail(base::ErrorKind::usage, "link layers differ");
    ASSERT_TRUE((*remote)->prepare({}, Side::target, {})) << "it has been given back";
    const auto connected = (*remote)->connect({}, {});
    ASSERT_FALSE(connected);
    EXPECT_EQ(connected.error().kind, base::ErrorKind::usage);
    (*remote)->release();
    expect_free();
}

TEST_F(RemoteEndpoints, AWrongKeyIsToldAsSuch) {
    start();
    const auto remote = connect_agent(where(), key("other"), "");
    ASSERT_FALSE(remote);
    EXPECT_EQ(remote.error().kind, base::ErrorKind::refused);
    EXPECT_NE(remote.error().message.find("127.0.0.1"), std::string::npos);
    EXPECT_NE(remote.error().message.find("do not hold the same key"), std::string::npos)
        << remote.error().message;
}

/// A server that is no agent: says one message and then what it is told to.
class Impostor {
public:
    /// The last of what it says it says again and again for `floods`.
    Impostor(const std::shared_ptr<const net::Tls>& tls, std::vector<Message> says,
             base::Duration floods = base::Duration::zero())
        : listener_(std::move(*net::Listener::open({"127.0.0.1", 0}))),
          serving_([this, tls, says = std::move(says), floods] {
              if (net::wait_for(listener_.fd(), POLLIN, base::monotonic_now() + seconds{10}) !=
                  net::Readiness::ready) {
                  return;
              }
              auto stream = net::TlsStream::accept((*listener_.accept())->fd, tls,
                                                   base::monotonic_now() + seconds{10}, {});
              if (!stream) {
                  return;
              }
              Line line(std::move(*stream));
              for (const Message& message : says) {
                  static_cast<void>(line.receive(base::monotonic_now() + seconds{10}));
                  static_cast<void>(line.send(message));
              }
              const base::Instant end = base::monotonic_now() + floods;
              while (base::monotonic_now() < end && line.send(says.back())) {
              }
          }) {}
    ~Impostor() { serving_.join(); }
    [[nodiscard]] net::HostPort where() const { return {"127.0.0.1", listener_.port()}; }

private:
    net::Listener listener_;
    std::thread serving_;
};

TEST_F(RemoteEndpoints, AnotherVersionIsToldWithBoth) {
    const Impostor newer(tls_, {Hello{99, "7.0", "x"}});
    const auto remote = connect_agent(newer.where(), tls_, "");
    ASSERT_FALSE(remote);
    EXPECT_EQ(remote.error().kind, base::ErrorKind::unsupported);
    EXPECT_NE(remote.error().message.find("protocol 99 (ibfabric 7.0), and this program 1 (ibfabric "),
              std::string::npos)
        << remote.error().message;
}

TEST_F(RemoteEndpoints, AnAgentThatAnswersOtherThingsIsNoAgent) {
    const Impostor odd(tls_, {Hello{kProtocolVersion, "7.0", "x"}, Message(Connected{})});
    auto remote = connect_agent(odd.where(), tls_, "");
    ASSERT_TRUE(remote) << remote.error().message;
    const auto prepared = (*remote)->prepare({}, Side::target, {});
    ASSERT_FALSE(prepared);
    EXPECT_EQ(prepared.error().kind, base::ErrorKind::parse);
    EXPECT_FALSE((*remote)->connect({}, {})) << "and is not spoken to again";
}

TEST_F(RemoteEndpoints, AConnectionThatBreaksWhileATestRunsIsAnOutcome) {
    const Impostor dying(
        tls_, {Hello{kProtocolVersion, "7.0", "x"}, Prepared{}, Connected{}, ProgressTold{{5, 6, {}}}});
    auto remote = connect_agent(dying.where(), tls_, "");
    ASSERT_TRUE(remote) << remote.error().message;
    ASSERT_TRUE((*remote)->prepare({}, Side::target, {}));
    ASSERT_TRUE((*remote)->connect({}, {}));
    const auto outcome = (*remote)->run({}, {});
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_EQ(outcome->failure, failure::kPeerGone);
    EXPECT_EQ(outcome->messages, 5U) << "what was told last";
    EXPECT_NE(outcome->failure_text.find("127.0.0.1"), std::string::npos);
}

/// An agent that tells progress without a pause, whatever it is asked.
class FloodingAgents : public RemoteEndpoints {
protected:
    static constexpr seconds kFlood{8};  ///< as long as a test waits that fails
    static constexpr RemoteEndpoint::Patience kShort{
        .answer = std::chrono::milliseconds{300},
        .over = std::chrono::milliseconds{100},
        .end = std::chrono::milliseconds{300},
    };

    /// One that has been told to run floods.
    [[nodiscard]] std::unique_ptr<RemoteEndpoint> running(const TestSpec& spec) {
        auto remote = connect_agent(flooding_.where(), tls_, "", kShort);
        EXPECT_TRUE(remote) << remote.error().message;
        EXPECT_TRUE((*remote)->prepare(spec, Side::initiator, {}));
        EXPECT_TRUE((*remote)->connect({}, {}));
        return std::move(*remote);
    }
    static void expect_given_up(const base::Result<Outcome>& outcome, base::Instant begun) {
        ASSERT_TRUE(outcome) << outcome.error().message;
        EXPECT_EQ(outcome->failure, failure::kPeerGone);
        EXPECT_NE(outcome->failure_text.find("does not end the test"), std::string::npos)
            << outcome->failure_text;
        EXPECT_EQ(outcome->messages, 5U) << "what was told last";
        EXPECT_LT(base::monotonic_now() - begun, seconds{5});
    }

    const Impostor flooding_{
        tls_,
        {Hello{kProtocolVersion, "7.0", "x"}, Prepared{}, Connected{}, ProgressTold{{5, 6, {}}}},
        kFlood};
};

TEST_F(FloodingAgents, AreToldToStopAndGivenUp) {
    const auto remote = running({});
    std::stop_source stop;
    std::thread stopping([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds{100});
        stop.request_stop();
    });
    const auto begun = base::monotonic_now();
    expect_given_up(remote->run({}, stop.get_token()), begun);
    stopping.join();
}

TEST_F(FloodingAgents, AreGivenUpWhenTheTimeOfTheirRunIsOver) {
    TestSpec spec;
    spec.duration = std::chrono::milliseconds{100};
    const auto remote = running(spec);
    const auto begun = base::monotonic_now();
    expect_given_up(remote->run({}, {}), begun);
    EXPECT_FALSE(remote->connect({}, {})) << "and are not spoken to again";
}

TEST_F(RemoteEndpoints, AnAnswerIsNotPutOffByTalk) {
    const Impostor talker(tls_, {Hello{kProtocolVersion, "7.0", "x"}, ProgressTold{{5, 6, {}}}}, seconds{8});
    auto remote = connect_agent(talker.where(), tls_, "", {.answer = std::chrono::milliseconds{300}});
    ASSERT_TRUE(remote) << remote.error().message;
    const auto begun = base::monotonic_now();
    const auto prepared = (*remote)->prepare({}, Side::target, {});
    ASSERT_FALSE(prepared);
    EXPECT_EQ(prepared.error().kind, base::ErrorKind::unavailable);
    EXPECT_LT(base::monotonic_now() - begun, seconds{5});
}

TEST_F(RemoteEndpoints, APairOfThemRunsATest) {
    stage_.runs_until_stopped = false;
    start();
    Stage other_stage;
    AgentTerms terms;
    terms.listen = {"127.0.0.1", 0};
    auto other =
        Agent::start(terms, tls_,
                     {.name = "host-18",
                      .program = "9.9",
                      .make_endpoint = [&] { return std::make_unique<test::PlayedEndpoint>(other_stage); },
                      .describe = [] { return ports(); }});
    ASSERT_TRUE(other);
    std::thread serving([&] { (*other)->serve(); });
    {
        const auto initiator = call();
        const auto target = connect_agent({"127.0.0.1", (*other)->port()}, tls_, "");
        ASSERT_TRUE(initiator && target);
        const auto pair = run_pair(**initiator, **target, {}, {}, {}, [](const Progress&) {}, {});
        ASSERT_TRUE(pair) << pair.error().message;
        EXPECT_EQ(pair->initiator.messages, 3U);
        EXPECT_EQ(pair->initiator.failure, "");
        EXPECT_EQ(other_stage.released, 1);
        EXPECT_EQ(stage_.released, 1);
    }
    (*other)->stop();
    serving.join();
}

}  // namespace
}  // namespace ibf::probe
