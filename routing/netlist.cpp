#include "routing/netlist.hpp"

#include <algorithm>
#include <utility>

namespace ibf::routing {

std::size_t Netlist::switch_count() const {
    return static_cast<std::size_t>(
        std::ranges::count(nodes, mad::NodeType::switch_, [](const NetlistNode& node) { return node.type; }));
}

std::size_t Netlist::link_count() const {
    std::size_t count = 0;
    for (std::uint32_t index = 0; index < nodes.size(); ++index) {
        for (std::uint32_t port = 1; port < nodes[index].ports.size(); ++port) {
            const NetlistPort& item = nodes[index].ports[port];
            // Each cable counts at its lower end.
            if (item.peer_node &&
                std::pair(index, port) <= std::pair(*item.peer_node, std::uint32_t{item.peer_port.value()})) {
                ++count;
            }
        }
    }
    return count;
}

}  // namespace ibf::routing
