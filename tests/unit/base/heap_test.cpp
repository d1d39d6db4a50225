// Memory that was freed is there for the next tables.
#include "base/heap.hpp"

#include <sys/resource.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#if defined(__GLIBC__)  // known by now
#include <malloc.h>
#endif

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

/// Kilobytes of the heap that are large pages (proc(5), smaps).
[[maybe_unused]] std::uint64_t large_kilobytes() {
    std::ifstream maps("/proc/self/smaps");
    bool in_heap = false;
    std::uint64_t sum = 0;
    for (std::string line; std::getline(maps, line);) {
        const bool begins = line.find('-') < line.find(' ') && line.find(':') > line.find('-');
        in_heap = begins ? line.find("[heap]") != std::string::npos : in_heap;
        constexpr std::string_view kLarge = "AnonHugePages:";
        if (in_heap && line.starts_with(kLarge)) {
            sum += std::stoull(line.substr(kLarge.size()));
        }
    }
    return sum;
}

TEST(Heap, RowsOfTablesComeInLargePages) {
#if !defined(__GLIBC__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "this allocator is not glibc's";
#else
    std::ifstream setting("/sys/kernel/mm/transparent_hugepage/enabled");
    std::string modes;
    if (!std::getline(setting, modes) || modes.find("[never]") != std::string::npos) {
        GTEST_SKIP() << "this system has no large pages for the asking";
    }
    use_large_pages();
    constexpr std::size_t kBytes = 160 << 20;
    const std::uint64_t before = large_kilobytes();
    const auto rows = std::make_unique<char[]>(kBytes);  // zeroed: every page is there
    EXPECT_EQ(rows[kBytes - 1], 0);
    EXPECT_GE(large_kilobytes() - before, kBytes / 1024 / 2) << "half of it; some may have been there before";
#endif
}

[[maybe_unused]] long page_faults() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

TEST(Heap, WhatIsReadyIsThereWithoutAFault) {
#if !defined(__GLIBC__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "this allocator is not glibc's";
#else
    constexpr std::size_t kRows = 3'000;
    constexpr std::size_t kRowBytes = 48 * 1024;
    keep_freed_memory();
    have_ready(kRows * (kRowBytes + 64));  // and what the allocator notes of each
    const long before = page_faults();
    std::vector<std::unique_ptr<char[]> > rows;
    for (std::size_t row = 0; row < kRows; ++row) {
        rows.push_back(std::make_unique<char[]>(kRowBytes));
    }
    EXPECT_LT(page_faults() - before, 100) << "36,000 otherwise";
#endif
}

}  // namespace
}  // namespace ibf::base
