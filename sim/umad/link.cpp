#include "sim/umad/link.hpp"

#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string_view>

namespace ibf::sim::shim {
namespace {

std::mutex asking_mutex;
int asking_socket = -1;
pid_t asking_process = 0;  // a forked child must not share its parent's questions

std::string_view environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string_view{} : std::string_view{value};
}

/// Told once, so that a wrong name in the environment is not a riddle.
void complain(std::string_view what) {
    static std::atomic<bool> told{false};
    if (!told.exchange(true)) {
        std::fprintf(stderr, "libibfabric-umad: %.*s\n", static_cast<int>(what.size()), what.data());
    }
}

int connect_socket() {
    const std::string_view path = environment("IBFABRIC_SIM");
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof address.sun_path) {
        complain("IBFABRIC_SIM must be the socket of an ibfabric-sim");
        return -ENODEV;
    }
    std::copy(path.begin(), path.end(), address.sun_path);
    const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket < 0) {
        return -errno;
    }
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        const int error = errno;
        ::close(socket);
        complain("no simulation answers at IBFABRIC_SIM");
        return -error;
    }
    return socket;
}

int receive_whole(int socket, void* to, std::size_t size) {
    std::size_t got = 0;
    while (got < size) {
        const ssize_t more = ::recv(socket, static_cast<char*>(to) + got, size - got, MSG_WAITALL);
        if (more < 0 && errno == EINTR) {
            continue;
        }
        if (more <= 0) {
            return -EIO;
        }
        got += static_cast<std::size_t>(more);
    }
    return 0;
}

/// The answer to a question: the struct of kind `wanted`, or a refusal's errno.
int receive_answer(int socket, FrameKind wanted, void* out, std::size_t size) {
    FrameHeader header;
    if (const int error = receive_whole(socket, &header, sizeof header); error != 0) {
        return error;
    }
    if (header.magic == kFrameMagic && header.kind == wanted && header.bytes == size) {
        return receive_whole(socket, out, size);
    }
    Refused refused;
    if (header.kind != FrameKind::refused || header.bytes != sizeof refused ||
        receive_whole(socket, &refused, sizeof refused) != 0) {
        return -EPROTO;
    }
    refused.text.back() = '\0';
    if (refused.error == ENODEV) {
        complain(refused.text.data());
    }
    return refused.error > 0 ? -refused.error : -EIO;
}

int exchange(int socket, FrameKind kind, const void* request, std::size_t request_size, FrameKind wanted,
             void* out, std::size_t size) {
    const int error = send_frame(socket, kind, request, request_size, nullptr, 0);
    return error != 0 ? error : receive_answer(socket, wanted, out, size);
}

int ask(FrameKind kind, const void* request, std::size_t request_size, FrameKind wanted, void* out,
        std::size_t size) {
    const std::lock_guard lock(asking_mutex);
    if (asking_process != ::getpid()) {
        asking_socket = connect_socket();
        asking_process = ::getpid();
    }
    if (asking_socket < 0) {
        asking_process = 0;
        return asking_socket;
    }
    const int error = exchange(asking_socket, kind, request, request_size, wanted, out, size);
    if (error == -EIO || error == -EPIPE || error == -EPROTO) {
        ::close(asking_socket);
        asking_process = 0;  // the next question connects anew
    }
    return error;
}

}  // namespace

bool in_simulation() {
    return !environment("IBFABRIC_SIM").empty();
}

PlaceRequest place(std::uint8_t port) {
    PlaceRequest request;
    const std::string_view node = environment("IBFABRIC_NODE");
    std::copy_n(node.begin(), std::min(node.size(), request.node.size() - 1), request.node.begin());
    request.port = port;
    return request;
}

int ask_node(NodeAnswer& out) {
    const PlaceRequest request = place(0);
    return ask(FrameKind::ask_node, &request, sizeof request, FrameKind::node_answer, &out, sizeof out);
}

int ask_port(std::uint8_t port, PortAnswer& out) {
    const PlaceRequest request = place(port);
    return ask(FrameKind::ask_port, &request, sizeof request, FrameKind::port_answer, &out, sizeof out);
}

int ask_agent(FrameKind kind, const AgentFrame& request, std::uint32_t& out) {
    Done done;
    const int error = ask(kind, &request, sizeof request, FrameKind::done, &done, sizeof done);
    out = done.value;
    return error;
}

int begin(FrameKind kind, std::uint8_t port, std::uint32_t& out) {
    const int socket = connect_socket();
    if (socket < 0) {
        return socket;
    }
    const PlaceRequest request = place(port);
    Done done;
    const int error = exchange(socket, kind, &request, sizeof request, FrameKind::done, &done, sizeof done);
    if (error != 0) {
        ::close(socket);
        return error;
    }
    out = done.value;
    return socket;
}

int send_frame(int socket, FrameKind kind, const void* payload, std::size_t size, const void* rest,
               std::size_t rest_size) {
    FrameHeader header{.kind = kind, .bytes = static_cast<std::uint32_t>(size + rest_size)};
    std::array<iovec, 3> parts{{{.iov_base = &header, .iov_len = sizeof header},
                                {.iov_base = const_cast<void*>(payload), .iov_len = size},
                                {.iov_base = const_cast<void*>(rest), .iov_len = rest_size}}};
    std::size_t first = 0;
    while (first < parts.size()) {
        msghdr message{};
        message.msg_iov = &parts[first];
        message.msg_iovlen = parts.size() - first;
        const ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent < 0) {
            return -errno;
        }
        auto left = static_cast<std::size_t>(sent);
        while (first < parts.size() && left >= parts[first].iov_len) {
            left -= parts[first++].iov_len;
        }
        if (first < parts.size()) {
            parts[first].iov_base = static_cast<char*>(parts[first].iov_base) + left;
            parts[first].iov_len -= left;
        }
    }
    return 0;
}

}  // namespace ibf::sim::shim
