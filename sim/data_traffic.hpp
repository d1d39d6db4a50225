// DOC: data that crosses the simulated fabric.
//
// A flow of a reliable connection walks the *programmed* tables over the cables as they are, all at once: it
// moves the traffic counters of every port that it crosses, is damaged at lossy ports (counted there, sent
// again), waits where a link is given too few credits, and dies at a drop entry, a link that is not Active, a
// loop, or a host that does not have its LID. Acknowledgements walk back; without them nothing completes. No
// congestion: flows do not meet each other. `busy` and `noise` stand for what else is on the links.
#pragma once

#include <cstdint>
#include <optional>

#include "base/prng.hpp"
#include "base/time.hpp"
#include "sim/world.hpp"

namespace ibf::sim {

struct DataFlow {
    PortRef from;
    mad::Lid to{};
    std::uint64_t bytes = 0;
    std::uint32_t mtu_bytes = 4096;
    std::uint8_t retries = 7;
    double busy = 0;   ///< share of every link that others take: we are that much slower
    double noise = 0;  ///< ports wait up to so much of the time that they send, here and there
};

struct DataFate {
    bool completed = false;       ///< all of it arrived, and was acknowledged
    std::optional<PortRef> at{};  ///< where it came out, right or wrong; empty: lost on the way
    std::uint64_t packets = 0;    ///< without those sent again
    std::uint64_t damaged = 0;
    base::Duration elapsed{};  ///< where it completed
};

[[nodiscard]] DataFate carry_data(World& world, const DataFlow& flow, base::Prng& prng);

}  // namespace ibf::sim
