// DOC: what the SA did, for readers.
//
// Values: counters since the start, rates of the last seconds, latencies, and the clients that ask most.
// Bounded, whoever asks for whatever (sa/statistics makes them). Rates fade with the time at which they are
// read.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.hpp"
#include "mad/ids.hpp"

namespace ibf::fabric {

/// How often something happened of late: a window that slides, by the counts of the stretch of time under way
/// and of the one before it. 16 bytes, a few nanoseconds a count.
class RateWindow {
public:
    static constexpr base::Duration kLength = std::chrono::seconds{5};

    void count(base::Instant now);
    [[nodiscard]] double per_second(base::Instant now) const;

private:
    std::int64_t stretch_ = 0;  ///< number of the one under way
    std::uint32_t current_ = 0;
    std::uint32_t before_ = 0;
};

/// From arrival at the SA to the answer's leaving (of a table: its first packet).
struct Latencies {
    std::uint64_t count = 0;
    base::Duration median{};  ///< within an eighth, rounded up; the same for p99
    base::Duration p99{};
    base::Duration max{};  ///< exact
};

/// Requests of one method and attribute.
struct KindActivity {
    std::uint8_t method = 0;  ///< 0: this row is of all that the IBA does not know
    std::uint16_t attribute = 0;
    std::uint64_t requests = 0;
    RateWindow rate;
    Latencies latencies;  ///< of queries; joins and the like are answered elsewhere
};

/// Who asks, by source LID.
struct ClientActivity {
    mad::Lid lid{};
    std::uint64_t requests = 0;
    std::uint64_t duplicates = 0;
    std::uint64_t dropped = 0;
    RateWindow rate;
    base::Instant last_seen{};
};

/// What the SA did since the start.
struct SaActivity {
    std::uint64_t requests = 0;
    std::uint64_t answered = 0;
    std::uint64_t records = 0;           ///< in answers
    std::uint64_t duplicates = 0;        ///< retries of what was in hand
    std::uint64_t dropped = 0;           ///< a queue was full
    std::uint64_t malformed = 0;         ///< no SA request, or a key that is not ours
    std::uint64_t changes = 0;           ///< joins, registrations, subscriptions
    std::uint64_t tables_delivered = 0;  ///< by RMPP, acknowledged whole
    std::uint64_t tables_failed = 0;
    Latencies latencies;
    std::vector<KindActivity> by_kind;    ///< those that were asked for, by method and attribute
    std::uint64_t client_count = 0;       ///< LIDs that ever asked
    std::vector<ClientActivity> clients;  ///< a bounded number, who asks most of late first
};

}  // namespace ibf::fabric
