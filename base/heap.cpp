#include "base/heap.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>  // before it nobody knows whether this is glibc
#include <limits>
#include <memory>
#include <vector>

#if defined(__GLIBC__)
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace ibf::base {

void keep_freed_memory() {
#if defined(__GLIBC__)
    constexpr int kMappedApart =
        256 << 20;  // bytes; larger blocks would go back when freed, whatever is kept
    mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
    mallopt(M_MMAP_THRESHOLD, kMappedApart);
#endif
}

void use_large_pages() {
#if defined(__GLIBC__) && defined(MADV_HUGEPAGE)
    keep_freed_memory();                  // also: what the heap grows by is not mapped apart
    constexpr int kHeap = 1 << 30;        // bytes
    constexpr int kUsualPad = 128 << 10;  // bytes; glibc's default
    const std::size_t more_than_is_left = mallinfo2().keepcost + (1 << 20);
    constexpr std::uintptr_t kPage = 2 << 20;  // bytes
    mallopt(M_ARENA_MAX, 1);  // those of other threads would be mapped in pieces of their own
    mallopt(M_TOP_PAD, kHeap);
    const auto from = reinterpret_cast<std::uintptr_t>(sbrk(0));
    void* volatile grown = std::malloc(more_than_is_left);  // volatile: not to be optimised away
    std::free(grown);
    const auto to = reinterpret_cast<std::uintptr_t>(sbrk(0));
    mallopt(M_TOP_PAD, kUsualPad);
    const std::uintptr_t first = (from + kPage - 1) / kPage * kPage;
    if (first < to) {
        madvise(reinterpret_cast<void*>(first), to - first, MADV_HUGEPAGE);  // a wish: it may be refused
    }
#endif
}

void have_ready(std::size_t bytes) {
    constexpr std::size_t kPiece = 64 << 20;
    constexpr std::size_t kSmallPage = 4096;
    std::vector<std::unique_ptr<char[]>> pieces;
    for (std::size_t left = bytes; left > 0; left -= std::min(left, kPiece)) {
        const std::size_t size = std::min(left, kPiece);
        pieces.push_back(std::make_unique_for_overwrite<char[]>(size));
        for (std::size_t at = 0; at < size; at += kSmallPage) {
            *static_cast<volatile char*>(pieces.back().get() + at) = 0;
        }
    }
}

}  // namespace ibf::base
