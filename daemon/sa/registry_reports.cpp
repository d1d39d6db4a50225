// Subscriptions (InformInfo, IBA 13.4.8.3), and what subscribers are told.
#include <algorithm>

#include "daemon/sa/desk.hpp"
#include "daemon/sa/registry.hpp"
#include "mad/octets.hpp"

namespace ibf::sa {
namespace {

using fabric::Subscription;

constexpr std::size_t kSubjectAt = 6;  ///< in the DataDetails of traps 64 to 67 (IBA tables 144, 145)
constexpr std::size_t kInformInfoBytes = 36;

/// Whether a port is there for others.
bool serves(const View& view, const End& end) {
    return end.is_switch || view.fabric().port(end.at).info.state == mad::PortState::active;
}

}  // namespace

// --- what is subscribed to

/// Who subscribes to the same again, as after a new master came, has one subscription: reports go to where it
/// asked last.
void Registry::subscribe(const Request& request) {
    static const RecordType& type = record_type_of(mad::SaAttribute::inform_info);
    const auto& data = request.mad.data;
    const bool wanted = type.get(data, "Subscribe") == 1;
    auto subscription = std::make_shared<Subscription>();
    subscription->subscriber = {config_.subnet_prefix, request.asker.guid};
    subscription->lid = request.wire.address.lid;
    subscription->qpn = wanted || type.get(data, "QPN") == 0
                            ? request.wire.address.qp
                            : static_cast<std::uint32_t>(type.get(data, "QPN"));
    subscription->pkey_index = request.wire.address.pkey_index;
    subscription->sl = request.wire.address.sl;
    subscription->path_bits = request.wire.address.path_bits;
    std::copy_n(data.begin(), subscription->inform_info.size(), subscription->inform_info.begin());
    type.set(subscription->inform_info, "Subscribe", 1);
    type.set(subscription->inform_info, "QPN", subscription->qpn);

    const auto own = subscriptions_.find(request.asker.guid);
    const std::size_t count = own == subscriptions_.end() ? 0 : own->second.size();
    SubscriptionPtr* same = nullptr;
    for (std::size_t i = 0; i < count; ++i) {
        SubscriptionPtr& other = own->second[i];
        same = other->inform_info == subscription->inform_info ? &other : same;
    }
    if (!wanted && same == nullptr) {
        return reply(request, mad::kSaRequestInvalid);
    }
    if (!wanted) {
        end_subscription(Subscription{**same});
    } else if (same != nullptr) {
        subscription->number = (*same)->number;
        *same = std::move(subscription);
    } else {
        const bool full = subscription_count_ >= limits_.subscriptions;
        if (full || count >= limits_.subscriptions_per_port) {
            tell_limit(request, full ? limits_.subscriptions : limits_.subscriptions_per_port,
                       full ? "subscriptions in all" : "subscriptions");
            return reply(request, mad::kSaNoResources);
        }
        auto& items = subscriptions_[request.asker.guid];
        subscription->number = 1;                    // the least that is free: part of InformInfoRecord's RID
        for (const SubscriptionPtr& item : items) {  // in order
            subscription->number =
                static_cast<std::uint16_t>(subscription->number + (item->number == subscription->number));
        }
        const auto after = std::find_if(items.begin(), items.end(), [&](const SubscriptionPtr& item) {
            return item->number > subscription->number;
        });
        items.insert(after, std::move(subscription));
        ++subscription_count_;
    }
    touch(request.out);
    request.out.wire.push_back(reply_to(request.wire, request.mad, 0, &type,
                                        std::span<const std::uint8_t>(data.data(), kInformInfoBytes)));
}

void Registry::end_subscription(const Subscription& which) {
    const auto found = subscriptions_.find(which.subscriber.interface_id);
    if (found == subscriptions_.end()) {
        return;
    }
    subscription_count_ -= static_cast<std::uint32_t>(std::erase_if(
        found->second, [&](const SubscriptionPtr& item) { return item->number == which.number; }));
    if (found->second.empty()) {
        subscriptions_.erase(found);
    }
}

/// A subscriber whose LID changed gets its reports there.
void Registry::follow_lids(RegistryOutputs& out) {
    for (auto& [guid, items] : subscriptions_) {
        const std::uint32_t end = view_->by_guid(guid);
        if (end == kNoEnd) {
            continue;
        }
        const mad::LidRange& lids = view_->ends()[end].lids;
        for (SubscriptionPtr& item : items) {
            if (!lids.contains(item->lid)) {
                auto moved = std::make_shared<Subscription>(*item);
                const unsigned path_bits = item->lid.value() & (lids.count() - 1U);
                moved->lid = mad::Lid{static_cast<std::uint16_t>(lids.base.value() + path_bits)};
                item = std::move(moved);
                touch(out);
            }
        }
    }
}

// --- what they are told

/// Those whose port is in the fabric; whether they may know is for the caller.
std::vector<Registry::SubscriptionPtr> Registry::who_wants(const Report& report) const {
    std::vector<SubscriptionPtr> wanting;
    for (const auto& [guid, items] : subscriptions_) {
        if (view_->by_guid(guid) == kNoEnd) {
            continue;
        }
        std::copy_if(items.begin(), items.end(), std::back_inserter(wanting),
                     [&](const SubscriptionPtr& item) { return wants(*item, report); });
    }
    return wanting;
}

Report Registry::own_report(std::uint16_t trap) const {
    Report report;
    report.notice.type = 3;      // subnet management
    report.notice.producer = 4;  // class manager
    report.notice.trap_number = trap;
    report.notice.issuer_lid = view_->snapshot().sm_lid;
    report.issuer = {config_.subnet_prefix, view_->snapshot().sm_guid};
    return report;
}

void Registry::report_ports(const View& before, const View& after, std::uint16_t trap, base::Instant now,
                            RegistryOutputs& out) {
    const bool came = trap == kTrapGidInService;
    const View& seen = came ? after : before;
    const View& other = came ? before : after;
    Report report = own_report(trap);
    const std::vector<SubscriptionPtr> wanting = who_wants(report);
    if (wanting.empty()) {
        return;
    }
    for (const End& end : seen.ends()) {
        const std::uint32_t there = other.by_guid(end.guid);
        if (!serves(seen, end) || (there != kNoEnd && serves(other, other.ends()[there]))) {
            continue;
        }
        if (reporter_.full()) {
            return;  // half a fabric came: who was not told looks for itself
        }
        mad::store_gid(report.notice.details, kSubjectAt, {config_.subnet_prefix, end.guid});
        for (const SubscriptionPtr& item : wanting) {
            const End& to = after.ends()[after.by_guid(item->subscriber.interface_id)];
            if (share_partition(after.pkeys(to), seen.pkeys(end))) {
                reporter_.send(item, report, now, out.wire);
            }
        }
    }
}

void Registry::report_group(std::uint16_t trap, const fabric::Group& group, base::Instant now,
                            RegistryOutputs& out) {
    if (!view_ || subscriptions_.empty()) {
        return;
    }
    Report report = own_report(trap);
    mad::store_gid(report.notice.details, kSubjectAt, group.mgid);
    for (const SubscriptionPtr& item : who_wants(report)) {
        const End& to = view_->ends()[view_->by_guid(item->subscriber.interface_id)];
        if (share_partition(view_->pkeys(to), {&group.pkey, 1})) {
            reporter_.send(item, report, now, out.wire);
        }
    }
}

void Registry::on_trap(const mad::Notice& notice, base::Instant now, RegistryOutputs& out) {
    const std::uint32_t issuer = view_ ? view_->by_lid(notice.issuer_lid) : kNoEnd;
    if (issuer == kNoEnd) {
        return;
    }
    const End& from = view_->ends()[issuer];
    const Report report{notice, {config_.subnet_prefix, from.guid}};
    for (const SubscriptionPtr& item : who_wants(report)) {
        const End& to = view_->ends()[view_->by_guid(item->subscriber.interface_id)];
        if (view_->shared_pkey(to, from, std::nullopt) != mad::PKey{}) {
            reporter_.send(item, report, now, out.wire);
        }
    }
}

}  // namespace ibf::sa
