#include "daemon/fabric/delta.hpp"

#include <algorithm>
#include <array>
#include <map>

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
using Names = std::map<mad::Guid, std::string>;

Names names_of(const Fabric& fabric) {
    Names names;
    for (const Node& node : fabric.nodes) {
        names.emplace(node.guid(), fmt::format("{} {} ({})", mad::to_string(node.info.type), node.description,
                                               node.guid()));
    }
    return names;
}

std::vector<Cable> cables_of(const Fabric& fabric) {
    std::vector<Cable> cables;
    for (std::uint32_t n = 0; n < fabric.nodes.size(); ++n) {
        for (std::size_t p = 1; p < fabric.nodes[n].ports.size(); ++p) {
            const PortRef peer = fabric.nodes[n].ports[p].peer;
            if (peer.node == kNoNode) {
                continue;
            }
            const End here{fabric.nodes[n].guid(), mad::PortNum{static_cast<std::uint8_t>(p)}};
            const End there{fabric.nodes[peer.node].guid(), peer.port};
            if (here <= there) {
                cables.push_back({here, there});
            }
        }
    }
    std::sort(cables.begin(), cables.end());
    return cables;
}

/// Cables of `from` that `other` does not have, where both nodes are known to both fabrics.
void lost_cables(const std::vector<Cable>& from, const std::vector<Cable>& other, const Names& before,
                 const Names& after, Change::Kind kind, std::vector<Change>& out) {
    std::vector<Cable> lost;
    std::set_difference(from.begin(), from.end(), other.begin(), other.end(), std::back_inserter(lost));
    for (const Cable& cable : lost) {
        if (before.contains(cable.a.guid) && before.contains(cable.b.guid) && after.contains(cable.a.guid) &&
            after.contains(cable.b.guid)) {
            out.push_back({kind, cable.a.guid, cable.a.port,
                           fmt::format("{} port {} - {} port {}", after.at(cable.a.guid), cable.a.port,
                                       after.at(cable.b.guid), cable.b.port)});
        }
    }
}

}  // namespace

std::string_view to_string(Change::Kind kind) {
    constexpr std::array<std::string_view, 4> kNames{"node-added", "node-removed", "link-up", "link-down"};
    return kNames[static_cast<std::size_t>(kind)];
}

std::vector<Change> diff(const Fabric& before, const Fabric& after) {
    std::vector<Change> changes;
    const Names old_names = names_of(before);
    const Names new_names = names_of(after);
    for (const auto& [guid, name] : new_names) {
        if (!old_names.contains(guid)) {
            changes.push_back({Change::Kind::node_added, guid, {}, name});
        }
    }
    for (const auto& [guid, name] : old_names) {
        if (!new_names.contains(guid)) {
            changes.push_back({Change::Kind::node_removed, guid, {}, name});
        }
    }
    const std::vector<Cable> old_cables = cables_of(before);
    const std::vector<Cable> new_cables = cables_of(after);
    lost_cables(old_cables, new_cables, old_names, new_names, Change::Kind::link_down, changes);
    lost_cables(new_cables, old_cables, old_names, new_names, Change::Kind::link_up, changes);
    return changes;
}

}  // namespace ibf::fabric
