// Memory that was freed is there for the next tables.
#include "base/heap.hpp"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <cstring>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace ibf::base {
namespace {

TEST(Heap, FreedMemoryStays) {
#if !defined(__GLIBC__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "this allocator is not glibc's";
#else
    constexpr std::size_t kRows = 1'000;
    constexpr std::size_t kRowBytes = 48 * 1024;  // a forwarding table of the largest fabric
    keep_freed_memory();
    {
        std::vector<std::unique_ptr<char[]> > rows;
        for (std::size_t row = 0; row < kRows; ++row) {
            rows.push_back(std::make_unique<char[]>(kRowBytes));
            std::memset(rows.back().get(), 1, kRowBytes);
        }
    }
    EXPECT_GE(mallinfo2().fordblks, kRows * kRowBytes);
#endif
}

}  // namespace
}  // namespace ibf::base
