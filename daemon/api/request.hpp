// DOC: a request, taken apart and checked.
//
// Target text ("/v1/path?src=a&dst=b") to path and decoded parameters. Bounded: the server limits the size.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace ibf::api {

struct Query {
    std::string path;                           ///< "/v1/path"
    std::map<std::string, std::string> params;  ///< decoded; the last of a repeated name wins

    /// The parameter, empty if absent.
    [[nodiscard]] std::string_view param(const std::string& name) const;
    /// Errors: usage, when it is missing or empty.
    [[nodiscard]] base::Result<std::string> required(const std::string& name) const;
    /// Errors: usage, when it is no number or above `max`.
    [[nodiscard]] base::Result<std::uint64_t> number(const std::string& name, std::uint64_t absent,
                                                     std::uint64_t max) const;
    /// One of `words`; `words` begins with the one that stands for an absent parameter. Errors: usage.
    [[nodiscard]] base::Result<std::string> choice(const std::string& name,
                                                   std::initializer_list<std::string_view> words) const;
};

/// Errors: usage, for a broken percent escape or a target that does not begin with '/'.
[[nodiscard]] base::Result<Query> parse_target(std::string_view target);

/// Errors: usage, naming a parameter that is not in `known` and those that are.
[[nodiscard]] base::Result<void> check_params(const Query& query, const std::vector<std::string_view>& known);

}  // namespace ibf::api
