// DOC: hold-down: who keeps telling the same waits longer and longer. Pure.
//
// A subject (a switch, one of its ports, a kind of event of a device) has a gate. The first news of a subject
// acts at once and closes its gate for a window; news while it is closed are answered together when it opens.
// News that go on after that find a window twice as long, or up to eight times if there were many, to a
// bound. Quiet time halves it again, a window's length at a time.
//
// Somebody may speak for several subjects without saying which (a switch for its ports). That keeps gates
// that opened a short while ago from growing quiet, and opens none.
//
// Each subject has its own gate, so a storm from one does not delay the first news of another. What it costs
// when many different subjects tell at once is bounded by whoever asks (storms.cpp), with one more gate for
// all.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/time.hpp"

namespace ibf::sm {

class HoldDown {
public:
    /// Whatever the asker tells apart, in two numbers: GUID and port, GUID and trap number.
    using Subject = std::pair<std::uint64_t, std::uint32_t>;

    struct Verdict {
        base::Instant act_at;         ///< now: the gate was open
        std::uint32_t held_back = 0;  ///< news that got no answer of their own since the last that did
    };

    /// Gates at once. Quiet ones make room for new subjects; where none is quiet, further subjects share one
    /// gate.
    static constexpr std::size_t kSubjectsMax = 4096;
    static constexpr std::uint32_t kDoublingsMax = 3;  ///< of a window, however many the news

    explicit HoldDown(base::Duration window_max) : window_max_(window_max) {}

    /// News of a subject: when to act on it.
    [[nodiscard]] Verdict on_news(Subject subject, base::Duration window, base::Instant now);
    /// The same where nothing is done when the gate opens: nullopt while it is closed, else how many news it
    /// held back.
    [[nodiscard]] std::optional<std::uint32_t> on_news_to_tell(Subject subject, base::Duration window,
                                                               base::Instant now);
    /// What was found out about a subject is being acted upon now, whether its gate is open or not.
    void on_act(Subject subject, base::Duration window, base::Instant now);
    /// News of somebody who speaks for all subjects with this first number.
    void on_echo(std::uint64_t first, base::Instant now);
    /// It has a gate of its own.
    [[nodiscard]] bool knows(Subject subject) const { return gates_.contains(subject); }
    /// Those subjects of a first number that such news may be about.
    [[nodiscard]] std::vector<Subject> suspects(std::uint64_t first, base::Instant now) const;

    /// When its gate opens; now or earlier: it is open.
    [[nodiscard]] base::Instant opens_at(Subject subject) const;
    /// Subjects whose gates are closed, ascending.
    [[nodiscard]] std::vector<Subject> closed(base::Instant now) const;

private:
    struct Gate {
        base::Instant opens{};
        base::Duration window{};
        base::Instant last{};     ///< news
        std::uint32_t news = 0;   ///< since it closed
        bool waited_for = false;  ///< something is done when it opens
    };

    [[nodiscard]] Gate& gate_of(Subject subject, base::Instant now);
    void close(Gate& gate, base::Duration least, base::Instant from) const;
    [[nodiscard]] bool is_recent(const Gate& gate, base::Instant now) const;

    base::Duration window_max_;
    std::map<Subject, Gate> gates_;
    base::Instant next_eviction_{};
};

}  // namespace ibf::sm
