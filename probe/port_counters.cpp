#include "probe/port_counters.hpp"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

namespace ibf::probe {
namespace {

constexpr std::uint32_t kStatisticsMost = 65536;
constexpr std::chrono::milliseconds kTick{10};  ///< of the slowest kernel: it counts the time in ticks
constexpr std::chrono::milliseconds kKeptMost{500};
constexpr std::uint64_t kMax32 = 0xFFFFFFFF;

struct Width {
    std::string_view name;
    unsigned bits;
};

/// Those that stop at their maximum (IBA 16.1.3.5).
constexpr std::array kStopping = {
    Width{"symbol_error", 16},
    Width{"link_error_recovery", 8},
    Width{"link_downed", 8},
    Width{"port_rcv_errors", 16},
    Width{"port_rcv_remote_physical_errors", 16},
    Width{"port_rcv_switch_relay_errors", 16},
    Width{"port_xmit_discards", 16},
    Width{"port_xmit_constraint_errors", 8},
    Width{"port_rcv_constraint_errors", 8},
    Width{"local_link_integrity_errors", 4},
    Width{"excessive_buffer_overrun_errors", 4},
    Width{"VL15_dropped", 16},
};

bool is_stuck(const std::string& name, std::uint64_t value) {
    const auto found = std::find_if(kStopping.begin(), kStopping.end(),
                                    [&](const Width& width) { return width.name == name; });
    const std::uint64_t most = found == kStopping.end() ? kMax32 : (1ULL << found->bits) - 1;
    return value == most || value == kMax32;
}

void read_folder(const std::filesystem::path& folder, Counters& counters) {
    std::error_code ignored;  // a driver need not have it
    for (std::filesystem::directory_iterator at(folder, ignored), end; at != end; at.increment(ignored)) {
        const std::string name = at->path().filename();
        if (name == "lifespan") {
            continue;  // how long the kernel keeps what it read
        }
        std::ifstream file(at->path());
        std::uint64_t value = 0;
        if (file >> value) {
            counters.emplace(name, value);
        }
    }
}

class Socket {
public:
    Socket() : file_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {}
    ~Socket() {
        if (file_ >= 0) {
            ::close(file_);
        }
    }
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;

    bool ask(const std::string& netdev, void* question) const {
        ifreq request{};
        netdev.copy(request.ifr_name, IFNAMSIZ - 1);
        request.ifr_data = static_cast<char*>(question);
        return file_ >= 0 && ::ioctl(file_, SIOCETHTOOL, &request) == 0;
    }

private:
    int file_;
};

bool is_about_congestion(std::string_view name) {
    return name.find("pause") != std::string_view::npos || name.find("ecn") != std::string_view::npos ||
           name.find("cnp") != std::string_view::npos;
}

/// How many statistics the driver has. ethtool_sset_info ends in an array of unknown length.
std::uint32_t statistics_of(const Socket& socket, const std::string& netdev) {
    std::array<std::uint64_t, sizeof(ethtool_sset_info) / 8 + 1> room{};
    auto* question = reinterpret_cast<ethtool_sset_info*>(room.data());
    question->cmd = ETHTOOL_GSSET_INFO;
    question->sset_mask = 1ULL << ETH_SS_STATS;
    if (!socket.ask(netdev, question) || question->sset_mask == 0) {
        return 0;
    }
    std::uint32_t count = 0;
    std::memcpy(&count, reinterpret_cast<const char*>(room.data()) + sizeof(ethtool_sset_info), sizeof count);
    return count > kStatisticsMost ? 0 : count;
}

void read_ethtool(const std::string& netdev, Counters& counters) {
    const Socket socket;
    const std::uint32_t count = statistics_of(socket, netdev);
    if (count == 0) {
        return;
    }
    std::vector<std::uint64_t> names(sizeof(ethtool_gstrings) / 8 + 1 + count * (ETH_GSTRING_LEN / 8));
    auto* asked = reinterpret_cast<ethtool_gstrings*>(names.data());
    asked->cmd = ETHTOOL_GSTRINGS;
    asked->string_set = ETH_SS_STATS;
    asked->len = count;
    std::vector<std::uint64_t> values(sizeof(ethtool_stats) / 8 + 1 + count);
    auto* wanted = reinterpret_cast<ethtool_stats*>(values.data());
    wanted->cmd = ETHTOOL_GSTATS;
    wanted->n_stats = count;
    if (!socket.ask(netdev, asked) || !socket.ask(netdev, wanted)) {
        return;
    }
    const char* name_at = reinterpret_cast<const char*>(names.data()) + sizeof(ethtool_gstrings);
    const char* value_at = reinterpret_cast<const char*>(values.data()) + sizeof(ethtool_stats);
    for (std::uint32_t i = 0; i < std::min({count, asked->len, wanted->n_stats}); ++i) {
        const char* text = name_at + std::size_t{i} * ETH_GSTRING_LEN;
        const std::string_view name(text, ::strnlen(text, ETH_GSTRING_LEN));
        if (is_about_congestion(name)) {
            std::uint64_t value = 0;
            std::memcpy(&value, value_at + std::size_t{i} * sizeof value, sizeof value);
            counters.emplace(fmt::format("ethtool.{}", name), value);
        }
    }
}

}  // namespace

Counters read_port_counters(const std::string& device, std::uint8_t port, const std::string& netdev,
                            const std::string& root) {
    const std::filesystem::path folder =
        std::filesystem::path(root) / device / "ports" / std::to_string(port);
    Counters counters;
    read_folder(folder / "counters", counters);
    read_folder(folder / "hw_counters", counters);
    if (!netdev.empty()) {
        read_ethtool(netdev, counters);
    }
    return counters;
}

base::Duration counters_kept_for(const std::string& device, std::uint8_t port, const std::string& root) {
    std::ifstream file(std::filesystem::path(root) / device / "ports" / std::to_string(port) /
                       "hw_counters/lifespan");
    std::uint64_t kept = 0;
    if (!(file >> kept) || kept == 0) {
        return {};
    }
    const auto most = static_cast<std::uint64_t>((kKeptMost - kTick).count());
    return kTick + std::chrono::milliseconds{std::min(kept, most)};
}

CounterRise difference(const Counters& before, const Counters& after) {
    CounterRise rise;
    for (const auto& [name, now] : after) {
        const auto found = before.find(name);
        if (found == before.end()) {
            continue;
        }
        const std::uint64_t then = found->second;
        if (now > then) {
            rise.risen[name] = now - then;
        } else if (now < then) {
            const std::uint64_t by_wrapping = then <= kMax32 ? now + kMax32 + 1 - then : 0;
            if (by_wrapping != 0 && by_wrapping <= kMax32 / 2) {
                rise.risen[name] = by_wrapping;
                rise.doubts.push_back(fmt::format("{} wrapped at 32 bits: it rose by {}, or by that and more",
                                                  name, by_wrapping));
            } else {
                if (now > 0) {
                    rise.risen[name] = now;
                }
                rise.doubts.push_back(
                    fmt::format("{} fell from {} to {}: somebody cleared it meanwhile", name, then, now));
            }
        }
        if (is_stuck(name, now)) {
            rise.doubts.push_back(
                fmt::format("{} stands at its maximum of {} and counts no further: clear it "
                            "(perfquery -R)",
                            name, now));
        }
    }
    return rise;
}

}  // namespace ibf::probe
