// DOC: what a probe found wrong, by switch and port.
//
// A finding is one thing that somebody can go and mend. Where it is, is a Place; what is around it (the other
// end of a cable, the LID of a table entry) stands beside. The text says the same in a sentence, with names.
// Several observations of one thing are one finding. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "probe/proof/place.hpp"

namespace ibf::probe {

struct Finding {
    enum class Kind : std::uint8_t {
        wrong_entry,     ///< a table entry that is not what was computed: `at` is where it should lead to
        miswired_cable,  ///< a cable that leads elsewhere: between `at` and `peer`, by the topology
        dead_link,       ///< a cable over which nothing comes, or a port that is not Active
        port_errors,     ///< error counters of `at` rose
        throttled_link,  ///< carries less than both ends could: `at` sends, `peer` receives
        dead_agent,    ///< the probe's agent on the host `at` does not answer, or went away in the middle of
                       ///< a flow; `peer` is its leaf's port
        ended_early,   ///< the agent of `at` ended a flow before its time, or refused it: a limit of its own
        dead_device,   ///< a switch whose management agent does not answer
        not_read,      ///< of the switch `at` not all was read, so nothing is known of the rest
        corrupt_data,  ///< what arrived was not what was sent: the host `at` compared it
        lost_traffic,  ///< a flow died or lost messages, and this is the last place that saw it; nothing
                       ///< else tells why
    };
    Kind kind{};
    Place at{};
    std::optional<Place> peer{};
    mad::Lid lid{};                       ///< of wrong_entry
    std::optional<std::uint8_t> has{};    ///< of wrong_entry: the port that the switch has
    std::optional<std::uint8_t> wants{};  ///< and should have; 255 drops
    std::string text{};
};

/// "wrong-entry", ...
[[nodiscard]] std::string_view to_string(Finding::Kind kind);

/// Adds what is not there yet: same kind, place and LID.
void add_finding(std::vector<Finding>& findings, Finding finding);

}  // namespace ibf::probe
