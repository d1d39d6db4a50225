#include "daemon/fabric/sa_activity.hpp"

namespace ibf::fabric {
namespace {

std::int64_t stretch_of(base::Instant now) {
    return now.time_since_epoch() / RateWindow::kLength;
}

}  // namespace

void RateWindow::count(base::Instant now) {
    const std::int64_t stretch = stretch_of(now);
    if (stretch != stretch_) {
        before_ = stretch == stretch_ + 1 ? current_ : 0;
        current_ = 0;
        stretch_ = stretch;
    }
    ++current_;
}

double RateWindow::per_second(base::Instant now) const {
    const std::int64_t passed = stretch_of(now) - stretch_;
    if (passed > 1) {
        return 0;
    }
    const double current = passed == 1 ? 0 : current_;
    const double before = passed == 1 ? current_ : before_;
    using Seconds = std::chrono::duration<double>;
    const base::Duration begun = now.time_since_epoch() % kLength;
    const double still_counts = 1 - Seconds(begun) / Seconds(kLength);
    return (current + before * still_counts) / Seconds(kLength).count();
}

}  // namespace ibf::fabric
