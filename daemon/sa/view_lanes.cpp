// What a view knows of service levels: which one a path has, and where one is dropped.
#include <algorithm>

#include "daemon/sa/view.hpp"
#include "mad/codec.hpp"

namespace ibf::sa {
namespace {

using fabric::PortRef;

constexpr mad::Vl kManagement{15};

std::uint64_t key_of(std::uint32_t switch_index, std::size_t input, std::size_t exit) {
    return std::uint64_t{switch_index} << 16U | input << 8U | exit;
}

/// Bit s: the mapping leads SL s to no data lane of `lanes`.
std::uint16_t dropped_by(const mad::Sl2VlTable& map, unsigned lanes) {
    std::uint16_t dropped = 0;
    for (std::size_t sl = 0; sl < map.vls.size(); ++sl) {
        const bool lost = map.vls[sl] == kManagement || map.vls[sl].value() >= lanes;
        dropped = static_cast<std::uint16_t>(dropped | (lost ? 1U << sl : 0U));
    }
    return dropped;
}

}  // namespace

/// Matched by GUID: the routes may be of an earlier view.
void View::add_service_levels() {
    const routing::Routes* routes = snapshot_->routes ? &snapshot_->routes->routes : snapshot_->held.get();
    if (routes == nullptr || !snapshot_->view || routes->sls.empty()) {
        return;
    }
    const routing::SlRow* last = nullptr;
    for (const auto& row : routing::in_order_of(snapshot_->view->topology, *routes).sls) {
        service_levels_.push_back(row.get());
        if (row != nullptr && row.get() != last) {
            last = row.get();
            for (const std::uint8_t sl : *row) {
                services_ = static_cast<std::uint16_t>(services_ | 1U << (sl & 15U));
            }
        }
    }
}

std::uint8_t View::sl(const End& from, mad::Lid to) const {
    if (from.switch_index >= service_levels_.size() || service_levels_[from.switch_index] == nullptr) {
        return 0;
    }
    const routing::SlRow& row = *service_levels_[from.switch_index];
    return to.value() < row.size() ? row[to.value()] : 0;
}

void View::add_barred() {
    if (!snapshot_->lanes) {
        return;
    }
    for (const auto& [node, s] : switch_of_node_) {
        const auto found = snapshot_->lanes->tables.find(fabric_->nodes[node].guid());
        if (found != snapshot_->lanes->tables.end() &&
            found->second->ports == fabric_->nodes[node].ports.size()) {
            add_barred_of(s, *found->second);
        }
    }
}

void View::add_barred_of(std::uint32_t switch_index, const fabric::LaneTables& tables) {
    const fabric::Node& node = fabric_->nodes[snapshot_->view->switch_nodes[switch_index]];
    for (std::size_t exit = 1; exit < tables.ports; ++exit) {
        const fabric::Port& port = node.ports[exit];
        if (!port.known || port.peer.node == fabric::kNoNode) {
            continue;
        }
        const unsigned lanes = std::max(1U, mad::vl_count(port.info.operational_vls));
        const auto drops = [&](const mad::Sl2VlTable& map) {
            return (dropped_by(map, lanes) & services_) != 0;
        };
        if (std::none_of(tables.maps.begin(), tables.maps.end(), drops)) {
            continue;
        }
        for (std::size_t input = 0; input < tables.ports; ++input) {
            const mad::Sl2VlTable* map = tables.map(input, exit);
            if (input != exit && map != nullptr && drops(*map)) {
                barred_[key_of(switch_index, input, exit)] = dropped_by(*map, lanes);
            }
        }
    }
}

bool View::carries(const End& from, mad::Lid to, std::uint8_t sl) const {
    if (barred_.empty()) {
        return true;
    }
    mad::PortNum input = from.is_switch ? mad::PortNum{0} : from.switch_port;
    for (const PortRef& link : trace(from, to)) {
        const auto at = switch_of_node_.find(link.node);
        if (at == switch_of_node_.end()) {
            continue;  // the source's own link
        }
        const auto found = barred_.find(key_of(at->second, input.value(), link.port.value()));
        if (found != barred_.end() && (found->second >> sl & 1U) != 0) {
            return false;
        }
        input = fabric_->port(link).peer.port;
    }
    return true;
}

}  // namespace ibf::sa
