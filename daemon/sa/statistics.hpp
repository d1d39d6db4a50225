// DOC: who asks the SA for what, how often, and how long an answer takes.
//
// Pure, time handed in. Everything is a counter in a table whose size is set by the protocol, not by who
// asks: a row for each source LID there can be, and one for each method with each attribute that the IBA
// knows. So a count is a few additions at a place found by index; nothing is allocated or searched after the
// constructor, and 100,000 clients cost what one costs.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "daemon/fabric/sa_activity.hpp"
#include "mad/sa_mad.hpp"

namespace ibf::sa {

/// Durations by size: eight buckets for each power of two, so that a quantile is right within an eighth.
/// Count and maximum are exact.
class LatencyHistogram {
public:
    void add(base::Duration latency);
    void add(const LatencyHistogram& other);
    [[nodiscard]] fabric::Latencies summary() const;

private:
    static constexpr unsigned kSubBits = 3;
    static constexpr unsigned kFirstPower = 10;  ///< below 2^10 ns: the first bucket
    static constexpr unsigned kLastPower = 37;   ///< two minutes; beyond: the last bucket
    static constexpr std::size_t kBuckets = ((kLastPower - kFirstPower) << kSubBits) + 1;

    [[nodiscard]] static std::size_t bucket_of(std::uint64_t nanoseconds);
    /// The least value above the bucket.
    [[nodiscard]] static std::uint64_t end_of(std::size_t bucket);
    [[nodiscard]] base::Duration quantile(double part) const;

    std::array<std::uint64_t, kBuckets> buckets_{};
    std::uint64_t count_ = 0;
    base::Duration max_{};
};

class Statistics {
public:
    static constexpr std::size_t kClientsTold = 32;
    /// A method with an attribute: the number of its row.
    using Kind = std::uint16_t;

    Statistics();

    [[nodiscard]] Kind kind_of(std::uint8_t method, std::uint16_t attribute) const;
    void requested(Kind kind, mad::Lid client, base::Instant now);
    void duplicate(mad::Lid client) { ++clients_[client.value()].duplicates; }
    void dropped(mad::Lid client) { ++clients_[client.value()].dropped; }
    void answered(Kind kind, base::Duration latency) { kinds_[kind].latencies.add(latency); }

    /// Fills in kinds, clients and latencies.
    void tell(base::Instant now, fabric::SaActivity& out) const;

private:
    struct KindRow {
        std::uint8_t method = 0;
        std::uint16_t attribute = 0;
        std::uint64_t requests = 0;
        fabric::RateWindow rate;
        LatencyHistogram latencies;
    };
    struct Client {
        std::uint64_t requests = 0;
        std::uint64_t duplicates = 0;
        std::uint64_t dropped = 0;
        fabric::RateWindow rate;
        base::Instant last_seen{};
    };
    void tell_clients(base::Instant now, fabric::SaActivity& out) const;

    static constexpr std::uint8_t kUnknown = 0xFF;
    std::array<std::uint8_t, 256> method_places_{};     ///< by number; kUnknown: the IBA has none
    std::array<std::uint8_t, 256> attribute_places_{};  ///< those above 255 are unknown
    std::size_t attributes_ = 0;
    std::vector<KindRow> kinds_;   ///< by method, then attribute; the last one is of all others
    std::vector<Client> clients_;  ///< by LID
    std::vector<mad::Lid> seen_;   ///< those of them that asked
};

}  // namespace ibf::sa
