// DOC: what the allocator does with memory that was freed.
#pragma once

namespace ibf::base {

/// Freed memory stays with the process, up to 1 GiB, instead of going back to the system at once. New tables
/// after a lost link are as large as the old ones; getting their pages anew costs several times what filling
/// them does, and traffic waits for it. Call it first thing in main(). Only glibc has such a setting;
/// elsewhere it does nothing.
void keep_freed_memory();

}  // namespace ibf::base
