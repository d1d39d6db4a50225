// DOC: what the tests that hold a codec against another one share: random octets, and how many rounds of
// them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/prng.hpp"

namespace ibf::mad {

inline constexpr int kRounds = 500;

/// Bytes: MadBuffer or AttributeData.
template <class Bytes>
Bytes random_bytes(base::Prng& prng) {
    Bytes bytes{};
    std::ranges::generate(bytes, [&] { return static_cast<std::uint8_t>(prng.next()); });
    return bytes;
}

/// An enumerator or a narrow integer as the peer's getters give it.
unsigned number(auto value) {
    return static_cast<unsigned>(value);
}

}  // namespace ibf::mad
