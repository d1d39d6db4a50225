#include "daemon/sm/lft_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/prng.hpp"
#include "routing/netlist.hpp"

namespace ibf::sm {
namespace {

using routing::LftRow;
using routing::Routes;
using routing::Topology;

Topology topology_of_spec(const char* spec) {
    return routing::topology_of(routing::generate_netlist(spec).value(), 0).value();
}

RowsInForce rows_of(const Routes& routes) {
    return routes.rows;
}

/// What the switches hold while a plan is written: each block as it was, dropped or as wanted.
struct Switches {
    std::vector<LftRow> rows;

    void write(std::uint32_t at, std::uint16_t block, const mad::LftBlock& entries) {
        std::copy(entries.ports.begin(), entries.ports.end(),
                  rows[at].begin() + static_cast<std::ptrdiff_t>(block * mad::kLftBlockEntries));
    }
    /// A LID whose walk from some switch never ends; 0 if there is none.
    [[nodiscard]] std::uint16_t looping_lid(const Topology& topology) const {
        for (std::uint16_t lid = 1; lid <= topology.max_lid; ++lid) {
            for (std::uint32_t start = 0; start < rows.size(); ++start) {
                std::uint32_t at = start;
                std::size_t steps = 0;
                for (; steps <= rows.size(); ++steps) {
                    const std::uint8_t port = rows[at][lid];
                    if (port == 0 || port == mad::kLftDrop ||
                        topology.switches[at].peers[port].kind != routing::PortPeer::Kind::switch_) {
                        break;
                    }
                    at = topology.switches[at].peers[port].index;
                }
                if (steps > rows.size()) {
                    return lid;
                }
            }
        }
        return 0;
    }
};

TEST(LftPlan, WhatIsEqualIsNotWritten) {
    const Topology topology = topology_of_spec("fat-tree:radix=8,levels=2");
    const Routes routes = routing::run_engine("minhop", topology, nullptr, {}).value();
    RowsInForce copies;
    for (const auto& row : routes.rows) {
        copies.push_back(std::make_shared<const LftRow>(*row));
    }
    EXPECT_TRUE(plan_lfts(topology, rows_of(routes), routes).writes.empty());
    EXPECT_TRUE(plan_lfts(topology, copies, routes).writes.empty()) << "compared by value, not by pointer";
}

TEST(LftPlan, ASwitchOfWhichNothingIsKnownTakesEveryBlock) {
    const Topology topology = topology_of_spec("fat-tree:radix=16,levels=2");
    const Routes routes = routing::run_engine("minhop", topology, nullptr, {}).value();
    RowsInForce in_force = rows_of(routes);
    in_force[3] = nullptr;
    const LftPlan plan = plan_lfts(topology, in_force, routes);
    EXPECT_EQ(plan.writes.size(), routes.rows[3]->size() / mad::kLftBlockEntries);
    EXPECT_TRUE(
        std::all_of(plan.writes.begin(), plan.writes.end(), [](auto& w) { return w.switch_index == 3; }));
    EXPECT_TRUE(plan.drops.empty());
}

TEST(LftPlan, BlocksGoRoundTheSwitchesSoThatManyWorkAtOnce) {
    const Topology topology = topology_of_spec("fat-tree:radix=16,levels=2");
    const Routes routes = routing::run_engine("minhop", topology, nullptr, {}).value();
    const LftPlan plan = plan_lfts(topology, RowsInForce(routes.rows.size()), routes);
    for (std::size_t i = 1; i < routes.rows.size(); ++i) {
        EXPECT_NE(plan.writes[i].switch_index, plan.writes[i - 1].switch_index);
    }
}

// C39: a spine's way to a leaf is lost. What the leaves send by it is mended before what only moves.
TEST(FieldCase, C39_broken_ways_between_switches_are_mended_first) {
    const Topology topology = topology_of_spec("fat-tree:radix=8,levels=2");
    const Routes old = routing::run_engine("ftree", topology, nullptr, {}).value();
    Topology cut = topology;
    const std::uint32_t leaf = cut.end_ports.front().switch_index;
    auto& ports = cut.switches[leaf].peers;
    const auto uplink = std::find_if(ports.begin(), ports.end(), [](const routing::PortPeer& peer) {
        return peer.kind == routing::PortPeer::Kind::switch_;
    });
    cut.switches[uplink->index].peers[uplink->port.value()] = {};
    *uplink = {};
    Routes fresh = routing::run_engine("ftree", cut, &old, {}).value();
    // And a host's entry elsewhere that is changed without need.
    const std::uint32_t other = cut.end_ports.back().switch_index;
    LftRow moved = *fresh.rows[other];
    moved[cut.end_ports.front().lids.base.value()] = mad::kLftDrop;
    fresh.rows[other] = std::make_shared<const LftRow>(std::move(moved));
    const LftPlan plan = plan_lfts(cut, old.rows, fresh);
    const auto leads = [&](std::uint32_t at, std::uint8_t port, routing::PortPeer::Kind kind) {
        const auto& peers = cut.switches[at].peers;
        return port != 0 && port < peers.size() && peers[port].kind == kind;
    };
    const auto mends = [&](const LftWrite& write) {
        bool any = false;
        for (std::size_t lid = write.block * 64U; lid < (write.block + 1) * 64U; ++lid) {
            const std::uint32_t at = write.switch_index;
            any = any || (leads(at, (*old.rows[at])[lid], routing::PortPeer::Kind::none) &&
                          leads(at, (*fresh.rows[at])[lid], routing::PortPeer::Kind::switch_));
        }
        return any;
    };
    const auto first_other = std::find_if_not(plan.writes.begin(), plan.writes.end(), mends);
    EXPECT_GT(std::count_if(plan.writes.begin(), first_other, mends), 0);
    EXPECT_TRUE(std::none_of(first_other, plan.writes.end(), mends));
    EXPECT_TRUE(std::any_of(first_other, plan.writes.end(),
                            [&](const LftWrite& write) { return write.switch_index == other; }));
    EXPECT_EQ(plan.writes.front().switch_index, leaf);
}

// C39: whatever order the blocks land in within a stage, no mix of old and new entries loops for any LID.
TEST(FieldCase, C39_no_mix_of_old_and_new_tables_loops) {
    std::size_t with_drops = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const Topology topology =
            topology_of_spec(fmt::format("random:switches=12,degree=3,hosts=6,seed={}", seed).c_str());
        const Routes from = routing::run_engine("updn", topology, nullptr, {}).value();
        const Routes to = routing::run_engine("minhop", topology, nullptr, {}).value();
        const LftPlan plan = plan_lfts(topology, rows_of(from), to);
        with_drops += plan.drops.empty() ? 0U : 1U;
        Switches switches;
        for (const auto& row : from.rows) {
            switches.rows.push_back(*row);
        }
        base::Prng prng(seed);
        auto drops = plan.drops;
        prng.shuffle(drops);
        for (const LftWrite& w : drops) {
            switches.write(w.switch_index, w.block, drop_block(plan, *from.rows[w.switch_index], w));
            ASSERT_EQ(switches.looping_lid(topology), 0) << "seed " << seed << " while dropping";
        }
        auto writes = plan.writes;
        prng.shuffle(writes);
        for (const LftWrite& w : writes) {
            switches.write(w.switch_index, w.block, block_of(*to.rows[w.switch_index], w.block));
            ASSERT_EQ(switches.looping_lid(topology), 0) << "seed " << seed << " while writing";
        }
        for (std::size_t s = 0; s < to.rows.size(); ++s) {
            EXPECT_EQ(switches.rows[s], *to.rows[s]);
        }
    }
    EXPECT_GT(with_drops, 0U) << "no seed needed the drop stage: the test shows nothing";
}

}  // namespace
}  // namespace ibf::sm
