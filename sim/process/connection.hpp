// DOC: one non-blocking connection with its two buffers.
//
// read() takes what the socket holds, up to a share per call, so that one busy program cannot starve the
// others; the owner takes whole frames or lines from the front. write() queues and flush() sends what the
// socket takes. The queue is bounded by whoever fills it: see queued().
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/process/protocol.hpp"

namespace ibf::sim {

/// A descriptor that closes itself.
class Descriptor {
public:
    explicit Descriptor(int number) : number_(number) {}
    ~Descriptor();
    Descriptor(Descriptor&& other) noexcept;
    Descriptor& operator=(Descriptor&& other) noexcept;
    [[nodiscard]] int number() const { return number_; }

private:
    int number_ = -1;
};

struct Frame {
    FrameKind kind{};
    std::span<const std::uint8_t> payload;  ///< valid until the next read()
};

class Connection {
public:
    explicit Connection(Descriptor socket) : socket_(std::move(socket)) {}

    [[nodiscard]] int number() const { return socket_.number(); }
    /// Reads what is there. The peer will say no more: at_end(). Broken, or speaking nonsense: not alive().
    void read();
    [[nodiscard]] bool alive() const { return alive_; }
    [[nodiscard]] bool at_end() const { return at_end_; }
    void end() { alive_ = false; }

    /// Whether its first byte was text; empty before it came.
    [[nodiscard]] std::optional<bool> speaks_text() const { return text_; }
    /// The next whole frame; empty where none is.
    [[nodiscard]] std::optional<Frame> next_frame();
    [[nodiscard]] std::optional<std::string> next_line();

    void write(std::span<const std::uint8_t> bytes);
    template <class T>
    void write_frame(FrameKind kind, const T& payload) {
        write_frame(kind, payload, {});
    }
    template <class T>
    void write_frame(FrameKind kind, const T& payload, std::span<const std::uint8_t> rest) {
        const FrameHeader header{.kind = kind,
                                 .bytes = static_cast<std::uint32_t>(sizeof payload + rest.size())};
        write({reinterpret_cast<const std::uint8_t*>(&header), sizeof header});
        write({reinterpret_cast<const std::uint8_t*>(&payload), sizeof payload});
        write(rest);
    }
    void flush();
    [[nodiscard]] std::size_t queued() const { return out_.size() - sent_; }

private:
    Descriptor socket_;
    std::vector<std::uint8_t> in_;
    std::size_t taken_ = 0;  ///< of in_, handed out already
    std::vector<std::uint8_t> out_;
    std::size_t sent_ = 0;  ///< of out_
    std::optional<bool> text_;
    bool alive_ = true;
    bool at_end_ = false;
};

}  // namespace ibf::sim
