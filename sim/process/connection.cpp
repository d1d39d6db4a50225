#include "sim/process/connection.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace ibf::sim {
namespace {

constexpr std::size_t kReadShare = std::size_t{64} << 10U;
constexpr std::size_t kLineMax = std::size_t{64} << 10U;
constexpr std::uint8_t kAsciiEnd = 0x80;

}  // namespace

Descriptor::~Descriptor() {
    if (number_ >= 0) {
        ::close(number_);
    }
}

Descriptor::Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
}

void Connection::read() {
    in_.erase(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(taken_));
    taken_ = 0;
    const std::size_t had = in_.size();
    in_.resize(had + kReadShare);
    const ssize_t got = ::recv(number(), in_.data() + had, kReadShare, MSG_DONTWAIT);
    in_.resize(had + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    at_end_ = at_end_ || got == 0;
    alive_ = alive_ && (got >= 0 || errno == EAGAIN || errno == EINTR);
    if (!text_ && !in_.empty()) {
        text_ = in_.front() < kAsciiEnd;
    }
}

std::optional<Frame> Connection::next_frame() {
    const std::size_t left = in_.size() - taken_;
    if (left < sizeof(FrameHeader)) {
        return std::nullopt;
    }
    const auto header = read_payload<FrameHeader>(in_.data() + taken_, sizeof(FrameHeader));
    if (header.magic != kFrameMagic || header.version != kProtocolVersion || header.bytes > kFrameBytesMax) {
        alive_ = false;
        return std::nullopt;
    }
    if (left < sizeof header + header.bytes) {
        return std::nullopt;
    }
    const Frame frame{.kind = header.kind, .payload = {in_.data() + taken_ + sizeof header, header.bytes}};
    taken_ += sizeof header + header.bytes;
    return frame;
}

std::optional<std::string> Connection::next_line() {
    const auto begin = in_.begin() + static_cast<std::ptrdiff_t>(taken_);
    const auto end = std::find(begin, in_.end(), std::uint8_t{'\n'});
    if (end == in_.end()) {
        alive_ = alive_ && in_.size() - taken_ <= kLineMax;
        return std::nullopt;
    }
    std::string line(begin, end);
    taken_ += line.size() + 1;
    return line;
}

void Connection::write(std::span<const std::uint8_t> bytes) {
    out_.insert(out_.end(), bytes.begin(), bytes.end());
}

void Connection::flush() {
    while (sent_ < out_.size()) {
        const ssize_t put =
            ::send(number(), out_.data() + sent_, out_.size() - sent_, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (put < 0) {
            alive_ = alive_ && (errno == EAGAIN || errno == EINTR);
            break;
        }
        sent_ += static_cast<std::size_t>(put);
    }
    // What was sent makes room in front once it is most of the buffer, so that each byte moves only once or
    // twice.
    if (sent_ == out_.size()) {
        out_.clear();
        sent_ = 0;
    } else if (sent_ > out_.size() / 2) {
        out_.erase(out_.begin(), out_.begin() + static_cast<std::ptrdiff_t>(sent_));
        sent_ = 0;
    }
}

}  // namespace ibf::sim
