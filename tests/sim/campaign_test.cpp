// Seeded campaigns: random small fabrics, random faults over virtual time, then quiet; whoever looks from outside at rest
// must find nothing wrong. A failing seed prints how to replay it.
//
//   IBF_SEED=N             this seed alone
//   IBF_SOAK_SEEDS=N       so many further seeds (./dev soak)
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "base/prng.hpp"
#include "harness.hpp"

namespace ibf::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::string random_fabric(base::Prng& prng) {
    switch (prng.below(6)) {
        case 0: return fmt::format("fat-tree:radix=4,levels=3,missing-links=0.05,seed={}", prng.below(1000));
        case 1: return fmt::format("fat-tree:radix={},levels=2", 4 + 2 * prng.below(3));
        case 2: return fmt::format("ring:{}", 3 + prng.below(5));
        case 3: return "torus:3x3,hosts=1";
        case 4: return fmt::format("random:switches={},degree=3,hosts=2,seed={}", 6 + 2 * prng.below(4), prng.below(1000));
        default: return "hypercube:dim=3,hosts=1";
    }
}

std::uint32_t node_of(const routing::Netlist& list, mad::Guid guid) {
    const auto found = std::find_if(list.nodes.begin(), list.nodes.end(), [&](const auto& n) { return n.guid == guid; });
    return static_cast<std::uint32_t>(found - list.nodes.begin());
}

/// A place for a fault: any cabled port of a switch, by description.
std::string random_port(const routing::Netlist& list, base::Prng& prng) {
    for (;;) {
        const auto& node = list.nodes[prng.below(list.nodes.size())];
        const auto port = 1 + prng.below(node.num_ports());
        if (node.type == mad::NodeType::switch_ && node.ports[port].peer_node) {
            return fmt::format("\"{}\"/{}", node.description, port);
        }
    }
}

std::string random_node(const routing::Netlist& list, std::uint32_t own, base::Prng& prng) {
    for (;;) {
        const auto index = prng.below(list.nodes.size());
        if (index != own) {
            return fmt::format("\"{}\"", list.nodes[index].description);
        }
    }
}

/// One fault that passes by itself or that settle() takes back.
std::string random_fault(const Lab& lab, std::uint32_t own, base::Prng& prng) {
    const routing::Netlist& list = lab.sim.netlist();
    switch (prng.below(8)) {
        case 0: return fmt::format("drop * count={}", 1 + prng.below(30));
        case 1: return fmt::format("delay * delay=300ms count={}", 1 + prng.below(10));
        case 2: return fmt::format("duplicate * count={}", 1 + prng.below(20));
        case 3: return fmt::format("wrong-tid {} count={}", random_node(list, own, prng), 1 + prng.below(3));
        case 4: return fmt::format("error-status {} method=Set number=0x1c count={}", random_node(list, own, prng), 1 + prng.below(2));
        case 5: return fmt::format("reboot {}", random_node(list, own, prng));
        default: {
            const std::string at = random_port(list, prng);
            return fmt::format("link-down {}\nat {}ms link-up {}", at, 50 + prng.below(3000), at);
        }
    }
}

void run_seed(std::uint64_t seed) {
    SCOPED_TRACE(fmt::format("replay: IBF_SEED={} IBF_LAB_TRACE=1 ibf_test_campaign --gtest_filter=Campaign.*", seed));
    base::Prng prng(seed);
    const std::string spec = random_fabric(prng);
    SCOPED_TRACE(spec);
    LabOptions options;
    options.sim.seed = seed;
    Lab lab(netlist(spec), options);
    lab.watch_loops();
    lab.start();
    const std::uint32_t own = node_of(lab.sim.netlist(), lab.sim.local_port(lab.client).node_guid);
    std::vector<std::string> faults;
    for (std::uint64_t i = 0, count = 3 + prng.below(8); i < count; ++i) {
        lab.advance(milliseconds{prng.below(4000)});
        faults.push_back(random_fault(lab, own, prng));
        lab.inject(faults.back());
        if (prng.below(10) == 0) {
            prng.below(2) == 0 ? lab.kill() : lab.stop();
            faults.push_back("restart");
            lab.start();
        }
    }
    SCOPED_TRACE(join_lines(faults));
    lab.advance(seconds{60});
    ASSERT_TRUE(lab.run_until_up(seconds{120})) << "not up: " << lab.snapshot().mode_text;
    EXPECT_EQ(join_lines(problems(lab, {})), "");
    EXPECT_EQ(join_lines(lab.loops()), "");
    // At rest nothing more is written.
    lab.forget_counts();
    lab.advance(seconds{25});
    EXPECT_EQ(lab.sets(mad::Attribute::linear_forwarding_table), 0U);
}

TEST(Campaign, FixedSeedsAndOneNew) {
    if (const char* one = std::getenv("IBF_SEED")) {
        return run_seed(std::strtoull(one, nullptr, 0));
    }
    for (std::uint64_t seed = 1; seed <= 30 && !testing::Test::HasFailure(); ++seed) {
        run_seed(seed);
    }
    const std::uint64_t fresh = std::random_device{}();
    fmt::print("random seed of this run: {}\n", fresh);
    run_seed(fresh);
}

TEST(Soak, ManySeeds) {
    const char* count = std::getenv("IBF_SOAK_SEEDS");
    if (count == nullptr) {
        GTEST_SKIP() << "IBF_SOAK_SEEDS is not set: ./dev soak runs this";
    }
    for (std::uint64_t seed = 1000; seed < 1000 + std::strtoull(count, nullptr, 0) && !testing::Test::HasFailure(); ++seed) {
        run_seed(seed);
    }
}

// Killed at 200 moments of its bring-up, the next start reaches the tables that an undisturbed one reaches; in every other
// round a switch was reset in between.
TEST(Campaign, KilledAt200Moments) {
    const char* spec = "fat-tree:radix=4,levels=3";
    Lab calm(netlist(spec));
    calm.start();
    ASSERT_TRUE(calm.run_until_up(seconds{10}));
    const std::string wanted = calm.tables_text();
    const base::Duration whole = calm.now.time_since_epoch();
    base::Prng prng(7);
    for (int round = 0; round < 200; ++round) {
        SCOPED_TRACE(round);
        Lab lab(netlist(spec));
        lab.start();
        lab.advance(base::Duration{static_cast<std::int64_t>(prng.below(static_cast<std::uint64_t>(whole.count())))});
        lab.kill();
        if (round % 2 == 1) {
            lab.inject("reboot \"spine-002\"");
            lab.advance(milliseconds{500});
        }
        lab.start();
        ASSERT_TRUE(lab.run_until_up(seconds{60}));
        ASSERT_EQ(lab.tables_text(), wanted);
        ASSERT_EQ(join_lines(problems(lab, {})), "");
    }
}

}  // namespace
}  // namespace ibf::test
