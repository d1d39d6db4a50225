#include "daemon/sm/lid_plan.hpp"

#include <algorithm>
#include <array>

namespace ibf::sm {
namespace {

using fabric::Fabric;
using fabric::kNoNode;
using fabric::LidMap;
using fabric::Node;
using fabric::PortRef;
using mad::LidRange;

/// A port that needs a LID.
struct Owner {
    mad::Guid guid{};
    PortRef ref;
    std::uint8_t lmc = 0;
    LidRange in_fabric;
};

/// The unicast LID space as a bitmap.
class LidSpace {
public:
    [[nodiscard]] static bool valid(LidRange range, std::uint8_t lmc) {
        return range.base != mad::kLidNone && range.lmc == lmc && range.end() - 1 <= mad::kLidUnicastMax &&
               range.base.value() % (1U << lmc) == 0;
    }
    [[nodiscard]] bool free(LidRange range) const {
        for (std::uint32_t lid = range.base.value(); lid < range.end(); ++lid) {
            if (used_[lid]) {
                return false;
            }
        }
        return true;
    }
    void take(LidRange range) {
        std::fill(used_.begin() + range.base.value(), used_.begin() + range.end(), true);
    }
    void release(LidRange range) {
        std::fill(used_.begin() + range.base.value(), used_.begin() + range.end(), false);
    }
    /// The lowest free range of that LMC; base 0 if there is none.
    [[nodiscard]] LidRange lowest(std::uint8_t lmc) {
        const std::uint32_t step = 1U << lmc;
        for (std::uint32_t base = std::max(step, from_[lmc]); base + step - 1 <= mad::kLidUnicastMax;
             base += step) {
            const LidRange range{mad::Lid{static_cast<std::uint16_t>(base)}, lmc};
            if (free(range)) {
                from_[lmc] = base;
                return range;
            }
        }
        return {};
    }
    void rescan() { from_.fill(0); }

private:
    std::array<bool, mad::kLidUnicastMax + 1U> used_{};
    std::array<std::uint32_t, 8> from_{};  ///< nothing free below, by LMC
};

std::uint8_t lmc_of(const Node& node, const LidPolicy& policy) {
    if (!node.is_switch()) {
        return policy.lmc;
    }
    return node.switch_info && node.switch_info->enhanced_port0 && policy.lmc_on_enhanced_port0
               ? policy.lmc
               : std::uint8_t{0};
}

Owner owner_at(const Fabric& fabric, PortRef ref, const LidPolicy& policy) {
    const Node& node = fabric.nodes[ref.node];
    return {fabric::lid_owner(node, ref.port), ref, lmc_of(node, policy), fabric::lids_of(node, ref.port)};
}

/// Every port that shall have a LID, in layout order: for each switch by GUID its hosts by port, then the
/// switches; then end ports without a switch.
std::vector<Owner> owners_of(const Fabric& fabric, const LidPolicy& policy) {
    std::vector<std::uint32_t> switches;
    for (std::uint32_t n = 0; n < fabric.nodes.size(); ++n) {
        if (fabric.nodes[n].is_switch() && fabric.nodes[n].switch_info) {
            switches.push_back(n);
        }
    }
    std::sort(switches.begin(), switches.end(),
              [&](auto a, auto b) { return fabric.nodes[a].guid() < fabric.nodes[b].guid(); });
    std::vector<Owner> owners;
    for (const std::uint32_t n : switches) {
        for (std::size_t p = 1; p < fabric.nodes[n].ports.size(); ++p) {
            const PortRef peer = fabric.nodes[n].ports[p].peer;
            if (peer.node != kNoNode && !fabric.nodes[peer.node].is_switch()) {
                owners.push_back(owner_at(fabric, peer, policy));
            }
        }
    }
    for (const std::uint32_t n : switches) {
        owners.push_back(owner_at(fabric, {n, mad::PortNum{0}}, policy));
    }
    std::vector<Owner> loose;
    for (std::uint32_t n = 0; n < fabric.nodes.size(); ++n) {
        for (std::size_t p = 1; p < fabric.nodes[n].ports.size() && !fabric.nodes[n].is_switch(); ++p) {
            const PortRef peer = fabric.nodes[n].ports[p].peer;
            if (peer.node != kNoNode && !fabric.nodes[peer.node].is_switch()) {
                loose.push_back(owner_at(fabric, {n, mad::PortNum{static_cast<std::uint8_t>(p)}}, policy));
            }
        }
    }
    std::sort(loose.begin(), loose.end(), [](const Owner& a, const Owner& b) { return a.guid < b.guid; });
    owners.insert(owners.end(), loose.begin(), loose.end());
    return owners;
}

/// For each node, how many nodes its subnet has: itself and whom it reaches over links that are Active at
/// both ends. Where two subnets have just been joined, the joint is not Active yet, and the sides are told
/// apart.
std::vector<std::uint32_t> subnet_sizes(const Fabric& fabric) {
    constexpr std::uint32_t kUnseen = 0;
    std::vector<std::uint32_t> sizes(fabric.nodes.size(), kUnseen);
    std::vector<std::uint32_t> members;
    const auto visit = [&](std::uint32_t n) {
        if (sizes[n] == kUnseen) {
            sizes[n] = 1;
            members.push_back(n);
        }
    };
    for (std::uint32_t start = 0; start < fabric.nodes.size(); ++start) {
        members.clear();
        visit(start);
        for (std::size_t i = 0; i < members.size(); ++i) {
            for (const fabric::Port& port : fabric.nodes[members[i]].ports) {
                if (port.peer.node != kNoNode && port.info.state == mad::PortState::active &&
                    fabric.port(port.peer).info.state == mad::PortState::active) {
                    visit(port.peer.node);
                }
            }
        }
        for (const std::uint32_t n : members) {
            sizes[n] = static_cast<std::uint32_t>(members.size());
        }
    }
    return sizes;
}

/// Claims that are honoured in turn: those of the database first, then those seen in the fabric, the larger
/// of joined subnets before the smaller, each by GUID.
void keep_claims(const Fabric& fabric, const std::vector<Owner>& owners, const LidMap& remembered,
                 LidSpace& space, LidMap& lids) {
    std::vector<const Owner*> by_guid;
    for (const Owner& owner : owners) {
        by_guid.push_back(&owner);
    }
    std::sort(by_guid.begin(), by_guid.end(), [](auto* a, auto* b) { return a->guid < b->guid; });
    const auto keep = [&](const Owner& owner, LidRange claim) {
        if (LidSpace::valid(claim, owner.lmc) && space.free(claim)) {
            space.take(claim);
            lids.emplace(owner.guid, claim);
        }
    };
    for (const Owner* owner : by_guid) {
        const auto found = remembered.find(owner->guid);
        if (found != remembered.end()) {
            keep(*owner, found->second);
        }
    }
    for (const auto& [guid, claim] : remembered) {  // absent owners keep theirs reserved
        if (!lids.contains(guid) && LidSpace::valid(claim, claim.lmc) && space.free(claim)) {
            space.take(claim);
        }
    }
    const std::vector<std::uint32_t> sizes = subnet_sizes(fabric);
    std::stable_sort(by_guid.begin(), by_guid.end(),
                     [&](auto* a, auto* b) { return sizes[a->ref.node] > sizes[b->ref.node]; });
    for (const Owner* owner : by_guid) {
        if (!lids.contains(owner->guid)) {
            keep(*owner, owner->in_fabric);
        }
    }
}

/// Gives up the reservations of absent owners; true if that freed anything.
bool release_absent(const LidMap& lids, LidMap& remembered, LidSpace& space) {
    bool freed = false;
    for (auto it = remembered.begin(); it != remembered.end();) {
        if (lids.contains(it->first)) {
            ++it;
            continue;
        }
        if (LidSpace::valid(it->second, it->second.lmc)) {
            space.release(it->second);
            freed = true;
        }
        it = remembered.erase(it);
    }
    for (const auto& [guid, range] : lids) {
        space.take(range);
    }
    space.rescan();
    return freed;
}

}  // namespace

LidMap adopt_lids(const Fabric& fabric, LidMap remembered) {
    std::map<std::uint16_t, mad::Guid> holder;  // of each LID; two claims: the lower GUID, as everywhere
    for (const Owner& owner : owners_of(fabric, {})) {
        for (std::uint32_t lid = owner.in_fabric.base.value();
             owner.in_fabric.base != mad::kLidNone && lid < owner.in_fabric.end(); ++lid) {
            const auto [at, fresh] = holder.emplace(static_cast<std::uint16_t>(lid), owner.guid);
            at->second = std::min(at->second, owner.guid);
        }
        if (owner.in_fabric.base != mad::kLidNone) {
            remembered.insert_or_assign(owner.guid, owner.in_fabric);
        }
    }
    std::erase_if(remembered, [&](const auto& entry) {
        for (std::uint32_t lid = entry.second.base.value(); lid < entry.second.end(); ++lid) {
            const auto found = holder.find(static_cast<std::uint16_t>(lid));
            if (found != holder.end() && found->second != entry.first) {
                return true;
            }
        }
        return false;
    });
    return remembered;
}

LidPlan plan_lids(const Fabric& fabric, const LidMap& remembered, const LidPolicy& policy) {
    LidPlan plan;
    plan.remembered = remembered;
    LidSpace space;
    const std::vector<Owner> owners = owners_of(fabric, policy);
    keep_claims(fabric, owners, remembered, space, plan.lids);
    bool may_release = true;
    for (const Owner& owner : owners) {
        if (!plan.lids.contains(owner.guid)) {
            LidRange fresh = space.lowest(owner.lmc);
            if (fresh.base == mad::kLidNone && may_release) {
                may_release = false;
                fresh =
                    release_absent(plan.lids, plan.remembered, space) ? space.lowest(owner.lmc) : LidRange{};
            }
            if (fresh.base == mad::kLidNone) {
                plan.unserved.push_back(owner.ref);
                continue;
            }
            space.take(fresh);
            plan.lids.emplace(owner.guid, fresh);
        }
        const LidRange given = plan.lids.at(owner.guid);
        if (owner.in_fabric.base != mad::kLidNone && owner.in_fabric != given) {
            plan.moves.push_back(fmt::format("port {} moves from LID {} (LMC {}) to LID {} (LMC {})",
                                             owner.guid, owner.in_fabric.base, owner.in_fabric.lmc,
                                             given.base, given.lmc));
        }
    }
    for (const auto& [guid, range] : plan.lids) {
        plan.remembered.insert_or_assign(guid, range);
    }
    return plan;
}

}  // namespace ibf::sm
