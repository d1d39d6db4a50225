// C69: an engine may build on its last evaluation only if nobody can tell by the tables.
#include <algorithm>

#include <fmt/format.h>

#include "engine_fixtures.hpp"
#include "grid_fixtures.hpp"

namespace ibf::routing::test {
namespace {

constexpr unsigned kSteps = 1000 / kSeriesStep;
constexpr unsigned kGoneMost = 6;  ///< cables, beside those of switches that are gone

/// A fabric of which cables, switches and addresses go and come back.
class ChangingFabric {
public:
    ChangingFabric(Topology whole, std::uint64_t seed)
        : whole_(std::move(whole)),
          cables_(switch_cables(whole_)),
          cable_gone_(cables_.size(), 0),
          switch_gone_(whole_.switches.size(), 0),
          top_lid_(whole_.max_lid),
          prng_(seed) {}

    /// One random change.
    void step() {
        switch (prng_.below(9)) {
            case 0:
            case 1:
            case 2: lose_cables(1 + prng_.below(3)); break;
            case 3:
            case 4: regain_a_cable(); break;
            case 5: switch_gone_[prng_.below(switch_gone_.size())] = 1; break;
            case 6: std::fill(switch_gone_.begin(), switch_gone_.end(), char{0}); break;  // all at once
            case 7: prng_.below(2) == 0 ? renumber_an_end_port() : exchange_lids(); break;
            default: flap_a_switch(); break;
        }
    }

    [[nodiscard]] Topology now() const {
        TopologyBuilder builder;
        for (std::uint32_t at = 0; at < whole_.switches.size(); ++at) {
            if (switch_gone_[at] == 0) {
                builder.add_switch(whole_.switches[at]);
            }
        }
        for (TopologyEndPort end : whole_.end_ports) {
            if (switch_gone_[end.switch_index] == 0) {
                const mad::Guid leaf = whole_.switches[end.switch_index].guid;
                builder.add_link(end.node_guid, end.port, leaf, end.switch_port, {});
                end.switch_index = kNoIndex;  // the link says it anew
                builder.add_end_port(std::move(end));
            }
        }
        for (std::size_t i = 0; i < cables_.size(); ++i) {
            const TopologySwitch& item = whole_.switches[cables_[i].at];
            const PortPeer& peer = item.peers[cables_[i].port];
            if (cable_gone_[i] == 0) {  // those of switches that are gone lead to nobody
                builder.add_link(item.guid, mad::PortNum{cables_[i].port}, whole_.switches[peer.index].guid,
                                 peer.port, {peer.data_vls});
            }
        }
        return builder.build();
    }

private:
    void lose_cables(std::uint64_t count) {
        const auto gone = static_cast<std::uint64_t>(std::count(cable_gone_.begin(), cable_gone_.end(), 1));
        if (gone + count > kGoneMost) {
            regain_a_cable();
            return;
        }
        for (; count != 0; --count) {
            cable_gone_[prng_.below(cable_gone_.size())] = 1;
        }
    }

    void regain_a_cable() {
        const auto first = cable_gone_.begin() + static_cast<std::ptrdiff_t>(prng_.below(cable_gone_.size()));
        auto found = std::find(first, cable_gone_.end(), 1);
        found = found == cable_gone_.end() ? std::find(cable_gone_.begin(), first, 1) : found;
        if (found != cable_gone_.end()) {
            *found = 0;
        }
    }

    /// To no LID, or to a new one.
    void renumber_an_end_port() {
        mad::LidRange& lids = whole_.end_ports[prng_.below(whole_.end_ports.size())].lids;
        lids = lids.count() != 0 ? mad::LidRange{} : mad::LidRange{mad::Lid{++top_lid_}, 0};
    }

    void exchange_lids() {
        std::vector<TopologyEndPort>& ends = whole_.end_ports;
        std::swap(ends[prng_.below(ends.size())].lids, ends[prng_.below(ends.size())].lids);
    }

    void flap_a_switch() {
        char& gone = switch_gone_[prng_.below(switch_gone_.size())];
        gone = gone == 0 ? 1 : 0;
    }

    Topology whole_;
    std::vector<SwitchCable> cables_;
    std::vector<char> cable_gone_;
    std::vector<char> switch_gone_;
    std::uint16_t top_lid_;
    base::Prng prng_;
};

/// What the engine makes of the fabric with what it remembers and without; true if it serves.
bool is_same_without_memo(const std::string& engine, const Topology& topology, Routes& last) {
    Routes bare = last;
    bare.memo = nullptr;
    auto built_on = run_engine(engine, topology, &last, RouteOptions{});
    const auto anew = run_engine(engine, topology, &bare, RouteOptions{});
    EXPECT_EQ(built_on.has_value(), anew.has_value());
    if (!built_on || !anew) {
        return false;
    }
    EXPECT_EQ(built_on->switch_guids, anew->switch_guids);
    for (std::size_t at = 0; at < anew->rows.size(); ++at) {
        EXPECT_EQ(*built_on->rows[at], *anew->rows[at]) << topology.switches[at].name;
    }
    const Verdict verdict = verify(topology, *built_on, 2);
    EXPECT_TRUE(verdict.reachable()) << verdict.first_failure;
    EXPECT_TRUE(verdict.credit_loop_free);
    EXPECT_NE(built_on->memo, nullptr);
    last = std::move(*built_on);
    return true;
}

/// So many steps in all, on each of the fabrics in turn; how many of them were served.
unsigned steps_served(const std::string& engine, const std::vector<std::string>& specs) {
    unsigned served = 0;
    for (std::size_t i = 0; i < specs.size(); ++i) {
        const Topology whole = generated(specs[i]);
        Routes last = routes_of(engine, whole);
        ChangingFabric fabric(whole, i + 1);
        for (unsigned step = 0; step < kSteps / specs.size() && !::testing::Test::HasFailure(); ++step) {
            SCOPED_TRACE(fmt::format("{} {} step {}", engine, specs[i], step));
            fabric.step();
            served += is_same_without_memo(engine, fabric.now(), last) ? 1 : 0;
        }
    }
    return served;
}

// All engines that remember: 1,000 steps each.
TEST(Memo, C69_A_thousand_random_steps_give_the_same_tables_with_it_and_without) {
    EXPECT_EQ(steps_served("updn", {"fat-tree:radix=4,levels=3", "torus:4x4,hosts=1",
                                    "random:switches=20,degree=4,hosts=2,seed=3",
                                    "fat-tree:radix=8,levels=2,parallel=2"}),
              kSteps);
    EXPECT_EQ(steps_served("dnup", {"dragonfly:a=4,p=2,h=2", "torus:3x3x3,hosts=1",
                                    "random:switches=20,degree=4,hosts=2,seed=4", "hyperx:4x4,hosts=1"}),
              kSteps);
    // A switch of the middle that is gone, with others, may leave what is no tree.
    EXPECT_GT(steps_served("ftree", {"fat-tree:radix=6,levels=3", "fat-tree:radix=8,levels=3,parallel=2",
                                     "fat-tree:radix=6,levels=3,missing-links=0.05,seed=3",
                                     "fat-tree:radix=4,levels=4"}),
              kSteps * 9 / 10);
}

// Evaluations share what they have in common. What the next one works out anew is its own: built upon a
// second time, the first one gives the same again.
TEST(Memo, C69_An_evaluation_is_as_it_was_when_the_next_one_has_built_on_it) {
    for (const char* engine : {"updn", "dnup", "ftree"}) {
        const Topology whole = generated("fat-tree:radix=6,levels=3");
        Routes last = routes_of(engine, whole);
        ChangingFabric fabric(whole, 1);
        for (unsigned step = 0; step < 50 / kSeriesStep && !::testing::Test::HasFailure(); ++step) {
            SCOPED_TRACE(fmt::format("{} step {}", engine, step));
            fabric.step();
            const Topology now = fabric.now();
            const Routes before = last;
            if (is_same_without_memo(engine, now, last)) {
                Routes again = before;
                EXPECT_TRUE(is_same_without_memo(engine, now, again));
            }
        }
    }
}

// Two trees, then a cable from a leaf of the one up to the spine of the other. To those above that leaf it is
// spare: they reach the other tree only by what counts as no way down while there is another. Their own rows
// knew no path before and, taken for themselves, know none now.
TEST(Memo, C69_Parts_that_come_together_are_worked_out_anew) {
    FabricMaker maker{.switches = 8,
                      .links = {{0, 2}, {0, 3}, {1, 2}, {4, 5}, {4, 6}, {4, 7}},
                      .hosts = {2, 2, 0, 0, 0, 2, 2, 2}};
    const Topology apart = maker.make();
    maker.links.emplace_back(1, 4);
    const Topology joined = maker.make();
    RouteOptions options;
    options.root_guids = {apart.switches[2].guid, apart.switches[3].guid, apart.switches[4].guid};
    const auto before = run_engine("ftree", apart, nullptr, options);
    ASSERT_TRUE(before) << before.error().message;
    ASSERT_NE(before->memo, nullptr);
    Routes bare = *before;
    bare.memo = nullptr;
    const auto built_on = run_engine("ftree", joined, &*before, options);
    const auto anew = run_engine("ftree", joined, &bare, options);
    ASSERT_TRUE(built_on && anew);
    EXPECT_EQ(built_on->hash(), anew->hash());
    expect_safe(joined, *built_on);
    const auto back = run_engine("ftree", apart, &*built_on, options);
    ASSERT_TRUE(back);
    expect_safe(apart, *back);
}

}  // namespace
}  // namespace ibf::routing::test
