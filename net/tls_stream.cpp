#include "net/tls_stream.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <utility>

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "base/check.hpp"

namespace ibf::net {
namespace {

using base::ErrorKind;
using base::Instant;
using base::Result;

/// OpenSSL writes with write(2): a peer that is gone must not end the program.
void ignore_broken_pipes() {
    static std::once_flag once;
    std::call_once(once, [] {
        struct sigaction now {};
        if (::sigaction(SIGPIPE, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) {
            ::signal(SIGPIPE, SIG_IGN);
        }
    });
}

void set_option(int fd, int level, int name, int value) {
    // An option that is not taken makes the end of a silent peer come later, nothing else.
    static_cast<void>(::setsockopt(fd, level, name, &value, sizeof value));
}

/// A peer that is switched off is noticed: by what it does not acknowledge, or by probes when nothing is
/// sent.
void watch_peer(int fd) {
    constexpr int kGoneMs = static_cast<int>(TlsStream::kGoneMax.count()) * 1000;
    set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, kGoneMs);
    set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 4);
    set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 2);
    set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

struct FreeAddresses {
    void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Result<Addresses> addresses_of(const HostPort& where, int flags) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags | AI_NUMERICSERV;
    addrinfo* found = nullptr;
    const int error = ::getaddrinfo(where.host.empty() ? nullptr : where.host.c_str(),
                                    std::to_string(where.port).c_str(), &hints, &found);
    if (error != 0) {
        return base::fail(ErrorKind::unavailable,
                          fmt::format("{}: {}", where.host,
                                      error == EAI_SYSTEM ? std::strerror(errno) : ::gai_strerror(error)));
    }
    return Addresses(found);
}

/// The socket, or an errno below zero.
int connect_to(const addrinfo& address, Instant deadline) {
    const int fd = ::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -errno;
    }
    int error = 0;
    if (::connect(fd, address.ai_addr, address.ai_addrlen) != 0) {
        error = errno;
        if (error == EINPROGRESS) {
            socklen_t length = sizeof error;
            if (wait_for(fd, POLLOUT, deadline) != Readiness::ready) {
                error = ETIMEDOUT;
            } else if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0) {
                error = errno;
            }
        }
    }
    if (error != 0) {
        ::close(fd);
        return -error;
    }
    return fd;
}

std::string remedy_of(int error) {
    switch (error) {
        case ECONNREFUSED: return ": nothing listens there: is the agent running, and is this its port?";
        case ETIMEDOUT: return ": nobody answers: is the host up, and does a firewall let the port through?";
        case ENETUNREACH:
        case EHOSTUNREACH: return ": there is no way to it from here";
        default: return "";
    }
}

}  // namespace

// ---- waiting

WakeUp::WakeUp() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    IBF_CHECK(fd_ >= 0, "eventfd failed");
}
WakeUp::~WakeUp() {
    ::close(fd_);
}
void WakeUp::signal() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto put = ::write(fd_, &one, sizeof one);
}
void WakeUp::clear() const {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto got = ::read(fd_, &count, sizeof count);
}

Readiness wait_for(int fd, short events, Instant deadline, const std::vector<int>& wakers) {
    std::vector<pollfd> watched{{fd, events, 0}};
    for (const int waker : wakers) {
        watched.push_back({waker, POLLIN, 0});
    }
    while (true) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(deadline - base::monotonic_now()).count();
        const int timeout = static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
        const int count = ::poll(watched.data(), static_cast<nfds_t>(watched.size()), timeout);
        if (count > 0) {
            // Whoever wakes is heard first: a peer that never stops sending must not keep an end from coming.
            const bool woken = std::any_of(watched.begin() + 1, watched.end(),
                                           [](const pollfd& one) { return one.revents != 0; });
            return woken ? Readiness::woken : Readiness::ready;
        }
        if (count == 0 && left <= timeout) {
            return Readiness::timeout;
        }
        if (count < 0 && errno != EINTR) {
            return Readiness::timeout;
        }
    }
}

// ---- connecting

int connect_to_any(const addrinfo* addresses, Instant deadline) {
    int left = 0;
    for (const addrinfo* one = addresses; one != nullptr; one = one->ai_next) {
        ++left;
    }
    int fd = -EHOSTUNREACH;
    for (const addrinfo* one = addresses; one != nullptr && fd < 0; one = one->ai_next, --left) {
        const Instant now = base::monotonic_now();
        fd = connect_to(*one, now + std::max(base::Duration::zero(), deadline - now) / left);
    }
    return fd;
}

// ---- listening

Result<Listener> Listener::open(const HostPort& where) {
    const auto found = addresses_of(where, AI_PASSIVE);
    if (!found) {
        return tl::unexpected(found.error());
    }
    // Without a name both families answer at one socket of IPv6; where that is switched off, IPv4 does alone.
    std::vector<const addrinfo*> order;
    for (const addrinfo* one = found->get(); one != nullptr; one = one->ai_next) {
        order.insert(where.host.empty() && one->ai_family == AF_INET6 ? order.begin() : order.end(), one);
    }
    int error = EADDRNOTAVAIL;
    for (const addrinfo* one : order) {
        const int fd = ::socket(one->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (fd < 0) {
            error = errno;
            continue;
        }
        set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
        if (one->ai_family == AF_INET6) {
            set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, where.host.empty() ? 0 : 1);
        }
        sockaddr_storage bound{};
        socklen_t length = sizeof bound;
        if (::bind(fd, one->ai_addr, one->ai_addrlen) == 0 && ::listen(fd, SOMAXCONN) == 0 &&
            ::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &length) == 0) {
            const std::uint16_t port = bound.ss_family == AF_INET6
                                           ? reinterpret_cast<const sockaddr_in6&>(bound).sin6_port
                                           : reinterpret_cast<const sockaddr_in&>(bound).sin_port;
            return Listener(fd, ntohs(port));
        }
        error = errno;
        ::close(fd);
    }
    return base::fail(
        ErrorKind::unavailable,
        fmt::format("cannot listen at {}: {}{}", where.text(), std::strerror(error),
                    error == EADDRINUSE ? ": another agent runs, or another program has the port" : ""));
}

Listener::Listener(Listener&& other) noexcept : fd_(std::exchange(other.fd_, -1)), port_(other.port_) {}
Listener& Listener::operator=(Listener&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(port_, other.port_);
    return *this;
}
Listener::~Listener() {
    if (fd_ >= 0) {
        ::close(fd_);
    }
}

base::Result<std::optional<Listener::Caller>> Listener::accept() const {
    sockaddr_storage from{};
    socklen_t length = sizeof from;
    const int fd = ::accept4(fd_, reinterpret_cast<sockaddr*>(&from), &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
        return base::fail(ErrorKind::unavailable,
                          fmt::format("no connection can be taken: {}", std::strerror(errno)));
    }
    if (fd < 0) {
        return std::nullopt;
    }
    return Caller{fd, address_of(reinterpret_cast<const sockaddr&>(from))};
}

// ---- TLS

TlsStream::TlsStream(int fd, const std::shared_ptr<const Tls>& tls)
    : fd_(fd), ssl_(SSL_new(tls->native())), tls_(tls) {
    ignore_broken_pipes();
    watch_peer(fd);
    if (ssl_ != nullptr) {
        SSL_set_mode(ssl_, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
        if (SSL_set_fd(ssl_, fd) != 1) {
            SSL_free(std::exchange(ssl_, nullptr));
        }
    }
}

TlsStream::TlsStream(TlsStream&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      ssl_(std::exchange(other.ssl_, nullptr)),
      tls_(std::move(other.tls_)) {}

TlsStream& TlsStream::operator=(TlsStream&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(ssl_, other.ssl_);
    std::swap(tls_, other.tls_);
    return *this;
}

TlsStream::~TlsStream() {
    if (ssl_ != nullptr) {
        if (SSL_is_init_finished(ssl_) == 1) {
            SSL_shutdown(ssl_);  // what is unsent by now is for nobody: no waiting
        }
        SSL_free(ssl_);
        ERR_clear_error();
    }
    if (fd_ >= 0) {
        ::close(fd_);
    }
}

Result<TlsStream> TlsStream::connect(const HostPort& where, const std::shared_ptr<const Tls>& tls,
                                     Instant deadline) {
    const auto found = addresses_of(where, AI_ADDRCONFIG);
    if (!found) {
        return tl::unexpected(found.error());
    }
    const int fd = connect_to_any(found->get(), deadline);
    if (fd < 0) {
        return base::fail(ErrorKind::unavailable,
                          fmt::format("{}: {}{}", where.text(), std::strerror(-fd), remedy_of(-fd)));
    }
    TlsStream stream(fd, tls);
    if (const auto shaken = stream.handshake(true, deadline, {}); !shaken) {
        return base::fail(shaken.error().kind, fmt::format("{}: {}", where.text(), shaken.error().message));
    }
    // Addresses may be written in more than one way; certificates are read in one.
    const auto literal = parse_network(where.host);
    const std::string expected = literal ? to_string(literal->base) : where.host;
    if (const auto name = stream.peer_name({expected}, "the name asked for, " + where.host); !name) {
        return base::fail(name.error().kind, fmt::format("{}: {}", where.text(), name.error().message));
    }
    return stream;
}

Result<TlsStream> TlsStream::accept(int fd, const std::shared_ptr<const Tls>& tls, Instant deadline,
                                    const std::vector<int>& wakers) {
    TlsStream stream(fd, tls);
    if (const auto shaken = stream.handshake(false, deadline, wakers); !shaken) {
        return tl::unexpected(shaken.error());
    }
    return stream;
}

Result<void> TlsStream::handshake(bool as_client, Instant deadline, const std::vector<int>& wakers) {
    if (ssl_ == nullptr) {
        return base::fail(ErrorKind::unavailable, "OpenSSL makes no connection: out of memory?");
    }
    while (true) {
        ERR_clear_error();
        const int result = as_client ? SSL_connect(ssl_) : SSL_accept(ssl_);
        if (result == 1) {
            return {};
        }
        const short events = wanted(result);
        if (events == 0) {
            const std::string certificate = tls_->has_certificates() ? certificate_trouble(ssl_) : "";
            return base::fail(ErrorKind::refused, fmt::format("no TLS connection: {}{}{}", trouble(result),
                                                              certificate.empty() ? "" : ": ", certificate));
        }
        if (const auto how = wait_for(fd_, events, deadline, wakers); how != Readiness::ready) {
            return base::fail(ErrorKind::unavailable,
                              how == Readiness::woken ? "this side ends"
                                                      : "no TLS connection: the other side took too long");
        }
    }
}

short TlsStream::wanted(int result) const {
    switch (SSL_get_error(ssl_, result)) {
        case SSL_ERROR_WANT_READ: return POLLIN;
        case SSL_ERROR_WANT_WRITE: return POLLOUT;
        default: return 0;
    }
}

std::string TlsStream::trouble(int result) const {
    const int error = errno;
    const unsigned long code = ERR_peek_error();
    const int kind = SSL_get_error(ssl_, result);
    ERR_clear_error();
    if (code == 0) {
        const bool is_closed =
            kind != SSL_ERROR_SYSCALL || error == 0 || error == ECONNRESET || error == EPIPE;
        return is_closed ? "the connection was closed" : std::strerror(error);
    }
    switch (ERR_GET_REASON(code)) {
        case SSL_R_UNEXPECTED_EOF_WHILE_READING: return "the connection was closed";
        case SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC:
        case SSL_R_SSLV3_ALERT_BAD_RECORD_MAC:
        case SSL_R_TLSV1_ALERT_DECRYPT_ERROR:
        case SSL_R_PSK_IDENTITY_NOT_FOUND: return "the two sides do not hold the same key";
        case SSL_R_NO_SHARED_CIPHER:
        case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
        case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
        case SSL_R_UNSUPPORTED_PROTOCOL:
            return "the two sides agree on no cipher: one takes a shared key and the other one certificates";
        case SSL_R_HTTP_REQUEST:
        case SSL_R_WRONG_VERSION_NUMBER: return "the other side speaks no TLS";
        default: break;
    }
    const char* const words = ERR_reason_error_string(code);
    return words != nullptr ? words : fmt::format("OpenSSL error {:#x}", code);
}

Result<void> TlsStream::write(std::string_view octets, Instant deadline) {
    while (!octets.empty()) {
        ERR_clear_error();
        const int result =
            SSL_write(ssl_, octets.data(), static_cast<int>(std::min(octets.size(), std::size_t{1} << 20U)));
        if (result > 0) {
            octets.remove_prefix(static_cast<std::size_t>(result));
            continue;
        }
        const short events = wanted(result);
        if (events == 0) {
            return base::fail(ErrorKind::unavailable, trouble(result));
        }
        if (wait_for(fd_, events, deadline) != Readiness::ready) {
            return base::fail(ErrorKind::unavailable, "the other side does not read what it is sent");
        }
    }
    return {};
}

Result<Readiness> TlsStream::read(std::string& into, std::size_t most, Instant deadline,
                                  const std::vector<int>& wakers) {
    std::array<char, 16 * 1024> octets{};
    while (true) {
        ERR_clear_error();
        const int result = SSL_read(ssl_, octets.data(), static_cast<int>(std::min(most, octets.size())));
        if (result > 0) {
            into.append(octets.data(), static_cast<std::size_t>(result));
            return Readiness::ready;
        }
        const short events = wanted(result);
        if (events == 0) {
            return base::fail(ErrorKind::unavailable, trouble(result));
        }
        if (const auto how = wait_for(fd_, events, deadline, wakers); how != Readiness::ready) {
            return how;
        }
    }
}

Result<std::string> TlsStream::peer_name(const std::vector<std::string>& allowed,
                                         std::string_view option) const {
    return tls_->has_certificates() ? certified_name(ssl_, allowed, option) : Result<std::string>("");
}

}  // namespace ibf::net
