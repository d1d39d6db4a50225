#include "grid_fixtures.hpp"

#include <numeric>

#include "routing/netlist.hpp"

namespace ibf::routing::test {

Topology scrambled(const std::string& spec, std::uint64_t seed) {
    auto plain = generate_netlist(spec);
    EXPECT_TRUE(plain) << spec;
    base::Prng prng(seed);
    std::vector<mad::Guid> guids;
    for (const NetlistNode& node : plain->nodes) {
        guids.push_back(node.guid);
    }
    prng.shuffle(guids);
    std::vector<std::vector<std::uint8_t>> ports;  // by node: the new number of each port
    for (const NetlistNode& node : plain->nodes) {
        std::vector<std::uint8_t> numbers(node.ports.size() - 1);
        std::iota(numbers.begin(), numbers.end(), std::uint8_t{1});
        prng.shuffle(numbers);
        numbers.insert(numbers.begin(), 0);
        ports.push_back(std::move(numbers));
    }
    Netlist result = *plain;
    for (std::size_t at = 0; at < plain->nodes.size(); ++at) {
        NetlistNode& node = result.nodes[at];
        node.guid = guids[at];
        for (std::size_t port = 1; port < node.ports.size(); ++port) {
            NetlistPort moved = plain->nodes[at].ports[port];
            moved.guid = {};
            if (moved.peer_node) {
                moved.peer_port = mad::PortNum{ports[*moved.peer_node][moved.peer_port.value()]};
            }
            node.ports[ports[at][port]] = moved;
        }
    }
    auto topology = topology_of(result, 0);
    EXPECT_TRUE(topology) << spec;
    return std::move(*topology);
}

std::vector<SwitchCable> switch_cables(const Topology& topology) {
    std::vector<SwitchCable> cables;
    for (std::uint32_t at = 0; at < topology.switches.size(); ++at) {
        const std::vector<PortPeer>& peers = topology.switches[at].peers;
        for (std::size_t port = 1; port < peers.size(); ++port) {
            if (peers[port].kind == PortPeer::Kind::switch_ && at < peers[port].index) {
                cables.push_back({at, static_cast<std::uint8_t>(port)});
            }
        }
    }
    return cables;
}

Topology without_cable(Topology topology, const SwitchCable& cable) {
    PortPeer& here = topology.switches[cable.at].peers[cable.port];
    topology.switches[here.index].peers[here.port.value()] = {};
    here = {};
    return topology;
}

Topology without_switch(const Topology& topology, std::uint32_t gone) {
    TopologyBuilder builder;
    for (std::uint32_t at = 0; at < topology.switches.size(); ++at) {
        if (at == gone) {
            continue;
        }
        const TopologySwitch& item = topology.switches[at];
        builder.add_switch(item);
        for (std::size_t port = 1; port < item.peers.size(); ++port) {
            const PortPeer& peer = item.peers[port];
            const mad::PortNum number{static_cast<std::uint8_t>(port)};
            if (peer.kind == PortPeer::Kind::end_port) {
                TopologyEndPort end = topology.end_ports[peer.index];
                end.switch_index = kNoIndex;  // the link says it anew
                builder.add_end_port(end);
                builder.add_link(item.guid, number, topology.end_ports[peer.index].node_guid, peer.port,
                                 {peer.data_vls});
            } else if (peer.kind == PortPeer::Kind::switch_ && peer.index != gone) {
                builder.add_link(item.guid, number, topology.switches[peer.index].guid, peer.port,
                                 {peer.data_vls});
            }
        }
    }
    return builder.build();
}

std::uint32_t switch_named(const Topology& topology, const std::string& name) {
    for (std::uint32_t at = 0; at < topology.switches.size(); ++at) {
        if (topology.switches[at].name == name) {
            return at;
        }
    }
    ADD_FAILURE() << "there is no switch " << name;
    return 0;
}

std::optional<Routes> served(const std::string& engine, const Topology& topology,
                             const RouteOptions& options) {
    auto routes = run_engine(engine, topology, nullptr, options);
    if (!routes) {
        EXPECT_FALSE(routes.error().message.empty());
        return std::nullopt;
    }
    const SlowVerdict slow = judge_slowly(topology, *routes);
    const Verdict verdict = verify(topology, *routes, 2);
    EXPECT_EQ(verdict.pairs_checked, slow.pairs);
    EXPECT_EQ(verdict.unreachable_pairs, slow.unreachable) << verdict.first_failure;
    EXPECT_EQ(verdict.credit_loop_free, !slow.cyclic);
    const bool passes = verdict.reachable() && verdict.credit_loop_free && verdict.lane_faults == 0;
    return passes ? std::optional<Routes>(std::move(*routes)) : std::nullopt;
}

std::optional<Routes> served(const std::string& engine, const Topology& topology) {
    return served(engine, topology, RouteOptions{});
}

std::string refusal_of(const std::string& engine, const Topology& topology) {
    auto routes = run_engine(engine, topology, nullptr, RouteOptions{});
    return routes ? std::string() : routes.error().message;
}

}  // namespace ibf::routing::test
