#include "daemon/sa/wish.hpp"

#include <algorithm>

namespace ibf::sa {

std::optional<std::uint8_t> Wish::choose(Offer offer) const {
    unsigned chosen = offer.most;
    switch (how) {
        case How::greater: return offer.most > value ? std::optional(offer.most) : std::nullopt;
        case How::less:
            if (value == 0) {
                return std::nullopt;
            }
            chosen = std::min<unsigned>(offer.most, value - 1U);
            break;
        case How::exactly:
            if (value > offer.most) {
                return std::nullopt;
            }
            chosen = value;
            break;
        case How::largest: break;
    }
    return chosen >= offer.least ? std::optional(static_cast<std::uint8_t>(chosen)) : std::nullopt;
}

bool Wish::met_by(std::uint8_t is) const {
    switch (how) {
        case How::greater: return is > value;
        case How::less: return is < value;
        case How::exactly: return is == value;
        case How::largest: return true;
    }
    return true;
}

}  // namespace ibf::sa
