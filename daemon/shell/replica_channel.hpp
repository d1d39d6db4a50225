// DOC: one connection between two ibfabricds: TLS, frames, and an end to patience.
//
// Owns the socket. What comes is handed on frame by frame; what goes waits in a short queue, and behind it
// whatever the owner makes when there is room (bulk()), so that a slow peer costs no memory. A peer that
// takes longer than it may for the handshake, for its Hello, for a frame or for what it reads is dropped; so
// is one that breaks the format. closed() comes once, with why. All on the one thread of the replica's
// io_context.
#pragma once

#include <array>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>

#include "daemon/shell/replica_frames.hpp"

namespace ibf::shell {

enum class Side : std::uint8_t { giver, taker };  ///< who was called, and who calls

class Channel : public std::enable_shared_from_this<Channel> {
public:
    static constexpr std::chrono::seconds kGreetingMax{5};  ///< for the handshake and Hello together
    static constexpr std::chrono::seconds kSilenceMax{10};  ///< between two frames, or for one to be read
    static constexpr std::chrono::seconds kBeat{1};

    struct Terms {
        std::shared_ptr<boost::asio::ssl::context> tls;
        std::vector<std::string> names;  ///< that peers' certificates may bear; empty: all
    };

    Channel(boost::asio::ip::tcp::socket&& socket, Terms terms, Side side);
    virtual ~Channel() = default;
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;

    void start();
    /// Ends at once.
    void close(const std::string& why);
    /// It has shown a certificate and said Hello.
    [[nodiscard]] bool greeted() const { return greeted_; }

protected:
    /// The name in its certificate.
    [[nodiscard]] const std::string& certified() const { return certified_; }
    void send(const Frame& frame);
    /// There may be something new for bulk() to make.
    void pump();
    /// What has to be sent has been.
    [[nodiscard]] bool written() const { return !writing_ && queue_.empty(); }

    virtual void opened() = 0;  ///< the handshake is done: Hello is due
    virtual void received(Frame&& frame) = 0;
    virtual void beat() = 0;  ///< once a second
    virtual std::optional<std::string> bulk() { return std::nullopt; }
    virtual void closed(const std::string& why) = 0;

private:
    using Clock = std::chrono::steady_clock;

    void on_handshake(const boost::system::error_code& error);
    void read_header();
    void on_header(const boost::system::error_code& error);
    void on_fields(const boost::system::error_code& error);
    void tick();
    [[nodiscard]] std::string overdue() const;

    boost::asio::ssl::stream<boost::asio::ip::tcp::socket> stream_;
    boost::asio::steady_timer timer_;
    const Terms terms_;
    const Side side_;
    std::string certified_;
    std::array<char, kFrameHeaderBytes> header_octets_{};
    FrameHeader header_;
    std::string fields_;
    std::deque<std::string> queue_;
    std::string out_;  ///< being written
    bool writing_ = false;
    bool open_ = false;  ///< the handshake is done
    bool greeted_ = false;
    bool closed_ = false;
    Clock::time_point since_ = Clock::now();  ///< of the connection, then of the last frame
    Clock::time_point write_since_{};
};

/// An error of the connection, in words.
[[nodiscard]] std::string reason_of(const boost::system::error_code& error);

}  // namespace ibf::shell
