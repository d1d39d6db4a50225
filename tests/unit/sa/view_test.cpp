#include "daemon/sa/view.hpp"

#include "sa_bench.hpp"

namespace ibf::test {
namespace {

using mad::Lid;

TEST(SaView, RatesAreInOrderOfSpeedWhateverTheirCodes) {
    EXPECT_EQ(sa::rate_code(sa::rate_rank(2.5)), 2);
    EXPECT_EQ(sa::rate_code(sa::rate_rank(40)), 7);
    EXPECT_EQ(sa::rate_code(sa::rate_rank(56)), 12);
    EXPECT_EQ(sa::rate_code(sa::rate_rank(100)), 16);
    EXPECT_EQ(sa::rate_code(sa::rate_rank(400)), 21);
    EXPECT_EQ(sa::rate_code(sa::rate_rank(800)), 23);
    EXPECT_EQ(sa::rate_code(sa::rate_rank(2400)), 24) << "the largest there is";
    EXPECT_EQ(sa::rate_rank(1), 0);
    EXPECT_GT(sa::rank_of_code(11), sa::rank_of_code(3)) << "14 Gb/s is more than 10";
    EXPECT_EQ(sa::rank_of_code(63), 0);
}

// The simulator's own walk through the switches' tables is the judge.
TEST(SaView, WalksAreThoseOfThePackets) {
    SaBench bench(netlist("fat-tree:radix=4,levels=3"));
    std::size_t checked = 0;
    for (const sa::End& from : bench.view->ends()) {
        for (const sa::End& to : bench.view->ends()) {
            const auto path = bench.view->walk(from, to.lids.base);
            ASSERT_TRUE(path || from.is_switch) << "only a switch may be without a way to another";
            if (!path || from.is_switch || from.guid == to.guid) {
                continue;
            }
            const mad::Guid guid = bench.view->fabric().nodes[from.at.node].guid();
            std::uint32_t node = 0;
            while (bench.lab.sim.netlist().nodes[node].guid != guid) {
                ++node;
            }
            const auto steps = bench.lab.sim.walk(node, from.at.port, to.lids.base);
            ASSERT_TRUE(steps.has_value());
            const auto links = bench.view->trace(from, to.lids.base);
            EXPECT_EQ(links.size(), path->links);
            ++checked;
        }
    }
    EXPECT_GT(checked, 100U);
}

TEST(SaView, ThePathIsAsFastAsItsSlowestLink) {
    routing::Netlist net = t2();
    for (routing::NetlistNode& node : net.nodes) {  // h5's cable runs at QDR, all others at EDR
        if (node.description == "h5") {
            node.ports[1].speed = mad::LinkSpeed::qdr;
            net.nodes[*node.ports[1].peer_node].ports[node.ports[1].peer_port.value()].speed =
                mad::LinkSpeed::qdr;
        }
    }
    SaBench bench(net);
    const auto rate = [&](const char* from, const char* to) {
        return sa::rate_code(bench.view->walk(bench.end(from), bench.end(to).lids.base)->rate);
    };
    EXPECT_EQ(rate("h1", "h6"), 16) << "100 Gb/s";
    EXPECT_EQ(rate("h1", "h5"), 7) << "40 Gb/s";
    EXPECT_EQ(rate("h5", "h1"), 7);
}

// C77: full and limited members may speak, two limited ones may not, and a port with both forms counts as one
// of them.
TEST(FieldCase, C77_limited_and_full_members) {
    SaBench bench(t1());
    auto fabric = std::make_shared<fabric::Fabric>(bench.view->fabric());
    const auto keys = [&](const char* name, std::vector<std::uint16_t> list) {
        mad::PKeyBlock block;
        for (std::size_t i = 0; i < list.size(); ++i) {
            block.keys[i] = mad::PKey{list[i]};
        }
        fabric->port(bench.end(name).at).pkeys = {block};
    };
    keys("h1", {0xFFFF, 0x8005});
    keys("h2", {0x7FFF, 0x0005});
    keys("h3", {0x7FFF});
    keys("h4", {0x8005, 0x0005});
    auto snapshot = std::make_shared<fabric::Snapshot>(bench.lab.snapshot());
    snapshot->fabric = fabric;
    bench.view = std::make_shared<sa::View>(snapshot);
    const auto shared = [&](const char* a, const char* b, std::optional<mad::PKey> asked) {
        return bench.view->shared_pkey(bench.end(a), bench.end(b), asked).value();
    };
    EXPECT_EQ(shared("h1", "h2", {}), 0xFFFF);
    EXPECT_EQ(shared("h2", "h1", mad::PKey{0x8005}), 0x8005);
    EXPECT_EQ(shared("h2", "h3", {}), 0) << "two limited members";
    EXPECT_EQ(shared("h2", "h4", {}), 0x8005) << "the full form of the port that has both";
    EXPECT_EQ(shared("h3", "h4", {}), 0);

    const auto ask = [&](const char* from, const char* to) {
        return bench
            .ask(mad::SaMethod::get_table, mad::SaAttribute::path_record,
                 {{"SLID", bench.end(from).lids.base.value()}, {"DLID", bench.end(to).lids.base.value()}})
            .count();
    };
    EXPECT_EQ(ask("h1", "h3"), 1U);
    EXPECT_EQ(ask("h2", "h3"), 0U);
}

}  // namespace
}  // namespace ibf::test
