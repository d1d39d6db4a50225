#include "daemon/core/flight_recorder.hpp"

namespace ibf::core {

void FlightRecorder::note(Way way, const mad::WireMad& mad, base::Instant at) {
    if (ring_.size() < kKept) {
        ring_.push_back({at, way, mad.bytes});
        return;
    }
    ring_[next_] = {at, way, mad.bytes};
    next_ = (next_ + 1) % kKept;
}

std::string FlightRecorder::format() const {
    std::string text;
    for (std::size_t i = 0; i < ring_.size(); ++i) {
        const Entry& entry = ring_[(next_ + i) % ring_.size()];
        const auto smp = mad::parse_smp(entry.bytes);
        text += fmt::format("{:>16} {} {}\n", entry.at.time_since_epoch().count(),
                            entry.way == Way::in ? "in " : "out",
                            smp ? mad::to_line(*smp) : std::string("not an SMP"));
    }
    return text;
}

}  // namespace ibf::core
