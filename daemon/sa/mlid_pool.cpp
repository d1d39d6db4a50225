#include "daemon/sa/mlid_pool.hpp"

#include <algorithm>
#include <tuple>

namespace ibf::sa {

void MlidPool::limit(std::uint32_t room) {
    room_ = std::min(room, mad::kMlidsMost);
}

bool MlidPool::scarce() const {
    return std::uint64_t{used_} * 100 >= std::uint64_t{room_} * kScarce;
}

MlidPool::Use MlidPool::use_of(const fabric::Group& group) {
    return {0, mad::partition_of(group.pkey), group.scope, group.mtu, group.rate, group.well_known};
}

void MlidPool::count(std::uint32_t at, const Use& use) {
    Use& entry = uses_[at];
    if (entry.groups == 0) {
        entry = use;
        ++used_;
    }
    ++entry.groups;
    entry.well_known = entry.well_known || use.well_known;
}

bool MlidPool::adopt(const fabric::Group& group) {
    const std::uint32_t at = group.mlid.value() - mad::kMlidFirst;
    const Use use = use_of(group);
    const Use& entry = uses_[at];
    if (entry.groups > 0 && (entry.partition != use.partition || entry.scope != use.scope)) {
        return false;
    }
    count(at, use);
    return true;
}

/// The MLID that suffers least from one group more: not one that configuration made and every host is in; one
/// of the same MTU and rate, so that no packet meets a link that it is too large for; the one of fewest
/// groups.
std::optional<std::uint32_t> MlidPool::to_share(const Use& wanted) const {
    using Cost = std::tuple<bool, bool, std::uint32_t>;
    std::optional<std::uint32_t> best;
    Cost least{};
    for (std::uint32_t at = 0; at < room_; ++at) {
        const Use& use = uses_[at];
        if (use.groups == 0 || use.partition != wanted.partition || use.scope != wanted.scope) {
            continue;
        }
        const Cost cost{use.well_known, use.mtu != wanted.mtu || use.rate != wanted.rate, use.groups};
        if (!best || cost < least) {
            best = at;
            least = cost;
        }
    }
    return best;
}

std::optional<mad::Mlid> MlidPool::take(const fabric::Group& group) {
    const Use use = use_of(group);
    std::optional<std::uint32_t> at = scarce() ? to_share(use) : std::nullopt;
    if (!at) {
        const auto end = uses_.begin() + room_;
        const auto free = std::find_if(uses_.begin(), end, [](const Use& one) { return one.groups == 0; });
        at = free != end ? std::optional(static_cast<std::uint32_t>(free - uses_.begin())) : std::nullopt;
    }
    if (!at) {
        return std::nullopt;
    }
    count(*at, use);
    return mad::Mlid{static_cast<std::uint16_t>(mad::kMlidFirst + *at)};
}

void MlidPool::release(const fabric::Group& group) {
    Use& entry = uses_[group.mlid.value() - mad::kMlidFirst];
    if (--entry.groups == 0) {
        --used_;
    }
}

}  // namespace ibf::sa
