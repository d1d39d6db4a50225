// DOC: how long things took, in buckets that grow.
//
// Times in nanoseconds from 0 to 2^63. Each power of two has 32 buckets, so that a percentile is at most 1/32
// too high; count, sum and maximum are exact. Histograms add up. Pure.
#pragma once

#include <cstdint>
#include <map>

namespace ibf::probe {

class Histogram {
public:
    void add(std::uint64_t nanoseconds);
    void add(const Histogram& other);
    [[nodiscard]] std::uint64_t count() const { return count_; }
    [[nodiscard]] std::uint64_t maximum() const { return maximum_; }
    [[nodiscard]] std::uint64_t minimum() const { return minimum_; }
    /// 0 if empty.
    [[nodiscard]] double mean() const;
    /// Upper edge of the bucket in which that share of all lies; never above maximum(). `share` in [0, 1].
    [[nodiscard]] std::uint64_t percentile(double share) const;
    /// By bucket number, those that are not empty; for the wire and the database.
    [[nodiscard]] const std::map<std::uint32_t, std::uint64_t>& buckets() const { return buckets_; }
    /// From what another one told. Numbers that no bucket has are left out.
    [[nodiscard]] static Histogram of(const std::map<std::uint32_t, std::uint64_t>& buckets,
                                      std::uint64_t sum, std::uint64_t minimum, std::uint64_t maximum);
    [[nodiscard]] std::uint64_t sum() const { return sum_; }

private:
    std::map<std::uint32_t, std::uint64_t> buckets_;
    std::uint64_t count_ = 0;
    std::uint64_t sum_ = 0;
    std::uint64_t minimum_ = 0;
    std::uint64_t maximum_ = 0;
};

}  // namespace ibf::probe
