// DOC: lines and tokens of topology texts.
//
// The scanners that all dialects share. They work on views into the caller's text, copy nothing and never
// fail: what is not there comes back empty. A byte order mark, CR LF and blanks at either end of a line are
// dropped here, so that no dialect sees them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ibf::routing {

/// Walks the lines of a text; numbers start at 1.
class LineScanner {
public:
    explicit LineScanner(std::string_view text);

    [[nodiscard]] bool next();
    [[nodiscard]] std::string_view line() const { return line_; }
    [[nodiscard]] std::uint32_t number() const { return number_; }

private:
    std::string_view rest_;
    std::string_view line_;
    std::uint32_t number_ = 0;
};

/// Walks the tokens of one line.
class TokenScanner {
public:
    explicit TokenScanner(std::string_view text) : rest_(text) {}

    [[nodiscard]] std::string_view rest() const { return rest_; }
    [[nodiscard]] bool at_end() const { return rest_.empty(); }

    void skip_blanks();
    /// Takes `wanted` if it is what comes next.
    bool take(std::string_view wanted);
    /// Takes decimal digits; empty if there are none or the number exceeds 32 bits.
    [[nodiscard]] std::optional<std::uint32_t> take_number();
    /// Takes `open` text `close` and gives the text; empty if it does not come next or is not closed.
    [[nodiscard]] std::optional<std::string_view> take_enclosed(char open, char close);
    /// Takes up to the next blank.
    [[nodiscard]] std::string_view take_word();

private:
    std::string_view rest_;
};

[[nodiscard]] std::string_view trim(std::string_view text);

/// The whole of `text` as a number: decimal, or hexadecimal after "0x"; empty if it is anything else.
[[nodiscard]] std::optional<std::uint64_t> to_number(std::string_view text);
/// The whole of `text` as hexadecimal digits, at most 16, "0x" allowed; empty if it is anything else.
[[nodiscard]] std::optional<std::uint64_t> to_hex(std::string_view text);

}  // namespace ibf::routing
