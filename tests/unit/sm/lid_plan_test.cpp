#include "daemon/sm/lid_plan.hpp"

#include <gtest/gtest.h>

#include <set>

namespace ibf::sm {
namespace {

using fabric::Fabric;
using fabric::LidMap;
using fabric::PortRef;
using mad::Guid;
using mad::Lid;
using mad::LidRange;
using mad::PortNum;

/// One switch (GUID 0x100) with `hosts` one-port adapters (port GUIDs 1, 2, ...), all linked.
Fabric star(std::uint8_t hosts) {
    Fabric fabric;
    fabric::Node hub;
    hub.info.type = mad::NodeType::switch_;
    hub.info.node_guid = Guid{0x100};
    hub.info.num_ports = hosts;
    hub.switch_info.emplace();
    hub.ports.resize(hosts + 1U);
    hub.ports[0].known = true;
    fabric.nodes.push_back(hub);
    for (std::uint8_t h = 1; h <= hosts; ++h) {
        fabric::Node host;
        host.info.node_guid = Guid{0x200U + h};
        host.info.num_ports = 1;
        host.ports.resize(2);
        host.ports[1].known = true;
        host.ports[1].guid = Guid{h};
        host.ports[1].peer = {0, PortNum{h}};
        fabric.nodes.push_back(host);
        fabric.nodes[0].ports[h].peer = {h, PortNum{1}};
    }
    return fabric;
}

LidRange lid(std::uint16_t base) {
    return {Lid{base}, 0};
}

void says(Fabric& fabric, std::uint32_t host, std::uint16_t base) {
    fabric.nodes[host].ports[1].info.lid = Lid{base};
}

TEST(LidPlan, NewLidsFollowTheAttachment) {
    const LidPlan plan = plan_lids(star(3), {}, {});
    EXPECT_EQ(plan.lids.at(Guid{1}), lid(1));
    EXPECT_EQ(plan.lids.at(Guid{2}), lid(2));
    EXPECT_EQ(plan.lids.at(Guid{3}), lid(3));
    EXPECT_EQ(plan.lids.at(Guid{0x100}), lid(4));
    EXPECT_TRUE(plan.moves.empty());
}

TEST(LidPlan, TheDatabaseGoesBeforeTheFabricAndTheFabricBeforeNew) {
    Fabric fabric = star(3);
    says(fabric, 1, 70);
    says(fabric, 2, 80);
    const LidPlan plan = plan_lids(fabric, {{Guid{1}, lid(50)}}, {});
    EXPECT_EQ(plan.lids.at(Guid{1}), lid(50));
    EXPECT_EQ(plan.lids.at(Guid{2}), lid(80));
    EXPECT_EQ(plan.lids.at(Guid{3}), lid(1));
    ASSERT_EQ(plan.moves.size(), 1U);
    EXPECT_NE(plan.moves[0].find("from LID 70"), std::string::npos) << plan.moves[0];
}

/// Two stars, Active in themselves, whose switches have just been joined: the first with `here` hosts, whose
/// port GUIDs are the lower ones, the second with `there`.
Fabric joined(std::uint8_t here, std::uint8_t there) {
    Fabric fabric = star(here);
    const auto offset = static_cast<std::uint32_t>(fabric.nodes.size());
    for (fabric::Node node : star(there).nodes) {
        node.info.node_guid = Guid{node.info.node_guid.value() + 0x10000};
        for (fabric::Port& port : node.ports) {
            if (port.peer.node != fabric::kNoNode) {
                port.peer.node += offset;
            }
            port.guid = port.guid == Guid{} ? Guid{} : Guid{port.guid.value() + 0x10000};
        }
        fabric.nodes.push_back(node);
    }
    for (fabric::Node& node : fabric.nodes) {
        for (fabric::Port& port : node.ports) {
            port.info.state = mad::PortState::active;
        }
    }
    for (const std::uint32_t n : {0U, offset}) {
        fabric::Port& port = fabric.nodes[n].ports.emplace_back();
        fabric.nodes[n].info.num_ports = static_cast<std::uint8_t>(fabric.nodes[n].ports.size() - 1);
        port.info.state = mad::PortState::init;
    }
    const PortNum here_port{static_cast<std::uint8_t>(here + 1)};
    const PortNum there_port{static_cast<std::uint8_t>(there + 1)};
    fabric.nodes[0].ports.back().peer = {offset, there_port};
    fabric.nodes[offset].ports.back().peer = {0, here_port};
    return fabric;
}

// C59: without memory the smaller of two joined subnets gives way, whatever its GUIDs, and only where they
// clash.
TEST(FieldCase, C59_the_smaller_subnet_moves) {
    for (const auto& [here, there] : {std::pair{3, 5}, std::pair{5, 3}}) {
        Fabric fabric = joined(static_cast<std::uint8_t>(here), static_cast<std::uint8_t>(there));
        const auto offset = static_cast<std::uint32_t>(here) + 1U;
        for (std::uint32_t h = 1; h <= static_cast<std::uint32_t>(here); ++h) {
            says(fabric, h, static_cast<std::uint16_t>(10 + h));
        }
        for (std::uint32_t h = 1; h <= static_cast<std::uint32_t>(there); ++h) {
            says(fabric, offset + h, static_cast<std::uint16_t>(12 + h));  // clashes from 13 on
        }
        const LidPlan plan = plan_lids(fabric, {}, {});
        const auto kept = [&](std::uint32_t first, int hosts) {
            int same = 0;
            for (std::uint32_t h = first; h < first + static_cast<std::uint32_t>(hosts); ++h) {
                const fabric::Port& port = fabric.nodes[h].ports[1];
                same += plan.lids.at(port.guid).base == port.info.lid ? 1 : 0;
            }
            return same;
        };
        const int clashes = std::min(here - 2, there);
        EXPECT_EQ(kept(1, here), here > there ? here : here - clashes);
        EXPECT_EQ(kept(offset + 1, there), there > here ? there : there - clashes);
    }
}

// C59: two claims on one LID. Who is remembered stays; the newcomer moves; without memory the lower GUID
// stays.
TEST(FieldCase, C59_the_newcomer_of_a_clash_moves) {
    Fabric fabric = star(4);
    says(fabric, 1, 7);
    says(fabric, 2, 7);
    says(fabric, 3, 9);
    says(fabric, 4, 9);
    const LidPlan plan = plan_lids(fabric, {{Guid{2}, lid(7)}}, {});
    EXPECT_EQ(plan.lids.at(Guid{2}), lid(7)) << "remembered, although its GUID is the higher one";
    EXPECT_NE(plan.lids.at(Guid{1}), lid(7));
    EXPECT_EQ(plan.lids.at(Guid{3}), lid(9));
    EXPECT_NE(plan.lids.at(Guid{4}), lid(9));
    EXPECT_EQ(plan.moves.size(), 2U);
}

TEST(LidPlan, RangesAreAlignedAndDisjointForEveryLmc) {
    for (std::uint8_t lmc = 0; lmc <= 7; ++lmc) {
        const LidPlan plan =
            plan_lids(star(20), {{Guid{5}, LidRange{Lid{128}, lmc}}, {Guid{6}, lid(3)}}, {lmc, false});
        std::set<std::uint32_t> used;
        for (const auto& [guid, range] : plan.lids) {
            EXPECT_EQ(range.lmc, guid == Guid{0x100} ? 0 : lmc);
            EXPECT_EQ(range.base.value() % (1U << range.lmc), 0U);
            for (std::uint32_t one = range.base.value(); one < range.end(); ++one) {
                EXPECT_TRUE(used.insert(one).second) << "LID " << one << " twice at LMC " << int{lmc};
            }
        }
        EXPECT_EQ(plan.lids.at(Guid{5}).base, Lid{128});
        EXPECT_FALSE(used.contains(0));
    }
}

TEST(LidPlan, IllegalLidsAreNotKept) {
    Fabric fabric = star(3);
    says(fabric, 1, 0xC001);
    says(fabric, 2, 0xFFFF);
    const LidPlan plan = plan_lids(fabric, {{Guid{3}, lid(0xC000)}}, {});
    for (const auto& [guid, range] : plan.lids) {
        EXPECT_LE(range.base.value(), mad::kLidUnicastMax) << guid.value();
    }
}

TEST(LidPlan, WhatIsAwayKeepsItsLidUntilTheSpaceIsFull) {
    LidMap remembered{{Guid{0x999}, lid(1)}};
    EXPECT_EQ(plan_lids(star(1), remembered, {}).lids.at(Guid{1}), lid(2));
    for (std::uint32_t base = 1; base <= mad::kLidUnicastMax; ++base) {
        remembered[Guid{0x10000 + base}] = lid(static_cast<std::uint16_t>(base));
    }
    const LidPlan full = plan_lids(star(3), remembered, {});
    EXPECT_TRUE(full.unserved.empty()) << "reservations of the absent give way";
    EXPECT_EQ(full.lids.size(), 4U);
}

TEST(LidPlan, AHalfDoneBringUpGetsTheSameLidsAgain) {
    const LidPlan whole = plan_lids(star(9), {}, {});
    for (unsigned mask = 0; mask < 512; mask += 37) {
        Fabric fabric = star(9);
        for (std::uint32_t host = 1; host <= 9; ++host) {
            if ((mask >> (host - 1) & 1U) != 0) {
                fabric.nodes[host].ports[1].info.lid = whole.lids.at(Guid{host}).base;
            }
        }
        EXPECT_EQ(plan_lids(fabric, {}, {}).lids, whole.lids) << mask;
    }
}

}  // namespace
}  // namespace ibf::sm
