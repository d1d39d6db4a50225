#include "probe/amounts.hpp"

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/words.hpp"

namespace ibf::probe {
namespace {

using base::ErrorKind;
using base::Result;

/// A number with a suffix of "KMGT", each `step` times the one before.
Result<std::uint64_t> parse_suffixed(std::string_view text, double step, std::string_view expected) {
    constexpr std::string_view kSuffixes = "KMGT";
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
    if (!rest.empty()) {
        const auto at =
            kSuffixes.find(static_cast<char>(std::toupper(static_cast<unsigned char>(rest.front()))));
        if (at != kSuffixes.npos) {
            value *= std::pow(step, static_cast<double>(at + 1));
            rest.remove_prefix(1);
        }
    }
    constexpr double kMost = 1e18;
    if (error != std::errc{} || !rest.empty() || !(value >= 0) || value > kMost ||
        value != std::floor(value)) {
        return base::fail(ErrorKind::usage, fmt::format("{}: {} is expected", base::quote(text), expected));
    }
    return static_cast<std::uint64_t>(value);
}

}  // namespace

Result<std::uint64_t> parse_size(std::string_view text) {
    return parse_suffixed(text, 1024, "a size such as 64, 4K or 1M");
}

Result<std::uint64_t> parse_rate(std::string_view text) {
    return parse_suffixed(text, 1000, "a rate in bits a second such as 500M or 10G");
}

std::string size_text(std::uint64_t bytes) {
    constexpr std::array<std::pair<unsigned, char>, 3> kUnits{{{30, 'G'}, {20, 'M'}, {10, 'K'}}};
    for (const auto& [shift, unit] : kUnits) {
        if (bytes >> shift != 0 && (bytes & ((std::uint64_t{1} << shift) - 1)) == 0) {
            return fmt::format("{}{}", bytes >> shift, unit);
        }
    }
    return fmt::format("{}", bytes);
}

}  // namespace ibf::probe
