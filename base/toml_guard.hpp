// DOC: what has to be seen before a text is given to toml++.
//
// toml++ 3.3 takes "a.a.a..." apart into tables within tables and destroys them by recursion (16,000 levels
// overflow a stack); no key of ours has more than one dot. It lets some control characters through, which
// TOML forbids. Pure.
#pragma once

#include <string>
#include <string_view>

namespace ibf::base {

/// "ORIGIN:LINE:COLUMN: what"; empty if there is nothing of the kind.
[[nodiscard]] std::string hostile_toml(std::string_view text, const std::string& origin);

}  // namespace ibf::base
