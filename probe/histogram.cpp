#include "probe/histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace ibf::probe {
namespace {

constexpr std::uint32_t kStepBits = 5;
constexpr std::uint32_t kSteps = 1U << kStepBits;  ///< of each power of two
constexpr std::uint32_t kBuckets = kSteps * (64 - kStepBits + 1);

std::uint32_t bucket_of(std::uint64_t value) {
    if (value < kSteps) {
        return static_cast<std::uint32_t>(value);
    }
    const auto shift = static_cast<std::uint32_t>(std::bit_width(value)) - 1 - kStepBits;
    return (shift + 1) * kSteps + (static_cast<std::uint32_t>(value >> shift) & (kSteps - 1));
}

/// The largest value in it.
std::uint64_t upper_edge(std::uint32_t bucket) {
    if (bucket < kSteps) {
        return bucket;
    }
    const std::uint32_t shift = bucket / kSteps - 1;
    return ((std::uint64_t{kSteps} + bucket % kSteps + 1) << shift) -
           1;  // of the last one 2^64 - 1, by wrapping
}

/// Counts come from other hosts too: what they add up to must stay a count.
std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b) {
    const std::uint64_t sum = a + b;
    return sum < a ? std::numeric_limits<std::uint64_t>::max() : sum;
}

}  // namespace

void Histogram::add(std::uint64_t nanoseconds) {
    minimum_ = count_ == 0 ? nanoseconds : std::min(minimum_, nanoseconds);
    maximum_ = std::max(maximum_, nanoseconds);
    sum_ = saturating_sum(sum_, nanoseconds);
    ++count_;
    ++buckets_[bucket_of(nanoseconds)];
}

void Histogram::add(const Histogram& other) {
    if (other.count_ == 0) {
        return;
    }
    minimum_ = count_ == 0 ? other.minimum_ : std::min(minimum_, other.minimum_);
    maximum_ = std::max(maximum_, other.maximum_);
    sum_ = saturating_sum(sum_, other.sum_);
    count_ = saturating_sum(count_, other.count_);
    for (const auto& [bucket, count] : other.buckets_) {
        std::uint64_t& mine = buckets_[bucket];
        mine = saturating_sum(mine, count);
    }
}

double Histogram::mean() const {
    return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_);
}

std::uint64_t Histogram::percentile(double share) const {
    const double rank = std::max(1.0, std::ceil(share * static_cast<double>(count_)));
    double seen = 0;
    for (const auto& [bucket, count] : buckets_) {
        seen += static_cast<double>(count);
        if (seen >= rank) {
            return std::min(upper_edge(bucket), maximum_);
        }
    }
    return maximum_;
}

Histogram Histogram::of(const std::map<std::uint32_t, std::uint64_t>& buckets, std::uint64_t sum,
                        std::uint64_t minimum, std::uint64_t maximum) {
    Histogram made;
    for (const auto& [bucket, count] : buckets) {
        if (bucket < kBuckets && count > 0) {
            made.buckets_.emplace(bucket, count);
            made.count_ = saturating_sum(made.count_, count);
        }
    }
    if (made.count_ > 0) {
        made.sum_ = sum;
        made.minimum_ = minimum;
        made.maximum_ = maximum;
    }
    return made;
}

}  // namespace ibf::probe
