// DOC: what a request wants of MTU, rate or packet life time (IBA table 205).
//
// A selector and a value: greater than it, less than it, exactly it, or the largest there is (of a life time
// the smallest, which is the only one we offer). Rates are compared as ranks (mad/sa_rates), never as codes.
// Pure.
#pragma once

#include <cstdint>
#include <optional>

namespace ibf::sa {

struct Wish {
    enum class How : std::uint8_t { greater = 0, less = 1, exactly = 2, largest = 3 };
    /// What can be offered: a path or a port may be used below what it can do.
    struct Offer {
        std::uint8_t least = 0;
        std::uint8_t most = 0;
    };

    How how = How::largest;  ///< also of who wishes nothing
    std::uint8_t value = 0;

    /// The value to run with. Empty: the wish cannot be met.
    [[nodiscard]] std::optional<std::uint8_t> choose(Offer offer) const;
    /// Whether a value that is as it is will do.
    [[nodiscard]] bool met_by(std::uint8_t is) const;
};

/// The least code of an MTU, the least rank of a rate: 0 is none. A packet life time may be 0.
inline constexpr std::uint8_t kLeastMtu = 1;
inline constexpr std::uint8_t kLeastRate = 1;
inline constexpr std::uint8_t kLeastLife = 0;

}  // namespace ibf::sa
