#include "base/time.hpp"

#include <cmath>
#include <ctime>

#include <fmt/format.h>

namespace ibf::base {

Instant monotonic_now() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return Instant{std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec}};
}

WallTime wall_now() {
    return std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
}

std::string format_utc(WallTime time) {
    const auto since_epoch = time.time_since_epoch().count();
    const auto seconds =
        static_cast<std::time_t>(std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count());
    const auto millis = since_epoch - static_cast<std::int64_t>(seconds) * 1000;
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                       parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, millis);
}

std::string format_duration(Duration duration) {
    const double seconds = std::chrono::duration<double>(duration).count();
    if (seconds < 1e-3) {
        return fmt::format("{:.0f}us", seconds * 1e6);
    }
    if (seconds < 1.0) {
        return fmt::format("{:.1f}ms", seconds * 1e3);
    }
    if (seconds < 120.0) {
        return fmt::format("{:.2f}s", seconds);
    }
    const auto whole = static_cast<long>(std::llround(seconds));
    return fmt::format("{}m{:02}s", whole / 60, whole % 60);
}

}  // namespace ibf::base
