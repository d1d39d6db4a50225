#include "daemon/sm/trap_gate.hpp"

#include <algorithm>

namespace ibf::sm {

TrapGate::Verdict TrapGate::on_trap(mad::Lid subject, base::Duration hold_down_min, base::Instant now) {
    constexpr base::Duration kHoldDownMax = std::chrono::seconds{30};
    const auto is_quiet = [now](const Gate& gate) {
        return now > std::max(gate.last, gate.open_at) + 2 * gate.hold_down;
    };
    if (gates_.size() >= kLidsMax && !gates_.contains(subject)) {
        if (now >= next_eviction_) {
            std::erase_if(gates_, [&](const auto& item) { return is_quiet(item.second); });
            next_eviction_ =
                now + kHoldDownMax;  // a flood of new LIDs does not buy a walk over all gates each
        }
        if (gates_.size() >= kLidsMax) {
            subject = mad::kLidPermissive;
        }
    }
    auto [it, fresh] = gates_.try_emplace(subject);
    Gate& gate = it->second;
    if (fresh || is_quiet(gate)) {
        gate = Gate{};
    }
    gate.last = now;
    ++gate.count;
    const bool flapping_now = gate.count == kFlapping;
    if (now < gate.open_at) {
        return {gate.open_at, flapping_now};
    }
    gate.hold_down =
        gate.hold_down == base::Duration{} ? hold_down_min : std::min(gate.hold_down * 4, kHoldDownMax);
    gate.open_at = now + gate.hold_down;
    return {now, flapping_now};
}

}  // namespace ibf::sm
