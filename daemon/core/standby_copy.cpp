#include "daemon/core/standby_copy.hpp"

namespace ibf::core {

bool HeldCopy::begin(const Peer& from, sm::CopyExtent extent, base::Instant now) {
    if (extent == sm::CopyExtent::whole) {
        const std::uint64_t told = of_.guid == from.guid ? told_ : 0;  // comes before the records
        *this = HeldCopy{};
        of_ = from;
        told_ = told;
        whole_ = true;
    } else if (!whole_ || of_.guid != from.guid || ended_) {
        return false;
    }
    heard_ = now;
    return true;
}

void HeldCopy::on_told(const Peer& from, std::uint64_t edition, base::Instant now) {
    if (of_.guid != from.guid) {
        *this = HeldCopy{};
        of_ = from;
    }
    told_ = edition;
    heard_ = now;
}

bool HeldCopy::on_ended(const Peer& from, const std::string& why, base::Instant now) {
    if (of_.guid != from.guid || ended_) {
        return false;
    }
    ended_ = now;
    why_ = why;
    return true;
}

/// While it is connected, whoever has told clients something would have said so by the next beat but one.
sm::ClientsCopy HeldCopy::clients() const {
    return {of_.guid, current(), ended_.value_or(heard_ + 2 * kBeat)};
}

fabric::StandbyCopy::State HeldCopy::state() const {
    using State = fabric::StandbyCopy::State;
    if (of_.guid == mad::Guid{}) {
        return State::none;
    }
    if (ended_) {
        return State::ended;
    }
    return !whole_ ? State::reading : current() ? State::current : State::behind;
}

}  // namespace ibf::core
