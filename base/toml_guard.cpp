#include "base/toml_guard.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace ibf::base {

std::string hostile_toml(std::string_view text, const std::string& origin) {
    constexpr auto kDotsMax = 32;
    for (std::size_t line = 1; !text.empty(); ++line) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view content = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        const auto control = std::find_if(content.begin(), content.end(), [](char c) {
            return (static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\r') || c == 0x7F;
        });
        if (control != content.end()) {
            return fmt::format("{}:{}:{}: control character 0x{:02x}", origin, line,
                               control - content.begin() + 1, static_cast<unsigned>(*control));
        }
        const std::size_t comment = content.find('#');
        if (comment != content.npos && content.substr(0, comment).find_first_of("\"'") == content.npos) {
            content = content.substr(0, comment);
        }
        if (std::count(content.begin(), content.end(), '.') > kDotsMax) {
            return fmt::format(
                "{}:{}:1: too many dots in one line: keys are written [section] and key = value", origin,
                line);
        }
    }
    return {};
}

}  // namespace ibf::base
