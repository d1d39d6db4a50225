// Joins and leaves (MCMemberRecord, IBA 15.2.5.17).
#include <algorithm>
#include <atomic>

#include "daemon/sa/desk.hpp"
#include "daemon/sa/member_record.hpp"
#include "daemon/sa/registry.hpp"
#include "daemon/sa/wish.hpp"
#include "mad/octets.hpp"

namespace ibf::sa {
namespace {

using fabric::Group;
using fabric::Member;
using Severity = fabric::EventRecord::Severity;

constexpr std::uint8_t kKeepsAlive = fabric::kFullMember | fabric::kSendOnlyFullMember;

/// A name that a client may give a group: multicast, no flag but "transient" (IBA 4.1.1), and where it bears
/// the SA's signature not of link-local scope (o15-0.1.6).
bool is_group_name(mad::Gid gid) {
    const std::uint64_t flags = (gid.prefix >> 52U) & 0xFU;
    return mad::is_multicast(gid) && (flags & 0xEU) == 0 &&
           !(mad::is_sa_made(gid) && mad::scope_of(gid) == mad::kScopeLinkLocal);
}

/// What a join asks of MTU, rate or life time; without both selector and value nothing. Rates as ranks.
Wish wish_of(const mad::SaMad& mad, std::string_view selector, std::string_view field) {
    const RecordType& type = member_type();
    const auto has = [&](std::string_view name) {
        return ((mad.component_mask >> type.component(name)) & 1U) != 0;
    };
    if (!has(selector) || !has(field)) {
        return {};
    }
    const auto value = static_cast<std::uint8_t>(type.get(mad.data, field));
    return {static_cast<Wish::How>(type.get(mad.data, selector)),
            field == "Rate" ? mad::rank_of_code(value) : value};
}

std::string mtu_text(std::uint8_t code) {
    return fmt::format("{} bytes", mad::mtu_bytes(static_cast<mad::Mtu>(code)));
}

}  // namespace

fabric::Group& Registry::edit(mad::Gid mgid) {
    published_.reset();
    std::shared_ptr<const Group>& held = tables_.groups.at(mgid);
    if (held.use_count() > 1) {  // by a reader; else it is ours alone, and none can come to it meanwhile
        held = std::make_shared<Group>(*held);
    }
    std::atomic_thread_fence(std::memory_order_acquire);  // what the last reader read, it has read
    return const_cast<Group&>(*held);                     // all are made as Group
}

/// Joining on behalf of another port is a right of who shares the group's partition with it
/// (IBA 15.2.5.17.4), within limits, so that nobody fills the fabric with others' names.
bool Registry::may_proxy(const Request& request, const End& port) {
    if (port.guid == request.asker.guid || request.trusted) {
        return true;
    }
    if (request.view.shared_pkey(request.asker, port, std::nullopt) == mad::PKey{}) {
        return false;
    }
    std::uint32_t& proxies = holdings_[request.asker.guid].proxies;
    if (proxies >= limits_.proxies_per_port) {
        tell_limit(request, limits_.proxies_per_port, "joins for other ports");
        return false;
    }
    ++proxies;
    return true;
}

/// Whether a port can follow a group's traffic, and agrees with what the group is.
Registry::Refusal Registry::fits(const Request& request, const Group& group, const End& port) const {
    const RecordType& type = member_type();
    const auto& data = request.mad.data;
    const auto refuse = [](std::string reason) { return Refusal{mad::kSaRequestInvalid, std::move(reason)}; };
    const auto differs = [&](std::string_view field, std::uint64_t value) {
        return request.has(type, field) && type.get(data, field) != value;
    };
    const std::uint16_t partition = mad::partition_of(group.pkey);
    if (request.has(type, "P_Key") &&
        mad::partition_of(mad::PKey{static_cast<std::uint16_t>(type.get(data, "P_Key"))}) != partition) {
        return refuse(fmt::format("it belongs to partition 0x{:04x}", group.pkey.value()));
    }
    const auto& keys = request.view.pkeys(port);
    if (std::none_of(keys.begin(), keys.end(),
                     [&](mad::PKey key) { return mad::partition_of(key) == partition; })) {
        return refuse(fmt::format("the port is not in partition 0x{:04x}", group.pkey.value()));
    }
    if (port.mtu < group.mtu) {
        return refuse(
            fmt::format("the port's MTU is {}, the group's {}", mtu_text(port.mtu), mtu_text(group.mtu)));
    }
    if (port.rate < rank_of_code(group.rate)) {
        return refuse(fmt::format("the port runs at {}, the group at {}: it is too slow",
                                  rate_text(rate_code(port.rate)), rate_text(group.rate)));
    }
    if (!wish_of(request.mad, "MtuSelector", "Mtu").met_by(group.mtu)) {
        return refuse(fmt::format("it asks for another MTU than the group's {}", mtu_text(group.mtu)));
    }
    if (!wish_of(request.mad, "RateSelector", "Rate").met_by(rank_of_code(group.rate))) {
        return refuse(fmt::format("it asks for another rate than the group's {}", rate_text(group.rate)));
    }
    for (const auto& [field, value] : {std::pair<std::string_view, std::uint64_t>{"Q_Key", group.qkey},
                                       {"TClass", group.tclass},
                                       {"SL", group.sl}}) {
        if (differs(field, value)) {
            return refuse(fmt::format("it asks for another {} than the group's 0x{:x}", field, value));
        }
    }
    return {};
}

/// IBA 15.2.5.17.2: a group comes into being with its first full member, who must say what it is to be.
Registry::Refusal Registry::create(const Request& request, mad::Gid mgid, const End& port,
                                   MutableGroup& made) {
    const RecordType& type = member_type();
    const auto& data = request.mad.data;
    for (const std::string_view field : {"Q_Key", "TClass", "P_Key", "SL", "FlowLabel"}) {
        if (!request.has(type, field)) {
            const mad::PKey pkey{static_cast<std::uint16_t>(mgid.prefix >> 16U)};
            return mgid == mad::ipoib_broadcast(pkey, mad::scope_of(mgid))
                       ? Refusal{mad::kSaRequestInvalid,
                                 fmt::format("partition 0x{:04x} has no IPoIB group", pkey.value())}
                       : Refusal{mad::kSaInsufficientComponents, {}};
        }
    }
    if ((type.get(data, "JoinState") & kKeepsAlive) == 0) {
        return {mad::kSaRequestInvalid, {}};
    }
    const auto mtu = wish_of(request.mad, "MtuSelector", "Mtu").choose({kLeastMtu, port.mtu});
    const auto rank = wish_of(request.mad, "RateSelector", "Rate").choose({kLeastRate, port.rate});
    const auto life = wish_of(request.mad, "PacketLifeTimeSelector", "PacketLifeTime")
                          .choose({kLeastLife, config_.packet_life_time});
    if (!mtu || !rank || !life) {
        return {mad::kSaRequestInvalid, "it asks for a group that its own port could not follow"};
    }
    made = std::make_shared<Group>();
    made->mgid = mgid;
    made->qkey = static_cast<std::uint32_t>(type.get(data, "Q_Key"));
    made->mtu = *mtu;
    made->rate = rate_code(*rank);
    made->packet_life_time = *life;
    made->tclass = static_cast<std::uint8_t>(type.get(data, "TClass"));
    made->pkey = mad::PKey{static_cast<std::uint16_t>(type.get(data, "P_Key") | 0x8000U)};
    made->sl = static_cast<std::uint8_t>(type.get(data, "SL"));
    made->flow_label = static_cast<std::uint32_t>(type.get(data, "FlowLabel"));
    made->hop_limit =
        request.has(type, "HopLimit") ? static_cast<std::uint8_t>(type.get(data, "HopLimit")) : 0;
    made->scope = mad::scope_of(mgid);
    return {};
}

/// Whether one member more is within the limits. Where the whole is short of room, ports that are gone give
/// up theirs.
Registry::Refusal Registry::room_for(const Request& request, mad::Gid mgid, const End& port) {
    const auto group = tables_.groups.find(mgid);
    if (group != tables_.groups.end() && group->second->members.contains(port.guid)) {
        return {};
    }
    if (holdings_[port.guid].groups >= limits_.groups_per_port) {
        tell_limit(request, limits_.groups_per_port, "groups");
        return {mad::kSaNoResources,
                fmt::format("the port is in {} groups, the most there may be", limits_.groups_per_port)};
    }
    const auto full = [&] {
        return members_ >= limits_.members ||
               (!tables_.groups.contains(mgid) && tables_.groups.size() >= limits_.groups);
    };
    if (full()) {
        forget_gone(request.now, request.now, request.out);
    }
    if (full()) {
        const bool of_members = members_ >= limits_.members;
        tell_limit(request, of_members ? limits_.members : limits_.groups,
                   of_members ? "members of groups in all" : "groups in all");
        return {mad::kSaNoResources, fmt::format("there are {} groups with {} members, no more are kept",
                                                 tables_.groups.size(), members_)};
    }
    return {};
}

Registry::Refusal Registry::judge_join(const Request& request, mad::Gid mgid, const End& port,
                                       MutableGroup& made) {
    if (Refusal why = room_for(request, mgid, port); why.status != 0) {
        return why;
    }
    const auto found = tables_.groups.find(mgid);
    if (found != tables_.groups.end()) {
        return fits(request, *found->second, port);
    }
    if (Refusal why = create(request, mgid, port, made); why.status != 0) {
        return why;
    }
    if (Refusal why = fits(request, *made, port); why.status != 0) {
        return why;
    }
    if (!take_mlid(*made, request.out)) {
        return {mad::kSaNoResources,
                fmt::format("all {} multicast LIDs are in use, none of them by a group of "
                            "its partition and scope",
                            mlids_.room())};
    }
    return {};
}

bool Registry::take_mlid(Group& group, RegistryOutputs& out) {
    const auto mlid = mlids_.take(group);
    if (!mlid) {
        return false;
    }
    group.mlid = *mlid;
    if (mlids_.scarce() && !scarce_told_) {
        scarce_told_ = true;
        out.events.push_back(
            {.severity = Severity::warning,
             .kind = "mlids-scarce",
             .text =
                 fmt::format("{} of {} multicast LIDs are in use: from now on groups share them with others "
                             "of their partition and scope",
                             mlids_.used(), mlids_.room())});
    }
    return true;
}

void Registry::refuse_join(const Request& request, mad::Gid mgid, const End& port, const Refusal& why) {
    reply(request, why.status);
    if (why.reason.empty()) {
        return;
    }
    request.out.refusals.push_back({.mgid = mgid, .port = port.guid, .reason = why.reason});
    tell_once(
        request, port, "join-refused", why.reason,
        fmt::format("{} (port {}) cannot join {}: {}", request.view.fabric().nodes[port.at.node].description,
                    port.guid, mad::to_string(mgid), why.reason));
}

void Registry::answer_member(const Request& request, const Group& group, const Member& member) const {
    const RecordType& type = member_type();
    std::vector<std::uint8_t> record(type.size());
    put_group(record, group);
    put_member(record, member);
    request.out.wire.push_back(reply_to(request.wire, request.mad, 0, &type, record));
}

/// The SA chooses a name (IBA 15.2.5.17.3, o15-0.1.5): transient, of the scope asked for, signature 0xA01B,
/// the subnet prefix, and a number.
mad::Gid Registry::name_for(const Request& request) {
    const RecordType& type = member_type();
    const std::uint64_t scope = request.has(type, "Scope") ? type.get(request.mad.data, "Scope") : 2;
    mad::Gid name;
    do {  // who names a group himself may have taken the next
        name = {0xff10a01b00000000ULL | scope << 48U | config_.subnet_prefix >> 32U,
                mad::Guid{(config_.subnet_prefix << 32U) | ++last_made_mgid_}};
    } while (tables_.groups.contains(name));
    return name;
}

void Registry::join(const Request& request) {
    const RecordType& type = member_type();
    const auto& data = request.mad.data;
    if (!request.has(type, "PortGID") || !request.has(type, "JoinState")) {
        return reply(request, mad::kSaInsufficientComponents);
    }
    const auto state = static_cast<std::uint8_t>(type.get(data, "JoinState"));
    const End* port = nullptr;
    if (const auto status = find_port(request, mad::load_gid(data, kPortGidAt), port); status != 0) {
        return reply(request, status);
    }
    if (!may_proxy(request, *port)) {
        return reply(request, mad::kSaRequestDenied);
    }
    mad::Gid mgid = mad::load_gid(data, kMgidAt);
    const bool unnamed = !request.has(type, "MGID") || mgid == mad::Gid{};
    // Names are judged where they are given; those that the SA gave would not all pass.
    if (state == 0 || (!unnamed && !tables_.groups.contains(mgid) && !is_group_name(mgid))) {
        return reply(request, mad::kSaRequestInvalid);
    }
    if (unnamed) {
        mgid = name_for(request);
    }
    MutableGroup made;
    if (const Refusal why = judge_join(request, mgid, *port, made); why.status != 0) {
        return refuse_join(request, mgid, *port, why);
    }
    if (made) {
        report_group(kTrapGroupCreated, *made, request.now, request.out);
        tables_.groups.emplace(mgid, std::move(made));
    }
    const Group& there = *tables_.groups.at(mgid);
    const auto member = there.members.find(port->guid);
    const std::uint8_t before = member == there.members.end() ? std::uint8_t{0} : member->second.join_state;
    // Who joined itself stays one who did, whoever joins it once more.
    const bool proxy = port->guid != request.asker.guid && (before == 0 || member->second.proxy_join);
    if (before != 0 && (before | state) == before && member->second.proxy_join == proxy) {
        return answer_member(request, there, member->second);  // nothing new, as after most reregistrations
    }
    Group& group = edit(mgid);
    Member& entry = group.members[port->guid];
    if (before == 0) {
        ++holdings_[port->guid].groups;
        ++members_;
    }
    entry.port = {config_.subnet_prefix, port->guid};
    entry.join_state = static_cast<std::uint8_t>(before | state);
    entry.proxy_join = proxy;
    request.out.changed = true;
    request.out.groups_changed = request.out.groups_changed || entry.join_state != before;
    answer_member(request, group, entry);
}

void Registry::leave(const Request& request) {
    const RecordType& type = member_type();
    const auto& data = request.mad.data;
    for (const std::string_view field : {"MGID", "PortGID", "JoinState"}) {
        if (!request.has(type, field)) {
            return reply(request, mad::kSaInsufficientComponents);
        }
    }
    const End* port = nullptr;
    if (const auto status = find_port(request, mad::load_gid(data, kPortGidAt), port); status != 0) {
        return reply(request, status);
    }
    const mad::Gid mgid = mad::load_gid(data, kMgidAt);
    const auto state = static_cast<std::uint8_t>(type.get(data, "JoinState"));
    const auto found = tables_.groups.find(mgid);
    const auto member = found == tables_.groups.end() ? std::map<mad::Guid, Member>::const_iterator{}
                                                      : found->second->members.find(port->guid);
    if (found == tables_.groups.end() || member == found->second->members.end() || state == 0 ||
        (state & ~member->second.join_state) != 0) {  // only what was joined can be left (o15-0.1.14)
        return reply(request, mad::kSaRequestInvalid);
    }
    // Who joined by proxy may be taken out by proxy, nobody else.
    if (port->guid != request.asker.guid && !request.trusted &&
        (!member->second.proxy_join ||
         request.view.shared_pkey(request.asker, *port, std::nullopt) == mad::PKey{})) {
        return reply(request, mad::kSaRequestDenied);
    }
    Group& group = edit(mgid);
    Member left = group.members.at(port->guid);
    left.join_state = static_cast<std::uint8_t>(left.join_state & ~state);
    if (left.join_state == 0) {
        remove_member(group, port->guid);
    } else {
        group.members[port->guid] = left;
    }
    answer_member(request, group, left);
    end_if_empty(mgid, request.now, request.out);
    request.out.changed = true;
    request.out.groups_changed = true;
}

void Registry::remove_member(Group& group, mad::Guid port) {
    if (group.members.erase(port) > 0) {
        --holdings_[port].groups;
        --members_;
    }
}

void Registry::end_if_empty(mad::Gid mgid, base::Instant now, RegistryOutputs& out) {
    const Group& group = *tables_.groups.at(mgid);
    const bool kept_alive = std::any_of(group.members.begin(), group.members.end(), [](const auto& item) {
        return (item.second.join_state & kKeepsAlive) != 0;
    });
    if (!kept_alive && !group.well_known) {
        erase_group(mgid, now, out);
    }
}

void Registry::erase_group(mad::Gid mgid, base::Instant now, RegistryOutputs& out) {
    const auto found = tables_.groups.find(mgid);
    const std::shared_ptr<const Group> group = found->second;
    tables_.groups.erase(found);
    for (const auto& [guid, other] : group->members) {
        --holdings_[guid].groups;
        --members_;
    }
    mlids_.release(*group);
    constexpr std::uint32_t kPlentyAgain = 70;  // of a hundred: not told at each join around the mark
    if (std::uint64_t{mlids_.used()} * 100 < std::uint64_t{mlids_.room()} * kPlentyAgain) {
        scarce_told_ = false;
    }
    report_group(kTrapGroupDeleted, *group, now, out);
    out.groups_changed = true;
    touch(out);
}

}  // namespace ibf::sa
