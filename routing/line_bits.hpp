// DOC: which lines of 64 destinations differ, row by row.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ibf::routing {

/// A set of lines per row.
class LineBits {
public:
    LineBits(std::uint32_t rows, std::uint32_t lines)
        : words_((lines + 63) / 64), bits_(std::size_t{rows} * words_, 0) {}

    [[nodiscard]] std::span<const std::uint64_t> row(std::uint32_t at) const {
        return {bits_.data() + std::size_t{at} * words_, words_};
    }
    [[nodiscard]] bool is_empty(std::uint32_t at) const {
        const std::span<const std::uint64_t> words = row(at);
        return std::all_of(words.begin(), words.end(), [](std::uint64_t word) { return word == 0; });
    }
    void set(std::uint32_t at, std::uint32_t line) {
        bits_[std::size_t{at} * words_ + line / 64] |= std::uint64_t{1} << (line % 64);
    }

private:
    std::uint32_t words_;
    std::vector<std::uint64_t> bits_;
};

/// One row of them, to gather into.
class LineSet {
public:
    explicit LineSet(std::uint32_t lines) : lines_(lines), bits_((lines + 63) / 64, 0) {}

    void clear() { bits_.assign(bits_.size(), 0); }
    void set(std::uint32_t line) { bits_[line / 64] |= std::uint64_t{1} << (line % 64); }
    void set_all() {
        for (std::uint32_t line = 0; line < lines_; ++line) {
            set(line);
        }
    }
    void merge(std::span<const std::uint64_t> other) {
        for (std::size_t word = 0; word < bits_.size(); ++word) {
            bits_[word] |= other[word];
        }
    }
    void merge(const LineSet& other) { merge(std::span<const std::uint64_t>(other.bits_)); }
    [[nodiscard]] bool has(std::uint32_t line) const { return (bits_[line / 64] >> (line % 64) & 1U) != 0; }
    [[nodiscard]] std::uint32_t size() const { return lines_; }

    /// Ascending.
    template <class Each>
    void for_each(const Each& each) const {
        for (std::uint32_t word = 0; word < bits_.size(); ++word) {
            for (std::uint64_t bits = bits_[word]; bits != 0; bits &= bits - 1) {
                each(word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits)));
            }
        }
    }

private:
    std::uint32_t lines_;
    std::vector<std::uint64_t> bits_;
};

}  // namespace ibf::routing
