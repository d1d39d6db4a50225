#include "daemon/sm/discovery.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/check.hpp"
#include "daemon/sm/election.hpp"
#include "mad/codec.hpp"

namespace ibf::sm {
namespace {

using fabric::IsolationReason;
using fabric::kNoNode;
using fabric::Node;
using fabric::Port;
using fabric::PortRef;

constexpr std::uint32_t kExtendedSpeedsBit = 0x80000000U;  ///< PortInfo modifier: "I know extended speeds"

/// Repeats of a first contact, doubling from a time-out of some milliseconds: about a second in all.
constexpr std::uint8_t kContactRetries = 7;
constexpr std::uint32_t kPaceKnown = 8;  ///< answers

/// A subnet has 49,151 unicast LIDs; what claims to be larger is a device that lies.
constexpr std::size_t kNodesMax = 65'536;
constexpr std::size_t kProbesMax = std::size_t{1} << 20U;

/// Devices that know FDR10 and tell it only in the vendor's ExtendedPortInfo (SwitchX, ConnectX-3,
/// Connect-IB).
bool may_run_fdr10(const mad::NodeInfo& info) {
    constexpr std::array<std::uint16_t, 8> kDevices{0xc738, 0x1003, 0x1004, 0x1007,
                                                    0x1008, 0x1011, 0x1012, 0xcb20};
    return std::find(kDevices.begin(), kDevices.end(), info.device_id) != kDevices.end();
}

}  // namespace

Discovery::Discovery(DiscoveryInput input, base::Instant now)
    : input_(std::move(input)), begun_(now), last_progress_(now) {
    if (input_.previous) {
        NodesByGuid::Rows rows;
        rows.reserve(input_.previous->nodes.size());
        for (std::uint32_t n = 0; n < input_.previous->nodes.size(); ++n) {
            rows.emplace_back(input_.previous->nodes[n].guid(), n);
        }
        previous_by_guid_ = NodesByGuid(std::move(rows));
    }
    if (input_.touched) {
        begin_with_previous();
    } else {
        probes_.push_back(Probe{PortRef{}, mad::DrPath{}, true, false, {}});
        ask(Ask::node_info, 0, mad::PortNum{}, mad::DrPath{}, mad::Attribute::node_info, 0);
    }
}

void Discovery::ask(Ask what, std::uint32_t index, mad::PortNum port, const mad::DrPath& path,
                    mad::Attribute attribute, std::uint32_t modifier) {
    mad::Request request;
    request.tag = Tag{what, port.value(), input_.epoch, index}.pack();
    const bool stranger = what == Ask::node_info || what == Ask::verify_link;
    request.target = stranger ? stranger_target(index) : device_target(index);
    request.attribute = attribute;
    request.modifier = modifier;
    request.path = path;
    const bool first_contact = what == Ask::node_info;
    ++(first_contact ? open_probes_ : open_others_);
    if (first_contact) {
        waiting_.push_back(std::move(request));
    } else {
        waiting_.push_front(std::move(request));
    }
}

std::optional<mad::Request> Discovery::next() {
    while (may_ask()) {
        mad::Request request = std::move(waiting_.front());
        waiting_.pop_front();
        const Tag tag = Tag::unpack(request.tag);
        if (tag.ask == Ask::node_info) {
            // The far end may have been there first: then the cable is known and needs no question.
            Probe& probe = probes_[tag.index];
            if (probe.from.node != kNoNode && fabric_.port(probe.from).peer.node != kNoNode) {
                close(probe);
                continue;
            }
            if (answers_ >= kPaceKnown) {
                request.timeout = contact_timeout();
                request.retries = kContactRetries;
            }
        }
        return request;
    }
    return std::nullopt;
}

/// Nobody there is believed before every repeat went unanswered: before anything may be written every SM must
/// have had its say, and who was part of the subnet is not cut out of it for being slow once.
bool Discovery::is_dear(PortRef from) const {
    const Node* before = previous_node(fabric_.nodes[from.node].guid());
    if (before != nullptr && input_.dead_sm != mad::Guid{} && from.port.value() < before->ports.size()) {
        const PortRef peer = before->ports[from.port.value()].peer;
        const Node* other = peer.node == kNoNode ? nullptr : &input_.previous->nodes[peer.node];
        if (other != nullptr && fabric::lid_owner(*other, peer.port) == input_.dead_sm) {
            return false;
        }
    }
    if (input_.leave == WriteLeave::reading_only) {
        return true;
    }
    return before != nullptr && from.port.value() < before->ports.size() &&
           before->ports[from.port.value()].peer.node != kNoNode;
}

void Discovery::close(Probe& probe) {
    probe.open = false;
    --open_probes_;
    open_dear_ -= probe.dear ? 1U : 0U;
}

bool Discovery::done(base::Instant now) const {
    if (!contradiction_.empty()) {
        return true;
    }
    if (open_others_ > 0 || open_dear_ > 0 || !waiting_.empty()) {
        return false;
    }
    const auto at = deadline();
    return open_probes_ == 0 || (at && now >= *at);
}

std::optional<base::Instant> Discovery::deadline() const {
    if (open_others_ > 0 || open_dear_ > 0 || !waiting_.empty() || open_probes_ == 0 ||
        fabric_.nodes.empty()) {
        return std::nullopt;  // the first question of all is waited for in full
    }
    // Long enough for a lost question, or its answer, to be made good once.
    return last_progress_ + std::max(3 * contact_timeout(), last_progress_ - begun_);
}

/// Who answers at all does so at the pace of the others. Only the first few wait as if nothing were known.
base::Duration Discovery::contact_timeout() const {
    constexpr base::Duration kLeast = std::chrono::milliseconds{2};
    if (answers_ < kPaceKnown) {
        return input_.timeout;
    }
    return std::clamp(4 * slowest_, std::min(kLeast, input_.timeout), input_.timeout);
}

void Discovery::on(const mad::Completion& completion, base::Instant now) {
    const Tag tag = Tag::unpack(completion.tag);
    if (tag.ask == Ask::node_info) {
        close(probes_[tag.index]);
        const Probe probe = probes_[tag.index];  // a copy: the answer may add probes
        on_probe(probe, completion);
    } else {
        --open_others_;
        on_other(tag, completion);
    }
    if (completion.kind != mad::Completion::Kind::timeout) {
        last_progress_ = now;
        ++answers_;
        slowest_ = std::max(slowest_, completion.round_trip);
    }
}

void Discovery::on_other(const Tag& tag, const mad::Completion& completion) {
    const PortRef ref{tag.index, mad::PortNum{tag.port}};
    const bool answered = completion.kind == mad::Completion::Kind::reply;
    switch (tag.ask) {
        case Ask::verify_link: {
            const Probe copy = probes_[tag.index];
            return on_verify(copy, completion);
        }
        case Ask::switch_info: return on_switch_info(tag.index, completion);
        case Ask::clear_change: return on_change_cleared(tag.index);
        case Ask::port_info:
        case Ask::port_info_extended: return on_port_info(ref, completion);
        case Ask::pkey_block: return on_pkeys(ref, completion);
        case Ask::sm_info: return on_sm_info(ref, completion);
        case Ask::node_description:
            if (answered) {
                fabric_.nodes[tag.index].description = mad::decode_node_description(completion.data).text;
            }
            return;
        case Ask::vendor_port_info:
            if (answered) {
                fabric_.port(ref).info.fdr10_active = mad::decode_mlnx_fdr10_active(completion.data);
            } else {
                no_vendor_speed_.insert(fabric_.nodes[ref.node].info.device_id);
            }
            return;
        default:
            IBF_CHECK(false, "discovery got an answer it never asked for: {}", static_cast<int>(tag.ask));
    }
}

// --- who is there
// -----------------------------------------------------------------------------------------------

void Discovery::explore(PortRef from) {
    const Node& node = fabric_.nodes[from.node];
    const mad::DrPath& base = node.is_switch() ? node.path : node.ports[from.port.value()].path;
    if (input_.silent.contains({node.guid(), from.port}) && !changed_.contains(from.node)) {
        Probe known{from, base, false, false, {}};
        return isolate(IsolationReason::silent, known, mad::Guid{},
                       "is known to be silent and asked again aside");
    }
    if (fabric_.nodes.size() >= kNodesMax || probes_.size() >= kProbesMax) {
        incomplete_ = true;
        Probe beyond{from, base, false, false, {}, false};
        return isolate(
            IsolationReason::too_far, beyond, mad::Guid{},
            fmt::format("is not looked at: {} devices and {} places are more than a subnet holds, so some "
                        "device makes them up",
                        fabric_.nodes.size(), probes_.size()));
    }
    if (base.hops >= mad::kHopsMax) {
        Probe far{from, base, false, false, {}};
        return isolate(IsolationReason::too_far, far, mad::Guid{}, "lies beyond 63 hops");
    }
    const auto index = static_cast<std::uint32_t>(probes_.size());
    probes_.push_back(Probe{from, base.then(from.port), true, false, {}, is_dear(from)});
    open_dear_ += probes_.back().dear ? 1U : 0U;
    ask(Ask::node_info, index, mad::PortNum{}, probes_.back().path, mad::Attribute::node_info, 0);
}

void Discovery::on_probe(const Probe& probe, const mad::Completion& completion) {
    if (completion.kind != mad::Completion::Kind::reply) {
        if (probe.from.node != kNoNode && fabric_.port(probe.from).peer.node == kNoNode) {
            isolate(IsolationReason::silent, probe, mad::Guid{}, "does not answer");
        }
        return;
    }
    const mad::NodeInfo info = mad::decode_node_info(completion.data);
    if (info.node_guid == mad::Guid{} || info.port_guid == mad::Guid{}) {
        return isolate(IsolationReason::zero_guid, probe, info.node_guid, "has a GUID of zero");
    }
    if (!info.valid()) {
        return isolate(IsolationReason::bad_node_info, probe, info.node_guid,
                       fmt::format("rejected: bad NodeInfo (type {}, {} ports, local port {})",
                                   static_cast<unsigned>(info.type), info.num_ports, info.local_port));
    }
    if (const std::uint32_t* known = node_by_guid_.find(info.node_guid)) {
        on_known_node(probe, info, *known);
    } else {
        on_new_node(probe, info);
    }
}

void Discovery::on_new_node(const Probe& probe, const mad::NodeInfo& info) {
    const auto index = static_cast<std::uint32_t>(fabric_.nodes.size());
    if (info.type != mad::NodeType::switch_) {
        if (const PortRef* owner = port_by_guid_.find(info.port_guid)) {
            return isolate_duplicate(probe, info, owner->node);
        }
    }
    Node node;
    node.info = info;
    node.path = probe.path;
    node.ports.resize(info.num_ports + 1U);
    fabric_.nodes.push_back(std::move(node));
    node_by_guid_.put(info.node_guid, index);
    if (index == 0) {
        fabric_.local = {0, info.type == mad::NodeType::switch_ ? mad::PortNum{} : info.local_port};
    }
    const Node* before = previous_node(info.node_guid);
    if (before != nullptr && !input_.renamed.contains(info.node_guid) && !before->description.empty()) {
        fabric_.nodes[index].description = before->description;
    } else {
        ask(Ask::node_description, index, mad::PortNum{}, probe.path, mad::Attribute::node_description, 0);
    }
    if (info.type == mad::NodeType::switch_) {
        extent_.same_owners = false;
        if (probe.from.node != kNoNode) {
            link(probe.from, {index, info.local_port});
        }
        read_switch(index);
    } else {
        attach_end_port(index, probe, info);
    }
}

void Discovery::attach_end_port(std::uint32_t node, const Probe& probe, const mad::NodeInfo& info) {
    Port& port = fabric_.nodes[node].ports[info.local_port.value()];
    extent_.same_owners = false;
    port.guid = info.port_guid;
    port.path = probe.path;
    port_by_guid_.put(info.port_guid, PortRef{node, info.local_port});
    if (probe.from.node != kNoNode) {
        link(probe.from, {node, info.local_port});
    }
    ask_port_info(node, info.local_port);
}

void Discovery::on_known_node(const Probe& probe, const mad::NodeInfo& info, std::uint32_t node) {
    if (probe.from.node == kNoNode) {
        return;
    }
    const mad::NodeInfo& known = fabric_.nodes[node].info;
    if (known.type != info.type || known.num_ports != info.num_ports || known.device_id != info.device_id ||
        known.system_guid != info.system_guid) {
        return isolate_duplicate(probe, info, node);
    }
    if (fabric_.nodes[node].is_switch()) {
        on_known_switch(probe, info, node);
    } else {
        on_known_ca(probe, info, node);
    }
}

void Discovery::on_known_switch(const Probe& probe, const mad::NodeInfo& info, std::uint32_t node) {
    const PortRef there{node, info.local_port};
    const PortRef peer_here = fabric_.port(probe.from).peer;
    const PortRef peer_there = fabric_.port(there).peer;
    if (peer_here == there || peer_there == probe.from) {
        return;  // both ends asked at once and agree
    }
    if (peer_there.node == kNoNode && peer_here.node == kNoNode) {
        link(probe.from, there);
        return owe(node);
    }
    if (input_.touched) {
        return contradict(fmt::format("two cables claim {}", place(there)));
    }
    // Two claims on one port: ask through the known switch who really is at that port.
    Probe verify{probe.from, fabric_.nodes[node].path, true, true, there};
    if (verify.path.hops >= mad::kHopsMax) {
        return isolate_duplicate(probe, info, node);
    }
    verify.path = verify.path.then(info.local_port);
    const auto index = static_cast<std::uint32_t>(probes_.size());
    probes_.push_back(verify);
    ask(Ask::verify_link, index, mad::PortNum{}, verify.path, mad::Attribute::node_info, 0);
}

void Discovery::on_verify(const Probe& probe, const mad::Completion& completion) {
    const Node& claimed = fabric_.nodes[probe.claim.node];
    const bool answered = completion.kind == mad::Completion::Kind::reply;
    const mad::NodeInfo info = answered ? mad::decode_node_info(completion.data) : mad::NodeInfo{};
    const bool right = answered && info.node_guid == fabric_.nodes[probe.from.node].guid() &&
                       info.local_port == probe.from.port;
    if (!right) {
        Probe newcomer = probe;
        newcomer.path = fabric_.nodes[probe.from.node].path.then(probe.from.port);
        return isolate_duplicate(newcomer, claimed.info, probe.claim.node);
    }
    const PortRef impostor_at = fabric_.port(probe.claim).peer;
    unlink(probe.claim);
    if (impostor_at.node != kNoNode) {
        const Node& at = fabric_.nodes[impostor_at.node];
        Probe impostor{impostor_at, at.path, false, false, {}};
        isolate_duplicate(impostor, claimed.info, probe.claim.node);
    }
    link(probe.from, probe.claim);
}

void Discovery::on_known_ca(const Probe& probe, const mad::NodeInfo& info, std::uint32_t node) {
    Port& port = fabric_.nodes[node].ports[info.local_port.value()];
    const bool seen = port.guid != mad::Guid{};
    if (!seen && port_by_guid_.find(info.port_guid) == nullptr) {
        return attach_end_port(node, probe, info);
    }
    if (port.peer == probe.from) {
        return;
    }
    if (seen && port.peer.node == kNoNode && fabric_.local == PortRef{node, info.local_port}) {
        return link(probe.from, {node, info.local_port});  // our own port, met from the far side
    }
    // One adapter port cannot have two cables. Who was here in the last sweep stays, else who came first.
    if (seen && was_attached_here(probe, info.node_guid, info.local_port)) {
        const PortRef incumbent_at = port.peer;
        Probe impostor{incumbent_at, port.path, false, false, {}};
        unlink({node, info.local_port});
        isolate_duplicate(impostor, info, node);
        fabric_.nodes[node].info = info;
        port_by_guid_.erase(port.guid);
        fabric_.nodes[node].ports[info.local_port.value()] = Port{};
        return attach_end_port(node, probe, info);
    }
    isolate_duplicate(probe, info, node);
}

bool Discovery::was_attached_here(const Probe& probe, mad::Guid guid, mad::PortNum port) const {
    const Node* before = previous_node(guid);
    if (before == nullptr || before->is_switch() || port.value() >= before->ports.size()) {
        return false;
    }
    const PortRef peer = before->ports[port.value()].peer;
    return peer.node != kNoNode && peer.port == probe.from.port &&
           input_.previous->nodes[peer.node].guid() == fabric_.nodes[probe.from.node].guid();
}

// --- switches
// ---------------------------------------------------------------------------------------------------

void Discovery::read_switch(std::uint32_t node) {
    ask(Ask::switch_info, node, mad::PortNum{}, fabric_.nodes[node].path, mad::Attribute::switch_info, 0);
}

void Discovery::on_switch_info(std::uint32_t node, const mad::Completion& completion) {
    Node& item = fabric_.nodes[node];
    if (completion.kind != mad::Completion::Kind::reply) {
        if (input_.touched) {
            return contradict(fmt::format("{} does not answer", place({node, mad::PortNum{0}})));
        }
        Probe lost{item.ports[item.info.local_port.value()].peer, item.path, false, false, {}};
        incomplete_ = true;
        if (lost.from.node != kNoNode) {
            unlink(lost.from);
            isolate(IsolationReason::bad_switch_info, lost, item.guid(),
                    "is a switch that gives no SwitchInfo");
        }
        return;
    }
    const auto before = std::exchange(item.switch_info, mad::decode_switch_info(completion.data));
    if (has_nothing_to_tell(node, before)) {
        return;
    }
    if (!item.switch_info->port_state_change) {
        return ask_port_info(node, mad::PortNum{0});
    }
    changed_.insert(node);
    if (input_.leave == WriteLeave::reading_only) {
        change_unread_.push_back(node);
        return ask_port_info(node, mad::PortNum{0});
    }
    ask(Ask::clear_change, node, mad::PortNum{}, item.path, mad::Attribute::switch_info, 0);
    waiting_.front().method = mad::Method::set;
    waiting_.front().data = mad::encode(*item.switch_info);  // the bit is set: write-one-to-clear
}

void Discovery::on_change_cleared(std::uint32_t node) {
    fabric_.nodes[node].switch_info->port_state_change = false;
    ask_port_info(node, mad::PortNum{0});
}

void Discovery::ask_ports(std::uint32_t node) {
    // Pushed in front in descending order, so they leave in ascending order, before further first contacts.
    for (unsigned p = fabric_.nodes[node].info.num_ports; p >= 1; --p) {
        ask_port_info(node, mad::PortNum{static_cast<std::uint8_t>(p)});
    }
}

// --- ports
// ------------------------------------------------------------------------------------------------------

void Discovery::ask_port_info(std::uint32_t node, mad::PortNum port) {
    const Node& item = fabric_.nodes[node];
    const mad::DrPath& path = item.is_switch() ? item.path : item.ports[port.value()].path;
    ask(Ask::port_info, node, port, path, mad::Attribute::port_info, port.value());
}

std::uint32_t Discovery::capability_mask(const Node& node, const Port& port) const {
    // External switch ports have no CapabilityMask of their own: port 0 speaks for them (IBA 14.2.5.6).
    return node.is_switch() ? node.ports[0].info.capability_mask : port.info.capability_mask;
}

void Discovery::on_port_info(PortRef ref, const mad::Completion& completion) {
    Node& node = fabric_.nodes[ref.node];
    Port& port = node.ports[ref.port.value()];
    const bool extended = Tag::unpack(completion.tag).ask == Ask::port_info_extended;
    if (completion.kind != mad::Completion::Kind::reply) {
        if (extended) {
            return;  // the device refuses the bit: what the plain question brought stands
        }
        if (input_.touched) {
            return contradict(fmt::format("{} does not answer", place(ref)));
        }
        incomplete_ = true;
        if (!node.is_switch()) {
            Probe lost{port.peer, port.path, false, false, {}};
            if (lost.from.node != kNoNode) {
                unlink(lost.from);
                isolate(IsolationReason::silent, lost, node.guid(), "answers NodeInfo but not PortInfo");
            }
        } else if (ref.port.value() == 0) {
            ask_ports(ref.node);
        }
        return;
    }
    const bool fdr10 = port.info.fdr10_active;
    const mad::Lid named = port.known && input_.touched ? port.info.sm_lid : mad::kLidNone;
    port.info = mad::decode_port_info(completion.data);
    if (named != mad::kLidNone && port.info.sm_lid != mad::kLidNone && port.info.sm_lid != named &&
        (!node.is_switch() || ref.port.value() == 0)) {
        return contradict(fmt::format("{} named LID {} as its master, and names LID {} now", place(ref),
                                      named, port.info.sm_lid));
    }
    port.known = true;
    port.usable = true;
    if (extended) {
        port.info.fdr10_active =
            fdr10;  // the vendor's answer, which may have come first, is not on this wire
        return;
    }
    mad::PortInfo judged = port.info;
    judged.capability_mask = capability_mask(node, port);
    if (ref.port.value() != 0 && port.info.linked() && judged.has_extended_speeds() &&
        port.info.speed_ext_active == 0) {
        ask(Ask::port_info_extended, ref.node, ref.port, completion.request.path, mad::Attribute::port_info,
            ref.port.value() | kExtendedSpeedsBit);
    }
    ask_vendor_speed(ref.node, ref.port);
    if (node.is_switch() && ref.port.value() != 0) {
        on_switch_port(ref);
    } else {
        on_end_port(ref);
    }
}

void Discovery::on_switch_port(PortRef ref) {
    const Port& port = fabric_.port(ref);
    if (port.peer.node != kNoNode && !same_cable(ref)) {
        part(ref);
    }
    if (port.info.linked() && port.info.state >= mad::PortState::init && port.peer.node == kNoNode) {
        explore(ref);
    }
}

void Discovery::on_end_port(PortRef ref) {
    const Node& node = fabric_.nodes[ref.node];
    const Port& port = fabric_.port(ref);
    if (ref == fabric_.local && !node.is_switch() && !same_cable(ref)) {
        return contradict("our own cable was touched");
    }
    if (node.is_switch()) {
        ask_ports(ref.node);
    } else if (!port.info.linked() || port.info.state < mad::PortState::init) {
        return;
    } else if (ref == fabric_.local && port.peer.node == kNoNode) {
        explore(ref);  // only our own port is reached without crossing its cable
    }
    ask_pkeys(ref.node, ref.port);
    ask_sm(ref.node, ref.port);
}

void Discovery::ask_vendor_speed(std::uint32_t node, mad::PortNum port) {
    const Node& item = fabric_.nodes[node];
    const mad::PortInfo& info = item.ports[port.value()].info;
    constexpr std::uint8_t kQdr = 4;
    if (port.value() == 0 || !info.linked() || info.speed_active != kQdr || info.speed_ext_active != 0 ||
        !may_run_fdr10(item.info) || no_vendor_speed_.contains(item.info.device_id)) {
        return;
    }
    const mad::DrPath& path = item.is_switch() ? item.path : item.ports[port.value()].path;
    ask(Ask::vendor_port_info, node, port, path, mad::Attribute::mlnx_extended_port_info, port.value());
    waiting_.front().retries = 2;
}

/// The port kept its tables since the last sweep: same device, Active then and now, still with its LID.
bool Discovery::kept_state(PortRef ref) const {
    const Node& node = fabric_.nodes[ref.node];
    const Node* before = previous_node(node.guid());
    if (before == nullptr || ref.port.value() >= before->ports.size()) {
        return false;
    }
    const Port& now = node.ports[ref.port.value()];
    const Port& then = before->ports[ref.port.value()];
    if (!then.known || now.info.lid != then.info.lid || now.info.sm_lid != then.info.sm_lid) {
        return false;
    }
    if (node.is_switch()) {  // port 0 is always Active: a reset shows in LID, SM LID and LinearFDBTop (C13)
        return node.switch_info && before->switch_info &&
               node.switch_info->linear_fdb_top == before->switch_info->linear_fdb_top;
    }
    return now.info.state == mad::PortState::active && then.info.state == mad::PortState::active;
}

void Discovery::ask_pkeys(std::uint32_t node, mad::PortNum port) {
    Node& item = fabric_.nodes[node];
    Port& holder = item.ports[port.value()];
    if (!kept_state({node, port})) {
        reset_.push_back(fabric::lid_owner(item, port));
    } else if (const auto& keys = previous_node(item.guid())->ports[port.value()].pkeys; !keys.empty()) {
        holder.pkeys = keys;
        return;
    }
    holder.pkeys.clear();
    if (item.info.partition_cap > 0) {
        ask_pkey_block(node, port, 0);
    }
}

void Discovery::ask_pkey_block(std::uint32_t node, mad::PortNum port, std::uint32_t block) {
    const Node& item = fabric_.nodes[node];
    const mad::DrPath path = item.is_switch() ? item.path : item.ports[port.value()].path;
    ask(Ask::pkey_block, node, port, path, mad::Attribute::pkey_table, block);
}

void Discovery::on_pkeys(PortRef ref, const mad::Completion& completion) {
    Port& port = fabric_.port(ref);
    if (completion.kind != mad::Completion::Kind::reply) {
        port.pkeys.clear();
        incomplete_ = true;  // read again in the next sweep; the node stays (C80)
        return;
    }
    port.pkeys.push_back(mad::decode_pkey_block(completion.data));
    // The question is whether the port is a full member of the default partition: the first block that says
    // so answers it, and only a table that does not say so is read to its end, for a place to write.
    const auto& keys = port.pkeys.back().keys;
    const bool member = std::find(keys.begin(), keys.end(), mad::kPKeyDefaultFull) != keys.end();
    const std::size_t blocks = (fabric_.nodes[ref.node].info.partition_cap + 31U) / 32U;
    if (!member && port.pkeys.size() < blocks) {
        ask_pkey_block(ref.node, ref.port, static_cast<std::uint32_t>(port.pkeys.size()));
    }
}

void Discovery::ask_sm(std::uint32_t node, mad::PortNum port) {
    const Node& item = fabric_.nodes[node];
    const Port& holder = item.ports[port.value()];
    std::erase_if(fabric_.sms, [&](const fabric::OtherSm& sm) { return sm.at == PortRef{node, port}; });
    if (!holder.info.is_sm() || fabric::lid_owner(item, port) == input_.own_port_guid ||
        fabric_.local == PortRef{node, port}) {
        return;
    }
    const mad::DrPath& path = item.is_switch() ? item.path : holder.path;
    ask(Ask::sm_info, node, port, path, mad::Attribute::sm_info, 0);
    mad::Request& request = waiting_.front();
    request.data = mad::encode(input_.shown);
    if (fabric::lid_owner(item, port) == input_.dead_sm) {
        request.timeout = input_.dead_sm_timeout;
        request.retries = 1;
    }
}

void Discovery::on_sm_info(PortRef ref, const mad::Completion& completion) {
    fabric::OtherSm other;
    other.guid = fabric::lid_owner(fabric_.nodes[ref.node], ref.port);
    other.lid = fabric_.port(ref).info.lid;
    other.at = ref;
    if (completion.kind == mad::Completion::Kind::reply) {
        note_sm_info(other, mad::decode_sm_info(completion.data), input_.sm_key);
    } else {
        other.answered = false;
    }
    fabric_.sms.push_back(other);
}

// --- links and what is left aside
// -------------------------------------------------------------------------------

void Discovery::link(PortRef a, PortRef b) {
    fabric_.port(a).peer = b;
    fabric_.port(b).peer = a;
    if (input_.touched) {
        linked_.insert({a, b});
        fresh_.insert({a.node, b.node});
        ways_changed_ = true;
    }
}

void Discovery::unlink(PortRef a) {
    const PortRef b = fabric_.port(a).peer;
    fabric_.port(a).peer = {};
    if (input_.touched) {
        fresh_.insert(a.node);
        fresh_.insert(b.node == kNoNode ? a.node : b.node);
        ways_changed_ = true;
    }
    if (b.node != kNoNode && fabric_.port(b).peer == a) {
        fabric_.port(b).peer = {};
    }
}

std::string Discovery::place(PortRef ref) const {
    if (ref.node == kNoNode) {
        return "the SM's own port";
    }
    const Node& node = fabric_.nodes[ref.node];
    return fmt::format("{} ({}) port {}",
                       node.description.empty() ? mad::to_string(node.info.type) : node.description,
                       node.guid(), ref.port);
}

void Discovery::isolate(IsolationReason reason, const Probe& probe, mad::Guid guid, std::string text) {
    fabric::Isolation item;
    item.reason = reason;
    item.at = probe.from;
    item.guid = guid;
    item.path = probe.path;
    const std::string who = guid == mad::Guid{} ? std::string("the device") : fmt::format("device {}", guid);
    item.text =
        fmt::format("{} at {} {}; directed route {}", who, place(probe.from), text, probe.path.to_string());
    fabric_.isolations.push_back(std::move(item));
}

void Discovery::isolate_duplicate(const Probe& probe, const mad::NodeInfo& info, std::uint32_t incumbent) {
    if (input_.touched) {
        return contradict(fmt::format("two devices have the GUID {}", info.node_guid));
    }
    const Node& first = fabric_.nodes[incumbent];
    const mad::DrPath& path = first.is_switch() || info.local_port.value() >= first.ports.size() ||
                                      first.ports[info.local_port.value()].path.hops == 0
                                  ? first.path
                                  : first.ports[info.local_port.value()].path;
    isolate(IsolationReason::duplicate_guid, probe, info.node_guid,
            fmt::format("has the GUID of the one already known on directed route {}, which keeps it",
                        path.to_string()));
}

void Discovery::close_open_probes() {
    for (const Probe& probe : probes_) {
        if (probe.open && !probe.verifying && probe.from.node != kNoNode &&
            fabric_.port(probe.from).peer.node == kNoNode) {
            isolate(IsolationReason::silent, probe, mad::Guid{}, "does not answer");
        }
    }
}

void Discovery::check_links() {
    std::vector<std::uint32_t> nodes = extent_.nodes;
    if (!input_.touched) {
        nodes.resize(fabric_.nodes.size());
        std::iota(nodes.begin(), nodes.end(), 0U);
    }
    for (const std::uint32_t n : nodes) {
        for (std::size_t p = 1; p < fabric_.nodes[n].ports.size(); ++p) {
            const Port& port = fabric_.nodes[n].ports[p];
            if (port.peer.node == kNoNode) {
                continue;
            }
            const Port& peer = fabric_.port(port.peer);
            if (!peer.known || (peer.info.linked() && peer.info.state >= mad::PortState::init)) {
                continue;
            }
            // We got through to it, yet it says that this port of it has no link: not that device, or not
            // both ways.
            const PortRef here{n, mad::PortNum{static_cast<std::uint8_t>(p)}};
            Probe probe{here, fabric_.nodes[n].path, false, false, {}};
            const PortRef far = port.peer;
            isolate(IsolationReason::one_way, probe, fabric_.nodes[far.node].guid(),
                    fmt::format("claims to be {}, which has no link there", place(far)));
            incomplete_ = true;
            unlink(here);
        }
    }
}

const Node* Discovery::previous_node(mad::Guid guid) const {
    const std::uint32_t* found = previous_by_guid_.find(guid);
    return found == nullptr ? nullptr : &input_.previous->nodes[*found];
}

Discovery::Result Discovery::take() {
    if (contradiction_.empty()) {
        close_open_probes();
        drop_unreached();
        check_links();
    }
    Result result{std::move(fabric_),           {},          std::move(change_unread_), std::move(reset_),
                  std::move(previous_by_guid_), incomplete_, std::move(contradiction_)};
    if (input_.touched) {
        result.extent = std::move(extent_);
    }
    return result;
}

}  // namespace ibf::sm
