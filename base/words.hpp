// DOC: words that people type and mistype.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ibf::base {

/// Levenshtein's distance of the first 64 bytes of each, case ignored.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// 'word', safe to print on a terminal and of bounded length.
[[nodiscard]] std::string quote(std::string_view word);

/// The candidate with the least edit distance to `word`, the first of equals; empty if there are none.
/// Candidates: any range of what a string_view can be made of.
template <class Range>
[[nodiscard]] std::string_view nearest_word(std::string_view word, const Range& candidates) {
    std::string_view best;
    std::size_t best_distance = 0;
    for (const std::string_view candidate : candidates) {
        const std::size_t distance = edit_distance(word, candidate);
        if (best.empty() || distance < best_distance) {
            best = candidate;
            best_distance = distance;
        }
    }
    return best;
}

}  // namespace ibf::base
