// DOC: the background audit of tables taken on trust.
//
// After a clean stop the stored tables are believed without reading them back (design: stored tables). While
// nothing else is to be done they are read after all, one block at a time and slowly, and held against what
// is believed to be in force. It decides what to ask and when; asking, comparing and what follows from a
// difference are the SM's.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "base/time.hpp"
#include "mad/ids.hpp"

namespace ibf::sm {

class TableAudit {
public:
    /// From the end of one question to the next: 200 blocks a second, far below what any agent notices.
    static constexpr base::Duration kPace = std::chrono::milliseconds{5};

    struct Question {
        mad::Guid guid{};
        std::uint16_t block = 0;
    };

    /// This switch's table, up to `top`, was believed unread.
    void trust(mad::Guid guid, std::uint16_t top);
    /// Nothing more is asked about it: it was read, is gone, or holds something else.
    void drop(mad::Guid guid) { left_.erase(guid); }
    /// When next() has a question; empty: nothing is left, or one is open.
    [[nodiscard]] std::optional<base::Instant> due() const;
    [[nodiscard]] std::optional<Question> next(base::Instant now);
    enum class Outcome : std::uint8_t { settled, ask_again };
    /// The open question has its answer, or will have none.
    void close(Outcome outcome, base::Instant now);

private:
    struct Rest {
        std::uint16_t next = 0;
        std::uint16_t end = 0;
    };
    std::map<mad::Guid, Rest> left_;
    base::Instant not_before_{};
    std::optional<Question> open_;
};

}  // namespace ibf::sm
