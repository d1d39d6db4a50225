// DOC: time as the pure code sees it.
//
// Pure code never reads a clock: it is handed an Instant. In the process an Instant is CLOCK_MONOTONIC, in
// tests and the simulator it is virtual. WallTime is for records that people read.
#pragma once

#include <chrono>
#include <string>

namespace ibf::base {

using Duration = std::chrono::nanoseconds;

/// Tag of our monotonic time line. Has no now(): see monotonic_now() in the shell.
struct TimeLine {
    using rep = Duration::rep;
    using period = Duration::period;
    using duration = Duration;
    using time_point = std::chrono::time_point<TimeLine>;
    static constexpr bool is_steady = true;
};

using Instant = TimeLine::time_point;
using WallTime = std::chrono::sys_time<std::chrono::milliseconds>;

/// CLOCK_MONOTONIC. Only shells and programs call this.
[[nodiscard]] Instant monotonic_now();
/// Real time, milliseconds. Only shells and programs call this.
[[nodiscard]] WallTime wall_now();
/// "2026-11-29T16:25:48.123Z".
[[nodiscard]] std::string format_utc(WallTime time);
/// Short human form: "850us", "12.3ms", "4.21s", "3m12s".
[[nodiscard]] std::string format_duration(Duration duration);

}  // namespace ibf::base
