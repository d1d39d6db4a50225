// DOC: sizes and rates as people write them. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace ibf::probe {

/// "64", "4K", "1M", "1G": by 1024. Errors: usage.
[[nodiscard]] base::Result<std::uint64_t> parse_size(std::string_view text);
/// "100M", "10G": bits a second, by 1000. Errors: usage.
[[nodiscard]] base::Result<std::uint64_t> parse_rate(std::string_view text);
[[nodiscard]] std::string size_text(std::uint64_t bytes);

}  // namespace ibf::probe
