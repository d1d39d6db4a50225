#include "probe/agent/floor.hpp"

#include <fmt/format.h>

namespace ibf::probe {

base::Result<void> Floor::take(const std::string& who) {
    const std::lock_guard lock(mutex_);
    if (holder_) {
        return base::fail(
            base::ErrorKind::refused,
            fmt::format("is busy with a run of {} since {} ({} ago): one at a time, try again later",
                        holder_->who, base::format_utc(holder_->since),
                        base::format_duration(base::monotonic_now() - holder_->begun)));
    }
    holder_ = Holder{who, base::wall_now(), base::monotonic_now()};
    return {};
}

void Floor::give() {
    const std::lock_guard lock(mutex_);
    holder_.reset();
}

}  // namespace ibf::probe
