#include "daemon/sm/programmer.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/check.hpp"
#include "mad/codec.hpp"

namespace ibf::sm {
namespace {

using fabric::kNoNode;
using fabric::Node;
using fabric::Port;
using fabric::PortRef;
using mad::Completion;
using mad::PortState;

constexpr std::uint32_t kMulticastTopSupported = 0x40000000U;  ///< CapabilityMask.IsMulticastFDBTopSupported

/// Takes over the answer to a Set, but for what it cannot tell: FDR10, and extended speeds where the device
/// shows them only to questions with modifier bit 31. Those stay as discovery read them.
void adopt(const mad::PortInfo& answer, Port& port) {
    const mad::PortInfo before = port.info;
    port.info = answer;
    port.info.fdr10_active = before.fdr10_active;
    if (answer.linked() && answer.speed_ext_active == 0) {
        port.info.speed_ext_active = before.speed_ext_active;
        port.info.speed_ext_supported = before.speed_ext_supported;
        port.info.speed_ext_enabled = before.speed_ext_enabled;
    }
}

}  // namespace

Programmer::Programmer(ProgramInput input) : input_(std::move(input)) {
    if (input_.nodes) {
        nodes_ = std::move(*input_.nodes);
    } else {
        nodes_.resize(input_.fabric->nodes.size());
        std::iota(nodes_.begin(), nodes_.end(), 0U);
    }
    for (const std::uint32_t node : nodes_) {
        widest_ = std::max<std::uint32_t>(widest_, input_.fabric->nodes[node].info.num_ports);
    }
    if (input_.routes) {
        plan_ = plan_lfts(input_.view->topology, input_.in_force, *input_.routes);
        empty_unreadable();
        blocks_missing_.assign(input_.routes->rows.size(), 0);
        for (const LftWrite& write : plan_.writes) {
            ++blocks_missing_[write.switch_index];
        }
    }
    for (const MftRow& row : input_.groups) {
        multicast_top_ = row.empty() ? multicast_top_ : std::max(multicast_top_, row.rbegin()->first);
    }
    if (!input_.groups.empty()) {
        groups_plan_ =
            plan_mfts(input_.view->topology, input_.groups_in_force, input_.groups, input_.groups_unknown);
    }
    lanes_ = LaneSetup(std::move(input_.lanes));
    begin(first_stage(input_.scope));
}

/// Old entries that nobody knows could loop with new ones elsewhere: every block of such a switch is written
/// as drops first. One that refuses that too is reported, and the others go on.
void Programmer::empty_unreadable() {
    for (const LftWrite& write : plan_.writes) {
        if (input_.unreadable.contains(write.switch_index)) {
            plan_.drops.push_back(write);
        }
    }
    for (const std::uint32_t s : input_.unreadable) {
        input_.in_force[s] =
            std::make_shared<const routing::LftRow>(input_.routes->rows[s]->size(), mad::kLftDrop);
    }
}

Programmer::Stage Programmer::first_stage(RunScope scope) {
    switch (scope) {
        case RunScope::reregister: return Stage::reregister;
        case RunScope::tables: return Stage::lanes;
        default: return Stage::switches;
    }
}

std::string_view Programmer::name(Stage stage) {
    constexpr std::array<std::string_view, 14> kNames{
        "switch set-up",  "P_Keys",        "lanes",      "tables (drop)", "tables",
        "left multicast", "groups (drop)", "groups",     "arm links",     "lanes of new links",
        "activate links", "recheck",       "reregister", "done"};
    return kNames[static_cast<std::size_t>(stage)];
}

void Programmer::begin(Stage stage) {
    stage_ = stage;
    cursor_ = 0;
    walk_ = {0, 1};
    spill_.clear();
    if (stage == Stage::lanes_of_new_links) {
        lanes_.begin_rest();
    }
}

bool Programmer::advance() {
    if (stage_ == Stage::done) {
        return false;
    }
    if (open_ == 0 && spill_.empty()) {
        do {
            begin(static_cast<Stage>(static_cast<int>(stage_) + 1));
        } while (left_out(stage_));
    }
    return stage_ != Stage::done;
}

bool Programmer::left_out(Stage stage) const {
    const bool of_groups = stage == Stage::group_drop || stage == Stage::groups;
    switch (input_.scope) {
        case RunScope::whole: return stage == Stage::reregister;
        case RunScope::groups: return !of_groups && stage != Stage::done;
        case RunScope::reregister: return stage != Stage::done;  // it begins with its only stage
        case RunScope::tables: return stage != Stage::lft_drop && stage != Stage::lft && stage != Stage::done;
    }
    return false;
}

std::optional<mad::Request> Programmer::next() {
    auto request = next_of_stage();
    while (request && gone_.contains(agent_of(*request))) {
        skip(*request);
        request = next_of_stage();
    }
    open_ += request ? 1U : 0U;
    return request;
}

/// Which management agent a request is for: a switch has one, an adapter one a port.
std::pair<std::uint32_t, std::uint8_t> Programmer::agent_of(const mad::Request& request) const {
    const Tag tag = Tag::unpack(request.tag);
    const std::uint32_t node = request.target / 2;
    return {node, input_.fabric->nodes[node].is_switch() ? std::uint8_t{0} : tag.port};
}

/// What it means that a device which does not answer is not asked.
void Programmer::skip(const mad::Request& request) {
    const Tag tag = Tag::unpack(request.tag);
    if (stage_ == Stage::mft) {
        mft_doubtful_.insert(input_.fabric->nodes[tag.index].guid());
    } else if (stage_ == Stage::group_drop || stage_ == Stage::groups) {
        const auto& blocks = stage_ == Stage::group_drop ? groups_plan_.drops : groups_plan_.writes;
        groups_doubtful_.insert(blocks[tag.index].switch_index);
    } else if (stage_ == Stage::reregister) {
        not_reregistered_.push_back({tag.index, mad::PortNum{tag.port}});
    } else if (stage_ == Stage::lanes || stage_ == Stage::lanes_of_new_links) {
        lanes_.failed(tag.index);
    } else if (stage_ == Stage::lft_drop) {
        held_blocks_.insert(plan_.drops[tag.index].block);  // it may well go on forwarding by its old entries
    }
}

std::optional<mad::Request> Programmer::next_of_stage() {
    std::optional<mad::Request> request;
    if (!spill_.empty()) {
        request = std::move(spill_.back());
        spill_.pop_back();
    } else {
        switch (stage_) {
            case Stage::switches: request = next_switch(); break;
            case Stage::pkeys: request = next_pkey(); break;
            case Stage::lanes:
            case Stage::lanes_of_new_links: request = next_lane(); break;
            case Stage::lft_drop:
            case Stage::lft: request = next_lft(); break;
            case Stage::mft: request = next_mft(); break;
            case Stage::group_drop:
            case Stage::groups: request = next_group_block(); break;
            case Stage::arm:
            case Stage::activate:
            case Stage::recheck: request = next_port(); break;
            case Stage::reregister: request = next_reregister(); break;
            case Stage::done: break;
        }
    }
    return request;
}

mad::Request Programmer::make(Ask what, PortRef ref, mad::Attribute attribute, std::uint32_t modifier,
                              const mad::AttributeData& data) const {
    const Node& node = input_.fabric->nodes[ref.node];
    mad::Request request;
    request.tag = Tag{what, ref.port.value(), input_.epoch, ref.node}.pack();
    request.target = device_target(ref.node);
    const bool reads = what == Ask::recheck_port || what == Ask::active_check || what == Ask::mft_get ||
                       what == Ask::group_get;
    request.method = reads ? mad::Method::get : mad::Method::set;
    request.attribute = attribute;
    request.modifier = modifier;
    request.path = node.is_switch() ? node.path : node.ports[ref.port.value()].path;
    request.data = data;
    return request;
}

// --- switches and port 0
// ----------------------------------------------------------------------------------------

std::uint16_t Programmer::top_for(const Node& node) const {
    const std::uint32_t cap = node.switch_info->linear_fdb_cap;
    return static_cast<std::uint16_t>(std::min<std::uint32_t>(input_.max_lid, cap == 0 ? 0 : cap - 1));
}

std::optional<mad::Request> Programmer::switch_info_request(std::uint32_t index) {
    const Node& node = input_.fabric->nodes[index];
    mad::SwitchInfo set = *node.switch_info;
    const bool clear = input_.clear_change.contains(node.guid());
    const bool no_multicast = stops_multicast(node);
    set.linear_fdb_top = top_for(node);
    set.life_time = input_.config->packet_life_time;
    if (no_multicast) {
        set.multicast_fdb_top = multicast_top_;
    }
    set.port_state_change = clear;
    const mad::SwitchInfo& now = *node.switch_info;
    if (!clear && now.linear_fdb_top == set.linear_fdb_top && now.life_time == set.life_time &&
        now.multicast_fdb_top == set.multicast_fdb_top) {
        return std::nullopt;
    }
    return make(Ask::switch_info_set, {index, mad::PortNum{0}}, mad::Attribute::switch_info, 0,
                mad::encode(set));
}

std::optional<mad::Request> Programmer::port0_request(std::uint32_t index) {
    const PortRef ref{index, mad::PortNum{0}};
    const PortTarget target = target_of(ref);
    const mad::PortInfo& now = input_.fabric->port(ref).info;
    // Port 0 is always Active: only its addresses tell that it kept what it once acknowledged.
    const bool addressed =
        now.lid == target.set.lid && now.lmc == target.set.lmc && now.sm_lid == target.set.sm_lid;
    if (!target.differs || (addressed && acknowledged(ref, target))) {
        return std::nullopt;
    }
    return port_set(Ask::port0_set, ref, target.set);
}

std::optional<mad::Request> Programmer::next_switch() {
    const auto& nodes = input_.fabric->nodes;
    while (cursor_ < nodes.size()) {
        const auto index = static_cast<std::uint32_t>(cursor_++);
        const Node& node = nodes[index];
        if (!node.is_switch() || !node.switch_info || !node.ports[0].known) {
            continue;
        }
        auto info = switch_info_request(index);
        auto port0 = input_.scope == RunScope::groups ? std::nullopt : port0_request(index);
        if (info && port0) {
            spill_.push_back(std::move(*port0));
            return info;
        }
        if (info || port0) {
            return info ? std::move(info) : std::move(port0);
        }
    }
    return std::nullopt;
}

// --- P_Keys
// -----------------------------------------------------------------------------------------------------

std::optional<mad::Request> Programmer::next_pkey() {
    while (walk_.place < nodes_.size()) {
        const std::uint32_t at = nodes_[walk_.place];
        const Node& node = input_.fabric->nodes[at];
        const std::uint32_t first = node.is_switch() ? 0 : 1;
        const std::uint32_t last = node.is_switch() ? 0 : node.info.num_ports;
        if (cursor_ < first) {
            cursor_ = first;
        }
        if (cursor_ > last) {
            ++walk_.place;
            cursor_ = 0;
            continue;
        }
        const PortRef ref{at, mad::PortNum{static_cast<std::uint8_t>(cursor_++)}};
        const Port& port = input_.fabric->port(ref);
        if (!port.known || (ref.port.value() != 0 && port.peer.node == kNoNode)) {
            continue;
        }
        if (pkey_table_full(port)) {
            fail(ref, "P_Key table is full of other keys: no room for the default partition");
        }
        for (const PKeyChange& change : plan_pkeys(node, port)) {
            return make(Ask::pkey_set, ref, mad::Attribute::pkey_table, change.block,
                        mad::encode(change.keys));
        }
    }
    return std::nullopt;
}

// --- tables
// -----------------------------------------------------------------------------------------------------

std::optional<mad::Request> Programmer::next_lft() {
    const bool dropping = stage_ == Stage::lft_drop;
    const auto& writes = dropping ? plan_.drops : plan_.writes;
    if (cursor_ >= writes.size()) {
        return std::nullopt;
    }
    const auto position = static_cast<std::uint32_t>(cursor_++);
    const LftWrite write = writes[position];
    const std::uint32_t node = input_.view->switch_nodes[write.switch_index];
    const routing::LftRow& wanted = *input_.routes->rows[write.switch_index];
    mad::LftBlock block = dropping ? drop_block(plan_, *input_.in_force[write.switch_index], write)
                                   : block_of(wanted, write.block);
    for (const std::uint16_t lid : dropping ? std::vector<std::uint16_t>{} : held_in(write.block)) {
        block.ports[lid % mad::kLftBlockEntries] = mad::kLftDrop;
    }
    mad::Request request = make(dropping ? Ask::lft_drop : Ask::lft_set, {node, mad::PortNum{0}},
                                mad::Attribute::linear_forwarding_table, write.block, mad::encode(block));
    request.tag = Tag{dropping ? Ask::lft_drop : Ask::lft_set, 0, input_.epoch, position}.pack();
    return request;
}

/// Drop LIDs of a block that some switch did not drop. With its old entry still there, new ones elsewhere
/// could loop: so they stay dropped everywhere until the next sweep has read what is in force.
std::vector<std::uint16_t> Programmer::held_in(std::uint16_t block) const {
    if (!held_blocks_.contains(block)) {
        return {};
    }
    const std::size_t from = std::size_t{block} * mad::kLftBlockEntries;
    const auto first = std::lower_bound(plan_.drop_lids.begin(), plan_.drop_lids.end(), from);
    return {first, std::lower_bound(first, plan_.drop_lids.end(), from + mad::kLftBlockEntries)};
}

void Programmer::on_lft_drop(std::uint32_t position, const Completion& completion) {
    if (completion.kind == Completion::Kind::reply) {
        ++lft_drops_;
        return;
    }
    const LftWrite drop = plan_.drops[position];
    held_blocks_.insert(drop.block);
    fail({input_.view->switch_nodes[drop.switch_index], mad::PortNum{0}},
         fmt::format("forwarding table block {} {}", drop.block, describe(completion)));
}

void Programmer::on_lft(std::uint32_t position, const Completion& completion) {
    const LftWrite write = plan_.writes[position];
    if (completion.kind == Completion::Kind::reply) {
        ++lft_blocks_;
        blocks_missing_[write.switch_index] -= held_blocks_.contains(write.block) ? 0U : 1U;
        return;
    }
    const PortRef at{input_.view->switch_nodes[write.switch_index], mad::PortNum{0}};
    fail(at, fmt::format("forwarding table block {} {}", write.block, describe(completion)));
}

RowsInForce Programmer::rows_in_force() const {
    RowsInForce rows(blocks_missing_.size());
    for (std::size_t s = 0; s < rows.size(); ++s) {
        if (blocks_missing_[s] == 0) {
            rows[s] = input_.routes->rows[s];
        }
    }
    return rows;
}

// --- multicast tables
// -------------------------------------------------------------------------------------------

/// By MulticastFDBTop, with one field for the whole table (IBA 14.2.5.4).
bool Programmer::stops_multicast(const Node& node) const {
    return (node.ports[0].info.capability_mask & kMulticastTopSupported) != 0;
}

/// Reads the tables of switches that another SM may have filled; what is not empty is emptied when the answer
/// comes.
std::optional<mad::Request> Programmer::next_mft() {
    constexpr std::uint32_t kEntries = 32;  ///< of a block
    constexpr std::uint32_t kPorts = 16;    ///< of a position
    const auto& nodes = input_.fabric->nodes;
    for (; cursor_ < nodes.size(); ++cursor_, mft_block_ = 0) {
        const Node& node = nodes[cursor_];
        if (!node.is_switch() || !node.switch_info || !input_.strange_mft.contains(node.guid()) ||
            stops_multicast(node)) {
            continue;
        }
        const std::uint32_t blocks = (node.switch_info->multicast_fdb_cap + kEntries - 1) / kEntries;
        const std::uint32_t positions = node.info.num_ports / kPorts + 1;
        if (mft_block_ >= blocks * positions) {
            continue;
        }
        const std::uint32_t modifier = (mft_block_ / blocks) << 28U | mft_block_ % blocks;
        ++mft_block_;
        return make(Ask::mft_get, {static_cast<std::uint32_t>(cursor_), mad::PortNum{0}},
                    mad::Attribute::multicast_forwarding_table, modifier, {});
    }
    return std::nullopt;
}

void Programmer::on_mft(PortRef ref, const Completion& completion) {
    if (completion.kind != Completion::Kind::reply) {
        mft_doubtful_.insert(input_.fabric->nodes[ref.node].guid());
        return fail(ref, fmt::format("multicast table {}", describe(completion)));
    }
    const bool read = Tag::unpack(completion.tag).ask == Ask::mft_get;
    if (read && mad::decode_mft(completion.data) != mad::MftBlock{}) {
        spill_.push_back(make(Ask::mft_set, ref, mad::Attribute::multicast_forwarding_table,
                              completion.request.modifier, mad::encode(mad::MftBlock{})));
    }
}

/// Whether a block lies behind the end of its switch's table.
bool Programmer::beyond_table(const MftWrite& write) const {
    const Node& node = input_.fabric->nodes[input_.view->switch_nodes[write.switch_index]];
    return !node.switch_info || write.block * kMftBlockEntries >= node.switch_info->multicast_fdb_cap;
}

std::optional<mad::Request> Programmer::next_group_block() {
    const bool dropping = stage_ == Stage::group_drop;
    const auto& blocks = dropping ? groups_plan_.drops : groups_plan_.writes;
    while (cursor_ < blocks.size() && beyond_table(blocks[cursor_])) {
        ++cursor_;
    }
    if (cursor_ >= blocks.size()) {
        return std::nullopt;
    }
    const auto index = static_cast<std::uint32_t>(cursor_++);
    const MftWrite write = blocks[index];
    const std::uint32_t node = input_.view->switch_nodes[write.switch_index];
    const mad::MftBlock block =
        dropping ? mft_block(input_.groups_in_force[write.switch_index], write.block, write.position,
                             groups_plan_.moved)
                 : mft_block(input_.groups[write.switch_index], write.block, write.position, {});
    // What nobody knows is read first: after a restart it is mostly as it should be.
    const bool unknown = !dropping && input_.groups_unknown.contains(write.switch_index);
    const Ask what = dropping ? Ask::group_drop : unknown ? Ask::group_get : Ask::group_set;
    mad::Request request =
        make(what, {node, mad::PortNum{0}}, mad::Attribute::multicast_forwarding_table,
             static_cast<std::uint32_t>(write.position) << 28U | write.block, mad::encode(block));
    request.tag = Tag{what, 0, input_.epoch, index}.pack();
    return request;
}

void Programmer::on_group_block(const Tag& tag, const Completion& completion) {
    const auto& blocks = tag.ask == Ask::group_drop ? groups_plan_.drops : groups_plan_.writes;
    const MftWrite write = blocks[tag.index];
    if (completion.kind == Completion::Kind::reply && tag.ask == Ask::group_get) {
        const mad::MftBlock wanted =
            mft_block(input_.groups[write.switch_index], write.block, write.position, {});
        if (mad::decode_mft(completion.data) != wanted) {
            mad::Request set = completion.request;
            set.tag = Tag{Ask::group_set, 0, input_.epoch, tag.index}.pack();
            set.method = mad::Method::set;
            set.data = mad::encode(wanted);
            spill_.push_back(std::move(set));
        }
        return;
    }
    if (completion.kind == Completion::Kind::reply) {
        ++mft_blocks_;
        return;
    }
    groups_doubtful_.insert(write.switch_index);
    fail({input_.view->switch_nodes[write.switch_index], mad::PortNum{0}},
         fmt::format("multicast table block {} {}", write.block, describe(completion)));
}

std::vector<std::optional<MftRow>> Programmer::groups_in_force() const {
    std::vector<std::optional<MftRow>> rows(input_.groups.size());
    for (std::uint32_t s = 0; s < rows.size(); ++s) {
        // A table that nobody knows is known once all its blocks in use have been written.
        const bool written = std::any_of(groups_plan_.writes.begin(), groups_plan_.writes.end(),
                                         [s](const MftWrite& write) { return write.switch_index == s; });
        if (!groups_doubtful_.contains(s) && (written || !input_.groups_unknown.contains(s))) {
            rows[s] = input_.groups[s];
        }
    }
    return rows;
}

std::set<mad::Guid> Programmer::mft_emptied() const {
    std::set<mad::Guid> emptied;
    for (const Node& node : input_.fabric->nodes) {
        const bool done = node.is_switch() && node.switch_info && input_.strange_mft.contains(node.guid()) &&
                          !mft_doubtful_.contains(node.guid()) &&
                          (!stops_multicast(node) || node.switch_info->multicast_fdb_top == multicast_top_);
        if (done) {
            emptied.insert(node.guid());
        }
    }
    return emptied;
}

// --- links
// ------------------------------------------------------------------------------------------------------

PortTarget Programmer::target_of(PortRef ref) const {
    return plan_port({*input_.fabric, input_.lids, input_.sm_lid, *input_.config}, ref);
}

/// Where only the master's LID is new. With another LID of its own the port is not to wait.
bool Programmer::set_later(PortRef ref, const PortTarget& target) const {
    const mad::PortInfo& now = input_.fabric->port(ref).info;
    return std::binary_search(input_.reregister.begin(), input_.reregister.end(), ref) &&
           !target.needs_bounce && target.set.lid == now.lid && target.set.lmc == now.lmc;
}

std::uint64_t Programmer::memory_key(PortRef ref) const {
    const Node& node = input_.fabric->nodes[ref.node];
    return node.guid().value() * 0x9e3779b97f4a7c15ULL + ref.port.value();
}

/// Addresses that are not as they shall be are another SM's doing (C51), not the device's own mind.
bool Programmer::acknowledged(PortRef ref, const PortTarget& target) const {
    const mad::PortInfo& now = input_.fabric->port(ref).info;
    const bool has_address = !input_.fabric->nodes[ref.node].is_switch() || ref.port == mad::PortNum{0};
    if (has_address && (now.lid != target.set.lid || now.sm_lid != target.set.sm_lid)) {
        return false;
    }
    const auto remembered = input_.acknowledged->find(memory_key(ref));
    return remembered != input_.acknowledged->end() && remembered->second == target.fingerprint;
}

mad::Request Programmer::port_set(Ask what, PortRef ref, mad::PortInfo set) const {
    return make(what, ref, mad::Attribute::port_info, ref.port.value(), mad::encode(set));
}

bool Programmer::both_ends(PortRef ref) const {
    const Port& port = input_.fabric->port(ref);
    if (port.peer.node == kNoNode || !port.known || !port.usable) {
        return false;
    }
    const Port& peer = input_.fabric->port(port.peer);
    return peer.known && peer.usable && peer.peer == ref;
}

std::optional<mad::Request> Programmer::next_port() {
    const auto& nodes = input_.fabric->nodes;
    for (; walk_.port <= widest_; ++walk_.port, walk_.place = 0) {
        while (walk_.place < nodes_.size()) {
            const PortRef ref{nodes_[walk_.place], mad::PortNum{static_cast<std::uint8_t>(walk_.port)}};
            ++walk_.place;
            if (walk_.port > nodes[ref.node].info.num_ports) {
                continue;
            }
            if (auto request = port_request(ref)) {
                return request;
            }
        }
    }
    return std::nullopt;
}

std::optional<mad::Request> Programmer::port_request(PortRef ref) {
    if (stage_ == Stage::recheck) {
        return recheck_request(ref);
    }
    if (!both_ends(ref)) {
        return std::nullopt;
    }
    auto request = stage_ == Stage::arm ? arm_request(ref) : activate_request(ref);
    if (request && input_.clear_change.contains(input_.fabric->nodes[ref.node].guid())) {
        set_this_run_.insert(ref);
    }
    return request;
}

std::optional<mad::Request> Programmer::arm_request(PortRef ref) {
    const Port& port = input_.fabric->port(ref);
    PortTarget target = target_of(ref);
    if (!target.refused.empty()) {
        refusals_.push_back({ref, fmt::format("{} {}", place(ref), target.refused)});
    }
    if (port.info.state == PortState::init) {
        if (input_.config->separate_arm && target.differs) {
            return port_set(Ask::configure, ref, target.set);  // what arms it follows on the answer
        }
        target.set.state = PortState::armed;
        return port_set(Ask::arm, ref, target.set);
    }
    if (!target.differs || acknowledged(ref, target) || set_later(ref, target)) {
        return std::nullopt;
    }
    if (target.needs_bounce) {
        // Only a link that goes down and comes up anew can change its MTU or lanes; one end bounces it for
        // both.
        if (port.peer < ref && target_of(port.peer).needs_bounce) {
            return std::nullopt;
        }
        target.set = port.info;
        target.set.state = PortState::down;
        target.set.phys_state = mad::PhysState::no_change;
        return port_set(Ask::bounce, ref, target.set);
    }
    return port_set(Ask::configure, ref, target.set);
}

std::optional<mad::Request> Programmer::activate_request(PortRef ref) {
    const Port& port = input_.fabric->port(ref);
    const Port& peer = input_.fabric->port(port.peer);
    if (port.info.state != PortState::armed ||
        (peer.info.state != PortState::armed && peer.info.state != PortState::active)) {
        return std::nullopt;
    }
    mad::PortInfo set = target_of(ref).set;
    set.state = PortState::active;
    return port_set(Ask::activate, ref, set);
}

std::optional<mad::Request> Programmer::recheck_request(PortRef ref) {
    const Node& node = input_.fabric->nodes[ref.node];
    if (!node.is_switch() || !input_.clear_change.contains(node.guid()) || set_this_run_.contains(ref)) {
        return std::nullopt;
    }
    return make(Ask::recheck_port, ref, mad::Attribute::port_info, ref.port.value(), {});
}

std::optional<mad::Request> Programmer::next_reregister() {
    if (cursor_ >= input_.reregister.size()) {
        return std::nullopt;
    }
    const PortRef ref = input_.reregister[cursor_++];
    mad::PortInfo set = target_of(ref).set;
    set.client_reregister = true;
    return port_set(Ask::reregister, ref, set);
}

void Programmer::on_reregister(PortRef ref, const Completion& completion) {
    if (completion.kind == Completion::Kind::reply) {
        ++port_sets_;
        mad::PortInfo answer = mad::decode_port_info(completion.data);
        answer.client_reregister = false;  // it shows in this answer alone
        adopt(answer, input_.fabric->port(ref));
        input_.acknowledged->insert_or_assign(memory_key(ref), target_of(ref).fingerprint);
    } else if (completion.kind != Completion::Kind::error_status ||
               (completion.status & mad::kStatusBusy) != 0) {
        not_reregistered_.push_back(ref);  // no word of the port's against it
    } else {
        fail(ref, fmt::format("client reregistration {}", describe(completion)));
    }
}

void Programmer::on_recheck(PortRef ref, const Completion& completion) {
    if (completion.kind != Completion::Kind::reply) {
        return fail(ref, fmt::format("port state {}", describe(completion)));
    }
    const mad::PortInfo now = mad::decode_port_info(completion.data);
    if (now.state != input_.fabric->port(ref).info.state) {
        surprises_.push_back({ref, fmt::format("{} went from {} to {}", place(ref),
                                               mad::to_string(input_.fabric->port(ref).info.state),
                                               mad::to_string(now.state))});
    }
}

// --- answers
// ----------------------------------------------------------------------------------------------------

void Programmer::on(const Completion& completion) {
    IBF_CHECK(open_ > 0, "an answer nobody waits for");
    --open_;
    const Tag tag = Tag::unpack(completion.tag);
    const PortRef ref{tag.index, mad::PortNum{tag.port}};
    const bool answered = completion.kind == Completion::Kind::reply;
    if (completion.kind == Completion::Kind::timeout) {
        gone_.insert(agent_of(completion.request));
    }
    switch (tag.ask) {
        case Ask::switch_info_set:
            if (answered) {
                input_.fabric->nodes[tag.index].switch_info = mad::decode_switch_info(completion.data);
            } else {
                fail(ref, fmt::format("SwitchInfo {}", describe(completion)));
            }
            return;
        case Ask::pkey_set:
            if (answered) {
                ++pkey_sets_;
                input_.fabric->port(ref).pkeys[completion.request.modifier] =
                    mad::decode_pkey_block(completion.request.data);
            } else {
                fail(ref, fmt::format("P_Key table {}", describe(completion)));
            }
            return;
        case Ask::lane_set: return on_lane(tag, completion);
        case Ask::lft_drop: return on_lft_drop(tag.index, completion);
        case Ask::lft_set: return on_lft(tag.index, completion);
        case Ask::mft_get:
        case Ask::mft_set: return on_mft(ref, completion);
        case Ask::group_get:
        case Ask::group_drop:
        case Ask::group_set: return on_group_block(tag, completion);
        case Ask::recheck_port: return on_recheck(ref, completion);
        case Ask::active_check: return on_active_check(ref, completion);
        case Ask::reregister: return on_reregister(ref, completion);
        default: return on_port_set(tag, ref, completion);
    }
}

/// A port in Armed goes Active by itself when the first packet arrives (IBA 7.2.7): where its neighbour was
/// faster, Active is no change it can make any more, and many agents refuse it. What the port says it is
/// decides.
void Programmer::on_active_check(PortRef ref, const Completion& completion) {
    const std::string refusal = std::exchange(active_refused_[ref], {});
    const bool active = completion.kind == Completion::Kind::reply &&
                        mad::decode_port_info(completion.data).state == PortState::active;
    if (active) {
        adopt(mad::decode_port_info(completion.data), input_.fabric->port(ref));
        return;
    }
    input_.fabric->port(ref).usable = false;
    fail(ref, fmt::format("Active {}", refusal));
}

void Programmer::on_bounce(PortRef ref, const Completion& completion) {
    if (completion.kind == Completion::Kind::reply) {
        ++port_sets_;
        ++bounces_;
        adopt(mad::decode_port_info(completion.data), input_.fabric->port(ref));
    } else {
        fail(ref, fmt::format("taking the link down to change it {}", describe(completion)));
    }
    if (completion.kind == Completion::Kind::reply || completion.kind == Completion::Kind::error_status) {
        // Done, or refused for good: not again each sweep. One that was not answered is tried again.
        input_.acknowledged->insert_or_assign(memory_key(ref), target_of(ref).fingerprint);
    }
}

void Programmer::on_port_set(const Tag& tag, PortRef ref, const Completion& completion) {
    Port& port = input_.fabric->port(ref);
    if (tag.ask == Ask::bounce) {
        return on_bounce(ref, completion);
    }
    if (tag.ask == Ask::activate && completion.kind == Completion::Kind::error_status) {
        active_refused_[ref] = describe(completion);
        spill_.push_back(make(Ask::active_check, ref, mad::Attribute::port_info, ref.port.value(), {}));
        return;
    }
    if (completion.kind != Completion::Kind::reply) {
        // What came back with an error status is no truth (C10): state and LID stay as they were.
        port.usable = tag.ask == Ask::port0_set ? port.usable : false;
        return fail(ref, fmt::format("{} {}", tag.ask == Ask::activate ? "Active" : "port set-up",
                                     describe(completion)));
    }
    ++port_sets_;
    const mad::PortInfo asked = mad::decode_port_info(completion.request.data);
    adopt(mad::decode_port_info(completion.data), port);
    if (asked.state != PortState::no_change && port.info.state != asked.state) {
        surprises_.push_back(
            {ref, fmt::format("{} was asked to be {} and is {}", place(ref), mad::to_string(asked.state),
                              mad::to_string(port.info.state))});
    }
    if (tag.ask == Ask::configure && port.info.state == PortState::init) {
        mad::PortInfo arm = target_of(ref).set;
        arm.state = PortState::armed;
        spill_.push_back(port_set(Ask::arm, ref, arm));
    }
    if (tag.ask == Ask::arm || tag.ask == Ask::configure || tag.ask == Ask::port0_set) {
        input_.acknowledged->insert_or_assign(memory_key(ref), target_of(ref).fingerprint);
    }
}

std::string Programmer::describe(const Completion& completion) {
    switch (completion.kind) {
        case Completion::Kind::timeout:
            return fmt::format("was not answered after {} tries", completion.sends);
        case Completion::Kind::error_status:
            return fmt::format("was refused with status 0x{:04x} ({})", completion.status,
                               mad::status_text(completion.status));
        default: return "could not be sent";
    }
}

std::string Programmer::place(PortRef ref) const {
    const Node& node = input_.fabric->nodes[ref.node];
    return fmt::format("{} ({}) port {}", node.description, node.guid(), ref.port);
}

void Programmer::fail(PortRef at, std::string text) {
    failures_.push_back({at, fmt::format("{}: {}", place(at), text)});
}

}  // namespace ibf::sm
