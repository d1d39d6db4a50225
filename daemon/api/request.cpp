#include "daemon/api/request.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ibf::api {
namespace {

std::optional<unsigned> hex_digit(char c) {
    if (c >= '0' && c <= '9') {
        return static_cast<unsigned>(c - '0');
    }
    const char folded = static_cast<char>(c | 0x20);
    if (folded >= 'a' && folded <= 'f') {
        return static_cast<unsigned>(folded - 'a' + 10);
    }
    return std::nullopt;
}

base::Result<std::string> decoded(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '+') {
            out += ' ';
        } else if (text[i] != '%') {
            out += text[i];
        } else {
            const auto high = i + 1 < text.size() ? hex_digit(text[i + 1]) : std::nullopt;
            const auto low = i + 2 < text.size() ? hex_digit(text[i + 2]) : std::nullopt;
            if (!high || !low) {
                return base::fail(
                    base::ErrorKind::usage,
                    "a '%' in the request must be followed by two hex digits (write '%' itself as %25)");
            }
            out += static_cast<char>(*high * 16 + *low);
            i += 2;
        }
    }
    return out;
}

}  // namespace

std::string_view Query::param(const std::string& name) const {
    const auto found = params.find(name);
    return found == params.end() ? std::string_view{} : std::string_view{found->second};
}

base::Result<std::string> Query::required(const std::string& name) const {
    const std::string_view value = param(name);
    if (value.empty()) {
        return base::fail(base::ErrorKind::usage, fmt::format("{} needs the parameter '{}'", path, name));
    }
    return std::string(value);
}

base::Result<std::uint64_t> Query::number(const std::string& name, std::uint64_t absent,
                                          std::uint64_t max) const {
    const std::string_view text = param(name);
    if (text.empty()) {
        return absent;
    }
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value > max) {
        return base::fail(base::ErrorKind::usage,
                          fmt::format("{}={}: a number from 0 to {} is wanted", name, text, max));
    }
    return value;
}

base::Result<std::string> Query::choice(const std::string& name,
                                        std::initializer_list<std::string_view> words) const {
    const std::string_view value = param(name);
    if (value.empty()) {
        return std::string(*words.begin());
    }
    if (std::find(words.begin(), words.end(), value) == words.end()) {
        return base::fail(base::ErrorKind::usage,
                          fmt::format("{}={}: one of {} is wanted", name, value, fmt::join(words, ", ")));
    }
    return std::string(value);
}

base::Result<Query> parse_target(std::string_view target) {
    if (!target.starts_with('/')) {
        return base::fail(base::ErrorKind::usage, "the request target must begin with '/'");
    }
    Query query;
    const auto mark = target.find('?');
    auto path = decoded(target.substr(0, mark));
    if (!path) {
        return tl::unexpected(path.error());
    }
    query.path = std::move(*path);
    std::string_view rest = mark == std::string_view::npos ? std::string_view{} : target.substr(mark + 1);
    while (!rest.empty()) {
        const std::string_view pair = rest.substr(0, rest.find('&'));
        rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
        const auto equal = std::min(pair.find('='), pair.size());
        auto name = decoded(pair.substr(0, equal));
        auto value = decoded(pair.substr(std::min(pair.size(), equal + 1)));
        if (!name || !value) {
            return tl::unexpected(name ? value.error() : name.error());
        }
        if (!name->empty()) {
            query.params[*name] = std::move(*value);
        }
    }
    return query;
}

base::Result<void> check_params(const Query& query, const std::vector<std::string_view>& known) {
    for (const auto& [name, value] : query.params) {
        if (std::find(known.begin(), known.end(), name) == known.end()) {
            return base::fail(base::ErrorKind::usage,
                              known.empty()
                                  ? fmt::format("{} takes no parameters, not '{}'", query.path, name)
                                  : fmt::format("{} knows no parameter '{}'; it takes {}", query.path, name,
                                                fmt::join(known, ", ")));
        }
    }
    return {};
}

}  // namespace ibf::api
