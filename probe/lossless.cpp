#include "probe/lossless.hpp"

#include <filesystem>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

namespace ibf::probe {
namespace {

/// IP, UDP, BTH, the longest extended header and ICRC: what the kernel leaves room for (iboe_get_mtu()).
constexpr std::uint32_t kRoceHeaders = 96;
constexpr std::uint32_t kLargest = 4096;

std::string line_of(const std::filesystem::path& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

std::optional<std::uint32_t> number_of(const std::filesystem::path& path) {
    std::ifstream file(path);
    std::uint32_t value = 0;
    if (file >> value) {
        return value;
    }
    return {};
}

/// The network interface behind an RDMA port: of its GIDs, or, of rxe and siw, their parent.
std::string netdev_of(const std::filesystem::path& device, std::uint8_t port) {
    const auto folder = device / "ports" / std::to_string(port) / "gid_attrs" / "ndevs";
    std::error_code ignored;
    for (std::filesystem::directory_iterator at(folder, ignored), end; at != end; at.increment(ignored)) {
        if (std::string name = line_of(at->path()); !name.empty()) {
            return name;
        }
    }
    return line_of(device / "parent");
}

std::uint32_t fits_into(std::uint32_t netdev_mtu) {
    std::uint32_t mtu = kLargest;
    while (mtu > 256 && mtu + kRoceHeaders > netdev_mtu) {
        mtu /= 2;
    }
    return mtu;
}

LosslessFinding judge_mtu(const LosslessPort& port, const std::string& netdev,
                          std::optional<std::uint32_t> netdev_mtu) {
    if (!netdev_mtu) {
        return {"mtu", LosslessState::unseen, "The MTU of the network interface cannot be seen."};
    }
    const std::uint32_t fits = fits_into(*netdev_mtu);
    if (fits < kLargest) {
        return {"mtu", LosslessState::wrong,
                fmt::format(
                    "The MTU of {} is {}, so that RDMA packets carry {} octets at most; {} would fit into "
                    "{}: ip link set {} mtu 9000, and on all switches of the path.",
                    netdev, *netdev_mtu, fits, kLargest, kLargest + kRoceHeaders, netdev)};
    }
    if (port.mtu_bytes != 0 && port.mtu_bytes < fits) {
        return {
            "mtu", LosslessState::wrong,
            fmt::format("The RDMA port's active MTU is {}, though {} fits into the MTU of {}, {}: set the "
                        "interface down and up, or see what the driver limits it to.",
                        port.mtu_bytes, fits, netdev, *netdev_mtu)};
    }
    return {"mtu", LosslessState::right,
            fmt::format("RDMA packets of {} octets fit into the MTU of {}, {}.", fits, netdev, *netdev_mtu)};
}

LosslessFinding judge_ecn(const LosslessPort& port, const std::string& netdev,
                          const std::filesystem::path& folder) {
    const auto is_on = [&](const char* point) {
        return number_of(folder / "ecn" / point / "enable" / std::to_string(port.priority));
    };
    const auto notifies = is_on("roce_np");
    const auto reacts = is_on("roce_rp");
    if (!notifies || !reacts) {
        return {"ecn", LosslessState::unseen,
                fmt::format(
                    "Whether {} answers ECN marks for class {} cannot be seen with this driver; the marks "
                    "themselves are counted by switches and, of mlx5, in np_ecn_marked_roce_packets.",
                    netdev, port.priority)};
    }
    if (*notifies == 0 || *reacts == 0) {
        const char* which = *notifies != 0 ? "roce_rp" : *reacts != 0 ? "roce_np" : "roce_np and roce_rp";
        return {
            "ecn", LosslessState::wrong,
            fmt::format("ECN is off on {} for class {} ({}), so that nobody slows down before pauses spread: "
                        "echo 1 > /sys/class/net/{}/ecn/roce_np/enable/{} and the same of roce_rp.",
                        netdev, port.priority, which, netdev, port.priority)};
    }
    return {
        "ecn", LosslessState::right,
        fmt::format("ECN is on for class {} of {}: marks are answered, and heeded.", port.priority, netdev)};
}

LosslessFinding judge_pfc(const LosslessPort& port, const std::string& netdev,
                          std::optional<std::uint8_t> classes) {
    if (!classes) {
        return {"pfc", LosslessState::unseen,
                fmt::format("Whether {} pauses class {} (PFC) cannot be seen: its driver has no DCB.", netdev,
                            port.priority)};
    }
    if ((*classes >> port.priority & 1U) == 0) {
        return {"pfc", LosslessState::wrong,
                fmt::format(
                    "PFC is off on {} for class {}, so that a full buffer drops packets: dcb pfc set dev {} "
                    "prio-pfc {}:on (or mlnx_qos --pfc), and the same on the switch port.",
                    netdev, port.priority, netdev, port.priority)};
    }
    return {"pfc", LosslessState::right, fmt::format("PFC is on for class {} of {}.", port.priority, netdev)};
}

}  // namespace

std::vector<LosslessFinding> check_lossless(const LosslessPort& port, const std::string& root) {
    const std::filesystem::path device = std::filesystem::path(root) / "class" / "infiniband" / port.device;
    if (line_of(device / "ports" / std::to_string(port.port) / "link_layer") != "Ethernet") {
        return {};
    }
    const std::string netdev = netdev_of(device, port.port);
    if (netdev.empty()) {
        return {{"mtu", LosslessState::unseen,
                 fmt::format(
                     "Which network interface is behind {}/{} cannot be seen, and so neither MTU, ECN nor "
                     "PFC: has it an IP address?",
                     port.device, port.port)}};
    }
    const std::filesystem::path folder = std::filesystem::path(root) / "class" / "net" / netdev;
    auto classes = port.pfc_classes;
    if (!classes && root == "/sys") {
        classes = pfc_classes_of(netdev);
    }
    return {judge_mtu(port, netdev, number_of(folder / "mtu")), judge_ecn(port, netdev, folder),
            judge_pfc(port, netdev, classes)};
}

}  // namespace ibf::probe
