// DOC: routing against the speed of memory.
//
// For each fabric SPEC (default: the sizes of the performance budgets) runs every engine, the proof and the
// quality figures, and prints the minimum of the runs, also as a multiple of a baseline measured in the same
// run: writing as many bytes as the forwarding tables hold. Usage: routing_bench [RUNS] [SPEC...]
#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <ctime>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/heap.hpp"
#include "routing/mixture.hpp"
#include "routing/netlist.hpp"
#include "routing/routes.hpp"
#include "routing/topology.hpp"

namespace {

using namespace ibf::routing;

double seconds_of(const std::function<void()>& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Processor seconds of one run: on a shared machine the truer figure.
double processor_seconds_of(const std::function<void()>& work) {
    const std::clock_t start = std::clock();
    work();
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

double best_of(int runs, const std::function<void()>& work) {
    double best = seconds_of(work);
    for (int i = 1; i < runs; ++i) {
        best = std::min(best, seconds_of(work));
    }
    return best;
}

/// Allocates and writes one row per switch, as any engine must.
double memory_baseline(std::size_t rows, std::size_t row_size, int runs) {
    return best_of(runs, [&] {
        std::vector<std::vector<std::uint8_t>> tables(rows);
        for (std::size_t i = 0; i < rows; ++i) {
            tables[i].resize(row_size, static_cast<std::uint8_t>(i));
        }
    });
}

double peak_megabytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

void print_quality(const Quality& quality) {
    fmt::print(
        "    worst/mean link {:.3f} (max {}, mean {:.0f}, sigma {:.0f}), hops max {} mean {:.2f}, dilation "
        "max "
        "{:.2f} mean {:.4f}, unused {}\n",
        static_cast<double>(quality.max_link_load) / std::max(1.0, quality.mean_link_load),
        quality.max_link_load, quality.mean_link_load, quality.sigma_link_load, quality.max_hops,
        quality.mean_hops, quality.max_dilation, quality.mean_dilation, quality.unused_links);
    for (const LevelLoad& level : quality.levels) {
        fmt::print("      {:10} {:7} links  worst/mean {:.3f}  mean {:.0f}\n", level.level, level.links,
                   static_cast<double>(level.max) / std::max(1.0, level.mean), level.mean);
    }
}

/// `before`: tables of another engine, as if they were in force; becomes these, if there were none.
void bench_engine(const Topology& topology, const std::string& engine, int runs, double baseline,
                  std::optional<Routes>& before) {
    RouteOptions options;
    ibf::base::Result<Routes> routes;
    const double compute = best_of(runs, [&] {
        routes = Routes{};
        routes = run_engine(engine, topology, nullptr, options);
    });
    if (!routes) {
        fmt::print("  {}: {}\n", engine, routes.error().message);
        return;
    }
    Verdict verdict;
    const double proof = best_of(runs, [&] { verdict = verify(topology, *routes, options.threads); });
    Quality quality;
    const double compute_cpu =
        processor_seconds_of([&] { routes = run_engine(engine, topology, nullptr, options); });
    const double proof_cpu =
        processor_seconds_of([&] { verdict = verify(topology, *routes, options.threads); });
    const double survey = seconds_of([&] { quality = measure_quality(topology, *routes, options.threads); });
    fmt::print(
        "  {:7} compute {:.3f} s ({:.1f}x, cpu {:.3f} s)  proof {:.3f} s ({:.1f}x, cpu {:.3f} s)  quality "
        "{:.3f} s  "
        "peak {:.0f} MB\n",
        engine, compute, compute / baseline, compute_cpu, proof, proof / baseline, proof_cpu, survey,
        peak_megabytes());
    fmt::print(
        "    pairs {} unreachable {} loops {} switch pairs unreachable {} credit loop {} hash {:016x}\n",
        verdict.pairs_checked, verdict.unreachable_pairs, verdict.loops, verdict.switch_pairs_unreachable,
        verdict.credit_loop.size(), routes->hash());
    if (before) {
        const double mixture =
            seconds_of([&] { static_cast<void>(mixed_ring(topology, *before, *routes, options.threads)); });
        fmt::print("    together with the tables of {}: {:.3f} s ({:.1f} proofs)\n", before->engine, mixture,
                   mixture / proof);
    } else {
        before = *routes;
    }
    print_quality(quality);
}

void bench(const std::string& spec, int runs) {
    const auto netlist = netlist_from_spec(spec);
    const auto topology =
        netlist ? topology_of(*netlist, 0) : tl::unexpected<ibf::base::Error>(netlist.error());
    if (!topology) {
        fmt::print("{}: {}\n", spec, topology.error().message);
        return;
    }
    const double baseline = memory_baseline(topology->switches.size(), topology->max_lid + 1U, runs);
    fmt::print("{}\n  {} switches, {} end ports, {} LIDs, {} links; baseline {:.3f} s\n", spec,
               topology->switches.size(), topology->end_ports.size(), topology->lid_count(),
               topology->link_count(), baseline);
    std::optional<Routes> first;
    for (const std::string& engine : engine_names()) {
        bench_engine(*topology, engine, runs, baseline, first);
    }
}

}  // namespace

int main(int argc, char** argv) {
    ibf::base::use_large_pages();  // as the programs do
    int runs = 5;
    std::vector<std::string> specs;
    for (int i = 1; i < argc; ++i) {
        const char* end = argv[i] + std::strlen(argv[i]);
        if (i > 1 || std::from_chars(argv[i], end, runs).ptr != end) {
            specs.emplace_back(argv[i]);
        }
    }
    if (specs.empty()) {
        specs = {"fat-tree:radix=36,levels=3", "fat-tree:radix=64,levels=3,pods=44"};
    }
    for (const std::string& spec : specs) {
        bench(spec, std::max(1, runs));
    }
    return 0;
}
