// DOC: the health of ports, as readers see it.
//
// A port is ill by a rule (what it did too often) and stays so until it has been quiet for long enough
// (sm/health). What follows is policy: it is reported, or its link is left out of routing, or the end of the
// link that is nearest to the SM is disabled.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.hpp"
#include "daemon/fabric/fabric.hpp"

namespace ibf::fabric {

/// A port by the GUID of its node: outlives any numbering of nodes. Port 0 of a switch is the switch.
struct PortId {
    mad::Guid node{};
    mad::PortNum port{};
    auto operator<=>(const PortId&) const = default;
};

[[nodiscard]] PortId id_of(const Fabric& fabric, PortRef at);

enum class HealthRule : std::uint8_t {
    babbling,    ///< traps 129-131
    storm,       ///< traps 128 of a switch
    flapping,    ///< its link changed its state
    rebooting,   ///< it came back without its addresses
    init,        ///< a sweep left it in Init
    silent,      ///< linked, but its agent does not answer
    set_errors,  ///< a Set was refused or not answered
    illegal,     ///< what it says of itself cannot be
    manual,      ///< an operator said so
};
inline constexpr std::size_t kHealthRules = 9;
/// As in the configuration, the API and events.
[[nodiscard]] std::string_view to_string(HealthRule rule);

enum class HealthAction : std::uint8_t { report, isolate, disable };
[[nodiscard]] std::string_view to_string(HealthAction action);

/// One rule that a port is ill by.
struct HealthRow {
    PortId at;
    HealthRule rule = HealthRule::manual;
    std::uint32_t count = 0;  ///< now
    std::uint32_t times = 0;  ///< how often the port fell ill lately
    base::WallTime since{};
    base::WallTime until{};                      ///< not well before; zero: until an operator clears it
    HealthAction wanted = HealthAction::report;  ///< what policy says
    HealthAction done = HealthAction::report;    ///< what was possible
    std::string why_not;                         ///< where that is less
};

}  // namespace ibf::fabric
