#include "tests/unit/conduct/stage.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace ibf::probe::test {
namespace {

constexpr std::uint64_t kMessageBytes = 1U << 20U;

std::string where(const Stage& stage, const Place& place) {
    const sim::PortRef at = stage.places->at(place);
    return fmt::format("{}/{}", stage.simulator->world().device(at.node).info.node_guid, at.port);
}

void inject(Stage& stage, const sim::Fault& fault) {
    const base::Result<void> done = stage.simulator->inject(fault, base::Instant{});
    ASSERT_TRUE(done) << done.error().message;
}

sim::Fault port_fault(const Stage& stage, sim::Fault::Kind kind, const Place& place, double probability) {
    sim::Fault fault;
    fault.kind = kind;
    fault.where = where(stage, place);
    fault.probability = probability;
    return fault;
}

}  // namespace

std::unique_ptr<Stage> Stage::make(const std::string& spec, const std::string& engine) {
    std::unique_ptr<Stage> stage(new Stage);
    auto netlist = routing::netlist_from_spec(spec);
    EXPECT_TRUE(netlist) << (netlist ? "" : netlist.error().message);
    if (!netlist) {
        return nullptr;
    }
    auto topology = routing::topology_of(*netlist, 0);
    EXPECT_TRUE(topology);
    stage->topology = std::move(*topology);
    auto routes = routing::run_engine(engine, stage->topology, nullptr, routing::RouteOptions{});
    EXPECT_TRUE(routes) << (routes ? "" : routes.error().message);
    if (!routes) {
        return nullptr;
    }
    stage->routes = std::move(*routes);
    stage->simulator = std::make_unique<sim::Simulator>(std::move(*netlist), sim::SimOptions{});
    program(*stage->simulator, stage->topology, stage->routes);
    stage->places = std::make_unique<SimPlaces>(*stage->simulator, stage->topology);
    stage->asker_ =
        std::make_unique<SimAsker>(*stage->simulator, *stage->simulator->locate("", 0), AskLimits{});
    return stage;
}

std::vector<routing::EndPortIndex> Stage::hosts() const {
    std::vector<routing::EndPortIndex> hosts;
    for (std::uint32_t end = 0; end < topology.end_ports.size(); ++end) {
        const routing::TopologyEndPort& item = topology.end_ports[end];
        if (item.switch_index != routing::kNoIndex && item.lids.base != mad::kLidNone) {
            hosts.emplace_back(end);
        }
    }
    return hosts;
}

ConductOptions Stage::bulk(bool audit) {
    ConductOptions options;
    options.audit = audit;
    options.spec.test = Test::write;
    options.spec.message_bytes = kMessageBytes;
    options.spec.messages = kFlowBytes / kMessageBytes;
    return options;
}

Report Stage::conduct(const RunPlan& plan, const ConductOptions& options, Agents* agents) {
    base::Result<Report> report = probe::conduct(topology, routes, plan, options, *asker_, agents, {}, {});
    EXPECT_TRUE(report) << (report ? "" : report.error().message);
    return report ? std::move(*report) : Report{};
}

RunPlan Stage::some_flows(std::size_t count, base::Prng& prng) const {
    std::vector<Flow> flows;
    for (std::size_t i = 0; i < count; ++i) {
        flows.push_back(cover.flows[prng.below(cover.flows.size())]);
    }
    return plan_flows(topology, routes, std::move(flows), false);
}

std::vector<Hop> Stage::hops(const Flow& flow) const {
    return hops_of(topology, routing::TableView(topology, routes), flow.from, flow.lid).value();
}

std::unique_ptr<Damage> change_entry(Stage& stage, std::uint32_t at, mad::Lid lid, std::uint8_t port) {
    const std::uint32_t node = stage.places->at(Place{.index = at}).node;
    const std::uint8_t before = stage.simulator->lft_entry(node, lid);
    stage.simulator->set_lft_entry(node, lid, port);
    return std::make_unique<Damage>(
        [&stage, node, lid, before] { stage.simulator->set_lft_entry(node, lid, before); });
}

std::unique_ptr<Damage> swap_cables(Stage& stage, const Place& a, const Place& b) {
    sim::Fault fault = port_fault(stage, sim::Fault::Kind::swap_cables, a, 1);
    fault.with = where(stage, b);
    inject(stage, fault);
    return std::make_unique<Damage>([&stage, fault] { inject(stage, fault); });
}

std::unique_ptr<Damage> make_lossy(Stage& stage, const Place& in, double probability) {
    inject(stage, port_fault(stage, sim::Fault::Kind::lossy, in, probability));
    return std::make_unique<Damage>(
        [&stage, in] { inject(stage, port_fault(stage, sim::Fault::Kind::lossy, in, 0)); });
}

std::unique_ptr<Damage> throttle(Stage& stage, const Place& out, double share) {
    inject(stage, port_fault(stage, sim::Fault::Kind::throttle, out, share));
    return std::make_unique<Damage>(
        [&stage, out] { inject(stage, port_fault(stage, sim::Fault::Kind::throttle, out, 1)); });
}

std::unique_ptr<Damage> narrow(Stage& stage, const Place& end) {
    std::vector<std::pair<sim::PortRef, mad::PortInfo>> before;
    for (const Place& place : {end, peer_of(stage.topology, end).value()}) {
        const sim::PortRef at = stage.places->at(place);
        mad::PortInfo info = stage.simulator->port_info(at.node, at.port);
        before.emplace_back(at, info);
        info.width_active = mad::LinkWidth::x1;
        stage.simulator->set_port_info(at.node, at.port, info);
    }
    return std::make_unique<Damage>([&stage, before] {
        for (const auto& [at, info] : before) {
            stage.simulator->set_port_info(at.node, at.port, info);
        }
    });
}

}  // namespace ibf::probe::test
