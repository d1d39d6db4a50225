#include "routing/nue_lane.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/check.hpp"

namespace ibf::routing {

namespace {

constexpr std::uint32_t kUnsettled = 0xFFFFFFFFU;
constexpr std::uint32_t kOffered = 0xFFFFFFFEU;  // unsettled, and in the list to be looked at
constexpr std::uint32_t kLeftOut = 0xFFFFFFFDU;

/// All up channels, the lowest first, then all down channels, the highest first: every up/down path agrees.
std::vector<std::uint32_t> up_down_channels(const Channels& channels,
                                            const std::vector<std::uint32_t>& position) {
    std::vector<std::uint32_t> order(channels.count());
    std::iota(order.begin(), order.end(), 0U);
    const auto key = [&](std::uint32_t channel) {
        const std::uint32_t from = position[channels.from(channel)];
        const bool up = position[channels.peer(channel)] < from;
        return std::tuple(!up, up ? ~from : from, channel);
    };
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
    return order;
}

/// Trees of switches that grow together.
class Forest {
public:
    explicit Forest(std::uint32_t switches) : above_(switches) {
        std::iota(above_.begin(), above_.end(), 0U);
    }

    /// False if the two were together already.
    bool join(std::uint32_t a, std::uint32_t b) {
        a = top(a);
        b = top(b);
        above_[a] = b;
        return a != b;
    }

private:
    std::uint32_t top(std::uint32_t at) {
        for (; above_[at] != at; at = above_[at]) {
            above_[at] = above_[above_[at]];
        }
        return at;
    }
    std::vector<std::uint32_t> above_;
};

}  // namespace

NueLane::NueLane(const NueFabric& fabric, const std::vector<std::uint32_t>& position, NueAppetite appetite)
    : fabric_(fabric),
      channels_(fabric.channels),
      appetite_(appetite),
      order_(fabric.channels, up_down_channels(fabric.channels, position)),
      escape_(position.size()),
      escape_exit_(position.size()),
      hops_(position.size()),
      exit_(position.size()),
      path_load_(position.size()),
      flows_(position.size()) {
    grow_escape_tree(position);
    keep_escape_tree();
}

/// Kruskal: links whose switches hold the most LIDs first, then by the places of their switches. Where all
/// switches hold all LIDs, that hangs each under the first of its neighbours.
void NueLane::grow_escape_tree(const std::vector<std::uint32_t>& position) {
    const auto holds = [&](std::uint32_t at) {
        return std::min<std::uint32_t>(fabric_.topology.switches[at].lft_cap, fabric_.topology.max_lid + 1U);
    };
    std::vector<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>> links;
    for (std::uint32_t channel = 0; channel < channels_.count(); ++channel) {
        const std::uint32_t from = channels_.from(channel);
        const std::uint32_t to = channels_.peer(channel);
        if (position[to] < position[from]) {
            links.emplace_back(~std::min(holds(from), holds(to)), position[from], position[to], channel);
        }
    }
    std::sort(links.begin(), links.end());
    Forest forest(fabric_.graph.switch_count());
    for (const auto& link : links) {
        const std::uint32_t channel = std::get<3>(link);
        if (forest.join(channels_.from(channel), channels_.peer(channel))) {
            escape_[channels_.from(channel)].push_back(channel);
            escape_[channels_.peer(channel)].push_back(channels_.reverse(channel));
        }
    }
}

void NueLane::keep_escape_tree() {
    for (const std::vector<std::uint32_t>& exits : escape_) {
        for (const std::uint32_t back : exits) {
            for (const std::uint32_t exit : exits) {
                if (exit != back) {
                    const std::uint32_t input = channels_.reverse(back);
                    const bool acyclic = order_.add(input, exit);
                    IBF_CHECK(acyclic, "dependency {} -> {} closes a cycle in a tree", input, exit);
                    order_.keep(input, exit);
                }
            }
        }
    }
    order_.drop_to(0);
}

void NueLane::route(const NueDestination& destination, const std::vector<std::uint64_t>& load,
                    LftRows& rows) {
    load_ = load;
    point_escape_tree(destination.at);
    for (const NueTree& tree : destination.trees) {
        lay(destination.at, tree, rows);
    }
}

void NueLane::point_escape_tree(std::uint32_t to) {
    escape_exit_[to] = kNoIndex;
    settled_.assign(1, to);  // what the escape tree reached so far
    for (std::size_t head = 0; head < settled_.size(); ++head) {
        const std::uint32_t at = settled_[head];
        for (const std::uint32_t exit : escape_[at]) {
            if (exit != escape_exit_[at]) {
                escape_exit_[channels_.peer(exit)] = channels_.reverse(exit);
                settled_.push_back(channels_.peer(exit));
            }
        }
    }
}

void NueLane::lay(std::uint32_t to, const NueTree& tree, LftRows& rows) {
    const std::uint16_t lid = tree.lids.front().lid;
    begin(to, lid);
    std::size_t from = 0;
    for (std::uint32_t hops = 0; from < settled_.size(); ++hops) {
        const std::size_t end = settled_.size();
        for (; from < end; ++from) {
            offer(settled_[from]);
        }
        for (const std::uint32_t at : offered_) {
            const bool settled = choose(at, hops, lid);
            hops_[at] = settled ? hops + 1 : kUnsettled;
            if (settled) {
                settled_.push_back(at);
            }
        }
        offered_.clear();
    }
    order_.drop_to(0);
    count_flows(to, tree.end_ports);
    write(to, tree, rows);
}

void NueLane::begin(std::uint32_t to, std::uint16_t lid) {
    for (std::uint32_t at = 0; at < hops_.size(); ++at) {
        hops_[at] = fabric_.topology.switches[at].lft_cap <= lid ? kLeftOut : kUnsettled;
    }
    settled_.assign(1, to);
    hops_[to] = 0;
    exit_[to] = kNoIndex;
    path_load_[to] = 0;
}

/// A switch was just settled: its neighbours may use their links to it.
void NueLane::offer(std::uint32_t at) {
    for (std::uint32_t out = channels_.first(at); out < channels_.first(at + 1); ++out) {
        const std::uint32_t other = channels_.peer(out);
        if (hops_[other] == kUnsettled) {
            hops_[other] = kOffered;
            offered_.push_back(other);
        }
    }
}

/// Says nothing that depends on the way that led to the dependencies in use: see hold_on() in nue.cpp.
bool NueLane::usable(std::uint32_t exit) const {
    const std::uint32_t next = exit_[channels_.peer(exit)];
    if (next == kNoIndex) {
        return true;
    }
    return appetite_ == NueAppetite::ordered ? order_.ordained(exit, next) : !order_.blocked(exit, next);
}

/// Flows on the path; and any dependency that agrees with the order is cheaper than one that may not.
std::uint64_t NueLane::price(std::uint32_t exit) const {
    constexpr std::uint64_t kStrange = std::uint64_t{1} << 62U;
    const std::uint32_t via = channels_.peer(exit);
    const std::uint32_t next = exit_[via];
    const bool agrees = next == kNoIndex || order_.agrees(exit, next);
    return path_load_[via] + load_[exit] + (agrees ? 0 : kStrange);
}

/// Settles the switch, if any exit that leads to one of `hops` will do: the old one, min-hop's, or the
/// cheapest.
bool NueLane::choose(std::uint32_t at, std::uint32_t hops, std::uint16_t lid) {
    const std::uint32_t old = exit_in(fabric_.old[at].get(), at, hops, lid);
    if (old != kNoIndex && settle(at, old)) {
        return true;
    }
    if (appetite_ == NueAppetite::ordered) {
        const std::uint32_t wished = exit_in(fabric_.minhop[at].get(), at, hops, lid);
        if (wished != kNoIndex && usable(wished) && settle(at, wished)) {
            return true;
        }
    }
    return choose_by_price(at, hops);
}

bool NueLane::choose_by_price(std::uint32_t at, std::uint32_t hops) {
    priced_.clear();
    for (std::uint32_t exit = channels_.first(at); exit < channels_.first(at + 1); ++exit) {
        if (hops_[channels_.peer(exit)] == hops && usable(exit)) {
            priced_.emplace_back(price(exit), exit);
        }
    }
    // A heap, cheapest on top: mostly the first will do.
    std::make_heap(priced_.begin(), priced_.end(), std::greater<>());
    for (auto end = priced_.end(); end != priced_.begin(); --end) {
        std::pop_heap(priced_.begin(), end, std::greater<>());
        if (settle(at, std::prev(end)->second)) {
            return true;
        }
    }
    return false;
}

/// Fixes the exit of a switch, if its dependencies may be used.
bool NueLane::settle(std::uint32_t at, std::uint32_t exit) {
    const std::uint32_t via = channels_.peer(exit);
    const std::uint32_t next = exit_[via];
    const std::size_t mark = order_.trials();
    if (next != kNoIndex && !order_.add(exit, next)) {
        return false;
    }
    for (const std::uint32_t back : escape_[at]) {
        const bool waits = back != escape_exit_[at] && hops_[channels_.peer(back)] >= kOffered;
        if (waits && !order_.add(channels_.reverse(back), exit)) {
            order_.drop_to(mark);
            return false;
        }
    }
    if (next != kNoIndex) {
        order_.keep(exit, next);
    }
    exit_[at] = exit;
    path_load_[at] = path_load_[via] + load_[exit];
    return true;
}

/// The channel that a row sends a LID to, if it leads to a switch of `hops`; else kNoIndex.
std::uint32_t NueLane::exit_in(const LftRow* row, std::uint32_t at, std::uint32_t hops,
                               std::uint16_t lid) const {
    if (row == nullptr || lid >= row->size()) {
        return kNoIndex;
    }
    const std::uint32_t exit = channels_.at(at, (*row)[lid]);
    return exit != kNoIndex && hops_[channels_.peer(exit)] == hops ? exit : kNoIndex;
}

void NueLane::count_flows(std::uint32_t to, std::uint32_t end_ports) {
    if (end_ports == 0) {
        return;  // only management packets go to a switch
    }
    const std::uint8_t* shortest = fabric_.hops.row(to);
    for (const std::uint32_t at : settled_) {
        flows_[at] = std::uint64_t{fabric_.graph.hosts[at]} * end_ports;
        detours_ += flows_[at] * (hops_[at] - shortest[at]);
    }
    for (std::size_t i = settled_.size() - 1; i > 0; --i) {  // the farthest first
        const std::uint32_t at = settled_[i];
        load_[exit_[at]] += flows_[at];
        flows_[channels_.peer(exit_[at])] += flows_[at];
    }
}

void NueLane::write(std::uint32_t to, const NueTree& tree, LftRows& rows) const {
    for (const NueLid& target : tree.lids) {
        (*rows[to])[target.lid] = target.local_port;
        for (std::size_t i = 1; i < settled_.size(); ++i) {
            (*rows[settled_[i]])[target.lid] = fabric_.graph.ports[exit_[settled_[i]]];
        }
    }
}

}  // namespace ibf::routing
