#include "daemon/fabric/health.hpp"

namespace ibf::fabric {

PortId id_of(const Fabric& fabric, PortRef at) {
    return {fabric.nodes[at.node].guid(), at.port};
}

std::string_view to_string(HealthRule rule) {
    constexpr std::array<std::string_view, kHealthRules> kNames{
        "babbling", "storm", "flapping", "rebooting", "init", "silent", "set-errors", "illegal", "manual"};
    return kNames[static_cast<std::size_t>(rule)];
}

std::string_view to_string(HealthAction action) {
    constexpr std::array<std::string_view, 3> kNames{"report", "isolate", "disable"};
    return kNames[static_cast<std::size_t>(action)];
}

}  // namespace ibf::fabric
