// DOC: every operator new of this test program is counted.
#pragma once

#include <cstddef>

namespace ibf::test {

[[nodiscard]] std::size_t allocations();

}  // namespace ibf::test
