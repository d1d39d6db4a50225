#include "probe/agent/agent.hpp"

#include <sys/resource.h>
#include <sys/socket.h>

#include <ctime>

#include <netinet/in.h>

#include "base/log.hpp"
#include "tests/unit/agent/agent_fixtures.hpp"
#include "tests/unit/shell/certificates.hpp"

namespace ibf::probe {
namespace {

using test::AgentTest;
using test::milliseconds;
using test::seconds;
using test::Stage;

using Agents = AgentTest;

/// A plain TCP connection.
class Plain {
public:
    explicit Plain(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        const timeval patience{10, 0};
        ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    }
    ~Plain() { ::close(fd_); }
    void say(const std::string& octets) const {
        static_cast<void>(::send(fd_, octets.data(), octets.size(), MSG_NOSIGNAL));
    }
    /// Whether the other side ends the connection.
    [[nodiscard]] bool is_dropped() const {
        char octets[512];
        ssize_t got = 0;
        while ((got = ::recv(fd_, octets, sizeof octets, 0)) > 0) {
        }
        return got == 0 || errno == ECONNRESET;
    }

private:
    int fd_;
};

TEST_F(Agents, WhoSpeaksNoTlsIsDroppedAndOthersAreServed) {
    start();
    const Plain browser(agent_->port());
    browser.say("GET / HTTP/1.1\r\n\r\n");
    EXPECT_TRUE(browser.is_dropped());
    const Plain noise(agent_->port());
    noise.say(std::string(1000, '\x16'));
    EXPECT_TRUE(noise.is_dropped());
    EXPECT_TRUE(call());
}

TEST_F(Agents, WhoIsSlowToIntroduceItselfIsDropped) {
    terms_.greeting_max = milliseconds{200};
    start();
    const Plain silent(agent_->port());
    EXPECT_TRUE(silent.is_dropped()) << "before the handshake";
    Line line = raw();
    EXPECT_EQ(heard(line), "gone") << "before Hello";
    EXPECT_TRUE(call());
}

TEST_F(Agents, WhoSpeaksOutOfTurnIsDropped) {
    start();
    Line early = raw();
    ASSERT_TRUE(early.send(Describe{}));
    EXPECT_EQ(heard(early), "gone") << "Hello comes first";
    for (const Message& message :
         {Message(probe::Run{}), Message(Connect{}), Message(Released{}), Message(Hello{})}) {
        Line line = greeted();
        ASSERT_TRUE(line.send(message));
        EXPECT_TRUE(heard(line).starts_with("order: ")) << name_of(message);
        EXPECT_EQ(heard(line), "gone") << name_of(message);
    }
}

TEST_F(Agents, GarbageIsNoMessageAndEndsTheConnection) {
    start();
    for (const std::string& garbage :
         {std::string("\0\0\0\2{]", 6), std::string("\0\x10\0\1", 4), std::string("\xFF\xFF\xFF\xFF", 4),
          std::string(4, '\0'), std::string("\0\0\0\x10{\"type\":\"flood\"}", 20)}) {
        auto stream = net::TlsStream::connect(where(), tls_, base::monotonic_now() + seconds{10});
        ASSERT_TRUE(stream);
        ASSERT_TRUE(stream->write(garbage, base::monotonic_now() + seconds{10}));
        std::string got;
        EXPECT_FALSE(stream->read(got, 1, base::monotonic_now() + seconds{10})) << "the connection is over";
    }
    Line line = greeted();
    EndpointAddress address;
    address.queue_pairs.resize(kQueuePairsMax + 1);  // encodes, and is refused by whoever decodes
    ASSERT_TRUE(line.send(Prepared{address}));
    EXPECT_EQ(heard(line), "gone");
    EXPECT_TRUE(call());
}

TEST_F(Agents, AnotherVersionIsToldBothVersions) {
    start();
    Line line = raw();
    ASSERT_TRUE(line.send(Hello{kProtocolVersion + 1, "99.0", "client-1"}));
    EXPECT_EQ(heard(line), "hello");
    const std::string refused = heard(line);
    EXPECT_TRUE(refused.starts_with("version: ")) << refused;
    EXPECT_NE(refused.find("protocol 1 (ibfabric 9.9)"), std::string::npos) << refused;
    EXPECT_NE(refused.find("2 (ibfabric 99.0)"), std::string::npos) << refused;
    EXPECT_EQ(heard(line), "gone");
}

TEST_F(Agents, OneRunAtATimeAndTheOtherIsToldWhoAndSinceWhen) {
    start();
    const auto first = ready();
    const auto second = call();
    ASSERT_TRUE(second);
    const auto refused = (*second)->prepare({}, Side::target, {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, base::ErrorKind::refused);
    const std::string& text = refused.error().message;
    for (const char* part : {"127.0.0.1", "is busy", "'nightly'", "since 20", "ago"}) {
        EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
    }
    EXPECT_TRUE((*second)->describe()) << "asking is not running";
    first->release();
    EXPECT_TRUE((*second)->prepare({}, Side::target, {})) << "on the same connection, once it is free";
}

TEST_F(Agents, AHolderThatIsGoneEndsItsRun) {
    start();
    {
        Line line = greeted();
        ASSERT_TRUE(line.send(Prepare{}));
        EXPECT_EQ(heard(line), "prepared");
        ASSERT_TRUE(line.send(Connect{}));
        EXPECT_EQ(heard(line), "connected");
        ASSERT_TRUE(line.send(probe::Run{}));
        EXPECT_EQ(heard(line), "progress-told");
        ASSERT_TRUE(stage_.await([](const Stage& it) { return it.running == 1; }));
    }
    EXPECT_TRUE(stage_.await([](const Stage& it) { return it.running == 0 && it.released == 1; }));
    expect_free();
}

TEST_F(Agents, ARunIsEndedAtItsLimitWhateverTheClientDoes) {
    terms_.limits.seconds = 1;
    start();
    const auto remote = ready();
    const auto begun = base::monotonic_now();
    const auto outcome = remote->run({}, {});
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->failure, failure::kRefused);
    EXPECT_NE(outcome->failure_text.find("host-17 ended it after 1 s"), std::string::npos)
        << outcome->failure_text;
    EXPECT_GE(base::monotonic_now() - begun, seconds{1});
    EXPECT_LT(base::monotonic_now() - begun, seconds{9});
    EXPECT_TRUE(stage_.await([](const Stage& it) { return it.running == 0; }));
}

TEST_F(Agents, WhatIsAboveALimitIsRefusedByItsName) {
    terms_.limits.queue_pairs = 2;
    terms_.devices = {"rxe1"};
    start();
    const auto remote = call();
    ASSERT_TRUE(remote);
    TestSpec spec;
    spec.queue_pairs = 3;
    const auto refused = (*remote)->prepare(spec, Side::target, {});
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("limits.queue_pairs"), std::string::npos);
    spec.queue_pairs = 2;
    ASSERT_TRUE((*remote)->prepare(spec, Side::target, {}));
    EXPECT_EQ(stage_.way.device, "rxe1") << "the first that is allowed";
    const auto description = (*remote)->describe();
    ASSERT_TRUE(description);
    EXPECT_EQ(description->limits.queue_pairs, 2U);
    ASSERT_EQ(description->ports.size(), 1U);
    EXPECT_EQ(description->ports[0].device, "rxe1");
}

TEST_F(Agents, WhoComesFromElsewhereIsTurnedAway) {
    terms_.networks = {*net::parse_network("10.0.0.0/8")};
    start();
    const auto remote = call();
    ASSERT_FALSE(remote);
    EXPECT_EQ(remote.error().kind, base::ErrorKind::refused);
    EXPECT_EQ(stage_.alive, 0);
    stop();
    terms_.networks.push_back(*net::parse_network("127.0.0.0/8"));
    start();
    EXPECT_TRUE(call());
}

/// As many descriptors as there are now, until it ends.
class NoMoreFiles {
public:
    NoMoreFiles() {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        rlimit none = before_;
        const int free = ::dup(0);
        ::close(free);
        none.rlim_cur = static_cast<rlim_t>(free);
        ::setrlimit(RLIMIT_NOFILE, &none);
    }
    ~NoMoreFiles() { ::setrlimit(RLIMIT_NOFILE, &before_); }

private:
    rlimit before_{};
};

TEST_F(Agents, WithoutADescriptorLeftItSaysSoOnceAndWaits) {
    base::log_start(base::LogLevel::info);
    testing::internal::CaptureStderr();
    start();
    {
        const int client = ::socket(AF_INET, SOCK_STREAM, 0);
        const NoMoreFiles full;
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(agent_->port());
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        ASSERT_EQ(::connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        const std::clock_t begun = std::clock();
        std::this_thread::sleep_for(milliseconds{1'500});
        EXPECT_LT(std::clock() - begun, CLOCKS_PER_SEC / 2) << "it does not spin";
        ::close(client);
    }
    EXPECT_TRUE(call()) << "with room it goes on";
    stop();
    base::log_set_level(base::LogLevel::off);
    const std::string text = testing::internal::GetCapturedStderr();
    const std::string told =
        "no connection can be taken: Too many open files: clients wait until there is room";
    const auto first = text.find(told);
    ASSERT_NE(first, std::string::npos) << text;
    EXPECT_EQ(text.find(told, first + 1), std::string::npos) << text;
    EXPECT_NE(text.find("connections are taken again"), std::string::npos) << text;
}

TEST_F(Agents, AConnectionThatCameToNothingIsGivenBack) {
    stage_.connect = base::fail(base::ErrorKind::usage, "an MTU of 4096 does not go");
    start();
    Line line = greeted();
    ASSERT_TRUE(line.send(Prepare{}));
    EXPECT_EQ(heard(line), "prepared");
    ASSERT_TRUE(line.send(Connect{}));
    EXPECT_NE(heard(line).find("an MTU of 4096 does not go"), std::string::npos);
    EXPECT_TRUE(stage_.await([](const Stage& it) { return it.alive == 0; })) << "others may come";
    ASSERT_TRUE(line.send(Connect{}));
    EXPECT_TRUE(heard(line).starts_with("order: ")) << "and it is not tried again and again";
}

TEST_F(Agents, ConnectionsAreBounded) {
    terms_.connections = 2;
    start();
    auto one = call();
    const auto two = call();
    ASSERT_TRUE(one && two);
    EXPECT_FALSE(call());
    one->reset();
    base::Result<std::unique_ptr<RemoteEndpoint>> three = base::fail(base::ErrorKind::io, "");
    for (int i = 0; i < 200 && !three; ++i) {
        three = call();
    }
    EXPECT_TRUE(three) << "there is room again";
}

TEST_F(Agents, WhoSaysNothingForTooLongIsDropped) {
    terms_.idle_max = milliseconds{200};
    start();
    Line line = greeted();
    ASSERT_TRUE(line.send(Prepare{}));
    EXPECT_EQ(heard(line), "prepared");
    EXPECT_TRUE(heard(line).starts_with("order: nothing was said"));
    EXPECT_EQ(heard(line), "gone");
    expect_free();
}

TEST_F(Agents, ItsEndIsTheEndOfEveryRun) {
    start();
    const auto remote = ready();
    std::thread ending([this] {
        EXPECT_TRUE(stage_.await([](const Stage& it) { return it.running == 1; }));
        agent_->stop();
    });
    const auto outcome = remote->run({}, {});
    ending.join();
    EXPECT_TRUE(!outcome || outcome->failure == failure::kPeerGone);
    stop();
    EXPECT_EQ(stage_.alive, 0);
    EXPECT_EQ(stage_.running, 0);
}

TEST_F(Agents, AClientThatNeverStopsTalkingDoesNotKeepItFromItsEnd) {
    start();
    auto stream = net::TlsStream::connect(where(), tls_, base::monotonic_now() + seconds{10});
    ASSERT_TRUE(stream);
    std::atomic<std::uint64_t> said{0};
    std::thread flooding([&] {
        std::string many;
        for (int i = 0; i < 500; ++i) {
            many += encode(Stop{});  // which nothing answers
        }
        const auto end = base::monotonic_now() + seconds{8};
        auto written = stream->write(encode(Hello{kProtocolVersion, "0", "client-1"}), end);
        while (written && base::monotonic_now() < end) {
            written = stream->write(many, end);
            ++said;
        }
    });
    for (int i = 0; i < 1000 && said < 20; ++i) {
        std::this_thread::sleep_for(milliseconds{5});
    }
    const auto begun = base::monotonic_now();
    stop();
    EXPECT_LT(base::monotonic_now() - begun, seconds{4});
    flooding.join();
    EXPECT_GE(said, 20U);
}

TEST_F(Agents, NothingIsSentToQueuePairZero) {
    start();
    const auto remote = call();
    ASSERT_TRUE(remote);
    ASSERT_TRUE((*remote)->prepare({}, Side::initiator, {}));
    EndpointAddress peer;
    peer.queue_pairs = {{0, 0}};
    const auto refused = (*remote)->connect(peer, {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, base::ErrorKind::refused);
    peer.queue_pairs = {{17, 0}};
    EXPECT_TRUE((*remote)->connect(peer, {}));
}

class CertifiedAgents : public AgentTest {
protected:
    CertifiedAgents() : ca_(folder_ / "ca") {
        agent_tls_ = of(ca_, {.name = "host-17", .alternatives = "IP:127.0.0.1"});
    }
    static std::shared_ptr<const net::Tls> of(const test::Authority& authority,
                                              const test::CertificateOptions& options) {
        const test::CertifiedFiles files = authority.certify(options);
        auto tls = net::Tls::by_certificates({.certificate = {files.certificate, "cert"},
                                              .key = {files.key, "key"},
                                              .ca = {authority.file(), "ca"}});
        EXPECT_TRUE(tls) << tls.error().message;
        return *tls;
    }
    [[nodiscard]] std::string refusal(const std::shared_ptr<const net::Tls>& tls) const {
        const auto remote = connect_agent(where(), tls, "");
        return remote ? "taken" : remote.error().message;
    }

    test::Authority ca_;
    std::shared_ptr<const net::Tls> agent_tls_;
};

TEST_F(CertifiedAgents, TakeWhomTheCaHasCertified) {
    start(agent_tls_);
    EXPECT_EQ(refusal(of(ca_, {"client-1"})), "taken");
    const test::Authority strangers(folder_ / "strangers");
    EXPECT_NE(refusal(of(strangers, {"client-1"})).find("no TLS connection"), std::string::npos);
    EXPECT_NE(refusal(tls_).find("one takes a shared key and the other one certificates"), std::string::npos)
        << refusal(tls_);
    EXPECT_EQ(stage_.alive, 0);
}

TEST_F(CertifiedAgents, AndOfThoseWhoHaveANameThatIsAllowed) {
    terms_.names = {"client-1", "client-2"};
    start(agent_tls_);
    EXPECT_EQ(refusal(of(ca_, {"client-2"})), "taken");
    EXPECT_NE(refusal(of(ca_, {"client-3"})), "taken");
}

TEST_F(CertifiedAgents, AnAgentWhoseCertificateIsForAnotherHostIsNotTrusted) {
    start(of(ca_, {.name = "host-18", .alternatives = "DNS:host-18,IP:10.0.0.18"}));
    const std::string why = refusal(of(ca_, {"client-1"}));
    EXPECT_NE(why.find("host-18"), std::string::npos) << why;
    EXPECT_NE(why.find("127.0.0.1"), std::string::npos) << why;
}

}  // namespace
}  // namespace ibf::probe
