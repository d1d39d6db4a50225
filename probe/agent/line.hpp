// DOC: messages over one TLS connection.
//
// Cuts what comes into frames and decodes them. A frame that has begun has to end within kFrameTimeMax, so
// that nobody holds a connection by dribbling. One thread at a time.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "net/tls_stream.hpp"
#include "probe/messages.hpp"

namespace ibf::probe {

class Line {
public:
    static constexpr std::chrono::seconds kFrameTimeMax{10};
    static constexpr std::chrono::seconds kWriteTimeMax{10};

    explicit Line(net::TlsStream&& stream) : stream_(std::move(stream)) {}

    /// Errors: unavailable: the connection is over, or the peer does not read.
    [[nodiscard]] base::Result<void> send(const Message& message);

    struct Arrival {
        std::optional<Message> message;
        net::Readiness readiness = net::Readiness::ready;  ///< why there is none
    };
    /// Errors: unavailable (the connection is over), parse (no message of ours; the connection is of no use
    /// any more).
    [[nodiscard]] base::Result<Arrival> receive(base::Instant deadline, const std::vector<int>& wakers = {});

    [[nodiscard]] const net::TlsStream& stream() const { return stream_; }

private:
    net::TlsStream stream_;
    std::string buffer_;
    base::Instant since_{};  ///< when the frame in the buffer began
};

}  // namespace ibf::probe
