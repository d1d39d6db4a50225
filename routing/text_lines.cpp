#include "routing/text_lines.hpp"

#include <algorithm>
#include <charconv>

namespace ibf::routing {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

constexpr bool is_blank(char letter) {
    return letter == ' ' || letter == '\t' || letter == '\r' || letter == '\f' || letter == '\v';
}

std::optional<std::uint64_t> whole_number(std::string_view text, int radix) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, radix);
    return error == std::errc{} && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

bool has_hex_prefix(std::string_view text) {
    return text.starts_with("0x") || text.starts_with("0X");
}

}  // namespace

std::string_view trim(std::string_view text) {
    while (!text.empty() && is_blank(text.front())) {
        text.remove_prefix(1);
    }
    while (!text.empty() && is_blank(text.back())) {
        text.remove_suffix(1);
    }
    return text;
}

std::optional<std::uint64_t> to_number(std::string_view text) {
    return has_hex_prefix(text) ? whole_number(text.substr(2), 16) : whole_number(text, 10);
}

std::optional<std::uint64_t> to_hex(std::string_view text) {
    return whole_number(has_hex_prefix(text) ? text.substr(2) : text, 16);
}

LineScanner::LineScanner(std::string_view text) : rest_(text) {
    if (rest_.starts_with(kByteOrderMark)) {
        rest_.remove_prefix(kByteOrderMark.size());
    }
}

bool LineScanner::next() {
    if (rest_.empty()) {
        return false;
    }
    const auto end = std::min(rest_.find('\n'), rest_.size());
    line_ = trim(rest_.substr(0, end));
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    ++number_;
    return true;
}

void TokenScanner::skip_blanks() {
    while (!rest_.empty() && is_blank(rest_.front())) {
        rest_.remove_prefix(1);
    }
}

bool TokenScanner::take(std::string_view wanted) {
    if (!rest_.starts_with(wanted)) {
        return false;
    }
    rest_.remove_prefix(wanted.size());
    return true;
}

std::optional<std::uint32_t> TokenScanner::take_number() {
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    if (error != std::errc{}) {
        return std::nullopt;
    }
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return number;
}

std::optional<std::string_view> TokenScanner::take_enclosed(char open, char close) {
    if (rest_.empty() || rest_.front() != open) {
        return std::nullopt;
    }
    const auto end = rest_.find(close, 1);
    if (end == std::string_view::npos) {
        return std::nullopt;
    }
    const auto inside = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return inside;
}

std::string_view TokenScanner::take_word() {
    const auto end = static_cast<std::size_t>(std::ranges::find_if(rest_, is_blank) - rest_.begin());
    const auto word = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return word;
}

}  // namespace ibf::routing
