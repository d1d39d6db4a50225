// DOC: what one lost link or switch costs: time to new tables, and blocks to write.
//
// On a tree (default: the LID-space-full one) routes with each engine, takes away one seeded link between the
// lowest two levels, one above, and one switch of the top level in turn, and routes again on the tables
// before. Prints the least time of the runs, and the blocks that hold another entry beside those that anybody
// would have to write (tests/unit/routing/forced_blocks.hpp): all against what traffic forces, only those in
// use by traffic against that, and all against what traffic and dead cables force. Where losses differ by
// place (the start of an up/down order does), the worst of them is named as well. Usage: reroute_bench [RUNS]
// [SPEC]
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/heap.hpp"
#include "base/prng.hpp"
#include "tests/unit/routing/engine_fixtures.hpp"
#include "tests/unit/routing/forced_blocks.hpp"
#include "tests/unit/routing/grid_fixtures.hpp"

namespace {

using namespace ibf::routing;

constexpr std::size_t kPlaces = 8;  ///< losses of a kind

struct Loss {
    std::string what;
    Topology cut;
};

/// A cable between switches, by one of its ends.
struct Cable {
    std::uint32_t at = 0;
    std::size_t port = 0;
};

bool has_hosts(const TopologySwitch& item) {
    return std::any_of(item.peers.begin(), item.peers.end(),
                       [](const PortPeer& peer) { return peer.kind == PortPeer::Kind::end_port; });
}

/// The cables of leaves first, all others second.
std::pair<std::vector<Cable>, std::vector<Cable>> cables_of(const Topology& topology) {
    std::pair<std::vector<Cable>, std::vector<Cable>> cables;
    for (std::uint32_t at = 0; at < topology.switches.size(); ++at) {
        const bool leaf = has_hosts(topology.switches[at]);
        for (std::size_t port = 1; port < topology.switches[at].peers.size(); ++port) {
            const PortPeer& peer = topology.switches[at].peers[port];
            if (peer.kind != PortPeer::Kind::switch_) {
                continue;
            }
            const bool to_leaf = has_hosts(topology.switches[peer.index]);
            if (leaf) {
                cables.first.push_back({at, port});
            } else if (!to_leaf && at < peer.index) {
                cables.second.push_back({at, port});
            }
        }
    }
    return cables;
}

std::vector<Loss> lost_cables(const Topology& topology, const std::vector<Cable>& cables) {
    std::vector<Loss> losses;
    ibf::base::Prng prng(1);
    for (std::size_t i = 0; i < kPlaces && !cables.empty(); ++i) {
        const Cable& cable = i == 0 ? cables.front() : cables[prng.below(cables.size())];
        Loss loss{fmt::format("{} port {}", topology.switches[cable.at].name, cable.port), topology};
        test::cut_link(loss.cut, cable.at, cable.port);
        losses.push_back(std::move(loss));
    }
    return losses;
}

bool is_top(const Topology& topology, const TopologySwitch& item) {
    return !has_hosts(item) && std::none_of(item.peers.begin(), item.peers.end(), [&](const PortPeer& peer) {
        return peer.kind == PortPeer::Kind::switch_ && has_hosts(topology.switches[peer.index]);
    });
}

std::vector<Loss> lost_tops(const Topology& topology) {
    std::vector<std::uint32_t> tops;
    for (std::uint32_t at = 0; at < topology.switches.size(); ++at) {
        if (is_top(topology, topology.switches[at])) {
            tops.push_back(at);
        }
    }
    std::vector<Loss> losses;
    ibf::base::Prng prng(1);
    for (std::size_t i = 0; i < kPlaces && !tops.empty(); ++i) {
        const std::uint32_t top = tops[prng.below(tops.size())];
        losses.push_back({topology.switches[top].name, test::without_switch(topology, top)});
    }
    return losses;
}

struct Cost {
    double seconds = 0;
    double processor = 0;
    test::BlockCount blocks;
};

Cost reroute(const std::string& engine, const Routes& before, const Topology& cut, int runs) {
    Cost cost;
    for (int run = 0; run < runs; ++run) {
        const std::clock_t cpu = std::clock();
        const auto start = std::chrono::steady_clock::now();
        const auto after = run_engine(engine, cut, &before, RouteOptions{});
        const double seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        const double processor = static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC;
        if (!after) {
            fmt::print("    {}: {}\n", engine, after.error().message);
            return cost;
        }
        cost.seconds = run == 0 ? seconds : std::min(cost.seconds, seconds);
        cost.processor = run == 0 ? processor : std::min(cost.processor, processor);
        if (run == 0) {
            cost.blocks = test::ForcedBlocks(before, cut, *after).count();
        }
    }
    return cost;
}

double ratio_of(std::uint64_t moved, std::uint64_t forced) {
    return static_cast<double>(moved) / static_cast<double>(std::max<std::uint64_t>(1, forced));
}

void bench(const std::string& kind, const std::string& engine, const Routes& before,
           const std::vector<Loss>& losses, int runs) {
    for (const Loss& loss : losses) {
        const Cost cost = reroute(engine, before, loss.cut, runs);
        const test::BlockCount& blocks = cost.blocks;
        fmt::print(
            "  {:6} {:12} {:16} {:6.1f} ms (cpu {:6.1f} ms)  moved {:5} (idle {:4}) forced {:5} (idle {:4}) "
            "ratio {:.2f} (in use {:.2f}, with idle {:.2f})  dropped {:5}  switches {}\n",
            engine, kind, loss.what, cost.seconds * 1e3, cost.processor * 1e3, blocks.moved, blocks.idle,
            blocks.forced, blocks.forced_idle, ratio_of(blocks.moved, blocks.forced),
            ratio_of(blocks.moved - blocks.idle, blocks.forced),
            ratio_of(blocks.moved, blocks.forced + blocks.forced_idle), blocks.dropped, blocks.switches);
    }
}

}  // namespace

int main(int argc, char** argv) {
    ibf::base::use_large_pages();  // as the daemon does
    int runs = 5;
    std::string spec = "fat-tree:radix=64,levels=3,pods=44";
    for (int i = 1; i < argc; ++i) {
        const char* end = argv[i] + std::strlen(argv[i]);
        if (std::from_chars(argv[i], end, runs).ptr != end) {
            spec = argv[i];
        }
    }
    const Topology whole = test::generated(spec);
    const auto [lower, upper] = cables_of(whole);
    const std::vector<Loss> kinds[] = {lost_cables(whole, lower), lost_cables(whole, upper),
                                       lost_tops(whole)};
    fmt::print("{}: {} switches, {} LIDs\n", spec, whole.switches.size(), whole.lid_count());
    for (const char* engine : {"ftree", "updn", "minhop"}) {
        const Routes before = test::routes_of(engine, whole);
        bench("leaf's link", engine, before, kinds[0], runs);
        bench("upper link", engine, before, kinds[1], runs);
        bench("top switch", engine, before, kinds[2], runs);
    }
    return 0;
}
