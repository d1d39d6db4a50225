#include "probe/agent/line.hpp"

#include <algorithm>

namespace ibf::probe {

using base::ErrorKind;
using base::Result;

Result<void> Line::send(const Message& message) {
    return stream_.write(encode(message), base::monotonic_now() + kWriteTimeMax);
}

Result<Line::Arrival> Line::receive(base::Instant deadline, const std::vector<int>& wakers) {
    constexpr std::size_t kChunkBytes = 16 * 1024;
    while (true) {
        if (buffer_.size() >= kFrameHeaderBytes) {
            const auto length = decode_length(buffer_);
            if (!length) {
                return tl::unexpected(length.error());
            }
            if (buffer_.size() >= kFrameHeaderBytes + *length) {
                auto message = decode(std::string_view(buffer_).substr(kFrameHeaderBytes, *length));
                buffer_.erase(0, kFrameHeaderBytes + *length);
                since_ = base::monotonic_now();
                if (!message) {
                    return tl::unexpected(message.error());
                }
                return Arrival{std::move(*message), net::Readiness::ready};
            }
        }
        if (buffer_.empty()) {
            since_ = base::monotonic_now();
        } else if (base::monotonic_now() - since_ >= kFrameTimeMax) {
            return base::fail(ErrorKind::parse, "a frame has begun and does not end");
        }
        const base::Instant frame_end = buffer_.empty() ? base::Instant::max() : since_ + kFrameTimeMax;
        const bool was_empty = buffer_.empty();
        const auto how = stream_.read(buffer_, kChunkBytes, std::min(deadline, frame_end), wakers);
        if (!how) {
            return tl::unexpected(how.error());
        }
        if (was_empty) {
            since_ = base::monotonic_now();
        }
        if (*how == net::Readiness::woken ||
            (*how == net::Readiness::timeout && deadline <= base::monotonic_now())) {
            return Arrival{std::nullopt, *how};
        }
    }
}

}  // namespace ibf::probe
