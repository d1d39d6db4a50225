#include "routing/text_assembler.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace ibf::routing {
namespace {

constexpr std::size_t kWarningsMax = 200;

/// What both ends say, the lesser one where they differ; `fallback` if neither says anything.
template <class T, class Measure>
T agreed(T near, T far, T fallback, Measure measure) {
    if (near == T::none || far == T::none) {
        const T stated = near == T::none ? far : near;
        return stated == T::none ? fallback : stated;
    }
    return std::min(near, far, [&](T a, T b) { return measure(a) < measure(b); });
}

}  // namespace

TextAssembler::TextAssembler(std::string origin) {
    netlist_.origin = std::move(origin);
}

tl::unexpected<base::Error> TextAssembler::error(std::uint32_t line, std::string_view text) const {
    return base::fail(base::ErrorKind::parse, fmt::format("{}:{}: {}", netlist_.origin, line, text));
}

void TextAssembler::warn(std::uint32_t line, std::string_view text) {
    if (netlist_.warnings.size() >= kWarningsMax) {
        ++warnings_dropped_;
        return;
    }
    netlist_.warnings.push_back(fmt::format("{}:{}: {}", netlist_.origin, line, text));
}

base::Result<std::uint32_t> TextAssembler::add_node(NetlistNode node, std::uint32_t ports,
                                                    std::uint32_t line) {
    if (ports == 0 || ports > kNodePortsMax) {
        return error(line, fmt::format("a node has 1 to {} ports, not {}", kNodePortsMax, ports));
    }
    const auto index = static_cast<std::uint32_t>(netlist_.nodes.size());
    if (index >= kTextNodesMax || stated_.size() + ports + 1 > kTextPortsMax) {
        return error(line, fmt::format("more than {} nodes or {} ports: no InfiniBand subnet is that large",
                                       kTextNodesMax, kTextPortsMax));
    }
    if (const auto [at, fresh] = by_guid_.try_emplace(node.guid, index); !fresh) {
        return error(
            line, fmt::format("node GUID {} is already that of line {}", node.guid, node_lines_[at->second]));
    }
    if (const auto [at, fresh] = by_id_.try_emplace(node.id, index); !fresh) {
        return error(line, fmt::format("node \"{}\" is already described at line {}", node.id,
                                       node_lines_[at->second]));
    }
    if (node.description.size() > kDescriptionMax) {
        warn(line, fmt::format("description \"{}\" is cut to {} bytes", node.description, kDescriptionMax));
        node.description.resize(kDescriptionMax);
    }
    node.ports.resize(ports + std::size_t{1});
    first_slot_.push_back(stated_.size());
    stated_.resize(stated_.size() + ports + 1);
    node_lines_.push_back(line);
    netlist_.nodes.push_back(std::move(node));
    return index;
}

std::optional<std::uint32_t> TextAssembler::find(std::string_view id) const {
    const auto found = by_id_.find(std::string(id));
    return found == by_id_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::uint32_t> TextAssembler::find(mad::Guid guid) const {
    const auto found = by_guid_.find(guid);
    return found == by_guid_.end() ? std::nullopt : std::optional(found->second);
}

std::string TextAssembler::place(std::uint32_t node, std::uint32_t port) const {
    return fmt::format("\"{}\"[{}]", netlist_.nodes[node].id, port);
}

base::Result<void> TextAssembler::check_ports(const CableStatement& statement) const {
    for (const auto& [node, port] :
         {std::pair(statement.node, statement.port), std::pair(statement.peer_node, statement.peer_port)}) {
        const auto& ports = netlist_.nodes[node].ports;
        if (port == 0 || port >= ports.size()) {
            return error(statement.line,
                         fmt::format("{}: that node has ports 1 to {}", place(node, port), ports.size() - 1));
        }
    }
    return {};
}

base::Result<void> TextAssembler::state(const CableStatement& statement) {
    if (auto done = check_ports(statement); !done) {
        return done;
    }
    std::uint32_t& here = stated_[slot(statement.node, statement.port)];
    if (here != 0) {
        const CableStatement& before = statements_[here - 1];
        if (std::pair(before.peer_node, before.peer_port) !=
            std::pair(statement.peer_node, statement.peer_port)) {
            return error(statement.line, fmt::format("{} leads to {}, but line {} says it leads to {}",
                                                     place(statement.node, statement.port),
                                                     place(statement.peer_node, statement.peer_port),
                                                     before.line, place(before.peer_node, before.peer_port)));
        }
        warn(statement.line, fmt::format("{} is described at line {} already",
                                         place(statement.node, statement.port), before.line));
        return {};
    }
    statements_.push_back(statement);
    here = static_cast<std::uint32_t>(statements_.size());
    return {};
}

base::Result<void> TextAssembler::state_both(const CableStatement& statement) {
    if (auto done = check_ports(statement); !done) {
        return done;
    }
    const std::uint32_t known = stated_[slot(statement.node, statement.port)];
    if (known != 0 && statements_[known - 1].peer_node == statement.peer_node &&
        statements_[known - 1].peer_port == statement.peer_port) {
        return {};
    }
    if (auto done = state(statement); !done) {
        return done;
    }
    const bool is_loop_plug = statement.node == statement.peer_node && statement.port == statement.peer_port;
    return is_loop_plug ? base::Result<void>{} : state(statement.reversed());
}

mad::LidRange TextAssembler::checked_lids(std::uint64_t base, std::uint64_t lmc, std::uint32_t line,
                                          std::string_view whose) {
    if (base == 0) {
        return {};
    }
    if (base > mad::kLidUnicastMax) {
        warn(line, fmt::format("LID {} of {} is above the unicast range, taken as none", base, whose));
        return {};
    }
    if (lmc > 7 || base % (1U << lmc) != 0 || base + (1U << lmc) > mad::kLidUnicastMax + 1U) {
        warn(line, fmt::format("LID {} of {} does not go with LMC {}, taken as none", base, whose, lmc));
        return {};
    }
    return {mad::Lid{static_cast<std::uint16_t>(base)}, static_cast<std::uint8_t>(lmc)};
}

/// Completes what only one end says, and checks that the other end does not say otherwise.
base::Result<void> TextAssembler::mirror(std::size_t index) {
    const CableStatement near = statements_[index];
    std::uint32_t& there = stated_[slot(near.peer_node, near.peer_port)];
    if (there == 0) {
        warn(near.line, fmt::format("only this end states the cable between {} and {}",
                                    place(near.node, near.port), place(near.peer_node, near.peer_port)));
        statements_.push_back(near.reversed());
        there = static_cast<std::uint32_t>(statements_.size());
    }
    const CableStatement& far = statements_[there - 1];
    if (std::pair(far.peer_node, far.peer_port) != std::pair(near.node, near.port)) {
        return error(near.line,
                     fmt::format("{} leads to {}, but line {} says that port leads to {}",
                                 place(near.node, near.port), place(near.peer_node, near.peer_port), far.line,
                                 place(far.peer_node, far.peer_port)));
    }
    return {};
}

void TextAssembler::plug(const CableStatement& near, const CableStatement& far) {
    const bool is_lower_end = std::pair(near.node, near.port) < std::pair(far.node, far.port);
    if (is_lower_end && near.speed != far.speed && near.speed != mad::LinkSpeed::none &&
        far.speed != mad::LinkSpeed::none) {
        warn(near.line, fmt::format("{} says {}, its other end at line {} says {}; the slower one counts",
                                    place(near.node, near.port), mad::to_string(near.speed), far.line,
                                    mad::to_string(far.speed)));
    }
    NetlistPort& port = netlist_.nodes[near.node].ports[near.port];
    port.peer_node = near.peer_node;
    port.peer_port = mad::PortNum{static_cast<std::uint8_t>(near.peer_port)};
    port.width = agreed(near.width, far.width, mad::LinkWidth::x4, mad::width_lanes);
    port.speed = agreed(near.speed, far.speed, mad::LinkSpeed::sdr, mad::lane_mbps);
}

base::Result<Netlist> TextAssembler::finish() {
    if (netlist_.nodes.empty()) {
        return error(1, "no node is described in this text");
    }
    for (std::size_t index = 0; index < statements_.size(); ++index) {  // grows by the ends nobody stated
        if (auto done = mirror(index); !done) {
            return tl::unexpected(done.error());
        }
    }
    for (const CableStatement& near : statements_) {
        plug(near, statements_[stated_[slot(near.peer_node, near.peer_port)] - 1]);
    }
    if (warnings_dropped_ > 0) {
        netlist_.warnings.push_back(
            fmt::format("{}: and {} more warnings", netlist_.origin, warnings_dropped_));
    }
    return std::move(netlist_);
}

}  // namespace ibf::routing
