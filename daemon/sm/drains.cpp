// Drains: the book, and what the subnet manager does about it.
#include "daemon/sm/drains.hpp"

#include <algorithm>

#include "daemon/sm/subnet_manager.hpp"
#include "mad/codec.hpp"

namespace ibf::sm {
namespace {

static_assert(fabric::kDrainsMax == db::kDrainsMost, "what can be drained can be passed on");

using fabric::Drain;
using Severity = fabric::EventRecord::Severity;

auto place_of(auto& list, mad::Guid node, mad::PortNum port) {
    return std::lower_bound(list.begin(), list.end(), std::pair(node, port),
                            [](const Drain& drain, const std::pair<mad::Guid, mad::PortNum>& key) {
                                return std::pair(drain.node, drain.port) < key;
                            });
}

bool is_at(const fabric::DrainList& list, fabric::DrainList::const_iterator place, mad::Guid node,
           mad::PortNum port) {
    return place != list.end() && place->node == node && place->port == port;
}

}  // namespace

DrainBook::DrainBook(const db::DrainsRecord& stored) {
    std::multimap<mad::Guid, const db::DrainCableRow*> cables;  // in the order of the record
    for (const db::DrainCableRow& cable : stored.cables) {
        cables.emplace(cable.node, &cable);
    }
    for (const db::DrainRow& row : stored.drains) {
        if (row.node == mad::Guid{} || find(row.node, row.port) != nullptr) {
            continue;
        }
        Drain drain{row.node,        row.port,
                    row.name,        base::WallTime{std::chrono::milliseconds{row.since_ms}},
                    row.forced != 0, {}};
        const auto [first, last] = cables.equal_range(row.node);
        for (auto cable = first; cable != last; ++cable) {
            const db::DrainCableRow& at = *cable->second;
            if (drain.is_switch() || at.port == row.port) {
                drain.cables.push_back({at.port, at.peer, at.peer_port});
            }
        }
        static_cast<void>(add(std::move(drain)));
    }
}

bool DrainBook::add(Drain drain) {
    const auto place = place_of(list_, drain.node, drain.port);
    if (list_.size() >= fabric::kDrainsMax || is_at(list_, place, drain.node, drain.port)) {
        return false;
    }
    list_.insert(place, std::move(drain));
    return true;
}

bool DrainBook::remove(mad::Guid node, mad::PortNum port) {
    const auto place = place_of(list_, node, port);
    if (!is_at(list_, place, node, port)) {
        return false;
    }
    list_.erase(place);
    told_.erase({node, port});
    return true;
}

const Drain* DrainBook::find(mad::Guid node, mad::PortNum port) const {
    const auto place = place_of(list_, node, port);
    return is_at(list_, place, node, port) ? &*place : nullptr;
}

db::DrainsRecord DrainBook::record() const {
    db::DrainsRecord record;
    for (const Drain& drain : list_) {
        record.drains.push_back({drain.node, drain.port, drain.name, drain.since.time_since_epoch().count(),
                                 static_cast<std::uint8_t>(drain.forced ? 1 : 0)});
        for (const fabric::DrainCable& cable : drain.cables) {
            record.cables.push_back({drain.node, cable.port, cable.peer, cable.peer_port});
        }
    }
    return record;
}

routing::Drained DrainBook::for_routing(const routing::Topology& topology,
                                        const fabric::LidMap& remembered) const {
    routing::Drained drained{fabric::elements_of(list_), {}};
    for (const Drain& drain : list_) {
        const auto place = std::lower_bound(
            topology.switches.begin(), topology.switches.end(), drain.node,
            [](const routing::TopologySwitch& item, mad::Guid guid) { return item.guid < guid; });
        const bool here = place != topology.switches.end() && place->guid == drain.node;
        const auto lids = remembered.find(drain.node);
        if (drain.is_switch() && !here && lids != remembered.end()) {
            drained.away.push_back(lids->second);
        }
    }
    return drained;
}

DrainBook::Sight DrainBook::look(const fabric::Fabric& fabric) {
    Sight sight;
    for (Drain& drain : list_) {
        const fabric::DrainSight seen = fabric::look_for(fabric, drain);
        mad::Guid& told = told_[{drain.node, drain.port}];
        if (seen.substitute && seen.substitute->guid != told) {
            sight.substitutes.emplace_back(drain, *seen.substitute);
        }
        told = seen.substitute ? seen.substitute->guid : mad::Guid{};
        if (!seen.here || seen.substitute) {
            continue;  // what is remembered is how it was
        }
        std::vector<fabric::DrainCable> cables = fabric::cables_of(fabric, drain);
        sight.changed = sight.changed || cables != drain.cables;
        drain.cables = std::move(cables);
    }
    return sight;
}

// --- the subnet manager's part
// -----------------------------------------------------------------------------------

void SubnetManager::drain(Drain item, base::Instant now, Effects& out) {
    item.since = wall(now);
    if (drains_.add(item)) {
        follow_drains("drained", item, now, out);
    }
}

void SubnetManager::undrain(mad::Guid node, mad::PortNum port, base::Instant now, Effects& out) {
    const Drain* found = drains_.find(node, port);
    if (found == nullptr) {
        return;
    }
    const Drain item = *found;
    static_cast<void>(drains_.remove(node, port));
    follow_drains("undrained", item, now, out);
}

/// Stored before anything is done about it; then routes are asked for anew.
void SubnetManager::follow_drains(std::string_view what, const Drain& item, base::Instant now, Effects& out) {
    out.emplace_back(Persist{{drains_.record()}});
    announce(Severity::info, std::string(what),
             fmt::format("the operator {} {}", what, fabric::to_string(item)), item.node, item.port, now,
             out);
    renew_route_options();
    request_sweep(SweepScope::full, fmt::format("{} is {}", fabric::to_string(item), what), now, out);
}

/// A sweep has seen the fabric: places are remembered, and strangers in them told.
void SubnetManager::look_at_drains(base::Instant now, Effects& out) {
    const DrainBook::Sight sight = drains_.look(*working_);
    for (const auto& [drain, substitute] : sight.substitutes) {
        announce(Severity::warning, "drain-swapped",
                 fmt::format("{} is drained, but where it was cabled ({} port {}) is '{}' {} now: {}",
                             fabric::to_string(drain), drain.is_switch() ? substitute.at.peer : drain.node,
                             drain.is_switch() ? substitute.at.peer_port : drain.port, substitute.name,
                             substitute.guid,
                             drain.is_switch()
                                 ? "that one is not drained; undrain the old one if it will not come back"
                                 : "the cable there stays drained until it is undrained"),
                 drain.node, drain.port, now, out);
    }
    if (sight.changed) {
        out.emplace_back(Persist{{drains_.record()}});
        ++version_;
    }
}

/// What routes are asked with: the configuration, held to what the lanes allow, and what is drained. The same
/// pointer until something of it changes.
void SubnetManager::renew_route_options() {
    auto options = std::make_shared<routing::RouteOptions>(config_->routing);
    options->vls_max = static_cast<std::uint8_t>(
        std::min<unsigned>(options->vls_max, mad::vl_count(config_->operational_vls_max)));
    if (!drains_.list().empty()) {
        options->drained = drains_.for_routing(view_ ? view_->topology : routing::Topology{}, remembered_);
    }
    if (!route_options_ || *route_options_ != *options) {
        route_options_ = std::move(options);
        ++version_;
    }
}

void SubnetManager::show_drains(fabric::Snapshot& snapshot) const {
    snapshot.route_options = route_options_;
    const bool none = drains_.list().empty() && drained_in_force_.empty();
    snapshot.drains =
        none ? nullptr
             : std::make_shared<const fabric::Drains>(fabric::Drains{drains_.list(), drained_in_force_});
}

}  // namespace ibf::sm
