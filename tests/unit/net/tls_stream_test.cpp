#include "net/tls_stream.hpp"

#include <gtest/gtest.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include <fmt/format.h>

namespace ibf::net {
namespace {

using base::monotonic_now;
using std::chrono::milliseconds;
using std::chrono::seconds;

class Streams : public ::testing::Test {
protected:
    Streams()
        : folder_(std::filesystem::path(::testing::TempDir()) / fmt::format("ibf-streams-{}", ::getpid())) {
        std::filesystem::create_directories(folder_);
        tls_ = key("one");
        listener_ = std::make_unique<Listener>(std::move(*Listener::open({"127.0.0.1", 0})));
    }
    ~Streams() override { std::filesystem::remove_all(folder_); }

    [[nodiscard]] std::shared_ptr<const Tls> key(const std::string& name) const {
        const std::string path = (folder_ / name).string();
        EXPECT_TRUE(make_shared_key(path));
        return *Tls::by_shared_key(path);
    }
    [[nodiscard]] HostPort here() const { return {"127.0.0.1", listener_->port()}; }
    /// Both ends of a connection.
    struct Ends {
        base::Result<TlsStream> client;
        base::Result<TlsStream> server;
    };
    [[nodiscard]] Ends join(const std::shared_ptr<const Tls>& client_tls) const {
        base::Result<TlsStream> server = base::fail(base::ErrorKind::io, "nobody came");
        std::thread serving([&] {
            if (wait_for(listener_->fd(), POLLIN, monotonic_now() + seconds{10}) == Readiness::ready) {
                server =
                    TlsStream::accept((*listener_->accept())->fd, tls_, monotonic_now() + seconds{10}, {});
            }
        });
        auto client = TlsStream::connect(here(), client_tls, monotonic_now() + seconds{10});
        serving.join();
        return {std::move(client), std::move(server)};
    }

    std::filesystem::path folder_;
    std::shared_ptr<const Tls> tls_;
    std::unique_ptr<Listener> listener_;
};

TEST_F(Streams, CarryOctetsBothWays) {
    auto [client, server] = join(tls_);
    ASSERT_TRUE(client) << client.error().message;
    ASSERT_TRUE(server) << server.error().message;
    const std::string much(300'000, 'x');
    std::thread sending([&, &out = client] { EXPECT_TRUE(out->write(much, monotonic_now() + seconds{10})); });
    std::string got;
    while (got.size() < much.size()) {
        const auto how = server->read(got, 1U << 20U, monotonic_now() + seconds{10});
        ASSERT_TRUE(how) << how.error().message;
        ASSERT_EQ(*how, Readiness::ready);
    }
    sending.join();
    EXPECT_EQ(got, much);
    ASSERT_TRUE(server->write("back", monotonic_now() + seconds{10}));
    std::string back;
    ASSERT_EQ(client->read(back, 2, monotonic_now() + seconds{10}), Readiness::ready);
    EXPECT_EQ(back, "ba") << "no more than asked for";
    EXPECT_EQ(client->peer_name({"anybody"}, "x"), "") << "a shared key has no name";
}

TEST_F(Streams, WaitingEndsAtItsDeadlineAndWhenWoken) {
    auto [client, server] = join(tls_);
    ASSERT_TRUE(client && server);
    std::string got;
    EXPECT_EQ(client->read(got, 1, monotonic_now() + milliseconds{20}), Readiness::timeout);
    const WakeUp waker;
    waker.signal();
    EXPECT_EQ(client->read(got, 1, monotonic_now() + seconds{60}, {waker.fd()}), Readiness::woken);
    waker.clear();
    EXPECT_EQ(client->read(got, 1, monotonic_now() + milliseconds{20}, {waker.fd()}), Readiness::timeout);
}

TEST_F(Streams, APeerThatDoesNotReadIsGivenUp) {
    auto [client, server] = join(tls_);
    ASSERT_TRUE(client && server);
    const std::string much(64U << 20U, 'x');
    const auto written = client->write(much, monotonic_now() + milliseconds{200});
    ASSERT_FALSE(written);
    EXPECT_NE(written.error().message.find("does not read"), std::string::npos) << written.error().message;
}

TEST_F(Streams, TheEndOfAConnectionIsAnError) {
    auto [client, server] = join(tls_);
    ASSERT_TRUE(client && server);
    server = base::fail(base::ErrorKind::io, "gone");
    std::string got;
    const auto how = client->read(got, 1, monotonic_now() + seconds{10});
    ASSERT_FALSE(how);
    EXPECT_EQ(how.error().kind, base::ErrorKind::unavailable);
}

TEST_F(Streams, AnotherKeyIsToldAsSuchToBoth) {
    const auto [client, server] = join(key("two"));
    ASSERT_FALSE(client);
    ASSERT_FALSE(server);
    EXPECT_NE(client.error().message.find("do not hold the same key"), std::string::npos)
        << client.error().message;
    EXPECT_NE(server.error().message.find("do not hold the same key"), std::string::npos)
        << server.error().message;
}

TEST_F(Streams, NobodyThereIsToldWithTheRemedy) {
    const HostPort where = here();
    listener_.reset();
    const auto refused = TlsStream::connect(where, tls_, monotonic_now() + seconds{5});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, base::ErrorKind::unavailable);
    EXPECT_NE(refused.error().message.find("is the agent running"), std::string::npos)
        << refused.error().message;
}

TEST_F(Streams, AServerThatSaysNothingIsGivenUp) {
    const auto begun = monotonic_now();
    const auto silent = TlsStream::connect(here(), tls_, begun + milliseconds{100});
    ASSERT_FALSE(silent);
    EXPECT_NE(silent.error().message.find("took too long"), std::string::npos) << silent.error().message;
    EXPECT_GE(monotonic_now() - begun, milliseconds{100});
}

/// 127.0.0.1 with a port.
class LoopbackAddress {
public:
    explicit LoopbackAddress(std::uint16_t port) {
        address_.sin_family = AF_INET;
        address_.sin_port = htons(port);
        address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    }
    [[nodiscard]] addrinfo info(addrinfo* next) {
        addrinfo one{};
        one.ai_family = AF_INET;
        one.ai_addr = reinterpret_cast<sockaddr*>(&address_);
        one.ai_addrlen = sizeof address_;
        one.ai_next = next;
        return one;
    }

private:
    sockaddr_in address_{};
};

/// A port that drops who calls: nobody is taken in, and there is no room to wait.
class BlackHole {
public:
    BlackHole() : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in own{};
        own.sin_family = AF_INET;
        own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t length = sizeof own;
        EXPECT_EQ(::bind(fd_, reinterpret_cast<const sockaddr*>(&own), sizeof own), 0);
        EXPECT_EQ(::listen(fd_, 0), 0);
        EXPECT_EQ(::getsockname(fd_, reinterpret_cast<sockaddr*>(&own), &length), 0);
        port_ = ntohs(own.sin_port);
        for (int caller = 0; caller >= 0;) {
            LoopbackAddress here(port_);
            const addrinfo one = here.info(nullptr);
            caller = connect_to_any(&one, monotonic_now() + milliseconds{100});
            callers_.push_back(caller);
        }
    }
    ~BlackHole() {
        for (const int one : callers_) {
            ::close(one);
        }
        ::close(fd_);
    }
    [[nodiscard]] std::uint16_t port() const { return port_; }

private:
    int fd_;
    std::uint16_t port_ = 0;
    std::vector<int> callers_;
};

TEST_F(Streams, AnAddressThatIsSilentDoesNotHideTheNextOne) {
    const BlackHole hole;
    LoopbackAddress silent(hole.port());
    LoopbackAddress good(listener_->port());
    addrinfo second = good.info(nullptr);
    const addrinfo first = silent.info(&second);
    const auto begun = monotonic_now();
    const int fd = connect_to_any(&first, begun + milliseconds{600});
    EXPECT_GE(fd, 0) << "half of the time is for the second";
    EXPECT_GE(monotonic_now() - begun, milliseconds{300});
    ::close(fd);
    addrinfo last = silent.info(nullptr);
    EXPECT_EQ(connect_to_any(&last, monotonic_now() + milliseconds{50}), -ETIMEDOUT);
    EXPECT_LT(connect_to_any(nullptr, monotonic_now()), 0);
}

TEST_F(Streams, AnAddressInUseIsToldWithTheRemedy) {
    const auto second = Listener::open(here());
    ASSERT_FALSE(second);
    EXPECT_NE(second.error().message.find("another agent runs"), std::string::npos) << second.error().message;
}

}  // namespace
}  // namespace ibf::net
