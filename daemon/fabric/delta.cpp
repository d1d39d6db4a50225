#include "daemon/fabric/delta.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace ibf::fabric {
namespace {

struct End {
    mad::Guid guid{};
    mad::PortNum port{};
    auto operator<=>(const End&) const = default;
};
struct Cable {
    End a, b;
    auto operator<=>(const Cable&) const = default;
};

/// Node indices in order of their GUIDs.
std::vector<std::uint32_t> by_guid(const Fabric& fabric) {
    std::vector<std::uint32_t> order(fabric.nodes.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return fabric.nodes[a].guid() < fabric.nodes[b].guid();
    });
    return order;
}

/// For each node of `from` the one of `to` with its GUID; kNoNode: none.
std::vector<std::uint32_t> counterparts(const Fabric& from, const std::vector<std::uint32_t>& from_order,
                                        const Fabric& to, const std::vector<std::uint32_t>& to_order) {
    std::vector<std::uint32_t> found(from.nodes.size(), kNoNode);
    auto other = to_order.begin();
    for (const std::uint32_t n : from_order) {
        while (other != to_order.end() && to.nodes[*other].guid() < from.nodes[n].guid()) {
            ++other;
        }
        if (other != to_order.end() && to.nodes[*other].guid() == from.nodes[n].guid()) {
            found[n] = *other;
        }
    }
    return found;
}

std::string name_of(const Node& node) {
    return fmt::format("{} {} ({})", mad::to_string(node.info.type), node.description, node.guid());
}

End end_of(const Fabric& fabric, PortRef ref) {
    return ref.node == kNoNode ? End{} : End{fabric.nodes[ref.node].guid(), ref.port};
}

/// Cables of `from` that `to` does not have, where both nodes are known to both fabrics. Names are the newer
/// fabric's, `named`.
void lost_cables(const Fabric& from, const Fabric& to, const std::vector<std::uint32_t>& nodes,
                 const std::vector<std::uint32_t>& counterpart, Change::Kind kind, const Fabric& named,
                 std::vector<Change>& out) {
    std::vector<Cable> lost;
    for (const std::uint32_t n : nodes) {
        for (std::size_t p = 1; counterpart[n] != kNoNode && p < from.nodes[n].ports.size(); ++p) {
            const PortRef peer = from.nodes[n].ports[p].peer;
            if (peer.node == kNoNode || counterpart[peer.node] == kNoNode) {
                continue;
            }
            const End here{from.nodes[n].guid(), mad::PortNum{static_cast<std::uint8_t>(p)}};
            const End there = end_of(from, peer);
            const auto& ports = to.nodes[counterpart[n]].ports;
            if (p >= ports.size() || end_of(to, ports[p].peer) != there) {
                lost.push_back({std::min(here, there), std::max(here, there)});
            }
        }
    }
    std::sort(lost.begin(), lost.end());
    lost.erase(std::unique(lost.begin(), lost.end()), lost.end());  // told by both of its ends
    for (const Cable& cable : lost) {
        out.push_back(
            {kind, cable.a.guid, cable.a.port,
             fmt::format("{} port {} - {} port {}", name_of(named.nodes[named.find(cable.a.guid)]),
                         cable.a.port, name_of(named.nodes[named.find(cable.b.guid)]), cable.b.port)});
    }
}

}  // namespace

std::string_view to_string(Change::Kind kind) {
    constexpr std::array<std::string_view, 4> kNames{"node-added", "node-removed", "link-up", "link-down"};
    return kNames[static_cast<std::size_t>(kind)];
}

std::vector<Change> diff(const Fabric& before, const Fabric& after) {
    std::vector<std::uint32_t> all(after.nodes.size());
    std::iota(all.begin(), all.end(), 0U);
    return diff(before, after, all);
}

std::vector<Change> diff(const Fabric& before, const Fabric& after, std::span<const std::uint32_t> changed) {
    std::vector<Change> changes;
    const std::vector<std::uint32_t> old_order = by_guid(before);
    const std::vector<std::uint32_t> new_order = by_guid(after);
    const std::vector<std::uint32_t> to_new = counterparts(before, old_order, after, new_order);
    const std::vector<std::uint32_t> to_old = counterparts(after, new_order, before, old_order);
    const auto tell_nodes = [&](const Fabric& fabric, const std::vector<std::uint32_t>& order,
                                const std::vector<std::uint32_t>& counterpart, Change::Kind kind) {
        for (const std::uint32_t n : order) {
            if (counterpart[n] == kNoNode) {
                changes.push_back({kind, fabric.nodes[n].guid(), {}, name_of(fabric.nodes[n])});
            }
        }
    };
    tell_nodes(after, new_order, to_old, Change::Kind::node_added);
    tell_nodes(before, old_order, to_new, Change::Kind::node_removed);
    std::vector<std::uint32_t> now;
    std::vector<std::uint32_t> then;
    for (const std::uint32_t n : changed) {
        if (to_old[n] != kNoNode) {
            now.push_back(n);
            then.push_back(to_old[n]);
        }
    }
    lost_cables(before, after, then, to_new, Change::Kind::link_down, after, changes);
    lost_cables(after, before, now, to_old, Change::Kind::link_up, after, changes);
    return changes;
}

}  // namespace ibf::fabric
