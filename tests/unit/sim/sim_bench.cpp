#include "sim_bench.hpp"

#include <algorithm>
#include <deque>
#include <utility>

#include <gtest/gtest.h>

namespace ibf::sim {

using mad::Attribute;
using mad::LinkSpeed;
using mad::Method;
using mad::NodeType;
using mad::PortNum;
using mad::PortState;

std::uint32_t FabricMaker::add(NodeType type, const std::string& name, std::size_t ports) {
    routing::NetlistNode node;
    node.type = type;
    node.guid = mad::Guid{0x0002C90000000000ULL + 0x100 * (netlist.nodes.size() + 1)};
    node.system_guid = node.guid;
    node.id = "N-" + name;
    node.description = name;
    node.vendor_id = 0x0002C9;
    node.ports.resize(ports + 1);
    netlist.nodes.push_back(node);
    return static_cast<std::uint32_t>(netlist.nodes.size() - 1);
}

void FabricMaker::connect(std::uint32_t a, std::uint8_t a_port, std::uint32_t b, std::uint8_t b_port,
                          LinkSpeed speed) {
    routing::NetlistPort& from = netlist.nodes[a].ports[a_port];
    from.peer_node = b;
    from.peer_port = PortNum{b_port};
    from.speed = speed;
    routing::NetlistPort& to = netlist.nodes[b].ports[b_port];
    to.peer_node = a;
    to.peer_port = PortNum{a_port};
    to.speed = speed;
}

routing::Netlist star_of_four() {
    FabricMaker maker;
    maker.netlist.origin = "star_of_four";
    const std::uint32_t hub = maker.add(NodeType::switch_, "sw", 4);
    for (std::uint8_t port = 1; port <= 4; ++port) {
        const std::uint32_t host = maker.add(NodeType::ca, "h" + std::to_string(port), 1);
        maker.connect(hub, port, host, 1, LinkSpeed::edr);
    }
    return maker.netlist;
}

routing::Netlist four_switches() {
    FabricMaker maker;
    maker.netlist.origin = "four_switches";
    for (const char* name : {"leaf1", "leaf2", "spine1", "spine2"}) {
        maker.add(NodeType::switch_, name, 4);
    }
    for (std::uint32_t leaf = 0; leaf < 2; ++leaf) {
        const auto spine_port = static_cast<std::uint8_t>(leaf + 1);
        maker.connect(leaf, 3, 2, spine_port, LinkSpeed::edr);
        maker.connect(leaf, 4, 3, spine_port, LinkSpeed::edr);
        for (std::uint8_t port = 1; port <= 2; ++port) {
            const std::uint32_t host = maker.add(NodeType::ca, "h" + std::to_string(leaf * 2 + port), 1);
            maker.connect(leaf, port, host, 1, LinkSpeed::edr);
        }
    }
    return maker.netlist;
}

mad::DrPath path_of(std::initializer_list<std::uint8_t> exits) {
    mad::DrPath path;
    for (const std::uint8_t exit : exits) {
        path = path.then(PortNum{exit});
    }
    return path;
}

SimBench::SimBench(routing::Netlist netlist, const SimOptions& options, const std::string& node)
    : sim(std::move(netlist), options) {
    client = sim.join(node, 0, [this](mad::WireMad&& mad) { inbox.push_back(mad); }).value();
}

SimBench::SimBench(routing::Netlist netlist) : SimBench(std::move(netlist), SimOptions{}, "h1") {}

mad::Smp SimBench::request(Method method, Attribute attribute, std::uint32_t modifier,
                           const mad::DrPath& path, const mad::AttributeData& data) {
    mad::Smp smp;
    smp.header.method = static_cast<std::uint8_t>(method);
    smp.header.attribute = attribute;
    smp.header.modifier = modifier;
    smp.header.tid = next_tid++;
    smp.path = path;
    smp.data = data;
    return smp;
}

std::optional<mad::Smp> SimBench::ask(const mad::Smp& smp) {
    mad::WireMad wire;
    wire.bytes = mad::encode_smp(smp);
    wire.address.lid = mad::kLidPermissive;
    sim.send(client, wire, now);
    pass(std::chrono::milliseconds{1});
    for (const mad::WireMad& got : inbox) {
        const base::Result<mad::Smp> answer = mad::parse_smp(got.bytes);
        if (answer && answer->header.is_response() && answer->header.tid == smp.header.tid) {
            return *answer;
        }
    }
    return std::nullopt;
}

std::optional<mad::Smp> SimBench::ask_lid(mad::Smp smp, mad::Lid to) {
    smp.header.mgmt_class = mad::MgmtClass::subn_lid;
    mad::WireMad wire;
    wire.bytes = mad::encode_smp(smp);
    wire.address.lid = to;
    sim.send(client, wire, now);
    pass(std::chrono::milliseconds{1});
    for (const mad::WireMad& got : inbox) {
        const base::Result<mad::Smp> answer = mad::parse_smp(got.bytes);
        if (answer && answer->header.is_response() && answer->header.tid == smp.header.tid) {
            return *answer;
        }
    }
    return std::nullopt;
}

std::optional<mad::Smp> SimBench::get(Attribute attribute, std::uint32_t modifier, const mad::DrPath& path) {
    return ask(request(Method::get, attribute, modifier, path, {}));
}

std::optional<mad::Smp> SimBench::set(Attribute attribute, std::uint32_t modifier, const mad::DrPath& path,
                                      const mad::AttributeData& data) {
    return ask(request(Method::set, attribute, modifier, path, data));
}

mad::PortInfo SimBench::port_info(const mad::DrPath& path, std::uint8_t port) {
    return mad::decode_port_info(get(Attribute::port_info, port, path).value().data);
}

mad::MadStatus SimBench::set_port(const mad::DrPath& path, std::uint8_t port, const mad::PortInfo& info) {
    const std::optional<mad::Smp> answer = set(Attribute::port_info, port, path, mad::encode(info));
    return answer ? answer->header.status : mad::MadStatus{0xFFFF};
}

mad::PortInfo SimBench::settings(const mad::DrPath& path, std::uint8_t port) {
    mad::PortInfo info = port_info(path, port);
    info.state = PortState::no_change;
    info.phys_state = mad::PhysState::no_change;
    return info;
}

void SimBench::pass(base::Duration time) {
    now += time;
    sim.advance(now);
}

std::uint64_t SimBench::breaks(const std::string& rule) const {
    for (const auto& [name, count] : sim.counters().by_rule) {
        if (name == rule) {
            return count;
        }
    }
    return 0;
}

std::vector<mad::Smp> SimBench::unsolicited() {
    std::vector<mad::Smp> found;
    for (const mad::WireMad& got : inbox) {
        const base::Result<mad::Smp> smp = mad::parse_smp(got.bytes);
        if (smp && !smp->header.is_response()) {
            found.push_back(*smp);
        }
    }
    inbox.clear();
    return found;
}

namespace {

/// Shortest directed route from `from` to every node.
std::vector<std::optional<mad::DrPath>> shortest_paths(const routing::Netlist& netlist, std::uint32_t from) {
    std::vector<std::optional<mad::DrPath>> paths(netlist.nodes.size());
    paths[from] = mad::DrPath{};
    std::deque<std::uint32_t> queue{from};
    while (!queue.empty()) {
        const std::uint32_t at = queue.front();
        queue.pop_front();
        const routing::NetlistNode& node = netlist.nodes[at];
        if (at != from && node.type != NodeType::switch_) {
            continue;
        }
        for (std::size_t port = 1; port < node.ports.size(); ++port) {
            const std::optional<std::uint32_t> peer = node.ports[port].peer_node;
            if (peer && !paths[*peer]) {
                paths[*peer] = paths[at]->then(PortNum{static_cast<std::uint8_t>(port)});
                queue.push_back(*peer);
            }
        }
    }
    return paths;
}

std::size_t refused(mad::MadStatus status) {
    return status == 0 ? 0U : 1U;
}

std::size_t configure_node(SimBench& bench, std::uint32_t node, const mad::DrPath& path,
                           std::uint32_t sm_node) {
    const routing::NetlistNode& source = bench.sim.netlist().nodes[node];
    const bool is_switch = source.type == NodeType::switch_;
    std::size_t failures = 0;
    for (std::size_t port = is_switch ? 0 : 1; port < source.ports.size(); ++port) {
        const bool external = is_switch && port != 0;
        if (!source.ports[port].peer_node && (external || !is_switch)) {
            continue;
        }
        mad::PortInfo info = bench.settings(path, static_cast<std::uint8_t>(port));
        if (!external) {
            info.lid = lid_of(node);
            info.sm_lid = lid_of(sm_node);
        }
        info.neighbor_mtu = info.mtu_cap;
        failures += refused(bench.set_port(path, static_cast<std::uint8_t>(port), info));
    }
    return failures;
}

std::size_t program_switch(SimBench& bench, std::uint32_t node, const mad::DrPath& path) {
    const routing::Netlist& netlist = bench.sim.netlist();
    mad::SwitchInfo info = mad::decode_switch_info(bench.get(Attribute::switch_info, 0, path).value().data);
    info.linear_fdb_top = static_cast<std::uint16_t>(netlist.nodes.size());
    info.port_state_change = true;
    std::size_t failures =
        refused(bench.set(Attribute::switch_info, 0, path, mad::encode(info)).value().header.status);
    const std::vector<std::optional<mad::DrPath>> onward = shortest_paths(netlist, node);
    mad::LftBlock block;
    block.ports.fill(mad::kLftDrop);
    for (std::uint32_t to = 0; to < netlist.nodes.size(); ++to) {
        if (onward[to]) {
            block.ports[lid_of(to).value()] = to == node ? std::uint8_t{0} : onward[to]->ports[1];
        }
    }
    failures += refused(
        bench.set(Attribute::linear_forwarding_table, 0, path, mad::encode(block)).value().header.status);
    return failures;
}

std::size_t move_all(SimBench& bench, const std::vector<std::optional<mad::DrPath>>& paths, PortState state) {
    const routing::Netlist& netlist = bench.sim.netlist();
    std::size_t failures = 0;
    for (std::uint32_t node = 0; node < netlist.nodes.size(); ++node) {
        for (std::size_t port = 1; port < netlist.nodes[node].ports.size(); ++port) {
            if (netlist.nodes[node].ports[port].peer_node && paths[node]) {
                mad::PortInfo info = bench.settings(*paths[node], static_cast<std::uint8_t>(port));
                info.state = state;
                failures += refused(bench.set_port(*paths[node], static_cast<std::uint8_t>(port), info));
            }
        }
    }
    return failures;
}

}  // namespace

std::size_t bring_up(SimBench& bench) {
    const routing::Netlist& netlist = bench.sim.netlist();
    const mad::Guid own = bench.sim.local_port(bench.client).node_guid;
    const auto sm = std::find_if(netlist.nodes.begin(), netlist.nodes.end(),
                                 [&](const routing::NetlistNode& node) { return node.guid == own; });
    const auto sm_node = static_cast<std::uint32_t>(sm - netlist.nodes.begin());
    const std::vector<std::optional<mad::DrPath>> paths = shortest_paths(netlist, sm_node);
    std::size_t failures = 0;
    for (std::uint32_t node = 0; node < netlist.nodes.size(); ++node) {
        if (!paths[node]) {
            continue;
        }
        failures += configure_node(bench, node, *paths[node], sm_node);
        if (netlist.nodes[node].type == NodeType::switch_) {
            failures += program_switch(bench, node, *paths[node]);
        }
    }
    failures += move_all(bench, paths, PortState::armed);
    failures += move_all(bench, paths, PortState::active);
    bench.inbox.clear();
    return failures;
}

void inject(SimBench& bench, const std::string& text) {
    const auto faults = parse_faults(text, "test");
    ASSERT_TRUE(faults) << faults.error().message;
    for (const Fault& fault : *faults) {
        const base::Result<void> done = bench.sim.inject(fault, bench.now);
        ASSERT_TRUE(done) << done.error().message;
    }
}

}  // namespace ibf::sim
