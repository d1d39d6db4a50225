#include "daemon/core/standby_copy.hpp"

#include <utility>

namespace ibf::core {

bool HeldCopy::begin(const Peer& from, sm::CopyExtent extent, base::Instant now) {
    if (extent == sm::CopyExtent::whole) {
        HeldCopy fresh;
        if (of_.guid == from.guid) {  // what was told comes before the records
            fresh.told_ = told_;
            fresh.lacking_ = std::move(lacking_);
            fresh.anybody_ = anybody_;
        }
        *this = std::move(fresh);
        of_ = from;
        whole_ = true;
    } else if (!whole_ || of_.guid != from.guid || ended_) {
        return false;
    }
    heard_ = now;
    return true;
}

void HeldCopy::hold(std::uint64_t edition) {
    held_ = edition;
    if (edition == 0) {
        return;
    }
    std::erase_if(lacking_, [&](const auto& told) { return told.second <= edition || edition == told_; });
    if (anybody_ && (*anybody_ <= edition || edition == told_)) {
        anybody_.reset();
    }
}

void HeldCopy::on_told(const CopyTold& news, base::Instant now) {
    if (of_.guid != news.from.guid) {
        *this = HeldCopy{};
        of_ = news.from;
    }
    told_ = news.edition;
    heard_ = now;
    if (held_ == told_) {
        return;
    }
    const bool too_many = lacking_.size() >= kLackingMost && !lacking_.contains(news.client);
    if (news.to == ToldTo::anybody || (news.to == ToldTo::client && too_many)) {
        anybody_ = news.edition;
    } else if (news.to == ToldTo::client) {
        lacking_[news.client] = news.edition;
    }
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
    sm::ClientsCopy copy{
        of_.guid, whole_ && held_ != 0 && !anybody_, {}, ended_.value_or(heard_ + 2 * kBeat)};
    for (const auto& [port, edition] : lacking_) {
        copy.lacking.insert(port);
    }
    return copy;
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
