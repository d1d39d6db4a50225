// DOC: is a RoCE port set up to lose nothing?
//
// RDMA over Ethernet wants a fabric that does not drop: large packets that fit, pause frames for the class in
// use (PFC), and ECN, which slows senders before pauses are needed. Each finding is a sentence with what to
// do; what this host does not show is said to be unseen, and is no fault. Switches are not looked at.
//
// Reads files below `root`, and where that is "/sys" itself asks the kernel for the PFC of the interface (DCB
// by netlink, as dcb(8) does); in tests it is a folder of their own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ibf::probe {

enum class LosslessState : std::uint8_t { right, wrong, unseen };

struct LosslessFinding {
    std::string what;  ///< "mtu", "ecn", "pfc"
    LosslessState state = LosslessState::unseen;
    std::string text;  ///< a sentence, with the remedy where it is wrong
};

struct LosslessPort {
    std::string device{};  ///< "mlx5_0"
    std::uint8_t port = 1;
    std::uint32_t mtu_bytes = 0;                ///< active MTU of the RDMA port; 0: not known
    std::uint8_t priority = 0;                  ///< 802.1p class that the traffic uses, 0 to 7
    std::optional<std::uint8_t> pfc_classes{};  ///< a bit for each with PFC on; without: is asked for
};

/// Empty if the port's link layer is not Ethernet.
[[nodiscard]] std::vector<LosslessFinding> check_lossless(const LosslessPort& port,
                                                          const std::string& root = "/sys");

/// What DCB says of the interface: a bit for each class with PFC on. Nothing if the driver has no DCB.
[[nodiscard]] std::optional<std::uint8_t> pfc_classes_of(const std::string& netdev);

}  // namespace ibf::probe
