#include "daemon/sa/view.hpp"

#include <array>

#include "base/prng.hpp"
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

TEST(SaView, InHoldModePathsHaveTheSlsThatWereStored) {
    LabOptions options;
    options.config.routing.engines = {"torus-2qos"};
    const SaBench bench(netlist("torus:4x4,hosts=1"), options);
    auto snapshot = std::make_shared<fabric::Snapshot>(bench.view->snapshot());
    const auto routes = std::exchange(snapshot->routes, nullptr);
    snapshot->held = std::shared_ptr<const routing::Routes>(routes, &routes->routes);
    const sa::View view(snapshot);
    std::size_t on_other_levels = 0;
    for (const sa::End& from : view.ends()) {
        for (const sa::End& to : view.ends()) {
            ASSERT_EQ(view.sl(from, to.lids.base), bench.view->sl(from, to.lids.base));
            on_other_levels += view.sl(from, to.lids.base) == 0 ? 0U : 1U;
        }
    }
    EXPECT_GT(on_other_levels, 0U);
}

/// Every pair's limits against the walks that they stand for.
void expect_limits_of_walks(const sa::View& view) {
    for (const sa::End& a : view.ends()) {
        for (const sa::End& b : view.ends()) {
            const auto there = view.walk(a, b.lids.base);
            const auto back = view.walk(b, a.lids.base);
            const auto one = view.limits(a, a.lids.base, b, b.lids.base, sa::Ways::there);
            const auto both = view.limits(a, a.lids.base, b, b.lids.base, sa::Ways::there_and_back);
            ASSERT_EQ(one.has_value(), there.has_value());
            ASSERT_EQ(both.has_value(), there && back);
            if (one) {
                EXPECT_EQ(*one, there->limits);
            }
            if (both) {
                EXPECT_EQ(both->mtu, std::min(there->limits.mtu, back->limits.mtu));
                EXPECT_EQ(both->rate, std::min(there->limits.rate, back->limits.rate));
            }
        }
    }
}

TEST(SaView, LimitsAreThoseOfTheWalksWhateverTheCablesRunAt) {
    for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U, 6U}) {
        base::Prng prng{seed};
        routing::Netlist net = netlist("fat-tree:radix=4,levels=3");
        constexpr std::array kSpeeds{mad::LinkSpeed::qdr, mad::LinkSpeed::edr, mad::LinkSpeed::hdr};
        for (routing::NetlistNode& node : net.nodes) {
            for (routing::NetlistPort& port : node.ports) {
                if (port.peer_node && seed > 1) {  // the first stays uniform
                    const mad::LinkSpeed speed = kSpeeds[prng.below(kSpeeds.size())];
                    port.speed = speed;
                    net.nodes[*port.peer_node].ports[port.peer_port.value()].speed = speed;
                }
            }
        }
        SaBench bench(net);
        EXPECT_TRUE(bench.view->proved());
        expect_limits_of_walks(*bench.view);
    }
}

TEST(SaView, NothingIsTakenAsProvedThatIsNotInForce) {
    SaBench bench(netlist("fat-tree:radix=4,levels=3"));
    const fabric::Snapshot up = bench.lab.snapshot();
    const auto hosts = [](const sa::View& view) {
        std::vector<const sa::End*> found;
        for (const sa::End& end : view.ends()) {
            if (!end.is_switch) {
                found.push_back(&end);
            }
        }
        return found;
    };
    // A switch holds another table than the proved one: from there one host is not reached.
    fabric::Snapshot wrong_entry = up;
    const sa::End& victim = *hosts(*bench.view).back();
    auto row = std::make_shared<routing::LftRow>(*up.programmed[victim.switch_index]);
    (*row)[victim.lids.base.value()] = mad::kLftDrop;
    wrong_entry.programmed[victim.switch_index] = row;
    const sa::View dropped(std::make_shared<fabric::Snapshot>(wrong_entry));
    EXPECT_FALSE(dropped.proved());
    expect_limits_of_walks(dropped);
    EXPECT_FALSE(dropped.walk(*hosts(dropped).front(), victim.lids.base));

    // The fabric was looked at anew, and no engine served since.
    fabric::Snapshot unserved = up;
    unserved.view = std::make_shared<const fabric::TopologyView>(*up.view);
    EXPECT_FALSE(sa::View(std::make_shared<fabric::Snapshot>(unserved)).proved());

    // A link between two switches went down since.
    auto fabric = std::make_shared<fabric::Fabric>(*up.fabric);
    const std::uint32_t leaf = up.view->switch_nodes[victim.switch_index];
    for (fabric::Port& port : fabric->nodes[leaf].ports) {
        if (port.peer.node != fabric::kNoNode && fabric->nodes[port.peer.node].is_switch()) {
            fabric->port(port.peer).info.state = mad::PortState::down;
            port.info.state = mad::PortState::down;
            break;
        }
    }
    fabric::Snapshot cut = up;
    cut.fabric = fabric;
    const sa::View torn(std::make_shared<fabric::Snapshot>(cut));
    EXPECT_FALSE(torn.proved());
    expect_limits_of_walks(torn);
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
        return sa::rate_code(bench.view->walk(bench.end(from), bench.end(to).lids.base)->limits.rate);
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
