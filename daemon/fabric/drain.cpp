#include "daemon/fabric/drain.hpp"

#include <fmt/format.h>

namespace ibf::fabric {

std::string to_string(const Drain& drain) {
    return drain.is_switch() ? fmt::format("'{}' {}", drain.name, drain.node)
                             : fmt::format("'{}' {} port {}", drain.name, drain.node, drain.port);
}

routing::Elements elements_of(const DrainList& drains) {
    routing::Elements elements;
    for (const Drain& drain : drains) {
        drain.is_switch() ? elements.add(drain.node)
                          : elements.add(routing::SwitchPort{drain.node, drain.port});
    }
    return elements;
}

bool Drains::heeds(const Drain& drain) const {
    return drain.is_switch() ? in_force.has(drain.node)
                             : in_force.has(routing::SwitchPort{drain.node, drain.port});
}

namespace {

/// The switch behind a port; null where there is none.
const Node* switch_behind(const Fabric& fabric, const Node& node, mad::PortNum port) {
    if (port.value() >= node.ports.size()) {
        return nullptr;
    }
    const PortRef peer = node.ports[port.value()].peer;
    return peer.node == kNoNode || !fabric.nodes[peer.node].is_switch() ? nullptr : &fabric.nodes[peer.node];
}

const Node* find_switch(const Fabric& fabric, mad::Guid guid) {
    const std::uint32_t at = fabric.find(guid);
    return at == kNoNode || !fabric.nodes[at].is_switch() ? nullptr : &fabric.nodes[at];
}

std::optional<Substitute> other_than(const Node* found, mad::Guid expected, const DrainCable& at) {
    return found == nullptr || found->guid() == expected
               ? std::nullopt
               : std::optional(Substitute{found->guid(), found->description, at});
}

}  // namespace

std::vector<DrainCable> cables_of(const Fabric& fabric, const Drain& drain) {
    std::vector<DrainCable> cables;
    const Node* node = find_switch(fabric, drain.node);
    for (std::size_t p = 1; node != nullptr && p < node->ports.size(); ++p) {
        const mad::PortNum port{static_cast<std::uint8_t>(p)};
        const Node* peer =
            drain.is_switch() || drain.port == port ? switch_behind(fabric, *node, port) : nullptr;
        if (peer != nullptr) {
            cables.push_back({port, peer->guid(), node->ports[p].peer.port});
        }
    }
    return cables;
}

DrainSight look_for(const Fabric& fabric, const Drain& drain) {
    DrainSight sight;
    const Node* node = find_switch(fabric, drain.node);
    sight.here =
        node != nullptr && (drain.is_switch() || switch_behind(fabric, *node, drain.port) != nullptr);
    for (const DrainCable& cable : drain.cables) {
        if (sight.substitute) {
            break;
        }
        if (node == nullptr) {
            if (const Node* peer = find_switch(fabric, cable.peer)) {
                sight.substitute =
                    other_than(switch_behind(fabric, *peer, cable.peer_port), drain.node, cable);
            }
        } else if (!drain.is_switch()) {
            sight.substitute = other_than(switch_behind(fabric, *node, cable.port), cable.peer, cable);
        }
    }
    return sight;
}

}  // namespace ibf::fabric
