// The groups that configuration wants, and how many groups the switches have room for.
#include <algorithm>
#include <utility>

#include "daemon/sa/registry.hpp"

namespace ibf::sa {
namespace {

using fabric::ConfiguredGroup;
using fabric::Group;
using Severity = fabric::EventRecord::Severity;

/// What the ports of a partition can do, in common.
struct Common {
    std::uint8_t mtu = 0;               ///< code; 0: there is no port
    std::uint8_t rate = 0;              ///< rank
    std::vector<mad::Guid> limited_by;  ///< who holds the others back, first of them
    std::uint32_t limiters = 0;
    std::string slowest;  ///< a name of theirs
};

bool in_partition(const View& view, const End& end, std::uint16_t partition) {
    const auto& keys = view.pkeys(end);
    return !end.is_switch && end.mtu != 0 && end.rate != 0 &&
           std::any_of(keys.begin(), keys.end(),
                       [&](mad::PKey key) { return mad::partition_of(key) == partition; });
}

Common common_of(const View& view, const ConfiguredGroup& wanted) {
    Common common;
    const std::uint16_t partition = mad::partition_of(wanted.pkey);
    std::uint8_t best_mtu = 0;
    std::uint8_t best_rate = 0;
    for (const End& end : view.ends()) {
        if (in_partition(view, end, partition)) {
            common.mtu = common.mtu == 0 ? end.mtu : std::min(common.mtu, end.mtu);
            common.rate = common.rate == 0 ? end.rate : std::min(common.rate, end.rate);
            best_mtu = std::max(best_mtu, end.mtu);
            best_rate = std::max(best_rate, end.rate);
        }
    }
    const bool mtu_held = wanted.mtu == 0 && common.mtu < best_mtu;
    const bool rate_held = wanted.rate == 0 && common.rate < best_rate;
    for (const End& end : view.ends()) {
        if (in_partition(view, end, partition) &&
            ((mtu_held && end.mtu == common.mtu) || (rate_held && end.rate == common.rate))) {
            ++common.limiters;
            if (common.limited_by.size() < fabric::kLimitersShown) {
                common.limited_by.push_back(end.guid);
            }
            if (common.slowest.empty()) {
                common.slowest = view.fabric().nodes[end.at.node].description;
            }
        }
    }
    return common;
}

/// As it is while nobody is in it, but for its MLID.
Group group_of(const ConfiguredGroup& wanted, const Common& common, std::uint8_t packet_life_time) {
    Group group;
    group.mgid = wanted.mgid;
    group.qkey = wanted.qkey;
    group.mtu = wanted.mtu != 0 ? wanted.mtu : common.mtu;
    group.rate = wanted.rate != 0 ? wanted.rate : rate_code(common.rate);
    group.packet_life_time = packet_life_time;
    group.pkey = mad::PKey{static_cast<std::uint16_t>(wanted.pkey.value() | 0x8000U)};
    group.sl = wanted.sl;
    group.scope = mad::scope_of(wanted.mgid);
    group.well_known = true;
    group.limited_by = common.limited_by;
    group.limiters = common.limiters;
    return group;
}

std::string limit_text(const Common& common) {
    return common.limiters == 0 ? std::string{}
           : common.limiters == 1
               ? fmt::format(", limited by {}", common.slowest)
               : fmt::format(", limited by {} and {} ports more", common.slowest, common.limiters - 1);
}

}  // namespace

/// IPoIB joins the broadcast group with little more than its name: it must be there whatever is configured.
void Registry::follow_config(base::Instant now, RegistryOutputs& out) {
    std::vector<ConfiguredGroup> wanted = config_.groups;
    const auto named = [&](mad::Gid mgid) {
        return std::any_of(wanted.begin(), wanted.end(),
                           [&](const ConfiguredGroup& one) { return one.mgid == mgid; });
    };
    const mad::Gid broadcast = mad::ipoib_broadcast(mad::kPKeyDefaultFull, mad::kScopeLinkLocal);
    if (!named(broadcast)) {
        wanted.insert(wanted.begin(), {.mgid = broadcast});
    }
    for (const ConfiguredGroup& one : wanted) {
        follow_wanted(one, now, out);
    }
    std::vector<mad::Gid> unwanted;
    for (const auto& [mgid, group] : tables_.groups) {
        if (group->well_known && !named(mgid)) {
            unwanted.push_back(mgid);
        }
    }
    for (const mad::Gid mgid : unwanted) {
        edit(mgid).well_known = false;
        end_if_empty(mgid, now, out);
        touch(out);
    }
}

/// While nobody is in it, a group is as configured, and where that leaves it open follows the slowest port.
/// Members have been told what it is: with them it stays as it is.
void Registry::follow_wanted(const ConfiguredGroup& wanted, base::Instant now, RegistryOutputs& out) {
    const Common common = common_of(*view_, wanted);
    const auto found = tables_.groups.find(wanted.mgid);
    const std::shared_ptr<const Group> before = found == tables_.groups.end() ? nullptr : found->second;
    Group target = group_of(wanted, common, config_.packet_life_time);
    if (target.mtu == 0 || target.rate == 0) {
        return;  // nothing to follow yet
    }
    const bool in_use = before && !before->members.empty();
    if (in_use) {
        const bool follows = before->mtu == target.mtu && before->rate == target.rate;
        const Group fresh = std::exchange(target, *before);
        target.well_known = true;
        target.limited_by = follows ? fresh.limited_by : std::vector<mad::Guid>{};
        target.limiters = follows ? fresh.limiters : 0;
    }
    const bool keeps_mlid =
        before && (in_use || mad::partition_of(before->pkey) == mad::partition_of(target.pkey));
    if (keeps_mlid) {
        target.mlid = before->mlid;
        if (target == *before) {
            return;
        }
    } else {
        if (before) {
            erase_group(wanted.mgid, now, out);
        }
        if (!take_mlid(target, out)) {
            out.events.push_back(
                {.severity = Severity::warning,
                 .kind = "group-not-made",
                 .text = fmt::format("group {} of the configuration: no multicast LID is left",
                                     mad::to_string(target.mgid))});
            return;
        }
    }
    if (!before || before->mtu != target.mtu || before->rate != target.rate) {
        out.events.push_back({.severity = Severity::info,
                              .kind = "group-created",
                              .text = fmt::format("group {} of the configuration: MLID {}, {} bytes, {}{}",
                                                  mad::to_string(target.mgid), target.mlid,
                                                  mad::mtu_bytes(static_cast<mad::Mtu>(target.mtu)),
                                                  rate_text(target.rate), limit_text(common))});
    }
    tables_.groups[wanted.mgid] = std::make_shared<Group>(std::move(target));
    touch(out);
}

/// The smallest multicast table of all switches bounds the MLIDs.
void Registry::bound_mlids(RegistryOutputs& out) {
    std::uint32_t room = mad::kMlidsMost;
    std::string smallest;
    for (const fabric::Node& node : view_->fabric().nodes) {
        const std::uint32_t cap =
            node.is_switch() && node.switch_info ? node.switch_info->multicast_fdb_cap : 0;
        if (cap > 0 && cap < room) {
            room = cap;
            smallest = node.description;
        }
    }
    if (room < mlids_.room()) {
        const auto beyond = std::count_if(
            tables_.groups.begin(), tables_.groups.end(),
            [&](const auto& item) { return item.second->mlid.value() >= mad::kMlidFirst + room; });
        if (beyond > 0) {
            out.events.push_back(
                {.severity = Severity::warning,
                 .kind = "mlids-beyond",
                 .text = fmt::format(
                     "switch {} forwards {} multicast LIDs only: {} groups have higher ones, whose "
                     "packets it drops until their members join anew",
                     smallest, room, beyond)});
        }
    }
    mlids_.limit(room);
}

}  // namespace ibf::sa
