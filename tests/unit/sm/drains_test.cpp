// Drained elements, from the word to the simulated switches' own tables and back.
#include "daemon/sm/drains.hpp"

#include <gtest/gtest.h>

#include "harness.hpp"

namespace ibf::test {
namespace {

using fabric::Drain;
using mad::Attribute;
using std::chrono::seconds;

/// Four leaves ("leaf1".. with hosts at ports 1 to 4, spines at 5 to 7), three spines.
routing::Netlist four_by_three() {
    return leaf_spine(4, 3, 4, mad::LinkSpeed::hdr);
}

Drain element(const Lab& lab, const std::string& name, std::uint8_t port) {
    return {lab.sim.netlist().nodes[lab.node(name)].guid, mad::PortNum{port}, name, {}, false, {}};
}

/// Ways between hosts, by the switches' own tables, that cross a switch, or leave it by a port (else 0).
unsigned ways_across(const Lab& lab, const std::string& name, std::uint8_t port) {
    unsigned count = 0;
    const auto& nodes = lab.sim.netlist().nodes;
    const std::uint32_t element = lab.node(name);
    for (std::uint32_t from = 0; from < nodes.size(); ++from) {
        for (std::uint32_t to = 0; to < nodes.size(); ++to) {
            if (nodes[from].type == mad::NodeType::switch_ || nodes[to].type == mad::NodeType::switch_ ||
                from == to) {
                continue;
            }
            const auto steps = lab.sim.walk(from, mad::PortNum{1}, lab.lid(to, 1));
            EXPECT_TRUE(steps) << nodes[from].description << " to " << nodes[to].description;
            for (const auto& step : steps ? *steps : std::vector<sim::Simulator::Step>{}) {
                count += step.node == element && (port == 0 || step.out.value() == port) ? 1U : 0U;
            }
        }
    }
    return count;
}

/// Nothing is re-balanced: what is written here is for the drains alone.
LabOptions unbalanced() {
    LabOptions options = at("h1");
    options.config.rebalance_blocks = 0;
    return options;
}

struct DrainedLab {
    explicit DrainedLab(routing::Netlist net) : DrainedLab(std::move(net), unbalanced()) {}
    DrainedLab(routing::Netlist net, const LabOptions& options) : lab(std::move(net), options) {
        lab.watch_loops();
        lab.start();
        EXPECT_TRUE(lab.run_until_up(seconds{10}));
        lab.advance(seconds{15});
        lab.on_mad = [this](base::Instant, std::uint32_t node, const mad::Smp& request, mad::MadStatus) {
            const bool set = request.header.method == static_cast<std::uint8_t>(mad::Method::set);
            if (set && request.header.attribute == Attribute::linear_forwarding_table) {
                ++blocks[node];
            }
        };
    }
    void settle() {
        EXPECT_TRUE(lab.run_until_up(seconds{10}));
        lab.advance(seconds{30});
        EXPECT_EQ(wrong(lab), "");
        EXPECT_EQ(join_lines(lab.loops()), "");
    }
    void drain(const std::string& name, std::uint8_t port) {
        lab.drain(element(lab, name, port));
        settle();
    }
    [[nodiscard]] unsigned blocks_of_others(const std::string& name) const {
        unsigned count = 0;
        for (const auto& [node, written] : blocks) {
            count += node == lab.node(name) ? 0U : written;
        }
        return count;
    }

    Lab lab;
    std::map<std::uint32_t, unsigned> blocks;  ///< LFT Sets by node
};

TEST(Drains, TrafficLeavesASpineAndNothingElseMoves) {
    DrainedLab bench(four_by_three());
    const auto lids = bench.lab.lids();
    ASSERT_NE(ways_across(bench.lab, "spine2", 0), 0U);
    bench.lab.forget_counts();
    bench.drain("spine2", 0);
    EXPECT_EQ(ways_across(bench.lab, "spine2", 0), 0U);
    EXPECT_EQ(bench.lab.lids(), lids);
    EXPECT_EQ(bench.lab.sets(Attribute::port_info), 0U) << "it stays up";
    EXPECT_EQ(bench.lab.events("drained"), 1U);
    const auto drains = bench.lab.snapshot().drains;
    ASSERT_NE(drains, nullptr);
    ASSERT_EQ(drains->asked.size(), 1U);
    EXPECT_TRUE(drains->heeds(drains->asked[0]));
    EXPECT_EQ(drains->asked[0].cables.size(), 4U);
}

TEST(Drains, UntilTheTablesAreInForceItIsNotDrained) {
    DrainedLab bench(four_by_three());
    bench.lab.drain(element(bench.lab, "spine2", 0));
    const auto drains = bench.lab.snapshot().drains;
    ASSERT_NE(drains, nullptr);
    ASSERT_EQ(drains->asked.size(), 1U);
    EXPECT_FALSE(drains->heeds(drains->asked[0])) << "tables are being written";
    bench.settle();
}

/// What draining is for: then it is switched off, and comes back.
TEST(Drains, TakingItAwayAndPuttingItBackCostsTheOthersNothing) {
    DrainedLab bench(four_by_three());
    bench.drain("spine2", 0);
    bench.blocks.clear();
    bench.lab.inject("remove-node spine2");
    bench.lab.advance(seconds{30});
    bench.settle();
    EXPECT_EQ(bench.blocks_of_others("spine2"), 0U);
    ASSERT_EQ(bench.lab.snapshot().fabric->switch_count(), 6U);
    EXPECT_EQ(bench.lab.snapshot().drains->asked.size(), 1U);
    bench.lab.inject("add-node spine2");
    bench.lab.advance(seconds{30});
    bench.settle();
    ASSERT_EQ(bench.lab.snapshot().fabric->switch_count(), 7U);
    EXPECT_EQ(bench.blocks_of_others("spine2"), 0U);
    EXPECT_EQ(ways_across(bench.lab, "spine2", 0), 0U) << "it stays drained until it is undrained";
}

TEST(Drains, ACableIsDrainedAndPulled) {
    DrainedLab bench(four_by_three());
    ASSERT_NE(ways_across(bench.lab, "leaf1", 5), 0U);
    bench.drain("leaf1", 5);
    EXPECT_EQ(ways_across(bench.lab, "leaf1", 5), 0U);
    EXPECT_EQ(ways_across(bench.lab, "spine1", 1), 0U) << "nor the other way";
    EXPECT_NE(ways_across(bench.lab, "spine1", 0), 0U) << "the switch behind it goes on";
    bench.blocks.clear();
    bench.lab.inject("link-down leaf1/5");
    bench.lab.advance(seconds{30});
    bench.settle();
    EXPECT_TRUE(bench.blocks.empty());
}

TEST(Drains, ARestartKeepsThem) {
    for (const bool clean : {true, false}) {
        DrainedLab bench(four_by_three());
        bench.drain("spine2", 0);
        bench.drain("leaf3", 6);  // a cable of the drained switch
        const auto before = *bench.lab.snapshot().drains;
        bench.blocks.clear();
        clean ? bench.lab.stop() : bench.lab.kill();
        bench.lab.start();
        bench.settle();
        EXPECT_TRUE(bench.blocks.empty());
        ASSERT_NE(bench.lab.snapshot().drains, nullptr);
        EXPECT_EQ(bench.lab.snapshot().drains->asked, before.asked);
        EXPECT_EQ(bench.lab.snapshot().drains->in_force, before.in_force);
        EXPECT_EQ(ways_across(bench.lab, "spine2", 0), 0U);
    }
}

TEST(Drains, AnUndrainedElementServesAgain) {
    DrainedLab bench(four_by_three());
    bench.drain("spine2", 0);
    bench.lab.undrain(element(bench.lab, "spine2", 0));
    bench.settle();
    EXPECT_EQ(bench.lab.events("undrained"), 1U);
    EXPECT_EQ(bench.lab.snapshot().drains, nullptr) << "nothing is drained, and no table says so";
    EXPECT_TRUE(bench.lab.stored.drains.drains.empty());
    bench.lab.inject("remove-node spine1");  // spine3 is there: if drained still, spine2 is not needed
    bench.lab.advance(seconds{30});
    bench.settle();
    EXPECT_NE(ways_across(bench.lab, "spine2", 0), 0U);
}

TEST(Drains, TrafficComesBackWhenLoadsAreBalanced) {
    DrainedLab bench(four_by_three(), at("h1"));
    bench.drain("spine2", 0);
    bench.lab.undrain(element(bench.lab, "spine2", 0));
    bench.settle();
    bench.lab.advance(seconds{300});
    EXPECT_NE(ways_across(bench.lab, "spine2", 0), 0U);
    EXPECT_EQ(wrong(bench.lab), "");
    EXPECT_EQ(join_lines(bench.lab.loops()), "");
}

/// A preference, not a cut: where everything else is gone it serves.
TEST(Drains, TheLastWayServesThoughDrained) {
    DrainedLab bench(four_by_three());
    bench.drain("spine2", 0);
    bench.lab.inject("remove-node spine1\nremove-node spine3");
    bench.lab.advance(seconds{30});
    bench.settle();
    EXPECT_NE(ways_across(bench.lab, "spine2", 0), 0U);
}

TEST(Drains, ALeafByForceKeepsItsHosts) {
    DrainedLab bench(four_by_three());
    bench.drain("leaf2", 0);
    EXPECT_EQ(ways_across(bench.lab, "leaf2", 0), 2U * 4U * 12U + 4U * 3U) << "its hosts' alone";
    EXPECT_EQ(ways_across(bench.lab, "leaf2", 6) + ways_across(bench.lab, "leaf2", 7), 0U)
        << "they have the cable to one spine";
}

TEST(Drains, TreesKeepOffToo) {
    DrainedLab bench(four_by_three());
    constexpr mad::Mlid kMlid{0xC001};
    std::vector<sm::GroupMember> members;
    for (const char* name : {"h1", "h5", "h9", "h13"}) {
        members.push_back(
            {mad::Guid{bench.lab.sim.netlist().nodes[bench.lab.node(name)].guid.value() + 1}, true});
    }
    bench.lab.set_groups({{kMlid, members}});
    bench.lab.advance(seconds{1});
    const auto spine_of_tree = [&]() -> std::string {
        for (const char* name : {"spine1", "spine2", "spine3"}) {
            const auto tables = bench.lab.snapshot().multicast;
            const auto row = tables->find(bench.lab.sim.netlist().nodes[bench.lab.node(name)].guid);
            if (row != tables->end() && !row->second.empty()) {
                return name;
            }
        }
        return "";
    };
    const std::string first = spine_of_tree();
    ASSERT_NE(first, "");
    bench.drain(first, 0);
    EXPECT_NE(spine_of_tree(), "");
    EXPECT_NE(spine_of_tree(), first);
}

/// Out went one switch, in came another.
TEST(Drains, ASubstituteIsToldOnceAndIsNotDrained) {
    DrainedLab bench(four_by_three());
    bench.drain("spine2", 0);
    bench.lab.stop();
    routing::Netlist swapped = four_by_three();
    for (routing::NetlistNode& node : swapped.nodes) {
        if (node.description == "spine2") {
            node.guid = node.system_guid = mad::Guid{0x0002C90000ABCDEFULL};
        }
    }
    Lab lab(swapped, at("h1"));
    lab.stored = bench.lab.stored;
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{10}));
    lab.request_sweep(sm::SweepScope::full);
    lab.advance(seconds{30});
    ASSERT_EQ(lab.events("drain-swapped"), 1U);
    const fabric::EventRecord& event = *lab.find_event("drain-swapped");
    EXPECT_EQ(event.severity, fabric::EventRecord::Severity::warning);
    EXPECT_NE(event.text.find("'spine2' 0x0002c90000abcdef"), std::string::npos) << event.text;
    lab.advance(seconds{300});  // until loads are balanced anew
    EXPECT_NE(ways_across(lab, "spine2", 0), 0U) << "the new one serves";
    EXPECT_EQ(lab.events("drain-swapped"), 1U);
    EXPECT_EQ(wrong(lab), "");
}

TEST(Drains, ACableThatLeadsElsewhereIsTold) {
    DrainedLab bench(four_by_three());
    bench.drain("leaf1", 5);
    bench.lab.stop();
    routing::Netlist swapped = four_by_three();  // the cables of leaf1 to spine1 and spine2 change places
    const auto index = [&](const std::string& name) { return bench.lab.node(name); };
    auto& leaf = swapped.nodes[index("leaf1")];
    std::swap(leaf.ports[5], leaf.ports[6]);
    swapped.nodes[index("spine1")].ports[1].peer_port = mad::PortNum{6};
    swapped.nodes[index("spine2")].ports[1].peer_port = mad::PortNum{5};
    Lab lab(swapped, at("h1"));
    lab.stored = bench.lab.stored;
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{10}));
    lab.advance(seconds{30});
    EXPECT_EQ(lab.events("drain-swapped"), 1U);
    EXPECT_EQ(ways_across(lab, "leaf1", 5), 0U) << "what is plugged into a drained port is drained";
}

TEST(DrainBook, HoldsEachOnceAndNoMoreThanItMay) {
    sm::DrainBook book(db::DrainsRecord{});
    EXPECT_TRUE(book.add({mad::Guid{5}, mad::PortNum{0}, "a", {}, false, {}}));
    EXPECT_FALSE(book.add({mad::Guid{5}, mad::PortNum{0}, "again", {}, false, {}}));
    EXPECT_TRUE(book.add({mad::Guid{5}, mad::PortNum{3}, "a", {}, false, {}}))
        << "its port is another element";
    EXPECT_FALSE(book.remove(mad::Guid{5}, mad::PortNum{4}));
    for (std::uint64_t guid = 6; book.list().size() < fabric::kDrainsMax; ++guid) {
        ASSERT_TRUE(book.add({mad::Guid{guid}, mad::PortNum{0}, "", {}, false, {}}));
    }
    EXPECT_FALSE(book.add({mad::Guid{1}, mad::PortNum{0}, "", {}, false, {}}));
    EXPECT_TRUE(book.remove(mad::Guid{5}, mad::PortNum{0}));
    EXPECT_EQ(book.find(mad::Guid{5}, mad::PortNum{0}), nullptr);
    ASSERT_NE(book.find(mad::Guid{5}, mad::PortNum{3}), nullptr);
}

TEST(DrainBook, OfWhatIsStoredTwiceTheFirstCounts) {
    const db::DrainsRecord stored{{{mad::Guid{5}, mad::PortNum{0}, "first", 1, 0},
                                   {mad::Guid{5}, mad::PortNum{0}, "second", 2, 1},
                                   {mad::Guid{0}, mad::PortNum{0}, "nobody", 3, 0},
                                   {mad::Guid{5}, mad::PortNum{2}, "port", 4, 0}},
                                  {{mad::Guid{5}, mad::PortNum{2}, mad::Guid{8}, mad::PortNum{9}},
                                   {mad::Guid{6}, mad::PortNum{1}, mad::Guid{8}, mad::PortNum{9}},
                                   {mad::Guid{5}, mad::PortNum{1}, mad::Guid{7}, mad::PortNum{9}}}};
    const sm::DrainBook book(stored);
    ASSERT_EQ(book.list().size(), 2U);
    EXPECT_EQ(book.list()[0].name, "first");
    ASSERT_EQ(book.list()[0].cables.size(), 2U);
    EXPECT_EQ(book.list()[0].cables[0].peer, mad::Guid{8}) << "in the order of the record";
    ASSERT_EQ(book.list()[1].cables.size(), 1U);
    EXPECT_EQ(book.list()[1].cables[0].peer, mad::Guid{8});
}

TEST(DrainBook, WhatIsStoredComesBack) {
    sm::DrainBook book(db::DrainsRecord{});
    const base::WallTime since{std::chrono::milliseconds{1'800'000'000'123}};
    ASSERT_TRUE(book.add({mad::Guid{~0ULL},
                          mad::PortNum{0},
                          "spine",
                          since,
                          true,
                          {{mad::PortNum{1}, mad::Guid{7}, mad::PortNum{2}}}}));
    ASSERT_TRUE(book.add({mad::Guid{9},
                          mad::PortNum{4},
                          "leaf",
                          since,
                          false,
                          {{mad::PortNum{4}, mad::Guid{8}, mad::PortNum{1}}}}));
    db::DrainsRecord record = book.record();
    record.drains.push_back({mad::Guid{}, mad::PortNum{1}, "nobody", 0, 0});
    const sm::DrainBook again(record);
    EXPECT_EQ(again.list(), book.list());
}

}  // namespace
}  // namespace ibf::test
