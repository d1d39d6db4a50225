// What clients have left with the SA, and what it did for them: groups, services, subscriptions, counters.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <numeric>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "daemon/api/endpoints.hpp"
#include "mad/octets.hpp"
#include "mad/sa_mad.hpp"
#include "mad/sa_rates.hpp"

namespace ibf::api {
namespace {

using fabric::Group;
using fabric::Latencies;
using fabric::Member;
using fabric::SaActivity;
using fabric::SaTables;
using fabric::Service;
using fabric::Subscription;

/// Who is who, kept by a stream as long as it lasts.
class Names {
public:
    explicit Names(std::shared_ptr<const fabric::Fabric> fabric)
        : fabric_(std::move(fabric)), directory_(*fabric_) {}

    /// Node and port by port GUID, appended to `row`; nothing if the port is not in the fabric (any more).
    void add(Json& row, mad::Guid port_guid) const { add(row, directory_.find_port(port_guid)); }
    void add(Json& row, mad::Lid lid) const { add(row, directory_.find(lid)); }
    /// "active"; "moved": the port has another LID now, reports go to where it was; "gone": not in the
    /// fabric.
    [[nodiscard]] std::string_view state_of(const Subscription& subscription) const {
        const auto at = directory_.find_port(subscription.subscriber.interface_id);
        if (!at) {
            return "gone";
        }
        return fabric::lids_of(fabric_->nodes[at->node], at->port).contains(subscription.lid) ? "active"
                                                                                              : "moved";
    }

private:
    void add(Json& row, std::optional<fabric::PortRef> at) const {
        if (at) {
            row["node"] = name_of(fabric_->nodes[at->node]);
            row["port"] = at->port.value();
        }
    }

    std::shared_ptr<const fabric::Fabric> fabric_;
    Directory directory_;
};

const SaTables& tables_of(const fabric::Snapshot& snapshot) {
    static const SaTables kNothing;
    return snapshot.sa != nullptr ? *snapshot.sa : kNothing;
}

std::uint64_t big_endian(std::span<const std::uint8_t> bytes) {
    std::uint64_t value = 0;
    for (const std::uint8_t byte : bytes) {
        value = value << 8U | byte;
    }
    return value;
}

// --- groups

Json join_words(std::uint8_t join_state) {
    constexpr std::array<std::pair<std::uint8_t, std::string_view>, 4> kWords{
        {{fabric::kFullMember, "full"},
         {fabric::kNonMember, "non"},
         {fabric::kSendOnlyNonMember, "send-only"},
         {fabric::kSendOnlyFullMember, "send-only-full"}}};
    Json words = Json::array();
    for (const auto& [bit, word] : kWords) {
        if ((join_state & bit) != 0) {
            words.push_back(word);
        }
    }
    return words;
}

Json member_row(const Names& names, mad::Guid port_guid, const Member& member) {
    Json row;
    row["port_guid"] = guid_text(port_guid);
    row["gid"] = mad::to_string(member.port);
    names.add(row, port_guid);
    row["gone"] = !row.contains("node");
    row["join_states"] = join_words(member.join_state);
    row["proxy"] = member.proxy_join;
    return row;
}

/// A port by GUID, node and port.
Json named_port(const Names& names, mad::Guid port_guid) {
    Json row;
    row["port_guid"] = guid_text(port_guid);
    names.add(row, port_guid);
    return row;
}

/// Without its members.
Json group_row(const Names& names, const Group& group) {
    Json row;
    row["mgid"] = mad::to_string(group.mgid);
    row["mlid"] = fmt::format("{}", group.mlid);
    row["pkey"] = fmt::format("{}", group.pkey);
    row["qkey"] = fmt::format("0x{:08x}", group.qkey);
    row["mtu"] = mad::mtu_bytes(static_cast<mad::Mtu>(group.mtu));
    row["rate_gbps"] = mad::gbps_of_code(group.rate);
    row["sl"] = group.sl;
    row["tclass"] = group.tclass;
    row["flow_label"] = group.flow_label;
    row["hop_limit"] = group.hop_limit;
    row["scope"] = group.scope;
    row["well_known"] = group.well_known;
    row["member_count"] = group.members.size();
    row["limiters"] = group.limiters;
    row["limited_by"] = Json::array();
    for (const mad::Guid port : group.limited_by) {
        row["limited_by"].push_back(named_port(names, port));
    }
    return row;
}

Json refusal_row(const Names& names, const fabric::JoinRefusal& refusal) {
    Json row = named_port(names, refusal.port);
    row["mgid"] = mad::to_string(refusal.mgid);
    row["reason"] = refusal.reason;
    row["time"] = base::format_utc(refusal.when);
    row["times"] = refusal.times;
    return row;
}

/// Joins that were refused, of one group or of all, newest first.
Json refusals_json(const Call& call, const Names& names) {
    const auto mgid = mad::parse_gid(call.query.param("mgid"));
    Json rows = Json::array();
    for (const fabric::JoinRefusal& refusal : call.snapshot.join_refusals) {
        if (!mgid || refusal.mgid == *mgid) {
            rows.push_back(refusal_row(names, refusal));
        }
    }
    return rows;
}

/// {"refused": [rows...], "groups": [rows...]}, each group with its members. A broadcast group has as many as
/// the fabric has ports, so members are pieces of the stream as groups are.
class GroupStream {
public:
    GroupStream(std::vector<std::shared_ptr<const Group>> groups, std::shared_ptr<const Names> names,
                const Json& refused)
        : groups_(std::move(groups)), names_(std::move(names)), refused_(text_of(refused)) {}

    bool operator()(std::string& out) {
        if (part_ == Part::end) {
            return false;
        }
        const std::size_t full = out.size() + kPieceBytes;
        while (part_ != Part::end && out.size() < full) {
            step(out);
        }
        return true;
    }

private:
    enum class Part : std::uint8_t { head, group, members, end };

    void step(std::string& out) {
        switch (part_) {
            case Part::head:
                out += fmt::format("{{\"refused\":{},\n\"groups\":[", refused_);
                part_ = Part::group;
                break;
            case Part::group: begin_group(out); break;
            case Part::members: next_member(out); break;
            case Part::end: break;
        }
    }
    void begin_group(std::string& out) {
        if (at_ == groups_.size()) {
            out += "]}\n";
            part_ = Part::end;
            return;
        }
        std::string row = text_of(group_row(*names_, *groups_[at_]));
        row.pop_back();  // the brace: the members come into the row
        out += fmt::format("{}{},\"members\":[", at_ == 0 ? "\n" : ",\n", row);
        member_ = groups_[at_]->members.begin();
        part_ = Part::members;
    }
    void next_member(std::string& out) {
        const auto& members = groups_[at_]->members;
        if (member_ == members.end()) {
            out += "]}";
            ++at_;
            part_ = Part::group;
            return;
        }
        out += member_ == members.begin() ? "\n  " : ",\n  ";
        out += text_of(member_row(*names_, member_->first, member_->second));
        ++member_;
    }

    std::vector<std::shared_ptr<const Group>> groups_;
    std::shared_ptr<const Names> names_;
    std::string refused_;
    Part part_ = Part::head;
    std::size_t at_ = 0;
    std::map<mad::Guid, Member>::const_iterator member_;
};

/// All, or the one that "mgid" names.
base::Result<std::vector<std::shared_ptr<const Group>>> select_groups(const Call& call) {
    const SaTables& tables = tables_of(call.snapshot);
    const std::string_view word = call.query.param("mgid");
    if (!word.empty()) {
        const auto mgid = mad::parse_gid(word);
        if (!mgid) {
            return tl::unexpected(mgid.error());
        }
        const auto found = tables.groups.find(*mgid);
        if (found == tables.groups.end()) {
            return base::fail(base::ErrorKind::not_found,
                              fmt::format("there is no multicast group {} among the {} that exist",
                                          mad::to_string(*mgid), tables.groups.size()));
        }
        return std::vector{found->second};
    }
    std::vector<std::shared_ptr<const Group>> all;
    all.reserve(tables.groups.size());
    for (const auto& [mgid, group] : tables.groups) {
        all.push_back(group);
    }
    return all;
}

// --- services

/// Offsets in a ServiceRecord (IBA 15.2.5.14).
constexpr std::size_t kKeyAt = 32;
constexpr std::size_t kNameAt = 48;
constexpr std::size_t kDataAt = 112;

/// Of the lease, 0 where it is about to be taken away; null: it has no end.
Json remaining_seconds(const Service& service, base::Instant now) {
    if (service.lease == fabric::kLeaseForEver) {
        return nullptr;
    }
    const auto left = std::chrono::duration_cast<std::chrono::seconds>(service.until - now);
    return std::max<std::int64_t>(left.count(), 0);
}

/// The key itself is told to nobody.
Json service_row(const Names& names, const Service& service, base::Instant now) {
    const auto bytes = std::span(service.record);
    const auto key = bytes.subspan(kKeyAt, kNameAt - kKeyAt);
    const auto name = bytes.subspan(kNameAt, kDataAt - kNameAt);
    Json row;
    row["id"] = fmt::format("0x{:016x}", service.id);
    row["gid"] = mad::to_string(service.gid);
    names.add(row, service.gid.interface_id);
    row["pkey"] = fmt::format("{}", service.pkey);
    row["name"] = std::string(name.begin(), std::find(name.begin(), name.end(), 0));
    row["lease_seconds"] = service.lease == fabric::kLeaseForEver ? Json(nullptr) : Json(service.lease);
    row["remaining_seconds"] = remaining_seconds(service, now);
    row["has_key"] = std::any_of(key.begin(), key.end(), [](std::uint8_t byte) { return byte != 0; });
    row["data"] = fmt::format("{:02x}", fmt::join(bytes.subspan(kDataAt), ""));
    return row;
}

// --- subscriptions

std::string notice_type(std::uint64_t type) {
    constexpr std::array<std::string_view, 5> kWords{"fatal", "urgent", "security", "subnet-management",
                                                     "informational"};
    return type < kWords.size() ? std::string(kWords[type])
           : type == 0xFFFF     ? "all"
                                : fmt::format("0x{:04x}", type);
}

std::string producer(std::uint64_t type) {
    constexpr std::array<std::string_view, 5> kWords{"", "CA", "Switch", "Router", "class-manager"};
    return type >= 1 && type < kWords.size() ? std::string(kWords[type])
           : type == 0xFFFFFF                ? "all"
                                             : fmt::format("0x{:06x}", type);
}

/// What is asked for is an InformInfo (IBA 13.4.8.3); null: all of them.
Json subscription_row(const Names& names, const Subscription& subscription) {
    const auto bytes = std::span(subscription.inform_info);
    const std::uint64_t trap = big_endian(bytes.subspan(26, 2));
    const mad::Gid about = mad::load_gid(bytes, 0);
    const bool generic = bytes[22] != 0;
    Json row;
    row["subscriber"] = mad::to_string(subscription.subscriber);
    names.add(row, subscription.subscriber.interface_id);
    row["number"] = subscription.number;
    row["lid"] = subscription.lid.value();
    row["qpn"] = subscription.qpn;
    row["state"] = names.state_of(subscription);
    row["generic"] = generic;
    row["type"] = notice_type(big_endian(bytes.subspan(24, 2)));
    row[generic ? "trap" : "device_id"] = trap == 0xFFFF ? Json(nullptr) : Json(trap);
    const std::uint64_t who = big_endian(bytes.subspan(33, 3));
    row[generic ? "producer" : "vendor"] = generic ? producer(who) : fmt::format("0x{:06x}", who);
    if (about != mad::Gid{}) {
        row["about_gid"] = mad::to_string(about);
    } else {
        const std::uint64_t first = big_endian(bytes.subspan(16, 2));
        row["about_first_lid"] = first == 0xFFFF ? Json(nullptr) : Json(first);
        row["about_last_lid"] = first == 0xFFFF ? Json(nullptr) : Json(big_endian(bytes.subspan(18, 2)));
    }
    return row;
}

// --- what the SA did

Json latency_json(const Latencies& latencies) {
    return {{"count", latencies.count},
            {"median_seconds", seconds(latencies.median)},
            {"p99_seconds", seconds(latencies.p99)},
            {"max_seconds", seconds(latencies.max)}};
}

Json kinds_json(const SaActivity& activity, base::Instant now) {
    Json rows = Json::array();
    for (const fabric::KindActivity& kind : activity.by_kind) {
        const bool known = kind.method != 0;
        rows.push_back(Json{
            {"method", known ? mad::to_string(static_cast<mad::SaMethod>(kind.method)) : "other"},
            {"attribute", known ? mad::to_string(static_cast<mad::SaAttribute>(kind.attribute)) : "other"},
            {"requests", kind.requests},
            {"per_second", kind.rate.per_second(now)},
            {"latency", latency_json(kind.latencies)}});
    }
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Json& a, const Json& b) { return a["requests"] > b["requests"]; });
    return rows;
}

Json clients_json(const Names& names, const SaActivity& activity, base::Instant now) {
    Json rows = Json::array();
    for (const fabric::ClientActivity& client : activity.clients) {
        Json row;
        row["lid"] = client.lid.value();
        names.add(row, client.lid);
        row["requests"] = client.requests;
        row["per_second"] = client.rate.per_second(now);
        row["duplicates"] = client.duplicates;
        row["dropped"] = client.dropped;
        row["last_seen_seconds"] = seconds(now - client.last_seen);
        rows.push_back(std::move(row));
    }
    return rows;
}

}  // namespace

base::Result<HttpReply> get_groups(const Call& call) {
    const auto members = call.query.choice("members", {"yes", "no"});
    if (!members) {
        return tl::unexpected(members.error());
    }
    auto groups = select_groups(call);
    if (!groups) {
        return tl::unexpected(groups.error());
    }
    auto names = std::make_shared<const Names>(call.snapshot.fabric);
    const Json refused = refusals_json(call, *names);
    if (*members == "no") {
        const std::size_t count = groups->size();
        return row_stream(Json{{"refused", refused}}, "groups", count,
                          [names = std::move(names), groups = std::move(*groups)](std::size_t i) {
                              return group_row(*names, *groups[i]);
                          });
    }
    HttpReply reply;
    reply.stream = GroupStream(std::move(*groups), std::move(names), refused);
    return reply;
}

base::Result<HttpReply> get_services(const Call& call) {
    std::vector<std::shared_ptr<const Service>> services;
    for (const auto& [rid, service] : tables_of(call.snapshot).services) {
        services.push_back(service);
    }
    const std::size_t count = services.size();
    auto names = std::make_shared<const Names>(call.snapshot.fabric);
    return row_stream("services", count,
                      [names = std::move(names), services = std::move(services),
                       now = call.now](std::size_t i) { return service_row(*names, *services[i], now); });
}

base::Result<HttpReply> get_sa(const Call& call) {
    const SaTables& tables = tables_of(call.snapshot);
    static const SaActivity kNothing;
    const SaActivity& activity = call.snapshot.sa_activity != nullptr ? *call.snapshot.sa_activity : kNothing;
    auto names = std::make_shared<const Names>(call.snapshot.fabric);
    Json out;
    out["requests"] = activity.requests;
    out["answered"] = activity.answered;
    out["records"] = activity.records;
    out["duplicates"] = activity.duplicates;
    out["dropped"] = activity.dropped;
    out["malformed"] = activity.malformed;
    out["changes"] = activity.changes;
    out["tables_delivered"] = activity.tables_delivered;
    out["tables_failed"] = activity.tables_failed;
    out["latency"] = latency_json(activity.latencies);
    out["by_kind"] = kinds_json(activity, call.now);
    out["client_count"] = activity.client_count;
    out["clients"] = clients_json(*names, activity, call.now);
    out["groups"] = tables.groups.size();
    out["members"] =
        std::accumulate(tables.groups.begin(), tables.groups.end(), std::size_t{0},
                        [](std::size_t sum, const auto& item) { return sum + item.second->members.size(); });
    out["services"] = tables.services.size();
    return row_stream(out, "subscriptions", tables.subscriptions.size(),
                      [names = std::move(names), subscriptions = tables.subscriptions](std::size_t i) {
                          return subscription_row(*names, *subscriptions[i]);
                      });
}

}  // namespace ibf::api
