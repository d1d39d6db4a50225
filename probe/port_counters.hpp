// DOC: what a port has counted, and what that means.
//
// Linux shows the counters of a port as files (ports/N/counters and ports/N/hw_counters below
// /sys/class/infiniband/DEVICE), one number each; which there are depends on the driver. Of the network
// interface behind a RoCE port those about pauses and ECN are read by ethtool's ioctl, where the driver
// answers it. explain() has a sentence for each counter that is known.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"

namespace ibf::probe {

using Counters = std::map<std::string, std::uint64_t>;

/// Those of the port, and with the prefix "ethtool." those of `netdev` (empty: none). What cannot be read is
/// left out. `root` is "/sys/class/infiniband" but in tests.
[[nodiscard]] Counters read_port_counters(const std::string& device, std::uint8_t port,
                                          const std::string& netdev = {},
                                          const std::string& root = "/sys/class/infiniband");

/// How long the kernel may tell again what it read once (hw_counters/lifespan), and a tick; at most 0.5 s,
/// since an administrator may set anything. 0: it keeps nothing.
[[nodiscard]] base::Duration counters_kept_for(const std::string& device, std::uint8_t port,
                                               const std::string& root = "/sys/class/infiniband");

struct CounterRise {
    Counters risen;  ///< those that did, by how much
    std::vector<std::string>
        doubts;  ///< sentences: a counter that wrapped, is stuck at its maximum, was cleared
};

/// A counter of 32 bits or fewer that fell has wrapped once if that is the shorter way, else it was cleared.
[[nodiscard]] CounterRise difference(const Counters& before, const Counters& after);

enum class CounterKind : std::uint8_t {
    traffic,   ///< rises with every packet
    recovery,  ///< the transport repaired something
    error,     ///< something was lost or damaged
    congestion
};

struct CounterMeaning {
    std::string_view name;
    CounterKind kind;
    std::string_view sentence;
};

/// All that are known, by name.
[[nodiscard]] std::span<const CounterMeaning> counter_meanings();
[[nodiscard]] const CounterMeaning* find_counter(std::string_view name);
/// Also "ethtool.rx_prio3_pause", whose number is a matter of the class.
[[nodiscard]] std::optional<std::string_view> explain(std::string_view name);

}  // namespace ibf::probe
