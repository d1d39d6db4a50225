// DOC: what the allocator does for tables of hundreds of megabytes, which come and go as a whole.
//
// Getting their pages from the system costs several times what filling them does, and traffic waits for it:
// so pages are large, and are kept. Call one of these first thing in main(), before there are threads. Only
// glibc has such settings; elsewhere they do nothing.
#pragma once

#include <cstddef>

namespace ibf::base {

/// Freed memory stays with the process, up to 2 GiB, instead of going back to the system at once: new tables
/// after a lost link are as large as the old ones.
void keep_freed_memory();

/// That, and the heap is one range of addresses, 1 GiB to begin with, that asks for pages of 2 MiB
/// (madvise(2)) as it is filled: the first tables take a hundredth of the page faults. Threads share it.
/// Where the system has no such pages, or not that many addresses, all stays as it was.
void use_large_pages();

/// Gets so many bytes from the system and frees them, touched: what is allocated next, in pieces of up to 64
/// MiB, waits for no page. Takes as long as touching them does. REQUIRES use_large_pages(), or one thread:
/// what one thread frees is elsewhere than what another one gets.
void have_ready(std::size_t bytes);

}  // namespace ibf::base
