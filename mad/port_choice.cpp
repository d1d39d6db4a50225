// The choice of the local port, by sysfs alone (Linux, Documentation/ABI/stable/sysfs-class-infiniband).
//
// Directories are listed with scandir and files read with open and read, because these are the calls that
// ibsim's umad2sim knows: it serves a simulated port's sysfs tree to an unchanged program.

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "mad/transport.hpp"

namespace ibf::mad {
namespace {

constexpr std::uint32_t kCapSmDisabled = 0x00000400U;  ///< PortInfo CapabilityMask.IsSMdisabled

struct Candidate {
    std::string device;
    std::uint8_t port = 0;
    bool infiniband = false;
    bool has_umad = false;
    std::string link_layer;
    std::uint32_t capability_mask = 0;
    unsigned state = 0;
    std::string state_text;
    std::optional<Guid> guid;

    [[nodiscard]] std::string name() const { return fmt::format("{}/{}", device, port); }
    [[nodiscard]] bool linked() const { return state >= static_cast<unsigned>(PortState::init); }
};

/// Names below `path` in version order (mlx5_2 before mlx5_10); empty if it cannot be listed.
std::vector<std::string> list_directory(const std::string& path) {
    dirent** entries = nullptr;
    const auto visible = [](const dirent* entry) { return entry->d_name[0] != '.' ? 1 : 0; };
    const int count = ::scandir(path.c_str(), &entries, visible, ::versionsort);
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) {
        names.emplace_back(entries[i]->d_name);
        std::free(entries[i]);
    }
    std::free(entries);
    return names;
}

/// The first line of a sysfs file, without trailing blanks; nothing if it cannot be read.
std::optional<std::string> read_line(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return std::nullopt;
    }
    std::array<char, 256> buffer{};
    const ssize_t got = ::read(file, buffer.data(), buffer.size());
    ::close(file);
    if (got < 0) {
        return std::nullopt;
    }
    std::string line(buffer.data(), static_cast<std::size_t>(got));
    line.erase(std::min(line.find('\n'), line.size()));
    while (!line.empty() && line.back() == ' ') {
        line.pop_back();
    }
    return line;
}

std::uint32_t parse_number(std::string_view text, int radix) {
    if (radix == 16 && text.starts_with("0x")) {
        text.remove_prefix(2);
    }
    std::uint32_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value, radix);
    return value;
}

/// "fe80:0000:0000:0000:0002:c903:00a1:b2c3": the lower half is the port GUID.
std::optional<Guid> guid_of_gid(std::string text) {
    std::erase(text, ':');
    if (text.size() != 32) {
        return std::nullopt;
    }
    const base::Result<Guid> guid = parse_guid(std::string_view(text).substr(16));
    return guid ? std::optional(*guid) : std::nullopt;
}

/// "mlx5_0/1" of every umad device, from the tree beside `sysfs_root` ("/sys/class/infiniband_mad").
std::vector<std::string> ports_with_umad(const std::string& sysfs_root) {
    const std::string root = sysfs_root + "_mad";
    std::vector<std::string> ports;
    for (const std::string& entry : list_directory(root)) {
        const auto device = read_line(fmt::format("{}/{}/ibdev", root, entry));
        const auto port = read_line(fmt::format("{}/{}/port", root, entry));
        if (entry.starts_with("umad") && device && port) {
            ports.push_back(fmt::format("{}/{}", *device, *port));
        }
    }
    return ports;
}

Candidate read_candidate(const std::string& sysfs_root, const std::string& device, const std::string& port) {
    const std::string folder = fmt::format("{}/{}/ports/{}/", sysfs_root, device, port);
    Candidate candidate;
    candidate.device = device;
    candidate.port = static_cast<std::uint8_t>(parse_number(port, 10));
    // Kernels before 2.6.37 and umad2sim have no link_layer file, and no other layer than InfiniBand.
    candidate.link_layer = read_line(folder + "link_layer").value_or("InfiniBand");
    candidate.infiniband = candidate.link_layer == "InfiniBand";
    candidate.capability_mask = parse_number(read_line(folder + "cap_mask").value_or("0"), 16);
    candidate.state_text = read_line(folder + "state").value_or("unknown");  // "4: ACTIVE"
    candidate.state = parse_number(candidate.state_text, 10);
    candidate.guid = guid_of_gid(read_line(folder + "gids/0").value_or(""));
    return candidate;
}

std::vector<Candidate> read_candidates(const std::string& sysfs_root) {
    const std::vector<std::string> with_umad = ports_with_umad(sysfs_root);
    std::vector<Candidate> candidates;
    for (const std::string& device : list_directory(sysfs_root)) {
        for (const std::string& port : list_directory(fmt::format("{}/{}/ports", sysfs_root, device))) {
            Candidate candidate = read_candidate(sysfs_root, device, port);
            candidate.has_umad =
                std::find(with_umad.begin(), with_umad.end(), candidate.name()) != with_umad.end();
            candidates.push_back(std::move(candidate));
        }
    }
    return candidates;
}

bool asked_for(const Candidate& candidate, const UmadOptions& options) {
    return (options.device.empty() || options.device == candidate.device) &&
           (options.port == 0 || options.port == candidate.port) &&
           (!options.port_guid || options.port_guid == candidate.guid);
}

/// Why this port cannot be used so; empty if it can.
std::string obstacle(const Candidate& candidate, UmadUse use) {
    if (!candidate.infiniband) {
        return fmt::format("its link layer is {}, which has no subnet manager", candidate.link_layer);
    }
    if (!candidate.has_umad) {
        return "it has no umad device: load the kernel module (modprobe ib_umad)";
    }
    if (use == UmadUse::manager && (candidate.capability_mask & kCapSmDisabled) != 0) {
        return "its firmware forbids a subnet manager (IsSMdisabled): run on another port or allow it there";
    }
    return {};
}

std::string asked_text(const UmadOptions& options) {
    if (options.port_guid) {
        return fmt::format("port GUID {}", *options.port_guid);
    }
    return options.port == 0
               ? options.device
               : fmt::format("{}/{}", options.device.empty() ? "*" : options.device, options.port);
}

base::Error nothing_fits(const std::string& sysfs_root, const UmadOptions& options,
                         const std::vector<Candidate>& candidates,
                         const std::vector<std::string>& passed_over) {
    if (candidates.empty()) {
        return {.kind = base::ErrorKind::unavailable,
                .message = fmt::format(
                    "no RDMA device in {}: is an adapter plugged in and its driver loaded?", sysfs_root)};
    }
    const auto any_asked = [&](const Candidate& candidate) { return asked_for(candidate, options); };
    if (std::none_of(candidates.begin(), candidates.end(), any_asked)) {
        std::string names;
        for (const Candidate& candidate : candidates) {
            names += (names.empty() ? "" : ", ") + candidate.name();
        }
        return {.kind = base::ErrorKind::usage,
                .message = fmt::format("{} does not exist; there is {}", asked_text(options), names)};
    }
    return {.kind = base::ErrorKind::unavailable,
            .message = fmt::format("no InfiniBand port can be used: {}", fmt::join(passed_over, "; "))};
}

}  // namespace

base::Result<UmadOptions> parse_umad_port(std::string_view text) {
    UmadOptions options;
    const auto slash = text.find('/');
    options.device = text.substr(0, slash);
    if (slash == std::string_view::npos) {
        return options;
    }
    const std::string_view number = text.substr(slash + 1);
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), options.port);
    if (options.device.empty() || error != std::errc{} || end != number.data() + number.size() ||
        options.port == 0) {
        return base::fail(base::ErrorKind::usage,
                          fmt::format("'{}' is no port: give DEVICE or DEVICE/PORT, such as mlx5_0/1", text));
    }
    return options;
}

base::Result<PortChoice> choose_port(const std::string& sysfs_root, const UmadOptions& options) {
    const std::vector<Candidate> candidates = read_candidates(sysfs_root);
    const Candidate* best = nullptr;
    for (const Candidate& candidate : candidates) {
        const bool usable = asked_for(candidate, options) && obstacle(candidate, options.use).empty();
        if (usable && (best == nullptr || (candidate.linked() && !best->linked()))) {
            best = &candidate;
        }
    }
    std::vector<std::string> passed_over;
    for (const Candidate& candidate : candidates) {
        if (&candidate == best || !asked_for(candidate, options)) {
            continue;
        }
        std::string reason = obstacle(candidate, options.use);
        if (reason.empty()) {
            reason = fmt::format("usable ({}), but {} ({}) is preferred", candidate.state_text, best->name(),
                                 best->state_text);
        }
        passed_over.push_back(fmt::format("{}: {}", candidate.name(), reason));
    }
    if (best == nullptr) {
        return tl::unexpected<base::Error>(nothing_fits(sysfs_root, options, candidates, passed_over));
    }
    return PortChoice{.device = best->device, .port = best->port, .passed_over = std::move(passed_over)};
}

}  // namespace ibf::mad
