// Links that go up and down: what looks find of them, and for how long they are held down.
//
// The first change of a link is acted upon at once. Then the link is held down, longer and longer while it
// keeps changing: light sweeps look past it for other news, and what it did is looked at when its time is
// over. A trap 128 names a switch, never a port. So the switch's ports are looked at, and what its traps told
// is held against a link only where that is the one that is not as it was.
#include <algorithm>
#include <numeric>

#include "daemon/sm/subnet_manager.hpp"

namespace ibf::sm {
namespace {

using fabric::Fabric;
using fabric::HealthRule;
using fabric::kNoNode;
using fabric::Node;
using fabric::Port;
using fabric::PortId;
using fabric::PortRef;

/// So many traps between two looks are held against one link, that its switch may have told of another one.
constexpr std::uint32_t kTrapsPerLook = 4;

/// The end that speaks for a link: a switch's rather than a host's, else that of the lower GUID.
PortId speaker(const Fabric& fabric, PortRef at) {
    const PortRef peer = fabric.port(at).peer;
    if (peer.node == kNoNode) {
        return id_of(fabric, at);
    }
    const auto rank = [&](PortRef end) {
        return std::pair(!fabric.nodes[end.node].is_switch(), id_of(fabric, end));
    };
    return std::min(rank(at), rank(peer)).second;
}

/// It went down, came up, or did both between two looks: then it waits in Init to be set up again.
bool link_changed(const Port& before, const Port& after) {
    return before.info.linked() != after.info.linked() ||
           (after.info.linked() && after.info.state < before.info.state);
}

/// It has no addresses and had some: it was reset, or was away and comes as if new.
bool arrives_bare(const Node& node, std::size_t port, const Node* before, const fabric::LidMap& given) {
    const mad::PortNum number{static_cast<std::uint8_t>(port)};
    const Port& now = node.ports[port];
    if (node.is_switch() != (port == 0)) {
        return false;
    }
    if (!now.known || now.info.lid != mad::kLidNone || !given.contains(fabric::lid_owner(node, number))) {
        return false;
    }
    return before == nullptr || !before->ports[port].known || before->ports[port].info.lid != mad::kLidNone;
}

}  // namespace

std::string SubnetManager::place_text(PortRef at) const {
    const Node& node = fabric_->nodes[at.node];
    return fmt::format("{} ({}) port {}", node.description, node.guid(), at.port);
}

/// A look at the fabric has ended: which links are not as the last one left them?
/// `earlier`: where its nodes are.
void SubnetManager::note_changes(const Discovery::NodesByGuid& earlier, base::Instant now) {
    if (!fabric_) {
        return link_traps_.clear();
    }
    std::vector<std::uint32_t> looked_at(extent_ ? 0 : working_->nodes.size());
    std::iota(looked_at.begin(), looked_at.end(), 0U);
    for (const std::uint32_t n : extent_ ? extent_->nodes : looked_at) {
        const mad::Guid guid = working_->nodes[n].guid();
        const std::uint32_t* found = earlier.find(guid);
        const bool some = note_changes_of(n, found == nullptr ? kNoNode : *found, now);
        const auto told = link_traps_.extract(guid);
        if (!some && !told.empty()) {
            note_untold(guid, told.mapped(), now);
        }
        link_memory_.forget_held(guid);
    }
    if (!extent_) {  // of who is gone
        link_traps_.clear();
        return link_memory_.forget_held();
    }
    for (const mad::Guid gone : extent_->gone) {
        link_memory_.forget_held(gone);
    }
}

/// Of one node, which was `before` in the last look. True: there were some.
bool SubnetManager::note_changes_of(std::uint32_t index, std::uint32_t before, base::Instant now) {
    const Node& node = working_->nodes[index];
    const Node* then = before == kNoNode ? nullptr : &fabric_->nodes[before];
    if (then != nullptr && then->ports.size() != node.ports.size()) {
        return false;  // another device with this GUID
    }
    bool some = false;
    for (std::size_t p = 0; p < node.ports.size(); ++p) {
        const PortRef here{index, mad::PortNum{static_cast<std::uint8_t>(p)}};
        if (arrives_bare(node, p, then, remembered_)) {
            health_.note(HealthRule::rebooting, id_of(*working_, here), 1, now);
        }
        if (p > 0 && then != nullptr && then->ports[p].known && node.ports[p].known &&
            link_changed(then->ports[p], node.ports[p])) {
            const bool was_linked = then->ports[p].info.linked();
            note_change(id_of(*working_, here),
                        was_linked ? speaker(*fabric_, {before, here.port}) : speaker(*working_, here), now);
            some = true;
        }
    }
    return some;
}

/// `link`: the end that speaks for it. Its time begins with the sweep: what came since is news.
void SubnetManager::note_change(PortId port, PortId link, base::Instant now) {
    link_holds_.on_act(subject_of(port), config_->trap_hold_down, sweep_begun_);
    link_memory_.note_speaker(port, link, link_holds_);
    hold_against(port, 1, now);
}

/// A switch told of changes and is as it was: something has been there and back, most likely what was there
/// before.
void SubnetManager::note_untold(mad::Guid guid, std::uint32_t traps, base::Instant now) {
    const std::vector<HoldDown::Subject> suspects = link_holds_.suspects(guid.value(), sweep_begun_);
    for (const HoldDown::Subject& one : suspects) {
        link_holds_.on_act(one, config_->trap_hold_down, sweep_begun_);
    }
    if (suspects.size() == 1) {
        hold_against({guid, mad::PortNum{static_cast<std::uint8_t>(suspects.front().second)}},
                     std::min(traps, kTrapsPerLook), now);
    }
}

/// Once for each link: of its two ends the one that speaks for it.
void SubnetManager::hold_against(PortId port, std::uint32_t times, base::Instant now) {
    if (link_memory_.speaks_for_its_link(port)) {
        health_.note(HealthRule::flapping, port, times, now);
    }
}

/// What the next light sweep is not to take for news.
HeldPorts SubnetManager::held_ports(base::Instant now) const {
    HeldPorts held;
    for (const HoldDown::Subject& closed : link_holds_.closed(now)) {
        held[mad::Guid{closed.first}].insert(mad::PortNum{static_cast<std::uint8_t>(closed.second)});
    }
    for (const PortId& port : left_out_) {
        held[port.node].insert(port.port);
    }
    for (const auto& [port, peer] : left_out_peers_) {
        held[peer.node].insert(peer.port);
    }
    return held;
}

/// A light sweep found held links not as they were, or back where they were: looked at again when that time
/// is over.
void SubnetManager::note_held(LightSweep::Result& result, base::Instant now) {
    if (not_set_up_until_ && now >= *not_set_up_until_) {
        not_set_up_until_.reset();
        result.changes.emplace_back("links that were held down are not set up");
        result.touched.reset();  // of that no switch tells
    }
    for (const auto& [guid, ports] : result.held) {
        const auto told = link_traps_.extract(guid);
        const std::uint32_t traps = told.empty() ? 0U : std::min(told.mapped(), kTrapsPerLook);
        std::set<PortId> suspects;
        for (const auto& [port, state] : ports) {
            if (link_memory_.note_held({guid, port}, state) && traps == 0) {
                hold_against({guid, port}, 1, now);
            }
            suspects.insert({guid, port});
        }
        if (suspects.empty()) {  // all are as they were; one of them has been elsewhere meanwhile
            for (const HoldDown::Subject& one : link_holds_.suspects(guid.value(), now)) {
                suspects.insert({guid, mad::PortNum{static_cast<std::uint8_t>(one.second)}});
            }
        }
        if (traps > 0 && suspects.size() == 1) {
            hold_against(*suspects.begin(), traps, now);
        }
        std::optional<base::Instant> opens;
        for (const HoldDown::Subject& closed : link_holds_.closed(now)) {
            if (closed.first == guid.value()) {
                const base::Instant at = link_holds_.opens_at(closed);
                opens = opens ? std::min(*opens, at) : at;
            }
        }
        if (opens) {
            want_sweep(SweepScope::light, fmt::format("links of {} were held down", name_of(guid)), *opens);
        }
    }
}

/// What a programming run could not do is tried again: soon, or when the links that it is about are looked at
/// again.
void SubnetManager::plan_next_look(const Programmer& done, base::Instant now) {
    std::vector<ProgramFailure> troubles = done.failures();
    troubles.insert(troubles.end(), done.surprises().begin(), done.surprises().end());
    const std::optional<base::Instant> held = held_until(troubles, now);
    // News from elsewhere may have come first: what is held down still waits to be looked at.
    not_set_up_until_ = report_.scope == "full" ? held : std::max(held, not_set_up_until_);
    if (not_set_up_until_) {
        want_sweep(SweepScope::light, "links that are held down were not set up", *not_set_up_until_);
    }
    if (held) {
        // With the others, then.
    } else if (!done.failures().empty()) {
        retry_later("set-up failed on some device", now);
    } else if (done.bounces() > 0) {
        want_sweep(SweepScope::full, "links were taken down to change them", now + config_->trap_hold_down);
    } else if (!done.surprises().empty() && surprised_) {
        retry_later(done.surprises().front().text, now);  // again: it may go on for ever
    } else if (!done.surprises().empty()) {
        want_sweep(SweepScope::full, done.surprises().front().text, now + config_->trap_hold_down);
    } else if (discovery_incomplete_) {
        retry_later("some device did not answer everything", now);
    } else if (!pending_.contains(SweepScope::full)) {  // else what failed is still to be tried again
        failed_in_a_row_ = 0;
    }
    surprised_ = !done.surprises().empty();
}

/// Where all of these are at links that are held down: until when. Else nullopt.
std::optional<base::Instant> SubnetManager::held_until(const std::vector<ProgramFailure>& troubles,
                                                       base::Instant now) const {
    base::Instant until = now;
    for (const ProgramFailure& trouble : troubles) {
        const PortRef peer = working_->port(trouble.at).peer;
        base::Instant opens = link_holds_.opens_at(subject_of(id_of(*working_, trouble.at)));
        if (peer.node != kNoNode) {
            opens = std::max(opens, link_holds_.opens_at(subject_of(id_of(*working_, peer))));
        }
        if (opens <= now) {
            return std::nullopt;
        }
        until = std::max(until, opens);
    }
    return troubles.empty() ? std::nullopt : std::optional{until};
}

}  // namespace ibf::sm
