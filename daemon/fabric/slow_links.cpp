#include "daemon/fabric/slow_links.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace ibf::fabric {
namespace {

/// A description ends in blanks where a device pads it.
std::string_view trimmed(std::string_view text) {
    return text.substr(0, text.find_last_not_of(" \t") + 1);
}

std::string end_text(const Fabric& fabric, PortRef ref) {
    const Node& node = fabric.nodes[ref.node];
    return fmt::format("'{}' {} port {}", trimmed(node.description), node.guid(), ref.port);
}

std::pair<mad::Guid, mad::PortNum> key_of(const Fabric& fabric, PortRef ref) {
    return {fabric.nodes[ref.node].guid(), ref.port};
}

}  // namespace

std::vector<SlowLink> slow_links(const Fabric& fabric) {
    std::vector<std::uint32_t> all(fabric.nodes.size());
    std::iota(all.begin(), all.end(), 0U);
    return slow_links(fabric, all);
}

std::vector<SlowLink> slow_links(const Fabric& fabric, std::span<const std::uint32_t> nodes) {
    std::vector<SlowLink> found;
    for (const std::uint32_t n : nodes) {
        for (std::size_t p = 1; p < fabric.nodes[n].ports.size(); ++p) {
            PortRef here{n, mad::PortNum{static_cast<std::uint8_t>(p)}};
            const Port& port = fabric.port(here);
            if (port.peer.node == kNoNode || !port.known || !port.usable || !fabric.port(port.peer).known) {
                continue;
            }
            PortRef there = port.peer;
            if (key_of(fabric, there) < key_of(fabric, here)) {
                std::swap(here, there);
            }
            const LinkRates rates = rates_of(fabric, here);
            if (!rates.below_capability()) {
                continue;
            }
            found.push_back({here, rates,
                             fmt::format("{} - {} runs at {}, both ends can do {}", end_text(fabric, here),
                                         end_text(fabric, there), mad::to_string(rates.running),
                                         mad::to_string(rates.possible))});
        }
    }
    std::sort(found.begin(), found.end(), [&](const SlowLink& a, const SlowLink& b) {
        return key_of(fabric, a.at) < key_of(fabric, b.at);
    });
    found.erase(std::unique(found.begin(), found.end(),
                            [](const SlowLink& a, const SlowLink& b) { return a.at == b.at; }),
                found.end());
    return found;
}

}  // namespace ibf::fabric
