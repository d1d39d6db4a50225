// DOC: the flight recorder: the last MADs in and out, as values; formatted only when somebody reads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "mad/transport.hpp"

namespace ibf::core {

class FlightRecorder {
public:
    static constexpr std::size_t kKept = 512;

    enum class Way : std::uint8_t { in, out };
    void note(Way way, const mad::WireMad& mad, base::Instant at);
    /// Oldest first, one line each.
    [[nodiscard]] std::string format() const;

private:
    struct Entry {
        base::Instant at{};
        Way way = Way::in;
        mad::MadBuffer bytes{};
    };
    std::vector<Entry> ring_;
    std::size_t next_ = 0;
};

}  // namespace ibf::core
