// DOC: the front of the log.
//
// One line per call, no state, any thread. The back end (spdlog) lives in log.cpp alone. Pure code does not
// log: it announces events, and the shell logs them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/result.hpp"

namespace ibf::base {

enum class LogLevel : std::uint8_t { trace, debug, info, warning, error, off };

/// Names as in --log-level: trace, debug, info, warning, error, off.
[[nodiscard]] Result<LogLevel> parse_log_level(std::string_view name);
[[nodiscard]] std::string_view to_string(LogLevel level);

/// Where lines go: to stderr, with a time, or, below systemd (JOURNAL_STREAM), bare with a "<N>" priority.
void log_start(LogLevel level);
void log_set_level(LogLevel level);
[[nodiscard]] bool log_enabled(LogLevel level);
void log_write(LogLevel level, std::string_view text);

template <class... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
    if (log_enabled(level)) {
        log_write(level, fmt::format(format, std::forward<Args>(args)...));
    }
}

}  // namespace ibf::base
