// Pages that were got once are not got again.
#include "base/heap.hpp"

#include <sys/resource.h>

#include <cstring>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace ibf::base {
namespace {

/// Fills as many rows as the tables of a large fabric have, frees them, and says how many pages were got.
[[maybe_unused]] long pages_got() {
    rusage before{};
    getrusage(RUSAGE_SELF, &before);
    std::vector<std::unique_ptr<char[]>> rows;
    for (int row = 0; row < 1'000; ++row) {
        rows.push_back(std::make_unique<char[]>(48 * 1024));
        std::memset(rows.back().get(), row, 48 * 1024);
    }
    rows.clear();
    rusage after{};
    getrusage(RUSAGE_SELF, &after);
    return after.ru_minflt - before.ru_minflt;
}

TEST(Heap, FreedMemoryStays) {
#if !defined(__GLIBC__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "this allocator is not glibc's";
#else
    keep_freed_memory();
    const long first = pages_got();
    EXPECT_GT(first, 6'000);
    EXPECT_LT(pages_got(), first / 10);
#endif
}

}  // namespace
}  // namespace ibf::base
