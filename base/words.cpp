#include "base/words.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace ibf::base {

std::size_t edit_distance(std::string_view a, std::string_view b) {
    constexpr std::size_t kCompared = 64;
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    a = a.substr(0, kCompared);
    b = b.substr(0, kCompared);
    std::array<std::size_t, kCompared + 1> row{};
    for (std::size_t j = 0; j <= b.size(); ++j) {
        row[j] = j;
    }
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i);
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t changed = diagonal + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
            diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, changed}));
        }
    }
    return row[b.size()];
}

std::string quote(std::string_view word) {
    constexpr std::size_t kShown = 64;
    std::string text = "'";
    for (const char c : word.substr(0, kShown)) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7F) {
            text += fmt::format("\\x{:02x}", byte);
        } else {
            text += c;
        }
    }
    return text + (word.size() > kShown ? "...'" : "'");
}

}  // namespace ibf::base
