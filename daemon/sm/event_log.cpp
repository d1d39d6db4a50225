#include "daemon/sm/event_log.hpp"

namespace ibf::sm {

bool EventLog::add(fabric::EventRecord& event) {
    if (++in_sweep_[event.kind] > kPerKindAndSweep) {
        return false;
    }
    keep(event);
    return true;
}

std::uint64_t EventLog::adopt(fabric::EventRecord event) {
    return keep(event);
}

std::uint64_t EventLog::keep(fabric::EventRecord& event) {
    event.id = ++last_id_;
    kept_.push_front(event);
    if (kept_.size() > kKept) {
        kept_.pop_back();
    }
    return event.id;
}

std::vector<std::string> EventLog::end_sweep() {
    std::vector<std::string> summaries;
    for (const auto& [kind, count] : in_sweep_) {
        if (count > kPerKindAndSweep) {
            summaries.push_back(fmt::format("{}: {} more", kind, count - kPerKindAndSweep));
        }
    }
    in_sweep_.clear();
    return summaries;
}

std::vector<fabric::EventRecord> EventLog::newest_first() const {
    return {kept_.begin(), kept_.end()};
}

}  // namespace ibf::sm
