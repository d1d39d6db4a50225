#include "daemon/shell/start_mark.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "base/fnv.hpp"

namespace ibf::shell {
namespace {

constexpr char kRunning = 'r';
constexpr char kLeft = 'l';
constexpr char kStopped = 's';

constexpr std::size_t kBootLength = 36;  // of a UUID
constexpr std::size_t kDigits = 16;
constexpr std::size_t kBodyLength = kBootLength + 2 + StartMark::kAbortsKept * (1 + kDigits);
constexpr std::size_t kLineLength = kBodyLength + 1 + kDigits + 1;

/// What is torn does not pass by chance.
std::uint64_t check_sum(std::string_view text) {
    base::Fnv1a sum;
    for (const char c : text) {
        sum.add(static_cast<std::uint8_t>(c));
    }
    return sum.value();
}

std::optional<std::uint64_t> number(std::string_view digits) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    return error == std::errc{} && end == digits.data() + digits.size() ? std::optional{value} : std::nullopt;
}

}  // namespace

StartMark::StartMark(int descriptor, std::string path, std::string boot, base::Instant now)
    : descriptor_(descriptor), path_(std::move(path)), boot_(std::move(boot)), begun_(now) {}

StartMark::~StartMark() {
    ::close(descriptor_);
}

base::Result<std::unique_ptr<StartMark>> StartMark::open(const std::string& path, const std::string& boot,
                                                         base::Instant now) {
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640);
    if (descriptor < 0) {
        return base::fail(base::ErrorKind::io, fmt::format("{}: {}: let this user write it and its folder",
                                                           path, std::strerror(errno)));
    }
    std::unique_ptr<StartMark> mark(new StartMark(descriptor, path, boot.substr(0, kBootLength), now));
    mark->read();
    if (auto written = mark->write(kRunning); !written) {
        return tl::unexpected(written.error());
    }
    return mark;
}

void StartMark::read() {
    std::string line(kLineLength + 1, '\0');
    if (::pread(descriptor_, line.data(), line.size(), 0) != static_cast<ssize_t>(kLineLength)) {
        return;  // new, or not ours
    }
    const std::string_view body(line.data(), kBodyLength);
    if (number(std::string_view(line).substr(kBodyLength + 1, kDigits)) != check_sum(body) ||
        body.substr(0, kBootLength) != fmt::format("{:<{}}", boot_, kBootLength)) {
        return;
    }
    const char state = body[kBootLength + 1];
    for (std::size_t i = 0; i < kAbortsKept && state != kStopped; ++i) {
        const auto at = number(body.substr(kBootLength + 3 + i * (1 + kDigits), kDigits));
        const base::Instant found{base::Duration{static_cast<std::int64_t>(at.value_or(0))}};
        if (found > base::Instant{} && found <= begun_) {
            aborts_.push_back(found);
        }
    }
    if (state == kRunning) {
        aborts_.push_back(begun_);
    }
    if (aborts_.size() > kAbortsKept) {
        aborts_.erase(aborts_.begin());
    }
}

base::Result<void> StartMark::write(char state) const {
    std::string line = fmt::format("{:<{}} {}", boot_, kBootLength, state);
    for (std::size_t i = 0; i < kAbortsKept; ++i) {
        const auto at = i < aborts_.size() ? aborts_[i].time_since_epoch().count() : 0;
        line += fmt::format(" {:0{}x}", at, kDigits);
    }
    line += fmt::format(" {:0{}x}\n", check_sum(line), kDigits);
    const bool written =
        ::pwrite(descriptor_, line.data(), line.size(), 0) == static_cast<ssize_t>(line.size());
    if (!written || ::ftruncate(descriptor_, static_cast<off_t>(line.size())) != 0) {
        return base::fail(base::ErrorKind::io, fmt::format("{}: {}", path_, std::strerror(errno)));
    }
    return {};
}

std::size_t StartMark::aborts_within(base::Duration time) const {
    return static_cast<std::size_t>(
        std::count_if(aborts_.begin(), aborts_.end(), [&](base::Instant at) { return begun_ - at <= time; }));
}

base::Result<void> StartMark::end(Ending ending) {
    return write(ending == Ending::stopped ? kStopped : kLeft);
}

base::Result<void> StartMark::forget() {
    aborts_.clear();
    return write(kRunning);
}

}  // namespace ibf::shell
