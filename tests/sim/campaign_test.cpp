// Seeded campaigns: a random small fabric, minutes of random faults, then quiet. What remains must be sound.
//
// A seed fixes everything; a failing one is printed with its story.
//   IBF_SEED=N          this seed alone (IBF_LAB_TRACE=1 prints every event and sweep)
//   IBF_SOAK_SEEDS=N    so many new ones (./dev soak)
#include <cstdlib>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/prng.hpp"
#include "base/time.hpp"
#include "harness.hpp"

namespace ibf::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::string random_spec(base::Prng& prng) {
    const std::uint64_t own = prng.below(1000);
    switch (prng.below(9)) {
        case 0: return "fat-tree:radix=4,levels=2";
        case 1: return fmt::format("fat-tree:radix=4,levels=3,missing-links=0.05,seed={}", own);
        case 2: return "fat-tree:radix=6,levels=2";
        case 3: return fmt::format("ring:{},hosts=1", 3 + prng.below(5));
        case 4: return fmt::format("torus:{}x{},hosts=1", 3 + prng.below(2), 3 + prng.below(2));
        case 5: return fmt::format("star:leaves={},hosts=2", 2 + prng.below(4));
        case 6: return "hypercube:dim=3,hosts=1";
        case 7: return fmt::format("random:switches={},degree=3,hosts=2,seed={}", 6 + 2 * prng.below(4), own);
        default: return "single:6";
    }
}

/// One campaign. Each fault that lasts is taken back before the quiet time.
class Campaign {
public:
    explicit Campaign(std::uint64_t seed)
        : prng_(seed), spec_(random_spec(prng_)), lab_(netlist(spec_), options(seed)) {}

    void run() {
        lab_.start();
        if (prng_.below(3) != 0) {
            EXPECT_TRUE(lab_.run_until_up(seconds{60}));
        }
        const std::uint64_t faults = 3 + prng_.below(12);
        for (std::uint64_t i = 0; i < faults; ++i) {
            strike();
            lab_.advance(pause());
            if (prng_.below(12) == 0) {
                restart();
            }
        }
        for (const std::string& undo : undo_) {
            lab_.inject(undo);
        }
        lab_.advance(seconds{400});
        EXPECT_EQ(lab_.sm->mode(), fabric::SmMode::up) << lab_.snapshot().mode_text;
        EXPECT_EQ(join_lines(problems(lab_, CheckOptions{{}, true, 1500})), "");
        lab_.forget_counts();
        lab_.advance(seconds{60});
        EXPECT_EQ(lab_.all_sets(), 0U) << "it does not come to rest";
    }

    [[nodiscard]] std::string story() const { return spec_ + "\n" + join_lines(done_); }

private:
    static LabOptions options(std::uint64_t seed) {
        LabOptions options;
        options.sim.seed = seed;
        return options;
    }

    base::Duration pause() {
        switch (prng_.below(3)) {
            case 0: return std::chrono::microseconds{prng_.below(3000)};
            case 1: return milliseconds{prng_.below(2000)};
            default: return seconds{prng_.below(40)};
        }
    }

    /// Any node but the SM's own.
    std::uint32_t victim() {
        const auto& nodes = lab_.sim.netlist().nodes;
        const mad::Guid own = lab_.sim.local_port(lab_.client).node_guid;
        for (;;) {
            const auto node = static_cast<std::uint32_t>(prng_.below(nodes.size()));
            if (nodes[node].guid != own) {
                return node;
            }
        }
    }

    std::string cable_of(std::uint32_t node) {
        const auto& ports = lab_.sim.netlist().nodes[node].ports;
        std::vector<std::size_t> cabled;
        for (std::size_t p = 1; p < ports.size(); ++p) {
            if (ports[p].peer_node) {
                cabled.push_back(p);
            }
        }
        return fmt::format("\"{}/{}\"", lab_.sim.netlist().nodes[node].id,
                           cabled[prng_.below(cabled.size())]);
    }

    void strike() {
        const std::uint32_t node = victim();
        const std::string who = fmt::format("\"{}\"", lab_.sim.netlist().nodes[node].id);
        const std::string cable = cable_of(node);
        switch (prng_.below(12)) {
            case 0: return act(fmt::format("drop * probability=0.05 count={}", 1 + prng_.below(40)), "");
            // Few: what is not used up meets the rare questions to a silent device, one by one.
            case 1: return act(fmt::format("drop {} count={}", who, 1 + prng_.below(4)), "");
            case 2:
                return act(fmt::format("delay * probability=0.1 delay={}ms count=30", 1 + prng_.below(400)),
                           "");
            case 3: return act("reorder * probability=0.5 delay=2ms count=80", "");
            case 4: return act("duplicate * probability=0.3 count=60", "");
            case 5:
                return act(fmt::format("flap {} delay={}ms count={}", cable, 5 + prng_.below(400),
                                       1 + prng_.below(20)),
                           "");
            case 6:
                undo_.push_back("alive " +
                                who);  // a second reboot cuts the first one short and leaves the agent dead
                return act(
                    fmt::format("reboot {} delay={}ms", who, prng_.below(2) == 0 ? 0 : prng_.below(4000)),
                    "");
            case 7: return act("dead " + who, "alive " + who);
            case 8: return act("link-down " + cable, "link-up " + cable);
            case 9: return act("remove-node " + who, "add-node " + who);
            case 10:
                return act(
                    fmt::format("error-status {} method=Set number=0x1c count={}", who, 1 + prng_.below(4)),
                    "");
            default: return act(fmt::format("wrong-tid * probability=0.1 count={}", 1 + prng_.below(20)), "");
        }
    }

    void act(const std::string& fault, const std::string& undo) {
        done_.push_back(fmt::format("at {} {}", base::format_duration(lab_.now.time_since_epoch()), fault));
        lab_.inject(fault);
        if (undo.empty()) {
            return;
        }
        if (prng_.below(2) == 0) {
            lab_.advance(pause());
            done_.push_back(
                fmt::format("at {} {}", base::format_duration(lab_.now.time_since_epoch()), undo));
            lab_.inject(undo);
        } else {
            undo_.push_back(undo);
        }
    }

    void restart() {
        const bool clean = prng_.below(2) == 0;
        done_.push_back(fmt::format("at {} {} and started again",
                                    base::format_duration(lab_.now.time_since_epoch()),
                                    clean ? "stopped" : "killed"));
        clean ? lab_.stop() : lab_.kill();
        lab_.advance(pause());
        lab_.start();
    }

    base::Prng prng_;
    std::string spec_;
    Lab lab_;
    std::vector<std::string> undo_;
    std::vector<std::string> done_;
};

/// False when the seed failed.
bool run_seed(std::uint64_t seed) {
    SCOPED_TRACE(fmt::format(
        "replay: IBF_SEED={} IBF_LAB_TRACE=1 ibf_test_campaign --gtest_filter=Campaigns.FixedSeeds", seed));
    Campaign campaign(seed);
    campaign.run();
    if (::testing::Test::HasFailure()) {
        fmt::print("seed {}: {}\n", seed, campaign.story());
    }
    return !::testing::Test::HasFailure();
}

/// Another one in each run.
std::uint64_t new_seed() {
    return base::Prng(static_cast<std::uint64_t>(base::wall_now().time_since_epoch().count())).next() %
           1'000'000'000;
}

TEST(Campaigns, FixedSeeds) {
    if (const char* seed = std::getenv("IBF_SEED")) {
        run_seed(std::strtoull(seed, nullptr, 10));
        return;
    }
    for (std::uint64_t seed = 1; seed <= 30 && run_seed(seed); ++seed) {
    }
}

TEST(Campaigns, OneRandomSeed) {
    const std::uint64_t seed = new_seed();
    fmt::print("the random seed is {}\n", seed);
    run_seed(seed);
}

TEST(Soak, ManySeeds) {
    const char* text = std::getenv("IBF_SOAK_SEEDS");
    if (text == nullptr) {
        GTEST_SKIP() << "IBF_SOAK_SEEDS says how many";
    }
    const std::uint64_t count = std::strtoull(text, nullptr, 10);
    const std::uint64_t first = new_seed();
    fmt::print("{} seeds from {}\n", count, first);
    for (std::uint64_t i = 0; i < count && run_seed(first + i); ++i) {
    }
}

}  // namespace
}  // namespace ibf::test
