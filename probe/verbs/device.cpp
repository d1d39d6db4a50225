#include "probe/verbs/device.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <infiniband/verbs.h>

#include "probe/verbs/cm.hpp"

namespace ibf::probe::verbs {
namespace {

constexpr std::size_t kGidsMost = 512;
constexpr const char* kNoDevice =
    "no RDMA device: this host has none, or its driver is not loaded (mlx5_ib, bnxt_re, irdma, and ib_uverbs "
    "with it; for a trial over Ethernet: rdma link add rxe0 type rxe netdev eth0)";

struct DeviceList {
    int count = 0;  // before what sets it
    ibv_device** devices = nullptr;

    DeviceList() : devices(ibv_get_device_list(&count)) {}
    ~DeviceList() {
        if (devices != nullptr) {
            ibv_free_device_list(devices);
        }
    }
    DeviceList(const DeviceList&) = delete;
    DeviceList& operator=(const DeviceList&) = delete;

    [[nodiscard]] ibv_device* find(std::string_view name) const {
        for (int i = 0; i < count; ++i) {
            if (name == ibv_get_device_name(devices[i])) {
                return devices[i];
            }
        }
        return nullptr;
    }
};

base::Error open_error(const char* name, const char* node, int why) {
    const std::string file = fmt::format("/dev/infiniband/{}", node);
    why = why_not_opened(file, why);
    if (why == EACCES || why == EPERM) {
        return {
            base::ErrorKind::refused,
            fmt::format("{}: {} may not be opened: run as root, or give the file to a group that you are in",
                        name, file)};
    }
    if (why == ENOENT || why == ENXIO || why == ENODEV) {
        return {base::ErrorKind::unavailable,
                fmt::format("{}: there is no {}: modprobe ib_uverbs, and in a container hand the file in",
                            name, file)};
    }
    return {base::ErrorKind::io, fmt::format("{}: cannot open {}: {}", name, file, std::strerror(why))};
}

std::string first_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

/// "400 Gb/sec (4X NDR)": verbs' own code for the speed ends at 8 bits.
std::uint64_t rate_of(const std::string& device, unsigned port) {
    const std::string text = first_line(fmt::format("/sys/class/infiniband/{}/ports/{}/rate", device, port));
    return static_cast<std::uint64_t>(std::strtod(text.c_str(), nullptr) * 1e9);
}

std::vector<GidEntry> gids_of(ibv_context* context, unsigned port) {
    std::vector<ibv_gid_entry> entries(kGidsMost);
    const ssize_t count = ibv_query_gid_table(context, entries.data(), entries.size(), 0);
    std::vector<GidEntry> gids;
    for (ssize_t i = 0; i < count; ++i) {
        const ibv_gid_entry& entry = entries[static_cast<std::size_t>(i)];
        if (entry.port_num != port || entry.gid_index > 255) {
            continue;
        }
        GidEntry& gid = gids.emplace_back();
        gid.index = static_cast<std::uint8_t>(entry.gid_index);
        std::copy_n(entry.gid.raw, gid.gid.size(), gid.gid.begin());
        gid.type = entry.gid_type == IBV_GID_TYPE_ROCE_V2   ? "RoCE v2"
                   : entry.gid_type == IBV_GID_TYPE_ROCE_V1 ? "RoCE v1"
                                                            : "IB";
        std::array<char, IF_NAMESIZE> name{};
        if (entry.ndev_ifindex != 0 && ::if_indextoname(entry.ndev_ifindex, name.data()) != nullptr) {
            gid.netdev = name.data();
        }
    }
    return gids;
}

PortDescription describe_port(ibv_context* context, const char* device, std::uint8_t port) {
    PortDescription described{.device = device, .port = port};
    ibv_port_attr attributes{};
    if (const int why = ibv_query_port(context, port, &attributes); why != 0) {
        described.problem = fmt::format("the port cannot be asked: {}", std::strerror(why));
        return described;
    }
    described.layer =
        attributes.link_layer == IBV_LINK_LAYER_ETHERNET ? LinkLayer::ethernet : LinkLayer::infiniband;
    described.state = ibv_port_state_str(attributes.state);
    described.is_active = attributes.state == IBV_PORT_ACTIVE;
    described.lid = mad::Lid{described.layer == LinkLayer::ethernet ? std::uint16_t{0} : attributes.lid};
    described.lmc = attributes.lmc;
    described.mtu_bytes = mad::mtu_bytes(static_cast<mad::Mtu>(attributes.active_mtu));
    described.bits_per_second = rate_of(device, port);
    described.gids = gids_of(context, port);
    if (!described.is_active) {
        described.problem =
            fmt::format("it is {}: {}", described.state,
                        described.layer == LinkLayer::ethernet
                            ? "bring the network interface up (ip link set DEV up)"
                            : "the cable must be in, and a subnet manager has to bring the port up");
    }
    return described;
}

void describe_device(ibv_device* device, std::vector<PortDescription>& ports) {
    const char* name = ibv_get_device_name(device);
    errno = 0;
    const std::unique_ptr<ibv_context, int (*)(ibv_context*)> context(ibv_open_device(device),
                                                                      &ibv_close_device);
    if (!context) {
        ports.push_back({.device = name, .problem = open_error(name, device->dev_name, errno).message});
        return;
    }
    ibv_device_attr attributes{};
    if (const int why = ibv_query_device(context.get(), &attributes); why != 0) {
        ports.push_back(
            {.device = name, .problem = fmt::format("the device cannot be asked: {}", std::strerror(why))});
        return;
    }
    for (std::uint8_t port = 1; port <= attributes.phys_port_cnt && port != 0; ++port) {
        ports.push_back(describe_port(context.get(), name, port));
    }
}

/// Lower is better.
int preference(const GidEntry& gid) {
    const bool is_v4 = std::all_of(gid.gid.begin(), gid.gid.begin() + 10, [](auto o) { return o == 0; }) &&
                       gid.gid[10] == 0xFF && gid.gid[11] == 0xFF;
    const bool is_link_local = gid.gid[0] == 0xFE && (gid.gid[1] & 0xC0U) == 0x80;
    return (gid.type == "RoCE v2" ? 0 : 4) + (is_v4 ? 0 : is_link_local ? 2 : 1);
}

std::string listed(const std::vector<GidEntry>& gids) {
    std::string text;
    for (const GidEntry& gid : gids) {
        text += fmt::format("{}{} ({}, {})", text.empty() ? "" : ", ", gid.index, to_text(gid.gid), gid.type);
    }
    return text.empty() ? "none" : text;
}

base::Result<Chosen> with_gid(const PortDescription& port, const Way& way) {
    Chosen chosen{.port = port};
    const bool is_ethernet = port.layer == LinkLayer::ethernet;
    if (!is_ethernet && way.path_bits >= 1U << port.lmc) {
        return base::fail(base::ErrorKind::usage,
                          fmt::format("path bits {}: {}/{} has an LMC of {}, so they are 0 to {}",
                                      way.path_bits, port.device, port.port, port.lmc, (1U << port.lmc) - 1));
    }
    if (is_ethernet && (way.dlid || way.path_bits != 0)) {
        return base::fail(base::ErrorKind::usage,
                          fmt::format("{}/{} is an Ethernet port: it has no LIDs, so leave out the LID and "
                                      "the path bits",
                                      port.device, port.port));
    }
    chosen.with_grh = is_ethernet || way.gid_index.has_value();
    const auto best = [&] {
        if (way.gid_index) {
            return std::find_if(port.gids.begin(), port.gids.end(),
                                [&](const GidEntry& gid) { return gid.index == *way.gid_index; });
        }
        return std::min_element(port.gids.begin(), port.gids.end(), [&](const auto& a, const auto& b) {
            return is_ethernet && preference(a) != preference(b) ? preference(a) < preference(b)
                                                                 : a.index < b.index;
        });
    }();
    if (best != port.gids.end()) {
        chosen.gid = *best;
    } else if (way.gid_index) {
        return base::fail(base::ErrorKind::not_found,
                          fmt::format("GID index {} of {}/{} is empty; set are: {}", *way.gid_index,
                                      port.device, port.port, listed(port.gids)));
    } else if (is_ethernet) {
        return base::fail(base::ErrorKind::unavailable,
                          fmt::format("{}/{} has no GID: give its network interface an IP address",
                                      port.device, port.port));
    }
    return chosen;
}

}  // namespace

std::string to_text(const GidOctets& gid) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    ::inet_ntop(AF_INET6, gid.data(), text.data(), text.size());
    return text.data();
}

int why_not_opened(const std::string& file, int why) {
    const bool is_there = ::faccessat(AT_FDCWD, file.c_str(), F_OK, AT_EACCESS) == 0;
    const bool is_allowed = ::faccessat(AT_FDCWD, file.c_str(), R_OK | W_OK, AT_EACCESS) == 0;
    return is_there && !is_allowed ? EACCES : why;
}

base::Result<std::vector<PortDescription>> describe() {
    const DeviceList list;
    if (list.devices == nullptr || list.count == 0) {
        return base::fail(base::ErrorKind::unavailable, kNoDevice);
    }
    std::vector<PortDescription> ports;
    for (int i = 0; i < list.count; ++i) {
        describe_device(list.devices[i], ports);
    }
    std::sort(ports.begin(), ports.end(), [](const auto& a, const auto& b) {
        return std::tie(a.device, a.port) < std::tie(b.device, b.port);
    });
    return ports;
}

base::Result<Chosen> choose(const std::vector<PortDescription>& ports, const Way& way) {
    const auto named = [](const PortDescription& port) {
        return port.port == 0 ? port.device : fmt::format("{}/{}", port.device, port.port);
    };
    const PortDescription* unusable = nullptr;
    std::string names;
    for (const PortDescription& port : ports) {
        names += (names.empty() ? "" : ", ") + named(port);
        if ((!way.device.empty() && port.device != way.device) ||
            (way.port != 0 && port.port != 0 && port.port != way.port)) {
            continue;
        }
        if (port.problem.empty()) {
            return with_gid(port, way);
        }
        unusable = unusable == nullptr ? &port : unusable;
    }
    if (unusable != nullptr) {
        return base::fail(base::ErrorKind::unavailable,
                          fmt::format("{} cannot be used: {}", named(*unusable), unusable->problem));
    }
    if (ports.empty()) {
        return base::fail(base::ErrorKind::unavailable, kNoDevice);
    }
    const std::string wanted = way.device.empty() ? fmt::format("port {} on any device", way.port)
                                                  : "port " + named({.device = way.device, .port = way.port});
    return base::fail(base::ErrorKind::not_found,
                      fmt::format("there is no {}; there are: {}", wanted, names));
}

base::Result<Device> Device::open(std::string_view name, bool by_cm) {
    if (by_cm) {
        auto context = cm_context(name);
        if (!context) {
            return tl::unexpected(context.error());
        }
        return Device(*context, false);
    }
    const DeviceList list;
    ibv_device* device = list.find(name);
    if (device == nullptr) {
        return base::fail(base::ErrorKind::not_found, fmt::format("there is no RDMA device {}", name));
    }
    errno = 0;
    ibv_context* context = ibv_open_device(device);
    if (context == nullptr) {
        return tl::unexpected(open_error(ibv_get_device_name(device), device->dev_name, errno));
    }
    return Device(context, true);
}

Device::Device(Device&& other) noexcept
    : context_(std::exchange(other.context_, nullptr)), is_ours_(std::exchange(other.is_ours_, false)) {}

Device& Device::operator=(Device&& other) noexcept {
    std::swap(context_, other.context_);
    std::swap(is_ours_, other.is_ours_);
    return *this;
}

Device::~Device() {
    if (is_ours_) {
        ibv_close_device(context_);
    }
}

}  // namespace ibf::probe::verbs
