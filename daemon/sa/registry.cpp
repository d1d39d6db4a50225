#include "daemon/sa/registry.hpp"

#include <algorithm>

#include "daemon/sa/desk.hpp"

namespace ibf::sa {
namespace {

using mad::SaAttribute;
using mad::SaMethod;
using Severity = fabric::EventRecord::Severity;

constexpr std::size_t kToldMost = 10'000;
constexpr std::size_t kToldMostOfAPort = 32;

}  // namespace

Registry::Registry(const SaConfig& config, const RegistryLimits& limits) : config_(config), limits_(limits) {}

void Registry::replace_config(const SaConfig& config) {
    config_ = config;
    told_.clear();
}

void Registry::restore(fabric::SaTables tables) {
    tables_ = std::move(tables);
    // A torn state may give two partitions one MLID; the group that comes second is made anew by its members.
    std::erase_if(tables_.groups, [&](const auto& item) { return !mlids_.adopt(*item.second); });
    for (const auto& [mgid, group] : tables_.groups) {
        members_ += static_cast<std::uint32_t>(group->members.size());
        for (const auto& [guid, member] : group->members) {
            ++holdings_[guid].groups;
        }
        if (mad::is_sa_made(mgid)) {
            last_made_mgid_ =
                std::max(last_made_mgid_, static_cast<std::uint32_t>(mgid.interface_id.value()));
        }
    }
    for (const auto& [key, service] : tables_.services) {
        ++holdings_[service->gid.interface_id].services;
        if (service->lease != fabric::kLeaseForEver) {
            lease_due_ = std::min(lease_due_.value_or(service->until), service->until);
        }
    }
    for (SubscriptionPtr& item : tables_.subscriptions) {
        ++subscription_count_;
        subscriptions_[item->subscriber.interface_id].push_back(std::move(item));
    }
    tables_.subscriptions.clear();
    published_.reset();
}

std::shared_ptr<const fabric::SaTables> Registry::tables() {
    if (!published_) {
        auto fresh = std::make_shared<fabric::SaTables>(tables_);
        fresh->subscriptions.reserve(subscription_count_);
        for (const auto& [guid, items] : subscriptions_) {
            fresh->subscriptions.insert(fresh->subscriptions.end(), items.begin(), items.end());
        }
        published_ = std::move(fresh);
    }
    return published_;
}

void Registry::touch(RegistryOutputs& out) {
    published_.reset();
    out.changed = true;
}

// --- the fabric

void Registry::on_fabric(std::shared_ptr<const View> view, base::Instant now, RegistryOutputs& out) {
    if (view->ends().empty()) {
        return;
    }
    const std::shared_ptr<const View> before = std::exchange(view_, std::move(view));
    for (auto& [guid, holdings] : holdings_) {
        holdings.proxies = 0;
    }
    std::erase_if(holdings_, [](const auto& item) { return item.second == Holdings{}; });
    bound_mlids(out);
    follow_config(now, out);
    follow_lids(out);
    note_gone(now);
    if (before) {
        report_ports(*before, *view_, kTrapGidOutOfService, now, out);
        report_ports(*before, *view_, kTrapGidInService, now, out);
    }
}

/// Of the ports that left something here: which are not in the fabric, and since when.
void Registry::note_gone(base::Instant now) {
    std::map<mad::Guid, base::Instant> gone;
    const auto look = [&](mad::Guid port) {
        if (view_->by_guid(port) == kNoEnd) {
            const auto since = gone_.find(port);
            gone.emplace(port, since == gone_.end() ? now : since->second);
        }
    };
    for (const auto& [guid, holdings] : holdings_) {
        look(guid);
    }
    for (const auto& [guid, items] : subscriptions_) {
        look(guid);
    }
    gone_ = std::move(gone);
    gone_due_.reset();
    for (const auto& [guid, since] : gone_) {
        gone_due_ = std::min(gone_due_.value_or(since + limits_.gone_kept), since + limits_.gone_kept);
    }
}

void Registry::forget_gone(base::Instant since, base::Instant now, RegistryOutputs& out) {
    std::set<mad::Guid> ports;
    for (const auto& [guid, at] : gone_) {
        if (at <= since) {
            ports.insert(guid);
        }
    }
    if (ports.empty()) {
        return;
    }
    forget_ports(ports, now, out);
    out.events.push_back(
        {.severity = Severity::info,
         .kind = "ports-forgotten",
         .text = fmt::format("{} ports that are gone from the fabric (the first: {}) are taken out of their "
                             "groups; their services and subscriptions end",
                             ports.size(), *ports.begin())});
    note_gone(now);
}

void Registry::forget_ports(const std::set<mad::Guid>& ports, base::Instant now, RegistryOutputs& out) {
    std::map<mad::Gid, std::vector<mad::Guid>> left;
    for (const auto& [mgid, group] : tables_.groups) {
        for (const auto& [guid, member] : group->members) {
            if (ports.contains(guid)) {
                left[mgid].push_back(guid);
            }
        }
    }
    for (const auto& [mgid, members] : left) {
        fabric::Group& group = edit(mgid);
        for (const mad::Guid port : members) {
            remove_member(group, port);
        }
        end_if_empty(mgid, now, out);
    }
    std::erase_if(tables_.services,
                  [&](const auto& item) { return ports.contains(item.second->gid.interface_id); });
    for (const mad::Guid port : ports) {
        const auto found = subscriptions_.find(port);
        if (found != subscriptions_.end()) {
            subscription_count_ -= static_cast<std::uint32_t>(found->second.size());
            subscriptions_.erase(found);
        }
        holdings_.erase(port);
    }
    touch(out);
    out.groups_changed = out.groups_changed || !left.empty();
}

// --- requests

void Registry::on_request(const mad::WireMad& wire, const View& view, base::Instant now,
                          RegistryOutputs& out) {
    const auto parsed = mad::parse_sa_mad(wire.bytes);
    if (!parsed || parsed->header.is_response()) {
        return;
    }
    const std::uint32_t asker = view.by_lid(wire.address.lid);
    if (asker == kNoEnd) {
        return;  // from nowhere that we know: nowhere to answer to, either
    }
    const Request request{
        wire, *parsed, view, view.ends()[asker], now, parsed->sm_key != 0 && parsed->sm_key == config_.sa_key,
        out};
    const bool set = parsed->method() == SaMethod::set;
    switch (parsed->attribute()) {
        case SaAttribute::mc_member_record: return set ? join(request) : leave(request);
        case SaAttribute::service_record: return set ? set_service(request) : remove_service(request);
        case SaAttribute::inform_info: return subscribe(request);
        default: return;
    }
}

void Registry::reply(const Request& request, mad::MadStatus status) const {
    request.out.wire.push_back(reply_to(request.wire, request.mad, status, nullptr, {}));
}

/// The port that a GID names.
mad::MadStatus Registry::find_port(const Request& request, mad::Gid gid, const End*& port) const {
    // A service's GID is the client's own business but for the port: clients are seen to send any prefix
    // (osmtest).
    const bool service = request.mad.attribute() == SaAttribute::service_record;
    if (!service && gid.prefix != config_.subnet_prefix && gid.prefix != kLinkLocalPrefix) {
        return mad::kSaInvalidGid;
    }
    const std::uint32_t found = request.view.by_guid(gid.interface_id);
    if (found == kNoEnd) {
        return mad::kSaInvalidGid;
    }
    port = &request.view.ends()[found];
    return 0;
}

/// A port speaks for itself; for others only with the key. `port` is the one that is spoken for.
mad::MadStatus Registry::may_speak_for(const Request& request, mad::Gid gid, const End*& port) const {
    const auto status = find_port(request, gid, port);
    return status != 0 || port->guid == request.asker.guid || request.trusted ? status
                                                                              : mad::kSaRequestDenied;
}

void Registry::tell_once(const Request& request, const End& port, std::string kind, std::string reason,
                         std::string text) {
    std::size_t told = 0;  // of this port: what a client chooses is part of some reasons
    for (auto it = told_.lower_bound({port.guid, {}}); it != told_.end() && it->first == port.guid; ++it) {
        ++told;
    }
    if (told_.size() < kToldMost && told < kToldMostOfAPort &&
        told_.insert({port.guid, std::move(reason)}).second) {
        request.out.events.push_back({.severity = Severity::warning,
                                      .kind = std::move(kind),
                                      .text = std::move(text),
                                      .guid = port.node_guid,
                                      .port = port.at.port});
    }
}

void Registry::tell_limit(const Request& request, std::uint32_t most, std::string_view what) {
    const End& asker = request.asker;
    tell_once(request, asker, "client-limited", std::string(what),
              fmt::format("{} (port {}) asks for more than {} {}: what is beyond is refused",
                          request.view.fabric().nodes[asker.at.node].description, asker.guid, most, what));
}

// --- time

void Registry::on_time(base::Instant now, RegistryOutputs& out) {
    for (const SubscriptionPtr& gone : reporter_.on_time(now, out.wire)) {
        end_subscription(*gone);
        touch(out);
        out.events.push_back(
            {.severity = Severity::warning,
             .kind = "subscriber-gone",
             .text = fmt::format("{} (LID {}, QP {}) answers no reports: its subscription ends",
                                 mad::to_string(gone->subscriber), gone->lid, gone->qpn)});
    }
    end_leases(now, out);
    if (gone_due_ && now >= *gone_due_) {
        forget_gone(now - limits_.gone_kept, now, out);
    }
}

std::optional<base::Instant> Registry::next_deadline() const {
    std::optional<base::Instant> at = reporter_.next_deadline();
    for (const auto& other : {lease_due_, gone_due_}) {
        at = at && other ? std::min(*at, *other) : (at ? at : other);
    }
    return at;
}

}  // namespace ibf::sa
