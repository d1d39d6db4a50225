#include "base/heap.hpp"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace ibf::base {

void keep_freed_memory() {
#if defined(__GLIBC__)
    constexpr int kKept = 1 << 30;  // bytes
    constexpr int kMappedApart =
        256 << 20;  // bytes; larger blocks would go back when freed, whatever is kept
    mallopt(M_TRIM_THRESHOLD, kKept);
    mallopt(M_MMAP_THRESHOLD, kMappedApart);
#endif
}

}  // namespace ibf::base
