#include "daemon/fabric/snapshot.hpp"

#include <array>

namespace ibf::fabric {

std::string_view to_string(EventRecord::Severity severity) {
    constexpr std::array<std::string_view, 3> kNames{"info", "warning", "error"};
    return kNames[static_cast<std::size_t>(severity)];
}

std::string_view to_string(SmMode mode) {
    constexpr std::array<std::string_view, 7> kNames{"waiting", "port-down", "sweeping", "up",
                                                     "standby", "failed",    "hold"};
    return kNames[static_cast<std::size_t>(mode)];
}

std::string_view to_string(StandbyCopy::State state) {
    constexpr std::array<std::string_view, 6> kNames{"off", "none", "reading", "current", "behind", "ended"};
    return kNames[static_cast<std::size_t>(state)];
}

}  // namespace ibf::fabric
