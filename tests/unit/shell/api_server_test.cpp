#include "daemon/shell/api_server.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace ibf::shell {
namespace {

/// A client that may do what no HTTP library would: raw bytes on a unix socket, with a time-out.
class RawClient {
public:
    explicit RawClient(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path.copy(address.sun_path, sizeof address.sun_path - 1);
        const timeval patience{10, 0};
        ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        connected_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    }
    ~RawClient() { ::close(fd_); }
    RawClient(const RawClient&) = delete;
    RawClient& operator=(const RawClient&) = delete;

    [[nodiscard]] bool connected() const { return connected_; }
    void send(std::string_view bytes) const {
        while (!bytes.empty()) {
            const auto sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent <= 0) {
                return;  // hung up on: what a hostile client deserves
            }
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        }
    }
    void stop_writing() const { ::shutdown(fd_, SHUT_WR); }
    /// Everything until the server closes.
    [[nodiscard]] std::string read_all() const {
        std::string out;
        char piece[4096];
        for (;;) {
            const auto got = ::recv(fd_, piece, sizeof piece, 0);
            if (got <= 0) {
                return out;
            }
            out.append(piece, static_cast<std::size_t>(got));
        }
    }
    /// One piece of what comes, empty at the end.
    [[nodiscard]] std::string read_some() const {
        char piece[4096];
        const auto got = ::recv(fd_, piece, sizeof piece, 0);
        return got > 0 ? std::string(piece, static_cast<std::size_t>(got)) : std::string{};
    }

private:
    int fd_;
    bool connected_ = false;
};

constexpr const char* kStatus = "GET /v1/status HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

/// Counts what it is told.
class CountedProbes final : public api::ProbeHistory {
public:
    base::Result<std::uint64_t> put(const db::ProbePut& put) override {
        flows_told += put.flows.size();
        uid = put.uid;
        return 1;
    }
    base::Result<std::vector<db::ProbeRun>> runs(std::uint64_t) override {
        return std::vector<db::ProbeRun>{};
    }
    base::Result<db::ProbeRun> run(std::uint64_t) override { return db::ProbeRun{}; }
    base::Result<std::vector<db::ProbeFlow>> flows(std::uint64_t, std::uint64_t, std::uint64_t) override {
        return std::vector<db::ProbeFlow>{};
    }
    base::Result<std::vector<db::ProbeFinding>> findings(std::uint64_t, std::uint64_t,
                                                         std::uint64_t) override {
        return std::vector<db::ProbeFinding>{};
    }

    std::atomic<std::size_t> flows_told{0};
    std::atomic<std::uint32_t> uid{0};
};

class ApiServerTest : public ::testing::Test {
protected:
    void SetUp() override {
        std::string pattern = (std::filesystem::temp_directory_path() / "ibf-api-XXXXXX").string();
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
        path_ = folder_ + "/sock";
        auto snapshot = std::make_shared<fabric::Snapshot>();
        snapshot->mode_text = "waiting for nothing";
        snapshot_ = snapshot;
    }
    void TearDown() override {
        server_.reset();
        std::filesystem::remove_all(folder_);
    }
    base::Result<std::unique_ptr<ApiServer>> start() {
        return ApiServer::start(
            path_, [this] { return snapshot_; },
            [this](api::AdminCommand) {
                ++commands_;
                return takes_commands_.load();
            },
            probes_);
    }
    void serve() {
        auto server = start();
        ASSERT_TRUE(server) << server.error().message;
        server_ = std::move(*server);
    }
    std::string ask(std::string_view bytes) const {
        const RawClient client(path_);
        client.send(bytes);
        return client.read_all();
    }
    /// The server is unharmed if the next honest client is served.
    void expect_alive() const {
        const std::string answer = ask(kStatus);
        EXPECT_EQ(answer.substr(0, 15), "HTTP/1.1 200 OK") << answer.substr(0, 200);
        EXPECT_NE(answer.find("waiting for nothing"), std::string::npos);
    }

    std::string folder_;
    std::string path_;
    std::shared_ptr<const fabric::Snapshot> snapshot_;
    std::unique_ptr<ApiServer> server_;
    std::atomic<int> commands_{0};
    CountedProbes probes_;
    std::atomic<bool> takes_commands_{true};
};

TEST_F(ApiServerTest, AnswersAndIsOnlyForItsGroup) {
    serve();
    expect_alive();
    struct stat info {};
    ASSERT_EQ(::stat(path_.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0660U);
}

/// A request with a body.
std::string post(const std::string& target, const std::string& body) {
    return fmt::format("POST {} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{}",
                       target, body.size(), body);
}

TEST_F(ApiServerTest, OnlyAPieceOfAProbeRunMayBeLarge) {
    serve();
    std::string flows;
    while (flows.size() < 500'000) {
        flows += R"({"from":{"guid":"0x1","port":1},"to":{"guid":"0x2","port":1}},)";
    }
    flows.pop_back();
    const std::string piece = fmt::format(R"({{"flows":[{}]}})", flows);
    const std::string answer = ask(post("/v1/probe/runs?run=1", piece));
    EXPECT_EQ(answer.substr(0, 15), "HTTP/1.1 200 OK") << answer.substr(0, 300);
    EXPECT_GT(probes_.flows_told, 5000U);
    EXPECT_EQ(probes_.uid, ::geteuid());
    EXPECT_EQ(ask(post("/v1/sweep", piece)).substr(0, 12), "HTTP/1.1 413");
    const std::string large(2 * 1024 * 1024, ' ');
    EXPECT_EQ(ask(post("/v1/probe/runs?run=1", large)).substr(0, 12), "HTTP/1.1 413");
    const std::string chunked = fmt::format(
        "POST /v1/sweep HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
        "{:x}\r\n{}\r\n0\r\n\r\n",
        piece.size(), piece);
    EXPECT_EQ(ask(chunked).substr(0, 12), "HTTP/1.1 413");
    expect_alive();
}

TEST_F(ApiServerTest, GarbageIsRefused) {
    serve();
    for (const std::string& bytes :
         {std::string("\x16\x03\x01\x02\x00\x01\x00\x01 not TLS either\r\n\r\n", 34), std::string(2000, '\0'),
          std::string("GET\r\n\r\n"), std::string("GET /v1/status HTTP/9.9\r\n\r\n"),
          std::string("GET /v1/status HTTP/1.1\r\nContent-Length: -5\r\n\r\n"),
          std::string("POST /v1/sweep HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")}) {
        EXPECT_EQ(ask(bytes).substr(0, 12), "HTTP/1.1 400") << bytes.substr(0, 40);
    }
    EXPECT_EQ(commands_, 0);
    expect_alive();
}

TEST_F(ApiServerTest, TooMuchIsRefused) {
    serve();
    const std::string header = "GET /v1/status HTTP/1.1\r\nX-Long: " + std::string(100'000, 'a') + "\r\n\r\n";
    EXPECT_EQ(ask(header).substr(0, 12), "HTTP/1.1 413");
    const std::string body = "POST /v1/sweep HTTP/1.1\r\nContent-Length: 100000000\r\n\r\n";
    EXPECT_EQ(ask(body).substr(0, 12), "HTTP/1.1 413");
    EXPECT_EQ(commands_, 0);
    expect_alive();
}

TEST_F(ApiServerTest, HalfRequestsHoldNobodyUp) {
    serve();
    std::vector<std::unique_ptr<RawClient>> slow;
    for (int i = 0; i < 20; ++i) {
        slow.push_back(std::make_unique<RawClient>(path_));
        slow.back()->send("GET /v1/sta");
    }
    expect_alive();
    for (const auto& client : slow) {
        client->stop_writing();
        EXPECT_TRUE(client->read_all().find("200 OK") == std::string::npos);
    }
    expect_alive();
}

TEST_F(ApiServerTest, OneConnectionServesManyRequests) {
    serve();
    const RawClient client(path_);
    for (int i = 0; i < 3; ++i) {
        client.send("GET /v1/status HTTP/1.1\r\nHost: x\r\n\r\n");
        std::string answer;  // head and body may come in two pieces
        std::size_t body = std::string::npos;
        std::size_t length = 0;
        while (body == std::string::npos || answer.size() < body + length) {
            const std::string piece = client.read_some();
            ASSERT_FALSE(piece.empty()) << "cut off after: " << answer;
            answer += piece;
            const auto head_end = answer.find("\r\n\r\n");
            const auto field = answer.find("Content-Length: ");
            if (head_end != std::string::npos && field != std::string::npos) {
                body = head_end + 4;
                length = std::stoul(answer.substr(field + 16));
            }
        }
        EXPECT_EQ(answer.substr(0, 15), "HTTP/1.1 200 OK");
    }
}

TEST_F(ApiServerTest, PipelinedRequestsAreAllAnswered) {
    serve();
    std::string both = "GET /v1/status HTTP/1.1\r\nHost: x\r\n\r\n";
    both += kStatus;
    const std::string answer = ask(both);
    const auto first = answer.find("HTTP/1.1 200 OK");
    ASSERT_NE(first, std::string::npos);
    EXPECT_NE(answer.find("HTTP/1.1 200 OK", first + 1), std::string::npos);
}

TEST_F(ApiServerTest, MoreClientsThanItServesAreToldSo) {
    serve();
    std::vector<std::unique_ptr<RawClient>> clients;
    for (std::size_t i = 0; i < ApiServer::kConnectionsMax; ++i) {
        clients.push_back(std::make_unique<RawClient>(path_));
        // An answer proves that the server counts this one.
        clients.back()->send("GET /v1/status HTTP/1.1\r\nHost: x\r\n\r\n");
        ASSERT_EQ(clients.back()->read_some().substr(0, 15), "HTTP/1.1 200 OK") << i;
    }
    const std::string refused = ask(kStatus);
    EXPECT_EQ(refused.substr(0, 12), "HTTP/1.1 503");
    EXPECT_NE(refused.find("64 clients are connected already"), std::string::npos);
    clients.clear();
    for (int tries = 0; tries < 100 && ask(kStatus).substr(0, 12) != "HTTP/1.1 200"; ++tries) {
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
    }
    expect_alive();
}

TEST_F(ApiServerTest, ClientsThatVanishLeaveNothingBehind) {
    serve();
    for (std::size_t i = 0; i < 4 * ApiServer::kConnectionsMax; ++i) {
        const RawClient client(path_);
        client.send(i % 2 == 0 ? kStatus : "POST /v1/sweep HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc");
    }
    for (int tries = 0; tries < 100 && ask(kStatus).substr(0, 12) != "HTTP/1.1 200"; ++tries) {
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
    }
    expect_alive();
    EXPECT_EQ(commands_, 0);
}

TEST_F(ApiServerTest, CommandsRunOnce) {
    serve();
    const std::string answer =
        ask("POST /v1/sweep?scope=full HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    EXPECT_EQ(answer.substr(0, 12), "HTTP/1.1 202");
    server_.reset();  // joins: whatever was to be handed on has been
    EXPECT_EQ(commands_, 1);
}

TEST_F(ApiServerTest, ACommandThatIsNotTakenIsNotAccepted) {
    takes_commands_ = false;
    serve();
    const std::string answer =
        ask("POST /v1/sweep?scope=full HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    EXPECT_EQ(answer.substr(0, 12), "HTTP/1.1 503");
    EXPECT_NE(answer.find("too many commands wait already"), std::string::npos) << answer;
    EXPECT_EQ(answer.find("accepted"), std::string::npos);
    EXPECT_EQ(commands_, 1);
}

TEST_F(ApiServerTest, BeforeTheFirstSnapshotItSaysSo) {
    snapshot_ = nullptr;
    serve();
    EXPECT_EQ(ask(kStatus).substr(0, 12), "HTTP/1.1 503");
}

TEST_F(ApiServerTest, StaleSocketIsReplacedALivingOneIsNot) {
    {
        // As after kill -9: a bound socket file without a listener.
        const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path_.copy(address.sun_path, sizeof address.sun_path - 1);
        ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        ::close(fd);
    }
    serve();
    expect_alive();
    const auto second = start();
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind, base::ErrorKind::unavailable);
    EXPECT_NE(second.error().message.find("another ibfabricd answers"), std::string::npos);
    expect_alive();
    server_.reset();
    EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(ApiServerTest, FilesThatAreNoSocketAreLeftAlone) {
    path_ = folder_ + "/notes.txt";
    const int fd = ::creat(path_.c_str(), 0600);
    ASSERT_GE(fd, 0);
    ::close(fd);
    const auto server = start();
    ASSERT_FALSE(server);
    EXPECT_EQ(server.error().kind, base::ErrorKind::usage);
    EXPECT_TRUE(std::filesystem::exists(path_));
    path_ = folder_ + "/" + std::string(200, 'x');
    EXPECT_NE(start().error().message.find("choose a shorter --socket"), std::string::npos);
    path_ = folder_ + "/missing/sock";
    EXPECT_NE(start().error().message.find("does its directory exist"), std::string::npos);
}

}  // namespace
}  // namespace ibf::shell
