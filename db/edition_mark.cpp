#include "db/edition_mark.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace ibf::db {
namespace {

constexpr std::size_t kDigits = 16;
constexpr std::size_t kBootLength = 36;  // of a UUID
constexpr std::size_t kLineLength = kDigits + 1 + kBootLength + 1;
constexpr std::string_view kSealed = "sealed";

}  // namespace

EditionMark::EditionMark(int descriptor, std::string path, std::string boot)
    : descriptor_(descriptor),
      path_(std::move(path)),
      boot_(std::move(boot)),
      found_(read()),
      edition_(found_.value_or(0)) {}  // an edition that cannot be believed now must not be believed later

EditionMark::~EditionMark() {
    ::close(descriptor_);
}

base::Result<std::unique_ptr<EditionMark>> EditionMark::open(const std::string& path,
                                                             const std::string& boot) {
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640);
    if (descriptor < 0) {
        return base::fail(
            base::ErrorKind::io,
            fmt::format("{}: {}: let this user write the file and its folder", path, std::strerror(errno)));
    }
    std::unique_ptr<EditionMark> mark(new EditionMark(descriptor, path, boot.substr(0, kBootLength)));
    auto unsealed = mark->write_through(mark->boot_);
    if (unsealed && ::ftruncate(descriptor, kLineLength) != 0) {
        unsealed = mark->failure();
    }
    if (!unsealed) {
        return tl::unexpected(unsealed.error());
    }
    return mark;
}

std::optional<std::uint64_t> EditionMark::read() const {
    std::array<char, kLineLength + 1> text{};
    if (::pread(descriptor_, text.data(), text.size(), 0) != static_cast<ssize_t>(kLineLength)) {
        return std::nullopt;  // new, or not ours
    }
    const char* const digits_end = text.data() + kDigits;
    std::uint64_t edition = 0;
    const auto [end, error] = std::from_chars(text.data(), digits_end, edition, 16);
    std::string_view boot(digits_end + 1, kBootLength);
    boot = boot.substr(0, boot.find(' '));
    const bool counts = boot == kSealed || (!boot_.empty() && boot == boot_);
    return counts && error == std::errc{} && end == digits_end && edition != 0 ? std::optional{edition}
                                                                               : std::nullopt;
}

tl::unexpected<base::Error> EditionMark::failure() const {
    return base::fail(base::ErrorKind::io, fmt::format("{}: {}", path_, std::strerror(errno)));
}

base::Result<void> EditionMark::write(std::string_view boot) {
    const std::string line = fmt::format("{:0{}x} {:<{}}\n", edition_, kDigits, boot, kBootLength);
    if (::pwrite(descriptor_, line.data(), line.size(), 0) != static_cast<ssize_t>(line.size())) {
        return failure();
    }
    return {};
}

base::Result<void> EditionMark::write_through(std::string_view boot) {
    auto written = write(boot);
    if (written && ::fdatasync(descriptor_) != 0) {
        return failure();
    }
    return written;
}

base::Result<void> EditionMark::set(std::uint64_t edition) {
    edition_ = edition;
    return write(boot_);
}

base::Result<void> EditionMark::seal() {
    return write_through(kSealed);
}

std::string boot_id() {
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string id;
    std::getline(file, id);
    return id;
}

}  // namespace ibf::db
