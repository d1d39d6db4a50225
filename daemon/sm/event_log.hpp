// DOC: the events that readers see, newest first, bounded; and the cap per kind and sweep that keeps ten
// thousand nodes appearing at once from becoming ten thousand lines.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "daemon/fabric/snapshot.hpp"

namespace ibf::sm {

class EventLog {
public:
    static constexpr std::size_t kKept = 1000;
    static constexpr std::uint32_t kPerKindAndSweep = 12;

    /// `last_id`: highest id in the database.
    explicit EventLog(std::uint64_t last_id) : last_id_(last_id) {}

    /// Gives the event its id and keeps it; false if its kind has had its share in this sweep (then it is
    /// counted).
    [[nodiscard]] bool add(fabric::EventRecord& event);
    /// One of another SM's: kept, whatever its kind has had. Its id here.
    [[nodiscard]] std::uint64_t adopt(fabric::EventRecord event);
    /// Summaries ("node-added: 812 more") of what was held back since the last call.
    [[nodiscard]] std::vector<std::string> end_sweep();
    [[nodiscard]] std::vector<fabric::EventRecord> newest_first() const;

private:
    std::uint64_t keep(fabric::EventRecord& event);

    std::uint64_t last_id_;
    std::deque<fabric::EventRecord> kept_;
    std::map<std::string, std::uint32_t> in_sweep_;
};

}  // namespace ibf::sm
