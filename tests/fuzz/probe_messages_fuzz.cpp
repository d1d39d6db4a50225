// Any octets as what an agent or its client hears: a length that is none, a message, or an error in words.
// What was read survives being said again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.hpp"
#include "probe/messages.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace ibf;
    const std::string_view octets(reinterpret_cast<const char*>(data), size);
    if (octets.size() >= probe::kFrameHeaderBytes) {
        if (const auto length = probe::decode_length(octets)) {
            IBF_CHECK(*length > 0 && *length <= probe::kFrameBytesMax, "a frame of {} octets", *length);
        }
    }
    const auto message = probe::decode(octets);
    if (!message) {
        IBF_CHECK(!message.error().message.empty(), "an error without words");
        return 0;
    }
    const std::string once = probe::encode(*message);
    IBF_CHECK(once.size() <= probe::kFrameHeaderBytes + probe::kFrameBytesMax, "says more than may be heard");
    const auto again = probe::decode(std::string_view(once).substr(probe::kFrameHeaderBytes));
    IBF_CHECK(again.has_value(), "what was said is not understood: {}", again.error().message);
    IBF_CHECK(probe::encode(*again) == once, "what was said has changed");
    return 0;
}
