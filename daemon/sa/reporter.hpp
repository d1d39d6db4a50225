// DOC: reports to subscribers (IBA 13.4.9, 15.4.3).
//
// Sans-I/O. Whoever subscribed to a notice gets it as a Report, to the LID and QP it subscribed from, again
// and again until it answers; who leaves several reports unanswered is given up. At most `kOpenMost` reports
// wait for an answer: beyond it they are dropped and counted, since a notice is a hint.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "daemon/fabric/sa_tables.hpp"
#include "mad/attributes.hpp"
#include "mad/sa_mad.hpp"
#include "mad/transport.hpp"

namespace ibf::sa {

// Traps of the SA itself (IBA 13.4.8.2).
inline constexpr std::uint16_t kTrapGidInService = 64;
inline constexpr std::uint16_t kTrapGidOutOfService = 65;
inline constexpr std::uint16_t kTrapGroupCreated = 66;
inline constexpr std::uint16_t kTrapGroupDeleted = 67;

/// A notice, and who it comes from.
struct Report {
    mad::Notice notice;
    mad::Gid issuer;
};

/// Whether a subscription asks for a notice (IBA 13.4.8.3): each of its fields names one value or all of
/// them.
[[nodiscard]] bool wants(const fabric::Subscription& subscription, const Report& report);

class Reporter {
public:
    static constexpr std::size_t kOpenMost = 10'000;
    static constexpr std::uint8_t kSends = 4;
    static constexpr std::uint32_t kUnansweredMost = 3;  ///< in a row, then the subscriber is taken for gone

    void send(const std::shared_ptr<const fabric::Subscription>& to, const Report& report, base::Instant now,
              std::vector<mad::WireMad>& out);
    /// A ReportResp. True if it answers one of ours.
    bool on_response(const mad::SaMad& mad);
    /// Sends again what is due; returns the subscriptions that were given up.
    [[nodiscard]] std::vector<std::shared_ptr<const fabric::Subscription>> on_time(
        base::Instant now, std::vector<mad::WireMad>& out);
    [[nodiscard]] std::optional<base::Instant> next_deadline() const;
    /// What is sent now is dropped.
    [[nodiscard]] bool full() const { return open_.size() >= kOpenMost; }
    [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

private:
    struct Open {
        mad::WireMad wire;
        std::shared_ptr<const fabric::Subscription> to;
        base::Instant due;
        std::uint8_t sends = 0;
    };
    using SubscriptionKey = std::pair<mad::Gid, std::uint16_t>;

    std::map<std::uint32_t, Open> open_;                     ///< by TID
    std::set<std::pair<base::Instant, std::uint32_t>> due_;  ///< (due, TID)
    std::map<SubscriptionKey, std::uint32_t> unanswered_;    ///< in a row
    std::uint32_t last_tid_ = 0;
    std::uint64_t dropped_ = 0;
};

}  // namespace ibf::sa
