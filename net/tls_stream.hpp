// DOC: one TLS connection, as calls that end in time.
//
// Owns the socket. Each call takes the moment at which patience ends, and may be given descriptors that wake
// it. One thread at a time; the peer's disappearance without a word is noticed within kGoneMax.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "net/address.hpp"
#include "net/tls.hpp"

struct addrinfo;

namespace ibf::net {

/// An eventfd: wakes whoever waits in a call of a TlsStream. Any thread, and signal handlers.
class WakeUp {
public:
    WakeUp();
    ~WakeUp();
    WakeUp(const WakeUp&) = delete;
    WakeUp& operator=(const WakeUp&) = delete;
    void signal() const;
    void clear() const;
    [[nodiscard]] int fd() const { return fd_; }

private:
    int fd_;
};

enum class Readiness : std::uint8_t { ready, woken, timeout };
/// Waits for poll's `events` on `fd`, for any of `wakers` to become readable, or for the deadline.
[[nodiscard]] Readiness wait_for(int fd, short events, base::Instant deadline,
                                 const std::vector<int>& wakers = {});

/// A socket that is connected to the first of these addresses that answers, or an errno below zero. What time
/// is left is shared by the addresses that are left, so that a silent one does not hide the others.
[[nodiscard]] int connect_to_any(const addrinfo* addresses, base::Instant deadline);

/// A listening socket.
class Listener {
public:
    /// `host` empty: all addresses. Errors: unavailable (in use, no such address), usage.
    [[nodiscard]] static base::Result<Listener> open(const HostPort& where);
    Listener(Listener&& other) noexcept;
    Listener& operator=(Listener&& other) noexcept;
    ~Listener();
    [[nodiscard]] int fd() const { return fd_; }
    [[nodiscard]] std::uint16_t port() const { return port_; }
    struct Caller {
        int fd = -1;  ///< whoever takes it owns it
        Address address{};
    };
    /// Does not wait; nothing if nobody calls (any more). Errors: unavailable (no descriptor is left, no
    /// memory): whoever calls stays in the queue, and fd() readable.
    [[nodiscard]] base::Result<std::optional<Caller>> accept() const;

private:
    Listener(int fd, std::uint16_t port) : fd_(fd), port_(port) {}
    int fd_ = -1;
    std::uint16_t port_ = 0;
};

class TlsStream {
public:
    static constexpr std::chrono::seconds kGoneMax{10};

    /// Errors: unavailable (no such host, no route, refused, silent), refused (what TLS says; with
    /// certificates, one that is not for that host).
    [[nodiscard]] static base::Result<TlsStream> connect(const HostPort& where,
                                                         const std::shared_ptr<const Tls>& tls,
                                                         base::Instant deadline);
    /// The server's side of the handshake on a socket that it takes. Errors: refused, unavailable.
    [[nodiscard]] static base::Result<TlsStream> accept(int fd, const std::shared_ptr<const Tls>& tls,
                                                        base::Instant deadline,
                                                        const std::vector<int>& wakers);

    TlsStream(TlsStream&& other) noexcept;
    TlsStream& operator=(TlsStream&& other) noexcept;
    ~TlsStream();

    /// All of it. Errors: unavailable: closed, broken, or the peer does not read in time.
    [[nodiscard]] base::Result<void> write(std::string_view octets, base::Instant deadline);
    /// Adds what has come to `into`, at most `most` octets. Errors: unavailable: the connection is closed or
    /// broken.
    [[nodiscard]] base::Result<Readiness> read(std::string& into, std::size_t most, base::Instant deadline,
                                               const std::vector<int>& wakers = {});
    /// The name in the peer's certificate; "" with a shared key.
    [[nodiscard]] base::Result<std::string> peer_name(const std::vector<std::string>& allowed,
                                                      std::string_view option) const;

private:
    TlsStream(int fd, const std::shared_ptr<const Tls>& tls);
    [[nodiscard]] base::Result<void> handshake(bool as_client, base::Instant deadline,
                                               const std::vector<int>& wakers);
    /// After a call of OpenSSL that did not succeed: which events it waits for; 0: the connection is over.
    [[nodiscard]] short wanted(int result) const;
    [[nodiscard]] std::string trouble(int result) const;

    int fd_ = -1;
    ssl_st* ssl_ = nullptr;
    std::shared_ptr<const Tls> tls_;
};

}  // namespace ibf::net
