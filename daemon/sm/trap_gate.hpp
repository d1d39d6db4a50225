// DOC: the gate before traps.
//
// A trap is a hint. The first one about a LID opens a sweep at once; the next within the hold-down wait for
// its end, and the hold-down grows fourfold, to half a minute, while they keep coming. Quiet time resets it.
// So a thousand traps in ten seconds cost at most three sweeps, and a single cable change none of the
// waiting.
#pragma once

#include <cstdint>
#include <map>

#include "base/time.hpp"
#include "mad/ids.hpp"

namespace ibf::sm {

class TrapGate {
public:
    struct Verdict {
        base::Instant sweep_at;
        bool flapping_now = false;  ///< true once, when this LID became a nuisance
    };
    /// Gates at once. Quiet ones make room for new LIDs; where none is quiet, further LIDs share one gate.
    static constexpr std::size_t kLidsMax = 4096;
    static constexpr std::uint32_t kFlapping = 10;

    [[nodiscard]] Verdict on_trap(mad::Lid subject, base::Duration hold_down_min, base::Instant now);

private:
    struct Gate {
        base::Instant open_at{};
        base::Duration hold_down{};
        base::Instant last{};
        std::uint32_t count = 0;
    };
    std::map<mad::Lid, Gate> gates_;
    base::Instant next_eviction_{};
};

}  // namespace ibf::sm
