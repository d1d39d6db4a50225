// Of which switches the tables in force are known: by what they acknowledged, or by what was stored and is
// still to be seen. All others are read (table_reader.hpp), or emptied before they are written.
#include <algorithm>

#include "daemon/sm/subnet_manager.hpp"

namespace ibf::sm {
namespace {

using fabric::Fabric;
using fabric::kNoNode;
using fabric::Node;
using fabric::PortRef;

/// Two devices have that GUID.
bool is_contested(const Fabric& fabric, mad::Guid guid) {
    return std::any_of(fabric.isolations.begin(), fabric.isolations.end(), [&](const auto& item) {
        return item.reason == fabric::IsolationReason::duplicate_guid && item.guid == guid;
    });
}

/// Some cable leads from the same port to where it led then.
bool has_a_cable_of(const Fabric& fabric, const Node& node, const Fabric& past, const Node& then) {
    for (std::size_t p = 1; p < std::min(node.ports.size(), then.ports.size()); ++p) {
        const PortRef a = node.ports[p].peer;
        const PortRef b = then.ports[p].peer;
        if (a.node != kNoNode && b.node != kNoNode && a.port == b.port &&
            fabric.nodes[a.node].guid() == past.nodes[b.node].guid()) {
            return true;
        }
    }
    return false;
}

}  // namespace

/// Drops what can no longer be believed and lists the switches that hold tables we do not know.
std::vector<std::uint32_t> SubnetManager::unknown_tables() {
    std::vector<std::uint32_t> unknown;
    unreadable_.clear();
    if (std::exchange(shared_mastership_, false)) {
        forget_acknowledged();  // MasterSMLID may be ours again, and a block of that one's come after ours
    }
    doubt_other_devices();
    for (const std::uint32_t index : view_->switch_nodes) {
        const Node& node = working_->nodes[index];
        if (!node.switch_info || !node.ports[0].known) {
            continue;
        }
        const auto own_lid = lids_.find(node.guid());
        const bool ours = own_lid != lids_.end() && node.ports[0].info.lid == own_lid->second.base &&
                          node.ports[0].info.sm_lid == sm_lid_;
        const auto known = programmed_.find(node.guid());
        if (known != programmed_.end()) {
            if (ours && node.switch_info->linear_fdb_top == known->second.top) {
                continue;
            }
            programmed_.erase(known);  // it was reset, or somebody else has been at it
        }
        const bool virgin = node.switch_info->linear_fdb_top == 0 || node.ports[0].info.lid == mad::kLidNone;
        if (virgin) {
            strange_mft_.erase(node.guid());
            groups_programmed_[node.guid()] = {};
            if (written_.contains(node.guid())) {
                // If it was reset before our last tables came, it holds them, and LinearFDBTop will bring
                // them into force.
                unreadable_.insert(node.guid());
                strange_mft_.insert(node.guid());
                groups_programmed_.erase(node.guid());
            }
            continue;  // overwritten whole
        }
        if (trusts_stored(node)) {
            const db::TableRecord& stored = stored_tables_.at(node.guid());
            programmed_.insert_or_assign(node.guid(), Programmed{stored.lft, stored.linear_fdb_top});
            audit_.trust(node.guid(), stored.linear_fdb_top);
        } else {
            unknown.push_back(index);
            strange_mft_.insert(node.guid());
            groups_programmed_.erase(node.guid());
        }
    }
    stored_clean_ = false;  // believed once, at start; later only acknowledgements count
    return unknown;
}

/// What is known of a switch is known by its GUID, since it was set up. Where two devices had one, or the
/// switch has come, or none of its cables is where it was, it may be another device than the one that
/// acknowledged.
void SubnetManager::doubt_other_devices() {
    if (!settled_) {
        return;
    }
    const bool all =
        !extent_ || settled_ != fabric_;      // looks in between set nothing up, and may have met another
    std::map<mad::Guid, const Node*> before;  // of those that were looked at
    for (const std::uint32_t index : view_->switch_nodes) {
        if (all || std::binary_search(extent_->nodes.begin(), extent_->nodes.end(), index)) {
            before.emplace(working_->nodes[index].guid(), nullptr);
        }
    }
    for (const Node& node : settled_->nodes) {
        if (const auto found = before.find(node.guid()); found != before.end()) {
            found->second = &node;
        }
    }
    for (const std::uint32_t index : view_->switch_nodes) {
        const Node& node = working_->nodes[index];
        const auto then = before.find(node.guid());
        const bool same =
            then == before.end() ||
            (then->second != nullptr && has_a_cable_of(*working_, node, *settled_, *then->second) &&
             !is_contested(*settled_, node.guid()) && !is_contested(*working_, node.guid()));
        if (!same) {
            programmed_.erase(node.guid());
            survey_.forget(node.guid());
            lanes_acknowledged_.erase(node.guid());
        }
    }
}

bool SubnetManager::trusts_stored(const Node& node) const {
    const auto stored = stored_tables_.find(node.guid());
    return stored_clean_ && stored != stored_tables_.end() && stored->second.lft &&
           node.switch_info->linear_fdb_top == stored->second.linear_fdb_top &&
           !node.switch_info->port_state_change && stored_sm_lid_ != mad::kLidNone &&
           node.ports[0].info.sm_lid == stored_sm_lid_;
}

/// Of whatever engine: entries that ours would allow may stay.
std::shared_ptr<const routing::Routes> SubnetManager::tables_in_force() const {
    auto found = std::make_shared<routing::Routes>();
    for (const auto& [guid, known] : programmed_) {
        if (known.row) {
            found->switch_guids.push_back(guid);
            found->rows.push_back(known.row);
        }
    }
    return found->rows.empty() ? nullptr : found;
}

/// And the lanes that `said` gives the same switches; of whatever lanes, where there is none.
std::shared_ptr<const routing::Routes> SubnetManager::tables_held(const routing::Routes* said) const {
    auto rows = tables_in_force();
    if (!rows || said == nullptr) {
        return rows;
    }
    auto held = std::make_shared<routing::Routes>(*rows);
    held->engine = said->engine;
    const auto copy = [&](const auto& from, auto& to) {
        for (const mad::Guid guid : from.empty() ? std::vector<mad::Guid>{} : held->switch_guids) {
            const auto found = std::lower_bound(said->switch_guids.begin(), said->switch_guids.end(), guid);
            const auto place = static_cast<std::size_t>(found - said->switch_guids.begin());
            const bool known = found != said->switch_guids.end() && *found == guid && place < from.size();
            to.push_back(known ? from[place] : nullptr);
        }
    };
    copy(said->sls, held->sls);
    copy(said->lane_maps, held->lane_maps);
    return held;
}

}  // namespace ibf::sm
