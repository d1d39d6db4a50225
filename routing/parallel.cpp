#include "routing/parallel.hpp"

#include <algorithm>
#include <thread>

#if defined(IBF_SERIAL)
#include <atomic>
#include <vector>
#else
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#endif

namespace ibf::routing {

unsigned resolve_threads(unsigned threads) {
    const unsigned wanted = threads == 0 ? std::thread::hardware_concurrency() : threads;
    return std::clamp(wanted, 1U, kThreadsMax);
}

namespace {

WorkRange range_of(std::size_t chunk, std::size_t grain, std::size_t count, unsigned slot) {
    return WorkRange{slot, chunk * grain, std::min(count, (chunk + 1) * grain)};
}

}  // namespace

#if defined(IBF_SERIAL)

void parallel_ranges(std::size_t count, std::size_t grain, unsigned threads,
                     const std::function<void(const WorkRange&)>& work) {
    const std::size_t chunks = (count + grain - 1) / grain;
    std::atomic<std::size_t> next{0};
    const auto drain = [&](unsigned slot) {
        for (std::size_t chunk = next++; chunk < chunks; chunk = next++) {
            work(range_of(chunk, grain, count, slot));
        }
    };
    std::vector<std::thread> helpers;
    for (unsigned slot = 1; slot < std::min<std::size_t>(resolve_threads(threads), chunks); ++slot) {
        helpers.emplace_back(drain, slot);
    }
    drain(0);
    for (std::thread& helper : helpers) {
        helper.join();
    }
}

#else

void parallel_ranges(std::size_t count, std::size_t grain, unsigned threads,
                     const std::function<void(const WorkRange&)>& work) {
    const std::size_t chunks = (count + grain - 1) / grain;
    const unsigned workers = resolve_threads(threads);
    if (workers == 1 || chunks <= 1) {
        for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
            work(range_of(chunk, grain, count, 0));
        }
        return;
    }
    // More threads than cores would only make TBB complain; the ranges, and so the results, are the same.
    const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
    tbb::task_arena arena(static_cast<int>(std::min(workers, cores)));
    arena.execute([&] {
        tbb::parallel_for(
            std::size_t{0}, chunks,
            [&](std::size_t chunk) {
                const int slot = tbb::this_task_arena::current_thread_index();
                work(range_of(chunk, grain, count, static_cast<unsigned>(slot)));
            },
            tbb::simple_partitioner());
    });
}

#endif

}  // namespace ibf::routing
