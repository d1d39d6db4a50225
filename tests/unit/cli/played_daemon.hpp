// DOC: a daemon that a test plays: HTTP over a unix socket, one request a connection, as the client has it.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ibf::cli {

class PlayedDaemon {
public:
    /// Gives the body for a target ("/v1/status"). Called on another thread, one at a time.
    using Answer = std::function<std::string(const std::string&)>;

    explicit PlayedDaemon(Answer answer) : answer_(std::move(answer)) {
        static int count = 0;
        path_ = fmt::format("{}/ibf-played-{}-{}", testing::TempDir(), ::getpid(), ++count);
        ::unlink(path_.c_str());
        listener_ = ::socket(AF_UNIX, SOCK_STREAM, 0);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path_.copy(address.sun_path, sizeof address.sun_path - 1);
        EXPECT_EQ(::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        EXPECT_EQ(::listen(listener_, 8), 0);
        serving_ = std::thread([this] { serve(); });
    }
    ~PlayedDaemon() {
        ::shutdown(listener_, SHUT_RDWR);
        serving_.join();
        ::close(listener_);
        ::unlink(path_.c_str());
    }
    PlayedDaemon(const PlayedDaemon&) = delete;
    PlayedDaemon& operator=(const PlayedDaemon&) = delete;

    [[nodiscard]] const std::string& socket() const { return path_; }

private:
    void serve() {
        for (int client = 0; (client = ::accept(listener_, nullptr, nullptr)) >= 0; ::close(client)) {
            std::string request;
            char buffer[4096];
            while (request.find("\r\n\r\n") == std::string::npos) {
                const ssize_t got = ::read(client, buffer, sizeof buffer);
                if (got <= 0) {
                    break;
                }
                request.append(buffer, static_cast<std::size_t>(got));
            }
            const std::size_t target = request.find(' ') + 1;
            const std::string body = answer_(request.substr(target, request.find(' ', target) - target));
            const std::string reply = fmt::format(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}", body.size(), body);
            for (std::size_t sent = 0; sent < reply.size();) {
                const ssize_t wrote = ::send(client, reply.data() + sent, reply.size() - sent, MSG_NOSIGNAL);
                if (wrote <= 0) {
                    break;
                }
                sent += static_cast<std::size_t>(wrote);
            }
        }
    }

    Answer answer_;
    std::string path_;
    int listener_ = -1;
    std::thread serving_;
};

}  // namespace ibf::cli
