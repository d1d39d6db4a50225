// The files of a device that programs open themselves: the issm device, which makes its holder the port's
// subnet manager for as long as it is open, and the sysfs tree (/sys/class/infiniband, infiniband_mad), as
// text made on the spot. All else goes to libc. Only what libibumad programs use is here: open, fopen and
// scandir.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <infiniband/umad.h>

#include "sim/umad/link.hpp"

using namespace ibf::sim;

namespace {

constexpr std::string_view kIssm = "/dev/infiniband/issm-sim0-";
constexpr std::string_view kSysfs = SYS_INFINIBAND;
constexpr std::string_view kSysfsMad = SYS_INFINIBAND_MAD;

template <class Function>
Function next(const char* name) {
    return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

template <class... Args>
std::string text(const char* format, Args... args) {
    std::array<char, 128> buffer{};
    const int length = std::snprintf(buffer.data(), buffer.size(), format, args...);
    return {buffer.data(), std::min(static_cast<std::size_t>(std::max(length, 0)), buffer.size() - 1)};
}

std::string guid_text(std::uint64_t guid) {
    return text("%04x:%04x:%04x:%04x", static_cast<unsigned>(guid >> 48U & 0xFFFFU),
                static_cast<unsigned>(guid >> 32U & 0xFFFFU), static_cast<unsigned>(guid >> 16U & 0xFFFFU),
                static_cast<unsigned>(guid & 0xFFFFU));
}

bool is_below(std::string_view path, std::string_view folder) {
    return path.substr(0, folder.size()) == folder &&
           (path.size() == folder.size() || path[folder.size()] == '/');
}

std::vector<std::string> parts_of(std::string_view path) {
    std::vector<std::string> parts;
    while (!path.empty()) {
        const std::size_t end = std::min(path.find('/'), path.size());
        if (end > 0) {
            parts.emplace_back(path.substr(0, end));
        }
        path.remove_prefix(std::min(end + 1, path.size()));
    }
    return parts;
}

std::vector<std::string> port_names() {
    constexpr std::uint8_t kSwitch = 2;
    NodeAnswer node;
    std::vector<std::string> names;
    if (shim::ask_node(node) != 0) {
        return names;
    }
    for (int port = node.type == kSwitch ? 0 : 1; port <= (node.type == kSwitch ? 0 : node.num_ports);
         ++port) {
        names.push_back(std::to_string(port));
    }
    return names;
}

std::optional<std::string> device_file(std::string_view name) {
    NodeAnswer node;
    if (shim::ask_node(node) != 0) {
        return std::nullopt;
    }
    if (name == SYS_NODE_TYPE) {
        constexpr std::array<const char*, 4> kTypes{"0: unknown", "1: CA", "2: switch", "3: router"};
        return kTypes[node.type < kTypes.size() ? node.type : 0];
    }
    if (name == SYS_CA_NODE_GUID) {
        return guid_text(node.node_guid);
    }
    if (name == SYS_CA_SYS_GUID) {
        return guid_text(node.system_guid);
    }
    if (name == SYS_CA_FW_VERS) {
        return "0.0.0";
    }
    if (name == SYS_CA_HW_VERS) {
        return text("%u", node.revision);
    }
    return name == SYS_CA_TYPE ? std::optional(text("simulated 0x%04x", unsigned{node.device_id}))
                               : std::nullopt;
}

std::optional<std::string> port_file(const std::string& number, std::string_view name) {
    constexpr std::array<const char*, 6> kStates{"0: NOP",   "1: DOWN",   "2: INIT",
                                                 "3: ARMED", "4: ACTIVE", "5: ACTIVE_DEFER"};
    constexpr std::array<const char*, 8> kPhysical{"0: <unknown>",
                                                   "1: Sleep",
                                                   "2: Polling",
                                                   "3: Disabled",
                                                   "4: PortConfigurationTraining",
                                                   "5: LinkUp",
                                                   "6: LinkErrorRecovery",
                                                   "7: Phy Test"};
    PortAnswer port;
    const long parsed = std::strtol(number.c_str(), nullptr, 10);
    if (parsed < 0 || parsed > 254 || shim::ask_port(static_cast<std::uint8_t>(parsed), port) != 0) {
        return std::nullopt;
    }
    const std::vector<std::pair<std::string_view, std::string>> files{
        {SYS_PORT_LINK_LAYER, "InfiniBand"},
        {SYS_PORT_CAPMASK, text("0x%08x", port.capability_mask)},
        {SYS_PORT_STATE, kStates[port.state % kStates.size()]},
        {SYS_PORT_PHY_STATE, kPhysical[port.phys_state % kPhysical.size()]},
        {SYS_PORT_RATE, text("%u Gb/sec", port.rate_gbps)},
        {SYS_PORT_LID, text("0x%x", unsigned{port.lid})},
        {SYS_PORT_LMC, text("%u", unsigned{port.lmc})},
        {SYS_PORT_SMLID, text("0x%x", unsigned{port.sm_lid})},
        {SYS_PORT_SMSL, text("%u", unsigned{port.sm_sl})},
        {SYS_PORT_GID, guid_text(port.gid_prefix) + ":" + guid_text(port.port_guid)},
    };
    for (const auto& [known, content] : files) {
        if (known == name) {
            return content;
        }
    }
    if (name.substr(0, 6) == "pkeys/") {
        const unsigned long index = std::strtoul(std::string(name.substr(6)).c_str(), nullptr, 10);
        return index < port.pkey_count ? std::optional(text("0x%04x", unsigned{port.pkeys[index]}))
                                       : std::nullopt;
    }
    return std::nullopt;
}

/// A file of the tree as its text, without the newline.
std::optional<std::string> sysfs_file(std::string_view path) {
    if (is_below(path, kSysfsMad)) {
        const std::vector<std::string> parts = parts_of(path.substr(kSysfsMad.size()));
        if (parts.size() == 1 && parts[0] == IB_UMAD_ABI_FILE) {
            return std::to_string(IB_UMAD_ABI_VERSION);
        }
        if (parts.size() != 2 || parts[0].substr(0, 4) != "umad") {
            return std::nullopt;
        }
        return parts[1] == SYS_IB_MAD_DEV    ? std::optional<std::string>(shim::kDevice)
               : parts[1] == SYS_IB_MAD_PORT ? std::optional(parts[0].substr(4))
                                             : std::nullopt;
    }
    const std::vector<std::string> parts = parts_of(path.substr(kSysfs.size()));
    if (parts.size() == 2 && parts[0] == shim::kDevice) {
        return device_file(parts[1]);
    }
    if (parts.size() < 4 || parts[0] != shim::kDevice || parts[1] != SYS_CA_PORTS_DIR) {
        return std::nullopt;
    }
    return port_file(parts[2], parts.size() == 4 ? parts[3] : parts[3] + "/" + parts[4]);
}

/// What a folder of the tree holds; empty: there is no such folder.
std::vector<std::string> sysfs_folder(std::string_view path) {
    if (is_below(path, kSysfsMad)) {
        std::vector<std::string> names = port_names();
        for (std::string& name : names) {
            name.insert(0, "umad");
        }
        return path.size() <= kSysfsMad.size() + 1 ? names : std::vector<std::string>{};
    }
    const std::vector<std::string> parts = parts_of(path.substr(kSysfs.size()));
    if (parts.empty()) {
        return {shim::kDevice};
    }
    return parts.size() == 2 && parts[0] == shim::kDevice && parts[1] == SYS_CA_PORTS_DIR
               ? port_names()
               : std::vector<std::string>{};
}

int open_sysfs(std::string_view path) {
    const std::optional<std::string> content = sysfs_file(path);
    if (!content) {
        errno = ENOENT;
        return -1;
    }
    const int file = ::memfd_create("sysfs", MFD_CLOEXEC);
    const std::string line = *content + "\n";
    if (file >= 0 && ::write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size())) {
        ::lseek(file, 0, SEEK_SET);
    }
    return file;
}

/// As the kernel: one holder; who may wait for its end does.
int open_issm(std::string_view path, int flags) {
    const long port = std::strtol(std::string(path.substr(kIssm.size())).c_str(), nullptr, 10);
    while (true) {
        std::uint32_t ignored = 0;
        const int file = shim::begin(FrameKind::take_issm, static_cast<std::uint8_t>(port), ignored);
        if (file != -EAGAIN || (flags & O_NONBLOCK) != 0) {
            errno = file < 0 ? -file : errno;
            return std::max(file, -1);
        }
        const timespec pause{.tv_sec = 0, .tv_nsec = 100'000'000};
        ::nanosleep(&pause, nullptr);
    }
}

/// A descriptor for a file of ours, -1 with errno, or nothing: the path is libc's.
std::optional<int> open_ours(const char* path, int flags) {
    return shim::guarded(std::optional<int>(-1), [&]() -> std::optional<int> {
        const std::string_view name(path);
        if (name.empty() || name.front() != '/' || !shim::in_simulation()) {
            return std::nullopt;
        }
        if (name.substr(0, kIssm.size()) == kIssm) {
            return open_issm(name, flags);
        }
        if (is_below(name, kSysfs) || is_below(name, kSysfsMad)) {
            return open_sysfs(name);
        }
        return std::nullopt;
    });
}

mode_t mode_of(int flags, va_list arguments) {
    const bool has_mode = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
    return has_mode ? static_cast<mode_t>(va_arg(arguments, unsigned)) : 0;
}

using OpenFunction = int (*)(const char*, int, ...);
using OpenAtFunction = int (*)(int, const char*, int, ...);
using OpenCheckedFunction = int (*)(const char*, int);
using FopenFunction = FILE* (*)(const char*, const char*);

int open_as(const char* function, const char* path, int flags, mode_t mode) {
    const std::optional<int> ours = open_ours(path, flags);
    return ours ? *ours : next<OpenFunction>(function)(path, flags, mode);
}

int open_at_as(const char* function, int folder, const char* path, int flags, mode_t mode) {
    const std::optional<int> ours = open_ours(path, flags);
    return ours ? *ours : next<OpenAtFunction>(function)(folder, path, flags, mode);
}

FILE* fopen_as(const char* function, const char* path, const char* mode) {
    const std::optional<int> ours = open_ours(path, O_RDONLY | O_NONBLOCK);
    if (!ours) {
        return next<FopenFunction>(function)(path, mode);
    }
    return *ours < 0 ? nullptr : ::fdopen(*ours, mode);
}

using Filter = int (*)(const dirent*);
using Order = int (*)(const dirent**, const dirent**);
using ScandirFunction = int (*)(const char*, dirent***, Filter, Order);

/// scandir() over names of ours. The caller frees what it gets with free().
int scan_names(const std::vector<std::string>& names, dirent*** list, Filter filter, Order order) {
    if (names.empty()) {
        errno = ENOENT;
        return -1;
    }
    auto** entries = static_cast<dirent**>(std::calloc(names.size(), sizeof(dirent*)));
    int count = 0;
    for (const std::string& name : names) {
        auto* entry = entries == nullptr ? nullptr : static_cast<dirent*>(std::calloc(1, sizeof(dirent)));
        if (entry == nullptr) {
            break;
        }
        std::strncpy(entry->d_name, name.c_str(), sizeof entry->d_name - 1);
        entry->d_type = DT_LNK;
        if (filter == nullptr || filter(entry) != 0) {
            entries[count++] = entry;
        } else {
            std::free(entry);
        }
    }
    if (order != nullptr) {
        std::qsort(entries, static_cast<std::size_t>(count), sizeof(dirent*),
                   reinterpret_cast<int (*)(const void*, const void*)>(order));
    }
    *list = entries;
    return count;
}

int scandir_as(const char* function, const char* path, dirent*** list, Filter filter, Order order) {
    const std::string_view name(path);
    if (shim::in_simulation() && (is_below(name, kSysfs) || is_below(name, kSysfsMad))) {
        return shim::guarded(-1, [&] { return scan_names(sysfs_folder(name), list, filter, order); });
    }
    return next<ScandirFunction>(function)(path, list, filter, order);
}

}  // namespace

IBF_EXPORT int umad_get_issm_path(const char* ca_name, int portnum, char path[], int max) {
    return shim::guarded(-EIO, [&] {
        NodeAnswer node;
        if ((ca_name != nullptr && *ca_name != '\0' && std::string_view(ca_name) != shim::kDevice) ||
            max <= 0) {
            return -ENODEV;
        }
        if (const int error = shim::ask_node(node); error != 0) {
            return error;
        }
        const std::string name = std::string(kIssm) + std::to_string(portnum == 0 ? node.port : portnum);
        if (name.size() >= static_cast<std::size_t>(max)) {
            return -ENAMETOOLONG;
        }
        std::copy(name.begin(), name.end(), path);
        path[name.size()] = '\0';
        return 0;
    });
}

IBF_EXPORT int open(const char* path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return open_as("open", path, flags, mode);
}

IBF_EXPORT int open64(const char* path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return open_as("open64", path, flags, mode);
}

IBF_EXPORT int openat(int folder, const char* path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return open_at_as("openat", folder, path, flags, mode);
}

IBF_EXPORT int openat64(int folder, const char* path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return open_at_as("openat64", folder, path, flags, mode);
}

/// What _FORTIFY_SOURCE makes of open() with flags that the compiler does not know.
IBF_EXPORT int __open_2(const char* path, int flags) {
    const std::optional<int> ours = open_ours(path, flags);
    return ours ? *ours : next<OpenCheckedFunction>("__open_2")(path, flags);
}

IBF_EXPORT int __open64_2(const char* path, int flags) {
    const std::optional<int> ours = open_ours(path, flags);
    return ours ? *ours : next<OpenCheckedFunction>("__open64_2")(path, flags);
}

IBF_EXPORT FILE* fopen(const char* path, const char* mode) {
    return fopen_as("fopen", path, mode);
}

IBF_EXPORT FILE* fopen64(const char* path, const char* mode) {
    return fopen_as("fopen64", path, mode);
}

IBF_EXPORT int scandir(const char* path, dirent*** list, Filter filter, Order order) {
    return scandir_as("scandir", path, list, filter, order);
}
