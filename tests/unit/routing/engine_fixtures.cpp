#include "engine_fixtures.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "routing/netlist.hpp"

namespace ibf::routing::test {

namespace {

constexpr std::uint64_t kSwitchGuid = 0x1000;
constexpr std::uint64_t kHostGuid = 0x2000;

}  // namespace

Topology FabricMaker::make() const {
    TopologyBuilder builder;
    std::vector<std::function<void()>> calls;
    std::vector<std::uint8_t> next_port(switches, 1);
    std::uint16_t next_lid = static_cast<std::uint16_t>(1U << lmc);
    std::uint64_t next_host = kHostGuid;
    std::vector<std::uint16_t> host_links;
    for (unsigned at = 0; at < switches; ++at) {
        for (unsigned i = 0; i < (hosts.empty() ? 1U : hosts[at]); ++i) {
            TopologyEndPort end;
            end.node_guid = mad::Guid{next_host};
            end.port_guid = mad::Guid{next_host};
            end.port = mad::PortNum{1};
            end.lids = {mad::Lid{next_lid}, lmc};
            end.name = "host-" + std::to_string(next_host - kHostGuid);
            next_lid = static_cast<std::uint16_t>(next_lid + (1U << lmc));
            const mad::PortNum port{next_port[at]++};
            const mad::Guid guid{kSwitchGuid + at};
            calls.emplace_back([&builder, end] { builder.add_end_port(end); });
            calls.emplace_back([this, &builder, end, guid, port] {
                builder.add_link(end.node_guid, end.port, guid, port, {lanes});
            });
            ++next_host;
        }
    }
    for (const auto& [a, b] : links) {
        const mad::PortNum a_port{next_port[a]++};
        const mad::PortNum b_port{next_port[b]++};
        const mad::Guid a_guid{kSwitchGuid + a};
        const mad::Guid b_guid{kSwitchGuid + b};
        calls.emplace_back(
            [=, this, &builder] { builder.add_link(a_guid, a_port, b_guid, b_port, {lanes}); });
    }
    for (unsigned at = 0; at < switches; ++at) {
        TopologySwitch item;
        item.guid = mad::Guid{kSwitchGuid + at};
        item.lids = {mad::Lid{next_lid++}, 0};
        item.num_ports = static_cast<std::uint8_t>(next_port[at] - 1);
        item.lft_cap = lft_caps.empty() ? 0xC000 : lft_caps[at];
        item.name = "switch-" + std::to_string(at);
        calls.emplace_back([&builder, item] { builder.add_switch(item); });
    }
    if (shuffle_seed != 0) {
        base::Prng prng(shuffle_seed);
        prng.shuffle(calls);
    }
    for (const auto& call : calls) {
        call();
    }
    return builder.build();
}

namespace {

bool owns(const Topology& topology, std::uint32_t at, unsigned port, std::uint32_t lid) {
    const mad::Lid wanted{static_cast<std::uint16_t>(lid)};
    if (port == 0) {
        return topology.switches[at].lids.contains(wanted);
    }
    const PortPeer& peer = topology.switches[at].peers[port];
    return peer.kind == PortPeer::Kind::end_port && topology.end_ports[peer.index].lids.contains(wanted);
}

/// Channels of a walk that entered `at` by `input`; `arrived` tells how it ended.
std::vector<SlowChannel> channels_of(const Topology& topology, const Routes& routes, std::uint32_t at,
                                     mad::PortNum input, std::uint32_t lid, bool& arrived) {
    std::vector<SlowChannel> channels;
    const std::uint8_t sl = routes.sl(SwitchIndex{at}, mad::Lid{static_cast<std::uint16_t>(lid)});
    for (std::size_t steps = 0; steps <= topology.switches.size(); ++steps) {
        const unsigned port = routes.port(SwitchIndex{at}, mad::Lid{static_cast<std::uint16_t>(lid)});
        const std::vector<PortPeer>& peers = topology.switches[at].peers;
        if (port >= peers.size() || port == 0 || peers[port].kind != PortPeer::Kind::switch_) {
            arrived = port < peers.size() && owns(topology, at, port, lid);
            return channels;
        }
        const mad::PortNum exit{static_cast<std::uint8_t>(port)};
        channels.push_back({at, port, routes.lane(SwitchIndex{at}, input, exit, sl)});
        input = peers[port].port;
        at = peers[port].index;
    }
    arrived = false;
    return channels;
}

bool has_cycle(const std::map<SlowChannel, std::set<SlowChannel>>& waits) {
    std::map<SlowChannel, int> colour;  // 0 new, 1 open, 2 done
    const std::function<bool(const SlowChannel&)> visit = [&](const SlowChannel& at) {
        colour[at] = 1;
        if (const auto found = waits.find(at); found != waits.end()) {
            for (const SlowChannel& next : found->second) {
                if (colour[next] == 1 || (colour[next] == 0 && visit(next))) {
                    return true;
                }
            }
        }
        colour[at] = 2;
        return false;
    };
    for (const auto& [channel, next] : waits) {
        if (colour[channel] == 0 && visit(channel)) {
            return true;
        }
    }
    return false;
}

struct Destination {
    std::uint32_t lid;
    std::uint32_t end_port;      // kNoIndex: a switch
    std::uint32_t switch_index;  // where it is delivered
};

std::vector<Destination> destinations_of(const Topology& topology) {
    std::vector<Destination> all;
    for (std::uint32_t end = 0; end < topology.end_ports.size(); ++end) {
        const TopologyEndPort& port = topology.end_ports[end];
        for (std::uint32_t lid = port.lids.base.value(); lid < port.lids.end(); ++lid) {
            all.push_back({lid, end, port.switch_index});
        }
    }
    for (std::uint32_t at = 0; at < topology.switches.size(); ++at) {
        const mad::LidRange& lids = topology.switches[at].lids;
        for (std::uint32_t lid = lids.base.value(); lid < lids.end(); ++lid) {
            all.push_back({lid, kNoIndex, at});
        }
    }
    return all;
}

}  // namespace

SlowVerdict judge_slowly(const Topology& topology, const Routes& routes) {
    SlowVerdict verdict;
    const auto distances = plain_distances(topology);
    const auto check = [&](std::uint32_t from, mad::PortNum input, const Destination& to) {
        if (distances[from][to.switch_index] < 0) {
            return;
        }
        bool arrived = false;
        const std::vector<SlowChannel> channels = channels_of(topology, routes, from, input, to.lid, arrived);
        ++verdict.pairs;
        verdict.unreachable += arrived ? 0 : 1;
        for (std::size_t i = 0; i + 1 < channels.size(); ++i) {
            verdict.waits[channels[i]].insert(channels[i + 1]);
        }
        for (const SlowChannel& channel : channels) {
            if (channel.lane >= topology.switches[channel.at].peers[channel.port].data_vls) {
                verdict.lane_faults.insert(channel);
            }
        }
    };
    for (const Destination& to : destinations_of(topology)) {
        for (std::uint32_t end = 0; end < topology.end_ports.size(); ++end) {
            if (end != to.end_port && topology.end_ports[end].lids.count() != 0) {
                check(topology.end_ports[end].switch_index, topology.end_ports[end].switch_port, to);
            }
        }
        for (std::uint32_t at = 0; to.end_port != kNoIndex && at < topology.switches.size(); ++at) {
            if (topology.switches[at].lids.count() != 0) {
                check(at, mad::PortNum{0}, to);
            }
        }
    }
    verdict.cyclic = has_cycle(verdict.waits);
    return verdict;
}

std::vector<std::vector<int>> plain_distances(const Topology& topology) {
    const std::size_t count = topology.switches.size();
    std::vector<std::vector<int>> distances(count, std::vector<int>(count, -1));
    for (std::uint32_t from = 0; from < count; ++from) {
        std::vector<std::uint32_t> queue{from};
        distances[from][from] = 0;
        for (std::size_t head = 0; head < queue.size(); ++head) {
            for (const PortPeer& peer : topology.switches[queue[head]].peers) {
                if (peer.kind == PortPeer::Kind::switch_ && distances[from][peer.index] < 0) {
                    distances[from][peer.index] = distances[from][queue[head]] + 1;
                    queue.push_back(peer.index);
                }
            }
        }
    }
    return distances;
}

std::vector<std::uint32_t> walk(const Topology& topology, const Routes& routes, std::uint32_t from,
                                std::uint32_t lid) {
    bool arrived = false;
    const std::vector<SlowChannel> channels =
        channels_of(topology, routes, from, mad::PortNum{0}, lid, arrived);
    if (!arrived) {
        return {};
    }
    std::vector<std::uint32_t> path{from};
    for (const auto& [at, port, lane] : channels) {
        path.push_back(topology.switches[at].peers[port].index);
    }
    return path;
}

Topology without_links(Topology topology, std::uint64_t count, base::Prng& prng) {
    for (std::uint64_t tries = 0; count != 0 && tries < 10'000; ++tries) {
        TopologySwitch& item = topology.switches[prng.below(topology.switches.size())];
        PortPeer& peer = item.peers[prng.below(item.peers.size())];
        if (peer.kind == PortPeer::Kind::switch_) {
            topology.switches[peer.index].peers[peer.port.value()] = {};
            peer = {};
            --count;
        }
    }
    return topology;
}

Topology generated(const std::string& spec) {
    const auto netlist = generate_netlist(spec);
    EXPECT_TRUE(netlist) << spec;
    auto topology = topology_of(*netlist, 0);
    EXPECT_TRUE(topology) << spec;
    return std::move(*topology);
}

Routes routes_of(const std::string& engine, const Topology& topology) {
    auto routes = run_engine(engine, topology, nullptr, RouteOptions{});
    EXPECT_TRUE(routes) << (routes ? "" : routes.error().message);
    return std::move(*routes);
}

std::vector<Edge> links_from_bits(unsigned switches, std::uint32_t bits) {
    std::vector<Edge> links;
    for (unsigned a = 0; a < switches; ++a) {
        for (unsigned b = a + 1; b < switches; ++b, bits >>= 1U) {
            if ((bits & 1U) != 0) {
                links.emplace_back(a, b);
            }
        }
    }
    return links;
}

std::vector<Edge> random_links(unsigned switches, unsigned extra, std::uint64_t seed) {
    base::Prng prng(seed);
    std::vector<Edge> links;
    for (unsigned at = 1; at < switches; ++at) {
        links.emplace_back(static_cast<unsigned>(prng.below(at)), at);
    }
    for (unsigned i = 0; i < extra; ++i) {
        const auto a = static_cast<unsigned>(prng.below(switches));
        const auto b = static_cast<unsigned>(prng.below(switches));
        if (a != b) {
            links.emplace_back(a, b);
        }
    }
    return links;
}

FabricMaker random_fabric(std::uint64_t seed, unsigned more_switches, unsigned more_links) {
    base::Prng prng(seed);
    const auto switches = static_cast<unsigned>(6 + prng.below(more_switches));
    FabricMaker maker{.switches = switches,
                      .links = random_links(switches, static_cast<unsigned>(prng.below(more_links)), seed)};
    for (unsigned at = 0; at < switches; ++at) {
        maker.hosts.push_back(static_cast<unsigned>(prng.below(4)));
    }
    maker.lmc = static_cast<std::uint8_t>(prng.below(3));
    return maker;
}

Topology two_rails(Rails rails, std::uint64_t ports_per_leaf) {
    constexpr std::uint64_t kLeaves = 4;
    constexpr std::uint64_t kSpines = 4;
    const bool apart = rails == Rails::on_two_leaves;
    TopologyBuilder builder;
    for (std::uint64_t at = 0; at < kLeaves + kSpines; ++at) {
        TopologySwitch item;
        item.guid = mad::Guid{0x100 + at};
        item.lids = {mad::Lid{static_cast<std::uint16_t>(100 + at)}, 0};
        item.num_ports = static_cast<std::uint8_t>(ports_per_leaf + kSpines);
        builder.add_switch(item);
    }
    for (std::uint64_t leaf = 0; leaf < kLeaves; ++leaf) {
        for (std::uint64_t spine = 0; spine < kSpines; ++spine) {
            builder.add_link(
                mad::Guid{0x100 + leaf}, mad::PortNum{static_cast<std::uint8_t>(ports_per_leaf + 1 + spine)},
                mad::Guid{0x100 + kLeaves + spine}, mad::PortNum{static_cast<std::uint8_t>(1 + leaf)}, {1});
        }
        for (std::uint64_t port = 0; port < ports_per_leaf; ++port) {
            // Apart: leaves 0 and 1 hold first and second ports of the same hosts, so do 2 and 3.
            const std::uint64_t host =
                apart ? leaf / 2 * ports_per_leaf + port : (leaf * ports_per_leaf + port) / 2;
            TopologyEndPort end;
            end.node_guid = mad::Guid{0x1000 + host};
            end.port = mad::PortNum{static_cast<std::uint8_t>(1 + (apart ? leaf % 2 : port % 2))};
            end.port_guid = mad::Guid{0x2000 + leaf * ports_per_leaf + port};
            end.lids = {mad::Lid{static_cast<std::uint16_t>(1 + leaf * ports_per_leaf + port)}, 0};
            builder.add_end_port(end);
            builder.add_link(end.node_guid, end.port, mad::Guid{0x100 + leaf},
                             mad::PortNum{static_cast<std::uint8_t>(1 + port)}, {1});
        }
    }
    return builder.build();
}

namespace {

/// Finds the name of a graph that all graphs share which differ in the numbering of their switches: the
/// highest word of adjacency bits over all numberings that put switches of more links first. A neighbour's
/// links decide between equals, so few numberings are left to try.
class GraphNamer {
public:
    GraphNamer(unsigned switches, const std::vector<Edge>& links)
        : count_(switches), joined_(switches * switches, 0), rank_(switches, 0) {
        std::vector<unsigned> degree(switches, 0);
        for (const auto& [a, b] : links) {
            joined_[a * count_ + b] = joined_[b * count_ + a] = 1;
            ++degree[a];
            ++degree[b];
        }
        for (const auto& [a, b] : links) {
            rank_[a] += degree[b] * degree[b];
            rank_[b] += degree[a] * degree[a];
        }
        for (unsigned at = 0; at < switches; ++at) {
            rank_[at] += degree[at] * 1000;
        }
        ranks_in_order_ = rank_;
        std::sort(ranks_in_order_.rbegin(), ranks_in_order_.rend());
    }

    std::uint32_t name() {
        place(0);
        return best_;
    }

private:
    void place(std::uint32_t bits) {
        if (placed_.size() == count_) {
            best_ = std::max(best_, bits);
            return;
        }
        for (unsigned at = 0; at < count_; ++at) {
            if (rank_[at] != ranks_in_order_[placed_.size()] ||
                std::find(placed_.begin(), placed_.end(), at) != placed_.end()) {
                continue;
            }
            std::uint32_t more = bits;
            for (const unsigned other : placed_) {
                more = more << 1U | joined_[at * count_ + other];
            }
            placed_.push_back(at);
            place(more);
            placed_.pop_back();
        }
    }

    unsigned count_;
    std::vector<std::uint32_t> joined_;
    std::vector<unsigned> rank_;
    std::vector<unsigned> ranks_in_order_;
    std::vector<unsigned> placed_;
    std::uint32_t best_ = 0;
};

}  // namespace

/// A connected graph has a switch without which it stays connected: each comes of one with a switch less.
std::vector<std::vector<Edge>> connected_graphs(unsigned switches) {
    if (switches == 1) {
        return {{}};
    }
    std::set<std::uint32_t> names;
    std::vector<std::vector<Edge>> graphs;
    for (const std::vector<Edge>& smaller : connected_graphs(switches - 1)) {
        for (std::uint32_t neighbours = 1; neighbours < 1U << (switches - 1); ++neighbours) {
            std::vector<Edge> links = smaller;
            for (unsigned at = 0; at + 1 < switches; ++at) {
                if ((neighbours >> at & 1U) != 0) {
                    links.emplace_back(at, switches - 1);
                }
            }
            if (names.insert(GraphNamer(switches, links).name()).second) {
                graphs.push_back(std::move(links));
            }
        }
    }
    return graphs;
}

void expect_shortest(const Topology& topology, const Routes& routes) {
    const auto distances = plain_distances(topology);
    for (const TopologyEndPort& to : topology.end_ports) {
        for (std::uint32_t from = 0; from < topology.switches.size(); ++from) {
            const int distance = distances[from][to.switch_index];
            const auto path = walk(topology, routes, from, to.lids.base.value());
            EXPECT_EQ(static_cast<int>(path.size()) - 1, distance)
                << from << " to LID " << to.lids.base.value();
        }
    }
}

void expect_safe(const Topology& topology, const Routes& routes) {
    const SlowVerdict slow = judge_slowly(topology, routes);
    const Verdict verdict = verify(topology, routes, 2);
    EXPECT_EQ(slow.unreachable, 0U);
    EXPECT_FALSE(slow.cyclic);
    EXPECT_TRUE(verdict.reachable()) << verdict.first_failure;
    EXPECT_TRUE(verdict.credit_loop_free);
    EXPECT_EQ(verdict.lane_faults, 0U) << verdict.first_lane_fault;
    for (const auto& row : routes.sls) {
        for (std::size_t lid = 0; row != nullptr && lid < row->size(); ++lid) {
            EXPECT_LT((*row)[lid], routes.vls);
        }
    }
}

void cut_link(Topology& topology, std::uint32_t at, std::size_t port) {
    PortPeer& peer = topology.switches[at].peers[port];
    topology.switches[peer.index].peers[peer.port.value()] = {};
    peer = {};
}

void cut_switch(Topology& topology, std::uint32_t at) {
    for (std::size_t port = 1; port < topology.switches[at].peers.size(); ++port) {
        if (topology.switches[at].peers[port].kind == PortPeer::Kind::switch_) {
            cut_link(topology, at, port);
        }
    }
}

std::string shared_file(const std::string& name) {
    const char* from_environment = std::getenv("IBF_SHARED");
    const std::filesystem::path root = from_environment != nullptr ? std::filesystem::path(from_environment)
                                                                   : std::filesystem::path("../shared");
    const std::filesystem::path file = root / "fabrics" / name;
    return std::filesystem::exists(file) ? file.string() : std::string();
}

}  // namespace ibf::routing::test
