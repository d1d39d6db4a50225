#include "daemon/sm/hold_down.hpp"

#include <algorithm>

namespace ibf::sm {
namespace {

constexpr HoldDown::Subject kTheRest{~std::uint64_t{0}, ~std::uint32_t{0}};  ///< subjects that found no room

}  // namespace

HoldDown::Gate& HoldDown::gate_of(Subject subject, base::Instant now) {
    if (gates_.size() >= kSubjectsMax && !gates_.contains(subject)) {
        if (now >= next_eviction_) {
            std::erase_if(
                gates_, [now](const auto& item) { return now > item.second.opens + 2 * item.second.window; });
            next_eviction_ =
                now + window_max_;  // a flood of new subjects does not buy a walk over all gates each
        }
        if (gates_.size() >= kSubjectsMax) {
            subject = kTheRest;
        }
    }
    return gates_[subject];
}

/// Closes a gate that opened, `from` on: for longer than last time if the news went on, for less after quiet.
void HoldDown::close(Gate& gate, base::Duration least, base::Instant from) const {
    if (gate.window > base::Duration{}) {
        constexpr std::int64_t kHalvingsMax = 40;
        const std::int64_t quiet = (from - std::max(gate.opens, gate.last)) / gate.window;
        const unsigned doublings = std::clamp(gate.news, 1U, kDoublingsMax);
        gate.window = quiet > 0 ? gate.window / (std::int64_t{1} << std::min(quiet, kHalvingsMax))
                                : gate.window * (std::int64_t{1} << doublings);
    }
    gate.window = std::clamp(gate.window, least, std::max(least, window_max_));
    gate.opens = from + gate.window;
    gate.news = 0;
    gate.waited_for = false;
}

HoldDown::Verdict HoldDown::on_news(Subject subject, base::Duration window, base::Instant now) {
    Gate& gate = gate_of(subject, now);
    const std::uint32_t held_back = gate.news;
    if (now >= gate.opens && gate.waited_for) {
        close(gate, window, gate.opens);  // that is when what was held back was answered
    }
    if (now >= gate.opens) {
        close(gate, window, now);
        return {now, held_back};
    }
    ++gate.news;
    gate.last = now;
    gate.waited_for = true;
    return {gate.opens, gate.news};
}

std::optional<std::uint32_t> HoldDown::on_news_to_tell(Subject subject, base::Duration window,
                                                       base::Instant now) {
    Gate& gate = gate_of(subject, now);
    const std::uint32_t held_back = gate.news;
    if (now >= gate.opens) {
        close(gate, window, now);
        return held_back;
    }
    ++gate.news;
    gate.last = now;
    return std::nullopt;
}

void HoldDown::on_act(Subject subject, base::Duration window, base::Instant now) {
    Gate& gate = gate_of(subject, now);
    if (now >= gate.opens) {
        close(gate, window, now);
    } else {
        ++gate.news;
        gate.last = now;
    }
}

bool HoldDown::is_recent(const Gate& gate, base::Instant now) const {
    return now < gate.opens + window_max_;
}

void HoldDown::on_echo(std::uint64_t first, base::Instant now) {
    for (auto gate = gates_.lower_bound({first, 0}); gate != gates_.end() && gate->first.first == first;
         ++gate) {
        if (is_recent(gate->second, now)) {
            ++gate->second.news;
            gate->second.last = now;
        }
    }
}

std::vector<HoldDown::Subject> HoldDown::suspects(std::uint64_t first, base::Instant now) const {
    std::vector<Subject> found;
    for (auto gate = gates_.lower_bound({first, 0}); gate != gates_.end() && gate->first.first == first;
         ++gate) {
        if (is_recent(gate->second, now)) {
            found.push_back(gate->first);
        }
    }
    return found;
}

base::Instant HoldDown::opens_at(Subject subject) const {
    const auto found = gates_.find(subject);
    return found == gates_.end() ? base::Instant{} : found->second.opens;
}

std::vector<HoldDown::Subject> HoldDown::closed(base::Instant now) const {
    std::vector<Subject> found;
    for (const auto& [subject, gate] : gates_) {
        if (now < gate.opens) {
            found.push_back(subject);
        }
    }
    return found;
}

}  // namespace ibf::sm
