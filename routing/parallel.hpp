// DOC: one parallel loop for all of routing.
//
// Work is cut into fixed ranges that do not depend on the number of threads, so a range's result is the same
// whoever computes it. Scratch and partial sums are kept per slot: a slot is used by one thread at a time,
// and combining slots must not depend on their order (sum, or, min). Nested use is not allowed. TBB runs the
// ranges; under IBF_SERIAL (ThreadSanitizer builds, where TBB is not instrumented) plain threads do.
#pragma once

#include <cstddef>
#include <functional>

namespace ibf::routing {

/// 0 means all cores; never more than kThreadsMax.
inline constexpr unsigned kThreadsMax = 256;
[[nodiscard]] unsigned resolve_threads(unsigned threads);

struct WorkRange {
    unsigned slot = 0;  ///< below resolve_threads(threads)
    std::size_t begin = 0;
    std::size_t end = 0;
};

/// Calls work for [0, count) in ranges of `grain`, on at most resolve_threads(threads) threads.
void parallel_ranges(std::size_t count, std::size_t grain, unsigned threads,
                     const std::function<void(const WorkRange&)>& work);

}  // namespace ibf::routing
