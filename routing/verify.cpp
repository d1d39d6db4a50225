// DOC: the proof of forwarding tables.
//
// Three questions, asked of the tables alone: does everything arrive that must (routes.hpp, Verdict), does
// nothing loop, and can no set of packets wait for each other in a ring (Dally and Seitz 1987)? For the last,
// a dependency is drawn from each channel to the next one on every path that real traffic takes: from end
// ports to any LID, from switch ports 0 to end ports; on one lane, or on all that they use
// (verify_lanes.hpp).
#include <algorithm>
#include <bit>
#include <chrono>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "routing/parallel.hpp"
#include "routing/verify_parts.hpp"

namespace ibf::routing {

namespace {

struct Failure {
    std::uint32_t lid = kNoIndex;
    std::uint32_t from = kNoIndex;
};

/// What one thread found. Every field combines in any order.
struct Tally {
    std::uint64_t pairs = 0;
    std::uint64_t unreachable = 0;
    std::uint64_t switch_pairs_unreachable = 0;
    std::uint64_t loops = 0;
    Failure first;

    void add(const Tally& other) {
        pairs += other.pairs;
        unreachable += other.unreachable;
        switch_pairs_unreachable += other.switch_pairs_unreachable;
        loops += other.loops;
        if (other.first.lid < first.lid) {
            first = other.first;
        }
    }
};

/// Sources of traffic per component.
struct Population {
    std::vector<std::uint64_t> end_ports;
    std::vector<std::uint64_t> switches;  ///< with a LID
    std::vector<char> addressable;        ///< per switch
    bool all_addressable = true;
};

Population population_of(const Topology& topology, const TableView& view) {
    Population people;
    people.end_ports.assign(view.component_count(), 0);
    people.switches.assign(view.component_count(), 0);
    for (std::uint32_t at = 0; at < view.switch_count(); ++at) {
        const bool has_lid = topology.switches[at].lids.count() != 0;
        people.addressable.push_back(has_lid ? 1 : 0);
        people.all_addressable = people.all_addressable && has_lid;
        people.switches[view.component(at)] += has_lid ? 1 : 0;
        people.end_ports[view.component(at)] += view.sources(at);
    }
    return people;
}

/// Lanes that the proof has to tell apart.
std::uint32_t lanes_for(const Routes& routes, const std::vector<MulticastTree>& trees) {
    std::uint32_t lanes = lanes_told_apart(routes);
    for (const MulticastTree& tree : trees) {
        lanes = std::max(lanes, single_lane(routes) ? 1U : tree.sl + 1U);
    }
    return lanes;
}

/// Judges columns, one inspector per thread.
class Inspector {
public:
    Inspector(const Topology& topology, const Routes& routes, const TableView& view, const Population& people,
              std::uint32_t lanes)
        : view_(view),
          people_(people),
          walker_(view),
          dependencies_(view, lanes),
          busy_(view.switch_count()) {
        if (!single_lane(routes)) {
            lanes_.emplace(topology, routes, view);
        }
    }

    void inspect_block(std::uint32_t first) {
        walker_.load_block(first);
        for (std::uint32_t lid = first; lid < std::min(view_.lid_end(), first + 64); ++lid) {
            if (view_.owner(lid).switch_index != kNoIndex) {
                inspect(lid);
            }
        }
    }

    [[nodiscard]] const Tally& tally() const { return tally_; }
    [[nodiscard]] const std::vector<LostSwitches>& lost() const { return lost_; }
    [[nodiscard]] const Dependencies& dependencies() const { return dependencies_; }
    void add_lane_faults(std::set<std::pair<std::uint32_t, std::uint8_t>>& out) const {
        if (lanes_) {
            out.insert(lanes_->faults().begin(), lanes_->faults().end());
        }
    }

private:
    void inspect(std::uint32_t lid) {
        const LidOwner& owner = view_.owner(lid);
        const std::uint32_t component = view_.component(owner.switch_index);
        const bool to_end_port = owner.end_port != kNoIndex;
        walker_.walk(lid);
        tally_.pairs += people_.end_ports[component];
        if (to_end_port) {
            tally_.pairs += people_.switches[component] - 1;  // the destination itself is no source
        }
        if (walker_.arriving() != view_.switch_count()) {
            count_failures(lid);
        }
        if (lanes_) {
            lanes_->walk(walker_, lid, to_end_port ? Senders::end_ports_and_switches : Senders::end_ports,
                         dependencies_);
        } else if (to_end_port && people_.all_addressable) {
            mark_all();
        } else {
            mark_busy(to_end_port);
        }
    }

    void count_failures(std::uint32_t lid) {
        const LidOwner& owner = view_.owner(lid);
        const bool to_end_port = owner.end_port != kNoIndex;
        const std::uint64_t lost_before = tally_.switch_pairs_unreachable;
        for (std::uint32_t at = 0; at < view_.switch_count(); ++at) {
            const Fate fate = walker_.fate(at);
            tally_.loops += fate == Fate::loops ? 1 : 0;
            if (fate == Fate::arrives || view_.component(at) != view_.component(owner.switch_index)) {
                continue;
            }
            std::uint64_t failed = view_.sources(at);
            if (to_end_port) {
                failed += people_.addressable[at] != 0 ? 1 : 0;
                failed -= at == owner.switch_index ? 1 : 0;
            } else if (at != owner.switch_index && people_.addressable[at] != 0) {
                ++tally_.switch_pairs_unreachable;
            }
            tally_.unreachable += failed;
            if ((failed != 0 || fate == Fate::loops) && lid < tally_.first.lid) {
                tally_.first = {lid, at};
            }
        }
        if (tally_.switch_pairs_unreachable > lost_before) {
            lost_.push_back({lid, static_cast<std::uint32_t>(tally_.switch_pairs_unreachable - lost_before)});
        }
    }

    void mark(std::uint32_t at) {
        const std::uint16_t next = walker_.next(at);
        if (next != kNoNext && walker_.next(next) != kNoNext) {
            dependencies_.add(view_.first_channel(at) + walker_.slot(at), 0, walker_.slot(next), 0);
        }
    }

    /// Every switch is a source itself.
    void mark_all() {
        for (std::uint32_t at = 0; at < view_.switch_count(); ++at) {
            mark(at);
        }
    }

    /// Only switches that sources lie behind: walked from the far ends of the in-tree to its root.
    void mark_busy(bool to_end_port) {
        for (std::uint32_t at = 0; at < view_.switch_count(); ++at) {
            busy_[at] = view_.sources(at) != 0 || (to_end_port && people_.addressable[at] != 0) ? 1 : 0;
        }
        // A loop has no far end: twice round carries the sources of all its switches to each of them.
        const int rounds = walker_.arriving() == view_.switch_count() ? 1 : 2;
        for (int round = 0; round < rounds; ++round) {
            for (auto it = walker_.order().rbegin(); it != walker_.order().rend(); ++it) {
                if (busy_[*it] != 0 && walker_.next(*it) != kNoNext) {
                    busy_[walker_.next(*it)] = 1;
                    mark(*it);
                }
            }
        }
    }

    const TableView& view_;
    const Population& people_;
    ColumnWalker walker_;
    Dependencies dependencies_;
    std::optional<LaneWalker> lanes_;  ///< where there is more than one
    std::vector<char> busy_;
    Tally tally_;
    std::vector<LostSwitches> lost_;
};

std::string switch_name(const Topology& topology, std::uint32_t at) {
    return fmt::format("{} ({})", topology.switches[at].name, topology.switches[at].guid);
}

/// "LID 7 (host-3) from switch a: a[3] -> b[4] -> dropped".
std::string describe_failure(const Topology& topology, const TableView& view, const Failure& failure) {
    const LidOwner& owner = view.owner(failure.lid);
    const std::string target = owner.end_port != kNoIndex ? topology.end_ports[owner.end_port].name
                                                          : topology.switches[owner.switch_index].name;
    std::string text =
        fmt::format("LID {} ({}) from switch {}:", failure.lid, target, switch_name(topology, failure.from));
    std::vector<char> seen(view.switch_count(), 0);
    std::uint32_t at = failure.from;
    while (true) {
        const std::uint8_t port = view.port(at, failure.lid);
        text += fmt::format(" {}[{}]", topology.switches[at].name, port);
        if (seen[at] != 0) {
            return text + " loops";
        }
        seen[at] = 1;
        const std::uint16_t next = view.exit(at, port).next;
        if (next == kNoNext) {
            return text + (port == mad::kLftDrop ? " has no entry" : " leads elsewhere");
        }
        text += " ->";
        at = next;
    }
}

/// "SLs lead to VL 4 at leaf-1 (0x...) port 5, a link of 2 data lanes".
std::string describe_lane_fault(const Topology& topology, const TableView& view, std::uint32_t channel,
                                std::uint8_t lane) {
    const ChannelStep step = channel_step(topology, view, channel, lane);
    const PortPeer& peer = topology.switches[view.channel_switch(channel)].peers[view.channel_port(channel)];
    return fmt::format("packets would leave {} port {} on VL {}, but the link to {} has {} data lane{}",
                       step.node, step.port, lane, step.peer, peer.data_vls, peer.data_vls == 1 ? "" : "s");
}

/// Dependencies of multicast packets: from every link into a switch of the tree to every other one out of it.
class TreeMarker {
public:
    TreeMarker(const Topology& topology, const Routes& routes, const TableView& view, Dependencies& out)
        : topology_(topology), routes_(routes), view_(view), one_lane_(out.lanes() == 1), out_(out) {}

    void mark(const MulticastTree& tree) {
        for (const auto& [at, ports] : tree.ports) {
            for (const mad::PortNum input : ports) {
                const PortPeer& before = peer(at, input);
                if (before.kind == PortPeer::Kind::switch_) {
                    mark_from(tree, at, ports, input, before);
                }
            }
        }
    }

private:
    [[nodiscard]] const PortPeer& peer(std::uint32_t at, mad::PortNum port) const {
        static const PortPeer kNobody;
        const std::vector<PortPeer>& peers = topology_.switches[at].peers;
        return port.value() < peers.size() ? peers[port.value()] : kNobody;
    }

    void mark_from(const MulticastTree& tree, std::uint32_t at, const std::vector<mad::PortNum>& ports,
                   mad::PortNum input, const PortPeer& before) {
        const std::uint32_t channel =
            view_.first_channel(before.index) + view_.exit(before.index, before.port.value()).slot;
        for (const std::uint8_t held : lanes_into(tree, before.index, before.port)) {
            for (const mad::PortNum exit : ports) {
                if (exit != input && peer(at, exit).kind == PortPeer::Kind::switch_) {
                    out_.add(channel, held, view_.exit(at, exit.value()).slot, lane(tree, at, input, exit));
                }
            }
        }
    }

    /// Lanes on which the tree's packets leave a switch by a port, wherever they came in.
    [[nodiscard]] std::set<std::uint8_t> lanes_into(const MulticastTree& tree, std::uint32_t at,
                                                    mad::PortNum exit) const {
        std::set<std::uint8_t> lanes;
        if (const auto found = tree.ports.find(at); found != tree.ports.end()) {
            for (const mad::PortNum input : found->second) {
                if (input != exit) {
                    lanes.insert(lane(tree, at, input, exit));
                }
            }
        }
        return lanes;
    }

    [[nodiscard]] std::uint8_t lane(const MulticastTree& tree, std::uint32_t at, mad::PortNum input,
                                    mad::PortNum exit) const {
        return one_lane_ ? 0 : routes_.lane(SwitchIndex{at}, input, exit, tree.sl);
    }

    const Topology& topology_;
    const Routes& routes_;
    const TableView& view_;
    bool one_lane_;
    Dependencies& out_;
};

}  // namespace

Verdict verify(const Topology& topology, const Routes& routes, unsigned threads) {
    return verify(topology, routes, {}, threads);
}

Verdict verify(const Topology& topology, const Routes& routes, const std::vector<MulticastTree>& trees,
               unsigned threads) {
    return examine(topology, routes, trees, threads, {});
}

Verdict examine(const Topology& topology, const Routes& given, const std::vector<MulticastTree>& trees,
                unsigned threads, const ProofReader& read) {
    const auto start = std::chrono::steady_clock::now();
    const Routes routes = in_order_of(topology, given);
    const TableView view(topology, routes);
    const Population people = population_of(topology, view);
    const std::uint32_t lanes = lanes_for(routes, trees);
    std::vector<std::optional<Inspector>> inspectors(resolve_threads(threads));
    parallel_ranges((view.lid_end() + std::size_t{63}) / 64, 4, threads, [&](const WorkRange& range) {
        std::optional<Inspector>& mine = inspectors[range.slot];
        if (!mine) {
            mine.emplace(topology, routes, view, people, lanes);
        }
        for (std::size_t block = range.begin; block < range.end; ++block) {
            mine->inspect_block(static_cast<std::uint32_t>(block * 64));
        }
    });
    Tally total;
    Dependencies dependencies(view, lanes);
    std::set<std::pair<std::uint32_t, std::uint8_t>> lane_faults;
    std::vector<LostSwitches> lost;
    for (const std::optional<Inspector>& inspector : inspectors) {
        if (inspector) {
            lost.insert(lost.end(), inspector->lost().begin(), inspector->lost().end());
            total.add(inspector->tally());
            dependencies.merge(inspector->dependencies());
            inspector->add_lane_faults(lane_faults);
        }
    }
    TreeMarker marker(topology, routes, view, dependencies);
    std::for_each(trees.begin(), trees.end(), [&](const MulticastTree& tree) { marker.mark(tree); });
    if (read) {
        read(view, dependencies, lost);
    }
    Verdict verdict;
    verdict.pairs_checked = total.pairs;
    verdict.unreachable_pairs = total.unreachable;
    verdict.switch_pairs_unreachable = total.switch_pairs_unreachable;
    verdict.loops = total.loops;
    if (total.first.lid != kNoIndex) {
        verdict.first_failure = describe_failure(topology, view, total.first);
    }
    verdict.lane_faults = lane_faults.size();
    if (!lane_faults.empty()) {
        const auto& [channel, lane] = *lane_faults.begin();
        verdict.first_lane_fault = describe_lane_fault(topology, view, channel, lane);
    }
    for (const std::uint32_t vertex : find_cycle(view, dependencies)) {
        verdict.credit_loop.push_back(
            channel_step(topology, view, vertex / dependencies.lanes(), vertex % dependencies.lanes()));
    }
    verdict.credit_loop_free = verdict.credit_loop.empty();
    verdict.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return verdict;
}

}  // namespace ibf::routing
