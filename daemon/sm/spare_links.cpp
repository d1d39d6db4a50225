#include "daemon/sm/spare_links.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

namespace ibf::sm {
namespace {

using fabric::Fabric;
using fabric::kNoNode;
using fabric::Node;
using fabric::PortId;
using fabric::PortRef;

/// Switches that reach each other over links that are used and not left out.
class Graph {
public:
    explicit Graph(const Fabric& fabric) : fabric_(fabric) {}

    void leave_out(PortRef at) {
        left_out_.insert(at);
        left_out_.insert(fabric_.port(at).peer);
    }

    void take_back(PortRef at) {
        left_out_.erase(at);
        left_out_.erase(fabric_.port(at).peer);
    }

    [[nodiscard]] bool connected(std::uint32_t from, std::uint32_t to) const {
        std::vector<bool> seen(fabric_.nodes.size());
        std::vector<std::uint32_t> open{from};
        seen[from] = true;
        while (!open.empty() && !seen[to]) {
            const std::uint32_t node = open.back();
            open.pop_back();
            for (std::size_t p = 1; p < fabric_.nodes[node].ports.size(); ++p) {
                const PortRef here{node, mad::PortNum{static_cast<std::uint8_t>(p)}};
                const PortRef peer = fabric_.port(here).peer;
                if (peer.node != kNoNode && fabric_.nodes[peer.node].is_switch() && !seen[peer.node] &&
                    fabric_.port(here).usable && fabric_.port(peer).usable && !left_out_.contains(here)) {
                    seen[peer.node] = true;
                    open.push_back(peer.node);
                }
            }
        }
        return seen[to];
    }

private:
    const Fabric& fabric_;
    std::set<PortRef> left_out_;
};

/// Leaves the link out of the graph, or says why not.
std::string leave_out(const Fabric& fabric, Graph& graph, PortRef at) {
    const PortRef peer = fabric.port(at).peer;
    if (at == fabric.local || peer == fabric.local) {
        return "it is the subnet manager's own link";
    }
    if (peer.node == kNoNode || !fabric.nodes[at.node].is_switch() || !fabric.nodes[peer.node].is_switch()) {
        return {};
    }
    graph.leave_out(at);
    if (graph.connected(at.node, peer.node)) {
        return {};
    }
    graph.take_back(at);
    return "without it the fabric would fall apart";
}

}  // namespace

std::vector<SpareVerdict> spare_links(const Fabric& fabric, const std::set<PortId>& ports) {
    std::vector<SpareVerdict> verdicts;
    std::map<mad::Guid, std::uint32_t> nodes;
    for (std::uint32_t n = 0; n < fabric.nodes.size() && !ports.empty(); ++n) {
        nodes.emplace(fabric.nodes[n].guid(), n);
    }
    Graph graph(fabric);
    for (const PortId& port : ports) {
        const auto node = nodes.find(port.node);
        SpareVerdict verdict{port, {}, {}};
        if (verdicts.size() >= kSparedMax) {
            verdict.why_not = fmt::format("{} links are left out already", kSparedMax);
        } else if (node != nodes.end() && port.port.value() < fabric.nodes[node->second].ports.size()) {
            verdict.at = {node->second, port.port};
            verdict.why_not = leave_out(fabric, graph, verdict.at);
        }
        verdicts.push_back(std::move(verdict));
    }
    return verdicts;
}

PortRef near_end(const Fabric& fabric, PortRef at) {
    const PortRef peer = fabric.port(at).peer;
    if (peer.node == kNoNode) {
        return at;
    }
    const auto distance = [&](PortRef end) {
        const Node& node = fabric.nodes[end.node];
        return std::tuple(!node.is_switch(), node.path.hops, node.guid(), end.port);
    };
    return distance(peer) < distance(at) ? peer : at;
}

}  // namespace ibf::sm
