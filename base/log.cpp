#include "base/log.hpp"

#include <array>
#include <cstdlib>
#include <memory>

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace ibf::base {
namespace {

constexpr std::array<std::string_view, 6> kNames{"trace", "debug", "info", "warning", "error", "off"};

spdlog::level::level_enum to_spdlog(LogLevel level) {
    switch (level) {
        case LogLevel::trace: return spdlog::level::trace;
        case LogLevel::debug: return spdlog::level::debug;
        case LogLevel::info: return spdlog::level::info;
        case LogLevel::warning: return spdlog::level::warn;
        case LogLevel::error: return spdlog::level::err;
        case LogLevel::off: return spdlog::level::off;
    }
    return spdlog::level::info;
}

std::string_view journal_prefix(LogLevel level) {
    switch (level) {
        case LogLevel::trace:
        case LogLevel::debug: return "<7>";
        case LogLevel::warning: return "<4>";
        case LogLevel::error: return "<3>";
        default: return "<6>";
    }
}

bool below_journal() {
    return std::getenv("JOURNAL_STREAM") != nullptr;
}

}  // namespace

Result<LogLevel> parse_log_level(std::string_view name) {
    for (std::size_t i = 0; i < kNames.size(); ++i) {
        if (kNames[i] == name) {
            return static_cast<LogLevel>(i);
        }
    }
    return fail(ErrorKind::usage,
                fmt::format("unknown log level '{}': use trace, debug, info, warning, error or off", name));
}

std::string_view to_string(LogLevel level) {
    return kNames[static_cast<std::size_t>(level)];
}

void log_start(LogLevel level) {
    auto logger = spdlog::stderr_color_mt("ibfabric");
    logger->set_pattern(below_journal() ? "%v" : "%H:%M:%S.%e %^%-7l%$ %v");
    logger->flush_on(spdlog::level::trace);
    spdlog::set_default_logger(std::move(logger));
    log_set_level(level);
}

void log_set_level(LogLevel level) {
    spdlog::set_level(to_spdlog(level));
}

bool log_enabled(LogLevel level) {
    return spdlog::should_log(to_spdlog(level));
}

void log_write(LogLevel level, std::string_view text) {
    if (below_journal()) {
        spdlog::log(to_spdlog(level), "{}{}", journal_prefix(level), text);
    } else {
        spdlog::log(to_spdlog(level), "{}", text);
    }
}

}  // namespace ibf::base
