// Discovery of what was touched: where it begins, what it reads again, what it leaves out. Everything else is
// discovery.cpp's, whatever the scope.
#include <algorithm>

#include "daemon/sm/discovery.hpp"

namespace ibf::sm {
namespace {

using fabric::IsolationReason;
using fabric::kNoNode;
using fabric::Node;
using fabric::Port;
using fabric::PortRef;

/// Repeats of a question over a way that is known to be good: who is silent there ends the look.
constexpr std::uint8_t kOwedRetries = 4;

/// Isolations that plans and their execution found, not discovery: they are found again.
bool is_of_a_plan(const fabric::Isolation& item) {
    return item.reason == IsolationReason::setup_failed || item.reason == IsolationReason::no_lid;
}

}  // namespace

void Discovery::begin_with_previous() {
    fabric_ = *input_.previous;
    fabric_.sms = input_.touched->sms;
    for (const fabric::OtherSm& sm : fabric_.sms) {
        if (!sm.answered) {
            sms_owed_.push_back(sm.at);
        }
    }
    std::erase_if(fabric_.isolations, is_of_a_plan);
    node_by_guid_ = previous_by_guid_;
    std::vector<std::pair<mad::Guid, PortRef>> ports;
    ports.reserve(fabric_.nodes.size());
    for (std::uint32_t n = 0; n < fabric_.nodes.size(); ++n) {
        Node& node = fabric_.nodes[n];
        for (Port& port : node.ports) {
            extent_.all_usable = extent_.all_usable && port.usable;
            port.usable =
                true;  // likewise: who refused its set-up is asked again, who was left out is judged anew
        }
        for (std::size_t p = 1; p < node.ports.size() && !node.is_switch(); ++p) {
            if (node.ports[p].guid != mad::Guid{}) {
                ports.emplace_back(node.ports[p].guid,
                                   PortRef{n, mad::PortNum{static_cast<std::uint8_t>(p)}});
            }
        }
    }
    port_by_guid_ = fabric::GuidMap<PortRef>(std::move(ports));
    unheard_ = input_.touched->unheard;
    ways_changed_ = true;
    if (!fabric_.nodes[fabric_.local.node].is_switch()) {
        ask_port_info(fabric_.local.node, fabric_.local.port);
    }
    for (const std::uint32_t node : input_.touched->changed) {
        read_again(node);
        read_switch(node);
    }
}

/// Everything at this switch is found anew: what was isolated there, and who was silent.
void Discovery::read_again(std::uint32_t node) {
    read_.insert(node);
    fresh_.insert(node);
    changed_.insert(node);
    std::erase_if(fabric_.isolations, [node](const fabric::Isolation& item) { return item.at.node == node; });
}

/// Something may leave now. What is gone is known before anybody is asked who is there.
bool Discovery::may_ask() {
    if (!input_.touched) {
        return !waiting_.empty();
    }
    if (open_others_ == 0 && contradiction_.empty()) {
        ask_owed();
    }
    if (waiting_.empty() || !contradiction_.empty()) {
        return false;
    }
    return open_others_ == 0 || Tag::unpack(waiting_.front().tag).ask != Ask::node_info;
}

/// Asks the switches to which a way is known now that crosses none of their kind.
void Discovery::ask_owed() {
    if (!ways_changed_ || (owed_.empty() && unheard_.empty() && sms_owed_.empty())) {
        return;
    }
    ways_changed_ = false;
    find_paths();
    const auto ask_reached = [this](std::set<std::uint32_t>& from, std::set<std::uint32_t>& to) {
        for (auto node = from.begin(); node != from.end();) {
            if (reached_[*node] == 0) {
                ++node;
                continue;
            }
            to.insert(*node);
            read_switch(*node);
            waiting_.front().timeout = contact_timeout();
            waiting_.front().retries = kOwedRetries;
            node = from.erase(node);
        }
    };
    std::set<std::uint32_t> owed;
    ask_reached(owed_, owed);
    ways_changed_ = !owed.empty();  // once they are read, the way on leads over them
    std::for_each(owed.begin(), owed.end(), [this](std::uint32_t node) { read_again(node); });
    ask_reached(unheard_, asked_);
    if (open_others_ > 0) {
        return;
    }
    for (const PortRef at : std::exchange(sms_owed_, {})) {
        if (reached_[at.node] != 0) {
            ask_sm(at.node, at.port);
        }
    }
}

/// Of a switch that the light sweep did not hear: nothing has changed there, it was only out of reach.
bool Discovery::has_nothing_to_tell(std::uint32_t node, const std::optional<mad::SwitchInfo>& before) {
    if (asked_.erase(node) == 0) {
        return false;
    }
    ways_changed_ = true;
    const mad::SwitchInfo& now = *fabric_.nodes[node].switch_info;
    if (!now.port_state_change && before && before->linear_fdb_top == now.linear_fdb_top) {
        return true;
    }
    read_again(node);
    return false;
}

/// The cable that the previous fabric has at a port whose state was just read: a link that was Active, and
/// is, has not been down, as nobody but us makes it Active again.
bool Discovery::same_cable(PortRef ref) const {
    if (!input_.touched || linked_.contains(ref)) {
        return true;
    }
    const Node* before = previous_node(fabric_.nodes[ref.node].guid());
    return before != nullptr && fabric_.port(ref).info.linked() &&
           fabric_.port(ref).info.state == mad::PortState::active &&
           before->ports[ref.port.value()].info.state == mad::PortState::active;
}

/// The cable at this switch port is gone, or may be another one.
void Discovery::part(PortRef ref) {
    const PortRef far = fabric_.port(ref).peer;
    if (far == fabric_.local) {
        return contradict("our own cable was touched");
    }
    unlink(ref);
    Node& other = fabric_.nodes[far.node];
    if (other.is_switch()) {
        return owe(far.node);
    }
    // An adapter's port speaks through its own cable only; one that has none left is not there.
    extent_.same_owners = false;
    port_by_guid_.erase(other.ports[far.port.value()].guid);
    other.ports[far.port.value()] = Port{};
    std::erase_if(fabric_.sms, [far](const fabric::OtherSm& sm) { return sm.at == far; });
    std::erase(sms_owed_, far);
    const bool linked = std::any_of(other.ports.begin(), other.ports.end(),
                                    [](const Port& port) { return port.peer.node != kNoNode; });
    if (!linked && far.node != fabric_.local.node) {
        node_by_guid_.erase(other.guid());
    }
}

/// A switch of the previous fabric has news that a neighbour told.
void Discovery::owe(std::uint32_t node) {
    if (input_.touched && node < input_.previous->nodes.size() && !read_.contains(node)) {
        unheard_.erase(node);
        owed_.insert(node);
        ways_changed_ = true;
    }
}

/// The shortest ways from our own port, over no switch that has not been heard.
void Discovery::find_paths() {
    reached_.assign(fabric_.nodes.size(), 0);
    std::vector<std::uint32_t> queue;
    const auto reach = [&](PortRef at, const mad::DrPath& path) {
        Node& node = fabric_.nodes[at.node];
        if (!node.is_switch() && at != fabric_.local) {
            node.ports[at.port.value()].path = path;
        }
        if (reached_[at.node] == 0) {
            reached_[at.node] = 1;
            node.path = path;
            queue.push_back(at.node);
        }
    };
    const PortRef own = fabric_.local;
    reach(own, mad::DrPath{});
    for (std::size_t i = 0; i < queue.size(); ++i) {
        const std::uint32_t n = queue[i];
        const Node& node = fabric_.nodes[n];
        if (node.path.hops >= mad::kHopsMax || owed_.contains(n) || unheard_.contains(n)) {
            continue;
        }
        for (std::size_t p = 1; p < node.ports.size(); ++p) {
            const PortRef here{n, mad::PortNum{static_cast<std::uint8_t>(p)}};
            const bool crosses = node.is_switch() || here == own;  // an adapter forwards nothing
            if (crosses && node.ports[p].peer.node != kNoNode) {
                reach(node.ports[p].peer, mad::DrPath{node.path}.then(here.port));
            }
        }
    }
}

void Discovery::drop_unreached() {
    if (!input_.touched) {
        return;
    }
    find_paths();
    std::vector<std::uint32_t> to(fabric_.nodes.size(), kNoNode);
    std::uint32_t kept = 0;
    for (std::uint32_t n = 0; n < fabric_.nodes.size(); ++n) {
        if (reached_[n] != 0) {
            to[n] = kept++;
        } else {
            extent_.gone.push_back(fabric_.nodes[n].guid());
            extent_.same_owners = false;
        }
    }
    for (const std::uint32_t n : fresh_) {
        if (to[n] != kNoNode) {
            extent_.nodes.push_back(to[n]);
        }
    }
    if (kept < fabric_.nodes.size()) {
        renumber(to);
    }
}

void Discovery::renumber(const std::vector<std::uint32_t>& to) {
    std::size_t kept = 0;
    for (std::size_t n = 0; n < to.size(); ++n) {
        if (to[n] == kNoNode) {
            continue;
        }
        if (kept != n) {
            fabric_.nodes[kept] = std::move(fabric_.nodes[n]);
        }
        for (Port& port : fabric_.nodes[kept].ports) {
            if (port.peer.node != kNoNode) {
                port.peer =
                    to[port.peer.node] == kNoNode ? PortRef{} : PortRef{to[port.peer.node], port.peer.port};
            }
        }
        ++kept;
    }
    fabric_.nodes.resize(kept);
    const auto keep = [&to](auto& items) {
        std::erase_if(
            items, [&](const auto& item) { return item.at.node != kNoNode && to[item.at.node] == kNoNode; });
        for (auto& item : items) {
            item.at.node = item.at.node == kNoNode ? kNoNode : to[item.at.node];
        }
    };
    keep(fabric_.isolations);
    keep(fabric_.sms);
    fabric_.local.node = to[fabric_.local.node];
}

void Discovery::contradict(std::string why) {
    if (contradiction_.empty()) {
        contradiction_ = std::move(why);
    }
}

}  // namespace ibf::sm
