// Any bytes as a topology text: read or refused with a position, never a crash or memory without bound; what
// was read is consistent, and survives being written as ibsim text and read again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.hpp"
#include "routing/netlist.hpp"
#include "routing/topology.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace ibf;
    constexpr std::size_t kBytesMax = 1U << 14U;
    if (size > kBytesMax) {
        return 0;
    }
    const auto netlist = routing::parse_netlist({reinterpret_cast<const char*>(data), size}, "fuzz");
    if (!netlist) {
        IBF_CHECK(netlist.error().message.starts_with("fuzz:"), "an error without a position");
        return 0;
    }
    std::size_t ends = 0;
    std::size_t loop_plugs = 0;
    for (std::uint32_t index = 0; index < netlist->nodes.size(); ++index) {
        const auto& ports = netlist->nodes[index].ports;
        for (std::uint32_t port = 1; port < ports.size(); ++port) {
            if (ports[port].peer_node) {
                const auto& back =
                    netlist->nodes.at(*ports[port].peer_node).ports.at(ports[port].peer_port.value());
                IBF_CHECK(back.peer_node == index && back.peer_port.value() == port, "a cable with one end");
                ++ends;
                loop_plugs +=
                    *ports[port].peer_node == index && ports[port].peer_port.value() == port ? 1U : 0U;
            }
        }
    }
    IBF_CHECK(2 * netlist->link_count() == ends + loop_plugs, "cables are miscounted");
    const auto again = routing::parse_netlist(routing::to_ibsim_text(*netlist), "again");
    IBF_CHECK(again.has_value(), "the text is refused: {}", again.error().message);
    IBF_CHECK(again->nodes.size() == netlist->nodes.size() && again->link_count() == netlist->link_count(),
              "the text tells another fabric");
    IBF_CHECK(routing::topology_of(*netlist, 0).has_value(), "a small fabric has no room for its LIDs");
    return 0;
}
