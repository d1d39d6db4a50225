// The lanes that routes need: what is written, what is not written again, and when.
#include "daemon/sm/lane_setup.hpp"

#include <gtest/gtest.h>

#include "harness.hpp"
#include "mad/codec.hpp"

namespace ibf::test {
namespace {

using mad::Sl2VlTable;
using sm::LaneJob;
using sm::LanesAcknowledged;
using sm::LaneSetup;
using std::chrono::seconds;

/// A fabric that is up, and routes over it that need two lanes.
struct LanesBench {
    explicit LanesBench(routing::Netlist net) : lab(std::move(net)) {
        lab.start();
        EXPECT_TRUE(lab.run_until_up(seconds{5}));
        snapshot = lab.snapshot();
        fabric = *snapshot.fabric;
        routes = snapshot.routes->routes;
        routes.vls = 2;
        const std::size_t lids = std::size_t{snapshot.view->topology.max_lid} + 1;
        routes.sls.assign(routes.rows.size(), std::make_shared<routing::SlRow>(lids, std::uint8_t{1}));
    }

    [[nodiscard]] std::vector<LaneJob> plan() const {
        return sm::plan_lane_setup({fabric, *snapshot.view, routes, config, acknowledged, row_by_row});
    }
    /// All jobs taken.
    void take_all() {
        LaneSetup setup(plan());
        setup.begin_rest();
        while (const auto next = setup.next()) {
            setup.took(next->first);
        }
        setup.keep(acknowledged);
    }
    [[nodiscard]] std::uint32_t some_switch() const { return snapshot.view->switch_nodes.front(); }

    Lab lab;
    fabric::Snapshot snapshot;
    fabric::Fabric fabric;
    routing::Routes routes;
    sm::SmConfig config;
    LanesAcknowledged acknowledged;
    std::set<mad::Guid> row_by_row;
};

const LaneJob& job_of(const std::vector<LaneJob>& jobs, std::uint32_t node) {
    return *std::find_if(jobs.begin(), jobs.end(),
                         [node](const LaneJob& job) { return job.at.node == node; });
}

/// What a switch holds after its job, whatever it held before.
fabric::LaneTables held_after(const LanesBench& bench, const LaneJob& job) {
    const sm::LaneDevice device = sm::lane_device(bench.fabric, job.at);
    auto tables = fabric::LaneTables::of_ports(device.ports.size());
    for (const sm::LaneWrite& write : job.writes) {
        sm::apply(write, device, tables);
    }
    return tables;
}

void expect_lane(const fabric::LaneTables& tables, std::size_t input, std::size_t exit, unsigned sl,
                 unsigned lane) {
    const Sl2VlTable* map = tables.map(input, exit);
    ASSERT_NE(map, nullptr) << input << " to " << exit;
    EXPECT_EQ(map->vls[sl].value(), lane) << input << " to " << exit << ", SL " << sl;
}

TEST(LaneSetup, SingleLaneRoutesWantNothing) {
    LanesBench bench(t2());
    bench.routes = bench.snapshot.routes->routes;
    EXPECT_TRUE(bench.plan().empty());
}

TEST(LaneSetup, EveryPairOfPortsGetsLaneEqualsSl) {
    LanesBench bench(t2());
    for (const bool plain : {false, true}) {
        for (const std::uint32_t node : bench.snapshot.view->switch_nodes) {
            if (plain) {
                bench.row_by_row.insert(bench.fabric.nodes[node].guid());
            }
        }
        const auto jobs = bench.plan();
        EXPECT_EQ(jobs.size(), bench.fabric.nodes.size()) << "switches and adapters, none twice";
        for (const std::uint32_t node : bench.snapshot.view->switch_nodes) {
            const LaneJob& job = job_of(jobs, node);
            EXPECT_TRUE(job.lacking.empty()) << job.lacking;
            const auto tables = held_after(bench, job);
            const auto& ports = bench.fabric.nodes[node].ports;
            for (std::size_t exit = 1; exit < ports.size(); ++exit) {
                for (std::size_t input = 0; input < ports.size() && ports[exit].peer.node != fabric::kNoNode;
                     ++input) {
                    expect_lane(tables, input, exit, 0, 0);
                    expect_lane(tables, input, exit, 1, 1);
                }
            }
        }
    }
}

TEST(LaneSetup, OptimisedSetsStandForAllOuterPorts) {
    LanesBench bench(t2());
    const std::uint32_t node = bench.some_switch();
    bench.fabric.nodes[node].switch_info->optimized_sl2vl = true;
    const auto short_way = job_of(bench.plan(), node).writes;
    EXPECT_TRUE(short_way.front().optimised());
    bench.row_by_row.insert(bench.fabric.nodes[node].guid());
    const auto long_way = job_of(bench.plan(), node).writes;
    EXPECT_TRUE(std::none_of(long_way.begin(), long_way.end(),
                             [](const sm::LaneWrite& write) { return write.optimised(); }));
    EXPECT_LT(short_way.size(), long_way.size());
}

TEST(LaneSetup, AnAdapterWithoutMappingsLacksNothingASwitchDoes) {
    LanesBench bench(t2());
    constexpr std::uint32_t kSlMapping = 1U << 6U;  // CapabilityMask.IsSLMappingSupported
    const std::uint32_t leaf = bench.some_switch();
    const auto adapter =
        static_cast<std::uint32_t>(std::find_if(bench.fabric.nodes.begin(), bench.fabric.nodes.end(),
                                                [](const fabric::Node& node) { return !node.is_switch(); }) -
                                   bench.fabric.nodes.begin());
    bench.fabric.nodes[leaf].ports[0].info.capability_mask &= ~kSlMapping;
    bench.fabric.nodes[adapter].ports[1].info.capability_mask &= ~kSlMapping;
    const auto jobs = bench.plan();
    EXPECT_FALSE(job_of(jobs, leaf).lacking.empty());
    EXPECT_TRUE(job_of(jobs, adapter).lacking.empty());
    for (const sm::LaneWrite& write : job_of(jobs, adapter).writes) {
        EXPECT_NE(write.attribute, mad::Attribute::sl2vl_table);
    }
}

TEST(LaneSetup, WhatASwitchMakesOfAnSlByItsPortsIsWritten) {
    LanesBench bench(t2());
    const std::uint32_t node = bench.some_switch();
    auto map = std::make_shared<routing::LaneMap>();
    const std::size_t ports = bench.fabric.nodes[node].ports.size();
    map->input_class.assign(ports, 0);
    map->exit_class.assign(ports, 0);
    map->input_class[2] = 1;
    map->tables.assign(2, routing::LaneMap::Lanes{});
    map->tables[1].fill(1);  // what comes in by port 2 goes on on lane 1
    bench.routes.lane_maps.assign(bench.routes.rows.size(), nullptr);
    bench.routes.lane_maps.front() = map;
    const auto tables = held_after(bench, job_of(bench.plan(), node));
    expect_lane(tables, 1, 3, 1, 0);
    expect_lane(tables, 2, 3, 1, 1);
    expect_lane(tables, 2, 3, 0, 1);
}

TEST(LaneSetup, WhatWasAcknowledgedIsNotWrittenAgain) {
    LanesBench bench(t2());
    bench.take_all();
    EXPECT_TRUE(bench.plan().empty());
    // A host's link goes down and comes back.
    const std::uint32_t leaf = bench.some_switch();
    fabric::Port& port = bench.fabric.nodes[leaf].ports[1];
    const fabric::PortRef peer = std::exchange(port.peer, fabric::PortRef{fabric::kNoNode, {}});
    EXPECT_TRUE(bench.plan().empty());
    bench.take_all();
    port.peer = peer;
    EXPECT_TRUE(bench.plan().empty());
    // A link that has fewer lanes now is written anew, its neighbours are not.
    port.info.vl_cap = 2;
    const auto jobs = bench.plan();
    ASSERT_EQ(jobs.size(), 2U) << "both ends";
    for (const sm::LaneWrite& write : job_of(jobs, leaf).writes) {
        EXPECT_EQ(write.modifier & 0xFFU, 1U);
    }
}

TEST(LaneSetup, ADeviceHasOneSetOpenAtATimeAndOneThatRefusesIsLeft) {
    LanesBench bench(t2());
    LaneSetup setup(bench.plan());
    setup.begin_rest();
    std::set<std::uint32_t> open;
    while (const auto next = setup.next()) {
        EXPECT_TRUE(open.insert(next->first).second) << "two at once";
    }
    EXPECT_EQ(open.size(), setup.jobs().size());
    const std::uint32_t refusing = *open.begin();
    setup.failed(refusing);
    for (const std::uint32_t job : open) {
        if (job != refusing) {
            setup.took(job);
        }
    }
    while (const auto next = setup.next()) {
        EXPECT_NE(next->first, refusing);
        setup.took(next->first);
    }
    setup.keep(bench.acknowledged);
    EXPECT_FALSE(setup.job(refusing).lacking.empty());
    EXPECT_EQ(bench.acknowledged.count(setup.job(refusing).owner), 0U);
    EXPECT_EQ(bench.acknowledged.size(), setup.jobs().size() - 1);
    EXPECT_EQ(bench.plan().size(), 1U) << "it is tried again";
}

TEST(LaneSetup, DevicesWhoseLinksAreNotSetUpWaitForTheirLanes) {
    LanesBench bench(t2());
    const std::uint32_t node = bench.some_switch();
    bench.fabric.nodes[node].ports[1].info.operational_vls = 1;
    LaneSetup setup(bench.plan());
    const auto begun = [&] {
        std::set<std::uint32_t> nodes;
        while (const auto next = setup.next()) {
            nodes.insert(setup.job(next->first).at.node);
        }
        return nodes;
    };
    EXPECT_EQ(begun().count(node), 0U);
    setup.begin_rest();
    EXPECT_EQ(begun(), std::set<std::uint32_t>{node});
}

}  // namespace
}  // namespace ibf::test
