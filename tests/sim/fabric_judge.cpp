#include "fabric_judge.hpp"

#include <algorithm>
#include <deque>

#include <fmt/format.h>

#include "sim/world.hpp"

namespace ibf::test {
namespace {

using mad::Attribute;
using mad::PortState;
using sim::Simulator;

/// Managers that could not reach each other have so long to meet: a light sweep, and what follows from it.
constexpr base::Duration kMeeting = std::chrono::seconds{15};
/// Who wrote, and writes again after another one did, within this, is no heir of that one's.
constexpr base::Duration kTurn = std::chrono::milliseconds{1500};
constexpr std::size_t kFindingsMost = 10;

enum : std::uint8_t { kNobody, kAdapter, kSwitch };
enum : std::uint8_t { kWhite, kGrey, kBlack };

bool is_set(const mad::Smp& smp) {
    return smp.header.method == static_cast<std::uint8_t>(mad::Method::set);
}

}  // namespace

// --- tables

TableWalk::TableWalk(const Simulator& sim) : TableWalk(sim, {}) {}

TableWalk::TableWalk(const Simulator& sim, const std::multiset<std::uint32_t>& without) : sim_(sim) {
    read_links(without);
    read_owners();
}

/// Data pass where both ends are Active (IBA 7.2.7).
void TableWalk::read_links(const std::multiset<std::uint32_t>& without) {
    const sim::World& world = sim_.world();
    first_.assign(world.size() + 1, 0);
    for (std::uint32_t n = 0; n < world.size(); ++n) {
        const auto ports = static_cast<std::uint32_t>(world.device(n).ports.size());
        first_[n + 1] = first_[n] + (world.device(n).is_switch() ? ports : 0U);
    }
    channels_ = first_.back();
    peer_.assign(channels_, kNone);
    has_hosts_.assign(world.size(), false);
    for (std::uint32_t n = 0; n < world.size(); ++n) {
        const sim::Device& device = world.device(n);
        for (std::size_t p = 1; device.is_switch() && p < device.ports.size(); ++p) {
            const mad::PortNum number{static_cast<std::uint8_t>(p)};
            const auto peer = device.ports[p].info.state == PortState::active ? world.linked_peer({n, number})
                                                                              : std::nullopt;
            if (!peer || world.port(*peer).info.state != PortState::active) {
                continue;
            }
            if (world.device(peer->node).is_switch()) {
                if (without.contains(n) || without.contains(peer->node)) {
                    continue;
                }
                peer_[first_[n] + p] = peer->node;
            } else {
                has_hosts_[n] = true;
            }
        }
        lids_ = std::max(lids_, static_cast<std::uint32_t>(device.lft.size()));
    }
}

void TableWalk::read_owners() {
    owner_.assign(lids_, kNobody);
    const sim::World& world = sim_.world();
    for (std::uint32_t n = 0; n < world.size(); ++n) {
        const sim::Device& device = world.device(n);
        const std::size_t first = device.is_switch() ? 0 : 1;
        const std::size_t end = device.is_switch() ? 1 : device.ports.size();
        for (std::size_t p = first; device.present && p < end; ++p) {
            const mad::LidRange range{device.ports[p].info.lid, device.ports[p].info.lmc};
            for (std::uint32_t lid = std::max<std::uint32_t>(range.base.value(), 1);
                 range.base != mad::kLidNone && lid < std::min<std::uint32_t>(range.end(), lids_); ++lid) {
                owner_[lid] = device.is_switch() ? kSwitch : kAdapter;
            }
        }
    }
}

std::uint8_t TableWalk::exit(std::uint32_t node, std::uint32_t lid) const {
    const sim::Device& device = sim_.world().device(node);
    const std::uint8_t port = device.lft_entry(mad::Lid{static_cast<std::uint16_t>(lid)});
    return port < device.ports.size() ? port : std::uint8_t{0};
}

std::uint32_t TableWalk::next(std::uint32_t node, std::uint32_t lid) const {
    const std::uint8_t port = exit(node, lid);
    return port == 0 ? kNone : peer_[first_[node] + port];
}

std::string TableWalk::loop() {
    const sim::World& world = sim_.world();
    for (std::uint32_t lid = 1; lid < lids_; ++lid) {
        colour_.assign(world.size(), kWhite);
        for (std::uint32_t n = 0; n < world.size(); ++n) {
            std::uint32_t at = world.device(n).is_switch() ? n : kNone;
            way_.clear();
            while (at != kNone && colour_[at] == kWhite) {
                colour_[at] = kGrey;
                way_.push_back(at);
                at = next(at, lid);
            }
            if (at != kNone && colour_[at] == kGrey) {
                return fmt::format("LID {} circles at {}", lid, world.device(at).description);
            }
            for (const std::uint32_t passed : way_) {
                colour_[passed] = kBlack;
            }
        }
    }
    return {};
}

/// What holds a buffer behind one channel and wants the next.
void TableWalk::add_dependencies(std::uint32_t lid, bool from_everywhere) {
    const sim::World& world = sim_.world();
    colour_.assign(world.size(), kWhite);
    for (std::uint32_t n = 0; n < world.size(); ++n) {
        const bool begins = world.device(n).is_switch() && (from_everywhere || has_hosts_[n]);
        std::uint32_t at = begins ? n : kNone;
        while (at != kNone && colour_[at] == kWhite) {
            colour_[at] = kBlack;
            const std::uint32_t then = next(at, lid);
            if (then != kNone && next(then, lid) != kNone) {
                auto& list = waits_for_[first_[at] + exit(at, lid)];
                const std::uint32_t wanted = first_[then] + exit(then, lid);
                if (std::find(list.begin(), list.end(), wanted) == list.end()) {
                    list.push_back(wanted);
                }
            }
            at = then;
        }
    }
}

std::string TableWalk::credit_cycle() {
    waits_for_.assign(channels_, {});
    for (std::uint32_t lid = 1; lid < lids_; ++lid) {
        if (owner_[lid] != kNobody) {
            add_dependencies(lid, owner_[lid] == kAdapter);
        }
    }
    colour_.assign(channels_, kWhite);
    for (std::uint32_t channel = 0; channel < channels_; ++channel) {
        if (std::string ring = colour_[channel] == kWhite ? ring_from(channel) : std::string{};
            !ring.empty()) {
            return ring;
        }
    }
    return {};
}

std::string TableWalk::ring_from(std::uint32_t channel) {
    std::vector<std::size_t> taken{0};
    way_.assign(1, channel);
    colour_[channel] = kGrey;
    while (!way_.empty()) {
        const std::uint32_t at = way_.back();
        if (taken.back() == waits_for_[at].size()) {
            colour_[at] = kBlack;
            way_.pop_back();
            taken.pop_back();
            continue;
        }
        const std::uint32_t then = waits_for_[at][taken.back()++];
        if (colour_[then] == kGrey) {
            std::string ring;
            for (auto it = std::find(way_.begin(), way_.end(), then); it != way_.end(); ++it) {
                const auto node = std::upper_bound(first_.begin(), first_.end(), *it) - first_.begin() - 1;
                ring +=
                    fmt::format("{}/{} ", sim_.netlist().nodes[static_cast<std::size_t>(node)].description,
                                *it - first_[static_cast<std::size_t>(node)]);
            }
            return ring;
        }
        if (colour_[then] == kWhite) {
            colour_[then] = kGrey;
            way_.push_back(then);
            taken.push_back(0);
        }
    }
    return {};
}

// --- the judge

FabricJudge::FabricJudge(const Simulator& sim) : sim_(sim) {}

void FabricJudge::add_manager(Simulator::ClientId client, Manager manager) {
    managers_[client].manager = std::move(manager);
}

void FabricJudge::reborn(Simulator::ClientId client) {
    managers_.at(client).last_set.reset();
}

void FabricJudge::forget_lids(std::uint32_t node) {
    for (auto& [at, place] : places_) {
        if (at.first == node) {
            place.lid = {};
        }
    }
}

void FabricJudge::release_lids(base::Instant at, std::uint32_t node) {
    released_[node] = at;
}

void FabricJudge::on_settled(Simulator::ClientId by, base::Instant begun) {
    if (has_several() || released_.empty()) {
        return;
    }
    const std::vector<bool> reached = reach(managers_.at(by).manager.node);
    std::set<std::uint32_t> bare;  // with a port that has no LID yet
    for (const auto& [at, place] : places_) {
        if (sim_.port_info(at.first, mad::PortNum{at.second}).lid == mad::kLidNone) {
            bare.insert(at.first);
        }
    }
    const auto settled = [&](std::uint32_t node) {
        const auto released = released_.find(node);
        return released != released_.end() && !bare.contains(node) &&
               is_settled(node, released->second, begun, reached);
    };
    for (auto& [at, place] : places_) {
        if (settled(at.first)) {
            place.lid = place.first = sim_.port_info(at.first, mad::PortNum{at.second}).lid;
        }
    }
    for (auto item = released_.begin(); item != released_.end();) {
        item = settled(item->first) ? released_.erase(item) : std::next(item);
    }
}

bool FabricJudge::is_settled(std::uint32_t node, base::Instant released, base::Instant begun,
                             const std::vector<bool>& reached) const {
    return released < begun && reached[node] && !hidden_.contains(node) &&
           (dead_ == nullptr || !dead_->contains(node));
}

void FabricJudge::say(base::Instant at, const std::string& text) {
    if (findings_.size() < kFindingsMost) {
        findings_.push_back(fmt::format("at {}: {}", base::format_duration(at.time_since_epoch()), text));
    }
}

void FabricJudge::on_mad(base::Instant at, std::uint32_t node, const mad::Smp& request,
                         mad::MadStatus status) {
    note_roles(at);
    if (!is_set(request) || status != 0 || request.header.attribute == Attribute::sm_info) {
        return;
    }
    check_writer(at, node, request);
    if (request.header.attribute == Attribute::port_info) {
        check_lid(at, node, request);
    }
    if (request.header.attribute == Attribute::port_info ||
        request.header.attribute == Attribute::linear_forwarding_table) {
        check_tables(at, request, node);
    }
}

void FabricJudge::check_tables(base::Instant at, const mad::Smp& request, std::uint32_t node) {
    const sim::Device& device = sim_.world().device(node);
    if (request.header.attribute == Attribute::port_info) {  // a link that opens brings tables into force
        const std::size_t port = request.header.modifier & 0xFFU;
        if (!device.is_switch() || port == 0 || port >= device.ports.size() ||
            device.ports[port].info.state != PortState::active) {
            return;
        }
    }
    TableWalk walk(sim_, hidden_);  // of two with one GUID, one is left alone: nobody knows what it holds
    const std::string after =
        fmt::format("after {} to {}", mad::attribute_name(request.header.attribute), device.description);
    note_hiding(at);
    const bool excused = hid_ && at - *hid_ < kMeeting;
    if (const std::string loop = walk.loop(); !loop.empty() && !excused) {
        say(at, fmt::format("{} {}", loop, after));
    }
    if (std::string ring = walk.credit_cycle(); !ring.empty()) {
        credit_cycles_.emplace_back(at, fmt::format("{} {}", ring, after));
    }
}

void FabricJudge::check_lid(base::Instant at, std::uint32_t node, const mad::Smp& request) {
    const sim::Device& device = sim_.world().device(node);
    const auto number = static_cast<std::uint8_t>(request.header.modifier & 0xFFU);
    if (number >= device.ports.size() || device.is_switch() != (number == 0)) {
        return;
    }
    const mad::Lid lid = device.ports[number].info.lid;
    Place& place = places_[{node, number}];
    if (place.lid != mad::kLidNone && lid != place.lid && clashes_ && contested_.contains(place.lid)) {
        release_lids(at, node);
    }
    if (place.lid != mad::kLidNone && lid != place.lid && !released_.contains(node)) {
        say(at, fmt::format("{} port {}: LID {} became {}", device.description, number, place.lid, lid));
    }
    if (lid != place.lid && is_claimed_elsewhere(lid, node)) {
        contested_.insert(lid);
    }
    place.lid = lid;
    place.first = place.first == mad::kLidNone ? lid : place.first;
}

bool FabricJudge::is_claimed_elsewhere(mad::Lid lid, std::uint32_t node) const {
    const sim::World& world = sim_.world();
    for (std::uint32_t n = 0; n < world.size(); ++n) {
        const sim::Device& device = world.device(n);
        const std::size_t end = device.is_switch() ? 1 : device.ports.size();
        for (std::size_t p = device.is_switch() ? 0 : 1; n != node && device.present && p < end; ++p) {
            if (mad::LidRange{device.ports[p].info.lid, device.ports[p].info.lmc}.contains(lid)) {
                return true;
            }
        }
    }
    return false;
}

std::vector<std::string> FabricJudge::moved() const {
    std::vector<std::string> found;
    for (const auto& [at, place] : places_) {
        const mad::Lid lid = sim_.port_info(at.first, mad::PortNum{at.second}).lid;
        if (!released_.contains(at.first) && place.first != mad::kLidNone && lid != place.first) {
            found.push_back(fmt::format("{} port {} was given LID {} and has {}",
                                        sim_.netlist().nodes[at.first].description, at.second, place.first,
                                        lid));
        }
    }
    return found;
}

// --- who writes

std::vector<bool> FabricJudge::reach(std::uint32_t from) const {
    return reach(from, hidden_);
}

std::vector<bool> FabricJudge::reach(std::uint32_t from, const std::multiset<std::uint32_t>& hidden) const {
    const sim::World& world = sim_.world();
    std::vector<bool> reached(world.size(), false);
    std::deque<std::uint32_t> queue{from};
    reached[from] = true;
    while (!queue.empty()) {
        const std::uint32_t at = queue.front();
        queue.pop_front();
        const sim::Device& device = world.device(at);
        const bool dark = hidden.contains(at) || (dead_ != nullptr && dead_->contains(at));
        const bool onward = at == from || (device.is_switch() && !dark);
        for (std::size_t p = 1; onward && p < device.ports.size(); ++p) {
            const auto peer = world.linked_peer({at, mad::PortNum{static_cast<std::uint8_t>(p)}});
            if (peer && !reached[peer->node]) {
                reached[peer->node] = true;
                queue.push_back(peer->node);
            }
        }
    }
    return reached;
}

/// Each of two masters believes in another one of two nodes with one GUID, and the other master lies behind
/// the one that it leaves out. What both see beside that, both write, and neither can know: no way on which
/// they could meet leads through nodes that they believe in.
bool FabricJudge::masters_hide() const {
    for (const auto& [client, one] : managers_) {
        for (const auto& [other, there] : managers_) {
            const bool both = client < other && one.manager.alive() && one.manager.is_master() &&
                              there.manager.alive() && there.manager.is_master();
            if (both && !reach(one.manager.node)[there.manager.node] &&
                reach(one.manager.node, {})[there.manager.node]) {
                return true;
            }
        }
    }
    return false;
}

/// What they wrote has to be read and mended when they can meet.
void FabricJudge::note_hiding(base::Instant at) {
    if (!hidden_.empty() && masters_hide()) {
        hid_ = at;
    }
}

void FabricJudge::look_around(base::Instant now) {
    note_hiding(now);
    note_roles(now);
    for (auto& [client, one] : managers_) {
        const std::vector<bool> reached = reach(one.manager.node);
        for (const auto& [other, there] : managers_) {
            const bool deaf = !there.manager.alive() || !one.manager.alive();
            if (other != client && (deaf || !reached[there.manager.node])) {
                one.apart[other] = now;
            }
        }
    }
}

bool FabricJudge::separate(const Known& one, Simulator::ClientId other, base::Instant at) const {
    const auto known = one.apart.find(other);
    if (known != one.apart.end() && at - known->second < kMeeting) {
        return true;
    }
    return !reach(one.manager.node)[managers_.at(other).manager.node];
}

void FabricJudge::note_roles(base::Instant at) {
    for (auto& [client, one] : managers_) {
        const bool master = one.manager.alive() && one.manager.is_master();
        one.master_since = !master ? std::nullopt : one.master_since ? one.master_since : std::optional(at);
    }
}

void FabricJudge::on_sm_info(base::Instant at, Simulator::ClientId to, const mad::SmInfo& shown) {
    note_roles(at);
    for (const auto& [client, other] : managers_) {
        const bool names_it = sim_.local_port(client).port_guid == shown.guid;
        if (client != to && names_it && shown.state == mad::SmState::master) {
            managers_.at(to).heard[client] = at;
        }
    }
}

/// Who has been master for longer than the other, and has not had one word of that one's since it is, cannot
/// know: messages between them may be lost. For as long as it takes to meet, and not where it is the newcomer
/// that writes: that one should have asked before.
bool FabricJudge::untold(const Known& one, Simulator::ClientId other, base::Instant at) const {
    const auto since = managers_.at(other).master_since;
    const auto heard = one.heard.find(other);
    return one.master_since && since && *one.master_since < *since && at - *since < kMeeting &&
           (heard == one.heard.end() || heard->second < *since);
}

void FabricJudge::check_writer(base::Instant at, std::uint32_t node, const mad::Smp& request) {
    const auto found = managers_.find(sender_of(request));
    if (found == managers_.end() || !found->second.manager.alive()) {
        return;
    }
    Known& writer = found->second;
    writers_followed_ += last_writer_ && *last_writer_ != found->first ? 1U : 0U;
    last_writer_ = found->first;
    const auto before = std::exchange(writer.last_set, at);
    for (auto& [client, other] : managers_) {
        if (client == found->first || !other.manager.alive()) {
            continue;
        }
        const bool master = other.manager.is_master();
        const bool turns = before && other.last_set && *other.last_set > *before && at - *before < kTurn;
        const bool beside = (master && !untold(writer, client, at)) || turns;
        if (beside && !separate(writer, client, at)) {
            say(at, fmt::format("{} set {} of {} while {} {}", writer.manager.name,
                                mad::attribute_name(request.header.attribute),
                                sim_.world().device(node).description, other.manager.name,
                                master ? "was master" : "wrote as well"));
        }
    }
}

}  // namespace ibf::test
