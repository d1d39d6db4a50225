// DOC: seeded random numbers for generators, simulator and tests.
//
// SplitMix64 (Steele, Lea, Flood 2014): same seed, same numbers, on every machine and library version,
// which std::uniform_int_distribution does not promise. Not for keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ibf::base {

class Prng {
public:
    explicit constexpr Prng(std::uint64_t seed) : state_(seed) {}

    constexpr std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31);
    }

    /// Uniform in [0, bound); bound >= 1. The bias of the multiply-shift is below 2^-32 for bounds below
    /// 2^32.
    constexpr std::uint64_t below(std::uint64_t bound) {
        return static_cast<std::uint64_t>((static_cast<Uint128>(next()) * bound) >> 64);
    }

    /// Uniform in [0, 1).
    constexpr double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

    template <class T>
    void shuffle(std::vector<T>& items) {
        for (std::size_t i = items.size(); i > 1; --i) {
            std::swap(items[i - 1], items[below(i)]);
        }
    }

private:
    __extension__ using Uint128 = unsigned __int128;  // no ISO type: -Wpedantic wants it said

    std::uint64_t state_;
};

}  // namespace ibf::base
