#include "daemon/sa/registry.hpp"

#include <algorithm>

#include "daemon/sa/desk.hpp"

namespace ibf::sa {
namespace {

using fabric::Group;
using fabric::Member;
using fabric::Service;
using fabric::Subscription;
using mad::SaAttribute;
using mad::SaMethod;
using Severity = fabric::EventRecord::Severity;

constexpr std::uint64_t kLinkLocalPrefix = 0xfe80000000000000ULL;
constexpr std::uint16_t kTrapGidInService = 64;
constexpr std::uint16_t kTrapGidOutOfService = 65;
constexpr std::uint16_t kTrapGroupCreated = 66;
constexpr std::uint16_t kTrapGroupDeleted = 67;
constexpr std::uint16_t kMlidFirst = 0xC000;
constexpr std::uint32_t kMlidsMost = 0x3FFF;  ///< 0xC000..0xFFFE
constexpr std::uint16_t kPartition = 0x7FFF;
constexpr std::size_t kToldMost = 10'000;
constexpr std::uint64_t kSaSignature = 0xA01B;  ///< of an MGID that an SA made (IBA 15.2.5.17.3)
constexpr std::uint32_t kForEver = 0xFFFFFFFF;

const RecordType& member_type() {
    static const RecordType& type = record_type_of(SaAttribute::mc_member_record);
    return type;
}
const RecordType& service_type() {
    static const RecordType& type = record_type_of(SaAttribute::service_record);
    return type;
}

std::uint64_t load64(std::span<const std::uint8_t> bytes, std::size_t at) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < 8; ++i) {
        value = value << 8U | bytes[at + i];
    }
    return value;
}

mad::Gid load_gid(std::span<const std::uint8_t> bytes, std::size_t at) {
    return {load64(bytes, at), mad::Guid{load64(bytes, at + 8)}};
}

void store_gid(std::span<std::uint8_t> bytes, std::size_t at, mad::Gid gid) {
    for (std::size_t i = 0; i < 8; ++i) {
        bytes[at + i] = static_cast<std::uint8_t>(gid.prefix >> (56U - 8U * i));
        bytes[at + 8 + i] = static_cast<std::uint8_t>(gid.interface_id.value() >> (56U - 8U * i));
    }
}

/// A name that a client may give a group: multicast, no flag but "transient" (IBA 4.1.1), and where it bears
/// the SA's signature not of link-local scope (o15-0.1.6).
bool is_group_name(mad::Gid gid) {
    constexpr std::uint64_t kLinkLocal = 2;
    const std::uint64_t flags = (gid.prefix >> 52U) & 0xFU;
    const std::uint64_t scope = (gid.prefix >> 48U) & 0xFU;
    const bool sa_made = ((gid.prefix >> 32U) & 0xFFFFU) == kSaSignature;
    return gid.prefix >> 56U == 0xFFU && (flags & 0xEU) == 0 && !(sa_made && scope == kLinkLocal);
}

/// The IPoIB broadcast group of a partition (RFC 4391, 4): link-local scope, IPv4 signature, full P_Key.
mad::Gid broadcast_mgid(mad::PKey pkey) {
    return {0xff12401b00000000ULL | std::uint64_t{static_cast<std::uint16_t>(pkey.value() | 0x8000U)} << 16U,
            mad::Guid{0x00000000ffffffffULL}};
}

bool has(const mad::SaMad& request, const RecordType& type, std::string_view field) {
    return ((request.component_mask >> type.component(field)) & 1U) != 0;
}

/// The value to run with, of what a wish asks for and the most that can be had. Empty: it cannot be met.
std::optional<std::uint8_t> choose(unsigned selector, std::uint8_t wished, std::uint8_t most) {
    switch (selector) {
        case 0: return most > wished ? std::optional(most) : std::nullopt;
        case 1: return wished > 1 ? std::optional(std::min<std::uint8_t>(most, wished - 1)) : std::nullopt;
        case 2: return wished <= most && wished > 0 ? std::optional(wished) : std::nullopt;
        default: return most;
    }
}

}  // namespace

Registry::Registry(const SaConfig& config, const RegistryLimits& limits) : config_(config), limits_(limits) {}

void Registry::restore(fabric::SaTables tables) {
    tables_ = std::move(tables);
    published_.reset();
    for (const auto& [mgid, group] : tables_.groups) {
        for (const auto& [guid, member] : group->members) {
            ++groups_of_port_[guid];
        }
        if (((mgid.prefix >> 32U) & 0xFFFFU) == kSaSignature) {
            last_made_mgid_ =
                std::max(last_made_mgid_, static_cast<std::uint32_t>(mgid.interface_id.value()));
        }
    }
    for (const auto& item : tables_.subscriptions) {
        last_subscription_ = std::max(last_subscription_, item->number);
    }
}

std::shared_ptr<const fabric::SaTables> Registry::tables() {
    if (!published_) {
        published_ = std::make_shared<const fabric::SaTables>(tables_);
    }
    return published_;
}

fabric::Group& Registry::edit(mad::Gid mgid) {
    auto fresh = std::make_shared<Group>(*tables_.groups.at(mgid));
    Group& group = *fresh;
    tables_.groups[mgid] = std::move(fresh);
    published_.reset();
    return group;
}

void Registry::reply(const Request& request, mad::MadStatus status) const {
    request.out.wire.push_back(reply_to(request.wire, request.mad, status, nullptr, {}));
}

// --- the fabric

/// IPoIB joins the broadcast group with little more than its name: it must be there, with values that every
/// host can follow. While nobody is in it, it follows the slowest.
void Registry::add_broadcast_group(const View& view, RegistryOutputs& out) {
    const mad::Gid mgid = broadcast_mgid(mad::kPKeyDefaultFull);
    std::uint8_t mtu = 0;
    std::uint8_t rank = 0;
    std::string slowest;
    for (const End& end : view.ends()) {
        if (end.is_switch || end.mtu == 0 || end.rate == 0) {
            continue;
        }
        if (rank == 0 || end.rate < rank) {
            rank = end.rate;
            slowest = view.fabric().nodes[end.at.node].description;
        }
        mtu = mtu == 0 ? end.mtu : std::min(mtu, end.mtu);
    }
    const auto found = tables_.groups.find(mgid);
    if (rank == 0 || (found != tables_.groups.end() &&
                      (!found->second->members.empty() ||
                       (found->second->mtu == mtu && found->second->rate == rate_code(rank))))) {
        return;
    }
    auto group = std::make_shared<Group>();
    group->mgid = mgid;
    group->mlid = found != tables_.groups.end() ? found->second->mlid : mad::Mlid{kMlidFirst};
    group->qkey = 0x0b1b;  // RFC 4391, 5, as OpenSM's
    group->mtu = mtu;
    group->rate = rate_code(rank);
    group->packet_life_time = config_.packet_life_time;
    group->pkey = mad::kPKeyDefaultFull;
    group->scope = 2;
    group->well_known = true;
    out.events.push_back(
        {.severity = Severity::info,
         .kind = "group-created",
         .text = fmt::format("broadcast group {}: MLID {}, {} bytes, {} (the slowest host: {})",
                             mad::to_string(mgid), group->mlid, mad::mtu_bytes(static_cast<mad::Mtu>(mtu)),
                             rate_text(group->rate), slowest)});
    tables_.groups[mgid] = std::move(group);
    published_.reset();
    out.changed = true;
}

void Registry::on_fabric(std::shared_ptr<const View> view, base::Instant now, RegistryOutputs& out) {
    if (view->ends().empty()) {
        return;
    }
    proxied_by_.clear();
    add_broadcast_group(*view, out);
    const std::shared_ptr<const View> before = std::exchange(view_, std::move(view));
    follow_subscribers(out);
    if (before) {
        report_ports(*before, *view_, false, now, out);
        report_ports(*before, *view_, true, now, out);
    }
}

// --- reports

void Registry::follow_subscribers(RegistryOutputs& out) {
    for (auto& item : tables_.subscriptions) {
        const std::uint32_t subscriber = view_->by_guid(item->subscriber.interface_id);
        const mad::LidRange lids = subscriber == kNoEnd ? mad::LidRange{} : view_->ends()[subscriber].lids;
        if (subscriber == kNoEnd || lids.contains(item->lid)) {
            continue;
        }
        auto moved = std::make_shared<Subscription>(*item);
        const unsigned path_bits = item->lid.value() & (lids.count() - 1U);
        moved->lid = mad::Lid{static_cast<std::uint16_t>(lids.base.value() + path_bits)};
        item = std::move(moved);
        published_.reset();
        out.changed = true;
    }
}

/// 64 for ports that came or became Active, 65 for ports that went or are Active no more.
void Registry::report_ports(const View& before, const View& after, bool came, base::Instant now,
                            RegistryOutputs& out) {
    const View& seen = came ? after : before;
    const View& other = came ? before : after;
    const auto serves = [](const View& view, const End& end) {
        return end.is_switch || view.fabric().port(end.at).info.state == mad::PortState::active;
    };
    for (const End& end : seen.ends()) {
        const std::uint32_t there = other.by_guid(end.guid);
        if (serves(seen, end) && (there == kNoEnd || !serves(other, other.ends()[there]))) {
            report_gid(came ? kTrapGidInService : kTrapGidOutOfService, {config_.subnet_prefix, end.guid},
                       seen.pkeys(end), now, out);
        }
    }
}

void Registry::report_gid(std::uint16_t trap, mad::Gid subject, std::span<const mad::PKey> pkeys,
                          base::Instant now, RegistryOutputs& out) {
    if (!view_ || tables_.subscriptions.empty()) {
        return;
    }
    Report report;
    report.notice.type = 3;      // subnet management
    report.notice.producer = 4;  // class manager
    report.notice.trap_number = trap;
    report.notice.issuer_lid = view_->snapshot().sm_lid;
    report.issuer = {config_.subnet_prefix, view_->snapshot().sm_guid};
    store_gid(report.notice.details, 6, subject);
    for (const auto& item : tables_.subscriptions) {
        const std::uint32_t subscriber = view_->by_guid(item->subscriber.interface_id);
        if (subscriber == kNoEnd || !wants(*item, report)) {
            continue;
        }
        if (share_partition(view_->pkeys(view_->ends()[subscriber]), pkeys)) {
            reporter_.send(item, report, now, out.wire);
        }
    }
}

void Registry::on_trap(const mad::Notice& notice, base::Instant now, RegistryOutputs& out) {
    if (!view_) {
        return;
    }
    const std::uint32_t issuer = view_->by_lid(notice.issuer_lid);
    if (issuer == kNoEnd) {
        return;
    }
    const Report report{notice, {config_.subnet_prefix, view_->ends()[issuer].guid}};
    for (const auto& item : tables_.subscriptions) {
        const std::uint32_t subscriber = view_->by_guid(item->subscriber.interface_id);
        if (subscriber != kNoEnd && wants(*item, report) &&
            view_->shared_pkey(view_->ends()[subscriber], view_->ends()[issuer], std::nullopt) !=
                mad::PKey{}) {
            reporter_.send(item, report, now, out.wire);
        }
    }
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

/// Joining on behalf of another port is a right of who shares the group's partition with it
/// (IBA 15.2.5.17.4), within limits, so that nobody fills the fabric with others' names.
bool Registry::may_proxy(const Request& request, const End& port) {
    if (port.guid == request.asker.guid || request.trusted) {
        return true;
    }
    return request.view.shared_pkey(request.asker, port, std::nullopt) != mad::PKey{} &&
           proxied_by_[request.asker.guid]++ < limits_.proxies_per_port;
}

mad::MadStatus Registry::refuse_join(const Request& request, mad::Gid mgid, const End& port,
                                     std::string reason) {
    if (told_.size() < kToldMost && told_.insert({port.guid, reason}).second) {
        request.out.events.push_back(
            {.severity = Severity::warning,
             .kind = "join-refused",
             .text = fmt::format("{} (port {}) cannot join {}: {}",
                                 request.view.fabric().nodes[port.at.node].description, port.guid,
                                 mad::to_string(mgid), reason),
             .guid = port.node_guid,
             .port = port.at.port});
    }
    return mad::kSaRequestInvalid;
}

/// Whether a port can follow a group's traffic, and agrees with what the group is.
mad::MadStatus Registry::fits(const Request& request, const Group& group, const End& port) {
    const RecordType& type = member_type();
    const auto& data = request.mad.data;
    const auto differs = [&](std::string_view field, std::uint64_t value) {
        return has(request.mad, type, field) && type.get(data, field) != value;
    };
    const auto refuse = [&](std::string reason) {
        return refuse_join(request, group.mgid, port, std::move(reason));
    };
    const auto asked_pkey = static_cast<std::uint16_t>(type.get(data, "P_Key"));
    if (has(request.mad, type, "P_Key") && (asked_pkey & kPartition) != (group.pkey.value() & kPartition)) {
        return refuse(fmt::format("it belongs to partition 0x{:04x}", group.pkey.value()));
    }
    const auto& keys = request.view.pkeys(port);
    if (std::none_of(keys.begin(), keys.end(), [&](mad::PKey key) {
            return (key.value() & kPartition) == (group.pkey.value() & kPartition);
        })) {
        return refuse(fmt::format("the port is not in partition 0x{:04x}", group.pkey.value()));
    }
    if (port.mtu < group.mtu) {
        return refuse(fmt::format("the port's MTU is {} bytes, the group's {}",
                                  mad::mtu_bytes(static_cast<mad::Mtu>(port.mtu)),
                                  mad::mtu_bytes(static_cast<mad::Mtu>(group.mtu))));
    }
    if (port.rate < rank_of_code(group.rate)) {
        return refuse(fmt::format("the port runs at {}, the group at {}: it is too slow",
                                  rate_text(rate_code(port.rate)), rate_text(group.rate)));
    }
    const bool mtu_asked = has(request.mad, type, "MtuSelector") && has(request.mad, type, "Mtu");
    const bool rate_asked = has(request.mad, type, "RateSelector") && has(request.mad, type, "Rate");
    const auto mtu = static_cast<std::uint8_t>(type.get(data, "Mtu"));
    const auto rate = rank_of_code(static_cast<std::uint8_t>(type.get(data, "Rate")));
    const auto agrees = [](std::uint64_t selector, std::uint8_t asked, std::uint8_t is) {
        return selector == 0 ? is > asked : selector == 1 ? is < asked : selector == 2 ? is == asked : true;
    };
    if ((mtu_asked && !agrees(type.get(data, "MtuSelector"), mtu, group.mtu)) ||
        (rate_asked && !agrees(type.get(data, "RateSelector"), rate, rank_of_code(group.rate))) ||
        differs("Q_Key", group.qkey) || differs("TClass", group.tclass) || differs("SL", group.sl)) {
        return mad::kSaRequestInvalid;
    }
    return 0;
}

std::optional<mad::Mlid> Registry::free_mlid(const View& view) const {
    std::uint32_t room = kMlidsMost;
    for (const fabric::Node& node : view.fabric().nodes) {
        if (node.is_switch() && node.switch_info && node.switch_info->multicast_fdb_cap > 0) {
            room = std::min<std::uint32_t>(room, node.switch_info->multicast_fdb_cap);
        }
    }
    std::set<std::uint16_t> used;
    for (const auto& [mgid, group] : tables_.groups) {
        used.insert(group->mlid.value());
    }
    for (std::uint32_t i = 0; i < room; ++i) {
        const auto mlid = static_cast<std::uint16_t>(kMlidFirst + i);
        if (!used.contains(mlid)) {
            return mad::Mlid{mlid};
        }
    }
    return std::nullopt;
}

/// IBA 15.2.5.17.2: a group comes into being with its first full member, who must say what it is to be.
mad::MadStatus Registry::create(const Request& request, mad::Gid mgid, const End& port, MutableGroup& made) {
    const RecordType& type = member_type();
    const auto& data = request.mad.data;
    for (const std::string_view field : {"Q_Key", "TClass", "P_Key", "SL", "FlowLabel"}) {
        if (!has(request.mad, type, field)) {
            const mad::PKey pkey{static_cast<std::uint16_t>(mgid.prefix >> 16U)};
            return mgid == broadcast_mgid(pkey)
                       ? refuse_join(request, mgid, port,
                                     fmt::format("partition 0x{:04x} has no IPoIB group", pkey.value()))
                       : mad::kSaInsufficientComponents;
        }
    }
    const auto state = static_cast<std::uint8_t>(type.get(data, "JoinState"));
    if ((state & (fabric::kFullMember | fabric::kSendOnlyFullMember)) == 0) {
        return mad::kSaRequestInvalid;
    }
    constexpr unsigned kLargest = 3;
    const auto selector = [&](std::string_view field, std::string_view value) {
        return has(request.mad, type, field) && has(request.mad, type, value)
                   ? static_cast<unsigned>(type.get(data, field))
                   : kLargest;
    };
    const auto mtu =
        choose(selector("MtuSelector", "Mtu"), static_cast<std::uint8_t>(type.get(data, "Mtu")), port.mtu);
    const auto rank = choose(selector("RateSelector", "Rate"),
                             rank_of_code(static_cast<std::uint8_t>(type.get(data, "Rate"))), port.rate);
    const auto life =
        choose(selector("PacketLifeTimeSelector", "PacketLifeTime"),
               static_cast<std::uint8_t>(type.get(data, "PacketLifeTime")), config_.packet_life_time);
    if (!mtu || !rank || !life) {
        return mad::kSaRequestInvalid;
    }
    const auto mlid = tables_.groups.size() < limits_.groups ? free_mlid(request.view) : std::nullopt;
    if (!mlid) {
        return mad::kSaNoResources;
    }
    made = std::make_shared<Group>();
    made->mgid = mgid;
    made->mlid = *mlid;
    made->qkey = static_cast<std::uint32_t>(type.get(data, "Q_Key"));
    made->mtu = *mtu;
    made->rate = rate_code(*rank);
    made->packet_life_time = *life;
    made->tclass = static_cast<std::uint8_t>(type.get(data, "TClass"));
    made->pkey = mad::PKey{static_cast<std::uint16_t>(type.get(data, "P_Key") | 0x8000U)};
    made->sl = static_cast<std::uint8_t>(type.get(data, "SL"));
    made->flow_label = static_cast<std::uint32_t>(type.get(data, "FlowLabel"));
    made->hop_limit =
        has(request.mad, type, "HopLimit") ? static_cast<std::uint8_t>(type.get(data, "HopLimit")) : 0;
    made->scope = static_cast<std::uint8_t>((mgid.prefix >> 48U) & 0x0FU);
    return 0;
}

void Registry::answer_member(const Request& request, const Group& group, const Member& member) const {
    const RecordType& type = member_type();
    std::vector<std::uint8_t> record(type.size());
    constexpr unsigned kExactly = 2;
    store_gid(record, 0, group.mgid);
    store_gid(record, 16, member.port);
    type.set(record, "Q_Key", group.qkey);
    type.set(record, "MLID", group.mlid.value());
    type.set(record, "MtuSelector", kExactly);
    type.set(record, "Mtu", group.mtu);
    type.set(record, "TClass", group.tclass);
    type.set(record, "P_Key", group.pkey.value());
    type.set(record, "RateSelector", kExactly);
    type.set(record, "Rate", group.rate);
    type.set(record, "PacketLifeTimeSelector", kExactly);
    type.set(record, "PacketLifeTime", group.packet_life_time);
    type.set(record, "SL", group.sl);
    type.set(record, "FlowLabel", group.flow_label);
    type.set(record, "HopLimit", group.hop_limit);
    type.set(record, "Scope", group.scope);
    type.set(record, "JoinState", member.join_state);
    type.set(record, "ProxyJoin", member.proxy_join ? 1 : 0);
    request.out.wire.push_back(reply_to(request.wire, request.mad, 0, &type, record));
}

void Registry::join(const Request& request) {
    const RecordType& type = member_type();
    const auto& data = request.mad.data;
    if (!has(request.mad, type, "PortGID") || !has(request.mad, type, "JoinState")) {
        return reply(request, mad::kSaInsufficientComponents);
    }
    const auto state = static_cast<std::uint8_t>(type.get(data, "JoinState"));
    const End* port = nullptr;
    if (const auto status = find_port(request, load_gid(data, 16), port); status != 0) {
        return reply(request, status);
    }
    if (!may_proxy(request, *port)) {
        return reply(request, mad::kSaRequestDenied);
    }
    mad::Gid mgid = load_gid(data, 0);
    const bool unnamed = !has(request.mad, type, "MGID") || mgid == mad::Gid{};
    if (state == 0 || (!unnamed && !is_group_name(mgid))) {
        return reply(request, mad::kSaRequestInvalid);
    }
    if (unnamed) {
        // The SA chooses a name (IBA 15.2.5.17.3, o15-0.1.5): transient, of the scope asked for, signature
        // 0xA01B, the subnet prefix, and a number.
        const std::uint64_t scope = has(request.mad, type, "Scope") ? type.get(data, "Scope") : 2;
        mgid = {0xff10a01b00000000ULL | scope << 48U | config_.subnet_prefix >> 32U,
                mad::Guid{(config_.subnet_prefix << 32U) | ++last_made_mgid_}};
    }
    const auto found = tables_.groups.find(mgid);
    MutableGroup made;
    auto status = found == tables_.groups.end() ? create(request, mgid, *port, made) : mad::MadStatus{0};
    if (status == 0) {
        status = fits(request, made ? *made : *found->second, *port);
    }
    const bool member = found != tables_.groups.end() && found->second->members.contains(port->guid);
    if (status == 0 && !member && groups_of_port_[port->guid] >= limits_.groups_per_port) {
        status = mad::kSaNoResources;
    }
    if (status != 0) {
        return reply(request, status);
    }
    if (made) {
        const mad::PKey pkey = made->pkey;
        tables_.groups.emplace(mgid, std::move(made));
        report_gid(kTrapGroupCreated, mgid, {&pkey, 1}, request.now, request.out);
    }
    Group& group = edit(mgid);
    Member& entry = group.members[port->guid];
    const std::uint8_t before = entry.join_state;
    groups_of_port_[port->guid] += before == 0 ? 1U : 0U;
    entry.port = {config_.subnet_prefix, port->guid};
    entry.join_state = static_cast<std::uint8_t>(before | state);
    entry.proxy_join = port->guid != request.asker.guid;
    request.out.changed = true;
    request.out.groups_changed = request.out.groups_changed || entry.join_state != before;
    answer_member(request, group, entry);
}

void Registry::leave(const Request& request) {
    const RecordType& type = member_type();
    const auto& data = request.mad.data;
    for (const std::string_view field : {"MGID", "PortGID", "JoinState"}) {
        if (!has(request.mad, type, field)) {
            return reply(request, mad::kSaInsufficientComponents);
        }
    }
    const End* port = nullptr;
    if (const auto status = find_port(request, load_gid(data, 16), port); status != 0) {
        return reply(request, status);
    }
    const mad::Gid mgid = load_gid(data, 0);
    const auto state = static_cast<std::uint8_t>(type.get(data, "JoinState"));
    const auto found = tables_.groups.find(mgid);
    const auto member = found == tables_.groups.end() ? std::map<mad::Guid, Member>::const_iterator{}
                                                      : found->second->members.find(port->guid);
    if (found == tables_.groups.end() || member == found->second->members.end() || state == 0 ||
        (state & ~member->second.join_state) != 0) {  // only what was joined can be left (o15-0.1.14)
        return reply(request, mad::kSaRequestInvalid);
    }
    // Who joined by proxy may be taken out by proxy, nobody else.
    if (port->guid != request.asker.guid && !request.trusted && !member->second.proxy_join) {
        return reply(request, mad::kSaRequestDenied);
    }
    Group& group = edit(mgid);
    Member left = group.members.at(port->guid);
    left.join_state = static_cast<std::uint8_t>(left.join_state & ~state);
    if (left.join_state == 0) {
        group.members.erase(port->guid);
        --groups_of_port_[port->guid];
    } else {
        group.members[port->guid] = left;
    }
    answer_member(request, group, left);
    const bool kept_alive = std::any_of(group.members.begin(), group.members.end(), [](const auto& item) {
        return (item.second.join_state & (fabric::kFullMember | fabric::kSendOnlyFullMember)) != 0;
    });
    if (!kept_alive && !group.well_known) {  // with its last full member a group ends, for the others too
        for (const auto& [guid, other] : group.members) {
            --groups_of_port_[guid];
        }
        const mad::PKey pkey = group.pkey;
        tables_.groups.erase(mgid);
        report_gid(kTrapGroupDeleted, mgid, {&pkey, 1}, request.now, request.out);
    }
    request.out.changed = true;
    request.out.groups_changed = true;
}

// --- services

namespace {

/// Whether a request may change a service: it shows the ServiceKey, or the service has none (all zero).
bool opens(const Service& service, std::span<const std::uint8_t> request) {
    const auto key = std::span(service.record).subspan(32, 16);
    const bool open = std::all_of(key.begin(), key.end(), [](std::uint8_t byte) { return byte == 0; });
    return open || std::equal(key.begin(), key.end(), request.begin() + 32);
}

}  // namespace

void Registry::set_service(const Request& request) {
    const RecordType& type = service_type();
    const auto& data = request.mad.data;
    if (!has(request.mad, type, "ServiceID") || !has(request.mad, type, "ServiceGID")) {
        return reply(request, mad::kSaInsufficientComponents);
    }
    const mad::Gid gid = load_gid(data, 8);
    const End* port = nullptr;
    if (const auto status = may_speak_for(request, gid, port); status != 0) {
        return reply(request, status);
    }
    const mad::PKey pkey{static_cast<std::uint16_t>(type.get(data, "ServiceP_Key"))};
    const std::tuple key{type.get(data, "ServiceID"), gid, pkey};
    const auto found = tables_.services.find(key);
    if (found != tables_.services.end() && !opens(*found->second, data)) {
        return reply(request, mad::kSaRequestDenied);
    }
    const auto own = static_cast<std::uint32_t>(
        std::count_if(tables_.services.begin(), tables_.services.end(),
                      [&](const auto& item) { return item.second->gid.interface_id == gid.interface_id; }));
    if (found == tables_.services.end() && own >= limits_.services_per_port) {
        return reply(request, mad::kSaNoResources);
    }
    auto service = std::make_shared<Service>();
    service->id = std::get<0>(key);
    service->gid = gid;
    service->pkey = pkey;
    service->lease = has(request.mad, type, "ServiceLease")
                         ? static_cast<std::uint32_t>(type.get(data, "ServiceLease"))
                         : kForEver;
    service->until = request.now + std::chrono::seconds{service->lease};
    std::copy_n(data.begin(), service->record.size(), service->record.begin());
    type.set(service->record, "ServiceLease", service->lease);
    if (!has(request.mad, type, "ServiceKey")) {
        std::fill_n(service->record.begin() + 32, 16, std::uint8_t{0});
    }
    std::vector<std::uint8_t> record(service->record.begin(), service->record.end());
    if (!request.trusted) {
        std::fill_n(record.begin() + 32, 16,
                    std::uint8_t{0});  // a key is told to nobody, not even who set it
    }
    tables_.services[key] = std::move(service);
    published_.reset();
    request.out.changed = true;
    request.out.wire.push_back(reply_to(request.wire, request.mad, 0, &type, record));
}

/// By RID, whatever the mask says: clients are seen to name only the ServiceName beside it (osmtest).
void Registry::remove_service(const Request& request) {
    const RecordType& type = service_type();
    const auto& data = request.mad.data;
    const auto found =
        tables_.services.find({type.get(data, "ServiceID"), load_gid(data, 8),
                               mad::PKey{static_cast<std::uint16_t>(type.get(data, "ServiceP_Key"))}});
    if (found == tables_.services.end()) {
        return reply(request, mad::kSaNoRecords);
    }
    const End* port = nullptr;
    if (const auto status = may_speak_for(request, found->second->gid, port); status != 0) {
        return reply(request, status);
    }
    const std::vector<std::uint8_t> record(found->second->record.begin(), found->second->record.end());
    tables_.services.erase(found);
    published_.reset();
    request.out.changed = true;
    request.out.wire.push_back(reply_to(request.wire, request.mad, 0, &type, record));
}

void Registry::on_time(base::Instant now, RegistryOutputs& out) {
    for (const auto& gone : reporter_.on_time(now, out.wire)) {
        std::erase_if(tables_.subscriptions, [&](const auto& item) {
            return item->subscriber == gone->subscriber && item->number == gone->number;
        });
        published_.reset();
        out.changed = true;
        out.events.push_back(
            {.severity = Severity::warning,
             .kind = "subscriber-gone",
             .text = fmt::format("{} (LID {}, QP {}) answers no reports: its subscription ends",
                                 mad::to_string(gone->subscriber), gone->lid, gone->qpn)});
    }
    const std::size_t before = tables_.services.size();
    std::erase_if(tables_.services, [&](const auto& item) {
        return item.second->lease != kForEver && item.second->until <= now;
    });
    if (tables_.services.size() != before) {
        published_.reset();
        out.changed = true;
    }
}

std::optional<base::Instant> Registry::next_deadline() const {
    std::optional<base::Instant> at = reporter_.next_deadline();
    for (const auto& [key, service] : tables_.services) {
        if (service->lease != kForEver && (!at || service->until < *at)) {
            at = service->until;
        }
    }
    return at;
}

// --- subscriptions

void Registry::subscribe(const Request& request) {
    static const RecordType& type = record_type_of(SaAttribute::inform_info);
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
    const auto same = [&](const std::shared_ptr<const Subscription>& other) {
        return other->subscriber == subscription->subscriber &&
               other->inform_info == subscription->inform_info;
    };
    const auto found = std::find_if(tables_.subscriptions.begin(), tables_.subscriptions.end(), same);
    if (!wanted && found == tables_.subscriptions.end()) {
        return reply(request, mad::kSaRequestInvalid);
    }
    if (wanted && found == tables_.subscriptions.end()) {
        const auto own =
            std::count_if(tables_.subscriptions.begin(), tables_.subscriptions.end(),
                          [&](const auto& other) { return other->subscriber == subscription->subscriber; });
        if (static_cast<std::uint32_t>(own) >= limits_.subscriptions_per_port) {
            return reply(request, mad::kSaNoResources);
        }
        subscription->number = ++last_subscription_;
        tables_.subscriptions.push_back(std::move(subscription));
    } else if (!wanted) {
        tables_.subscriptions.erase(found);
    } else {  // once more, perhaps along another path
        subscription->number = (*found)->number;
        *found = std::move(subscription);
    }
    published_.reset();
    request.out.changed = true;
    request.out.wire.push_back(
        reply_to(request.wire, request.mad, 0, &type, std::span<const std::uint8_t>(data.data(), 36)));
}

}  // namespace ibf::sa
