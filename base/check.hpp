// DOC: invariants.
//
// IBF_CHECK(condition, "text {}", args...) is always on. When it fails it prints the text and whatever the
// registered dump hook adds (the flight recorder's last events), then aborts. Forwarding tables stay in the
// switches and systemd restarts the daemon. Bytes from the wire must never be able to fail a check.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace ibf::base {

/// Sets the text producer that is printed before an abort. Called at most once, from the failing thread.
void set_check_dump(std::function<std::string()> dump);

[[noreturn]] void check_failed(const char* file, int line, const char* condition, const std::string& text);

}  // namespace ibf::base

#define IBF_CHECK(condition, ...) \
    (static_cast<bool>(condition) \
         ? static_cast<void>(0)   \
         : ::ibf::base::check_failed(__FILE__, __LINE__, #condition, fmt::format(__VA_ARGS__)))
