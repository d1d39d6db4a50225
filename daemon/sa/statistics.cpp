#include "daemon/sa/statistics.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace ibf::sa {
namespace {

constexpr std::size_t kLids = 1U << 16U;

}  // namespace

std::size_t LatencyHistogram::bucket_of(std::uint64_t nanoseconds) {
    const unsigned power = static_cast<unsigned>(std::bit_width(nanoseconds | 1U)) - 1;
    if (power < kFirstPower) {
        return 0;
    }
    if (power >= kLastPower) {
        return kBuckets - 1;
    }
    const std::uint64_t eighth = (nanoseconds >> (power - kSubBits)) & ((1U << kSubBits) - 1);
    return 1 + ((power - kFirstPower) << kSubBits) + static_cast<std::size_t>(eighth);
}

std::uint64_t LatencyHistogram::end_of(std::size_t bucket) {
    if (bucket == 0) {
        return std::uint64_t{1} << kFirstPower;
    }
    const std::size_t power = kFirstPower + ((bucket - 1) >> kSubBits);
    const std::uint64_t eighth = (bucket - 1) & ((1U << kSubBits) - 1);
    return ((std::uint64_t{1} << kSubBits) + eighth + 1) << (power - kSubBits);
}

void LatencyHistogram::add(base::Duration latency) {
    ++buckets_[bucket_of(static_cast<std::uint64_t>(std::max(latency, base::Duration::zero()).count()))];
    ++count_;
    max_ = std::max(max_, latency);
}

void LatencyHistogram::add(const LatencyHistogram& other) {
    for (std::size_t i = 0; i < kBuckets; ++i) {
        buckets_[i] += other.buckets_[i];
    }
    count_ += other.count_;
    max_ = std::max(max_, other.max_);
}

base::Duration LatencyHistogram::quantile(double part) const {
    const auto wanted = static_cast<std::uint64_t>(std::ceil(part * static_cast<double>(count_)));
    std::uint64_t below = 0;
    for (std::size_t i = 0; i + 1 < kBuckets; ++i) {
        below += buckets_[i];
        if (below >= wanted) {
            return std::min(max_, base::Duration(end_of(i)));
        }
    }
    return max_;
}

fabric::Latencies LatencyHistogram::summary() const {
    return {count_, quantile(0.5), quantile(0.99), max_};
}

Statistics::Statistics() : clients_(kLids) {
    seen_.reserve(kLids);
    method_places_.fill(kUnknown);
    attribute_places_.fill(kUnknown);
    std::vector<std::uint8_t> methods;
    std::vector<std::uint16_t> attributes;
    constexpr unsigned kResponseBit = 0x80;
    for (unsigned number = 0; number < 256; ++number) {
        const auto octet = static_cast<std::uint8_t>(number);
        if (number < kResponseBit && !mad::to_string(static_cast<mad::SaMethod>(octet)).empty()) {
            method_places_[number] = static_cast<std::uint8_t>(methods.size());
            methods.push_back(octet);
        }
        if (!mad::to_string(static_cast<mad::SaAttribute>(number)).empty()) {
            attribute_places_[number] = static_cast<std::uint8_t>(attributes.size());
            attributes.push_back(octet);
        }
    }
    attributes_ = attributes.size();
    kinds_.resize(methods.size() * attributes.size() + 1);
    for (std::size_t i = 0; i + 1 < kinds_.size(); ++i) {
        kinds_[i].method = methods[i / attributes_];
        kinds_[i].attribute = attributes[i % attributes_];
    }
}

Statistics::Kind Statistics::kind_of(std::uint8_t method, std::uint16_t attribute) const {
    const std::uint8_t row = method_places_[method];
    const std::uint8_t column =
        attribute < attribute_places_.size() ? attribute_places_[attribute] : kUnknown;
    const bool known = row != kUnknown && column != kUnknown;
    return static_cast<Kind>(known ? row * attributes_ + column : kinds_.size() - 1);
}

void Statistics::requested(Kind kind, mad::Lid client, base::Instant now) {
    KindRow& row = kinds_[kind];
    ++row.requests;
    row.rate.count(now);
    Client& asker = clients_[client.value()];
    if (asker.requests == 0) {
        seen_.push_back(client);
    }
    ++asker.requests;
    asker.rate.count(now);
    asker.last_seen = now;
}

void Statistics::tell(base::Instant now, fabric::SaActivity& out) const {
    LatencyHistogram all;
    out.by_kind.clear();
    for (const KindRow& row : kinds_) {
        if (row.requests != 0) {
            all.add(row.latencies);
            out.by_kind.push_back(
                {row.method, row.attribute, row.requests, row.rate, row.latencies.summary()});
        }
    }
    out.latencies = all.summary();
    tell_clients(now, out);
}

void Statistics::tell_clients(base::Instant now, fabric::SaActivity& out) const {
    struct Ranked {
        double per_second = 0;
        std::uint64_t requests = 0;
        mad::Lid lid{};
    };
    std::vector<Ranked> ranked;
    ranked.reserve(seen_.size());
    for (const mad::Lid lid : seen_) {
        const Client& client = clients_[lid.value()];
        ranked.push_back({client.rate.per_second(now), client.requests, lid});
    }
    const auto told = static_cast<std::ptrdiff_t>(std::min(ranked.size(), kClientsTold));
    std::partial_sort(
        ranked.begin(), ranked.begin() + told, ranked.end(), [](const Ranked& a, const Ranked& b) {
            return std::pair(a.per_second, a.requests) != std::pair(b.per_second, b.requests)
                       ? std::pair(a.per_second, a.requests) > std::pair(b.per_second, b.requests)
                       : a.lid < b.lid;
        });
    ranked.resize(static_cast<std::size_t>(told));
    out.client_count = seen_.size();
    out.clients.clear();
    for (const Ranked& rank : ranked) {
        const Client& client = clients_[rank.lid.value()];
        out.clients.push_back(
            {rank.lid, client.requests, client.duplicates, client.dropped, client.rate, client.last_seen});
    }
}

}  // namespace ibf::sa
