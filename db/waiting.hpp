// DOC: records that wait, merged.
//
// Of what replaces itself (fabric, LIDs, lanes, drains, SA state, the table of each switch) only the newest
// is kept, history in order up to a bound. So its size is that of the fabric plus the bound, however long
// whoever takes from it is away: the disk (Writer), or a standby. Never emptied, it is the state itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "db/records.hpp"

namespace ibf::db {

class Waiting {
public:
    explicit Waiting(std::size_t history_max) : history_max_(history_max) {}

    [[nodiscard]] bool empty() const;
    /// Adds what is newer than all that waits. Says how many old history records had to go.
    std::uint64_t absorb(Batch&& batch);
    /// All of it as one batch; the clean stop last.
    [[nodiscard]] Batch take();

private:
    void place(Record&& record);

    std::size_t history_max_;               ///< records
    std::map<std::size_t, Record> latest_;  ///< fabric, LIDs, lanes, drains, SA state, by variant index
    std::map<mad::Guid, Record> tables_;    ///< TableRecord or TableForgetRecord
    std::deque<Record> history_;            ///< sweeps and events
    std::optional<CleanStopRecord> stop_;
};

}  // namespace ibf::db
