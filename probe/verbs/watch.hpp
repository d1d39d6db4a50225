// DOC: what a role waits with: busily first, by events then, and how long it has been quiet.
#pragma once

#include <algorithm>
#include <chrono>
#include <span>

#include "base/time.hpp"
#include "probe/spec.hpp"
#include "probe/verbs/resources.hpp"

namespace ibf::probe::verbs {

class Watch {
public:
    /// Busy for `busy` after the last completion.
    Watch(Completions& completions, base::Duration busy) : completions_(completions), busy_(busy) { touch(); }

    /// What is there; sleeps at most 50 ms, and not beyond `not_after`. Sets now().
    [[nodiscard]] base::Result<std::span<const ibv_wc>> next(base::Instant not_after = base::Instant::max()) {
        const base::Duration left = std::min<base::Duration>(kStopPatience, not_after - now_);
        const bool is_busy = now_ - last_ < busy_ || left <= base::Duration::zero();
        auto found = is_busy ? look() : completions_.wait(left);
        now_ = base::monotonic_now();
        if (found && !found->empty()) {
            last_ = now_;
        }
        return found;
    }
    /// Something was begun: what follows is waiting for that.
    void touch() { last_ = now_ = base::monotonic_now(); }
    [[nodiscard]] base::Instant now() const { return now_; }
    [[nodiscard]] base::Duration quiet() const { return now_ - last_; }

private:
    static constexpr std::chrono::milliseconds kStopPatience{50};  ///< how long a stop may go unseen
    static constexpr int kPollsPerLook =
        32;  ///< at the clock, which is dearer than a poll that finds nothing

    [[nodiscard]] base::Result<std::span<const ibv_wc>> look() {
        auto found = completions_.poll();
        for (int polls = 1; polls < kPollsPerLook && found && found->empty(); ++polls) {
            found = completions_.poll();
        }
        return found;
    }

    Completions& completions_;
    base::Duration busy_;
    base::Instant now_{};
    base::Instant last_{};
};

/// Tells five times a second.
class Teller {
public:
    Teller(const std::function<void(const Progress&)>& tell, base::Instant begun)
        : tell_(tell), begun_(begun), told_(begun) {}

    void look(base::Instant now, const Outcome& outcome) {
        if (now - told_ >= kTellEvery) {
            told_ = now;
            if (tell_) {
                tell_({.messages = outcome.messages, .bytes = outcome.bytes, .elapsed = now - begun_});
            }
        }
    }

private:
    static constexpr std::chrono::milliseconds kTellEvery{200};

    const std::function<void(const Progress&)>& tell_;
    base::Instant begun_;
    base::Instant told_;
};

}  // namespace ibf::probe::verbs
